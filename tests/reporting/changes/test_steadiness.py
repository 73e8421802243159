"""How steady cases are."""

import pytest

from rightcall.reporting.changes import steadiness, steadiness_by
from rightcall.reporting.store import Trial
from rightcall.values.results import CaseResult, Source, Verdict
from rightcall.values.trajectory import Trajectory

PLACE = Source("e.yaml", 1, 1)


def trials(case_id: str, verdicts: str) -> list[Trial]:
    words: dict[str, Verdict] = {"p": "passed", "f": "failed", "e": "error", "n": "not_measured"}
    return [Trial(case_id, repeat, words[letter], "") for repeat, letter in enumerate(verdicts)]


def test_trials_are_in_the_order_of_repeats_whenever_they_finished() -> None:
    [case] = steadiness(reversed(trials("a", "pfp"))).cases

    assert case.verdicts == ("passed", "failed", "passed")
    assert case.measured == (2, 3)


def test_open_trials_are_counted_in_no_rate() -> None:
    [case] = steadiness(trials("a", "ppffen")).cases

    assert (case.rate, case.open, case.is_flaky) == (0.5, 2, True)


def test_a_case_without_an_answer_has_no_rate() -> None:
    run = steadiness(trials("a", "ee"))

    assert run.rate is None
    assert run.cases[0].interval is None
    assert not run.flaky


def test_each_case_counts_the_same_however_often_it_ran() -> None:
    run = steadiness([*trials("a", "pppp"), *trials("b", "f")])

    assert run.rate == 0.5
    assert run.most_trials == 4


def test_all_of_k_is_over_the_cases_that_have_k_trials() -> None:
    run = steadiness([*trials("a", "pppp"), *trials("b", "f")])

    assert run.all_of(2) == (1.0, 1)
    assert run.all_of(5) == (None, 0)


def rewarded(case_id: str, repeat: int, reward: object) -> CaseResult:
    """A result that failed, of a trace that says what it was worth."""
    trajectory = Trajectory(metadata={"reward": reward})
    return CaseResult(case_id=case_id, repeat=repeat, verdict="failed", score=0.0, source=PLACE, trajectory=trajectory)


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (1.0, "passed"),
        (True, "passed"),
        (0.0, "failed"),
        (0.99, "failed"),
        (False, "failed"),
        ("1", "not_measured"),
        (None, "not_measured"),
        (float("nan"), "not_measured"),
    ],
)
def test_what_a_source_calls_success_is_counted(value: object, verdict: str) -> None:
    [case] = steadiness_by("reward", [rewarded("a", 0, value)]).cases

    assert case.verdicts == (verdict,)


def test_published_rewards_give_the_published_figures() -> None:
    passes = [count for count, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)]
    results = [
        rewarded(f"task {task}", trial, float(trial < passed))
        for task, passed in enumerate(passes)
        for trial in range(4)
    ]

    counted = steadiness_by("reward", results)

    assert [round(counted.all_of(k)[0] or 0.0, 4) for k in (1, 2, 3, 4)] == [0.42, 0.2733, 0.22, 0.2]
