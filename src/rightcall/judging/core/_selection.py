"""The calls of a trajectory that an evaluator looks at, and which of them have no order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.limits import Limits
from rightcall.matching import alignment
from rightcall.matching.matchers import CallMoment
from rightcall.values.trajectory import ToolCall, Trajectory, Usage

from ._criteria import Criteria, Parallel
from ._doubts import Doubts, Range, arrangements, membership, narrowed, outcome_counts, reasons_for, wide

# `alignment` itself is loaded when calls are arranged: most runs are in the expected order as they were recorded.
if TYPE_CHECKING:
    from rightcall.matching.alignment import Row

_MOST_WORLDS = 256
"""Ways to fill in what a trace leaves open, up to which every one of them is judged."""
_MOST_CALLS = 1_000_000
"""Calls in all of them together."""


class Selection(msgspec.Struct, frozen=True):
    """The selected calls and their names, in order.

    `positions` are their places in the trajectory, `None` where that is the same. `free` are the ranges in which
    the order of calls does not count. `doubts` is what the trace leaves open about them; the calls are then all
    that may be meant, in the order in which they were recorded.
    """

    calls: Sequence[ToolCall]
    names: tuple[str, ...]
    positions: Sequence[int] | None = None
    free: tuple[Range, ...] = ()
    output: Any = None
    """What the run returned in the end."""
    turn_outputs: tuple[Any, ...] = ()
    """What each turn returned, where that is known."""
    usage: Usage | None = None
    """What the whole run took, where that is known."""
    doubts: Doubts | None = None
    trajectory: Trajectory | None = None
    """The run that the calls are of."""
    parallel: Parallel = "in_order"
    """Which of the calls have no order."""
    suspected: int = 0
    """How many calls were left out that may not have failed."""

    def position(self, index: int) -> int:
        """The place in the trajectory of the selected call at `index`."""
        return index if self.positions is None else self.positions[index]

    def moment(self, index: int) -> CallMoment | None:
        """Where in its run the selected call at `index` was made; `None` where the run is not known."""
        return None if self.trajectory is None else CallMoment(self.trajectory, self.position(index))

    def only(self, indices: Sequence[int]) -> Selection:
        """These of the selected calls, given in ascending order."""
        doubts = None if self.doubts is None else self.doubts.at(indices)
        return self._at(indices, wide(narrowed(self.free, indices)), doubts)

    def sure(self) -> Selection:
        """Those of the selected calls that are surely meant."""
        if self.doubts is None or not self.doubts.members:
            return self
        return self.only([index for index in range(len(self.calls)) if index not in self.doubts.members])

    def worlds(self) -> Iterator[Selection] | None:
        """The selection for every way to fill in what the trace leaves open, the recorded one first.

        None where there are too many of them, or where calls may be missing.
        """
        if self.doubts is None:
            return iter((self,))
        regrouped = self.doubts.groups is not None
        most = min(_MOST_WORLDS, _MOST_CALLS // max(1, len(self.calls)))
        orders = arrangements(len(self.calls), self.doubts, most // 2 if regrouped else most)
        return None if orders is None else self._worlds(orders, regrouped)

    def _worlds(self, orders: Iterator[list[int]], regrouped: bool) -> Iterator[Selection]:
        for order in orders:
            calls = [self.calls[index] for index in order]
            free = self._free(calls, [self.position(index) for index in order])
            # Order counts least where groups are widest, so the narrowest and the widest are the bounds of all.
            yield self._at(order, free)
            if regrouped:
                yield self._at(order, widest_ranges(self.parallel, calls, free))

    def _free(self, calls: Sequence[ToolCall], positions: Sequence[int]) -> tuple[Range, ...]:
        return () if self.trajectory is None else free_ranges(self.parallel, self.trajectory, calls, positions)

    def _at(self, indices: Sequence[int], free: tuple[Range, ...] = (), doubts: Doubts | None = None) -> Selection:
        return Selection(
            [self.calls[index] for index in indices],
            tuple([self.names[index] for index in indices]),
            [self.position(index) for index in indices],
            free,
            self.output,
            self.turn_outputs,
            self.usage,
            doubts,
            self.trajectory,
            self.parallel,
        )

    def arranged(self, rows: Sequence[Row], limits: Limits) -> Selection:
        """The same calls in the order that suits the expectation best, as far as it does not count or is not known.

        `rows` has, for each expected call, the places of the selected calls that satisfy it.
        """
        return self._at(self._best_order(rows, limits))

    def most_in_order(self, rows: Sequence[Row], limits: Limits) -> int:
        """Return how many expected calls can be met in order, in the best order that may be theirs."""
        places = {index: place for place, index in enumerate(self._best_order(rows, limits))}
        moved = [sorted([places[index] for index in row]) for row in rows]
        return len(alignment.related_subsequence(moved, len(self.calls)))

    def _best_order(self, rows: Sequence[Row], limits: Limits) -> list[int]:
        return alignment.arrange(rows, len(self.calls), self.loose, limits.comparisons // 100)

    def arranged_by_name(self, expected: Sequence[str], limits: Limits) -> Selection:
        """The same calls in the order whose names suit the expected names best, as far as that may be theirs."""
        return self.arranged(self.rows_of(expected), limits)

    def rows_of(self, expected: Sequence[str]) -> list[Row]:
        """For each expected name, the places of the selected calls that have it."""
        places: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            places.setdefault(name, []).append(index)
        return [places.get(name, ()) for name in expected]

    @property
    def apart(self) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
        """The ranges in which order does not count, and those in which it is not known; these are the wider ones."""
        if self.doubts is None or not self.doubts.unordered:
            return self.free, ()
        touched = [each for each in self.free if any([_overlap(each, other) for other in self.doubts.unordered])]
        unknown = wide([*self.doubts.unordered, *touched])
        return tuple([each for each in self.free if each not in touched]), unknown

    @property
    def loose(self) -> tuple[Range, ...]:
        """The ranges in which the order of calls does not count, may not count, or is not known."""
        if self.doubts is None:
            return self.free
        return wide([*self.free, *(self.doubts.groups or ()), *self.doubts.unordered])


def select(trajectory: Trajectory, criteria: Criteria, expected_names: Collection[str]) -> Selection:
    """The calls that criteria are about. The framework's own calls are left out unless they are expected."""
    if (
        criteria.takes_all
        and trajectory.calls_recorded
        and not trajectory.unordered
        and not trajectory.has_internal_calls
        and (criteria.parallel == "in_order" or not trajectory.has_groups)
    ):
        return Selection(
            trajectory.calls,
            trajectory.names,
            None,
            (),
            trajectory.output,
            trajectory.turn_outputs,
            trajectory.usage,
            None,
            trajectory,
        )
    kept: list[int] = []
    members: list[int] = []
    suspected = 0
    for position, call in enumerate(trajectory.calls):
        meant = criteria.takes_all or membership(call, criteria)
        is_own = False if call.name in expected_names else call.internal
        if meant is False or is_own:
            suspected += call.error is None and outcome_counts(call, criteria) is False
            continue
        if meant is None or is_own is None:
            members.append(len(kept))
        kept.append(position)
    selection = _selection(trajectory, criteria, kept, frozenset(members))
    return msgspec.structs.replace(selection, suspected=suspected) if suspected else selection


def _selection(trajectory: Trajectory, criteria: Criteria, kept: Sequence[int], members: frozenset[int]) -> Selection:
    recorded = [trajectory.calls[position] for position in kept]
    calls = recorded if criteria.agent is None else [_made_by(criteria.agent, call) for call in recorded]
    free = free_ranges(criteria.parallel, trajectory, calls, kept)
    groups = widest_ranges(criteria.parallel, calls, free, members)
    unordered = [each for each in wide(narrowed(trajectory.unordered, kept)) if not _is_inside(each, free)]
    doubts = None
    if members or unordered or groups != free or not trajectory.calls_recorded:
        doubts = Doubts(members, tuple(unordered), None if groups == free else groups, not trajectory.calls_recorded)
        reasons = reasons_for(trajectory, criteria, doubts, recorded)
        doubts = msgspec.structs.replace(doubts, reasons=tuple(reasons))
    return Selection(
        calls,
        tuple([call.name for call in calls]),
        kept,
        free,
        trajectory.output,
        trajectory.turn_outputs,
        trajectory.usage,
        doubts,
        trajectory,
        criteria.parallel,
    )


def _made_by(agent: str, call: ToolCall) -> ToolCall:
    """A call that is this agent's if it is meant at all."""
    if call.agent is not None:
        return call
    return msgspec.structs.replace(call, agent=agent, unrecorded=call.unrecorded - {"agent"})


def _is_inside(inner: Range, ranges: Sequence[Range]) -> bool:
    """Return whether a range is inside one of others: what is not known there does not count either."""
    return any([first <= inner[0] and inner[1] <= end for first, end in ranges])


def _overlap(one: Range, other: Range) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def free_ranges(
    parallel: Parallel, trajectory: Trajectory, calls: Sequence[ToolCall], positions: Sequence[int]
) -> tuple[Range, ...]:
    """Return the ranges of neighbouring calls whose order surely does not count.

    `positions` are the places of the calls in the trajectory.
    """
    if parallel == "in_order":
        return ()
    if parallel != "overlap":
        return _neighbours(calls, _have_one_group)
    from rightcall.values.trajectory import Clock  # few eval sets go by the times of calls

    return Clock(trajectory, positions).free_blocks()


def widest_ranges(
    parallel: Parallel, calls: Sequence[ToolCall], free: tuple[Range, ...], members: Collection[int] = ()
) -> tuple[Range, ...]:
    """Return the ranges of neighbouring calls whose order may not count, given those where it surely does not.

    Calls whose place in `members` says that they may not be there at all keep no others apart.
    """
    doubtful = {id(calls[index]) for index in members}

    def together(one: ToolCall, other: ToolCall) -> bool:
        if id(one) in doubtful or id(other) in doubtful:
            return True
        return may_be_asked_together(one, other) if parallel == "any_order" else _have_one_group(one, other)

    if parallel == "overlap":
        is_known = not members and all([call.start_ns is not None and call.end_ns is not None for call in calls])
        return free if is_known else _neighbours(calls, lambda one, other: not _differ(one.turn, other.turn))
    # With `recorded`, a call without a group was asked for alone.
    return free if parallel == "in_order" or (parallel == "recorded" and not doubtful) else _neighbours(calls, together)


def _have_one_group(one: ToolCall, other: ToolCall) -> bool:
    return one.group is not None and one.group == other.group


def may_be_asked_together(one: ToolCall, other: ToolCall) -> bool:
    """Return whether the model may have asked for two calls in one message, as far as their groups are known."""
    if one.group is not None and other.group is not None:
        return one.group == other.group
    # A model asks for calls in one message, and that belongs to one turn and one agent.
    return not (_differ(one.turn, other.turn) or _differ(one.agent, other.agent))


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def _neighbours(calls: Sequence[ToolCall], together: Callable[[ToolCall, ToolCall], bool]) -> tuple[Range, ...]:
    ranges = []
    first = 0
    for index in range(1, len(calls) + 1):
        if index == len(calls) or not together(calls[index - 1], calls[index]):
            ranges.append((first, index))
            first = index
    return wide(ranges)
