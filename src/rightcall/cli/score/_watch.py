"""`rightcall score URL --watch`: ask a trace server for new traces, again and again, and judge those that are complete.

A trace is complete when its root has ended and no span came between two polls; without a root, when none came for half
a minute. Until then it is open, and rules that wait for a call are neither kept nor broken. A trace is followed until
nothing came for ten minutes, however long ago it began. A span that comes later makes it new: it is judged again, and
its verdict replaces the one before, under the same id.

What was judged is kept in SQLite, so that a watch that is stopped or killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from rightcall.connect import Address, Mark, opened_server, recorded_part
from rightcall.errors import InputError, RightcallError
from rightcall.reading import raw_spans
from rightcall.scale.request import Request

from .._options import runs_folder
from .._pull import addresses_in
from .._terminal import print_error
from ._local import LocalScoring
from ._push import Push, senders_of

_SECOND = 10**9
_OVERLAP = 600 * _SECOND
"""How far back each poll looks before the newest trace: exporters deliver late, and clocks of machines differ."""
_FIRST = 3600 * _SECOND
"""How far back the first poll looks where the address does not say."""
_IDLE = 30 * _SECOND
"""How long a trace without a root has to be quiet: its parent may be in a service that is not traced to this server."""
_REMEMBERED = 7 * 86_400 * _SECOND
"""How long a verdict is remembered. Servers list a trace again for the overlap only."""
_SECONDS_TO_LOCK = 60.0
"""How long to wait for another watch that writes to the same file."""
_INTERRUPTED = 130
_TABLES = """
CREATE TABLE IF NOT EXISTS judged_traces
  (source TEXT, trace_id TEXT, digest TEXT, marks TEXT, at_ns INTEGER, PRIMARY KEY (source, trace_id));
CREATE TABLE IF NOT EXISTS polled (source TEXT PRIMARY KEY, until_ns INTEGER);
"""


class WatchState:
    """What was judged before, in a file: the digest of each trace, and the spans that were marked.

    Raises:
        InputError: the file cannot be opened or is not a database.
    """

    def __init__(self, path: str, source: str) -> None:
        self._path, self._source = path, source
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_SECONDS_TO_LOCK)
            self._database.executescript(_TABLES)
        except (OSError, sqlite3.Error) as problem:
            raise InputError(f"{path}: {problem}") from None

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def last_poll(self) -> int | None:
        """Return when the last poll was, in nanoseconds."""
        rows = self._asked("SELECT until_ns FROM polled WHERE source = ?")
        return rows[0][0] if rows else None

    def digest(self, trace_id: str) -> str | None:
        """Return the digest of a trace as it was judged."""
        return next(iter([row[0] for row in self._rows(trace_id)]), None)

    def marks(self, trace_id: str) -> list[Mark]:
        """Return the marks that were sent for a trace."""
        return [mark for row in self._rows(trace_id) for mark in msgspec.json.decode(row[1], type=list[Mark])]

    def judged_since(self, since: int) -> list[str]:
        """Return the ids of the traces that were judged since a time."""
        return [
            row[0] for row in self._asked("SELECT trace_id FROM judged_traces WHERE source = ? AND at_ns >= ?", since)
        ]

    def keep(self, digests: Mapping[str, str], marks: Mapping[str, list[Mark]], now: int) -> None:
        """Keep what was judged, all of it or nothing, and forget what is long past."""
        rows = [
            (self._source, trace_id, digest, msgspec.json.encode(marks.get(trace_id, [])).decode(), now)
            for trace_id, digest in digests.items()
        ]
        with self._writing() as database:
            database.executemany("INSERT OR REPLACE INTO judged_traces VALUES (?, ?, ?, ?, ?)", rows)
            database.execute("DELETE FROM judged_traces WHERE at_ns < ?", (now - _REMEMBERED,))

    def polled(self, now: int) -> None:
        """Keep the time of a poll."""
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO polled VALUES (?, ?)", (self._source, now))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Return the database for one change. Raises `InputError` where the file cannot be written."""
        try:
            with self._database:
                yield self._database
        except sqlite3.Error as problem:
            raise InputError(f"{self._path}: {problem}") from None

    def _rows(self, trace_id: str) -> list[Any]:
        return self._asked("SELECT digest, marks FROM judged_traces WHERE source = ? AND trace_id = ?", trace_id)

    def _asked(self, question: str, *given: object) -> list[Any]:
        try:
            return self._database.execute(question, (self._source, *given)).fetchall()
        except sqlite3.Error as problem:
            raise InputError(f"{self._path}: {problem}") from None


def watch_server(request_of: Callable[[], Request], options: dict[str, Any]) -> int:
    """Judge the traces of a server as they come, until Ctrl-C. Raises `RightcallError` for what cannot be asked."""
    addresses = addresses_in(options["traces"])
    if len(options["traces"]) != 1 or not addresses:
        raise click.UsageError("--watch follows files, or one trace server: give one address and no files")
    if options["grouping"] not in ("auto", "trace"):
        raise click.UsageError(
            "--watch judges each trace when it is complete, and cannot wait for a conversation to end"
        )
    # The traces of a conversation come one by one, so each is judged by itself.
    polling = Polling(next(iter(addresses.values())), request_of, {**options, "grouping": "trace"})
    with closing(polling.state):
        try:
            while True:
                began = time.monotonic()
                polling.poll()
                time.sleep(max(0.0, options["every"] - (time.monotonic() - began)))
        except KeyboardInterrupt:
            return _INTERRUPTED


class Polling:
    """The polls of one command."""

    def __init__(self, address: Address, request_of: Callable[[], Request], options: dict[str, Any]) -> None:
        self._address, self._request_of, self._options = address, request_of, options
        query = msgspec.to_builtins(replace(address.query, since_ns=None))  # `since=1d` is another time at each start
        asked = msgspec.json.encode([str(address), query, options["evalset"], options["expect"]])
        folder = runs_folder(options["runs"]).parent
        self.state = WatchState(os.path.join(folder, "watch.sqlite"), hashlib.sha256(asked).hexdigest())
        self._open: dict[str, tuple[str, int]] = {}
        """The digests of traces that are not complete, and when each was first seen."""
        self._problem = ""
        """What went wrong at the last poll, so that it is reported once."""
        self._warnings: set[str] = set()

    def poll(self) -> int:
        """Ask once, judge what is complete, and return how many traces that were. What fails is tried at the next."""
        now = time.time_ns()
        try:
            with TemporaryDirectory(prefix="rightcall-") as folder:
                path = os.path.join(folder, "traces.jsonl")
                digests = self._complete(path, now)
                if digests:
                    self._judge(path, digests)
                self.state.polled(now)
                self._problem = ""
                return len(digests)
        except RightcallError as problem:
            if str(problem) != self._problem:
                print_error(f"{problem}; asking again every {self._options['every']:g} s")
            self._problem = str(problem)
            return 0

    def _complete(self, path: str, now: int) -> dict[str, str]:
        """Write the traces that are complete, and not judged as they are, to a file; return their digests."""
        last = self.state.last_poll()
        since = last - _OVERLAP if last is not None else self._address.query.since_ns or now - _FIRST
        found: dict[str, str] = {}
        still_open: dict[str, tuple[str, int]] = {}
        with opened_server(self._address, self._warn) as server, open(path, "wb") as file:
            listed = server.trace_ids(replace(self._address.query, since_ns=since))
            followed = self.state.judged_since(now - _OVERLAP)
            for trace_id, document in server.documents(list(dict.fromkeys([*listed, *self._open, *followed]))):
                digest = hashlib.sha256(recorded_part(document)).hexdigest()
                if digest == self.state.digest(trace_id):
                    continue
                before, seen = self._open.get(trace_id, ("", now))
                if before == digest and (now - seen >= _IDLE or _has_ended(document)):
                    file.write(document + b"\n")
                    found[trace_id] = digest
                else:
                    still_open[trace_id] = digest, seen if before == digest else now
        self._open = still_open
        return found

    def _warn(self, message: str) -> None:
        """Say once that a trace is left out, though every poll finds it."""
        if message not in self._warnings:
            print_error(message)
        self._warnings.add(message)

    def _judge(self, path: str, digests: Mapping[str, str]) -> None:
        senders = senders_of(self._options, self.state.marks)
        options = {**self._options, "traces": (path,), "names": {path: str(self._address)}}
        scoring = LocalScoring(self._request_of(), options, senders)
        scoring.run()
        if not scoring.is_sent:
            self._open |= {trace_id: (digest, 0) for trace_id, digest in digests.items()}  # sent again at the next poll
            return
        marks = next((sender.marks for sender in senders if isinstance(sender, Push)), {})
        self.state.keep(digests, marks, time.time_ns())


def _has_ended(document: bytes) -> bool:
    """Whether the root of a trace is there and has ended. Exporters send it when everything below it has ended."""
    return any([span.parent_id is None and span.end_ns is not None for span in raw_spans(document)])
