"""When selected calls began and ended, who made whom, and in which order they are, as far as that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from rightcall.errors import LimitError
from rightcall.judging.core import Range, may_be_asked_together
from rightcall.values.trajectory import ToolCall

_MOST_NEIGHBOURS = 64
"""Calls that may be the neighbour of another, up to which each of them is looked at."""


class Times(msgspec.Struct, frozen=True):
    """When each call began and ended. A call is before another if it ended no later than the other began."""

    begin: Sequence[int]
    end: Sequence[int]


class Neighbours(msgspec.Struct, frozen=True):
    """The calls that may be next to another, and whether there may be none."""

    calls: Sequence[int]
    may_be_none: bool
    too_many: bool = False
    """Whether there are more of them than are listed."""


class Timeline(msgspec.Struct, frozen=True):
    """The calls of one selection in time.

    `sure` has every call as long as it may have been, `possible` as short: calls that are apart by the first surely
    were, those that are not by the second surely were not. They are one object where everything is known.
    """

    sure: Times
    possible: Times
    parents: Sequence[int] | None = None
    """The selected call that made each call, directly or through others; -1 for none. `None` where no call made one."""
    members: frozenset[int] = frozenset()
    """Calls of which the trace does not say whether they are selected."""
    unordered: tuple[Range, ...] = ()
    """Ranges of calls of which the trace does not say in which order they were made."""

    @property
    def is_certain(self) -> bool:
        """Whether it is known of all calls that they are selected, and which were before which."""
        return not self.members and not self.unordered and self.sure is self.possible

    @property
    def size(self) -> int:
        """How many calls there are."""
        return len(self.sure.begin)

    def makers(self, call: int) -> Iterator[int]:
        """Yield the call that made a call, the one that made that, and so on."""
        if self.parents is not None:
            above = self.parents[call]
            while above >= 0:
                yield above
                above = self.parents[above]

    def is_before(self, one: int, other: int) -> bool:
        """Return whether a call surely is before another: it ended no later than the other began, or made it."""
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
        """Return these calls, given in ascending order, in the order they were made."""
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
    """Calls in the order they were made, those together whose order is not known."""

    blocks: Sequence[Sequence[int]]
    block_of: dict[int, int]


NO_ORDER = Order((), {})
"""For rules that are not about places in the order."""

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

    `makers` has the span of the call that made each call, by the call's own span, over the whole run: a call that is
    not selected may have passed on what one that is selected began. With `started`, starts alone count. With
    `are_groups_open`, a call without a group may have been asked for at once with its neighbours.

    Raises:
        LimitError: calls are nested too deeply: all their makers together are more than `most`.
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
    # A call takes some time, however coarse the clock: two calls at one instant are at the same time.
    if started:
        sure = Times(starts, [start + 1 for start in starts])
    else:
        sure = Times(starts, [max(start + 1, end or 0) for start, end in zip(starts, ends, strict=True)])
    shortest = list(sure.end)
    if None in ends and not started:
        # A call whose end was not recorded may have run on to the end of the run.
        last = max(sure.end)
        longest = [last if end is None else known for end, known in zip(ends, sure.end, strict=True)]
        sure = Times(starts, longest)
    elif not unordered:
        return sure, sure
    # Where nothing shows the order of calls that began together, one that took no time may have ended before.
    for first, end in unordered:
        for call in range(first, end):
            if shortest[call] == starts[call] + 1:
                shortest[call] -= 1
    return sure, Times(starts, shortest)


def _with_unknown_makers(calls: Sequence[ToolCall], makers: dict[str, str | None], times: Times) -> Times:
    """The times as short as may be where the trace does not say who made a call: a maker is before what it made."""
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
    """Positions as times. Calls asked for at once may have run at once, or one after the other as listed."""
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
    """The ranges of calls of one group, with the calls that these made: between families nothing shows an order."""
    last = _last_made(parents, len(calls))
    ranges: dict[str, tuple[int, int, int]] = {}
    for place, call in enumerate(calls):
        if call.group is not None:
            first, end, members = ranges.get(call.group, (place, place, 0))
            ranges[call.group] = first, max(end, last[place] + 1), members + 1
    found = [(first, end) for first, end, members in ranges.values() if members > 1]
    return _merged([*found, *_maybe_at_once(calls, parents, last)] if are_groups_open else found)


def _maybe_at_once(calls: Sequence[ToolCall], parents: Parents, last: Sequence[int]) -> Iterator[Range]:
    """The ranges from a call to the next that the same one made, where both may be of one group."""
    # What a call made comes between it and the next one of its message, and belongs to messages of its own.
    before: dict[int, int] = {}
    for place, call in enumerate(calls):
        maker = -1 if parents is None else parents[place]
        one = before.get(maker)
        if one is not None and may_be_asked_together(calls[one], call):
            yield one, max(last[one], last[place]) + 1
        before[maker] = place


def _last_made(parents: Parents, size: int) -> list[int]:
    """For each call, the last that it made, directly or through others; itself where it made none."""
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
    """The same, but for calls that would have made themselves in a damaged trace: these were made by none."""
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
