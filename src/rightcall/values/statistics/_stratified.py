"""By how much did it change? The mean difference over cases, with its interval (Miettinen and Nurminen, stratified)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import acos, copysign, cos, fsum, inf, pi, sqrt

from ._distributions import normal_quantile
from ._exact import Stratum
from ._intervals import Interval

_Weighted = Sequence[tuple[Stratum, float, int]]
"""Cases with their weight, and how often each occurs."""


def difference(cases: Sequence[Stratum], weights: Sequence[float] | None = None) -> float:
    """The mean over cases of the rate after minus the rate before."""
    given = weights or [1.0] * len(cases)
    return fsum(weight * _change(case) for case, weight in zip(cases, given, strict=True)) / fsum(given)


def difference_interval(
    cases: Sequence[Stratum], confidence: float = 0.95, weights: Sequence[float] | None = None
) -> Interval:
    """All differences that the trials do not contradict.

    At a difference of 0 it asks what the test of Cochran, Mantel and Haenszel asks. It has a width when everything
    passes, where t intervals and bootstraps have none.
    """
    grouped = Counter(zip(cases, weights or [1.0] * len(cases), strict=True))
    weighted = [(case, weight, times) for (case, weight), times in grouped.items()]
    middle, z = difference(cases, weights), normal_quantile((1.0 + confidence) / 2.0)
    low = -1.0 if middle <= -1.0 else _crossing(lambda d: _score(weighted, middle, d) - z, -1.0, middle)
    high = 1.0 if middle >= 1.0 else _crossing(lambda d: _score(weighted, middle, d) + z, middle, 1.0)
    return Interval(low, high)


def _change(case: Stratum) -> float:
    return case.passed_after / case.after - case.passed_before / case.before


def _crossing(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function passes through zero."""
    for _ in range(100):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return (low + high) / 2.0


def _score(cases: _Weighted, observed: float, d: float) -> float:
    """By how many standard deviations the observed difference lies above `d`."""
    total = fsum(weight * times for _, weight, times in cases)
    variance = fsum(weight * weight * times * _variance(case, d) for case, weight, times in cases)
    distance = (observed - d) * total
    if variance <= 0.0:
        return copysign(inf, distance) if distance else 0.0
    return distance / sqrt(variance)


def _variance(case: Stratum, d: float) -> float:
    """The variance of a case's difference if the true one is `d`, at the most likely pair of rates."""
    after = _likeliest_after(case, d)
    before = after - d
    size = case.before + case.after
    spread = after * (1.0 - after) / case.after + before * (1.0 - before) / case.before
    return max(0.0, spread) * size / (size - 1)


def _likeliest_after(case: Stratum, d: float) -> float:
    """The most likely rate after, given that it is `d` above the rate before.

    It is a root of a cubic; of its three real roots the trigonometric solution below is the one inside the range
    (Farrington and Manning, 1990).
    """
    ratio = case.before / case.after
    after, before = case.passed_after / case.after, case.passed_before / case.before
    a = 1.0 + ratio
    b = -(1.0 + ratio + after + ratio * before + d * (ratio + 2.0))
    c = d * d + d * (2.0 * after + ratio + 1.0) + after + ratio * before
    e = -after * d * (1.0 + d)
    v = b**3 / (27.0 * a**3) - b * c / (6.0 * a * a) + e / (2.0 * a)
    u = copysign(sqrt(max(0.0, b * b / (9.0 * a * a) - c / (3.0 * a))), v)
    w = pi / 2.0 if u == 0.0 else (pi + acos(max(-1.0, min(1.0, v / u**3)))) / 3.0
    root = 2.0 * u * cos(w) - b / (3.0 * a)
    return min(max(root, 0.0, d), 1.0, 1.0 + d)
