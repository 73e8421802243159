"""Files and folders that nobody else may read, and that are whole or not there.

Everything in a run's folder is written through this module, and through `disk`: what it does to have a file on the disk
can be tried with a disk that fails, or that forgets what it was not told to keep.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rightcall.errors import StoreError

_FOLDER = 0o700
_FILE = 0o600
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""What a file system says that knows no `fsync` of folders."""

disk: Any = os
"""What files are written with: the module `os`, or something with the same functions."""


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
    disk.mkdir(folder, _FOLDER)
    disk.chmod(folder, _FOLDER)
    sync_folder(folder.parent)


def open_private(path: Path, flags: int) -> int:
    """Open a file, for its owner alone if it is made now, whatever the umask."""
    descriptor: int = disk.open(path, flags | os.O_CREAT | os.O_CLOEXEC, _FILE)
    disk.fchmod(descriptor, _FILE)
    return descriptor


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that there is either what was there before or all of the new, also after a crash.

    When this returns, the new one is on the disk, and so is the name of every other file in its folder.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = open_private(beside, os.O_WRONLY | os.O_TRUNC)
    try:
        try:
            write_all(descriptor, data)
            sync_file(descriptor)
        finally:
            close_file(descriptor)
        disk.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, though the system may take them in parts."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(descriptor, rest) :]


def sync_file(descriptor: int) -> None:
    """See to it that what is in a file is on the disk."""
    disk.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """See to it that the names in a folder are on the disk: those of files that were made or replaced."""
    descriptor = disk.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        disk.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT_SYNC:
            raise
    finally:
        close_file(descriptor)


def close_file(descriptor: int) -> None:
    """Give a file back."""
    disk.close(descriptor)


def cut_file(descriptor: int, length: int) -> None:
    """Leave only the first bytes of a file."""
    disk.ftruncate(descriptor, length)


def _remedy(problem: OSError) -> str:
    if isinstance(problem, (PermissionError, NotADirectoryError)) or problem.errno == errno.EROFS:
        return "; choose another folder for runs with --runs"
    full = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
    return "; make room, then resume the run" if problem.errno in full else ""
