"""How many repeats it takes to notice a drop of some size."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from ._distributions import normal_quantile
from ._repeats import Trials

_COIN = 0.25
"""The variance of a trial that is as uncertain as the toss of a coin: the most there is."""
_CERTAINTY = 0.95
_POWER = 0.80


def trial_variance(cases: Sequence[Trials]) -> float | None:
    """How much the trials of one case vary, averaged over cases with two or more; `None` where there is none."""
    varied = [
        case.passed * (case.measured - case.passed) / (case.measured * (case.measured - 1))
        for case in cases
        if case.measured >= 2
    ]
    return sum(varied) / len(varied) if varied else None


def repeats_needed(cases: int, drop: float, variance: float = _COIN) -> int:
    """Repeats on both sides that notice a drop of this size with a power of 80 %."""
    return max(1, ceil(_rounded(2.0 * variance * _quantiles() / (cases * drop * drop))))


def repeats_needed_against(cases: int, drop: float, before: int, variance: float = _COIN) -> int | None:
    """The same where the side before has its repeats already; `None` where they are too few for any number."""
    if variance == 0.0:
        return 1
    left = cases * drop * drop / (variance * _quantiles()) - 1.0 / before
    return max(1, ceil(_rounded(1.0 / left))) if left > 0.0 else None


def smallest_drop(cases: int, before: int, after: int, variance: float = _COIN) -> float:
    """The smallest drop that so many repeats notice with a power of 80 %."""
    return sqrt(variance * _quantiles() * (1.0 / before + 1.0 / after) / cases)


def _quantiles() -> float:
    return (normal_quantile(_CERTAINTY) + normal_quantile(_POWER)) ** 2


def _rounded(value: float) -> float:
    # A number of repeats that is whole but for the last bits of a float needs no further one.
    return round(value, 9)
