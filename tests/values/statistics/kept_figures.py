"""Rates, intervals and odds of many counts, to nine digits: the last ones differ between the libraries of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from tests.snapshots import Drawn, drawn, line

from rightcall.values.statistics import (
    Stratum,
    Trials,
    adjust_for_many,
    adjusted_odds,
    all_of_k_interval,
    association,
    at_least_j_of_k,
    cases_like_these,
    difference,
    difference_interval,
    difference_of_shares,
    exact_odds,
    looks,
    mean_of_k,
    mixture_interval,
    normal_quantile,
    pass_all_k,
    pass_any_k,
    rate,
    repeats_needed,
    repeats_needed_against,
    run_rate,
    t_quantile,
    these_cases_again,
    trial_variance,
    wilson,
)
from rightcall.values.statistics._rates import incomplete_beta, intraclass_correlation, normal_tail

FILE = "figures.txt"


def groups() -> list[str]:
    """What figures are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each set of counts of a group."""
    return drawn(_GROUPS, group)


def rounded(value: Any) -> Any:
    """The same figures to nine digits; whole numbers and texts as they are."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, Mapping):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [rounded(each) for each in value]
    return value


def _told(given: Any, *figures: Any) -> str:
    found = [rounded(each) for each in figures]
    return line(given, found, *found[:2])


def _some_trials(random: Random, most: int) -> Trials:
    measured = random.choice((0, 1, 1, 2, 4, 5, random.randint(1, most)))
    return Trials(random.choice((0, measured, random.randint(0, measured))), measured)


def _rates(random: Random) -> str:
    """Some cases, run unequally often or all the same."""
    cases = [_some_trials(random, 30) for _ in range(random.randint(1, 6))]
    cases = cases[:1] * len(cases) if random.random() < 0.15 else cases
    confidence, k, j = random.choice((0.8, 0.95, 0.99)), random.randint(1, 5), random.randint(1, 3)
    measured = [case for case in cases if case.measured]
    return _told(
        (cases, confidence, k, j),
        run_rate(cases),
        these_cases_again(cases, confidence),
        cases_like_these(cases, confidence),
        all_of_k_interval(cases, k, confidence),
        all_of_k_interval(cases, k),
        [[rate(case), wilson(case, confidence), at_least_j_of_k(case, j, k)] for case in cases],
        [mean_of_k(figure, cases, k) for figure in (pass_all_k, pass_any_k)],
        intraclass_correlation(measured) if len(measured) > 1 else None,
        trial_variance(cases),
        [these_cases_again(cases), cases_like_these(cases), wilson(cases[0])],
    )


def _some_strata(random: Random, number: int, most: int) -> list[Stratum]:
    found = []
    for _ in range(number):
        before, after = random.randint(1, most), random.randint(1, most)
        after = before if random.random() < 0.5 else after
        found.append(Stratum(before, random.randint(0, before), after, random.randint(0, after)))
    return found


def _changes(random: Random) -> str:
    """Cases before and after: the odds that it is chance, together and each, and by how much they differ."""
    cases = _some_strata(random, random.randint(1, 6), random.choice((1, 4, 9)))
    cases += random.choice(([], cases[:1] * random.randint(1, 5), cases[:1] * 60))
    weights = [random.randint(1, 3) for _ in cases] if random.random() < 0.3 else None
    confidence = random.choice((0.8, 0.95, 0.99))
    return _told(
        (cases, weights, confidence),
        difference(cases, weights),
        difference_interval(cases, confidence, weights),
        difference_interval(cases),
        exact_odds(cases, weights),
        exact_odds(cases),
        adjusted_odds(cases),
    )


def _drawn(random: Random) -> str:
    """So many combinations of unequal repeats that permutations are drawn."""
    sizes = ((17, 19), (23, 29), (31, 37), (41, 43), (47, 53))
    cases = [Stratum(before, random.randint(8, 15), after, random.randint(8, 15)) for before, after in sizes]
    return _told(cases, exact_odds(cases), difference(cases))


def _shares(random: Random) -> str:
    """Two shares, a table, and many chances."""
    before, after = random.randint(1, 60), random.randint(1, 60)
    hits = random.randint(0, before), random.randint(0, after)
    table = [(random.randint(0, 9), random.randint(0, 9) + 1) for _ in range(random.randint(1, 4))]
    chances = [random.choice((0.01, random.random())) for _ in range(random.randint(0, 6))]
    return _told(
        (before, after, hits, table, chances),
        difference_of_shares(hits[0], before, hits[1], after),
        association(table),
        adjust_for_many(chances),
    )


def _plans(random: Random) -> str:
    """How many repeats it takes, when to look, and what a look may say."""
    cases, drop, before = random.randint(1, 60), random.choice((0.05, 0.1, 0.3, random.random())), random.randint(1, 40)
    variance = random.choice((0.0, 0.25, random.random() / 4))
    passed, failed, error = random.randint(0, 30), random.randint(0, 30), random.choice((0.01, 0.05, 0.2))
    passed, failed = random.choice(((0, 0), *[(passed, failed)] * 9))
    least = random.randint(1, 5)
    most = least + random.randint(0, 8)
    return _told(
        (cases, drop, before, variance, passed, failed, error, least, most),
        [repeats_needed(cases, drop, variance), repeats_needed(cases, drop)],
        [repeats_needed_against(cases, drop, before, variance), repeats_needed_against(cases, drop, before)],
        looks(least, most),
        [mixture_interval(passed, failed, error), mixture_interval(passed, failed)],
    )


def _quantiles(random: Random) -> str:
    """The distributions by themselves."""
    probability, freedom = (
        random.choice((0.025, 0.5, 0.9, 0.975, 0.995, random.uniform(0.01, 0.99))),
        random.randint(1, 80),
    )
    x, a, b = random.uniform(0.01, 0.99), random.uniform(0.5, 40), random.uniform(0.5, 40)
    return _told(
        (probability, freedom, x, a, b),
        t_quantile(probability, freedom),
        incomplete_beta(x, a, b),
        [normal_quantile(probability), normal_tail(3 * x), normal_tail(-x)],
    )


_GROUPS: Drawn = {
    "rates": (_rates, 100),
    "changes": (_changes, 120),
    "drawn": (_drawn, 1),
    "shares": (_shares, 80),
    "plans": (_plans, 80),
    "quantiles": (_quantiles, 60),
}
