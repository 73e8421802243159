"""How steady cases are, and where their runs part."""

import pytest

from rightcall.reporting.changes import CasePaths, case_paths, steadiness, steadiness_by
from rightcall.reporting.store import Trial
from rightcall.values.results import CaseResult, Finding, PlacedFinding, Source, Verdict
from rightcall.values.trajectory import Trajectory

PLACE = Source("e.yaml", 1, 1)


def trials(case_id: str, verdicts: str) -> list[Trial]:
    words: dict[str, Verdict] = {"p": "passed", "f": "failed", "e": "error", "n": "not_measured"}
    return [Trial(case_id, repeat, words[letter], "") for repeat, letter in enumerate(verdicts)]


def result(repeat: int, passed: bool, *calls: object, message: str = "") -> CaseResult:
    found = (PlacedFinding("calls", Finding("RC101", message), PLACE),) if message else ()
    return CaseResult(
        case_id="two",
        verdict="passed" if passed else "failed",
        score=float(passed),
        source=PLACE,
        trajectory=Trajectory.of(calls),  # type: ignore[arg-type]
        findings=found,
        repeat=repeat,
    )


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


def parted(*results: CaseResult) -> CasePaths:
    return case_paths("two", results)


def test_the_call_that_separates_passes_from_failures_is_named() -> None:
    found = parted(
        *[result(number, True, "search", {"name": "reserve", "args": {"quantity": 1}}) for number in range(3)],
        *[result(3 + n, False, "search", {"name": "reserve", "args": {"quantity": 2}}, message="2") for n in range(2)],
        result(5, False, "search", message="never called"),
    )

    parting = found.partings[0]

    assert parting.after == ("search()",)
    assert parting.by_arguments
    assert [(branch.call, branch.runs, branch.passed, branch.reason) for branch in parting.branches] == [
        ("reserve(quantity=1)", 3, 3, ""),
        ("reserve(quantity=2)", 2, 0, "RC101 2"),
        (None, 1, 0, "RC101 never called"),
    ]


def test_names_are_enough_where_arguments_tell_no_more() -> None:
    found = parted(
        result(0, True, {"name": "search", "args": {"q": 1}}, "book"),
        result(1, False, {"name": "search", "args": {"q": 1}}),
    )

    assert found.paths == 2
    assert not found.partings[0].by_arguments
    assert found.partings[0].after == ("search",)


def test_a_branch_names_the_repeats_that_took_it() -> None:
    found = parted(result(0, True, "a"), result(1, False, "b"), result(2, True, "a"))

    assert [branch.repeats for branch in found.partings[0].branches] == [(0, 2), (1,)]


def test_runs_that_make_the_same_calls_do_not_part() -> None:
    found = parted(result(0, True, "a"), result(1, False, "a"))

    assert (found.paths, found.partings) == (1, ())


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
