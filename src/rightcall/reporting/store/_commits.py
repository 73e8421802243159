"""Which commit and branch a folder is at, read from git's own files: no program is run, no remote is named."""

from __future__ import annotations

from pathlib import Path


def commit_of(folder: Path) -> tuple[str | None, str | None]:
    """The commit and the branch that are checked out where a folder lies; nothing that cannot be told."""
    try:
        found = _git_folder(folder.resolve())
        return _head(found) if found is not None else (None, None)
    except (OSError, UnicodeDecodeError):
        return None, None


def _git_folder(folder: Path) -> Path | None:
    for above in (folder, *folder.parents):
        held = above / ".git"
        if held.is_dir():
            return held
        if held.is_file():  # a worktree, or a submodule
            return above / held.read_text().removeprefix("gitdir:").strip()
    return None


def _head(git: Path) -> tuple[str | None, str | None]:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return head, None
    reference = head.removeprefix("ref:").strip()
    common = git / "commondir"
    shared = git / common.read_text().strip() if common.is_file() else git
    return _commit(shared, reference), reference.removeprefix("refs/heads/")


def _commit(shared: Path, reference: str) -> str | None:
    if (shared / reference).is_file():
        return (shared / reference).read_text().strip()
    packed = shared / "packed-refs"
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {reference}")), None)
