"""Was each tool called as often as it should be?"""

from typing import Any

import pytest
from tests.builders import judge

from rightcall import CriteriaError


@pytest.mark.parametrize(
    ("bound", "holds"),
    [
        (("=", 2), True),
        (("==", 2), True),
        (["!=", 2], False),
        ((">", 1), True),
        (("<", 2), False),
        ((">=", 2), True),
        (("<=", 1), False),
        ("<= 2", True),
        (">=3", False),
        ("2", True),
        (2, True),
        (2.0, True),
        (1, False),
    ],
    ids=str,
)
def test_a_count_is_an_operator_and_a_number(bound: Any, holds: bool) -> None:
    assert judge("tool-call-count", ["a", "b", "a"], {"tool_calls_count": {"a": bound}}).score == float(holds)


def test_the_score_is_the_share_of_tools_whose_count_holds() -> None:
    made = ["fetch", *["process"] * 3, "send"]
    criteria = {"tool_calls_count": {"fetch": ("=", 1), "process": ("=", 5), "send": ("=", 1)}}

    assert judge("tool-call-count", made, criteria).score == pytest.approx(2 / 3)
    assert judge("tool-call-count", made, criteria, strict=True).score == 0.0


def test_zero_holds_when_nothing_was_called() -> None:
    assert judge("tool-call-count", [], {"tool_calls_count": {"a": ("=", 0)}}).score == 1.0
    assert judge("tool-call-count", ["b"], {"tool_calls_count": {"a": ("=", 0)}}, strict=True).score == 1.0


def test_tools_that_are_not_named_are_ignored() -> None:
    assert judge("tool-call-count", ["x", "a", "y"], {"tool_calls_count": {"a": 1}}, strict=True).score == 1.0


def test_details_explain_all_tools_also_in_strict_mode() -> None:
    criteria = {"tool_calls_count": {"a": ("=", 1), "b": (">=", 2)}}
    details = judge("tool-call-count", ["a", "a", "b", "b"], criteria, strict=True).details

    assert details.explained_tool_calls_count == {
        "a": "Actual: 2, Expected: 1, Score: 0.0",
        "b": "Actual: 2, Expected: 2, Score: 1.0",
    }
    assert [(check.tool, check.operator, check.expected, check.actual, check.holds) for check in details.checks] == [
        ("a", "=", 1, 2, False),
        ("b", ">=", 2, 2, True),
    ]


def test_a_finding_says_how_often_and_how_often_expected() -> None:
    [finding] = judge("tool-call-count", ["a"], {"tool_calls_count": {"a": (">=", 2)}}).findings

    assert finding.code == "RC105"
    assert finding.message == "`a` was called 1 time, expected >= 2"


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ({}, "is empty"),
        ({"a": ("~", 1)}, "unknown operator '~'; known: ="),
        ({"a": ("=<", 1)}, "unknown operator '=<'; did you mean '<='"),
        ({"a": ("=", 10**5_000)}, "at most 1,000,000,000"),
        ({"a": ("=", -1)}, "not negative.*, not -1"),
        ({"a": ("=", 1.5)}, "whole number"),
        ({"a": ("=", True)}, "whole number"),
        ({"a": ("=", float("nan"))}, "whole number"),
        ({"a": ("=", "1")}, "whole number"),
        ({"a": ("=",)}, "a pair"),
        ({"a": None}, "a pair"),
        ({"a": "often"}, "a pair"),
        ({"": 1}, "1 to 10,000 characters"),
        ([("a", 1)], "an object is expected"),
    ],
)
def test_a_wrong_count_is_refused(count: Any, message: str) -> None:
    with pytest.raises(CriteriaError, match=message):
        judge("tool-call-count", ["a"], {"tool_calls_count": count})
