"""Laws of rates, intervals and exact tests, with brute-force twins."""

from fractions import Fraction
from itertools import product
from math import comb, pi, sqrt, tan

import pytest
from hypothesis import example, given, strategies as st
from tests.sampling import examples

from rightcall.values.statistics import (
    CaseOdds,
    Stratum,
    Trials,
    adjust_for_many,
    adjusted_odds,
    at_least_j_of_k,
    cases_like_these,
    difference,
    difference_interval,
    exact_odds,
    looks,
    mixture_interval,
    pass_all_k,
    pass_any_k,
    t_quantile,
    these_cases_again,
    wilson,
)

TRIALS = st.integers(1, 30).flatmap(lambda n: st.builds(Trials, st.integers(0, n), st.just(n)))


@st.composite
def strata(draw: st.DrawFn, most: int = 6) -> Stratum:
    before, after = draw(st.integers(1, most)), draw(st.integers(1, most))
    return Stratum(before, draw(st.integers(0, before)), after, draw(st.integers(0, after)))


CASES = st.lists(strata(), min_size=1, max_size=6)


def enumerate_odds(cases: list[Stratum]) -> tuple[Fraction, Fraction]:
    """The odds by trying every arrangement of every case, in exact fractions."""
    spreads = [range(max(0, case.passed - case.before), min(case.after, case.passed) + 1) for case in cases]

    def change(hits: tuple[int, ...]) -> Fraction:
        pairs = zip(cases, hits, strict=True)
        return sum((Fraction(hit, c.after) - Fraction(c.passed - hit, c.before) for c, hit in pairs), Fraction(0))

    seen = change(tuple(case.passed_after for case in cases))
    worse = better = Fraction(0)
    for hits in product(*spreads):
        chance = Fraction(1)
        for case, hit in zip(cases, hits, strict=True):
            ways = comb(case.after, hit) * comb(case.before, case.passed - hit)
            chance *= Fraction(ways, comb(case.before + case.after, case.passed))
        worse += chance * (change(hits) <= seen)
        better += chance * (change(hits) >= seen)
    return worse, better


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 12), st.floats(0.0, 1.0))
def test_figures_of_k_tries_are_unbiased(n: int, k: int, j: int, p: float) -> None:
    k, j = min(k, n), min(j, min(k, n))

    drawn = [
        (at_least_j_of_k(Trials(c, n), j, k) or 0.0) * comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)
    ]

    assert sum(drawn) == pytest.approx(sum(comb(k, i) * p**i * (1 - p) ** (k - i) for i in range(j, k + 1)), abs=1e-12)


@given(TRIALS)
def test_all_of_k_falls_and_some_of_k_rises(trials: Trials) -> None:
    everything = [pass_all_k(trials, k) or 0.0 for k in range(1, trials.measured + 1)]
    anything = [pass_any_k(trials, k) or 0.0 for k in range(1, trials.measured + 1)]

    assert everything == sorted(everything, reverse=True)
    assert anything == sorted(anything)
    assert everything[0] == anything[0] == trials.passed / trials.measured


@given(TRIALS, st.integers(1, 30))
def test_some_of_k_pass_unless_all_of_k_fail(trials: Trials, k: int) -> None:
    k, failed = min(k, trials.measured), Trials(trials.measured - trials.passed, trials.measured)

    assert (pass_any_k(trials, k) or 0.0) + (pass_all_k(failed, k) or 0.0) == pytest.approx(1.0)


@given(TRIALS)
def test_intervals_hold_the_rate_shrink_and_mirror(trials: Trials) -> None:
    interval, mirrored = wilson(trials), wilson(Trials(trials.measured - trials.passed, trials.measured))
    twice = wilson(Trials(2 * trials.passed, 2 * trials.measured))

    assert interval is not None and mirrored is not None and twice is not None  # noqa: PT018
    assert interval.low <= trials.passed / trials.measured <= interval.high
    assert twice.high - twice.low < interval.high - interval.low
    assert (interval.low, interval.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))


@given(st.lists(TRIALS, min_size=2, max_size=12), st.randoms())
def test_the_order_of_cases_changes_nothing(cases: list[Trials], random: object) -> None:
    shuffled = sorted(cases, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert these_cases_again(cases) == pytest.approx(these_cases_again(shuffled))
    assert cases_like_these(cases) == pytest.approx(cases_like_these(shuffled))


@given(st.lists(strata(4), min_size=1, max_size=4))
@example([Stratum(2, 1, 3, 2), Stratum(3, 2, 1, 0), Stratum(1, 1, 4, 2)])
@examples(200)
def test_the_exact_test_is_what_enumeration_says(cases: list[Stratum]) -> None:
    worse, better = enumerate_odds(cases)

    assert exact_odds(cases)[:2] == pytest.approx((float(worse), float(better)), abs=1e-12)


@given(CASES)
@example([Stratum(5, 4, 8, 8), Stratum(7, 6, 1, 1)])
@example([Stratum(8, 8, 5, 4), Stratum(1, 1, 7, 6)])
def test_no_odds_are_above_one(cases: list[Stratum]) -> None:
    assert max(exact_odds(cases)[:2]) <= 1.0


@given(CASES)
def test_both_sides_swapped_swap_better_and_worse(cases: list[Stratum]) -> None:
    swapped = [Stratum(case.after, case.passed_after, case.before, case.passed_before) for case in cases]

    low, high = difference_interval(cases)

    assert exact_odds(swapped)[:2] == pytest.approx(exact_odds(cases)[1::-1], abs=1e-12)
    assert difference_interval(swapped) == pytest.approx((-high, -low), abs=1e-7)
    turned = [
        CaseOdds(odds.better, odds.adjusted_better, odds.worse, odds.adjusted_worse) for odds in adjusted_odds(cases)
    ]
    assert adjusted_odds(swapped) == turned


@given(CASES)
def test_a_steady_case_leaves_the_odds_as_they_are(cases: list[Stratum]) -> None:
    more = [*cases, Stratum(3, 3, 3, 3)]

    assert exact_odds(more)[:2] == pytest.approx(exact_odds(cases)[:2], abs=1e-12)
    assert abs(difference(more)) <= abs(difference(cases))


@given(CASES.filter(lambda cases: cases[0].passed_after > 0))
def test_a_pass_that_fails_never_looks_better(cases: list[Stratum]) -> None:
    first = cases[0]
    lost = [first._replace(passed_after=first.passed_after - 1), *cases[1:]]

    assert exact_odds(lost).worse <= exact_odds(cases).worse + 1e-12
    assert adjusted_odds(lost)[0].worse <= adjusted_odds(cases)[0].worse


@given(CASES)
def test_adjusted_odds_lie_between_alone_and_times_all(cases: list[Stratum]) -> None:
    for odds in adjusted_odds(cases):
        assert odds.worse <= odds.adjusted_worse <= len(cases) * odds.worse + 1e-12
        assert odds.better <= odds.adjusted_better <= len(cases) * odds.better + 1e-12


@given(CASES)
def test_the_interval_of_a_difference_holds_it(cases: list[Stratum]) -> None:
    low, high = difference_interval(cases)

    assert -1.0 <= low <= difference(cases) <= high <= 1.0


@given(CASES)
@example([Stratum(1, 0, 1, 1)])
def test_the_interval_without_any_confidence_is_the_difference_itself(cases: list[Stratum]) -> None:
    assert difference_interval(cases, 0.0) == pytest.approx((difference(cases), difference(cases)), abs=1e-7)


def test_very_unequal_repeats_are_drawn_with_a_fixed_seed() -> None:
    cases = [Stratum(n, n - 2, n + 7, n + 1) for n in range(11, 60)]

    odds = exact_odds(cases)

    assert not odds.exact
    assert odds == exact_odds(cases)
    assert 0.0 < odds.worse < odds.better


def test_drawn_odds_are_near_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Stratum(5, 4, 7, 4), Stratum(6, 5, 4, 3), Stratum(9, 9, 8, 7)]
    exact = exact_odds(cases)
    monkeypatch.setattr("rightcall.values.statistics._change._MOST_CELLS", 1)

    assert exact_odds(cases)[:2] == pytest.approx(exact[:2], abs=0.01)


def test_what_was_seen_counts_among_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.values.statistics._change._MOST_CELLS", 1)

    # None of the 99,999 permutations is as bad as that: its odds are not zero for it.
    assert exact_odds([Stratum(30, 30, 30, 0)]) == (1 / 100_000, 1.0, False)
    assert exact_odds([Stratum(30, 0, 30, 30)]) == (1.0, 1 / 100_000, False)


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(3, 10, [(3, 0.2), (7, 0.3), (10, 0.5)]), (5, 5, [(5, 1.0)]), (2, 3, [(2, 0.2), (3, 0.8)])],
)
def test_looks_spend_the_whole_error_rate(least: int, most: int, expected: list[tuple[int, float]]) -> None:
    assert looks(least, most) == expected


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_rates_still_allowed_hold_the_one_seen(passed: int, failed: int) -> None:
    low, high = mixture_interval(passed, failed)

    if passed + failed:
        assert low <= passed / (passed + failed) <= high
    assert (low == 0.0) == (passed == 0)
    assert (high == 1.0) == (failed == 0)


@given(st.lists(st.floats(0.0, 1.0), max_size=8))
def test_adjusted_chances_keep_their_order(chances: list[float]) -> None:
    adjusted = adjust_for_many(chances)

    assert all(after >= before for before, after in zip(chances, adjusted, strict=True))
    assert [adjusted[place] for place in sorted(range(len(chances)), key=chances.__getitem__)] == sorted(adjusted)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706204736), (4, 2.776445105), (19, 2.093024054), (49, 2.009575234)]
)
def test_quantiles_of_students_t(freedom: int, quantile: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=1e-8)
    assert t_quantile(0.025, freedom) == -t_quantile(0.975, freedom)


def test_half_of_students_t_lies_below_zero() -> None:
    assert t_quantile(0.5, 3) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("probability", [0.55, 0.6, 0.75, 0.9])
def test_quantiles_near_the_middle(probability: float) -> None:
    beyond = 2.0 * probability - 1.0

    # With one and with two degrees of freedom Student's t has quantiles in closed form.
    assert t_quantile(probability, 1) == pytest.approx(tan(pi * beyond / 2.0), abs=1e-9)
    assert t_quantile(probability, 2) == pytest.approx(beyond * sqrt(2.0 / (1.0 - beyond**2)), abs=1e-9)
