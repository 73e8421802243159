"""Which of the expected tools a call is of."""

from tests.builders import judge

from rightcall import ToolCall, Trajectory


def test_a_call_with_a_tool_id_is_of_the_tool_with_that_id_or_name() -> None:
    made = Trajectory.of([ToolCall("shown", tool_id="search"), ToolCall("other", tool_id="7")])
    criteria = {"expected": [{"name": "search"}, {"name": "book", "id": "7"}]}

    assert judge("tool-recall", made, criteria, tool_names="uipath").score == 1.0
    others = {"expected": [{"name": "book", "id": "8"}]}
    assert judge("tool-recall", made, others, tool_names="uipath").score == 0.0
