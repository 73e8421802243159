"""Collect the items of a source into runs, and read one run at a time."""

from __future__ import annotations

import struct
import tempfile
import weakref
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Any

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading.conventions import groups_of
from rightcall.reading.formats import span_in
from rightcall.reading.messages import Log, has_messages, logs_in
from rightcall.reading.runs import (
    Grouping,
    ReadSpan,
    RunBuilder,
    RunFilter,
    Traces,
    Warnings,
    once_each,
    read_span,
    whole_runs,
    without_creations,
)
from rightcall.reading.spans import Item, LogRecord, OtherDocument, PackedSpan, Span
from rightcall.values.trajectory import Trajectory

from ._document_reader import LOOKED_FOR, Budget

_PARTS = 64
_SIZES = struct.Struct(">II")


class Spill:
    """Packed spans in temporary files, that are gone when it is closed."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        # Trajectories that nobody asks for leave nobody to close the files.
        weakref.finalize(self, self._closing.close)
        self._parts: dict[int, IO[bytes]] = {}

    def add(self, span: PackedSpan) -> None:
        """Put a span aside."""
        part = part_of_trace(span.trace_id)
        stream = self._parts.get(part)
        if stream is None:
            stream = tempfile.TemporaryFile(prefix="rightcall-")  # noqa: SIM115 (closed with all the others)
            self._parts[part] = self._closing.enter_context(stream)
        scope = span.scope.encode("utf-8", "surrogatepass")
        stream.write(_SIZES.pack(len(scope), len(span.raw)))
        stream.write(scope)
        stream.write(span.raw)

    def spans(self) -> Iterator[tuple[int, Iterable[Span]]]:
        """The spans put aside, one part after the other; each part is read while it is the current one."""
        for part in range(_PARTS):
            stream = self._parts.pop(part, None)
            yield part, _spans_in(stream) if stream else ()
            if stream:
                stream.close()

    def close(self) -> None:
        """Remove the files."""
        self._closing.close()


def part_of_trace(trace_id: str) -> int:
    """The part in which a trace's spans are put aside."""
    return hash(trace_id) % _PARTS


def _spans_in(stream: IO[bytes]) -> Iterator[Span]:
    stream.seek(0)
    while sizes := stream.read(_SIZES.size):
        scope_size, raw_size = _SIZES.unpack(sizes)
        scope = stream.read(scope_size).decode("utf-8", "surrogatepass")
        yield span_in(stream.read(raw_size), scope)


_HELD_BYTES = 48 * 1024 * 1024
_NO_LIMIT = 1 << 62


class RunCollector:
    """What a source holds. Spans beyond the budget lie in temporary files until their run is read."""

    def __init__(
        self, grouping: Grouping, keep: tuple[str, ...], limits: Limits, held_bytes: int = _HELD_BYTES
    ) -> None:
        # A run that is a whole file has to be held whole.
        self.budget = Budget(_NO_LIMIT if grouping == "file" else held_bytes)
        self._grouping = grouping
        self._traces = Traces(grouping)
        self.run_filter = RunFilter()
        self._spill = Spill()
        self._keep, self._limits = keep, limits
        self._logs: dict[str, list[LogRecord]] = {}
        self._loose: list[Any] = []

    def add(self, items: Iterable[Item]) -> None:
        """Take in the items of a document."""
        for item in items:
            if isinstance(item, Span):
                if groups_of(item):
                    self._traces.unite(item)
                self._traces.add(read_span(item, self._limits, self._keep))
            else:
                self._add_other(item)

    def _add_other(self, item: Item) -> None:
        if isinstance(item, PackedSpan):
            if item.may_be_grouped():
                self._traces.unite(span_in(item.raw, item.scope))
            self._spill.add(item)
        elif isinstance(item, LogRecord):
            self._logs.setdefault(item.trace_id, []).append(item)
        elif isinstance(item, OtherDocument):
            self._loose.append(item.document)

    def trajectories(self, name: str, warnings: Warnings) -> Iterator[Trajectory]:
        """The trajectories of the runs, each made when it is asked for.

        Raises:
            InputError: nothing in the source is a span or a message.
        """
        has_spans = self._traces.has_spans
        if self._loose and not has_spans and not self._logs:
            yield from self._of_messages(name, warnings)
            return
        if not has_spans and not self._logs:
            raise InputError(f"{name}: no spans in it and no messages; {LOOKED_FOR}")
        self.warn_of_loose(name, warnings)
        if self.budget.is_spent:
            yield from self._spilled_trajectories(warnings)
            return
        runs = without_creations(self._traces.runs() or [[]])
        runs = whole_runs(runs) if self._grouping == "auto" else runs
        yield from self.trajectories_of(runs, warnings, alone=len(runs) == 1)

    def everything(self, name: str, warnings: Warnings) -> tuple[list[ReadSpan], list[LogRecord], list[Log]]:
        """All spans, log records and messages of a source that is one run.

        Raises:
            InputError: nothing in the source is a span or a message, or its messages are of no format known.
        """
        if not self._traces.has_spans and not self._logs and not self._loose:
            raise InputError(f"{name}: no spans in it and no messages; {LOOKED_FOR}")
        if not self._traces.has_spans and not self._logs:
            return [], [], self._messages(name, warnings)
        self.warn_of_loose(name, warnings)
        spans = [span for run in self._traces.runs() for span in run]
        return spans, self._logs_of(self._logs), []

    def part_with(self, names: Container[str]) -> list[list[ReadSpan]]:
        """The runs that are known by these traces and conversations only; they are held no longer.

        There are none once spans have been put aside.
        """
        if self.budget.is_spent:
            return []
        before = self._traces.count()
        runs = self._traces.part_with(names)
        self.budget.held = self.budget.held * self._traces.count() // max(before, 1)
        return runs

    def names(self) -> set[str]:
        """The traces and conversations by which the runs held are known."""
        return self._traces.names()

    def counted(self, runs: list[list[ReadSpan]]) -> list[list[ReadSpan]]:
        """Those of some runs of a large source that count for what is in them; others wait."""
        runs = without_creations(runs)
        return self.run_filter.counted(runs) if self._grouping == "auto" else runs

    def trajectories_of(
        self, runs: list[list[ReadSpan]], warnings: Warnings, alone: bool = False
    ) -> Iterator[Trajectory]:
        """The trajectories of runs, each made when it is asked for. To one that is `alone` all log records belong."""
        runs.reverse()
        while runs:
            run = RunBuilder(self._limits, self._keep)
            run.spans = runs.pop()
            run.logs = self._logs_of(self._logs if alone else dict.fromkeys([span.trace_id for span in run.spans]))
            yield run.trajectory(warnings.texts())

    def remaining_trajectories(self, warnings: Warnings) -> Iterator[Trajectory]:
        """The trajectories of the runs still held or put aside, and of those that waited."""
        if self.budget.is_spent:
            yield from self._spilled_trajectories(warnings)
        else:
            yield from self.trajectories_of([*self.counted(self._traces.runs()), *self.run_filter.late()], warnings)

    def _spilled_trajectories(self, warnings: Warnings) -> Iterator[Trajectory]:
        try:
            for runs in self._spilled():
                yield from self.trajectories_of(runs, warnings)
        finally:
            self._spill.close()

    def warn_of_loose(self, name: str, warnings: Warnings) -> None:
        """Warn of documents that are no spans, there being spans beside them."""
        if self._loose:
            warnings.add("documents", f"{name}: {len(self._loose)} documents that are no spans were left out")

    def _logs_of(self, traces: Iterable[str]) -> list[LogRecord]:
        return [record for trace in traces for record in self._logs.get(trace, ())] if self._logs else []

    def _spilled(self) -> Iterator[list[list[ReadSpan]]]:
        """The runs of each part of the spill; last those whose traces lie in several parts."""
        several, scattered = self._traces.tops(), dict[str, list[ReadSpan]]()
        in_memory: dict[int, list[ReadSpan]] = {}
        for trace, spans in self._traces.taken().items():
            in_memory.setdefault(part_of_trace(trace), []).extend(spans)
        for part, put_aside in self._spill.spans():
            runs: dict[str, list[ReadSpan]] = {}
            for span in in_memory.pop(part, ()):
                self._sort(span, runs, scattered, several)
            for packed in put_aside:
                self._sort(read_span(packed, self._limits, self._keep), runs, scattered, several)
            yield self.counted([once_each(run) for run in runs.values()])
        yield [*self.counted([once_each(run) for run in scattered.values()]), *self.run_filter.late()]

    def _sort(
        self, span: ReadSpan, runs: dict[str, list[ReadSpan]], scattered: dict[str, list[ReadSpan]], several: set[str]
    ) -> None:
        top = self._traces.top(span.trace_id)
        (scattered if top in several else runs).setdefault(top, []).append(span)

    def _of_messages(self, name: str, warnings: Warnings) -> Iterator[Trajectory]:
        for log in self._messages(name, warnings):
            run = RunBuilder(self._limits, self._keep)
            run.log = log
            yield run.trajectory(warnings.texts())

    def _messages(self, name: str, warnings: Warnings) -> list[Log]:
        logs, left_out = logs_in(self._loose)
        if left_out:
            warnings.add("documents", f"{name}: {left_out:,} documents that hold no messages were left out")
        for log in logs:
            checked_messages(log.messages or [message for held in log.snapshots for message in held], name)
        return logs


def checked_messages(messages: list[Any], name: str) -> list[Any]:
    """The messages, if they are any.

    Raises:
        InputError: they are no messages of a known format, or one of them is an object that cannot be opened.
    """
    for position, message in enumerate(messages):
        if message is not None and not isinstance(message, (dict, list, str, int, float)):
            kind = type(message).__name__
            raise InputError(f"{name}[{position}]: an object of type {kind} cannot be read as a message; give a dict")
    if messages and not has_messages(messages):
        raise InputError(f"{name}: neither spans nor messages of a known format; {LOOKED_FOR}")
    return messages
