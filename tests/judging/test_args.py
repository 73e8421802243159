"""Were the expected tools called with the expected arguments?"""

from itertools import permutations
from typing import Any

import pytest
from tests.builders import call, calls, expected, judge

from rightcall import ToolCall, Trajectory


def args(made: Any, *wanted: dict[str, Any], **config: Any) -> float | None:
    return judge("tool-call-args", made, {"tool_calls": wanted}, **config).score


def test_a_call_may_have_more_arguments_unless_the_comparison_is_exact() -> None:
    made = calls(call("search", query="laptop", limit=5))

    assert args(made, expected("search", query="laptop")) == 1.0
    assert args(made, expected("search", query="laptop"), subset=False) == 0.0
    assert args(made, expected("search", query="laptop", limit=5), subset=False) == 1.0


def test_order_and_extra_calls_do_not_count() -> None:
    made = calls(call("c"), call("b", y=2), call("a", x=1))

    assert args(made, expected("a", x=1), expected("b", y=2), strict=True) == 1.0


def test_half_of_the_calls_is_half_of_the_score() -> None:
    made = calls(call("a", x=1), call("b", y=9))

    assert args(made, expected("a", x=1), expected("b", y=2)) == 0.5
    assert args(made, expected("a", x=1), expected("b", y=2), strict=True) == 0.0


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_a_general_expectation_never_takes_the_call_of_a_special_one(order: tuple[int, ...]) -> None:
    wanted = [{"name": "a"}, expected("a", x=1)]
    made = calls(call("a", x=1), call("a", x=2))

    assert args(made, *[wanted[index] for index in order]) == 1.0
    assert args(calls(*reversed(made.calls)), *[wanted[index] for index in order]) == 1.0


@pytest.mark.parametrize("size", [3, 30], ids=["tried one by one", "found by index"])
@pytest.mark.parametrize(
    ("wanted", "given", "same"),
    [(1, True, False), (True, 1, False), (0, False, False), (1, "1", False), (1, 1.0, True), ([True], [1], False)],
    ids=str,
)
def test_values_of_other_types_are_other_values(size: int, wanted: Any, given: Any, same: bool) -> None:
    made = calls(*[call("a", x=given) for _ in range(size)])

    assert args(made, *[expected("a", x=wanted) for _ in range(size)]) == float(same)


def test_two_equal_calls_are_two_calls() -> None:
    assert args(calls(call("a", x=1)), expected("a", x=1), expected("a", x=1)) == 0.5
    assert args(calls(call("a", x=1), call("a", x=1)), expected("a", x=1), expected("a", x=1)) == 1.0


def test_what_was_not_recorded_is_not_measured() -> None:
    result = judge("tool-call-args", ["a", "b"], {"tool_calls": [expected("a", x=1)]})

    assert result.verdict == "not_measured"
    assert result.score is None
    assert not result.passed
    assert [(each.code, each.message) for each in result.findings] == [
        ("RC301", "`a`: its arguments were not recorded")
    ]


def test_what_was_not_recorded_is_no_excuse_for_a_call_that_was_never_made() -> None:
    result = judge("tool-call-args", ["a"], {"tool_calls": [expected("a", x=1), expected("b", y=1)]})

    assert result.verdict == "failed"
    assert result.score == 0.0
    assert "between 0 and 0.5" in result.warnings[0]


def test_what_was_not_recorded_does_not_matter_where_any_arguments_will_do() -> None:
    assert args(["a"], {"name": "a"}) == 1.0
    assert args(["a"], {"name": "a", "args": {"$any": True}}) == 1.0


def test_a_recorded_call_is_enough_though_another_was_not_recorded() -> None:
    made = Trajectory.of([ToolCall("a"), call("a", x=1)])

    assert args(made, expected("a", x=1)) == 1.0


def test_many_unrecorded_calls_are_not_measured_either() -> None:
    made = ["a"] * 20

    assert judge("tool-call-args", made, {"tool_calls": [expected("a", x=n) for n in range(20)]}).verdict == (
        "not_measured"
    )


def test_null_arguments_are_no_arguments() -> None:
    made = Trajectory.of([{"name": "a", "args": None}])

    assert args(made, {"name": "a", "args": {}}, subset=False) == 1.0
    assert args(made, expected("a", x=1)) == 0.0


def test_the_explanation_names_the_pair_the_nearest_call_or_that_there_is_none() -> None:
    made = calls(call("weather", city="New York", unit="f"), call("news"))
    details = judge(
        "tool-call-args",
        made,
        {"tool_calls": [expected("weather", city="NYC", unit="f"), {"name": "news"}, {"name": "stocks"}]},
    ).details

    assert [(item.matched, item.text) for item in details.explained_tool_calls_args] == [
        (False, 'nearest is call 1: $.city: "NYC" ≠ "New York"'),
        (True, "paired with call 2"),
        (False, "never called"),
    ]


def test_a_missing_call_is_compared_with_the_nearest_one_though_that_is_taken() -> None:
    details = judge(
        "tool-call-args",
        calls(call("a", x=1, y=1)),
        {"tool_calls": [expected("a", x=1, y=1), expected("a", x=1, y=2)]},
    ).details

    assert details.explained_tool_calls_args[1].text == "nearest is call 1: $.y: 2 ≠ 1"


def test_findings_say_which_argument_differs() -> None:
    [finding] = judge(
        "tool-call-args", calls(call("a", x={"y": [1, 2]}, z=1)), {"tool_calls": [expected("a", x={"y": [1, 3]}, w=0)]}
    ).findings

    assert finding.code == "RC104"
    assert finding.message == "`a` was called with x.y[1] 2, expected 3; without w, expected 0"


def test_the_arguments_as_a_whole_can_be_a_matcher() -> None:
    made = calls(call("a", x=1))

    assert args(made, {"name": "a", "args": {"$length": 1}}) == 1.0
    assert args(made, {"name": "a", "args": {"$length": 2}}) == 0.0


def test_a_matcher_without_its_dollar_sign_is_suggested() -> None:
    [finding] = judge("tool-call-args", calls(call("a", x=9)), {"tool_calls": [expected("a", x={"lt": 5})]}).findings

    assert finding.message == '`a` was called with x 9, expected {"lt": 5}'
    assert finding.help == 'did you mean {"$lt": …}?'
