"""In which order calls happened."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ._call import ToolCall


def in_order(calls: Sequence[ToolCall]) -> list[int]:
    """The positions of `calls` in the order they happened.

    By start time; calls that start together, parent before child; else as given. Calls without a start time
    come last. Never by end time: calls that ran at once would come out reversed.
    """
    if all([call.start_ns is None for call in calls]):
        return list(range(len(calls)))
    starts = [call.start_ns for call in calls]
    order = sorted(range(len(calls)), key=lambda position: (starts[position] is None, starts[position] or 0))
    if not any([call.parent_id for call in calls]):
        return order
    together = groupby(order, key=starts.__getitem__)
    return [position for _, positions in together for position in _parents_first(list(positions), calls)]


def _parents_first(positions: list[int], calls: Sequence[ToolCall]) -> list[int]:
    """Calls that start together, each after the calls it was made inside of, otherwise as they are."""
    if len(positions) < 2:
        return positions
    by_span = {calls[position].span_id: position for position in positions if calls[position].span_id}
    placed: dict[int, None] = {}
    for position in positions:
        chain: list[int] = []
        above: int | None = position
        while above is not None and above not in placed and above not in chain[-1:]:
            chain.append(above)
            above = by_span.get(calls[above].parent_id)
            if above == position:
                break
        placed.update(dict.fromkeys(reversed(chain)))
    return list(placed)
