"""`rightcall score` and trace servers: poll for new traces, and send verdicts back.

A trace is complete when its root has ended and no span came between two polls; without a root, when none came for half
a minute. Until then it is open, and rules that wait for a call are neither kept nor broken. A trace is followed until
nothing came for ten minutes, however long ago it began. A span that comes later makes it new: it is judged again, and
its verdict replaces the one before, under the same id.

What was judged is kept in SQLite, so that a watch that is stopped or killed resumes where it was.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import click
import msgspec
from msgspec.structs import replace

from rightcall.connect import Address, Mark, Origin, marks_of, opened_server, parse_address, post_json, recorded_part
from rightcall.errors import InputError, RightcallError
from rightcall.reading import raw_spans
from rightcall.reporting.reports import printable
from rightcall.scale.request import Request
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult

from .._options import runs_folder
from .._output import print_error
from .._pull import addresses_in, source_aliases
from ._local import LocalScoring

_SECOND = 10**9
_OVERLAP = 600 * _SECOND
"""How far back each poll looks before the newest trace: exporters deliver late, and clocks of machines differ."""
_FIRST = 3600 * _SECOND
"""How far back the first poll looks if the address does not say."""
_IDLE = 30 * _SECOND
"""How long a trace without a root has to be quiet: its parent may be in a service that does not send to this server."""
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
_TOGETHER = 200
"""How many marks are sent at once: if a run is killed, the next one replaces those that were sent."""


class WatchState:
    """What was judged before, in a file: the digest of each trace, and the marks that were sent.

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
        """Keep what was judged, all or nothing, and delete old entries."""
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
        """Yield the database for one change. Raises `InputError` if the file cannot be written."""
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
    """Judge the traces of a server as they come, until Ctrl-C. Raises `RightcallError` if it cannot be asked."""
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
        """Poll once, judge the complete traces, and return how many there were. Failures are retried next time."""
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
        """Write complete traces that have changed since they were judged to a file; return their digests."""
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
        """Warn once about a trace that is left out, although every poll finds it."""
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
    """Return whether the root of a trace has ended. Exporters send it when everything below it has ended."""
    return any([span.parent_id is None and span.end_ns is not None for span in raw_spans(document)])


class Sender(Protocol):
    """Something that takes the results of a command, and sends them when all are there."""

    def add(self, result: CaseResult, run_id: str) -> None:
        """Add a result."""

    def finish(self) -> bool:
        """Send everything; return whether that succeeded. Verdicts do not depend on it."""


def senders_of(options: Mapping[str, Any], previous: Callable[[str], Sequence[Mark]] = lambda _: ()) -> list[Sender]:
    """Return the senders that the options of a command ask for.

    Args:
        options: The options of the command.
        previous: Returns the marks that an earlier verdict left on a trace.

    Raises:
        InputError: an address cannot be understood.
        click.UsageError: it is not known where to send verdicts.
    """
    senders: list[Sender] = []
    if options["push"] or options["push_to"] or options["push_dry_run"]:
        senders.append(Push(options, previous))
    if options["webhook"] is not None:
        senders.append(Webhook(options))
    return senders


class Push:
    """The verdicts of one command, on their way to a trace server."""

    def __init__(self, options: Mapping[str, Any], previous: Callable[[str], Sequence[Mark]]) -> None:
        self._address = _target(options)
        self._is_dry = bool(options["push_dry_run"])
        self._redacts = options["redact"] is not False
        self._origin = Origin(evalset=_name(options), link=options["push_link"] or "")
        self._previous = previous
        self.marks: dict[str, list[Mark]] = {}
        """The marks to send, by trace."""
        self._without_trace = 0

    def add(self, result: CaseResult, run_id: str) -> None:
        """Add the verdict of a case."""
        marks = marks_of(redacted(result) if self._redacts else result, replace(self._origin, run_id=run_id))
        for mark in marks:
            self.marks.setdefault(mark.trace_id, []).append(mark)
        self._without_trace += not marks

    def finish(self) -> bool:
        """Send all verdicts or, with `--push-dry-run`, print them; return whether all were taken."""
        if self._without_trace:
            print_error(f"{self._without_trace:,} verdicts not sent: their cases have no trace, or one without an id")
        marks = [mark for trace_id in self.marks for mark in (*self._revised(trace_id), *self._withdrawn(trace_id))]
        if not self._is_dry:
            return self._send(marks)
        for mark in marks:
            click.echo(printable(_line(mark), one_line=True))
        return True

    def _revised(self, trace_id: str) -> list[Mark]:
        """Return the marks of a trace, each with its earlier time: some servers identify a mark by that, too."""
        times = {mark.id: mark.time_ns for mark in self._previous(trace_id)}
        self.marks[trace_id] = [
            replace(mark, time_ns=times.get(mark.id, mark.time_ns)) for mark in self.marks[trace_id]
        ]
        return self.marks[trace_id]

    def _withdrawn(self, trace_id: str) -> list[Mark]:
        """Return marks for spans that an earlier verdict found wrong and this one does not."""
        now = {mark.id for mark in self.marks[trace_id]}
        return [
            replace(mark, label="passed", explanation="an earlier verdict was revised: this call is as expected")
            for mark in self._previous(trace_id)
            if mark.id not in now and mark.label != "passed"
        ]

    def _send(self, marks: Sequence[Mark]) -> bool:
        count = 0
        try:
            with opened_server(self._address) as server:
                for start in range(0, len(marks), _TOGETHER):
                    server.push(marks[start : start + _TOGETHER])
                    count = min(start + _TOGETHER, len(marks))
        except RightcallError as problem:
            # Verdicts count whether or not a server takes them.
            print_error(f"{len(marks) - count:,} of {len(marks):,} verdicts not sent: {problem}")
            return False
        print_error(f"{count:,} verdicts sent to {self._address}")
        return True


class Webhook:
    """The verdicts of one command as one JSON document, posted to an address."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._url, self._evalset = options["webhook"], _name(options)
        self._redacts = options["redact"] is not False
        self._results: list[dict[str, Any]] = []

    def add(self, result: CaseResult, run_id: str) -> None:
        """Add the verdict of a case."""
        shown = redacted(result) if self._redacts else result
        findings = [{"code": each.finding.code, "message": each.finding.message} for each in shown.findings]
        self._results.append(
            {
                "case": shown.case_id,
                "trace_id": shown.trajectory.trace_id if shown.trajectory is not None else None,
                "verdict": shown.verdict,
                "score": shown.score,
                "findings": findings,
                "run": run_id,
            }
        )

    def finish(self) -> bool:
        """Post the verdicts; return whether they were taken."""
        try:
            post_json(self._url, {"evalset": self._evalset, "results": self._results})
        except RightcallError as problem:
            print_error(problem)
            return False
        return True


def _target(options: Mapping[str, Any]) -> Address:
    if options["push_to"] is not None:
        return parse_address(options["push_to"], source_aliases(), pushes=True)
    found = list(addresses_in(options["traces"]).values())
    if len({(address.scheme, address.host, address.place) for address in found}) != 1:
        raise click.UsageError(
            "--push sends verdicts to where the traces are, which is one server: give its address, or --push-to URL"
        )
    return found[0]


def _name(options: Mapping[str, Any]) -> str:
    """Return a name for the request. Expectations that are written differently must not replace each other."""
    if options["evalset"] is not None:
        return str(options["evalset"])
    expect = str(options["expect"])
    return expect if os.path.isfile(expect) else f"expectation-{hashlib.sha256(expect.encode()).hexdigest()[:8]}"


def _line(mark: Mark) -> str:
    place = f"{mark.trace_id}{f' span {mark.span_id}' if mark.span_id is not None else ''}"
    score = f" {mark.score:g}" if mark.score is not None else ""
    return f"{place}: {mark.name} = {mark.label}{score}: {mark.explanation}"
