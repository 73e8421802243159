"""The tree of spans of one run: which call encloses a span."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate

from ._record import Record
from ._roles import Role
from ._span import Span

_MOST_COMPARISONS = 2_000_000


class Tree:
    """Spans of one run by their ids, with the calls some of them stand for."""

    def __init__(self, spans: list[Span], roles: Mapping[int, Role]) -> None:
        self._spans = {span.span_id: span for span in spans if span.span_id}
        self._parents = {span.span_id: span.parent_id for span in spans if span.span_id}
        self.has_edges = not self._parents.keys().isdisjoint(self._parents.values())
        """Whether any span is the parent of another."""
        self._roles = roles
        self._calls: dict[str, Record] = {}
        self._found: dict[str | None, Record | None] = {}

    def place(self, records: list[Record]) -> None:
        """Let records stand for their spans."""
        self._calls.update({span.span_id: record for record in records if (span := record.span) and span.span_id})

    def stand_for(self, span_id: str, record: Record) -> None:
        """Let a record stand for a span."""
        self._calls[span_id] = record

    def enclosing(self, span: Span) -> Record | None:
        """The nearest call inside which a span ran; a cycle of parents ends where it closes."""
        return self._nearest(span.parent_id, span.span_id)

    def directly_enclosing(self, span: Span) -> Record | None:
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

    def adopt(self, records: list[Record]) -> None:
        """Hang agents that run in traces of their own, or beside the call that started them, under that call.

        Time alone makes siblings look like parents. So a call adopts only what an agent or model did that has no
        call around it, began and ended inside this call, and inside no other.
        """
        spans = [span for span in self._spans.values() if id(span) in self._roles]
        if not records or not spans or len(records) * len(spans) > _MOST_COMPARISONS:
            return
        within = _Intervals(records)
        lone = [span for span in spans if within.hold(span.start_ns) and self.enclosing(span) is None]
        adopters: dict[int, Record] = {}
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

    def parent_of(self, record: Record) -> Record | None:
        """The call inside which a call was made."""
        span = record.span
        if span is None:
            return None
        found = self._nearest(self._parents.get(span.span_id or "", span.parent_id), span.span_id)
        return None if found is record else found

    def _nearest(self, above: str | None, start: str | None) -> Record | None:
        own = self._calls.get(start) if start else None
        known, path = self._found, []
        found: Record | None = None
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


class _Intervals:
    """The times of calls, to tell fast that nothing ran inside any of them."""

    def __init__(self, records: list[Record]) -> None:
        times = [(span.start_ns, span.end_ns) for record in records if (span := record.span)]
        known = sorted((start, end) for start, end in times if start is not None and end is not None)
        self._starts = [start for start, _ in known]
        self._latest = list(accumulate((end for _, end in known), max))

    def hold(self, time: int | None) -> bool:
        """Whether a time is inside some call."""
        index = bisect_left(self._starts, time) if time is not None else 0
        return index > 0 and time is not None and self._latest[index - 1] > time


def _only_holder(span: Span, records: list[Record]) -> Record | None:
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
