"""The calls of a trajectory as a tree, and which of them belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from rightcall.values.trajectory import ToolCall

Bond = Literal["", "concurrent", "asked"]
"""What joins calls side by side: they ran at the same time, or the model asked for them at once."""
Lane = tuple[Bond, Literal["", "first", "middle", "last"]]
"""A call's place among calls that belong together."""

ALONE: Lane = ("", "")


class Row(NamedTuple):
    """A call, where it stands in the trajectory, how deep in the tree, and the lanes from the root to it."""

    position: int
    call: ToolCall
    depth: int
    lanes: tuple[Lane, ...]


def rows(calls: Sequence[ToolCall], most_lanes: int) -> Iterator[Row]:
    """The calls, each before those it made; calls whose maker is not there, or is itself, stand at the top.

    A call deeper than `most_lanes` has the lanes of the first levels only: a chain of a hundred thousand calls would
    have ten thousand million of them.
    """
    children = _children(calls)
    unseen = dict.fromkeys(range(len(calls)))
    stack: list[tuple[int, tuple[Lane, ...], int]] = []
    for position, lane in reversed(_together(calls, children.pop(None, []))):
        stack.append((position, (lane,), 0))
    while unseen:
        if not stack:  # calls that made one another in a circle, which has no top
            stack = [(next(iter(unseen)), (ALONE,), 0)]
        position, lanes, depth = stack.pop()
        if position not in unseen:
            continue
        del unseen[position]
        yield Row(position, calls[position], depth, lanes)
        for child, lane in reversed(_together(calls, children.pop(position, []))):
            below = (*lanes, lane) if len(lanes) < most_lanes else (*lanes[:-1], _passing(lanes[-1]))
            stack.append((child, below, depth + 1))


def _passing(lane: Lane) -> Lane:
    """A lane beside what stands below its call."""
    return ALONE if lane[1] in ("", "last") else (lane[0], "middle")


def _children(calls: Sequence[ToolCall]) -> dict[int | None, list[int]]:
    """The positions of the calls that each call made; under None those that none made."""
    places: dict[str, int] = {}
    for position, call in enumerate(calls):
        if call.span_id is not None:
            places.setdefault(call.span_id, position)
    children: dict[int | None, list[int]] = {}
    for position, call in enumerate(calls):
        maker = places.get(call.parent_id) if call.parent_id is not None else None
        children.setdefault(None if maker == position else maker, []).append(position)
    return children


def _together(calls: Sequence[ToolCall], siblings: Sequence[int]) -> list[tuple[int, Lane]]:
    """Calls side by side, each with its lane."""
    laned: list[tuple[int, Lane]] = []
    run: list[int] = []
    end, overlaps = None, False
    for position in siblings:
        call = calls[position]
        at_once = end is not None and call.start_ns is not None and call.start_ns < end
        if run and not at_once and (call.group is None or call.group != calls[run[-1]].group):
            laned += _lanes(run, overlaps)
            run, end, overlaps = [], None, False
        overlaps = overlaps or at_once
        run.append(position)
        if call.start_ns is not None and call.end_ns is not None:
            end = call.end_ns if end is None else max(end, call.end_ns)
    return laned + _lanes(run, overlaps)


def _lanes(run: list[int], overlaps: bool) -> list[tuple[int, Lane]]:
    if len(run) < 2:
        return [(position, ALONE) for position in run]
    bond: Bond = "concurrent" if overlaps else "asked"
    first, *middle, last = run
    lanes: list[tuple[int, Lane]] = [(position, (bond, "middle")) for position in middle]
    return [(first, (bond, "first")), *lanes, (last, (bond, "last"))]
