"""Which of the expected tools a call is of."""

import pytest
from tests.builders import judge

from rightcall import ToolCall, Trajectory


@pytest.mark.parametrize(
    ("expected", "score"),
    [
        ([{"name": "search"}, {"name": "book", "id": "7"}], 1.0),
        ([{"name": "search"}, {"name": "book", "id": "8"}], 0.5),
        ([{"name": "shown"}, {"name": "other"}], 0.0),
    ],
)
def test_a_call_with_a_tool_id_is_of_the_tool_with_that_id_or_name(
    expected: list[dict[str, str]], score: float
) -> None:
    made = Trajectory.of([ToolCall("shown", {}, tool_id="search"), ToolCall("other", {}, tool_id="7")])
    criteria = {"tool_calls": [{"args": {}, **each} for each in expected]}

    assert judge("tool-call-args", made, criteria, tool_names="uipath").score == score
