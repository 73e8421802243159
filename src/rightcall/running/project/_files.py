"""Find a project's files: the configuration, the eval sets, the recordings.

Only the standard library is imported, because every command and the completion of a shell start here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

OWN_FILE = "rightcall.toml"
PROJECT_FILE = "pyproject.toml"

_MOST_ENTRIES = 5_000
_EVAL_SETS = {
    "evals": ("*.yaml", "*.yml", "*.json"),
    "evaluations/eval-sets": ("*.json",),
    ".": ("*.evalset.json", "*.test.json"),
    "*": ("*.evalset.json", "*.test.json"),
}
"""Patterns of eval sets, by the folder of the project that they are in; `*` is any folder at its top."""
_SKIPPED = {"node_modules", "site-packages", "venv", "env", "build", "dist", "__pycache__"}


def project_of(path: Path) -> Path | None:
    """Return the project that a path is in: the nearest folder, from there up, with one of the two files."""
    path = path.resolve()
    folders = (path, *path.parents) if path.is_dir() else path.parents
    return next((one for one in folders if (one / OWN_FILE).is_file() or (one / PROJECT_FILE).is_file()), None)


class TrustedProject(NamedTuple):
    """The project from which code that an eval set names may be imported, and its name in messages."""

    folder: str | None
    name: str

    def holds(self, file: Path) -> bool:
        """Whether a file is inside, with links followed."""
        return self.folder is not None and file.resolve().is_relative_to(Path(self.folder).resolve())

    def __str__(self) -> str:
        return f"{self.name} ({self.folder or f'no folder above it has {OWN_FILE} or {PROJECT_FILE}'})"


def project_of_eval_set(evalset: Path) -> TrustedProject:
    """Return the project of an eval set: what a program trusts that asks for this file itself."""
    project = project_of(evalset)
    return TrustedProject(None if project is None else str(project), "the project of the eval set")


def current_project() -> TrustedProject:
    """Return the project of the current folder: what a command trusts, wherever the eval set comes from.

    A downloaded eval set can bring a project file along, so its own project is not trusted.
    """
    project = project_of(Path.cwd())
    return TrustedProject(None if project is None else str(project), "the project of the current folder")


def eval_sets_in(folder: Path) -> list[str]:
    """Return the eval sets of a project, found by name and folder, as relative paths.

    At most 5,000 directory entries are looked at: a project folder may be a home folder or a file share.
    """
    budget = [_MOST_ENTRIES]
    top = list(_entries(folder, budget))
    found = []
    for place, patterns in _EVAL_SETS.items():
        if place == ".":
            found += [name for name, is_folder in top if not is_folder and _fits(name, patterns)]
            continue
        folders = [name for name, is_folder in top if is_folder and name not in _SKIPPED and not name.startswith(".")]
        for inside in folders if place == "*" else [place]:
            names = [name for name, is_folder in _entries(folder / inside, budget) if not is_folder]
            found += [f"{inside}/{name}" for name in names if _fits(name, patterns)]
    return sorted(set(found))


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return not name.endswith(".schema.json") and any(fnmatch(name, pattern) for pattern in patterns)


def _entries(folder: Path, budget: list[int]) -> Iterator[tuple[str, bool]]:
    """Yield the names in a folder, and whether each is a folder; nothing if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget[0] -= 1
                if budget[0] < 0:
                    return
                yield entry.name, entry.is_dir()
    except OSError:
        return  # not allowed to look inside, or removed meanwhile


def recording_path(evalset: str | Path) -> Path:
    """Return the path of an eval set's recording: beside it, as `<name>.recording.jsonl`."""
    return Path(evalset).with_suffix(".recording.jsonl")
