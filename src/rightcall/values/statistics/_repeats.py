"""Rates of repeated trials: how often a case passes, and how often some or all of k tries would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import NamedTuple


class Trials(NamedTuple):
    """The trials of one case that passed, of those that were measured."""

    passed: int
    measured: int


def rate(trials: Trials) -> float | None:
    """The share of measured trials that passed; `None` where none was measured."""
    return trials.passed / trials.measured if trials.measured else None


def run_rate(cases: Sequence[Trials]) -> float | None:
    """The mean rate of the cases that were measured: each case counts the same, however often it ran."""
    rates = [case.passed / case.measured for case in cases if case.measured]
    return sum(rates) / len(rates) if rates else None


def pass_any_k(trials: Trials, k: int) -> float | None:
    """The chance that at least one of `k` of these trials passed (pass@k); `None` where there are fewer than `k`."""
    return at_least_j_of_k(trials, 1, k)


def pass_all_k(trials: Trials, k: int) -> float | None:
    """The chance that all of `k` of these trials passed (pass^k); `None` where there are fewer than `k`.

    Drawn without replacement: `(passed / measured) ** k` would be too high on average.
    """
    return at_least_j_of_k(trials, k, k)


def at_least_j_of_k(trials: Trials, j: int, k: int) -> float | None:
    """The chance that at least `j` of `k` of these trials passed; `None` where there are fewer than `k`."""
    passed, measured = trials
    if k > measured:
        return None
    ways = sum(comb(passed, hits) * comb(measured - passed, k - hits) for hits in range(j, k + 1))
    return ways / comb(measured, k)


def mean_of_k(
    figure: Callable[[Trials, int], float | None], cases: Sequence[Trials], k: int
) -> tuple[float | None, int]:
    """A figure of `k` tries averaged over the cases that have `k` trials, and how many cases those are."""
    values = [value for case in cases if (value := figure(case, k)) is not None]
    return (sum(values) / len(values) if values else None), len(values)
