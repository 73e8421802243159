"""What a trace leaves open about calls, and what is said of it."""

from tests.builders import calls, judge

from rightcall import ToolCall, Trajectory


def test_calls_whose_open_orders_overlap_may_have_been_made_in_any_order() -> None:
    made = Trajectory(calls=calls("a", "b", "c").calls, unordered=((0, 2), (1, 3)))

    result = judge("tool-call-order", made, {"tool_calls_order": ["c", "b", "a"]})

    assert result.verdict == "not_measured"
    assert "in which order `a`, `b` and 1 more were made was not recorded" in [each.message for each in result.findings]


def test_each_kind_of_doubt_is_a_reason_of_its_own() -> None:
    made = Trajectory.of([ToolCall("b"), ToolCall("a")])
    criteria = {"tool_calls_order": ["a", "b"], "parallel": "any_order", "agent": "boss"}

    [_, *reasons] = judge("tool-call-order", made, criteria).findings

    assert [each.message for each in reasons] == [
        "which agent made `b` and `a` was not recorded",
        "which calls the model asked for at once was not recorded",
    ]
