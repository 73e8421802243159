"""Were the expected tools called in the expected order?"""

import pytest
from tests.builders import calls, judge

from rightcall import CriteriaError, ToolCall, ToolCallOrderEvaluator, Trajectory


def order(expected: str, actual: str, **config: object) -> float | None:
    return judge("tool-call-order", list(actual), {"tool_calls_order": list(expected)}, **config).score


@pytest.mark.parametrize(
    ("expected", "actual", "score", "strict"),
    [
        ("ABCD", "AXBD", 0.75, 0.0),
        ("ABC", "ABC", 1.0, 1.0),
        ("ABC", "CBA", 1 / 3, 0.0),
        ("ABC", "ABXC", 1.0, 0.0),
        ("ABC", "AC", 2 / 3, 0.0),
        ("AAB", "AAB", 1.0, 1.0),
        ("AAB", "AB", 2 / 3, 0.0),
        ("AB", "AAB", 1.0, 0.0),
        ("A", "", 0.0, 0.0),
        ("abcd", "acd", 0.75, 0.0),
    ],
)
def test_the_score_is_the_share_of_expected_calls_in_order(
    expected: str, actual: str, score: float, strict: float
) -> None:
    assert order(expected, actual) == pytest.approx(score)
    assert order(expected, actual, strict=True) == strict


def test_names_are_compared_exactly() -> None:
    assert order("a", "A") == 0.0
    assert judge("tool-call-order", ["поиск"], {"tool_calls_order": ["пoиск"]}).score == 0.0


def test_details_show_both_sequences_what_they_share_and_how_they_line_up() -> None:
    details = judge("tool-call-order", list("acbx"), {"tool_calls_order": list("abcd")}).details

    assert details.actual_tool_calls_order == ["a", "c", "b", "x"]
    assert details.expected_tool_calls_order == ["a", "b", "c", "d"]
    assert len(details.lcs) == 2
    assert [(step.kind, step.name) for step in details.alignment.steps if step.kind != "match"] == [
        ("moved", ({"b", "c"} - set(details.lcs)).pop()),
        ("missing", "d"),
        ("extra", "x"),
    ]


def test_the_common_subsequence_is_there_in_strict_mode_too() -> None:
    result = judge("tool-call-order", list("ac"), {"tool_calls_order": list("abc")}, strict=True)

    assert result.score == 0.0
    assert result.details.lcs == ["a", "c"]


def test_findings_name_the_missing_call_and_the_wrong_order() -> None:
    result = judge("tool-call-order", list("ba"), {"tool_calls_order": list("abc")})

    assert [finding.code for finding in result.findings] == ["RC103", "RC101"]
    assert result.findings[0].message == "`b` was called before `a`, expected after it"
    assert result.findings[1].message == "`c` was never called"
    assert result.findings[1].path == "tool_calls_order[2]"


def test_of_several_calls_of_a_tool_a_finding_names_the_one_that_it_means() -> None:
    made = ["weather", "book", "weather"]

    [finding] = judge("tool-call-order", made, {"tool_calls_order": ["weather", "weather", "book"]}).findings

    assert finding.message == "`book` was called before the 2nd `weather`, expected after it"


def test_a_similar_name_is_pointed_out() -> None:
    [finding] = judge("tool-call-order", ["getWeather"], {"tool_calls_order": ["get_weather"]}).findings

    assert finding.help == "`getWeather` was called: is it the same tool?"


def test_an_order_that_the_trace_does_not_settle_is_not_taken_to_be_the_expected_one() -> None:
    unsettled = Trajectory(calls=calls("a", "c", "b", "d").calls, unordered=((1, 3),))

    for strict in (False, True):
        result = judge("tool-call-order", unsettled, {"tool_calls_order": list("abcd")}, strict=strict)
        assert result.verdict == "not_measured"
        assert "in which order `c` and `b` were made was not recorded" in [each.message for each in result.findings]


def test_an_order_that_does_not_matter_need_not_be_known() -> None:
    unsettled = Trajectory(calls=calls("a", "c", "b", "d").calls, unordered=((1, 3),))

    assert judge("tool-call-order", unsettled, {"tool_calls_order": list("abd")}).score == 1.0
    assert judge("tool-call-order", unsettled, {"tool_calls_order": list("bad")}).verdict == "failed"
    assert judge("tool-call-order", unsettled, {"tool_calls_order": list("abcd")}, threshold=0.75).score == 0.75
    assert judge("tool-call-order", unsettled, {"tool_calls_order": list("abdc")}, strict=True).score == 0.0


def test_the_order_inside_a_parallel_group_is_free_only_when_asked_for() -> None:
    made = Trajectory.of([ToolCall("a"), *[ToolCall(name, group="g") for name in "cb"], ToolCall("d")])
    criteria = {"tool_calls_order": list("abcd")}

    assert judge("tool-call-order", made, criteria).score == 0.75
    assert judge("tool-call-order", made, criteria | {"parallel": "any_order"}).score == 1.0
    assert judge("tool-call-order", made, criteria | {"parallel": "any_order"}, strict=True).score == 1.0


def test_positions_in_the_details_are_those_of_the_trajectory() -> None:
    result = judge("tool-call-order", list("xab"), {"tool_calls_order": ["a", "b"], "ignore_tools": ["x"]})

    assert [step.actual for step in result.details.alignment.steps] == [1, 2]


def test_criteria_select_the_calls_of_one_agent_and_of_the_top_level() -> None:
    made = Trajectory.of(
        [
            ToolCall("plan", agent="boss", span_id="1"),
            ToolCall("search", agent="worker", span_id="2", parent_id="1"),
            ToolCall("book", agent="boss", span_id="3"),
        ]
    )

    assert judge("tool-call-order", made, {"tool_calls_order": ["plan", "book"]}, strict=True).score == 0.0
    for narrowed in ({"agent": "boss"}, {"top_level": True}, {"topLevel": True}, {"ignoreTools": ["search"]}):
        criteria = {"tool_calls_order": ["plan", "book"], **narrowed}
        assert judge("tool-call-order", made, criteria, strict=True).score == 1.0


def test_the_frameworks_own_calls_are_left_out_unless_expected() -> None:
    made = Trajectory.of([ToolCall("search"), ToolCall("final_answer", internal=True)])

    assert judge("tool-call-order", made, {"tool_calls_order": ["search"]}, strict=True).score == 1.0
    both = {"tool_calls_order": ["search", "final_answer"]}
    assert judge("tool-call-order", made, both, strict=True).score == 1.0


def test_default_criteria_are_used_when_none_are_given() -> None:
    evaluator = ToolCallOrderEvaluator(config={"defaultEvaluationCriteria": {"toolCallsOrder": ["a"]}})

    assert evaluator.evaluate(["a"]).score == 1.0
    assert evaluator.evaluate(["a"], {"tool_calls_order": ["b"]}).score == 0.0


def test_no_criteria_and_no_default_are_an_error() -> None:
    with pytest.raises(CriteriaError, match="no default"):
        ToolCallOrderEvaluator(id="o").evaluate(["a"])


def test_one_set_of_criteria_serves_evaluators_with_other_settings() -> None:
    loose, strict = ToolCallOrderEvaluator(), ToolCallOrderEvaluator(config={"strict": True})
    criteria = loose.criteria({"tool_calls_order": ["a", "b"]})

    assert loose.evaluate(["a"], criteria).score == 0.5
    assert strict.evaluate(["a"], criteria).score == 0.0
