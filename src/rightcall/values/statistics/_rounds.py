"""Rounds of repeats: how many it takes to notice a drop, and when a look before the last one may decide.

Early looks are counted in the error rate, so that a gate is wrong no more often than promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, lgamma, log, log1p
from typing import NamedTuple

from ._rates import Interval, Trials, crossing, normal_quantile

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


def _quantiles() -> float:
    return (normal_quantile(_CERTAINTY) + normal_quantile(_POWER)) ** 2


def _rounded(value: float) -> float:
    # A number of repeats that is whole but for the last bits of a float needs no further one.
    return round(value, 9)


LOOK_SHARES = (0.2, 0.3, 0.5)
"""Shares of the error rate that three looks spend. They add up to 1: by the union bound the whole rate holds."""


class Look(NamedTuple):
    """A look at the results after a number of rounds, with the share of the error rate that it may spend."""

    rounds: int
    share: float


def looks(least: int, most: int) -> list[Look]:
    """When to look in a plan of `least` to `most` rounds: after the least, in the middle, and at the end.

    Looks that fall on the same round are one, with the shares of both.
    """
    # Three looks: with 20 cases, a look after every round saved no more rounds and lost 12 points of power.
    rounds = (least, -(-(least + most) // 2), most)
    spent: dict[int, float] = {}
    for after, share in zip(rounds, LOOK_SHARES, strict=True):
        spent[after] = spent.get(after, 0.0) + share
    return [Look(after, 1.0 if len(spent) == 1 else share) for after, share in spent.items()]


def mixture_interval(passed: int, failed: int, error: float = 0.05) -> Interval:
    """The rates that no look so far has excluded, however often one looked at the end of a round.

    A rate p is excluded when `B(s + 1, f + 1) / (p^s (1 - p)^f) ≥ 1 / error` (Robbins' mixture martingale).
    """
    least = lgamma(passed + 1) + lgamma(failed + 1) - lgamma(passed + failed + 2) + log(error)

    def surplus(rate: float) -> float:
        return passed * log(rate) + failed * log1p(-rate) - least

    # The likelihood has one peak, so what is not excluded is one range around it.
    peak = passed / (passed + failed) if passed + failed else 0.5
    return Interval(crossing(lambda rate: -surplus(rate), 0.0, peak), crossing(surplus, peak, 1.0))
