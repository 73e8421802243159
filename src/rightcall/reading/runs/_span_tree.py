"""The spans of one run, and their tree: the calls, agents and models around a span."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import msgspec

from rightcall.reading.conventions import Kind, Role, agent_in_metadata, agent_name
from rightcall.reading.spans import CallRecord, Span


class ReadSpan(Span, frozen=True, gc=False):
    """A span with its kind and the call read from it.

    Attributes and events that were needed only for the call are dropped: spans of models repeat whole conversations,
    and a run holds all of its spans in memory until it ends.
    """

    kind: Kind = ""
    call: CallRecord | None = None
    """The call read from the span. Its `span` is not set: two objects that refer to each other would never be freed,
    since neither is tracked by the garbage collector."""
    attribute_count: int = 0
    """How many attributes were recorded."""
    is_unmarked: bool = False
    """Whether the attribute with its kind is missing, so that it may be an agent's span."""
    is_chain: bool = False
    """Whether it says that it is a chain, so that it is no call, whatever its name."""


def once_each(spans: list[ReadSpan]) -> list[ReadSpan]:
    """Return each span once: of several with one id, the one with the most attributes.

    Exporters send a batch again when the response to it is lost, so duplicates are removed before anything else. Spans
    without ids are all kept.
    """
    if len({span.span_id for span in spans}) == len(spans):
        return spans
    best: dict[tuple[str, str | None], ReadSpan] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        known = best.get(key)
        if known is None or span.attribute_count > known.attribute_count:
            best[key] = span
    kept = set(map(id, best.values()))
    return [span for span in spans if span.span_id is None or id(span) in kept]


_MOST_COMPARISONS = 2_000_000  # calls times agents compared by time; beyond that, only recorded parents count
_INVOKED = "invoke_agent "
_DELEGATIONS = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})
"""Tools of CrewAI in which another agent works, which OpenInference does not record."""


class _Surroundings(msgspec.Struct, frozen=True):
    """What is known about the spans around a span."""

    known: str | None = None
    """The id of the nearest span of a call, an agent or a model."""
    within: str | None = None
    """The same; if there is none, the id of the outermost span, which may be missing from the file."""
    agent: str | None = None
    """The name of the nearest agent that has one."""
    top: Span | None = None
    """The outermost span."""
    is_doubtful: bool = False
    """Whether one of the spans around it may be a call."""
    is_between: bool = False
    """Whether an agent around it may have been started by any of several calls."""


_NOWHERE = _Surroundings()


class Tree:
    """Spans of one run by id, with the calls of some of them."""

    def __init__(
        self, spans: Sequence[Span], roles: Mapping[int, Role], doubtful: frozenset[int] = frozenset()
    ) -> None:
        self._all = spans
        self._spans = {span.span_id: span for span in spans if span.span_id}
        self._parents = {span.span_id: span.parent_id for span in spans if span.span_id}
        self.has_parents = any([span.parent_id is not None for span in spans])
        """Whether any span has a parent id, even of a span that is not here."""
        self._roles, self._doubtful = roles, doubtful
        self._calls: dict[str, CallRecord] = {}
        self._found: dict[str, CallRecord | None] = {}
        self._between: set[str] = set()
        """The ids of agents beside several calls, any of which may have started them."""
        self._at_work: set[str] | None = None
        self._seen: dict[str, _Surroundings] = {}
        self._tops: dict[str, _Tops] = {}

    @cached_property
    def is_whole(self) -> bool:
        """Whether it is known which span is inside which: no ids are missing, and the topmost spans are plausible.

        The topmost spans of a trace have the same parent, if any, and none of them is within the time of another.
        """
        traces: dict[str | None, list[Span]] = {}
        for span in self._all:
            traces.setdefault(span.trace_id, []).append(span)
        return all([len(trace) == 1 or _is_whole(trace) for trace in traces.values()])

    @cached_property
    def _shapeless(self) -> frozenset[str]:
        """The traces in which it is not known which span is inside which: ids are missing, or no span has a parent."""
        counts: dict[str, int] = {}
        shaped: set[str] = set()
        found: set[str] = set()
        for span in self._all:
            trace = span.trace_id
            counts[trace] = counts.get(trace, 0) + 1
            if span.parent_id is not None:
                shaped.add(trace)
            if span.span_id is None:
                found.add(trace)
        return frozenset(
            [trace for trace, count in counts.items() if count > 1 and (trace in found or trace not in shaped)]
        )

    @cached_property
    def _agents(self) -> frozenset[str]:
        """The names of the agents of the run. They are needed only where the spans of calls name one."""
        named = [agent_name(span) for span in self._all if self._roles.get(id(span)) == "agent"]
        return frozenset([name for name in named if name])

    @cached_property
    def _times(self) -> _Intervals:
        return _Intervals(list(self._calls.values()))

    def place(self, records: list[CallRecord]) -> None:
        """Register the calls of spans."""
        self._calls.update({span.span_id: record for record in records if (span := record.span) and span.span_id})

    def stand_for(self, span_id: str, record: CallRecord) -> None:
        """Register a call for another span that records the same call."""
        self._calls[span_id] = record

    def enclosing(self, span: Span) -> CallRecord | None:
        """Return the nearest call around a span; None if there is none. A cycle of parents is followed once."""
        return self._nearest(self._parents.get(span.span_id or "", span.parent_id), span.span_id)

    def directly_enclosing(self, span: Span) -> CallRecord | None:
        """Return the nearest call around a span with no agent or model between: it may be a record of the same call."""
        above, seen = span.parent_id, {span.span_id}
        while above is not None and above not in seen:
            if above in self._calls:
                return self._calls[above]
            value = self._spans.get(above)
            if value is None or id(value) in self._roles:
                return None
            seen.add(above)
            above = self._parents.get(above)
        return None

    def adopt(self, records: list[CallRecord]) -> None:
        """Move agents that are in separate traces, or beside the call that started them, under that call.

        By time alone, siblings would look like parents. So a call adopts only an agent or model without a call around
        it, which started and ended within the time of this call and of no other, and is not inside of something else
        that had begun before.
        """
        spans = [span for span in self._spans.values() if id(span) in self._roles]
        if not records or not spans or len(records) * len(spans) > _MOST_COMPARISONS:
            return
        # A binary search excludes the spans that started during no call: in most runs, all of them.
        within = _Intervals(records)
        lone = [span for span in spans if within.hold(span.start_ns) and self.enclosing(span) is None]
        adopters: dict[int, CallRecord] = {}
        for span in lone:
            around = _holders(span, records)
            holders = [each for each in around if each.span and self._is_beside(span, each.span)]
            holder = holders[0] if len(holders) == len(around) == 1 else None
            if holder and holder.span and span.span_id:
                adopters[id(holder)] = holder
                self._parents[span.span_id] = holder.span.span_id
            elif len(holders) > 1 and span.span_id and self._roles.get(id(span)) == "agent":
                self._between.add(span.span_id)
        self._found.clear()
        for record in records if adopters else ():
            if record.span and record.span.span_id and self.enclosing(record.span) is None:
                held_by = _holders(record.span, records)
                holder = held_by[0] if len(held_by) == 1 else None
                if holder is None or holder.span is None or holder is record or id(holder) not in adopters:
                    continue
                if self._is_beside(record.span, holder.span):
                    self._parents[record.span.span_id] = holder.span.span_id
        self._found.clear()

    def look_up(self, record: CallRecord) -> None:
        """Set the parent, the agent and the surroundings of a record."""
        span = record.span
        found = self.enclosing(span) if span else None
        record.parent = None if found is record else found
        if span is None:
            return
        around = self._surroundings(self._parents.get(span.span_id or "", span.parent_id))
        record.under, record.within = around.known, around.within
        record.agent = around.agent or self._own_agent(record.agent)
        record.is_begun, record.is_placed = not around.is_doubtful, not self.is_shapeless(span)
        record.is_parent_known = found is not None or self._is_known_in(around, span)

    def settle(self, records: list[CallRecord]) -> None:
        """Set the agent, and the id of the nearest agent or model, of calls that are inside no other call."""
        around: dict[str | None, _Surroundings] = {}
        for record in records:
            parent = record.span.parent_id if record.span else None
            if parent not in around:
                around[parent] = self._surroundings(parent)
            found = around[parent]
            record.under, record.agent = found.known, found.agent or self._own_agent(record.agent)

    def is_at_work_inside(self, records: list[CallRecord]) -> bool:
        """Whether an agent or a model started while a call was running, so that the call may have started it."""
        within = _Intervals(records)
        return any([within.hold(span.start_ns) for span in self._spans.values() if id(span) in self._roles])

    def at_work_around(self, span: Span) -> str | None:
        """Return the id of the nearest call, agent or model around a span."""
        return self._surroundings(self._parents.get(span.span_id or "", span.parent_id)).known

    def agent_at(self, span: Span) -> str | None:
        """Return the agent that a span is of: the one it names itself, or the nearest one around it."""
        return self._surroundings(span.span_id).agent

    def is_known_around(self, span: Span) -> bool:
        """Whether it is known which call is around a span, or that none is."""
        if self.enclosing(span) is not None:
            return True
        return self._is_known_in(self._surroundings(self._parents.get(span.span_id or "", span.parent_id)), span)

    def _is_known_in(self, around: _Surroundings, span: Span) -> bool:
        return not (around.is_doubtful or around.is_between) and self._is_outside(around.top or span)

    def is_shapeless(self, span: Span | None) -> bool:
        """Whether it is not known which span is inside which in the trace of a span."""
        return span is not None and span.trace_id in self._shapeless

    def _own_agent(self, named: str | None) -> str | None:
        """Return the agent named on the span of a call, unless the agents of the run have other names.

        Instrumentations that do not know the agent write the same default name on every span.
        """
        return named if named is None or not self._agents or named in self._agents else None

    def _surroundings(self, above: str | None) -> _Surroundings:
        """Return the surroundings of the children of a span; computed once for each parent."""
        path: list[str] = []
        found = _NOWHERE
        while above is not None:
            # Each span is visited once, whatever the number of its descendants; otherwise a chain takes n² steps.
            if above in self._seen:
                found = self._seen[above]
                break
            # Marked before its parent is visited, so that the walk ends if a span is its own ancestor.
            self._seen[above] = _NOWHERE
            path.append(above)
            above = self._parents.get(above)
        for span_id in reversed(path):
            span = self._spans.get(span_id)
            found = _Surroundings(within=span_id) if span is None else self._inside(span, span_id, found)
            self._seen[span_id] = found
        return found

    def _inside(self, span: Span, span_id: str, outer: _Surroundings) -> _Surroundings:
        """Return the surroundings of a span's children. A call with an agent inside hides the outer agent's name."""
        role = self._roles.get(id(span))
        is_call = span_id in self._calls
        named = role == "agent" or (role is not None and span.name.startswith(_INVOKED))
        is_other = is_call and (span_id in self._busy() or self._calls[span_id].name in _DELEGATIONS)
        is_hidden = is_other or (isinstance(span, ReadSpan) and span.is_unmarked)
        agent = agent_in_metadata(span.attributes) or (agent_name(span) if named else None)
        agent = agent or (None if is_hidden else outer.agent)
        is_doubtful = outer.is_doubtful or id(span) in self._doubtful
        known = span_id if role or is_call else outer.known
        # A span that may be a call may have made the calls below it, so it counts like a call here.
        within = span_id if role or is_call or id(span) in self._doubtful else outer.within or span_id
        is_between = outer.is_between or span_id in self._between
        return _Surroundings(known, within, agent, outer.top or span, is_doubtful, is_between)

    def _busy(self) -> set[str]:
        """Return the ids of the spans of calls with an agent or a model inside."""
        if self._at_work is None:
            working = [self.enclosing(span) for span in self._spans.values() if id(span) in self._roles]
            spans = [record.span for record in working if record is not None]
            self._at_work = {span.span_id for span in spans if span is not None and span.span_id}
        return self._at_work

    def _is_outside(self, top: Span) -> bool:
        """Whether no call of this run can be around a topmost span.

        A missing parent is a caller in another service if the whole trace is below it. If a trace has several missing
        parents, spans were lost, and any of these may have been a call. Then only a span without a parent that started
        first is certainly the root, unless it is a call itself. Among several spans without a parent, one that started
        during a call may be inside of it; and so may an agent of another trace that no call adopted.
        """
        if top.trace_id in self._shapeless or (id(top) in self._roles and self._times.hold(top.start_ns)):
            return False
        if not self._tops:
            self._tops = _tops_of(self._spans, self._calls.values())
        tops = self._tops.get(top.trace_id) or _Tops()
        if len(tops.parents) > 1:
            is_root = top.parent_id is None and top.start_ns is not None and top.start_ns == tops.first_ns
            return is_root and top.span_id not in self._calls
        if top.parent_id is not None or tops.count < 2:
            return True
        return top.start_ns is not None and not (tops.calls and tops.calls.hold(top.start_ns))

    def parent_of(self, record: CallRecord) -> CallRecord | None:
        """Return the call inside which a call was made; None if there is none."""
        found = self.enclosing(record.span) if record.span else None
        return None if found is record else found

    def _nearest(self, above: str | None, start: str | None) -> CallRecord | None:
        """Return the nearest call at or above a span, other than that of `start`; cached for all spans on the way."""
        known, path = self._found, list[str]()
        # Nine of ten questions: the parent of a span is asked about again and again.
        if above is None or above in known:
            return None if above is None else known[above]
        own = self._calls.get(start) if start else None
        found: CallRecord | None = None
        while above is not None:
            if above in known:
                found = known[above]
                break
            found = self._calls.get(above)
            path.append(above)
            if found is not None and found is not own:
                break
            # Marked before its parent is visited, so that the walk ends if a span is its own ancestor.
            known[above] = found = None
            above = self._parents.get(above)
        for span_id in path:
            known[span_id] = found
        return found

    def _is_beside(self, span: Span, call: Span) -> bool:
        """Whether a call may have started a span: what was around the span before the call is around the call, too."""
        above, seen = span.parent_id, {span.span_id}
        while above is not None and above not in seen:
            around = self._spans.get(above)
            if around is not None and (around.start_ns or 0) <= (call.start_ns or 0):
                return self._descends(call, around)
            seen.add(above)
            above = self._parents.get(above)
        return not self._descends(call, span)

    def _descends(self, span: Span, ancestor: Span) -> bool:
        above, seen = span.parent_id, {span.span_id}
        while above is not None and above not in seen:
            if above == ancestor.span_id:
                return True
            seen.add(above)
            above = self._parents.get(above)
        return False


class _Intervals:
    """The times of calls, to find out quickly by binary search whether any call was running at a time."""

    def __init__(self, records: list[CallRecord]) -> None:
        times = [(span.start_ns, span.end_ns) for record in records if (span := record.span)]
        known = sorted((start, end) for start, end in times if start is not None and end is not None)
        self._starts = [start for start, _ in known]
        self._latest = list(accumulate((end for _, end in known), max))

    def hold(self, time: int | None) -> bool:
        """Whether some call was running at a time."""
        if time is None:
            return False
        index = bisect_left(self._starts, time)
        return index > 0 and self._latest[index - 1] > time


class _Tops(msgspec.Struct):
    """The spans of one trace whose parents are not in it."""

    count: int = 0
    parents: set[str | None] = set()
    """The ids of their parents; None for a span without a parent."""
    first_ns: int | None = None
    """When the first of them started; None if one of them has no start time."""
    calls: _Intervals | None = None
    """The times of the calls of the trace."""


def _tops_of(spans: Mapping[str, Span], calls: Iterable[CallRecord]) -> dict[str, _Tops]:
    """Return the topmost spans of each trace."""
    by_trace: dict[str, list[Span]] = {}
    for span in spans.values():
        if span.parent_id not in spans:
            by_trace.setdefault(span.trace_id, []).append(span)
    made: dict[str, list[CallRecord]] = {}
    for record in calls:
        if record.span is not None:
            made.setdefault(record.span.trace_id, []).append(record)
    found = {}
    for trace, tops in by_trace.items():
        starts = [span.start_ns for span in tops if span.start_ns is not None]
        first = min(starts) if len(starts) == len(tops) else None
        times = _Intervals(made[trace]) if trace in made and len(tops) > 1 else None
        found[trace] = _Tops(len(tops), {span.parent_id for span in tops}, first, times)
    return found


def _holders(span: Span, records: list[CallRecord]) -> list[CallRecord]:
    """Return the calls that started before a span and ended after it."""
    start, end = span.start_ns, span.end_ns
    if start is None or end is None:
        return []
    return [
        record
        for record in records
        if record.span is not None
        and record.span is not span
        and record.span.start_ns is not None
        and record.span.end_ns is not None
        and record.span.start_ns < start
        and end < record.span.end_ns
    ]


def _is_whole(trace: Sequence[Span]) -> bool:
    """Whether it is known which span is inside which in one trace; see `Tree.is_whole`."""
    ids = {span.span_id for span in trace}
    tops = [span for span in trace if span.parent_id not in ids or span.parent_id is None]
    if None in ids or len({span.parent_id for span in tops}) > 1:
        return False
    latest = -1
    for span in sorted(tops, key=lambda span: (span.start_ns or 0, -(span.end_ns or 0))):
        if (span.end_ns or 0) <= latest:
            return False
        latest = span.end_ns or 0
    return True
