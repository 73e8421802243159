"""Files that users ask for."""

from __future__ import annotations

from pathlib import Path

from rightcall.errors import RightcallError


def write_text(path: str, text: str) -> None:
    """Write a text to a file.

    Raises:
        RightcallError: it cannot be written.
    """
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None
