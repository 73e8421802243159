"""Files that users ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from rightcall.errors import RightcallError


@contextmanager
def new_file(path: str) -> Iterator[IO[str]]:
    """A file to write a text to, that is there when it is whole and not before. It is its owner's alone.

    Raises:
        RightcallError: it cannot be written.
    """
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "w", encoding="utf-8", opener=_private) as file:
            yield file
        os.replace(unfinished, path)
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None
    finally:
        with suppress(OSError):
            os.remove(unfinished)


def check_writable(path: str) -> None:
    """Refuse, before any work is done, a file that cannot be written afterwards. Raises `RightcallError`."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise RightcallError(f"{path}: this is a folder; name a file in it")
    if not os.path.isdir(folder):
        raise RightcallError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise RightcallError(f"{path}: no file can be made in {folder}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
