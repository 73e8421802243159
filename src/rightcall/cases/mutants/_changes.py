"""Change a trajectory in one place: calls left out, made again or renamed, and other values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from rightcall.values.trajectory import ToolCall, Trajectory

_MOST_LEAVES = 12


def without(trajectory: Trajectory, positions: set[int]) -> Trajectory:
    """Return a trajectory without some calls, and without those that these made in turn."""
    gone = set(positions)
    spans = {trajectory.calls[position].span_id for position in gone} - {None}
    for position, call in enumerate(trajectory.calls):
        if call.parent_id is not None and call.parent_id in spans:
            gone.add(position)
            spans.add(call.span_id)
    calls = tuple([call for position, call in enumerate(trajectory.calls) if position not in gone])
    return replace(trajectory, calls=calls, unordered=_shifted(trajectory.unordered, gone))


def _shifted(unordered: Sequence[tuple[int, int]], gone: set[int]) -> tuple[tuple[int, int], ...]:
    """Return ranges of calls after some calls are gone."""
    if not unordered:
        return ()
    moved = [
        (first - sum(each < first for each in gone), end - sum(each < end for each in gone)) for first, end in unordered
    ]
    return tuple([(first, end) for first, end in moved if end - first > 1])


def repeated(trajectory: Trajectory, position: int, times: int = 1) -> Trajectory:
    """Return a trajectory in which a call is made again, more times."""
    call = trajectory.calls[position]
    added = [following(call, call)] * times
    calls = (*trajectory.calls[: position + 1], *added, *trajectory.calls[position + 1 :])
    ranges = [
        (first + times * (first > position), end + times * (end > position)) for first, end in trajectory.unordered
    ]
    return replace(trajectory, calls=calls, unordered=tuple(ranges))


def renamed(trajectory: Trajectory, position: int, name: str) -> Trajectory:
    """Return a trajectory in which another tool is called."""
    return put(trajectory, position, replace(trajectory.calls[position], name=name))


def following(call: ToolCall, before: ToolCall | None) -> ToolCall:
    """Return a call as it would be recorded right after another one."""
    moment = before.end_ns if before is not None and before.end_ns is not None else None
    if before is not None and moment is None:
        moment = before.start_ns
    turn = before.turn if before is not None else call.turn
    agent = before.agent if before is not None else call.agent
    return replace(call, start_ns=moment, end_ns=moment, group=None, span_id=None, call_id=None, turn=turn, agent=agent)


def moved_to(call: ToolCall, to: ToolCall) -> ToolCall:
    """Return a call at the time, and in the turn, of another one."""
    return replace(call, start_ns=to.start_ns, end_ns=to.end_ns, group=to.group, turn=to.turn)


def put(trajectory: Trajectory, position: int, call: ToolCall) -> Trajectory:
    """Return a trajectory with another call in one place."""
    calls = (*trajectory.calls[:position], call, *trajectory.calls[position + 1 :])
    return replace(trajectory, calls=calls)


def with_args(trajectory: Trajectory, position: int, args: Any) -> Trajectory:
    """Return a trajectory with other arguments for one call."""
    return put(trajectory, position, replace(trajectory.calls[position], args=args))


def leaves(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of values in objects and lists that are neither, the first of them."""
    found = 0
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting and found < _MOST_LEAVES:
        path, held = waiting.pop()
        if isinstance(held, dict) and held:
            waiting += [((*path, key), item) for key, item in reversed(held.items())]
        elif isinstance(held, list) and held:
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(held)))]
        elif path or not isinstance(held, (dict, list)):
            found += 1
            yield path


def other_value(value: Any) -> Any:
    """Return a value of the same type that is not equal to it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return f"{value} changed" if value else "changed"
    if isinstance(value, list):
        return ["changed"]
    return {"changed": True} if isinstance(value, dict) else "changed"


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return what is at a path inside of a value."""
    for step in path:
        value = value[step]
    return value


def replaced(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """Return a copy of a value with something else at a path."""
    if not path:
        return new
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied
