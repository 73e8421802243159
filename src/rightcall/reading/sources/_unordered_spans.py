"""Runs from spans in any order, as tables have them: the order never changes the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from rightcall.errors import ConfigurationError, UnknownNameError, nearest
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.conventions import groups_of
from rightcall.reading.runs import (
    GROUPINGS,
    Grouping,
    ReadSpan,
    RunBuilder,
    RunFilter,
    Traces,
    read_span,
    without_creations,
)
from rightcall.reading.spans import Span
from rightcall.reading.tables import UNREADABLE
from rightcall.values.trajectory import Trajectory

Beginnings = frozenset[tuple[str, str]]
"""The names and scopes of the roots of runs that show an agent or a model at work."""

_LAST = 1 << 80  # after every time in nanoseconds, for spans without a start
_MOST_TROUBLES = 10


class UnorderedSpans:
    """All spans of some runs, in any order.

    Spans are ordered by start, then outer before inner, then by id. A run is a trace, or the traces of one conversation
    or session. Unlike in a file, traces that consist of calls only are not united: rows of one table have nothing to
    do with each other.
    """

    def __init__(
        self, spans: Iterable[Span], grouping: Grouping, keep: tuple[str, ...], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._keep, self._limits = keep, limits
        self._troubles: dict[str, set[str]] = {}
        self._traces = Traces(grouping)
        self._sorts = grouping == "auto"
        for span in _in_order([self._taken(span) for span in spans]):
            self._traces.add(span)
        self._runs = without_creations(self._traces.runs())

    def _taken(self, span: Span) -> ReadSpan:
        """Read a span at once: the call it records takes less memory than its attributes."""
        if UNREADABLE in span.attributes:
            self._troubles.setdefault(span.trace_id, set()).add(str(span.attributes.get(UNREADABLE)))
        if groups_of(span):
            self._traces.unite(span)
        return read_span(span, self._limits, self._keep)

    def begun(self) -> Beginnings:
        """The roots of the runs that show an agent or a model at work."""
        run_filter = RunFilter()
        run_filter.counted(self._runs)
        return frozenset(run_filter.begun)

    def trajectories(self, begun: Beginnings = frozenset()) -> Iterator[Trajectory]:
        """Yield the trajectories of the runs in order of their start, each built when it is asked for.

        With the grouping `auto`, traces that show no agent at work are left out, unless they have the same roots as a
        run that does: one of these, or one whose roots are in `begun`.
        """
        runs = self._counted(begun)
        runs.reverse()
        while runs:
            spans = runs.pop()
            run = RunBuilder(self._limits, self._keep)
            run.spans = spans
            traces = {span.trace_id for span in spans} if self._troubles else ()
            troubles = {text for trace in traces for text in self._troubles.get(trace, ())}
            yield run.trajectory(sorted(troubles)[:_MOST_TROUBLES])

    def _counted(self, begun: Beginnings) -> list[list[ReadSpan]]:
        runs, self._runs = self._runs, []
        if not self._sorts:
            return runs
        run_filter = RunFilter()
        run_filter.begun.update(begun)
        kept = {id(run) for run in (*run_filter.counted(runs), *run_filter.late())}
        return [run for run in runs if id(run) in kept or any([span.trace_id in self._troubles for span in run])]


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
    """Sort spans in an order that depends on nothing but the spans."""
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
    """All that a span says, its call included. Spans equal in this are interchangeable."""
    events = [(event.name, event.time_ns, _items(event.attributes)) for event in span.events]
    own = (span.parent_id, span.name, span.scope, span.failed, span.description, span.attribute_count, span.call)
    return repr((own, _items(span.attributes), events))


def _items(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, attributes.get(key)) for key in sorted(attributes)]
