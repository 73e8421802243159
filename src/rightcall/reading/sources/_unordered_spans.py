"""Spans that come in any order, from any number of tables: the same runs whatever the order was."""

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
"""How runs begin in which an agent or a model was at work: the names and scopes of their roots."""

_LAST = 1 << 80
_MOST_TROUBLES = 10


class UnorderedSpans:
    """All spans of some runs, however they were scattered.

    Where nothing else says it, spans are ordered by when they began, then with those around others first, then by id.
    Traces are runs, or those of one conversation or session are; they are never put together because they lie in one
    place, as the traces of one file are that are nothing but calls.
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
        """A span without what its call has taken: the sooner that is done, the less is held."""
        if UNREADABLE in span.attributes:
            self._troubles.setdefault(span.trace_id, set()).add(str(span.attributes.get(UNREADABLE)))
        if groups_of(span):
            self._traces.unite(span)
        return read_span(span, self._limits, self._keep)

    def begun(self) -> Beginnings:
        """How those of the runs begin in which an agent or a model was at work."""
        run_filter = RunFilter()
        run_filter.counted(self._runs)
        return frozenset(run_filter.begun)

    def trajectories(self, begun: Beginnings = frozenset()) -> Iterator[Trajectory]:
        """The trajectories of the runs in order of their beginnings, each made when it is asked for.

        With the grouping `auto`, traces that have nothing of an agent in them are left out, unless they begin as a run
        does that has: one of these here, or one of those that are said to have `begun` elsewhere.
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
    """See whether spans that are scattered can be grouped in a way.

    Raises:
        ConfigurationError: the grouping is `file`, which means nothing there.
        UnknownNameError: there is no such grouping.
    """
    if grouping not in GROUPINGS:
        raise UnknownNameError(f"no grouping {grouping!r:.80}; {nearest(str(grouping), GROUPINGS)}")
    if grouping == "file":
        raise ConfigurationError("spans in tables are not grouped by file; give trace, conversation or session")


def _in_order(spans: list[ReadSpan]) -> list[ReadSpan]:
    """Spans in an order that depends on nothing but themselves."""
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
    """What a span says, its call included: of two that are alike in this it is all one which is first."""
    events = [(event.name, event.time_ns, _items(event.attributes)) for event in span.events]
    own = (span.parent_id, span.name, span.scope, span.failed, span.description, span.attribute_count, span.call)
    return repr((own, _items(span.attributes), events))


def _items(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(key, attributes.get(key)) for key in sorted(attributes)]
