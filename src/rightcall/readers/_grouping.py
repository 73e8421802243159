"""Which spans of a source belong to one run."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Literal

from ._kinds import CONVERSATION_KEYS, GROUP_KEYS, SESSION_KEYS, CallShape, groups_of, kind_of
from ._span import Span

Grouping = Literal["auto", "conversation", "session", "trace", "file"]
GROUPINGS = ("auto", "conversation", "session", "trace", "file")

_KEYS: dict[Grouping, frozenset[str]] = {
    "auto": GROUP_KEYS,
    "conversation": frozenset(CONVERSATION_KEYS),
    "session": frozenset(SESSION_KEYS),
    "trace": frozenset(),
    "file": frozenset(),
}
_MOST_NESTED = 50


def keys_of(grouping: Grouping) -> frozenset[str]:
    """The attributes by which traces are united."""
    return _KEYS[grouping]


class Traces:
    """Traces of a source, united where they belong to one run."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        self._keys = _KEYS[grouping]
        self._spans: dict[str, list[Span]] = {}
        self._above: dict[str, str] = {}
        self._by_conversation: dict[str, str] = {}
        self._united: set[tuple[str, str]] = set()

    def add(self, span: Span) -> None:
        """Take in a span."""
        trace = "" if self._grouping == "file" else span.trace_id
        held = self._spans.get(trace)
        if held is None:
            held = self._spans[trace] = []
        held.append(span)
        if groups_of(span):
            self.unite(span)

    @property
    def has_spans(self) -> bool:
        """Whether any span is held."""
        return bool(self._spans)

    def unite(self, span: Span) -> None:
        """Unite the trace of a span with those of the same conversation, without holding the span."""
        for key in groups_of(span):
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
        """The trace that stands for all that a trace is united with."""
        while trace in self._above:
            trace = self._above[trace]
        return trace

    def tops(self) -> set[str]:
        """The traces that stand for several."""
        return {self.top(trace) for trace in self._above}

    def runs(self) -> list[list[Span]]:
        """The spans of each run, in order of the first start."""
        united: dict[str, list[str]] = {}
        for trace in self._spans:
            united.setdefault(self.top(trace), []).append(trace)
        runs = [[span for trace in traces for span in self._spans[trace]] for traces in united.values()]
        self._spans = {}
        runs.sort(key=_begin)
        return runs

    def part_with(self, names: Container[str]) -> list[list[Span]]:
        """The spans of each run that is known by these traces and conversations only; they are held no longer."""
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
        """The traces held, and the conversations they are part of."""
        return {*self._spans, *(value for _, value in self._united)}

    def count(self) -> int:
        """How many spans are held."""
        return sum(map(len, self._spans.values()))

    def taken(self) -> dict[str, list[Span]]:
        """The spans held, by trace; they are held no longer."""
        spans, self._spans = self._spans, {}
        return spans


def whole_runs(runs: list[list[Span]]) -> list[list[Span]]:
    """Runs in their own right: with an agent or a model at work in them, or with calls.

    Where traces are nothing but calls (MCP servers trace each call by itself), the source is one run. Traces with
    nothing of an agent in them, such as the creation of one, are left out beside others that have; unless they
    begin as one of those does, being a run that made no call. A trace that ran inside a call of another is part of
    it, if that leaves one run.
    """
    if len(runs) < 2:
        return runs
    if not any([_is_at_work(run) for run in runs]):
        fragments = any([_has_calls(run) for run in runs])
        return [[span for run in runs for span in run]] if fragments else runs
    sorting = Sorting()
    kept = {id(run) for run in (*sorting.counted(runs), *sorting.late())}
    runs = [run for run in runs if id(run) in kept]
    if 1 < len(runs) <= _MOST_NESTED and _is_one_run(runs):
        return [[span for run in runs for span in run]]
    return runs


class Sorting:
    """Which runs of a large source count, some of them being seen before others."""

    def __init__(self) -> None:
        self.begun: set[tuple[str, str]] = set()
        """How runs with an agent or a model at work begin: the names and scopes of their roots."""
        self.waiting: list[list[Span]] = []
        """Runs with nothing of an agent in them, which count if others turn out to begin as they do."""

    def counted(self, runs: list[list[Span]]) -> list[list[Span]]:
        """Those that count as far as is known; others wait."""
        working = [_is_at_work(run) for run in runs]
        for run, is_working in zip(runs, working, strict=True):
            if is_working:
                self.begun |= roots_of(run)
        counted = []
        for run, is_working in zip(runs, working, strict=True):
            if is_working or _has_calls(run) or not self.begun.isdisjoint(roots_of(run)):
                counted.append(run)
            else:
                self.waiting.append(run)
        return counted

    def count(self, roots: Iterable[tuple[str, str]]) -> bool:
        """Whether a run counts that waited, by how it begins; all do where no agent was seen at work."""
        return not self.begun or not self.begun.isdisjoint(roots)

    def late(self) -> list[list[Span]]:
        """Those that waited and count after all."""
        waiting, self.waiting = self.waiting, []
        return [run for run in waiting if self.count(roots_of(run))]


def roots_of(run: list[Span]) -> set[tuple[str, str]]:
    """How a run begins: the names and scopes of its roots."""
    return {(span.name, span.scope) for span in run if span.parent_id is None}


def _is_one_run(runs: list[list[Span]]) -> bool:
    """Whether all runs but one ran inside one tool call of that one."""
    times = [(_begin(run), _end(run)) for run in runs]
    outer = max(range(len(runs)), key=lambda index: times[index][1] - times[index][0])
    calls = [span for span in runs[outer] if isinstance(kind_of(span), CallShape)]
    inner = [held for index, held in enumerate(times) if index != outer]
    return all(any(_holds(call, begin, end) for call in calls) for begin, end in inner)


def _holds(call: Span, begin: int, end: int) -> bool:
    if call.start_ns is None or call.end_ns is None:
        return False
    return call.start_ns < begin and end < call.end_ns


def _is_at_work(run: list[Span]) -> bool:
    """Whether a trace is a run of something: a model answered in it, an agent ran, or its root made calls.

    An agent's span that is alone and whose parent is missing is what is left of another run.
    """
    called = started = False
    for span in run:
        kind = kind_of(span)
        if kind == "model" or (kind == "agent" and (span.parent_id is None or len(run) > 1)):
            return True
        called = called or isinstance(kind, CallShape)
        started = started or (kind == "" and span.parent_id is None)
    return called and started


def _has_calls(run: list[Span]) -> bool:
    return any(isinstance(kind_of(span), CallShape) for span in run)


def _begin(run: list[Span]) -> int:
    return min((span.start_ns for span in run if span.start_ns is not None), default=1 << 80)


def _end(run: list[Span]) -> int:
    return max((span.end_ns for span in run if span.end_ns is not None), default=0)
