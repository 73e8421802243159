"""Group the traces of a source into runs, and decide which of them count."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from math import inf
from operator import itemgetter
from typing import Any, Literal

import msgspec

from rightcall.reading.conventions import CONVERSATION_KEYS, GROUP_KEYS, SESSION_KEYS, CallShape, Role, groups_of
from rightcall.reading.spans import NOTHING, Span, topmost

from ._input_output import asked_and_answered, has_answer
from ._simple_runs import SimpleRun
from ._span_tree import ReadSpan, Tree, once_each

Run = list[ReadSpan] | SimpleRun
"""The spans of a run, or a run that was read without them."""
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
    """Return the attributes by which traces are joined into one run."""
    return _KEYS[grouping]


class Traces(msgspec.Struct, eq=False):
    """The traces of a source, joined if they belong to one run (a union-find over trace ids)."""

    grouping: Grouping
    _spans: dict[str, Run] = {}
    _above: dict[str, str] = {}
    _by_conversation: dict[str, str] = {}
    _united: set[tuple[str, str]] = set()

    def add(self, span: ReadSpan) -> None:
        """Add a span. Call `unite` with it before its attributes are dropped: they name its conversations."""
        trace = "" if self.grouping == "file" else span.trace_id
        held = self._spans.get(trace)
        if held.__class__ is not list:
            held = self._spans[trace] = [] if held is None else spans_of(held)
        held.append(span)

    def add_simple(self, run: SimpleRun) -> bool:
        """Add a run that was read without its spans; return False if its trace already has spans."""
        if self.grouping == "file" or run.trace_id in self._spans:
            return False
        self._spans[run.trace_id] = run
        return True

    @property
    def only_run(self) -> SimpleRun | None:
        """The simple run if it is the only run; None if there are other spans, or none at all."""
        if len(self._spans) != 1:
            return None
        [held] = self._spans.values()
        return held if isinstance(held, SimpleRun) else None

    @property
    def has_spans(self) -> bool:
        """Whether there are any spans."""
        return bool(self._spans)

    def unite(self, span: Span) -> None:
        """Join the trace of a span with those of the same conversation. The span itself is not added."""
        keys = _KEYS[self.grouping]
        for key in groups_of(span):
            # Most spans of a trace repeat its conversation, so pairs already joined are skipped.
            value = span.attributes.get(key) if key in keys else None
            if isinstance(value, str) and value and (span.trace_id, value) not in self._united:
                self._united.add((span.trace_id, value))
                first, second = (
                    self.top(span.trace_id),
                    self.top(self._by_conversation.setdefault(value, span.trace_id)),
                )
                if first != second:
                    self._above[first] = second

    def top(self, trace: str) -> str:
        """Return the representative of all traces joined with a trace."""
        # Without path compression: a conversation has a few traces, so the chains are short.
        while trace in self._above:
            trace = self._above[trace]
        return trace

    def tops(self) -> set[str]:
        """Return the representatives of runs with more than one trace."""
        return {self.top(trace) for trace in self._above}

    def runs(self) -> list[Run]:
        """Remove and return all runs, by start time."""
        united: dict[str, list[str]] = {}
        for trace in self._spans:
            # By trace, not by span: a source has many spans and few traces.
            united.setdefault(self.top(trace), []).append(trace)
        runs = [self._joined(traces) for traces in united.values()]
        self._spans = {}
        runs.sort(key=begin_of)
        return runs

    def _joined(self, traces: list[str]) -> Run:
        if len(traces) == 1 and self._spans[traces[0]].__class__ is SimpleRun:
            return self._spans[traces[0]]
        return [span for trace in traces for span in once_each(spans_of(self._spans[trace]))]

    def part_with(self, names: Container[str]) -> list[Run]:
        """Remove and return the runs that have no other traces and conversations than these."""
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
        """Return the ids of all traces and of their conversations."""
        return {*self._spans, *(value for _, value in self._united)}

    def count(self) -> int:
        """Return the number of spans."""
        return sum([run.count if isinstance(run, SimpleRun) else len(run) for run in self._spans.values()])

    def taken(self) -> dict[str, list[ReadSpan]]:
        """Remove and return all spans, by trace."""
        held, self._spans = self._spans, {}
        return {trace: spans_of(run) for trace, run in held.items()}


def spans_of(run: Run) -> list[ReadSpan]:
    """Return the spans of a run."""
    return run.spans() if isinstance(run, SimpleRun) else run


def begin_of(run: Run) -> float:
    """Return when a run started; infinity if it has no times, so that it comes last."""
    if isinstance(run, SimpleRun):
        return run.begin
    return min([span.start_ns for span in run if span.start_ns is not None], default=inf)


def end_of(run: Run) -> int:
    """Return when a run ended."""
    if isinstance(run, SimpleRun):
        return run.end
    return max([span.end_ns for span in run if span.end_ns is not None], default=0)


_MOST_OPEN = 64  # calls in progress that are compared with a run: bounds the work for n parallel calls


def united_by_calls(runs: list[Run]) -> list[Run]:
    """Join each run with the runs that its calls started.

    An inner run started and ended within one call of the outer run, and within no other call; no agent, model or call
    is inside that call; and the question or answer of the inner run is in the call's arguments or output. Each pair is
    decided by itself, so the rest of the source makes no difference.
    """
    above: dict[int, int] = {}
    for inner, holders in _held(runs):
        [(outer, call), *others] = holders
        if not others and outer != inner and _may_be_of(spans_of(runs[inner]), call):
            above[inner] = outer
    if not above:
        return runs
    united: dict[int, Run] = {}
    for index, run in enumerate(runs):
        top = _top(index, above)
        united[top] = [*spans_of(united[top]), *spans_of(run)] if top in united else run
    return list(united.values())


def _around_others(runs: list[Run]) -> list[bool]:
    """Return for each run whether another one started and ended within its time."""
    times = sorted([(begin_of(run), -end_of(run), index) for index, run in enumerate(runs)])
    found = [False] * len(runs)
    earliest: float = inf
    # Going back from the last start: among the runs that started later, the one that ended first decides.
    for _, ends, index in reversed(times):
        found[index] = earliest < -ends
        earliest = min(earliest, -ends)
    return found


def _held(runs: list[Run]) -> Iterator[tuple[int, list[tuple[int, ReadSpan]]]]:
    """Yield the runs that ran within the time of calls of other runs, with these calls."""
    starts: list[tuple[float, int, ReadSpan | None]] = []
    # Another run can be within a call only if it is within the run of that call: most runs are skipped.
    around = _around_others(runs)
    for index, run in enumerate(runs):
        starts.append((begin_of(run), index, None))
        if around[index]:
            starts += [(span.start_ns or 0, index, span) for span in _leaf_calls(spans_of(run))]
    open_calls: list[tuple[int, ReadSpan]] = []
    for start, index, call in sorted(starts, key=itemgetter(0)):
        open_calls = [entry for entry in open_calls if (entry[1].end_ns or 0) > start][-_MOST_OPEN:]
        if call is not None:
            open_calls.append((index, call))
            continue
        end = end_of(runs[index])
        holders = [entry for entry in open_calls if entry[0] != index and _holds(entry[1], start, end)]
        if holders:
            yield index, holders


def _leaf_calls(run: list[ReadSpan]) -> list[ReadSpan]:
    """Return the calls of a run without a call, an agent or a model inside."""
    parents = {span.span_id: span.parent_id for span in run}
    busy: set[str | None] = set()
    for span in run:
        above = span.parent_id if span.kind else None
        while above is not None and above not in busy:
            busy.add(above)
            above = parents.get(above)
    return [span for span in run if isinstance(span.kind, CallShape) and span.span_id not in busy]


def _holds(call: ReadSpan, begin: float, end: float) -> bool:
    return call.start_ns is not None and call.end_ns is not None and call.start_ns < begin and end < call.end_ns


def _may_be_of(run: list[ReadSpan], call: ReadSpan) -> bool:
    """Whether the question of a run is in the arguments of a call, or its answer in the output of the call."""
    record = call.call
    if record is None:
        return False
    roles: dict[int, Role] = {id(span): kind for span in run if (kind := span.kind) in ("agent", "model")}
    asked, answered = asked_and_answered(run, roles, Tree(run, roles))
    compared = [
        _has(held, said) for held, said in ((record.args, asked), (record.output, answered)) if _is_known(held, said)
    ]
    return any(compared)


def _is_known(value: Any, said: Any) -> bool:
    return value is not NOTHING and value is not None and said is not None


def _has(value: Any, said: Any) -> bool:
    """Whether a value equals or contains a question or an answer; texts may contain each other."""
    if isinstance(value, str) and isinstance(said, str):
        return said.strip() in value or (bool(value.strip()) and value.strip() in said)
    if isinstance(value, dict):
        return value == said or any(_has(each, said) for each in value.values())
    return any(_has(each, said) for each in value) if isinstance(value, list) else bool(value == said)


def _top(index: int, above: dict[int, int]) -> int:
    while index in above:
        index = above[index]
    return index


_MCP = "mcp"
# OpenTelemetry GenAI, "Create agent span": it records a configuration, not a run.
_CREATION = "create_agent"
_OPERATION = "gen_ai.operation.name"


def without_creations(runs: list[Run]) -> list[Run]:
    """Drop traces in which an agent was only created, whatever the grouping."""
    return [run for run in runs if isinstance(run, SimpleRun) or not run or not all(map(_is_creation, run))]


def whole_runs(runs: list[Run]) -> list[Run]:
    """Return the runs among traces: those with an agent or a model, or with calls.

    A trace inside a call of another one is part of it. If all traces consist of calls only (MCP servers trace each call
    separately), the source is one run. Traces without an agent, such as health checks of a server, are left out if
    others have one, unless they have the same roots as those: then they are runs that made no call.
    """
    if len(runs) < 2:
        return runs
    if not any([is_at_work(run) for run in runs]):
        # Nothing but calls: an MCP server has one trace a call, and the run is the whole source.
        calls = [run for run in runs if _has_calls(run)]
        return [[span for run in calls for span in spans_of(run)]] if calls else runs
    runs = united_by_calls(runs)
    run_filter = RunFilter()
    kept = {id(run) for run in (*run_filter.counted(runs), *run_filter.late())}
    return [run for run in runs if id(run) in kept]


class RunFilter(msgspec.Struct):
    """Decides which runs of a large source count, while some of it has not been seen yet."""

    begun: set[tuple[str, str]] = set()
    """The roots of runs with an agent or a model: names and scopes of their topmost spans."""
    waiting: list[Run] = []
    """Runs without an agent, which count if a run of an agent with the same roots is found."""

    def counted(self, runs: list[Run]) -> list[Run]:
        """Return the runs that are already known to count; the others wait."""
        # In two passes, so that the result does not depend on the order of the traces in the source.
        working = [is_at_work(run) for run in runs]
        for run, is_working in zip(runs, working, strict=True):
            if is_working:
                self.begun |= _tops_of(run)
        counted = []
        for run, is_working in zip(runs, working, strict=True):
            if is_working or _has_calls(run) or not self.begun.isdisjoint(roots_of(run)):
                counted.append(run)
            else:
                self.waiting.append(run)
        return counted

    def count(self, roots: Iterable[tuple[str, str]]) -> bool:
        """Whether a waiting run counts, by its roots; all do if no run of an agent was found."""
        return not self.begun or not self.begun.isdisjoint(roots)

    def late(self) -> list[Run]:
        """Remove all waiting runs, and return those that count."""
        waiting, self.waiting = self.waiting, []
        return [run for run in waiting if self.count(roots_of(run))]


def roots_of(run: Run) -> set[tuple[str, str]]:
    """Return the roots of a run: names and scopes of its topmost spans, or of its first span if parents form a cycle.

    A run that records the creation of an agent has none: a creation is never a run.
    """
    if not isinstance(run, SimpleRun) and any(map(_is_creation, run)):
        return set()
    return _tops_of(run)


def _is_creation(span: ReadSpan) -> bool:
    """Whether a span records the creation of an agent. A span that is or may be a call does not, whatever its name."""
    if span.call is not None or isinstance(span.kind, CallShape):
        return False
    return span.name.startswith(_CREATION) or span.attributes.get(_OPERATION) == _CREATION


def _tops_of(run: Run) -> set[tuple[str, str]]:
    if isinstance(run, SimpleRun):
        return run.roots
    return {(span.name, span.scope) for span in topmost(run) or run[:1]}


def is_at_work(run: Run) -> bool:
    """Whether a trace shows a run: a model answered, an agent ran, or something else made calls.

    An agent's span without an output and without other known spans is a fragment of another run. Calls that are only
    in spans of MCP were made by an agent elsewhere.
    """
    if isinstance(run, SimpleRun):
        return run.is_at_work
    kinds = [span.kind for span in run]
    calls = [kind for kind in kinds if isinstance(kind, CallShape)]
    agents = [span for span, kind in zip(run, kinds, strict=True) if kind == "agent"]
    if "model" in kinds or len(agents) > 1 or (agents and (calls or has_answer(agents[0]))):
        return True
    # OpenTelemetry MCP conventions: a server traces each `tools/call`, in a trace of its own if no context reached it.
    made = any(call.convention.name != _MCP for call in calls)
    return made and any(span.kind == "" for span in topmost(run))


def _has_calls(run: Run) -> bool:
    return isinstance(run, SimpleRun) or any(isinstance(span.kind, CallShape) for span in run)
