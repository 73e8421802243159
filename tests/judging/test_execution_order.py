"""Examples and scorers in judgeval's calling style."""

from typing import Any

import pytest

from rightcall import ConfigurationError, CriteriaError, InputError, Trajectory
from rightcall.judging import Example, ExecutionOrderScorer, run_evaluation


def score(expected: str, actual: str, **flags: Any) -> float | None:
    example = Example(actual_output=list(actual), expected_output=list(expected))
    return ExecutionOrderScorer(**flags).score(example).score


@pytest.mark.parametrize(
    ("expected", "actual", "as_set", "ordered", "exact"),
    [
        ("AB", "BC", 0.5, 0.5, 0.0),
        ("AAB", "AAB", 1.0, 1.0, 1.0),
        ("AAB", "AB", 2 / 3, 2 / 3, 0.0),
        ("ABC", "CBA", 1.0, 1 / 3, 0.0),
        ("ABC", "XAYBZC", 1.0, 1.0, 0.0),
        ("A", "", 0.0, 0.0, 0.0),
    ],
)
def test_the_three_modes(expected: str, actual: str, as_set: float, ordered: float, exact: float) -> None:
    assert score(expected, actual) == pytest.approx(as_set)
    assert score(expected, actual, should_consider_ordering=True) == pytest.approx(ordered)
    assert score(expected, actual, should_exact_match=True) == exact


def test_an_example_passes_from_the_threshold_on() -> None:
    example = Example(actual_output=["GoogleSearch", "Perplexity"], expected_output=["DBQuery", "GoogleSearch"])

    [strict, loose] = [
        run_evaluation(examples=[example], scorers=[ExecutionOrderScorer(threshold=threshold)])[0]
        for threshold in (0.8, 0.5)
    ]

    assert (strict.score, strict.success, strict.verdict) == (0.5, False, "failed")
    assert (loose.score, loose.success, loose.verdict) == (0.5, True, "passed")


def test_an_example_passes_only_if_all_scorers_pass() -> None:
    example = Example(actual_output=["b", "a"], expected_output=["a", "b"])
    scorers = [ExecutionOrderScorer(), ExecutionOrderScorer(should_exact_match=True)]

    [result] = run_evaluation([example], scorers)

    assert [each.verdict for each in result.results] == ["passed", "failed"]
    assert (result.verdict, result.score) == ("failed", 0.5)


def test_a_trajectory_will_do_for_the_actual_actions() -> None:
    example = Example(actual_output=Trajectory.of(["a"]), expected_output=["a"])

    assert ExecutionOrderScorer().score(example).passed


def test_nothing_expected_is_an_error_but_in_the_exact_mode() -> None:
    for flags in ({}, {"should_consider_ordering": True}):
        with pytest.raises(CriteriaError, match="expected_output is empty"):
            score("", "A", **flags)
    assert score("", "", should_exact_match=True) == 1.0
    assert score("", "A", should_exact_match=True) == 0.0


def test_both_modes_at_once_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        ExecutionOrderScorer(should_exact_match=True, should_consider_ordering=True)


def test_a_text_is_not_a_list_of_actions() -> None:
    with pytest.raises(CriteriaError, match="a list of names"):
        ExecutionOrderScorer().score(Example(actual_output=["a"], expected_output="a"))
    with pytest.raises(InputError, match="not a str"):
        ExecutionOrderScorer().score(Example(actual_output="a", expected_output=["a"]))


def test_without_scorers_nothing_is_said_to_pass() -> None:
    with pytest.raises(CriteriaError, match="no scorers"):
        run_evaluation([Example(actual_output=[], expected_output=[])], [])


def test_details_show_the_mode_and_what_the_two_share() -> None:
    example = Example(actual_output=["b", "a"], expected_output=["a", "b"])

    assert ExecutionOrderScorer().score(example).details.in_common == ["a", "b"]
    ordered = ExecutionOrderScorer(should_consider_ordering=True).score(example).details
    assert (ordered.mode, len(ordered.in_common)) == ("ordering", 1)
