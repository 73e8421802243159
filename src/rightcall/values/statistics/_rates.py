"""Rates of repeated trials, their confidence intervals, and the distributions that these need.

A rate says how often a case passes, or how often some or all of k tries would. An interval is about one case, about the
same cases run again, or about other cases like these. The quantiles of the normal and of Student's t distribution are
computed without scipy, which takes longer to import than to use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import comb, exp, fsum, lgamma, log, log1p, sqrt
from typing import NamedTuple


class Interval(NamedTuple):
    """A range that contains the true value with the stated confidence."""

    low: float
    high: float


def wilson(trials: Trials, confidence: float = 0.95) -> Interval | None:
    """Wilson's interval for the pass rate of one case; `None` if nothing was measured.

    The lower end is exactly 0 if nothing passed, and the upper end exactly 1 if everything did.
    """
    if not trials.measured:
        return None
    return _wilson(trials.passed / trials.measured, trials.measured, _both_sides(confidence))


def these_cases_again(cases: Sequence[Trials], confidence: float = 0.95) -> Interval | None:
    """The interval for the pass rate of a run if the same cases are run again.

    Cases with different numbers of trials count as `m² / Σ(1/n)` trials. The interval is never too narrow, because the
    mean of p(1 - p) over cases is at most P(1 - P).
    """
    measured = [case for case in cases if case.measured]
    return _again(measured, confidence) if measured else None


def cases_like_these(cases: Sequence[Trials], confidence: float = 0.95) -> Interval | None:
    """The interval for the pass rate of cases of the same kind, of which these are a sample; `None` for a single case.

    Trials of one case resemble each other, so they count for fewer than their number: `N / (1 + (n0 - 1)·ρ)` with the
    intraclass correlation ρ by analysis of variance.
    """
    measured = [case for case in cases if case.measured]
    if len(measured) < 2:
        return None
    total = sum(case.measured for case in measured)
    worth = total / (1.0 + (_typical_size(measured) - 1.0) * intraclass_correlation(measured))
    return _wilson(_mean_rate(measured), worth, t_quantile((1.0 + confidence) / 2.0, len(measured) - 1))


def all_of_k_interval(cases: Sequence[Trials], k: int, confidence: float = 0.95) -> Interval | None:
    """The interval for the mean probability that all of `k` tries pass; `None` if no case has `k` trials.

    For one case: both ends of Wilson's interval to the power of `k`. For several: mean ± t·sd/√m over cases. If all
    have the same probability, the standard deviation says nothing, and [low^k, high] of the rate is used instead
    (Jensen: mean p^k ≥ (mean p)^k).
    """
    enough = [case for case in cases if case.measured >= k]
    if not enough:
        return None
    if len(cases) == 1:
        low, high = _again(enough, confidence)
        return Interval(low**k, high**k)
    chances = [pass_all_k(case, k) or 0.0 for case in enough]
    count, mean = len(chances), fsum(chances) / len(chances)
    spread = sqrt(fsum((chance - mean) ** 2 for chance in chances) / (count - 1)) if count > 1 else 0.0
    if spread == 0.0:
        low, high = _again(enough, confidence)
        return Interval(low**k, high)
    half = t_quantile((1.0 + confidence) / 2.0, count - 1) * spread / sqrt(count)
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def intraclass_correlation(cases: Sequence[Trials]) -> float:
    """How much trials of one case resemble each other, from 0 to 1; 1 if the trials cannot show it."""
    count, total = len(cases), sum(case.measured for case in cases)
    if total == count:
        return 1.0  # one trial per case: whether a second one would be like it is not known
    mean = sum(case.passed for case in cases) / total
    between = fsum(case.measured * (case.passed / case.measured - mean) ** 2 for case in cases) / (count - 1)
    within = fsum(case.passed * (case.measured - case.passed) / case.measured for case in cases) / (total - count)
    if between == within == 0.0:
        return 1.0
    return max(0.0, (between - within) / (between + (_typical_size(cases) - 1.0) * within))


def _again(measured: Sequence[Trials], confidence: float) -> Interval:
    worth = len(measured) ** 2 / fsum(1.0 / case.measured for case in measured)
    return _wilson(_mean_rate(measured), worth, _both_sides(confidence))


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


class Trials(NamedTuple):
    """How many trials of one case passed, of how many that were measured."""

    passed: int
    measured: int


def rate(trials: Trials) -> float | None:
    """The share of measured trials that passed; `None` if none was measured."""
    return trials.passed / trials.measured if trials.measured else None


def run_rate(cases: Sequence[Trials]) -> float | None:
    """The mean rate of the cases that were measured. Each case counts the same, however often it ran."""
    rates = [case.passed / case.measured for case in cases if case.measured]
    return sum(rates) / len(rates) if rates else None


def pass_any_k(trials: Trials, k: int) -> float | None:
    """The probability that at least one of `k` of these trials passed (pass@k); `None` if there are fewer than `k`."""
    return at_least_j_of_k(trials, 1, k)


def pass_all_k(trials: Trials, k: int) -> float | None:
    """The probability that all of `k` of these trials passed (pass^k); `None` if there are fewer than `k`.

    The trials are drawn without replacement: `(passed / measured) ** k` would be too high on average.
    """
    return at_least_j_of_k(trials, k, k)


def at_least_j_of_k(trials: Trials, j: int, k: int) -> float | None:
    """The probability that at least `j` of `k` of these trials passed; `None` if there are fewer than `k`."""
    passed, measured = trials
    if k > measured:
        return None
    ways = sum(comb(passed, hits) * comb(measured - passed, k - hits) for hits in range(j, k + 1))
    return ways / comb(measured, k)


def mean_of_k(
    figure: Callable[[Trials, int], float | None], cases: Sequence[Trials], k: int
) -> tuple[float | None, int]:
    """A figure of `k` tries, averaged over the cases with at least `k` trials, and the number of these cases."""
    values = [value for case in cases if (value := figure(case, k)) is not None]
    return (sum(values) / len(values) if values else None), len(values)


_SMALLEST = 1e-300
"""Keeps the continued fraction from dividing by zero."""


@cache
def normal_quantile(probability: float) -> float:
    """The value that a standard normal variable is below with this probability."""
    from statistics import NormalDist  # takes 10 ms to import, and a rate does not need it

    return NormalDist().inv_cdf(probability)


def normal_tail(z: float) -> float:
    """The probability that a standard normal variable is further from 0 than `z`, on either side."""
    from statistics import NormalDist

    return 2.0 * NormalDist().cdf(-abs(z))


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with these degrees of freedom is below with this probability."""
    if probability < 0.5:
        return -t_quantile(1.0 - probability, freedom)
    # With x = freedom / (freedom + t²), the probability of both tails beyond t is I_x(freedom/2, 1/2) (DLMF 8.17).
    outside = 2.0 * (1.0 - probability)
    share = crossing(lambda x: outside - incomplete_beta(x, freedom / 2.0, 0.5), 0.0, 1.0)
    return float((freedom * (1.0 - share) / share) ** 0.5)


def crossing(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function crosses zero, by bisection down to adjacent floats.

    The function is not evaluated at the two ends.
    """
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return middle


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), where x is above 0 and below 1."""
    # The fraction converges quickly on one side of the mean; the other side is its mirror image.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    above, below = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = below
    for step in range(1, 400):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        before = value
        for term in (even, odd):
            below = 1.0 / _away_from_zero(1.0 + term * below)
            above = _away_from_zero(1.0 + term / above)
            value *= above * below
        if value == before:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
