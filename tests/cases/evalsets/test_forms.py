"""The forms of an expectation: in short, with settings beside it, spelt out, and with defaults."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import DocumentError, ToolCall, Trajectory
from rightcall.cases.evalsets import Case, load_eval_set
from rightcall.cases.verdicts import judge

BOTH = "[{lookup_order: {id: 7}}, {get_customer: {id: 1}}]"
SPELT = "[{name: lookup_order, args: {id: 7}}, {name: get_customer, args: {id: 1}}]"


def case_of(tmp_path: Path, expect: str, defaults: str = "{}", above: str = "") -> Case:
    path = tmp_path / "forms.yaml"
    path.write_text(f"defaults: {defaults}\n{above}\ncases:\n- id: a\n  expect:\n    {expect}\n", encoding="utf-8")
    [case] = load_eval_set(path).cases
    return case


def problem(tmp_path: Path, expect: str, defaults: str = "{}") -> str:
    with pytest.raises(DocumentError) as caught:
        case_of(tmp_path, expect, defaults)
    return str(caught.value).removeprefix(f"{tmp_path / 'forms.yaml'}:")


def at_once(*names: str, group: str | None = "message-1") -> Trajectory:
    ids = {"lookup_order": 7, "get_customer": 1}
    return Trajectory.of([ToolCall(name, {"id": ids.get(name, 0)}, None, group=group) for name in names])


@pytest.mark.parametrize(
    ("expect", "defaults"),
    [
        (f"calls: {BOTH}", "{parallel: any_order}"),
        (f"calls: {{criteria: {BOTH}, parallel: any_order}}", "{}"),
        (f"calls: {{expected: {BOTH}, parallel: any_order}}", "{}"),
        (f"calls: {{criteria: {{expected: {SPELT}, parallel: any_order, match: in_order}}}}", "{}"),
        (f"calls: {{criteria: {{expected: {SPELT}, parallel: any_order}}, match: in_order}}", "{}"),
    ],
    ids=["defaults", "criteria", "expected", "all inside", "inside and outside"],
)
def test_every_way_to_say_that_a_group_has_no_order_says_it(tmp_path: Path, expect: str, defaults: str) -> None:
    case = case_of(tmp_path, expect, defaults)

    assert judge(case, at_once("get_customer", "lookup_order")).passed
    assert judge(case, at_once("lookup_order", "get_customer")).passed
    assert not judge(case, at_once("get_customer", "get_customer")).passed


@pytest.mark.parametrize(
    "expect",
    [
        "calls: {criteria: [a, b], match: any_order}",
        "calls: {expected: [a, b], match: any_order}",
        "calls: {expected: [a, b], match_type: any_order}",
        "calls: {expected: [a, b], matchType: any_order}",
        "calls: {criteria: {expected: [a, b], match: any_order}}",
        "calls: {criteria: {expected: [a, b]}, match: any_order}",
        "tool-trajectory: {expected: [a, b], match: any_order}",
        "tool-trajectory: {criteria: [a, b], match: any_order}",
    ],
)
def test_a_setting_means_the_same_at_every_level(tmp_path: Path, expect: str) -> None:
    assert judge(case_of(tmp_path, expect), Trajectory.of(["b", "x", "a"])).passed


def test_the_inner_setting_goes_before_the_outer_one(tmp_path: Path) -> None:
    expect = "calls: {criteria: {expected: [a, b], match: any_order}, match: exact}"

    assert judge(case_of(tmp_path, expect), Trajectory.of(["b", "x", "a"])).passed


@pytest.mark.parametrize(
    ("expect", "passing", "failing"),
    [
        ("order: {expected: [a, b], strict: true}", "ab", "axb"),
        ("order: {tool_calls_order: [a, b], strict: true}", "ab", "axb"),
        ("order: {criteria: [a, b], ignore_tools: [x], strict: true}", "axb", "ayb"),
        ("counts: {criteria: {a: 1}, ignore_tools: [b]}", "ab", "aa"),
        ("counts: {tool_calls_count: {a: 1, b: 1}, threshold: 0.5}", "a", "aabb"),
        ("args: {expected: [{name: a}], args: subset}", "a", "b"),
        ("never: {expected: [x], ignore_tools: [y]}", "ay", "x"),
        ("steps: {expected: 1, ignore_tools: [b]}", "ab", "aa"),
        ("calls: {expected: [a, b], partial_credit: true, threshold: 0.5, match: in_order}", "a", "x"),
    ],
)
def test_every_key_takes_the_settings_of_its_evaluator(tmp_path: Path, expect: str, passing: str, failing: str) -> None:
    case = case_of(tmp_path, expect)

    assert judge(case, Trajectory.of([{"name": name, "args": {}} for name in passing])).passed
    assert judge(case, Trajectory.of([{"name": name, "args": {}} for name in failing])).verdict == "failed"


def test_the_arguments_of_args_can_be_asked_for_exactly(tmp_path: Path) -> None:
    made = Trajectory.of([{"name": "a", "args": {"q": 1, "more": 2}}])

    assert judge(case_of(tmp_path, "args: {criteria: [{a: {q: 1}}], args: subset}"), made).passed
    assert judge(case_of(tmp_path, "args: {criteria: [{a: {q: 1}}], args: exact}"), made).verdict == "failed"
    said = problem(tmp_path, "args: {criteria: [{a: {q: 1}}], args: superset}")
    assert (
        said
        == "6:37: arguments are compared as 'subset' or 'exact' here, not 'superset'; 'calls' has all four policies"
    )


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("output: {expected: 1}", {"expected": 1}),
        ("output: {criteria: {expected: 1}}", {"expected": 1}),
        ("exact-match: {expected: yes}", {"expected": "yes"}),
    ],
)
def test_expected_is_data_in_an_answer(tmp_path: Path, expect: str, answer: Any) -> None:
    assert judge(case_of(tmp_path, expect), Trajectory.of([], output=answer)).passed


def test_expected_is_a_tool_in_counts_and_outputs(tmp_path: Path) -> None:
    made = Trajectory.of([{"name": "expected", "args": {}, "output": 1}])

    assert judge(case_of(tmp_path, "counts: {expected: 1}"), made).passed
    assert judge(case_of(tmp_path, "outputs: {expected: 1}"), made).passed
    assert judge(case_of(tmp_path, "counts: {expected: 2}"), made).verdict == "failed"


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        (
            "calls: {expected: [a], paralel: any_order}",
            "6:28: unknown setting 'paralel' of 'calls'; did you mean 'parallel'?",
        ),
        (
            "calls: {criteria: {expected: [a], matsch: exact}}",
            "6:39: unknown setting 'matsch' of 'calls'; did you mean 'match'",
        ),
        ("order: {criteria: [a], strct: true}", "6:28: unknown setting 'strct' of 'order'; did you mean 'strict'?"),
        ("order: {criteria: [a], match: exact}", "6:28: unknown setting 'match' of 'order'; "),
        (
            "counts: {criteria: {a: 1}, tresholt: 1}",
            "6:32: unknown setting 'tresholt' of 'counts'; did you mean 'threshold'",
        ),
        (
            "calls: {expected: [a], threshold: 2}",
            "6:28: calls.threshold: a number of at most 1 is expected",
        ),
        (
            "calls: {expected: [a], parallel: sideways}",
            "6:28: calls.parallel: 'in_order'",
        ),
        ("calls: {expected: [a], match: sideways}", "6:28: calls.match: unknown match type"),
        (
            "calls: {expected: [a], criteria: [a]}",
            "6:13: 'criteria' and 'expected' are the same here; give one of them",
        ),
        ("calls: {expected: [{a: 5}]}", "6:25: calls.expected[0].args: arguments are an object"),
    ],
)
def test_a_wrong_setting_is_told_where_it_stands(tmp_path: Path, expect: str, message: str) -> None:
    assert message in problem(tmp_path, expect)


def test_a_finding_points_into_the_form_it_was_written_in(tmp_path: Path) -> None:
    for expect, column in (
        ("calls: [a, b]", 16),
        ("calls: {expected: [a, b], match: in_order}", 27),
        ("calls: {criteria: {expected: [a, b]}, match: in_order}", 38),
        ("order: {tool_calls_order: [a, b]}", 35),
    ):
        [placed] = judge(case_of(tmp_path, expect), Trajectory.of(["a"])).findings

        assert (placed.finding.code, placed.source.line, placed.source.column) == ("RC101", 6, column)


def made_of(names: str) -> Trajectory:
    """Calls of these tools; F is one that failed."""
    return Trajectory.of([{"name": name, "args": {}, "error": "no" if name == "F" else None} for name in names])


@pytest.mark.parametrize(
    ("defaults", "expect", "passing", "failing"),
    [
        ("{ignore_tools: [x]}", "calls: [a, b]", "axb", "ayb"),
        ("{ignore_tools: [x]}", "steps: 2", "axb", "aab"),
        ("{partial_credit: true, threshold: 0.5}", "calls: [a, b]", "a", "x"),
        ("{ignore_tools: [x]}", "calls: {criteria: [a, b], ignore_tools: [y]}", "ayb", "axb"),
        ("{match: any_order}", "calls: {expected: [a, b]}", "ba", "a"),
        ("{failed: ignore}", "calls: [a, b]", "aFb", "axb"),
    ],
)
def test_a_default_holds_where_an_expectation_does_not_say_otherwise(
    tmp_path: Path, defaults: str, expect: str, passing: str, failing: str
) -> None:
    case = case_of(tmp_path, expect, defaults)

    assert judge(case, made_of(passing)).passed
    assert judge(case, made_of(failing)).verdict == "failed"


def test_a_default_agent_is_the_one_whose_calls_count(tmp_path: Path) -> None:
    made = Trajectory.of([ToolCall("a", {}, agent="boss"), ToolCall("b", {}, agent="clerk")])

    assert judge(case_of(tmp_path, "calls: [b]", "{agent: clerk}"), made).passed
    assert judge(case_of(tmp_path, "calls: [b]", "{agent: boss}"), made).verdict == "failed"


def test_a_default_weight_is_that_of_every_expectation_without_one(tmp_path: Path) -> None:
    case = case_of(tmp_path, "order: {criteria: [a], weight: 3}\n    never: [b]", "{weight: 0.5}")

    assert [check.weight for check in case.checks] == [3.0, 0.5]


def test_defaults_hold_for_the_default_criteria_of_an_evaluator_of_the_file(tmp_path: Path) -> None:
    criteria = "default_evaluation_criteria: {tool_calls_order: [a, b]}"
    own = f"evaluators: {{mine: {{type: tool-call-order, config: {{strict: true, {criteria}}}}}}}"
    case = case_of(tmp_path, "mine: null", "{ignore_tools: [x]}", own)

    assert judge(case, Trajectory.of(["a", "x", "b"])).passed
    assert judge(case, Trajectory.of(["a", "y", "b"])).verdict == "failed"


@pytest.mark.parametrize(
    ("defaults", "message"),
    [
        ("{paralel: any_order}", "1:12: unknown key 'defaults.paralel'; did you mean 'parallel'?"),
        ("{parallel: sideways}", "1:12: parallel: 'in_order'"),
        ("{ignore_tools: log}", "1:12: ignore_tools: a list is expected, not 'log'"),
        ("{top_level: maybe}", "1:12: top_level: true or false is expected, not 'maybe'"),
        ("{partial_credit: maybe}", "1:12: partial_credit"),
        ("{weight: -1}", "1:12: defaults.weight"),
    ],
)
def test_a_wrong_default_is_told_where_it_stands(tmp_path: Path, defaults: str, message: str) -> None:
    assert message in problem(tmp_path, "calls: [a]", defaults)
