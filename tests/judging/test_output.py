"""Did the expected tools return the expected outputs?"""

from typing import Any

import pytest
from tests.builders import judge

from rightcall import CriteriaError, ToolCall, Trajectory


def output(made: Any, wanted: Any, **config: Any) -> float | None:
    trajectory = Trajectory.of([ToolCall("t", {}, made)])
    return judge("tool-call-output", trajectory, {"tool_outputs": [{"name": "t", "output": wanted}]}, **config).score


FORMS: list[Any] = ["{'t': 25.0}", '{"t": 25.0}', {"t": 25}, ' {"t": 25e0} ']


@pytest.mark.parametrize("wanted", FORMS, ids=repr)
@pytest.mark.parametrize("made", FORMS, ids=repr)
def test_all_ways_to_write_one_value_are_one_output(wanted: Any, made: Any) -> None:
    assert output(made, wanted) == 1.0


@pytest.mark.parametrize(
    ("wanted", "made", "same"),
    [
        ("1", 1, False),
        ("1", "1", True),
        ("1", "1.0", False),
        ("true", True, False),
        (0, 0, True),
        (False, False, True),
        ([], [], True),
        ({}, {}, True),
        (None, None, True),
        ({"content": {"t": 1}}, {"t": 1}, True),
        ({"content": "{'t': 1}"}, {"t": 1}, True),
        ({"content": {"t": 1}}, {"content": {"t": 1}}, True),
        ({"t": 1}, {"t": 1, "u": 2}, False),
        ({"$subset": {"t": 1}}, {"t": 1, "u": 2}, True),
        ("sunny", "Sunny", False),
        ({"$contains": "sun"}, "a sunny day", True),
        ("[1, 2]", [1, 2], True),
        ("{broken", "{broken", True),
    ],
    ids=str,
)
def test_outputs_are_compared_as_values(wanted: Any, made: Any, same: bool) -> None:
    assert output(made, wanted) == float(same)


def test_text_can_be_compared_to_the_letter() -> None:
    assert output("{'t': 25.0}", '{"t": 25.0}', compare="text") == 0.0
    assert output('{"t": 25.0}', '{"t": 25.0}', compare="text") == 1.0


def test_a_call_that_raised_and_gave_nothing_satisfies_nothing() -> None:
    raised = Trajectory.of([ToolCall("t", {}, error="boom")])

    result = judge("tool-call-output", raised, {"tool_outputs": [{"name": "t", "output": None}]})

    assert (result.verdict, result.score) == ("failed", 0.0)


def test_an_output_that_was_not_recorded_is_not_measured() -> None:
    made = Trajectory.of([ToolCall("t", {})])

    assert judge("tool-call-output", made, {"tool_outputs": [{"name": "t", "output": 1}]}).verdict == "not_measured"
    anything = {"tool_outputs": [{"name": "t", "output": {"$any": True}}]}
    assert judge("tool-call-output", made, anything).score == 1.0


def test_outputs_are_paired_as_many_as_can_be() -> None:
    made = Trajectory.of([ToolCall("t", {}, 1), ToolCall("t", {}, 2)])
    wanted = [{"name": "t", "output": {"$any": True}}, {"name": "t", "output": 1}]

    assert judge("tool-call-output", made, {"tool_outputs": wanted}).score == 1.0
    assert judge("tool-call-output", made, {"tool_outputs": wanted[::-1]}).score == 1.0


def test_the_explanation_shows_the_difference() -> None:
    made = Trajectory.of([ToolCall("t", {}, {"content": {"t": 2}})])
    result = judge("tool-call-output", made, {"tool_outputs": [{"name": "t", "output": {"t": 1}}]})

    assert result.details.explained_tool_calls_outputs[0].text.startswith("nearest is call 1: $.t: 1 is missing")
    assert result.findings[0].code == "RC106"


def test_an_output_has_to_be_named() -> None:
    with pytest.raises(CriteriaError, match=r"'tool_outputs\[0\]\.output' is missing"):
        judge("tool-call-output", ["t"], {"tool_outputs": [{"name": "t"}]})
