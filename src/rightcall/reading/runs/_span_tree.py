"""The tree of spans of one run: which call encloses a span."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from rightcall.reading.conventions import Role, agent_name
from rightcall.reading.spans import CallRecord, Span

_MOST_COMPARISONS = 2_000_000
_INVOKED = "invoke_agent "


class _Surroundings(msgspec.Struct, frozen=True):
    """What is around a span."""

    known: str | None = None
    """The nearest span that stands for a call, an agent or a model."""
    agent: str | None = None
    """The name of the nearest agent that has one."""
    top: Span | None = None
    """The outermost span."""
    is_doubtful: bool = False
    """Whether a span that may be a call is around it."""


_NOWHERE = _Surroundings()


class Tree:
    """Spans of one run by their ids, with the calls some of them stand for."""

    def __init__(
        self, spans: Sequence[Span], roles: Mapping[int, Role], doubtful: frozenset[int] = frozenset()
    ) -> None:
        self._spans = {span.span_id: span for span in spans if span.span_id}
        self._parents = {span.span_id: span.parent_id for span in spans if span.span_id}
        self.has_parents = any([span.parent_id is not None for span in spans])
        """Whether any span has a parent, here or elsewhere."""
        self._roles, self._doubtful = roles, doubtful
        self._agents = frozenset(_named_agents(spans, roles))
        self._shapeless = _without_shape(spans)
        self._calls: dict[str, CallRecord] = {}
        self._found: dict[str | None, CallRecord | None] = {}
        self._at_work: set[str] | None = None
        self._seen: dict[str, _Surroundings] = {}
        self._outside: dict[str, set[str | None]] = {}

    def place(self, records: list[CallRecord]) -> None:
        """Let records stand for their spans."""
        self._calls.update({span.span_id: record for record in records if (span := record.span) and span.span_id})

    def stand_for(self, span_id: str, record: CallRecord) -> None:
        """Let a record stand for a span."""
        self._calls[span_id] = record

    def enclosing(self, span: Span) -> CallRecord | None:
        """The nearest call inside which a span ran; a cycle of parents ends where it closes."""
        return self._nearest(self._parents.get(span.span_id or "", span.parent_id), span.span_id)

    def directly_enclosing(self, span: Span) -> CallRecord | None:
        """The nearest call around a span with no model or agent between: another record of the same call, perhaps."""
        above, seen = span.parent_id, {span.span_id}
        while above is not None and above not in seen:
            if above in self._calls:
                return self._calls[above]
            held = self._spans.get(above)
            if held is None or id(held) in self._roles:
                return None
            seen.add(above)
            above = self._parents.get(above)
        return None

    def adopt(self, records: list[CallRecord]) -> None:
        """Hang agents that run in traces of their own, or beside the call that started them, under that call.

        Time alone makes siblings look like parents. So a call adopts only what an agent or model did that has no
        call around it, began and ended inside this call, and inside no other.
        """
        spans = [span for span in self._spans.values() if id(span) in self._roles]
        if not records or not spans or len(records) * len(spans) > _MOST_COMPARISONS:
            return
        within = _Intervals(records)
        lone = [span for span in spans if within.hold(span.start_ns) and self.enclosing(span) is None]
        adopters: dict[int, CallRecord] = {}
        for span in lone:
            holder = _only_holder(span, records)
            if holder and holder.span and span.span_id and not self._descends(holder.span, span):
                adopters[id(holder)] = holder
                self._parents[span.span_id] = holder.span.span_id
        self._found.clear()
        for record in records if adopters else ():
            if record.span and record.span.span_id and self.enclosing(record.span) is None:
                holder = _only_holder(record.span, records)
                if holder and holder.span and id(holder) in adopters and holder is not record:
                    self._parents[record.span.span_id] = holder.span.span_id
        self._found.clear()

    def look_up(self, record: CallRecord) -> None:
        """Let a record know the call that made it, whose agent made it, and what is around it."""
        record.parent = self.parent_of(record)
        span = record.span
        if span is None:
            return
        around = self._surroundings(self._parents.get(span.span_id or "", span.parent_id))
        record.under = around.known
        record.agent = around.agent or self._own_agent(record)
        record.is_placed = not self.is_shapeless(span)
        record.is_parent_known = self.is_known_around(span)

    def is_known_around(self, span: Span) -> bool:
        """Whether the call around a span, or that there is none, can be told."""
        if self.enclosing(span) is not None:
            return True
        around = self._surroundings(self._parents.get(span.span_id or "", span.parent_id))
        return not around.is_doubtful and self._is_outside(around.top or span)

    def is_shapeless(self, span: Span | None) -> bool:
        """Whether it is not known which span of a trace is inside of which."""
        return span is not None and span.trace_id in self._shapeless

    def _own_agent(self, record: CallRecord) -> str | None:
        """The agent that a call names itself, unless the agents of the run have other names.

        Instrumentations write the same made-up name on every span where they do not know the agent.
        """
        return record.agent if not self._agents or record.agent in self._agents else None

    def _surroundings(self, above: str | None) -> _Surroundings:
        """What is around the spans that have a parent; found out once for each parent."""
        path: list[str] = []
        found = _NOWHERE
        while above is not None:
            if above in self._seen:
                found = self._seen[above]
                break
            # Marked before its parent is looked at, a span that is its own ancestor ends the way up.
            self._seen[above] = _NOWHERE
            path.append(above)
            above = self._parents.get(above)
        for span_id in reversed(path):
            span = self._spans.get(span_id)
            found = self._seen[span_id] = found if span is None else self._inside(span, span_id, found)
        return found

    def _inside(self, span: Span, span_id: str, outer: _Surroundings) -> _Surroundings:
        """What is around the spans in a span: no agent beyond a call in which one without a name was at work."""
        role = self._roles.get(id(span))
        is_call = span_id in self._calls
        named = role == "agent" or (role is not None and span.name.startswith(_INVOKED))
        agent = (agent_name(span) if named else None) or (None if is_call and span_id in self._busy() else outer.agent)
        is_doubtful = outer.is_doubtful or id(span) in self._doubtful
        return _Surroundings(span_id if role or is_call else outer.known, agent, outer.top or span, is_doubtful)

    def _busy(self) -> set[str]:
        """The calls inside which an agent or a model was at work."""
        if self._at_work is None:
            working = [self.enclosing(span) for span in self._spans.values() if id(span) in self._roles]
            spans = [record.span for record in working if record is not None]
            self._at_work = {span.span_id for span in spans if span is not None and span.span_id}
        return self._at_work

    def _is_outside(self, top: Span) -> bool:
        """Whether nothing around a topmost span can be a call of this run.

        A parent that is not there was a caller elsewhere if all of the trace hangs on it; it may be anything if spans
        of the trace have got lost.
        """
        if top.trace_id in self._shapeless:
            return False
        if top.parent_id is None:
            return True
        if not self._outside:
            for span in self._spans.values():
                if span.parent_id not in self._spans:
                    self._outside.setdefault(span.trace_id, set()).add(span.parent_id)
        return len(self._outside.get(top.trace_id, ())) < 2

    def parent_of(self, record: CallRecord) -> CallRecord | None:
        """The call inside which a call was made."""
        span = record.span
        if span is None:
            return None
        found = self._nearest(self._parents.get(span.span_id or "", span.parent_id), span.span_id)
        return None if found is record else found

    def _nearest(self, above: str | None, start: str | None) -> CallRecord | None:
        own = self._calls.get(start) if start else None
        known, path = self._found, []
        found: CallRecord | None = None
        while above is not None:
            if above in known:
                found = known[above]
                break
            found = self._calls.get(above)
            path.append(above)
            if found is not None and found is not own:
                break
            # Marked before its parent is looked at, a span that is its own ancestor ends the way up.
            known[above] = found = None
            above = self._parents.get(above)
        if own is None or found is not own:
            for span_id in path:
                known[span_id] = found
        return found

    def _descends(self, span: Span, ancestor: Span) -> bool:
        above, seen = span.parent_id, {span.span_id}
        while above is not None and above not in seen:
            if above == ancestor.span_id:
                return True
            seen.add(above)
            above = self._parents.get(above)
        return False


def _named_agents(spans: Iterable[Span], roles: Mapping[int, Role]) -> Iterator[str]:
    """The names of the agents whose spans are among some."""
    agents = [span for span in spans if roles.get(id(span)) == "agent"] if roles else ()
    for span in agents:
        name = agent_name(span)
        if name:
            yield name


def _without_shape(spans: Iterable[Span]) -> frozenset[str]:
    """The traces of which is not known what is inside of what: ids were not recorded, or no span has a parent."""
    counts: dict[str, int] = {}
    shaped: set[str] = set()
    found: set[str] = set()
    for span in spans:
        trace = span.trace_id
        counts[trace] = counts.get(trace, 0) + 1
        if span.parent_id is not None:
            shaped.add(trace)
        if span.span_id is None:
            found.add(trace)
    return frozenset(
        [trace for trace, count in counts.items() if count > 1 and (trace in found or trace not in shaped)]
    )


class _Intervals:
    """The times of calls, to tell fast that nothing ran inside any of them."""

    def __init__(self, records: list[CallRecord]) -> None:
        times = [(span.start_ns, span.end_ns) for record in records if (span := record.span)]
        known = sorted((start, end) for start, end in times if start is not None and end is not None)
        self._starts = [start for start, _ in known]
        self._latest = list(accumulate((end for _, end in known), max))

    def hold(self, time: int | None) -> bool:
        """Whether a time is inside some call."""
        index = bisect_left(self._starts, time) if time is not None else 0
        return index > 0 and time is not None and self._latest[index - 1] > time


def _only_holder(span: Span, records: list[CallRecord]) -> CallRecord | None:
    start, end = span.start_ns, span.end_ns
    if start is None or end is None:
        return None
    holders = [
        record
        for record in records
        if record.span is not None
        and record.span is not span
        and record.span.start_ns is not None
        and record.span.end_ns is not None
        and record.span.start_ns < start
        and end < record.span.end_ns
    ]
    return holders[0] if len(holders) == 1 else None
