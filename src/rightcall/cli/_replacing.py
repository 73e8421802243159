"""Files of the user's own, written anew: all of the new text or all of the old."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rightcall.errors import RightcallError
from rightcall.files import replace_file as write_whole


def check_replaceable(path: str) -> None:
    """Refuse a path that must not, or cannot, be written. One where nothing is yet is fine.

    Raises:
        RightcallError: it is a symbolic link, no file, or read-only.
    """
    if os.path.islink(path):
        raise RightcallError(f"{path}: is a symbolic link to {os.readlink(path)}; name that file itself")
    if not os.path.lexists(path):
        return
    if not os.path.isfile(path):
        raise RightcallError(f"{path}: is not a file")
    if not stat.S_IMODE(os.stat(path).st_mode) & 0o222 or not os.access(path, os.W_OK):
        raise RightcallError(f"{path}: is read-only")


def replace_file(path: str, before: bytes | None, after: bytes) -> None:
    """Put new content into a file, of which the content so far is known; none where there must be no file yet.

    Folders that a new file needs are made.

    Raises:
        RightcallError: the file has changed in the meantime, or cannot be written.
    """
    check_replaceable(path)
    try:
        if before != (Path(path).read_bytes() if os.path.lexists(path) else None):
            raise RightcallError(f"{path}: has been changed in the meantime, so nothing was written; try again")
        if before is None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), after, _mode(path))
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def _mode(path: str) -> int:
    if os.path.lexists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
