"""Did the agent return the expected answer?"""

from typing import Any

import pytest
from tests.builders import judge

from rightcall import Trajectory


def verdict(actual: Any, expected: Any) -> str:
    return judge("final-output", Trajectory.of([], output=actual), {"output": expected}).verdict


@pytest.mark.parametrize(
    ("expected", "actual", "result"),
    [
        ("done", "done", "passed"),
        ("done", "Done", "failed"),
        ({"$contains": "lap"}, "a laptop", "passed"),
        ({"$regex": "^P"}, "X", "failed"),
        ({"ok": True}, {"ok": True}, "passed"),
        ({"ok": True}, {"ok": 1}, "failed"),
        ({"$subset": {"ok": True}}, {"ok": True, "n": 1}, "passed"),
        (0, 0, "passed"),
        (False, False, "passed"),
        ("", "", "passed"),
        ("done", None, "not_measured"),
    ],
    ids=str,
)
def test_answers_are_compared_as_values(expected: Any, actual: Any, result: str) -> None:
    assert verdict(actual, expected) == result


def test_the_finding_says_where_the_answer_differs() -> None:
    result = judge("final-output", Trajectory.of([], output={"a": {"b": 1}}), {"output": {"a": {"b": 2}}})

    assert [finding.message for finding in result.findings] == ["the final output has a.b 1, expected 2"]
    assert result.findings[0].code == "RC108"
    assert result.details.actual == '{"a": {"b": 1}}'


def test_the_answer_can_be_judged_though_the_trace_has_no_tool_data() -> None:
    blind = Trajectory(output="done", calls_recorded=False)

    assert judge("final-output", blind, {"output": "done"}).passed


@pytest.mark.parametrize(
    ("expected", "actual", "advice"),
    [
        ({"contains": "refund"}, "I refunded it.", 'did you mean {"$contains": …}?'),
        ({"total": {"lte": 5}}, {"total": 9}, 'did you mean {"$lte": …}?'),
        ({"contain": "refund"}, "I refunded it.", None),
        ({"type": "hotel"}, {"type": "flight"}, None),
        ({"$contains": "laptop"}, "I refunded it.", None),
    ],
    ids=str,
)
def test_a_matcher_without_its_dollar_sign_is_suggested_where_no_object_was_found(
    expected: Any, actual: Any, advice: str | None
) -> None:
    [finding] = judge("final-output", Trajectory.of([], output=actual), {"output": expected}).findings

    assert finding.help == advice
