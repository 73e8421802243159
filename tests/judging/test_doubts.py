"""What a trace leaves open about calls, and what is said of it."""

from typing import Any

import pytest
from tests.builders import calls, judge

from rightcall import ToolCall, Trajectory


def test_calls_whose_open_orders_overlap_may_have_been_made_in_any_order() -> None:
    made = Trajectory(calls=calls("a", "b", "c").calls, unordered=((0, 2), (1, 3)))

    result = judge("tool-call-order", made, {"tool_calls_order": ["c", "b", "a"]})

    assert result.verdict == "not_measured"
    assert "in which order `a`, `b` and 1 more were made was not recorded" in [each.message for each in result.findings]


def test_each_kind_of_doubt_is_a_reason_of_its_own() -> None:
    made = Trajectory.of([ToolCall("b", group="g"), ToolCall("a")])
    criteria = {"tool_calls_order": ["a", "b"], "parallel": "any_order", "agent": "boss"}

    reasons = judge("tool-call-order", made, criteria).findings

    assert [each.message for each in reasons] == [
        "which agent made `b` and `a` was not recorded",
        "which calls the model asked for at once was not recorded",
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ({"turn": 0}, {"turn": 1}, "failed"),
        ({"agent": "one"}, {"agent": "other"}, "failed"),
        ({"turn": 0, "agent": "one"}, {"turn": 0, "agent": "other"}, "failed"),
        ({"group": "g"}, {"group": "h"}, "failed"),
        ({"turn": 0, "agent": "one"}, {"turn": 0}, "not_measured"),
        ({"group": "g"}, {"group": "g"}, "passed"),
    ],
)
def test_calls_of_two_turns_agents_or_groups_were_not_asked_for_at_once(
    first: dict[str, Any], second: dict[str, Any], verdict: str
) -> None:
    made = Trajectory.of([ToolCall("b", **first), ToolCall("a", **second)])

    assert judge("tool-call-order", made, {"tool_calls_order": ["a", "b"], "parallel": "any_order"}).verdict == verdict


def test_one_expected_turn_is_not_all_of_a_conversation_whose_turns_are_not_known() -> None:
    made = Trajectory(calls=(ToolCall("pay", {}, "ok", source="span"),), turn_inputs=("Hello.", "Pay."))

    assert judge("tool-trajectory", made, {"expected_turns": [["pay"]]}).verdict == "not_measured"


def test_a_doubt_about_one_call_of_a_turn_is_a_doubt_about_the_turn() -> None:
    made = Trajectory.of([ToolCall("a", {}, turn=0), ToolCall("b", {}, turn=1, agent="boss")])
    criteria = {"expected_turns": [["a"], ["b"]], "agent": "boss"}

    assert judge("tool-trajectory", made, criteria).verdict == "not_measured"


def test_an_order_that_is_open_among_calls_asked_for_at_once_is_no_doubt_where_theirs_does_not_count() -> None:
    made = [ToolCall("b", group="g"), ToolCall("a", group="g"), ToolCall("c", group="h")]
    criteria = {"tool_calls_order": ["a", "b", "c"], "parallel": "any_order"}

    inside = judge("tool-call-order", Trajectory(calls=tuple(made), unordered=((0, 2),)), criteria)
    beyond = judge("tool-call-order", Trajectory(calls=tuple(made), unordered=((0, 3),)), criteria)

    assert (inside.verdict, beyond.verdict) == ("passed", "not_measured")


@pytest.mark.parametrize(
    ("made", "criteria", "reason"),
    [
        ({"unrecorded": frozenset({"parent_id"})}, {"top_level": True}, "whether a tool made `a` was not recorded"),
        ({}, {"agent": "boss"}, "which agent made `a` was not recorded"),
        ({}, {"turn": 0}, "in which turn `a` was made was not recorded"),
    ],
)
def test_what_was_not_recorded_of_a_call_is_told(made: dict[str, Any], criteria: dict[str, Any], reason: str) -> None:
    result = judge("tool-trajectory", [ToolCall("a", {}, None, **made)], {"expected": ["a"], **criteria})

    assert result.verdict == "not_measured"
    assert [each.message for each in result.findings] == [reason]
