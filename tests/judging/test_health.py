"""Did the agent's tools work?"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.builders import judge

from rightcall import CriteriaError, ToolCall, Trajectory

CALLS = st.lists(
    st.builds(
        lambda name, error: ToolCall(name, {}, None, error), st.sampled_from("ab"), st.sampled_from([None, "broken"])
    ),
    max_size=12,
)
SUSPECT = ToolCall("a", {}, "Error: no such city", suspected_error=True)


def ran(name: str, error: str | None = None, **args: Any) -> ToolCall:
    return ToolCall(name, args, None, error)


@given(CALLS)
def test_retries_are_those_that_one_finds_by_looking(calls: list[ToolCall]) -> None:
    truth = 0
    for place, call in enumerate(calls):
        earlier = [each for each in calls[:place] if each.name == call.name]
        truth += bool(earlier) and earlier[-1].error is not None

    result = judge("retries", calls, {"at_most": 1})

    assert result.details.budgets[0].actual == truth
    assert result.score == (1.0 if truth <= 1 else 1 / truth)


@given(CALLS, st.floats(0, 1))
def test_the_share_of_errors_is_held_against_its_limit(calls: list[ToolCall], limit: float) -> None:
    share = sum(call.error is not None for call in calls) / max(1, len(calls))

    result = judge("tool-error-rate", calls, {"at_most": limit})

    assert result.passed == (share <= limit)
    assert (result.score == 1.0) == (share <= limit)


def test_a_retry_is_named_with_the_call_that_failed() -> None:
    result = judge("retries", [ran("book", "timeout", id=1), ran("log"), ran("book", id=2)], {"at_most": 0})

    assert (result.score, result.verdict) == (0.0, "failed")
    assert [(each.code, each.message) for each in result.findings] == [
        ("RC113", "1 retry after errors, at most 0 allowed"),
        ("RC113", "`book(id=2)` is a retry of call 1, which failed"),
    ]
    assert judge("retries", [ran("book", "timeout"), ran("log")], {"at_most": 0}).passed


@pytest.mark.parametrize("field", ["agent", "turn"])
def test_an_error_of_another_agent_or_turn_is_not_retried(field: str) -> None:
    values = (0, 1) if field == "turn" else ("x", "y")
    first, second = (msgspec.structs.replace(ran("a", "broken"), **{field: value}) for value in values)

    assert judge("retries", [first, second], {"at_most": 0}).passed


def test_each_error_is_named() -> None:
    result = judge("tool-error-rate", [ran("a", "no such city"), ran("b"), ran("b")], {"at_most": 0.25})

    assert result.score == 0.75
    assert [(each.code, each.message) for each in result.findings] == [
        ("RC114", "1 of 3 calls failed (0.3333), at most 0.25 allowed"),
        ("RC114", "`a()` failed: no such city"),
    ]


@pytest.mark.parametrize(
    ("type_id", "calls"), [("tool-error-rate", [SUSPECT]), ("retries", [SUSPECT, ran("a")])], ids=str
)
def test_a_result_that_reads_like_an_error_leaves_it_open(type_id: str, calls: list[ToolCall]) -> None:
    assert judge(type_id, calls, {"at_most": 0}).verdict == "not_measured"
    assert judge(type_id, calls, {"at_most": 1}).passed


def test_nothing_called_is_nothing_failed() -> None:
    assert judge("tool-error-rate", [], {"at_most": 0}).score == 1.0
    assert judge("retries", [], {"at_most": 0}).score == 1.0
    assert judge("retries", Trajectory(calls_recorded=False), {"at_most": 0}).verdict == "not_measured"


@pytest.mark.parametrize("at_most", [-0.1, 1.1, True, "0.5", None])
def test_a_share_lies_between_nothing_and_all(at_most: Any) -> None:
    with pytest.raises(CriteriaError, match="at_most"):
        judge("tool-error-rate", [], {"at_most": at_most})
