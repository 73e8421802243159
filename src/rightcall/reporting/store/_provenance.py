"""The inputs of a run: digests of cases and files, and the commit that was checked out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightcall.values.decoding import dump_json

from ._run_files import os_errors_at

if TYPE_CHECKING:  # takes 0.2 s to import, and reading runs does not need it
    from rightcall.cases.evalsets import Case

# 128 of the 256 bits: this detects changes, and is not a defence against forged files.
_LENGTH = 32


def case_digest(case: Case, *others: object) -> str:
    """Return the digest of a case: its inputs, its expectations, and the other objects given.

    Its place in the file and its formatting do not count.
    """
    checks = [
        [check.key, check.evaluator.type_id, _written(check.evaluator.config), _written(check.criteria), check.weight]
        for check in case.checks
    ]
    content = [case.id, case.input, list(case.turns), case.session, dict(case.mocks), checks, list(map(str, others))]
    if any(check.evaluator.waits for check in case.checks):  # these evaluators see more of a case
        code = [check.evaluator.fingerprint for check in case.checks]
        content += [case.expected_behavior, dict(case.metadata), code]
    return _hashed(dump_json(content).encode())


def file_digest(path: str | Path) -> str:
    """Return the digest of a file's content. Raises `StoreError`."""
    with os_errors_at(Path(path)):
        return _hashed(Path(path).read_bytes())


def files_digest(paths: Iterable[Path]) -> str:
    """Return the digest of the content of several files, in their order. Raises `StoreError`."""
    return _hashed("".join([file_digest(path) for path in paths]).encode())


def commit_of(folder: Path) -> tuple[str | None, str | None]:
    """Return the commit and the branch checked out in a folder; `None` for what cannot be read."""
    try:
        found = _git_folder(folder.resolve())
        return _head(found) if found is not None else (None, None)
    except (OSError, UnicodeDecodeError):
        return None, None


def _written(model: Any) -> str:
    """Return criteria or a configuration as text; pydantic writes models fastest."""
    dump = getattr(model, "model_dump_json", None)
    if dump is None:
        return repr(model)
    try:
        return str(dump())
    except ValueError:  # a value that JSON does not have
        return repr(model)


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_LENGTH]


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
    # A worktree has its own HEAD and shares the branches of the main repository (gitrepository-layout(5), commondir).
    common = git / "commondir"
    shared = git / common.read_text().strip() if common.is_file() else git
    return _commit_at(shared, reference), reference.removeprefix("refs/heads/")


def _commit_at(shared: Path, reference: str) -> str | None:
    if (shared / reference).is_file():
        return (shared / reference).read_text().strip()
    # `git pack-refs`, which `git gc` runs, moves branches from files of their own into this one.
    packed = shared / "packed-refs"
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {reference}")), None)
