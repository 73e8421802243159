"""Files that are whole or not there, also after the power was lost.

Whatever has to be on the disk is written through this module, and this module writes through `disk`: so what it does
can be tried with a disk that fails, or that forgets what it was not told to keep.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from typing import Any

_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""What a file system says that knows no `fsync` of folders."""

disk: Any = os
"""What files are written with: the module `os`, or something with the same functions."""


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder that is not there yet, with this mode whatever the umask. Raises `FileExistsError`."""
    disk.mkdir(folder, mode)
    disk.chmod(folder, mode)
    sync_folder(folder.parent)


def open_file(path: Path, flags: int, mode: int) -> int:
    """Open a file, with this mode if it is made now, whatever the umask. Its name may be lost until it is synced."""
    descriptor: int = disk.open(path, flags | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        disk.fchmod(descriptor, mode)
    except OSError:
        close_file(descriptor)
        raise
    return descriptor


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Write a file so that there is either what was there before or all of the new, also after a crash.

    When this returns, the new one is on the disk, and so is the name of every other file in its folder.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = open_file(beside, os.O_WRONLY | os.O_EXCL, mode)
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


def keep_file(part: Path, path: Path) -> None:
    """Give a finished file its name. When this returns, it is on the disk."""
    descriptor = disk.open(part, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        close_file(descriptor)
    disk.replace(part, path)
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


def cut_file(descriptor: int, length: int) -> None:
    """Leave only the first bytes of a file."""
    disk.ftruncate(descriptor, length)


def close_file(descriptor: int) -> None:
    """Give a file back."""
    disk.close(descriptor)
