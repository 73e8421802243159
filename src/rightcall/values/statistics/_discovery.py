"""Many questions at once: which of many differences are more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, fsum, log, sqrt
from typing import NamedTuple

from ._distributions import normal_tail

_FEW = 5
"""Below so many expected hits the normal approximation is not used (Cochran's rule)."""


class Shift(NamedTuple):
    """The difference of two shares in standard deviations, and how likely one as large is by chance."""

    z: float
    chance: float


def adjust_for_many(chances: Sequence[float]) -> list[float]:
    """Adjust each chance for having asked them all (Benjamini and Hochberg): the share of false discoveries."""
    # From the largest down, because an adjusted chance is never above that of a larger one.
    order = sorted(range(len(chances)), key=chances.__getitem__, reverse=True)
    adjusted, least = [1.0] * len(chances), 1.0
    for place, number in enumerate(order):
        least = min(least, chances[number] * (len(chances) / (len(chances) - place)))
        adjusted[number] = least
    return adjusted


def difference_of_shares(hits_before: int, before: int, hits_after: int, after: int) -> Shift:
    """Whether two shares differ: by the normal approximation, or exactly where few hits are expected."""
    share = (hits_before + hits_after) / (before + after)
    spread = sqrt(share * (1.0 - share) * (1.0 / before + 1.0 / after))
    z = (hits_after / after - hits_before / before) / spread if spread else 0.0
    expected = min(size * part for size in (before, after) for part in (share, 1.0 - share))
    return Shift(z, normal_tail(z) if expected >= _FEW else _exact_chance(hits_before, before, hits_after, after))


def _exact_chance(hits_before: int, before: int, hits_after: int, after: int) -> float:
    """Fisher's exact test, both sides: all splits that are at most as likely as the one seen."""
    hits = hits_before + hits_after
    possible = range(max(0, hits - before), min(after, hits) + 1)
    ways = {count: comb(after, count) * comb(before, hits - count) for count in possible}
    seen = ways[hits_after]
    return sum(way for way in ways.values() if way <= seen) / sum(ways.values())


def association(table: Sequence[tuple[int, int]]) -> float:
    """How much the rows of a table of passes and failures differ: G = 2·Σ observed·ln(observed / expected)."""
    columns = [sum(row[column] for row in table) for column in range(2)]
    total = sum(columns)
    terms = [
        seen * log(seen * total / (sum(row) * columns[column]))
        for row in table
        for column, seen in enumerate(row)
        if seen
    ]
    return max(0.0, 2.0 * fsum(terms))
