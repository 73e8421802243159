"""Time in a run: which call came before which, and which ran in parallel."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec

from ._trajectory import ToolCall, Trajectory

Range: TypeAlias = tuple[int, int]
"""Neighbouring calls, as the index of the first and one past the last."""

Order: TypeAlias = Literal["finished", "started"]
"""What it takes for a call to be before another: to have finished, or only to have started."""


class Batches(msgspec.Struct, frozen=True):
    """Ranges of two or more neighbouring calls that were made in parallel: certainly, and possibly.

    If times decide, ranges can overlap: a long call may run beside two that came one after the other.
    """

    sure: tuple[Range, ...]
    possible: tuple[Range, ...]


class Clock:
    """The times of some calls of a run, indexed by their place among them.

    A call is before another if it ended no later than the other began, or is its ancestor; with the order `started`, if
    it began earlier. A call lasts at least a nanosecond, so two calls at the same instant are parallel. If any call
    lacks a time, indices are used as times, and calls in a range whose order is unknown are parallel.

    `starts` and `ends` are the times. Ancestors aside, a call is before another exactly if its end is no later than the
    other's start.
    """

    def __init__(
        self, trajectory: Trajectory, positions: Sequence[int] | None = None, order: Order = "finished"
    ) -> None:
        self._trajectory = trajectory
        self._positions = range(len(trajectory.calls)) if positions is None else positions
        self.calls: Sequence[ToolCall] = [trajectory.calls[position] for position in self._positions]
        self.is_timed = all([call.start_ns is not None and call.end_ns is not None for call in self.calls])
        """Whether times come from the trace; otherwise indices are used."""
        if self.is_timed:
            self.starts = [call.start_ns or 0 for call in self.calls]
            self.ends = [max(call.end_ns or 0, start + 1) for call, start in zip(self.calls, self.starts, strict=True)]
        else:
            self.starts, self.ends = self._places()
        if order == "started":
            self.ends = [start + 1 for start in self.starts]

    def before(self, first: int, second: int) -> bool:
        """Return whether one call was before another."""
        if first == second:
            return False
        return self.ends[first] <= self.starts[second] or self.made(first, second)

    def at_once(self, first: int, second: int) -> bool:
        """Return whether neither of two calls was before the other."""
        return not self.before(first, second) and not self.before(second, first)

    def made(self, maker: int, call: int) -> bool:
        """Return whether a call is an ancestor of another."""
        entered, left = self._family
        above, below = self._positions[maker], self._positions[call]
        return entered[above] < entered[below] < left[above]

    def batches(self) -> Batches:
        """Return the calls made in parallel: those of one group or, without groups, those that all overlap in time.

        If neither is recorded, any neighbours may have been parallel, provided that they can be of one turn and one
        agent; so may calls without a group among others that have one.
        """
        if self.is_timed and all([call.group is None for call in self.calls]):
            ranges = self._longest(_Running(self))
            return Batches(ranges if self.are_makers_known else self._longest(_SurelyBeside(self)), ranges)
        sure = _same_groups(self.calls)
        if None not in [call.group for call in self.calls]:
            return Batches(sure, sure)
        # A recorded group counts even if its calls are of several agents, so sure ranges are always possible ones.
        return Batches(sure, _widest([*sure, *self._longest(_Asked(self))]))

    @cached_property
    def are_makers_known(self) -> bool:
        """Whether it was recorded for all calls which tool made them, if any."""
        return not any(map(_has_unknown_maker, self.calls))

    def free_blocks(self, *, may_be: bool = False) -> tuple[Range, ...]:
        """Split the calls, from the left, into the longest blocks in which all calls overlap in time.

        A call that may have been made by another one is not surely beside it; with `may_be`, it is in its block. Blocks
        of one call are left out. Without times there are no blocks.
        """
        if not self.is_timed:
            return ()
        window = _Running if may_be or self.are_makers_known else _SurelyBeside
        blocks: list[Range] = []
        first, block = 0, window(self)
        for index in range(len(self.calls)):
            if not block.has_room_for(index):
                blocks.append((first, index))
                first, block = index, window(self)
            block.add(index)
        return _wide([*blocks, (first, len(self.calls))])

    def _longest(self, window: _Window) -> tuple[Range, ...]:
        """Return the ranges of neighbours that fit into the window and cannot be extended."""
        ranges: list[Range] = []
        first = 0
        for index in range(len(self.calls)):
            if not window.has_room_for(index):
                ranges.append((first, index))
                while not window.has_room_for(index):
                    window.remove(first)
                    first += 1
            window.add(index)
        return _wide([*ranges, (first, len(self.calls))])

    def _places(self) -> tuple[list[int], list[int]]:
        starts = list(range(len(self.calls)))
        ends = [start + 1 for start in starts]
        for first, end in self._trajectory.unordered:
            start, stop = bisect_left(self._positions, first), bisect_left(self._positions, end)
            starts[start:stop] = [start] * (stop - start)
            ends[start:stop] = [stop] * (stop - start)
        return starts, ends

    @cached_property
    def _parents(self) -> list[int | None]:
        calls = self._trajectory.calls
        by_span = {call.span_id: position for position, call in enumerate(calls) if call.span_id is not None}
        parents = [None if call.parent_id is None else by_span.get(call.parent_id) for call in calls]
        return _without_circles(parents)

    @cached_property
    def _from_the_top(self) -> list[int]:
        """All positions in pre-order: each call after its parent, and its descendants right behind it."""
        children: dict[int | None, list[int]] = {}
        for position, parent in enumerate(self._parents):
            children.setdefault(parent, []).append(position)
        order: list[int] = []
        waiting = list(reversed(children.get(None, ())))
        while waiting:
            position = waiting.pop()
            order.append(position)
            waiting.extend(reversed(children.get(position, ())))
        return order

    @cached_property
    def _family(self) -> tuple[list[int], list[int]]:
        """For each position, its place in pre-order, and the place behind its last descendant."""
        entered = [0] * len(self._parents)
        for place, position in enumerate(self._from_the_top):
            entered[position] = place
        left = [place + 1 for place in entered]
        for position in reversed(self._from_the_top):
            parent = self._parents[position]
            if parent is not None:
                left[parent] = max(left[parent], left[position])
        return entered, left

    def family_of(self, index: int) -> Range:
        """Return the range of pre-order places of a call and its descendants."""
        entered, left = self._family
        position = self._positions[index]
        return entered[position], left[position]


class _Window:
    """A sliding window of neighbouring calls, none of which is an ancestor of another. The oldest leaves first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._families: list[Range] = []

    def has_room_for(self, index: int) -> bool:
        """Return whether a call fits together with those in the window."""
        first, end = self._clock.family_of(index)
        place = bisect_left(self._families, (first, end))
        # Ranges in the window do not overlap, so only the two next to this one can overlap with it.
        enclosed = place < len(self._families) and self._families[place][0] < end
        return not enclosed and not (place > 0 and self._families[place - 1][1] > first)

    def add(self, index: int) -> None:
        """Add the next call."""
        insort(self._families, self._clock.family_of(index))

    def remove(self, index: int) -> None:
        """Remove the oldest call."""
        del self._families[bisect_left(self._families, self._clock.family_of(index))]


class _Running(_Window):
    """A window of calls that all overlap in time: the last to begin began before the first to end ended."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        # Monotonic queues of the latest start and the earliest end: a call that a later one outdoes is dropped.
        self._latest: deque[int] = deque()
        self._earliest: deque[int] = deque()

    def has_room_for(self, index: int) -> bool:
        starts, ends = self._clock.starts, self._clock.ends
        if self._latest and not (starts[self._latest[0]] < ends[index] and starts[index] < ends[self._earliest[0]]):
            return False
        return super().has_room_for(index)

    def add(self, index: int) -> None:
        starts, ends = self._clock.starts, self._clock.ends
        while self._latest and starts[self._latest[-1]] <= starts[index]:
            self._latest.pop()
        while self._earliest and ends[self._earliest[-1]] >= ends[index]:
            self._earliest.pop()
        self._latest.append(index)
        self._earliest.append(index)
        super().add(index)

    def remove(self, index: int) -> None:
        for candidates in (self._latest, self._earliest):
            if candidates[0] == index:
                candidates.popleft()
        super().remove(index)


class _SurelyBeside(_Running):
    """A window of calls that overlap, and that no other call in it made: those with an unknown maker share a group."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._groups: Counter[str | None] = Counter()
        self._unknown = 0

    def has_room_for(self, index: int) -> bool:
        call = self._clock.calls[index]
        is_of_group = call.group is not None and self._groups.keys() == {call.group}
        if self._groups and not is_of_group and (self._unknown or _has_unknown_maker(call)):
            return False
        return super().has_room_for(index)

    def add(self, index: int) -> None:
        self._count(index, 1)
        super().add(index)

    def remove(self, index: int) -> None:
        self._count(index, -1)
        super().remove(index)

    def _count(self, index: int, number: int) -> None:
        call = self._clock.calls[index]
        self._unknown += number * _has_unknown_maker(call)
        self._groups[call.group] += number
        if not self._groups[call.group]:
            del self._groups[call.group]


def _has_unknown_maker(call: ToolCall) -> bool:
    return "parent_id" in call.unrecorded


class _Asked(_Window):
    """A window of calls that the model may have requested in one message, of one group, turn and agent."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._counts: tuple[Counter[object], ...] = (Counter(), Counter(), Counter())

    def has_room_for(self, index: int) -> bool:
        known = zip(self._counts, _message_of(self._clock.calls[index]), strict=True)
        if any([value is not None and held and value not in held for held, value in known]):
            return False
        return super().has_room_for(index)

    def add(self, index: int) -> None:
        for counts, value in zip(self._counts, _message_of(self._clock.calls[index]), strict=True):
            if value is not None:
                counts[value] += 1
        super().add(index)

    def remove(self, index: int) -> None:
        for held, value in zip(self._counts, _message_of(self._clock.calls[index]), strict=True):
            if value is not None:
                held[value] -= 1
                if not held[value]:
                    del held[value]
        super().remove(index)


def _message_of(call: ToolCall) -> tuple[object, object, object]:
    return call.group, call.turn, call.agent


def _same_groups(calls: Sequence[ToolCall]) -> tuple[Range, ...]:
    ranges: list[Range] = []
    first = 0
    for index in range(1, len(calls) + 1):
        if index == len(calls) or calls[index].group is None or calls[index].group != calls[first].group:
            ranges.append((first, index))
            first = index
    return _wide(ranges)


def _wide(ranges: Sequence[Range]) -> tuple[Range, ...]:
    return tuple([(first, end) for first, end in ranges if end - first > 1])


def _widest(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Return the ranges that no other range contains, in order."""
    kept: list[Range] = []
    for first, end in sorted(ranges, key=lambda each: (each[0], -each[1])):
        if not kept or end > kept[-1][1]:
            kept.append((first, end))
    return tuple(kept)


def _without_circles(parents: list[int | None]) -> list[int | None]:
    """Return the parents, with `None` for calls of a damaged trace that are their own ancestors."""
    kept = list(parents)
    done = [False] * len(parents)
    for position in range(len(parents)):
        path: dict[int, None] = {}
        above: int | None = position
        while above is not None and not done[above] and above not in path:
            path[above] = None
            above = kept[above]
        if above is not None and above in path:
            walked = list(path)
            for member in walked[walked.index(above) :]:
                kept[member] = None
        for member in path:
            done[member] = True
    return kept
