"""Verdicts sent elsewhere: `--push` to a trace server, as marks on traces and spans, and `--webhook` to any address."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import click
from msgspec.structs import replace

from rightcall.connect import Address, Mark, Origin, marks_of, opened_server, parse_address, post_json
from rightcall.errors import RightcallError
from rightcall.reporting.reports import printable
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult

from .._pull import addresses_in, source_aliases
from .._terminal import print_error

_TOGETHER = 200
"""Marks that are sent at once: a run that is killed has sent those before, and the next run replaces them."""


class Sender(Protocol):
    """Something that takes the results of a command, and sends them when all are there."""

    def add(self, result: CaseResult, run_id: str) -> None:
        """Take a result."""

    def finish(self) -> bool:
        """Send everything; return whether that went well. It does not change a verdict."""


def senders_of(options: Mapping[str, Any], previous: Callable[[str], Sequence[Mark]] = lambda _: ()) -> list[Sender]:
    """Return what the options of a command ask for.

    Args:
        options: Those of the command.
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
        """What is sent, by trace."""
        self._without_trace = 0

    def add(self, result: CaseResult, run_id: str) -> None:
        """Take the verdict of a case."""
        marks = marks_of(redacted(result) if self._redacts else result, replace(self._origin, run_id=run_id))
        for mark in marks:
            self.marks.setdefault(mark.trace_id, []).append(mark)
        self._without_trace += not marks

    def finish(self) -> bool:
        """Send, or with `--push-dry-run` print, all verdicts; return whether all are there."""
        if self._without_trace:
            print_error(f"{self._without_trace:,} verdicts not sent: their cases have no trace, or one without an id")
        marks = [mark for trace_id in self.marks for mark in (*self._revised(trace_id), *self._withdrawn(trace_id))]
        if not self._is_dry:
            return self._send(marks)
        for mark in marks:
            click.echo(printable(_line(mark), one_line=True))
        return True

    def _revised(self, trace_id: str) -> list[Mark]:
        """Return the marks of a trace, each with the time that it had before: some servers go by it, too."""
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
            # The verdicts stand, whether or not a server takes them.
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
        """Take the verdict of a case."""
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
    """Return a name for what was asked. Two expectations that are written differently must not replace each other."""
    if options["evalset"] is not None:
        return str(options["evalset"])
    expect = str(options["expect"])
    return expect if os.path.isfile(expect) else f"expectation-{hashlib.sha256(expect.encode()).hexdigest()[:8]}"


def _line(mark: Mark) -> str:
    place = f"{mark.trace_id}{f' span {mark.span_id}' if mark.span_id is not None else ''}"
    score = f" {mark.score:g}" if mark.score is not None else ""
    return f"{place}: {mark.name} = {mark.label}{score}: {mark.explanation}"
