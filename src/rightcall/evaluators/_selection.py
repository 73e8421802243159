"""The calls of a trajectory that an evaluator looks at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from rightcall.alignment import Row, arrange
from rightcall.limits import Limits
from rightcall.trajectory import ToolCall, Trajectory, Usage

from ._criteria import Criteria


class Selection(msgspec.Struct, frozen=True):
    """The selected calls and their names, in order.

    `positions` are their places in the trajectory, `None` where that is the same. `free` are the ranges in which
    the order of calls is not known or does not count.
    """

    calls: Sequence[ToolCall]
    names: tuple[str, ...]
    positions: Sequence[int] | None = None
    free: tuple[tuple[int, int], ...] = ()
    output: Any = None
    """What the run gave back in the end."""
    turn_outputs: tuple[Any, ...] = ()
    """What each turn gave back, where that is known."""
    usage: Usage | None = None
    """What the whole run took, where that is known."""

    def position(self, index: int) -> int:
        """The place in the trajectory of the selected call at `index`."""
        return index if self.positions is None else self.positions[index]

    def only(self, indices: Sequence[int]) -> Selection:
        """These of the selected calls, given in ascending order."""
        return self._at(indices, _narrowed(self.free, indices))

    def _at(self, indices: Sequence[int], free: tuple[tuple[int, int], ...] = ()) -> Selection:
        return Selection(
            [self.calls[index] for index in indices],
            tuple([self.names[index] for index in indices]),
            [self.position(index) for index in indices],
            free,
            self.output,
            self.turn_outputs,
            self.usage,
        )

    def arranged(self, rows: Sequence[Row], limits: Limits) -> Selection:
        """The same calls in the order that suits the expectation best, as far as their order is free.

        `rows` has, for each expected call, the places of the selected calls that satisfy it.
        """
        return self._at(arrange(rows, len(self.calls), self.free, limits.comparisons // 100))

    def arranged_by_name(self, expected: Sequence[str], limits: Limits) -> Selection:
        """The same calls in the order whose names suit the expected names best, as far as their order is free."""
        places: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            places.setdefault(name, []).append(index)
        return self.arranged([places.get(name, ()) for name in expected], limits)


def select(trajectory: Trajectory, criteria: Criteria, expected_names: Collection[str]) -> Selection:
    """The calls that criteria are about. The framework's own calls are left out unless they are expected."""
    if criteria.takes_all and not trajectory.unordered and not trajectory.has_internal_calls:
        return Selection(
            trajectory.calls, trajectory.names, None, (), trajectory.output, trajectory.turn_outputs, trajectory.usage
        )
    kept = [
        position
        for position, call in enumerate(trajectory.calls)
        if _is_meant(call, criteria) and (not call.internal or call.name in expected_names)
    ]
    return _selection(trajectory, criteria, kept)


def _is_meant(call: ToolCall, criteria: Criteria) -> bool:
    return (
        call.name not in criteria.ignore_tools
        and (criteria.agent is None or call.agent == criteria.agent)
        and not (criteria.top_level and call.parent_id is not None)
    )


def _selection(trajectory: Trajectory, criteria: Criteria, kept: Sequence[int]) -> Selection:
    calls = [trajectory.calls[position] for position in kept]
    ranges = [*_narrowed(trajectory.unordered, kept)]
    if criteria.parallel == "any_order":
        ranges += _groups(calls)
    names = tuple([call.name for call in calls])
    answers = trajectory.turn_outputs
    return Selection(calls, names, kept, _merged(ranges), trajectory.output, answers, trajectory.usage)


def _narrowed(ranges: Sequence[tuple[int, int]], kept: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The ranges in terms of those positions that are kept, which are in ascending order."""
    narrowed = [(bisect_left(kept, first), bisect_left(kept, end)) for first, end in ranges]
    return tuple([(first, end) for first, end in narrowed if end > first])


def _groups(calls: Sequence[ToolCall]) -> Iterator[tuple[int, int]]:
    """The ranges of neighbouring calls that the model asked for at once."""
    first = 0
    for index in range(1, len(calls) + 1):
        if index == len(calls) or calls[index].group is None or calls[index].group != calls[first].group:
            yield (first, index)
            first = index


def _merged(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges of two and more, those that overlap made one."""
    merged: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end - first > 1:
            merged.append((first, end))
    return tuple(merged)
