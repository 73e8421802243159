"""Files of lines that are only added to: each line is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep

from rightcall.errors import StoreError

from ._folders import open_private, telling, write_all

_ATTEMPTS, _PAUSE = 5, 0.01


class Lines:
    """A file that lines are added to, for its owner alone. What a killed process left of a line is cut off first.

    Raises:
        StoreError: the file cannot be written; if it is `alone`, also where another process writes to it.
    """

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        self.path = path
        with telling(path):
            self._descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            if alone:
                self._lock()
            self._length = self._drop_torn_line()
        except StoreError:
            os.close(self._descriptor)
            raise

    def append(self, line: bytes) -> None:
        """Add a line. One that does not fit on the disk leaves no trace. Raises `StoreError`."""
        try:
            write_all(self._descriptor, line)
        except OSError:
            with telling(self.path):
                os.ftruncate(self._descriptor, self._length)
            with telling(self.path):
                raise
        self._length += len(line)

    def sync(self) -> None:
        """See to it that everything so far is on the disk. Raises `StoreError`."""
        with telling(self.path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Write no more."""
        os.close(self._descriptor)

    def _lock(self) -> None:
        import fcntl

        for attempt in range(_ATTEMPTS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                # Whoever only asks `is_being_written` holds the lock for microseconds: that is no other process.
                sleep(_PAUSE if attempt < _ATTEMPTS - 1 else 0)
        raise StoreError(f"{self.path}: another process is writing to this run")

    def _drop_torn_line(self) -> int:
        with telling(self.path):
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            length = _end_of_lines(self._descriptor, end)
            if length < end:
                os.ftruncate(self._descriptor, length)
        return length


def _end_of_lines(descriptor: int, end: int) -> int:
    """Where the last whole line ends."""
    step = 1 << 16
    while end > 0:
        begin = max(0, end - step)
        found = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0
