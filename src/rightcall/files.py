"""Atomic and durable writes: a file is complete or not there, even after a loss of power.

Whatever has to be on the disk is written through this module, and this module writes through `disk`: so tests can
replace that with a disk that fails, or that loses what was not synced.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from typing import Any

_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""Errors of file systems that do not support `fsync` of folders."""

disk: Any = os
"""The module `os`, or a replacement with the same functions."""


def make_folder(folder: Path, mode: int) -> None:
    """Create a folder with this mode, whatever the umask. Raises `FileExistsError`."""
    disk.mkdir(folder, mode)
    disk.chmod(folder, mode)
    sync_folder(folder.parent)


def open_file(path: Path, flags: int, mode: int) -> int:
    """Open or create a file, and set this mode, whatever the umask. A new name is safe only after `sync_folder`."""
    descriptor: int = disk.open(path, flags | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        disk.fchmod(descriptor, mode)
    except OSError:
        close_file(descriptor)
        raise
    return descriptor


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Replace a file atomically: even after a crash, it has either the old content or all of the new.

    When this returns, the new content is on the disk, and so are the names of all files in its folder.
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
    """Sync a finished file, and rename it. When this returns, it is on the disk under its new name."""
    descriptor = disk.open(part, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        close_file(descriptor)
    disk.replace(part, path)
    sync_folder(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, even if the system accepts only some at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(descriptor, rest) :]


def sync_file(descriptor: int) -> None:
    """Make sure that the content of a file is on the disk."""
    disk.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Make sure that the names of files that were created or replaced in a folder are on the disk."""
    descriptor = disk.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        disk.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT_SYNC:
            raise
    finally:
        close_file(descriptor)


def cut_file(descriptor: int, length: int) -> None:
    """Truncate a file to this length."""
    disk.ftruncate(descriptor, length)


def close_file(descriptor: int) -> None:
    """Close a file through `disk`, which a test can make fail."""
    disk.close(descriptor)
