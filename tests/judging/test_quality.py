"""Precision, recall, F1, single tool use and forbidden tools."""

from typing import Any

import pytest
from tests.builders import call, calls, expected, judge

from rightcall import CriteriaError


@pytest.mark.parametrize(
    ("wanted", "made", "precision", "recall", "f1"),
    [
        ("abc", "abc", 1.0, 1.0, 1.0),
        ("abc", "cba", 1.0, 1.0, 1.0),
        ("abc", "abxc", 0.75, 1.0, 6 / 7),
        ("abc", "ac", 1.0, 2 / 3, 0.8),
        ("aab", "ab", 1.0, 2 / 3, 0.8),
        ("ab", "aab", 2 / 3, 1.0, 0.8),
        ("a", "", 0.0, 0.0, 0.0),
    ],
)
def test_pairs_are_divided_by_calls_made_or_expected(
    wanted: str, made: str, precision: float, recall: float, f1: float
) -> None:
    criteria = {"expected": list(wanted)}

    assert judge("tool-precision", list(made), criteria).score == pytest.approx(precision)
    assert judge("tool-recall", list(made), criteria).score == pytest.approx(recall)
    assert judge("tool-f1", list(made), criteria).score == pytest.approx(f1)


@pytest.mark.parametrize("kind", ["tool-precision", "tool-f1"])
def test_nothing_expected_is_right_only_when_nothing_was_called(kind: str) -> None:
    assert judge(kind, [], {"expected": []}).score == 1.0
    assert judge(kind, ["a"], {"expected": []}).score == 0.0


def test_recall_of_nothing_is_an_error() -> None:
    with pytest.raises(CriteriaError, match="expected: is empty"):
        judge("tool-recall", [], {"expected": []})


def test_arguments_count_by_the_policy() -> None:
    made = calls(call("a", x=1, y=2))

    assert judge("tool-recall", made, {"expected": [expected("a", x=1)]}).score == 1.0
    assert judge("tool-recall", made, {"expected": [expected("a", x=1)]}, args_match="exact").score == 0.0
    assert judge("tool-recall", made, {"expected": [expected("a", x=1)], "args_match": "exact"}).score == 0.0


@pytest.mark.parametrize("one", ["a", {"name": "a"}, ["a"]], ids=repr)
def test_one_use_of_a_tool_is_enough(one: Any) -> None:
    assert judge("single-tool-use", ["x", "a", "a"], {"expected": one}).score == 1.0
    assert judge("single-tool-use", ["x"], {"expected": one}).score == 0.0


def test_single_tool_use_takes_one_call() -> None:
    with pytest.raises(CriteriaError, match="exactly one call"):
        judge("single-tool-use", ["a"], {"expected": ["a", "b"]})


def test_a_forbidden_call_fails_the_trajectory() -> None:
    result = judge("forbidden-tools", ["a", "delete", "delete"], {"never": ["delete", "drop"]})

    assert (result.verdict, result.score) == ("failed", 0.0)
    assert [finding.code for finding in result.findings] == ["RC107", "RC107"]
    assert result.findings[0].actual is not None
    assert result.findings[0].actual.position == 1
    assert {finding.path for finding in result.findings} == {"never[0]"}


def test_many_forbidden_calls_are_counted_beyond_the_first_ones() -> None:
    findings = judge("forbidden-tools", ["delete"] * 50, {"never": ["drop", "delete"]}).findings

    assert len(findings) == 41
    assert findings[0].path == "never[1]"
    assert findings[-1].message == "… and 10 more"


def test_keeping_away_from_forbidden_calls_passes() -> None:
    assert judge("forbidden-tools", ["a"], {"never": ["delete"]}).score == 1.0
    assert judge("forbidden-tools", [], {"never": ["delete"]}).score == 1.0


def test_a_call_can_be_forbidden_by_its_arguments() -> None:
    never = {"never": [expected("delete", force=True)]}

    assert judge("forbidden-tools", calls(call("delete", force=False)), never).score == 1.0
    assert judge("forbidden-tools", calls(call("delete", force=True, id=1)), never).score == 0.0
    assert judge("forbidden-tools", ["delete"], never).verdict == "not_measured"
    assert judge("forbidden-tools", ["other"], never).verdict == "passed"


def test_forbidding_nothing_is_an_error() -> None:
    with pytest.raises(CriteriaError, match="never: is empty"):
        judge("forbidden-tools", [], {"never": []})
