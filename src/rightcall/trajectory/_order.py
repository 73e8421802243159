"""In which order calls happened."""

from __future__ import annotations

from collections.abc import Sequence

from ._call import ToolCall


def in_order(calls: Sequence[ToolCall]) -> list[int]:
    """The positions of `calls` in the order they happened.

    By start time; calls that start together, parent before child; else as given. Calls without a start time
    come last. Never by end time: calls that ran at once would come out reversed.
    """
    if all(call.start_ns is None for call in calls):
        return list(range(len(calls)))
    depths = _depths(calls)

    def key(position: int) -> tuple[bool, int, int]:
        start = calls[position].start_ns
        return (start is None, start or 0, depths[position])

    return sorted(range(len(calls)), key=key)


def _depths(calls: Sequence[ToolCall]) -> list[int]:
    """How many calls each call was made inside of; a cycle of parents ends where it closes."""
    if not any(call.parent_id for call in calls):
        return [0] * len(calls)
    parents = {call.span_id: call.parent_id for call in calls if call.span_id}
    known: dict[str | None, int] = {}
    return [_depth(call, parents, known) for call in calls]


def _depth(call: ToolCall, parents: dict[str, str | None], known: dict[str | None, int]) -> int:
    chain: list[str | None] = []
    above = call.parent_id
    while above in parents and above not in known:
        known[above] = 0
        chain.append(above)
        above = parents[above]
    depth = known.get(above, -1)
    for span_id in reversed(chain):
        depth += 1
        known[span_id] = depth
    return depth + 1
