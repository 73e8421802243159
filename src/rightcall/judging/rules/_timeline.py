"""Times, parents and order of the selected calls, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from rightcall.errors import LimitError
from rightcall.judging.core import Range, may_be_asked_together
from rightcall.values.trajectory import ToolCall

_MOST_NEIGHBOURS = 64
"""Most calls to list as possible neighbours of another."""


class Times(msgspec.Struct, frozen=True):
    """The start and end of each call. A call is before another if it ended no later than the other began."""

    begin: Sequence[int]
    end: Sequence[int]


class Neighbours(msgspec.Struct, frozen=True):
    """The calls that may be next to another, and whether there may be none."""

    calls: Sequence[int]
    may_be_none: bool
    too_many: bool = False
    """Whether there are more than are listed."""


class Timeline(msgspec.Struct, frozen=True):
    """The calls of one selection in time.

    In `sure`, every call is as long as it may have been, in `possible` as short: calls that do not overlap in `sure`
    certainly did not, and calls that overlap in `possible` certainly did. If everything is known, both are the same
    object.
    """

    sure: Times
    possible: Times
    parents: Sequence[int] | None = None
    """The nearest selected ancestor of each call; -1 for none. `None` if no call has one."""
    members: frozenset[int] = frozenset()
    """Calls for which it is unknown whether they are selected."""
    unordered: tuple[Range, ...] = ()
    """Ranges of calls whose order is unknown."""

    @property
    def is_certain(self) -> bool:
        """Whether it is known for all calls that they are selected, and which came before which."""
        return not self.members and not self.unordered and self.sure is self.possible

    @property
    def size(self) -> int:
        """The number of calls."""
        return len(self.sure.begin)

    def makers(self, call: int) -> Iterator[int]:
        """Yield the ancestors of a call, the nearest first."""
        if self.parents is not None:
            above = self.parents[call]
            while above >= 0:
                yield above
                above = self.parents[above]

    def is_before(self, one: int, other: int) -> bool:
        """Return whether a call is certainly before another: it ended by the start of the other, or is its ancestor."""
        return self.sure.end[one] <= self.sure.begin[other] or one in self.makers(other)

    def neighbours(self, order: Order, call: int, step: int) -> Neighbours:
        """Return the calls that may come right before a call (`step` -1) or right after it (1)."""
        place = order.block_of[call]
        found = [each for each in order.blocks[place] if each != call]
        return self._reached(order, place + step, step, found)

    def outermost(self, order: Order, step: int) -> Neighbours:
        """Return the calls that may be the first of all (`step` 1) or the last (-1)."""
        return self._reached(order, 0 if step == 1 else len(order.blocks) - 1, step, [])

    def _reached(self, order: Order, place: int, step: int, found: list[int]) -> Neighbours:
        while 0 <= place < len(order.blocks) and len(found) <= _MOST_NEIGHBOURS:
            found += order.blocks[place]
            if not self.members.issuperset(order.blocks[place]):
                return Neighbours(found, False)
            place += step
        return Neighbours(found[:_MOST_NEIGHBOURS], True, len(found) > _MOST_NEIGHBOURS)

    def order_of(self, calls: Sequence[int]) -> Order:
        """Return the order of these calls, which are given by ascending index."""
        blocks: list[list[int]] = []
        if not self.unordered:
            blocks = [[call] for call in calls]
        else:
            block_of = {call: first for first, end in self.unordered for call in range(first, end)}
            last = -1
            for call in calls:
                block = block_of.get(call, call)
                if block == last:
                    blocks[-1].append(call)
                else:
                    blocks.append([call])
                last = block
        return Order(blocks, {call: place for place, block in enumerate(blocks) for call in block})


class Order(msgspec.Struct, frozen=True):
    """Calls in order. Calls whose order is unknown are in one block."""

    blocks: Sequence[Sequence[int]]
    block_of: dict[int, int]


NO_ORDER = Order((), {})
"""For rules that are not about positions in the order."""

Parents: TypeAlias = Sequence[int] | None


def timeline_of(
    calls: Sequence[ToolCall],
    makers: dict[str, str | None],
    unordered: Sequence[Range],
    members: frozenset[int],
    *,
    started: bool = False,
    are_groups_open: bool = False,
    most: int,
) -> Timeline:
    """Return the timeline of selected calls.

    `makers` maps the span of each call of the whole run to that of its parent: a call that is not selected may be
    between two that are. With `started`, only start times count. With `are_groups_open`, a call without a group may
    have been requested together with its neighbours.

    Raises:
        LimitError: calls are nested too deeply: they have more than `most` ancestors in total.
    """
    parents = _parents(calls, makers, most)
    if any([call.start_ns is None for call in calls]):
        at_once = [] if started else _asked_at_once(calls, parents, are_groups_open)
        sure, possible = _times_of_positions(len(calls), at_once, unordered)
    else:
        sure, possible = _times(calls, unordered, started)
        possible = _with_unknown_makers(calls, makers, possible)
    return Timeline(sure, possible, parents, members, tuple(unordered))


def _times(calls: Sequence[ToolCall], unordered: Sequence[Range], started: bool) -> tuple[Times, Times]:
    begins = [call.start_ns for call in calls]
    ends = [call.end_ns for call in calls]
    starts: list[int] = begins  # type: ignore[assignment]
    # A call takes some time, however coarse the clock, so two calls at the same instant overlap.
    if started:
        sure = Times(starts, [start + 1 for start in starts])
    else:
        sure = Times(starts, [max(start + 1, end or 0) for start, end in zip(starts, ends, strict=True)])
    shortest = list(sure.end)
    if None in ends and not started:
        # A call whose end was not recorded may have run until the end of the run.
        last = max(sure.end)
        longest = [last if end is None else known for end, known in zip(ends, sure.end, strict=True)]
        sure = Times(starts, longest)
    elif not unordered:
        return sure, sure
    # Of calls that began together in unknown order, one that took no time may have ended before the others began.
    for first, end in unordered:
        for call in range(first, end):
            if shortest[call] == starts[call] + 1:
                shortest[call] -= 1
    return sure, Times(starts, shortest)


def _with_unknown_makers(calls: Sequence[ToolCall], makers: dict[str, str | None], times: Times) -> Times:
    """Return the shortest possible times if parents are unknown: a parent counts as before its children."""
    unsaid = any(["parent_id" in call.unrecorded for call in calls])
    unknown = unsaid or any([call.parent_id is not None and call.parent_id not in makers for call in calls])
    if not unknown:
        return times
    ends = [
        begin if unsaid or call.span_id is None else end
        for call, begin, end in zip(calls, times.begin, times.end, strict=True)
    ]
    return times if ends == times.end else Times(times.begin, ends)


def _times_of_positions(size: int, at_once: Sequence[Range], unordered: Sequence[Range]) -> tuple[Times, Times]:
    """Use positions as times. Calls requested together may have run in parallel, or one after the other as listed."""
    begin, end = list(range(size)), [place + 1 for place in range(size)]
    if not at_once and not unordered:
        certain = Times(begin, end)
        return certain, certain
    longest, shortest = (list(begin), list(end)), (list(begin), list(end))
    for first, stop in [*at_once, *unordered]:
        longest[0][first:stop], longest[1][first:stop] = [first] * (stop - first), [stop] * (stop - first)
    for first, stop in unordered:
        shortest[0][first:stop], shortest[1][first:stop] = [stop - 1] * (stop - first), [first + 1] * (stop - first)
    return Times(*longest), Times(*shortest)


def _asked_at_once(calls: Sequence[ToolCall], parents: Parents, are_groups_open: bool) -> list[Range]:
    """Return the ranges of calls of one group, with their descendants: their order is unknown."""
    last = _last_made(parents, len(calls))
    ranges: dict[str, tuple[int, int, int]] = {}
    for place, call in enumerate(calls):
        if call.group is not None:
            first, end, members = ranges.get(call.group, (place, place, 0))
            ranges[call.group] = first, max(end, last[place] + 1), members + 1
    found = [(first, end) for first, end, members in ranges.values() if members > 1]
    return _merged([*found, *_maybe_at_once(calls, parents, last)] if are_groups_open else found)


def _maybe_at_once(calls: Sequence[ToolCall], parents: Parents, last: Sequence[int]) -> Iterator[Range]:
    """Yield ranges of two neighbours with the same parent that may belong to one group."""
    # The children of a call come between it and the next call of its message, and belong to other messages.
    before: dict[int, int] = {}
    for place, call in enumerate(calls):
        maker = -1 if parents is None else parents[place]
        one = before.get(maker)
        if one is not None and may_be_asked_together(calls[one], call):
            yield one, max(last[one], last[place]) + 1
        before[maker] = place


def _last_made(parents: Parents, size: int) -> list[int]:
    """Return the last descendant of each call; itself if it has none."""
    last = list(range(size))
    if parents is not None:
        for place in range(size - 1, -1, -1):
            if parents[place] >= 0:
                last[parents[place]] = max(last[parents[place]], last[place])
    return last


def _merged(ranges: Sequence[Range]) -> list[Range]:
    merged: list[Range] = []
    for first, end in sorted(ranges):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return merged


def _parents(calls: Sequence[ToolCall], makers: dict[str, str | None], most: int) -> Parents:
    if not any([call.parent_id for call in calls]):
        return None
    places = {call.span_id: place for place, call in enumerate(calls) if call.span_id is not None}
    parents = [_selected_maker(call, makers, places) for call in calls]
    return _checked(_without_circles(parents), most)


def _selected_maker(call: ToolCall, makers: dict[str, str | None], places: dict[str, int]) -> int:
    above, seen = call.parent_id, set()
    while above is not None and above not in seen:
        if above in places and above != call.span_id:
            return places[above]
        seen.add(above)
        above = makers.get(above)
    return -1


def _without_circles(parents: list[int]) -> list[int]:
    """Return parents without cycles, which damaged traces may have: one call of each gets no parent."""
    state = [0] * len(parents)
    for start in range(len(parents)):
        path, call = [], start
        while call >= 0 and state[call] == 0:
            state[call] = 1
            path.append(call)
            call = parents[call]
        if call >= 0 and state[call] == 1:
            parents[path[-1]] = -1
        for each in path:
            state[each] = 2
    return parents


def _checked(parents: list[int], most: int) -> Parents:
    depths = [-1] * len(parents)
    for call in range(len(parents)):
        path = []
        while call >= 0 and depths[call] < 0:
            path.append(call)
            call = parents[call]
        depth = depths[call] if call >= 0 else -1
        for each in reversed(path):
            depth += 1
            depths[each] = depth
    if (total := sum(depths)) > most:
        raise LimitError(f"calls are nested too deeply: they have {total:,} calls above them, the limit is {most:,}")
    return parents if total else None
