"""The results of a run, one line each: the file `cases.jsonl`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from rightcall.decoding import dump_json, load_json
from rightcall.errors import InputError, StoreError
from rightcall.limits import DEFAULT_LIMITS
from rightcall.results import CaseResult, without_details

from ._folders import telling
from ._lines import Lines

FILE = "cases.jsonl"
_SYNC_EVERY = 0.05


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
        self._lines = Lines(folder / FILE, alone=True)
        self._synced = monotonic()
        self._is_synced = True

    def append(self, result: CaseResult, digest: str) -> None:
        """Add a result. A line that does not fit on the disk leaves no trace. Raises `StoreError`.

        A result that is too large to be read again is kept without its calls and details, and says so.
        """
        line = _line(result, digest)
        if len(line) > DEFAULT_LIMITS.text_bytes:
            line = _line(_without_details(result, len(line)), digest)
        self._lines.append(line)
        self._is_synced = False
        if monotonic() - self._synced >= _SYNC_EVERY:
            self.sync()

    def sync(self) -> None:
        """See to it that everything so far is on the disk. Raises `StoreError`."""
        if not self._is_synced:
            self._lines.sync()
            self._is_synced = True
            self._synced = monotonic()

    def close(self) -> None:
        """Put everything on the disk, and write no more."""
        try:
            self.sync()
        finally:
            self._lines.close()


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


def _line(result: CaseResult, digest: str) -> bytes:
    return (dump_json({"digest": digest, **result.to_plain()}) + "\n").encode()


def _without_details(result: CaseResult, size: int) -> CaseResult:
    told = f"too large to be kept whole ({size:,} bytes): its calls, its details and what was printed are left out"
    return msgspec.structs.replace(
        result,
        trajectory=None,
        results=tuple([without_details(each) for each in result.results]),
        outcome=msgspec.structs.replace(result.outcome, stdout="") if result.outcome is not None else None,
        warnings=(told,),
    )


def _entry(fields: Any) -> Entry:
    if not isinstance(fields, dict) or not isinstance(digest := fields.pop("digest", None), str):
        raise InputError("not a line of a run's journal")
    return Entry(digest, CaseResult.from_plain(fields))
