"""Where the things of a project lie: its own file, its eval sets. The standard library is enough for that."""

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
"""In which folder of a project which files are eval sets; `*` is any folder in it."""
_SKIPPED = {"node_modules", "site-packages", "venv", "env", "build", "dist", "__pycache__"}


def project_of(place: Path) -> Path | None:
    """The project that a place is in: the nearest folder, from there up, with one of the two files."""
    place = place.resolve()
    folders = (place, *place.parents) if place.is_dir() else place.parents
    return next((one for one in folders if (one / OWN_FILE).is_file() or (one / PROJECT_FILE).is_file()), None)


class Home(NamedTuple):
    """The project from which code may be imported that an eval set names, and what messages call it."""

    folder: str | None
    name: str

    def holds(self, file: Path) -> bool:
        """Whether a file lies in it, links followed."""
        return self.folder is not None and file.resolve().is_relative_to(Path(self.folder).resolve())

    def __str__(self) -> str:
        return f"{self.name} ({self.folder or f'no folder above it has {OWN_FILE} or {PROJECT_FILE}'})"


def home_of_eval_set(evalset: Path) -> Home:
    """The project of an eval set: what a program trusts that was told to load this file."""
    project = project_of(evalset)
    return Home(None if project is None else str(project), "the project of the eval set")


def home_here() -> Home:
    """The project of the current folder: what a command trusts, wherever the eval set comes from.

    A downloaded eval set can bring a project file along, and would be at home in its own project.
    """
    project = project_of(Path.cwd())
    return Home(None if project is None else str(project), "the project of the current folder")


def eval_sets_in(folder: Path) -> list[str]:
    """The eval sets of a project by their names and places, as paths from its folder; at most 5,000 files are seen."""
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
    """The names in a folder and whether each is a folder itself; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget[0] -= 1
                if budget[0] < 0:
                    return
                yield entry.name, entry.is_dir()
    except OSError:
        return  # what may not be looked into has nothing to show


def recording_path(evalset: str | Path) -> Path:
    """Where the recording of an eval set is kept: beside it, as `<name>.recording.jsonl`."""
    return Path(evalset).with_suffix(".recording.jsonl")
