"""Intervals of rates: of one case, of the same cases run again, and of cases like these."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple

from ._distributions import normal_quantile, t_quantile
from ._repeats import Trials, pass_all_k


class Interval(NamedTuple):
    """A range that holds the true value with the stated confidence."""

    low: float
    high: float


def wilson(trials: Trials, confidence: float = 0.95) -> Interval | None:
    """Wilson's interval of the rate of one case; `None` where nothing was measured.

    It is exactly 0 below where nothing passed, and exactly 1 above where everything did.
    """
    if not trials.measured:
        return None
    return _wilson(trials.passed / trials.measured, trials.measured, _both_sides(confidence))


def these_cases_again(cases: Sequence[Trials], confidence: float = 0.95) -> Interval | None:
    """The interval of the rate of a run, if the same cases are run again.

    Cases run unequally often are worth `m² / Σ(1/n)` trials. The interval is never too narrow, because the mean of
    p(1 - p) over cases is at most P(1 - P).
    """
    measured = [case for case in cases if case.measured]
    if not measured:
        return None
    worth = len(measured) ** 2 / fsum(1.0 / case.measured for case in measured)
    return _wilson(_mean_rate(measured), worth, _both_sides(confidence))


def cases_like_these(cases: Sequence[Trials], confidence: float = 0.95) -> Interval | None:
    """The interval of the rate over cases of the same kind, of which these are a sample; `None` for a single case.

    Trials of one case resemble each other, so they are worth fewer than their number: `N / (1 + (n0 - 1)·ρ)` with the
    intraclass correlation ρ by analysis of variance.
    """
    measured = [case for case in cases if case.measured]
    if len(measured) < 2:
        return None
    total = sum(case.measured for case in measured)
    worth = total / (1.0 + (_typical_size(measured) - 1.0) * intraclass_correlation(measured))
    worth = min(max(worth, len(measured)), total)
    return _wilson(_mean_rate(measured), worth, t_quantile((1.0 + confidence) / 2.0, len(measured) - 1))


def all_of_k_interval(cases: Sequence[Trials], k: int, confidence: float = 0.95) -> Interval | None:
    """The interval of the mean chance that all of `k` tries pass; `None` where no case has `k` trials.

    Of one case: both ends of Wilson's interval to the power of `k`. Of several: mean ± t·sd/√m over cases. Where all
    have the same chance that says nothing, and [low^k, high] of the rate holds instead (Jensen: mean p^k ≥ (mean p)^k).
    """
    enough = [case for case in cases if case.measured >= k]
    if not enough:
        return None
    if len(cases) == 1:
        low, high = wilson(enough[0], confidence) or Interval(0.0, 1.0)
        return Interval(low**k, high**k)
    chances = [pass_all_k(case, k) or 0.0 for case in enough]
    count, mean = len(chances), fsum(chances) / len(chances)
    spread = sqrt(fsum((chance - mean) ** 2 for chance in chances) / (count - 1)) if count > 1 else 0.0
    if spread == 0.0:
        low, high = these_cases_again(enough, confidence) or Interval(0.0, 1.0)
        return Interval(low**k, high)
    half = t_quantile((1.0 + confidence) / 2.0, count - 1) * spread / sqrt(count)
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def intraclass_correlation(cases: Sequence[Trials]) -> float:
    """How much trials of one case resemble each other, from 0 to 1; 1 where the trials cannot tell."""
    count, total = len(cases), sum(case.measured for case in cases)
    if total == count:
        return 1.0  # one trial a case: whether a second one would be like it is not known
    mean = sum(case.passed for case in cases) / total
    between = fsum(case.measured * (case.passed / case.measured - mean) ** 2 for case in cases) / (count - 1)
    within = fsum(case.passed * (case.measured - case.passed) / case.measured for case in cases) / (total - count)
    if between == within == 0.0:
        return 1.0
    return min(1.0, max(0.0, (between - within) / (between + (_typical_size(cases) - 1.0) * within)))


def _typical_size(cases: Sequence[Trials]) -> float:
    total = sum(case.measured for case in cases)
    return (total - sum(case.measured**2 for case in cases) / total) / (len(cases) - 1)


def _mean_rate(cases: Sequence[Trials]) -> float:
    return fsum(case.passed / case.measured for case in cases) / len(cases)


def _both_sides(confidence: float) -> float:
    return normal_quantile((1.0 + confidence) / 2.0)


def _wilson(share: float, trials: float, z: float) -> Interval:
    # Wald's interval, p ± z·√(p(1-p)/n), has no width at 0 or 1, which is where tests mostly are (Brown, Cai and
    # DasGupta, "Interval Estimation for a Binomial Proportion", 2001).
    scale = 1.0 + z * z / trials
    middle = (share + z * z / (2.0 * trials)) / scale
    half = z * sqrt(share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)) / scale
    low = 0.0 if share == 0.0 else max(0.0, middle - half)
    return Interval(low, 1.0 if share == 1.0 else min(1.0, middle + half))
