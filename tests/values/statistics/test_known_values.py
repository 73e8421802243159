"""Values that scipy, statsmodels or enumeration gave for the same counts."""

import pytest
from tests.walls import for_each

from rightcall.values.statistics import (
    Interval,
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
    mean_of_k,
    mixture_interval,
    pass_all_k,
    pass_any_k,
    rate,
    repeats_needed,
    repeats_needed_against,
    run_rate,
    these_cases_again,
    trial_variance,
    wilson,
)
from rightcall.values.statistics._rates import intraclass_correlation

AIRLINE = [Trials(passed, 4) for passed, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)]
"""Fifty cases, four trials each, by how many of the four passed."""


def near(*values: float) -> object:
    return pytest.approx(values if len(values) > 1 else values[0], abs=6e-7)


def strata(*cases: tuple[int, int, int, int]) -> list[Stratum]:
    return [Stratum(*case) for case in cases]


def test_some_and_all_of_k_tries() -> None:
    assert pass_all_k(Trials(3, 5), 2) == near(0.3)
    assert pass_any_k(Trials(3, 5), 2) == near(0.9)
    assert pass_all_k(Trials(2, 5), 3) == 0.0
    assert at_least_j_of_k(Trials(8, 10), 4, 5) == near(0.777778)


def test_more_tries_than_trials_have_no_figure() -> None:
    assert pass_all_k(Trials(5, 5), 6) is None
    assert pass_any_k(Trials(5, 5), 6) is None


@pytest.mark.parametrize(
    ("trials", "low", "high"),
    [
        ((0, 5), 0.0, 0.434482),
        ((3, 5), 0.230724, 0.882379),
        ((5, 5), 0.565518, 1.0),
        ((8, 10), 0.490162, 0.943318),
        ((84, 200), 0.353736, 0.489279),
        ((1, 1), 0.206549, 1.0),
    ],
    ids=str,
)
def test_wilson_of_one_case(trials: tuple[int, int], low: float, high: float) -> None:
    assert wilson(Trials(*trials)) == near(low, high)


def test_wilson_touches_the_ends_exactly() -> None:
    assert (wilson(Trials(0, 7)) or Interval(1, 1)).low == 0.0
    assert (wilson(Trials(7, 7)) or Interval(0, 0)).high == 1.0
    assert wilson(Trials(0, 0)) is None


def test_five_of_five_says_little_about_all_of_five() -> None:
    assert all_of_k_interval([Trials(5, 5)], 5) == near(0.057840, 1.0)
    # Of several cases, too, where only one ran so often.
    assert all_of_k_interval([Trials(5, 5), Trials(1, 2)], 5) == near(0.057840, 1.0)
    assert all_of_k_interval([Trials(1, 2), Trials(4, 4)], 5) is None


@pytest.mark.parametrize(
    ("k", "confidence", "low", "high"),
    [(1, 0.95, 0.540154, 1.0), (1, 0.9, 0.607849, 0.992151), (2, 0.95, 0.167956, 1.0)],
)
def test_all_of_k_of_several_cases_is_the_mean_with_its_t_interval(
    k: int, confidence: float, low: float, high: float
) -> None:
    cases = [Trials(4, 5), Trials(3, 5), Trials(5, 5), Trials(4, 5)]

    assert all_of_k_interval(cases, k, confidence) == near(low, high)


def test_cases_that_ran_unequally_often() -> None:
    cases = [Trials(3, 3), Trials(9, 10), Trials(1, 1)]

    assert run_rate(cases) == near(0.966667)
    assert these_cases_again(cases) == near(0.580711, 0.998356)


def test_a_published_run_of_four_trials() -> None:
    assert [sum(pass_all_k(case, k) or 0.0 for case in AIRLINE) / 50 for k in (1, 2, 3, 4)] == pytest.approx(
        [0.42, 0.273333, 0.22, 0.2], abs=1e-6
    )
    assert these_cases_again(AIRLINE) == near(0.353736, 0.489279)
    assert cases_like_these(AIRLINE) == near(0.321272, 0.525574)


def test_two_cases_are_enough_to_speak_of_cases_like_them() -> None:
    # By hand: between 0.1, within 0.2, so that all ten trials count; t of one degree of freedom.
    assert cases_like_these([Trials(4, 5), Trials(3, 5)], 0.5) == near(*_wilson_by_hand(0.7, 10, 1.0))
    assert cases_like_these([Trials(4, 5)]) is None


def _wilson_by_hand(share: float, trials: int, z: float) -> tuple[float, float]:
    root = (share * (1 - share) / trials + z * z / (4 * trials**2)) ** 0.5
    return tuple((share + z * z / (2 * trials) + sign * z * root) / (1 + z * z / trials) for sign in (-1, 1))


def test_trials_of_a_case_resemble_each_other_as_far_as_they_agree() -> None:
    assert intraclass_correlation([Trials(4, 4), Trials(0, 4)]) == 1.0
    assert intraclass_correlation([Trials(2, 4), Trials(2, 4)]) == 0.0
    assert intraclass_correlation([Trials(4, 4), Trials(1, 4)]) == near((1.125 - 0.125) / (1.125 + 3 * 0.125))


def test_one_trial_a_case_cannot_tell_how_much_trials_resemble_each_other() -> None:
    assert intraclass_correlation([Trials(1, 1), Trials(0, 1)]) == 1.0
    assert intraclass_correlation([Trials(4, 4), Trials(4, 4)]) == 1.0


def test_a_figure_of_k_tries_is_averaged_over_the_cases_that_have_so_many() -> None:
    cases = [Trials(3, 5), Trials(5, 5), Trials(1, 1)]

    assert mean_of_k(pass_all_k, cases, 2) == (near(0.65), 2)
    assert mean_of_k(pass_any_k, cases, 1) == (near((0.6 + 1 + 1) / 3), 3)
    assert mean_of_k(pass_all_k, cases, 6) == (None, 0)


def test_the_rate_of_a_case_is_the_share_that_passed() -> None:
    assert rate(Trials(3, 5)) == 0.6
    assert rate(Trials(0, 0)) is None
    assert run_rate([Trials(0, 0)]) is None


def test_cases_that_always_pass_leave_room_for_cases_like_them() -> None:
    cases = [Trials(5, 5)] * 20

    assert these_cases_again(cases) == near(0.963007, 1.0)
    assert cases_like_these(cases) == near(0.820319, 1.0)


@pytest.mark.parametrize(
    ("case", "worse"),
    [((5, 5, 5, 0), 0.003968), ((5, 5, 5, 3), 0.222222), ((20, 20, 1, 0), 0.047619)],
    ids=str,
)
def test_one_case_is_fishers_test(case: tuple[int, int, int, int], worse: float) -> None:
    assert exact_odds(strata(case)).worse == near(worse)


def test_one_trial_each_is_mcnemars_test() -> None:
    cases = strata(*[(1, 1, 1, 0)] * 8, (1, 0, 1, 1), *[(1, 1, 1, 1)] * 11)

    assert exact_odds(cases)[:2] == near(0.019531, 0.998047)
    assert difference(cases) == near(-0.35)
    assert difference_interval(cases) == near(-0.660117, -0.042103)


def test_a_small_loss_here_and_there() -> None:
    cases = strata(*[(5, 5, 5, 5)] * 10, *[(5, 4, 5, 3)] * 4, (5, 5, 5, 2), (5, 0, 5, 1))

    odds = adjusted_odds(cases)

    assert exact_odds(cases)[:2] == near(0.077938, 0.977220)
    assert difference_interval(cases, 0.90) == near(-0.167499, -0.001569)
    assert (odds[14].adjusted_worse, odds[10].adjusted_worse) == near(0.352772, 0.984375)


def test_one_dead_case_is_seen_though_the_mean_is_not() -> None:
    cases = strata((5, 5, 5, 0), *[(5, 4, 5, 4)] * 10)

    assert exact_odds(cases).worse == near(0.188201)
    assert adjusted_odds(cases)[0].adjusted_worse == near(0.003968)
    assert difference_interval(cases) == near(-0.256222, 0.071253)


def test_the_interval_has_a_width_when_everything_passes() -> None:
    assert difference_interval(strata(*[(5, 5, 5, 5)] * 20)) == near(-0.040936, 0.040936)
    assert difference_interval(strata(*[(1, 1, 1, 1)] * 20)) == near(-0.277533, 0.277533)


def test_a_case_that_never_varies_leaves_the_interval_on_the_side_of_the_test() -> None:
    cases = strata((6, 2, 5, 5), (1, 0, 3, 0))

    # The second case varies beside a difference of 0 and not at 0, so that the score is 1.96 at -0.2276, too. But it is
    # 2.18 at 0: no difference at all is ruled out.
    assert difference_interval(cases) == near(0.020838, 0.691849)


def test_three_cases_of_twenty_trials() -> None:
    cases = strata((20, 14, 20, 9), (20, 18, 20, 11), (20, 17, 20, 9))

    assert exact_odds(cases).worse == near(0.000115)
    assert [odds.adjusted_worse for odds in adjusted_odds(cases)] == near(0.209744, 0.029328, 0.015719)
    assert difference_interval(cases) == near(-0.483955, -0.166501)


def test_weights_and_unequal_repeats() -> None:
    cases = strata((3, 3, 5, 3), (10, 9, 5, 5), (1, 1, 5, 2))

    assert exact_odds(cases, [2, 1, 1])[:2] == near(0.178571, 0.940476)
    assert difference(cases, [2, 1, 1]) == near(-0.325)
    assert difference_interval(cases, 0.90, [2, 1, 1]) == near(-0.564552, 0.054980)


def test_confidence_decides_what_is_told_apart() -> None:
    cases = strata((20, 15, 20, 9), (20, 17, 20, 11), (20, 9, 20, 9))

    assert exact_odds(cases).worse == near(0.019189)
    assert min(odds.adjusted_worse for odds in adjusted_odds(cases)) == near(0.063731)
    assert difference_interval(cases) == near(-0.362798, -0.025529)
    assert difference_interval(cases, 0.975) == near(-0.384640, -0.000168)


@pytest.mark.parametrize(
    ("passed", "failed", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.416880),
        (10, 0, 0.583120, 1.0),
        (18, 2, 0.589739, 0.996341),
        (55, 5, 0.752526, 0.987552),
    ],
)
def test_rates_that_no_look_has_excluded(passed: int, failed: int, low: float, high: float) -> None:
    assert mixture_interval(passed, failed) == near(low, high)


def test_many_questions_and_shares() -> None:
    assert adjust_for_many([0.01, 0.04, 0.03, 0.5]) == near(0.04, 0.053333, 0.053333, 0.5)
    assert difference_of_shares(300, 1000, 350, 1000) == near(2.387050, 0.016984)


@for_each(
    ("shares", "z", "chance"),
    [
        ((0, 10, 3, 10), 1.878673, 0.210526),
        ((1, 10, 4, 12), 1.300377, 0.323308),
        ((9, 10, 3, 10), -2.738613, 0.019767),
        ((5, 6, 0, 20), -4.542568, 0.000091),
        ((2, 3, 1, 40), -4.207690, 0.009805),
        ((0, 5, 0, 5), 0.0, 1.0),
        ((10, 10, 10, 10), 0.0, 1.0),
        ((10, 20, 10, 20), 0.0, 1.0),
        ((5, 20, 5, 20), 0.0, 1.0),
        ((5, 20, 9, 20), 1.325987, 0.184844),
        ((4, 20, 6, 20), 0.730297, 0.465209),
    ],
)
def test_few_hits_are_compared_by_fishers_test(shares: tuple[int, int, int, int], z: float, chance: float) -> None:
    assert difference_of_shares(*shares) == near(z, chance)


def test_the_variance_of_trials_is_that_of_cases_with_two_or_more() -> None:
    assert trial_variance([Trials(1, 2)]) == near(0.5)
    assert trial_variance([Trials(1, 2), Trials(0, 3), Trials(1, 1)]) == near(0.25)
    assert trial_variance([Trials(2, 4)]) == near(1 / 3)
    assert trial_variance([Trials(1, 1), Trials(0, 0)]) is None


def test_how_much_branches_differ() -> None:
    assert association([(3, 1), (6, 2)]) == near(0.0)
    assert association([(15, 0), (0, 2)]) == near(12.315159)
    assert association([(7, 0), (0, 7), (0, 4), (1, 0)]) == near(25.863921)


def test_repeats_that_notice_a_drop() -> None:
    assert [repeats_needed(20, drop, 0.09) for drop in (0.20, 0.10, 0.05, 0.02)] == [2, 6, 23, 140]
    assert repeats_needed(100, 0.5, 0.09) == 1
    assert repeats_needed_against(100, 0.5, 20, 0.09) == 1
    assert [repeats_needed_against(20, drop, 20, 0.09) for drop in (0.20, 0.10, 0.05, 0.02)] == [1, 4, 26, None]


def test_two_cases_are_enough_for_an_interval_of_their_mean() -> None:
    assert all_of_k_interval([Trials(4, 5), Trials(5, 5)], 1, 0.5) == near(0.8, 1.0)


def test_trials_that_never_vary_need_no_second_repeat() -> None:
    assert repeats_needed_against(20, 0.1, 5, 0.0) == 1
    assert repeats_needed(20, 0.1, 0.0) == 1
