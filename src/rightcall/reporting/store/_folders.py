"""Files and folders of runs, private to their owner, and the errors of the system in one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rightcall.errors import StoreError
from rightcall.files import make_folder, open_file, replace_file as replace_any_file

# Runs hold prompts and outputs of tools. Other users of the machine must not be able to read them.
_FOLDER = 0o700
_FILE = 0o600


@contextmanager
def os_errors_at(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into one line that names the path.

    Raises:
        StoreError: the operating system raised an error.
    """
    try:
        yield
    except OSError as problem:
        raise StoreError(f"{path}: {problem.strerror or problem}{_remedy(problem)}") from None


def make_private(folder: Path) -> None:
    """Make a folder that is not there yet, for its owner alone, whatever the umask. Raises `FileExistsError`."""
    make_folder(folder, _FOLDER)


def open_private(path: Path, flags: int) -> int:
    """Open a file, for its owner alone if it is made now, whatever the umask."""
    return open_file(path, flags, _FILE)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file for its owner alone: there is what was there before or all of the new, also after a crash."""
    replace_any_file(path, data, _FILE)


def _remedy(problem: OSError) -> str:
    if isinstance(problem, (PermissionError, NotADirectoryError)) or problem.errno == errno.EROFS:
        return "; choose another folder for runs with --runs"
    full = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
    return "; make room, then resume the run" if problem.errno in full else ""
