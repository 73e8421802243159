"""The results of a run, one line each: the file `cases.jsonl`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from rightcall.decoding import dump_json, load_json
from rightcall.errors import InputError, StoreError
from rightcall.results import CaseResult

from ._folders import open_private, telling, write_all

FILE = "cases.jsonl"
_SYNC_EVERY = 0.05
_ATTEMPTS, _PAUSE = 5, 0.01


class Entry(msgspec.Struct, frozen=True):
    """One line of a journal: a result, and the digest of the case as it was."""

    digest: str
    result: CaseResult


class Line(msgspec.Struct, frozen=True):
    """A line of a journal, and where it stands in the file: its first byte, the one after its last, its number."""

    begin: int
    end: int
    number: int
    entry: Entry


class Journal:
    """A journal that is written to, by one process at a time.

    Each line is handed to the system at once, so a killed process loses none. It is on the disk at most 50 ms later,
    or when `sync` says so, so that a machine that loses power loses nothing that was told.

    Raises:
        StoreError: the file cannot be written, or another process writes to it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        with telling(self._path):
            self._descriptor = open_private(self._path, os.O_RDWR | os.O_APPEND)
        self._lock()
        self._length = self._drop_torn_line()
        self._synced = monotonic()
        self._is_synced = True

    def append(self, result: CaseResult, digest: str) -> None:
        """Add a result. A line that does not fit on the disk leaves no trace. Raises `StoreError`."""
        line = (dump_json({"digest": digest, **result.to_plain()}) + "\n").encode()
        try:
            write_all(self._descriptor, line)
        except OSError:
            with telling(self._path):
                os.ftruncate(self._descriptor, self._length)
            with telling(self._path):
                raise
        self._length += len(line)
        self._is_synced = False
        if monotonic() - self._synced >= _SYNC_EVERY:
            self.sync()

    def sync(self) -> None:
        """See to it that everything so far is on the disk. Raises `StoreError`."""
        if not self._is_synced:
            with telling(self._path):
                os.fsync(self._descriptor)
            self._is_synced = True
            self._synced = monotonic()

    def close(self) -> None:
        """Put everything on the disk, and write no more."""
        try:
            self.sync()
        finally:
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
        os.close(self._descriptor)
        raise StoreError(f"{self._path}: another process is writing to this run")

    def _drop_torn_line(self) -> int:
        """Cut off what a killed process left of a line."""
        with telling(self._path):
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            length = _end_of_lines(self._descriptor, end)
            if length < end:
                os.ftruncate(self._descriptor, length)
        return length


def read_journal(folder: Path) -> Iterator[Entry]:
    """The results in a run's folder, in the order they were written. A last line that is torn is left out.

    Raises:
        StoreError: the file cannot be read, or a line in it is no result.
    """
    return (line.entry for line in read_lines(folder))


def read_lines(folder: Path, begin: int = 0, number: int = 0) -> Iterator[Line]:
    """The lines of a run's journal from a place on, at which `number` lines have been read.

    Raises:
        StoreError: the file cannot be read, or a line in it is no result.
    """
    path = folder / FILE
    if not path.exists():
        return
    with telling(path), path.open("rb") as lines:
        lines.seek(begin)
        for number, line in enumerate(lines, start=number + 1):  # noqa: B020 - it counts on
            if not line.endswith(b"\n"):
                return
            try:
                yield Line(begin, begin + len(line), number, _entry(load_json(line)))
            except InputError as problem:
                raise StoreError(
                    f"{path}:{number}: this line is damaged ({problem}); take it out, and what it told is run again"
                ) from None
            begin += len(line)


def is_being_written(folder: Path) -> bool:
    """Whether a process has the journal of a run open to write to it. What cannot be told counts as no."""
    import fcntl

    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _entry(fields: Any) -> Entry:
    if not isinstance(fields, dict) or not isinstance(digest := fields.pop("digest", None), str):
        raise InputError("not a line of a run's journal")
    return Entry(digest, CaseResult.from_plain(fields))


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
