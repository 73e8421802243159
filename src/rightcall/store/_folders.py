"""Files and folders that nobody else may read, and that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rightcall.errors import StoreError

_FOLDER = 0o700
_FILE = 0o600


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn what the system says of a path into one line that names it.

    Raises:
        StoreError: the system refused.
    """
    try:
        yield
    except OSError as problem:
        raise StoreError(f"{path}: {problem.strerror or problem}{_remedy(problem)}") from None


def make_private(folder: Path) -> None:
    """Make a folder that is not there yet, for its owner alone, whatever the umask. Raises `FileExistsError`."""
    os.mkdir(folder, _FOLDER)
    os.chmod(folder, _FOLDER)


def open_private(path: Path, flags: int) -> int:
    """Open a file, for its owner alone if it is made now, whatever the umask."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, _FILE)
    os.fchmod(descriptor, _FILE)
    return descriptor


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that there is either what was there before or all of the new, also after a crash."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = open_private(beside, os.O_WRONLY | os.O_TRUNC)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, though the system may take them in parts."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _remedy(problem: OSError) -> str:
    if isinstance(problem, (PermissionError, NotADirectoryError)) or problem.errno == 30:
        return "; choose another folder for runs with --runs"
    return "; make room, then resume the run" if problem.errno in (27, 28, 122) else ""
