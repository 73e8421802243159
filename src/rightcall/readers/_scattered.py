"""Spans that come in any order, from any number of tables: the same runs whatever the order was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rightcall.errors import ConfigurationError, UnknownNameError, nearest
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.trajectory import Trajectory

from ._calls import take_call
from ._grouping import GROUPINGS, Grouping, Sorting, Traces
from ._run import Run
from ._span import Span
from ._table_spans import UNREADABLE

Beginnings = frozenset[tuple[str, str]]
"""How runs begin in which an agent or a model was at work: the names and scopes of their roots."""

_LAST = 1 << 80


class Scattered:
    """All spans of some runs, however they were scattered.

    Where nothing else says it, spans are ordered by when they began, then with those around others first, then by id.
    Traces are runs, or those of one conversation or session are; they are never put together because they lie in one
    place, as the traces of one file are that are nothing but calls.
    """

    def __init__(
        self, spans: Iterable[Span], grouping: Grouping, keep: tuple[str, ...], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._keep, self._limits = keep, limits
        self._troubles: dict[str, list[str]] = {}
        self._traces = Traces(grouping)
        self._sorts = grouping == "auto"
        for span in _in_order(list(spans)):
            trouble = span.attributes.get(UNREADABLE)
            if trouble is not None:
                self._troubles.setdefault(span.trace_id, []).append(str(trouble))
            self._traces.add(span)
            take_call(span, limits, keep)
        self._runs = self._traces.runs()

    def begun(self) -> Beginnings:
        """How those of the runs begin in which an agent or a model was at work."""
        sorting = Sorting()
        sorting.counted(self._runs)
        return frozenset(sorting.begun)

    def trajectories(self, begun: Beginnings = frozenset()) -> Iterator[Trajectory]:
        """The trajectories of the runs in order of their beginnings, each made when it is asked for.

        With the grouping `auto`, traces that have nothing of an agent in them are left out, unless they begin as a run
        does that has: one of these here, or one of those that are said to have `begun` elsewhere.
        """
        for spans in self._counted(begun):
            run = Run(self._limits, self._keep)
            run.spans = spans
            traces = dict.fromkeys([span.trace_id for span in spans]) if self._troubles else ()
            yield run.trajectory([text for trace in traces for text in self._troubles.get(trace, ())][:10])

    def _counted(self, begun: Beginnings) -> list[list[Span]]:
        runs, self._runs = self._runs, []
        if not self._sorts:
            return runs
        sorting = Sorting()
        sorting.begun.update(begun)
        kept = {id(run) for run in (*sorting.counted(runs), *sorting.late())}
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


def _in_order(spans: list[Span]) -> list[Span]:
    """Spans in an order that depends on nothing but themselves."""
    spans.sort(key=_place)
    ordered: list[Span] = []
    for _, group in groupby(spans, _place):
        together = list(group)
        ordered += together if len(together) == 1 else sorted(together, key=_content)
    return ordered


def _place(span: Span) -> tuple[Any, ...]:
    start, end = span.start_ns, span.end_ns
    return _LAST if start is None else start, 0 if end is None else -end, span.trace_id, span.span_id or ""


def _content(span: Span) -> str:
    """Everything that a span says: two that are alike in this are the same, and which of them is first is all one."""
    events = [(event.name, event.time_ns, sorted(event.attributes.items(), key=repr)) for event in span.events]
    attributes = sorted(span.attributes.items(), key=repr)
    return repr((span.parent_id, span.name, span.scope, span.failed, span.description, attributes, events))
