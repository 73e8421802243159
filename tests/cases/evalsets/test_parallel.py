"""Calls asked for at once have no order in native eval sets and in assertions, unless somebody says so."""

from pathlib import Path
from typing import Any

import pytest
from tests.cases.evalsets import adk_files
from tests.cases.evalsets.uipath_files import eval_set, evaluation, write

from rightcall import CheckFailedError, NotMeasuredError, ToolCall, Trajectory, calls, check, judge
from rightcall.cases.evalsets import Case, convert_eval_set, load_eval_set, load_expectation, parse_eval_set


def made(*named: tuple[str, str | None], **fields: Any) -> Trajectory:
    return Trajectory.of([ToolCall(name, {}, None, group=group, **fields) for name, group in named])


ONE_GROUP = made(("b", "g1"), ("a", "g1"), ("c", "g2"))
TWO_GROUPS = made(("b", "g1"), ("a", "g2"), ("c", "g3"))
NO_GROUPS = made(("b", None), ("a", None), ("c", None))


def case_of(expect: str, defaults: str = "{}") -> Case:
    [case] = parse_eval_set(f"defaults: {defaults}\ncases: [{{id: x, expect: {expect}}}]", "set.yaml").cases
    return case


@pytest.mark.parametrize("expect", ["{calls: [a, b, c]}", "{order: {criteria: [a, b, c], strict: true}}"])
def test_calls_of_one_recorded_group_have_no_order_in_a_native_eval_set(expect: str) -> None:
    verdicts = [judge(case_of(expect), each).verdict for each in (ONE_GROUP, TWO_GROUPS, NO_GROUPS)]

    assert verdicts == ["passed", "failed", "failed"]


@pytest.mark.parametrize(
    ("parallel", "verdicts"),
    [
        ("in_order", ["failed", "failed", "failed"]),
        ("recorded", ["passed", "failed", "failed"]),
        ("any_order", ["passed", "failed", "not_measured"]),
        ("overlap", ["not_measured", "not_measured", "not_measured"]),
    ],
)
def test_parallel_says_which_calls_have_no_order(parallel: str, verdicts: list[str]) -> None:
    for case in (
        case_of(f"{{calls: {{expected: [a, b, c], parallel: {parallel}}}}}"),
        case_of("{calls: [a, b, c]}", f"{{parallel: {parallel}}}"),
    ):
        assert [judge(case, each).verdict for each in (ONE_GROUP, TWO_GROUPS, NO_GROUPS)] == verdicts


def test_the_same_holds_for_an_expectation_alone() -> None:
    assert judge(load_expectation("calls: [a, b, c]", "--expect")("x"), ONE_GROUP).passed


def test_the_same_holds_in_tests() -> None:
    check(ONE_GROUP, ["a", "b", "c"])
    calls(ONE_GROUP).exactly("a", "b", "c").in_order("a", "b").meets("order", ["a", "b"])

    with pytest.raises(CheckFailedError):
        check(TWO_GROUPS, ["a", "b", "c"])
    with pytest.raises(CheckFailedError):
        check(ONE_GROUP, {"calls": {"expected": ["a", "b", "c"], "parallel": "in_order"}})
    with pytest.raises(CheckFailedError):
        calls(ONE_GROUP, parallel="in_order").exactly("a", "b", "c")
    with pytest.raises(NotMeasuredError):
        calls(NO_GROUPS, parallel="any_order").exactly("a", "b", "c")


def ran(*spans: tuple[str, int, int]) -> Trajectory:
    return Trajectory.of([ToolCall(name, {}, None, start_ns=start, end_ns=end) for name, start, end in spans])


def test_calls_that_overlap_have_no_order_where_that_is_asked_for() -> None:
    case = case_of("{calls: {expected: [a, b, c], parallel: overlap}}")

    assert judge(case, ran(("b", 0, 9), ("a", 1, 8), ("c", 20, 21))).passed
    assert judge(case, ran(("b", 0, 1), ("a", 2, 3), ("c", 20, 21))).verdict == "failed"
    assert judge(case, ran(("c", 0, 1), ("a", 2, 9), ("b", 3, 9))).verdict == "failed"


def test_a_call_and_the_one_it_made_keep_their_order() -> None:
    parent = ToolCall("b", {}, None, span_id="1", start_ns=0, end_ns=9)
    child = ToolCall("a", {}, None, span_id="2", parent_id="1", start_ns=1, end_ns=8)

    assert judge(case_of("{calls: {expected: [a, b], parallel: overlap}}"), Trajectory.of([parent, child])).score == 0


def test_a_finding_about_calls_that_overlapped_says_so() -> None:
    [placed] = judge(case_of("{order: [a, b]}"), ran(("b", 0, 9), ("a", 1, 8))).findings

    assert placed.finding.message == "`b` was called before `a`, expected after it; they ran at the same time"
    assert placed.finding.help == "with `parallel: overlap` calls made at once have no order"


def test_a_finding_about_calls_asked_for_at_once_says_so() -> None:
    case = case_of("{order: {criteria: [a, b], parallel: in_order}}")

    [placed] = judge(case, made(("b", "g"), ("a", "g"))).findings

    assert placed.finding.message.endswith("expected after it; the model asked for both at once")


def test_a_finding_about_calls_one_after_the_other_says_nothing_of_it() -> None:
    [placed] = judge(case_of("{order: [a, b]}"), ran(("b", 0, 1), ("a", 1, 8))).findings

    assert placed.finding.message == "`b` was called before `a`, expected after it"


def test_files_of_other_tools_keep_the_order_of_start_and_so_do_their_translations(tmp_path: Path) -> None:
    document = eval_set(evaluation({"Order": {"toolCallsOrder": ["a", "b"]}}), evaluatorRefs=["Order"])
    uipath = write(tmp_path, document)

    [theirs] = load_eval_set(uipath).cases
    [ours] = parse_eval_set(convert_eval_set(uipath), "set.yaml").cases

    assert [judge(case, made(("b", "g"), ("a", "g"))).verdict for case in (theirs, ours)] == ["failed", "failed"]
    assert "parallel: in_order" in convert_eval_set(adk_files.DATA / "from_web.evalset.json")
