"""Longest increasing runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def longest_run(values: Sequence[int]) -> list[int]:
    """The positions of a longest strictly increasing run in `values`, which are all different.

    Of several longest runs, one whose first members stand as early as can be.
    """
    # Read from the end and negated, the run still increases, and the walk back from its last member meets
    # the earliest positions first.
    tails: list[int] = []
    tail_positions: list[int] = []
    following = [-1] * len(values)
    for position in range(len(values) - 1, -1, -1):
        place = bisect_left(tails, -values[position])
        following[position] = tail_positions[place - 1] if place else -1
        tails[place : place + 1] = [-values[position]]
        tail_positions[place : place + 1] = [position]
    run: list[int] = []
    position = tail_positions[-1] if tail_positions else -1
    while position >= 0:
        run.append(position)
        position = following[position]
    return run
