"""Which files an agent is made of, as far as its name tells."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

_COMMAND = "cmd:"


def sources_of(agent: str, place: str, project: Path) -> list[Path]:
    """The files whose content decides what an agent does: when one of them changes, earlier results say nothing of it.

    Of a file, all Python files beside it, which it may import; of a folder or a package, all below it; of a command,
    the files that it names. What is installed elsewhere, and what answers at an address, cannot be known.
    """
    if agent.startswith(_COMMAND):
        return _named_files(agent.removeprefix(_COMMAND), project)
    found = project / place
    if not found.exists():
        module = project.joinpath(*place.split("."))
        found = module if module.is_dir() else module.with_suffix(".py")
    if not found.exists():
        return []
    files = _below(found) if found.is_dir() else found.parent.glob("*.py")
    # Editors leave links to nowhere beside a file that is being edited.
    return sorted([file for file in files if file.name[0] != "." and file.is_file()])


def _named_files(command: str, project: Path) -> list[Path]:
    try:
        words = shlex.split(command)
    except ValueError:
        return []  # whoever loads the agent says so
    return [project / word for word in words if (project / word).is_file()]


def _below(folder: Path) -> Iterator[Path]:
    for above, folders, files in os.walk(folder):
        inside = Path(above)
        # What is hidden, and virtual environments, are no part of an agent's own code.
        folders[:] = [one for one in folders if one[0] != "." and not (inside / one / "pyvenv.cfg").exists()]
        yield from [inside / file for file in files if file.endswith(".py")]
