"""Collect the spans of a source into runs, in temporary files beyond a memory budget, and read one run at a time."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

import msgspec

from rightcall.errors import ConfigurationError, InputError, UnknownFormatError, UnknownNameError, nearest
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import messages
from rightcall.reading.conventions import groups_of
from rightcall.reading.formats import OtlpRequest, span_in
from rightcall.reading.messages import Log, has_messages
from rightcall.reading.runs import (
    GROUPINGS,
    Grouping,
    Kept,
    ReadSpan,
    Run,
    RunFilter,
    SimpleRun,
    SimpleRuns,
    Traces,
    Warnings,
    call_plans,
    once_each,
    read_span,
    spans_of,
    whole_runs,
    without_creations,
)
from rightcall.reading.spans import MESSAGES, UNREADABLE, Item, LogRecord, OtherDocument, PackedSpan, Span
from rightcall.values.trajectory import Trajectory

from ._document_reader import LOOKED_FOR, Budget

if TYPE_CHECKING:
    from rightcall.reading.runs import RunBuilder


_HELD_BYTES = 48 * 1024 * 1024
_NO_LIMIT = 1 << 62

_OWN_LOGS = (
    "write a log of your own as messages, such as "
    '[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]}]'
)
# A part is read into memory whole: 64 parts bring a file of some GB down to tens of MB, and stay well below the usual
# limit of 256 open files (macOS).
_PARTS = 64
# The two lengths before each span, so that reading it back needs no search for its end.
_SIZES = struct.Struct(">II")


class RunCollector:
    """Collects the items of a source into runs. Spans beyond the memory budget are kept in temporary files."""

    def __init__(self, grouping: Grouping, kept: Kept, limits: Limits, held_bytes: int = _HELD_BYTES) -> None:
        # If the file is one run, it has to be in memory as a whole.
        self._held_bytes = _NO_LIMIT if grouping == "file" else held_bytes
        self.budget = Budget(self._held_bytes)
        self._grouping = grouping
        self._traces = Traces(grouping)
        self.run_filter = RunFilter()
        self._kept, self._limits = kept, limits
        self._simple_runs = SimpleRuns(call_plans(limits, kept))
        self._logs: dict[str, list[LogRecord]] = {}
        self._loose: list[Any] = []
        self._beside = ""
        """A description of messages in a source of spans; empty if there are none."""

    @cached_property
    def _spill(self) -> Spill:
        return Spill()  # made on demand: few sources need it

    def add(self, items: Iterable[Item | OtlpRequest]) -> None:
        """Add the items of a document."""
        for item in items:
            if isinstance(item, OtlpRequest):
                simple = self._simple_runs.run_of(item)
                if simple is None or not self._traces.add_simple(simple):
                    self.add(item.spans)
            elif isinstance(item, Span):
                if groups_of(item):
                    self._traces.unite(item)
                self._traces.add(read_span(item, self._limits, self._kept.attributes))
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
        """Yield the trajectories of the runs, each built on demand.

        Raises:
            InputError: nothing in the source is a span or a message.
        """
        only = None if self._logs or self._loose or self.budget.left < 0 else self._traces.only_run
        if only is not None:
            # A shortcut: most sources are one simple run, so there is nothing to compare or join it with.
            yield from self.trajectories_of([only], warnings)
            return
        has_spans = self._traces.has_spans
        if self._loose and not has_spans and not self._logs:
            yield from self._of_messages(name, warnings)
            return
        if not has_spans and not self._logs:
            raise UnknownFormatError(f"{name}: no spans in it and no messages", LOOKED_FOR)
        self.warn_of_loose(name, warnings)
        if self.budget.left < 0:
            yield from self._spilled_trajectories(warnings)
            return
        runs: list[Run] = without_creations(self._traces.runs() or [[]])
        runs = whole_runs(runs) if self._grouping == "auto" else runs
        yield from self.trajectories_of(runs, warnings, alone=len(runs) == 1)

    def everything(self, name: str, warnings: Warnings) -> tuple[list[ReadSpan], list[LogRecord], list[Log]]:
        """Return all spans, log records and messages of a source that is one run.

        Raises:
            InputError: nothing in the source is a span or a message, or its messages are of an unknown format.
        """
        if not self._traces.has_spans and not self._logs and not self._loose:
            raise UnknownFormatError(f"{name}: no spans in it and no messages", LOOKED_FOR)
        if not self._traces.has_spans and not self._logs:
            return [], [], self._messages(name, warnings)
        self.warn_of_loose(name, warnings)
        spans = [span for run in self._traces.runs() for span in spans_of(run)]
        return spans, self._logs_of(self._logs), []

    def part_with(self, names: Container[str]) -> list[Run]:
        """Remove and return the runs that have no other traces and conversations than these.

        Return none once spans have been written to temporary files.
        """
        if self.budget.left < 0:
            return []
        before = self._traces.count()
        runs = self._traces.part_with(names)
        # Bytes are not counted for each run; the share of the remaining spans is close enough.
        held = self._held_bytes - self.budget.left
        self.budget.left = self._held_bytes - held * self._traces.count() // max(before, 1)
        return runs

    def names(self) -> set[str]:
        """Return the ids of the traces and conversations in memory."""
        return self._traces.names()

    def counted(self, runs: list[Run]) -> list[Run]:
        """Return the runs that count by their own content. The others wait until the rest of the source was read."""
        runs = without_creations(runs)
        return self.run_filter.counted(runs) if self._grouping == "auto" else runs

    def trajectories_of(self, runs: list[Run], warnings: Warnings, alone: bool = False) -> Iterator[Trajectory]:
        """Yield the trajectories of runs, each built on demand. A run that is `alone` gets all log records."""
        runs.reverse()
        while runs:
            value = runs.pop()
            if isinstance(value, SimpleRun) and not self._logs and not self._beside:
                warnings.recognised.conventions.update(value.conventions)
                if warnings.counts:
                    yield msgspec.structs.replace(value.trajectory, warnings=warnings.texts())
                else:
                    yield value.trajectory
                continue
            run = _builder(self._limits, self._kept)
            run.spans = spans_of(value)
            run.beside = self._beside
            run.logs = self._logs_of(self._logs if alone else dict.fromkeys([span.trace_id for span in run.spans]))
            yield _built(run, warnings)

    def remaining_trajectories(self, warnings: Warnings) -> Iterator[Trajectory]:
        """Yield the trajectories of the runs still in memory or in files, and of waiting runs that count."""
        if self.budget.left < 0:
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
        """Add a warning about documents that are not spans, in a source with spans."""
        if self._loose:
            warnings.add("documents", f"{name}: {len(self._loose)} documents that are not spans were left out")
            logs, _ = messages.logs_in(self._loose)
            if any([log.format or has_messages(log.messages) for log in logs]):
                self._beside = "messages in the source beside the spans, which may be of the same run"

    def _logs_of(self, traces: Iterable[str]) -> list[LogRecord]:
        return [record for trace in traces for record in self._logs.get(trace, ())] if self._logs else []

    def _spilled(self) -> Iterator[list[Run]]:
        """Yield the runs of each file, and last those whose traces are in several files."""
        several, scattered = self._traces.tops(), dict[str, list[ReadSpan]]()
        in_memory: dict[int, list[ReadSpan]] = {}
        for trace, spans in self._traces.taken().items():
            in_memory.setdefault(part_of_trace(trace), []).extend(spans)
        for part, put_aside in self._spill.spans():
            runs: dict[str, list[ReadSpan]] = {}
            for span in in_memory.pop(part, ()):
                self._sort(span, runs, scattered, several)
            for packed in put_aside:
                self._sort(read_span(packed, self._limits, self._kept.attributes), runs, scattered, several)
            yield self.counted([once_each(run) for run in runs.values()])
        yield [*self.counted([once_each(run) for run in scattered.values()]), *self.run_filter.late()]

    def _sort(
        self, span: ReadSpan, runs: dict[str, list[ReadSpan]], scattered: dict[str, list[ReadSpan]], several: set[str]
    ) -> None:
        top = self._traces.top(span.trace_id)
        (scattered if top in several else runs).setdefault(top, []).append(span)

    def _of_messages(self, name: str, warnings: Warnings) -> Iterator[Trajectory]:
        for log in self._messages(name, warnings):
            run = _builder(self._limits, self._kept)
            run.log = log
            warnings.recognised.formats.setdefault(log.format or MESSAGES)
            warnings.recognised.unused.update(dict.fromkeys(log.unused))
            yield _built(run, warnings)

    def _messages(self, name: str, warnings: Warnings) -> list[Log]:
        logs, left_out = messages.logs_in(self._loose)
        if not logs:
            raise InputError(f"{name}: no conversation in it")
        if left_out:
            warnings.add("documents", f"{name}: {left_out:,} documents that hold no messages were left out")
        # Only logs of no known format are checked: an item of a transcript that is not a message is RC304 later on.
        for log in [log for log in logs if not log.format]:
            checked_messages(log.messages or [message for held in log.snapshots for message in held], name)
        return logs


def _builder(limits: Limits, kept: Kept) -> RunBuilder:
    """Return what builds a run. Imported here, because the simple runs of most files do not need it."""
    from rightcall.reading.runs import RunBuilder

    return RunBuilder(limits, kept)


def _built(run: RunBuilder, warnings: Warnings) -> Trajectory:
    made = run.trajectory(warnings.texts())
    warnings.recognised.conventions.update(run.conventions)
    return made


def checked_messages(messages: list[Any], name: str) -> list[Any]:
    """Return the messages after checking that at least one is of a known format.

    Raises:
        InputError: none is, or one of them is an object that cannot be read.
    """
    for position, message in enumerate(messages):
        if message is not None and not isinstance(message, (dict, list, str, int, float)):
            kind = type(message).__name__
            raise InputError(f"{name}[{position}]: an object of type {kind} cannot be read as a message; give a dict")
    if messages and not has_messages(messages):
        raise UnknownFormatError(f"{name}: neither spans nor messages of a known format", f"{LOOKED_FOR}; {_OWN_LOGS}")
    return messages


Beginnings = frozenset[tuple[str, str]]
"""The names and scopes of the roots of runs with an agent or a model."""

_LAST = 1 << 80  # after every time in nanoseconds, for spans without a start
_MOST_TROUBLES = 10


class UnorderedSpans:
    """All spans of some runs, given in any order.

    They are sorted by start, then outer before inner, then by id. A run is a trace, or the traces of one conversation
    or session. Unlike in a file, traces that consist of calls only are not joined into one run: rows of one table may
    have nothing to do with each other.
    """

    def __init__(
        self, spans: Iterable[Span], grouping: Grouping, keep: tuple[str, ...], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._kept, self._limits = Kept(keep), limits
        self._troubles: dict[str, set[str]] = {}
        self._traces = Traces(grouping)
        self._sorts = grouping == "auto"
        for span in _in_order([self._taken(span) for span in spans]):
            self._traces.add(span)
        self._runs = without_creations(self._traces.runs())

    def _taken(self, span: Span) -> ReadSpan:
        """Read a span immediately, because its call takes less memory than its attributes."""
        if UNREADABLE in span.attributes:
            self._troubles.setdefault(span.trace_id, set()).add(str(span.attributes.get(UNREADABLE)))
        if groups_of(span):
            self._traces.unite(span)
        return read_span(span, self._limits, self._kept.attributes)

    def begun(self) -> Beginnings:
        """Return the roots of the runs with an agent or a model."""
        run_filter = RunFilter()
        run_filter.counted(self._runs)
        return frozenset(run_filter.begun)

    def trajectories(self, begun: Beginnings = frozenset()) -> Iterator[Trajectory]:
        """Yield the trajectories of the runs by start time, each built on demand.

        With the grouping `auto`, traces without an agent are left out, unless they have the same roots as a run with
        one: among these runs, or among those whose roots are in `begun`.
        """
        runs = self._counted(begun)
        runs.reverse()
        while runs:
            spans = spans_of(runs.pop())
            run = _builder(self._limits, self._kept)
            run.spans = spans
            traces = {span.trace_id for span in spans} if self._troubles else ()
            troubles = {text for trace in traces for text in self._troubles.get(trace, ())}
            yield run.trajectory(sorted(troubles)[:_MOST_TROUBLES])

    def _counted(self, begun: Beginnings) -> list[Run]:
        runs, self._runs = self._runs, []
        if not self._sorts:
            return runs
        run_filter = RunFilter()
        run_filter.begun.update(begun)
        kept = {id(run) for run in (*run_filter.counted(runs), *run_filter.late())}
        return [
            run for run in runs if id(run) in kept or any([span.trace_id in self._troubles for span in spans_of(run)])
        ]


def check_grouping(grouping: str) -> None:
    """Check the grouping for spans in tables.

    Raises:
        ConfigurationError: the grouping is `file`, which has no meaning for rows.
        UnknownNameError: the grouping is unknown.
    """
    if grouping not in GROUPINGS:
        raise UnknownNameError(f"no grouping {grouping!r:.80}; {nearest(str(grouping), GROUPINGS)}")
    if grouping == "file":
        raise ConfigurationError("spans in tables are not grouped by file; give trace, conversation or session")


def _in_order(spans: list[ReadSpan]) -> list[ReadSpan]:
    """Sort spans in an order that depends only on the spans, not on the order of rows."""
    spans.sort(key=_place)
    ordered: list[ReadSpan] = []
    for _, group in groupby(spans, _place):
        together = list(group)
        ordered += together if len(together) == 1 else sorted(together, key=_content)
    return ordered


def _place(span: ReadSpan) -> tuple[Any, ...]:
    start, end = span.start_ns, span.end_ns
    return _LAST if start is None else start, 0 if end is None else -end, span.trace_id, span.span_id or ""


def _content(span: ReadSpan) -> str:
    """Return all that a span records, including its call, as text. Spans with equal strings are interchangeable."""
    events = [(event.name, event.time_ns, _items(event.attributes)) for event in span.events]
    own = (span.parent_id, span.name, span.scope, span.failed, span.description, span.attribute_count, span.call)
    return repr((own, _items(span.attributes), events))


def _items(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, attributes.get(key)) for key in sorted(attributes)]


class Spill:
    """Undecoded spans in temporary files, with all spans of a trace in one file. Closing it removes the files."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        # `read` returns an iterator, which a caller may drop half way: then nothing else would close the files.
        weakref.finalize(self, self._closing.close)
        self._parts: dict[int, IO[bytes]] = {}

    def add(self, span: PackedSpan) -> None:
        """Write a span to the file of its trace."""
        part = part_of_trace(span.trace_id)
        stream = self._parts.get(part)
        if stream is None:
            import tempfile

            stream = tempfile.TemporaryFile(prefix="rightcall-")  # noqa: SIM115 (closed with all the others)
            self._parts[part] = self._closing.enter_context(stream)
        scope = span.scope.encode("utf-8", "surrogatepass")
        stream.write(_SIZES.pack(len(scope), len(span.raw)))
        stream.write(scope)
        stream.write(span.raw)

    def spans(self) -> Iterator[tuple[int, Iterable[Span]]]:
        """Yield each part and its spans. Read all spans of a part before asking for the next one."""
        for part in range(_PARTS):
            stream = self._parts.pop(part, None)
            yield part, _spans_in(stream) if stream else ()
            if stream:
                stream.close()

    def close(self) -> None:
        """Remove the files."""
        self._closing.close()


def part_of_trace(trace_id: str) -> int:
    """Return the number of the file for a trace."""
    # Hashes of strings differ between processes. That is fine, because the files do not outlive this one, and it keeps
    # hostile traces from filling a single part.
    return hash(trace_id) % _PARTS


def _spans_in(stream: IO[bytes]) -> Iterator[Span]:
    stream.seek(0)
    while sizes := stream.read(_SIZES.size):
        scope_size, raw_size = _SIZES.unpack(sizes)
        scope = stream.read(scope_size).decode("utf-8", "surrogatepass")
        yield span_in(stream.read(raw_size), scope)
