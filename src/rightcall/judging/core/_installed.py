"""Evaluators that are code of somebody's: how they are named, and which ones are installed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "rightcall.evaluators"
"""The group of entry points by which a package brings evaluators."""
_FILE = re.compile(r"(file://)?(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)", re.DOTALL)


def is_code(type_id: str) -> bool:
    """Whether a type is code: `file.py:Name`, `file://file.py:Name`, or the name of an entry point."""
    return names_file(type_id) or type_id in installed_evaluators()


def names_file(type_id: str) -> bool:
    """Whether a type is code in a file. Looking for entry points takes a while, this does not."""
    return type_id.startswith("file://") or split_code(type_id) is not None


def split_code(type_id: str) -> tuple[str, str] | None:
    """The file and the name in it that a type stands for; none where it stands for something else."""
    found = _FILE.fullmatch(type_id)
    return (found["file"], found["name"]) if found else None


@cache
def installed_evaluators() -> dict[str, EntryPoint]:
    """The evaluators that installed packages bring, by name. Nothing is imported of them."""
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=GROUP)}
