"""Group the traces of a source that belong to one run."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

from rightcall.reading.conventions import CONVERSATION_KEYS, GROUP_KEYS, SESSION_KEYS, groups_of
from rightcall.reading.spans import Span

from ._read_span import ReadSpan, once_each

Grouping = Literal["auto", "conversation", "session", "trace", "file"]
GROUPINGS = ("auto", "conversation", "session", "trace", "file")

_KEYS: dict[Grouping, frozenset[str]] = {
    "auto": GROUP_KEYS,
    "conversation": frozenset(CONVERSATION_KEYS),
    "session": frozenset(SESSION_KEYS),
    "trace": frozenset(),
    "file": frozenset(),
}


def keys_of(grouping: Grouping) -> frozenset[str]:
    """Return the attributes by which traces are united."""
    return _KEYS[grouping]


class Traces:
    """The traces of a source, united if they belong to one run (a union-find over trace ids)."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        self._keys = _KEYS[grouping]
        self._spans: dict[str, list[ReadSpan]] = {}
        self._above: dict[str, str] = {}
        self._by_conversation: dict[str, str] = {}
        self._united: set[tuple[str, str]] = set()

    def add(self, span: ReadSpan) -> None:
        """Add a span. Call `unite` for the conversations it names, before its attributes are dropped."""
        trace = "" if self._grouping == "file" else span.trace_id
        held = self._spans.get(trace)
        if held is None:
            held = self._spans[trace] = []
        held.append(span)

    @property
    def has_spans(self) -> bool:
        """Whether any span is held."""
        return bool(self._spans)

    def unite(self, span: Span) -> None:
        """Unite the trace of a span with those of the same conversation, without holding the span."""
        for key in groups_of(span):
            # Most spans of a trace repeat its conversation, so pairs already united are skipped.
            value = span.attributes.get(key) if key in self._keys else None
            if isinstance(value, str) and value and (span.trace_id, value) not in self._united:
                self._united.add((span.trace_id, value))
                first, second = (
                    self.top(span.trace_id),
                    self.top(self._by_conversation.setdefault(value, span.trace_id)),
                )
                if first != second:
                    self._above[first] = second

    def top(self, trace: str) -> str:
        """Return the representative of all traces united with a trace."""
        while trace in self._above:
            trace = self._above[trace]
        return trace

    def tops(self) -> set[str]:
        """Return the representatives of several traces."""
        return {self.top(trace) for trace in self._above}

    def runs(self) -> list[list[ReadSpan]]:
        """Remove and return the spans of each run, in order of the first start."""
        united: dict[str, list[str]] = {}
        for trace in self._spans:
            united.setdefault(self.top(trace), []).append(trace)
        runs = [[span for trace in traces for span in once_each(self._spans[trace])] for traces in united.values()]
        self._spans = {}
        runs.sort(key=begin_of)
        return runs

    def part_with(self, names: Container[str]) -> list[list[ReadSpan]]:
        """Remove and return the spans of each run that consists of these traces and conversations only."""
        others = {self.top(trace) for trace in self._spans if trace not in names}
        others.update([self.top(trace) for trace, value in self._united if value not in names])
        kept = {trace: spans for trace, spans in self._spans.items() if self.top(trace) in others}
        for trace in kept:
            del self._spans[trace]
        runs = self.runs()
        self._spans = kept
        self._united = {pair for pair in self._united if pair[0] in kept}
        return runs

    def names(self) -> set[str]:
        """Return the ids of the traces held, and of their conversations."""
        return {*self._spans, *(value for _, value in self._united)}

    def count(self) -> int:
        """How many spans are held."""
        return sum(map(len, self._spans.values()))

    def taken(self) -> dict[str, list[ReadSpan]]:
        """Remove and return all spans, by trace."""
        spans, self._spans = self._spans, {}
        return spans


def begin_of(run: list[ReadSpan]) -> int:
    """Return when a run began; after all others if it has no times."""
    return min((span.start_ns for span in run if span.start_ns is not None), default=1 << 80)


def end_of(run: list[ReadSpan]) -> int:
    """Return when a run ended."""
    return max((span.end_ns for span in run if span.end_ns is not None), default=0)
