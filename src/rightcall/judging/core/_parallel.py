"""Calls that have no order: those asked for at once, or running at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rightcall.values.trajectory import ToolCall, Trajectory

from ._criteria import Parallel
from ._doubts import Range, wide


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
