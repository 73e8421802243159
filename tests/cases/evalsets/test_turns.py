"""What turns expect: everything that a case can expect, of the calls and the answer of the turn."""

from typing import Any

import pytest

from rightcall import DocumentError, ToolCall, Trajectory, judge
from rightcall.cases.evalsets import Case, parse_eval_set


def case_of(text: str) -> Case:
    [case] = parse_eval_set(text, "set.yaml").cases
    return case


def talk(first: str, second: str, more: str = "") -> Case:
    return case_of(
        f"cases:\n- id: x\n  turns:\n  - input: 1\n    expect: {first}\n  - input: 2\n    expect: {second}\n{more}"
    )


def problem(first: str, second: str, more: str = "") -> str:
    with pytest.raises(DocumentError) as caught:
        talk(first, second, more)
    return str(caught.value).removeprefix("set.yaml:")


def made(first: str, second: str, **fields: Any) -> Trajectory:
    turns = [(name, turn) for turn, names in enumerate((first, second)) for name in names]
    return Trajectory.of([ToolCall(name, {"q": turn}, turn, turn=turn) for name, turn in turns], **fields)


@pytest.mark.parametrize(
    ("first", "second", "passing", "failing"),
    [
        ("{}", "{never: [x]}", ("x", "a"), ("a", "x")),
        ("{counts: {a: 1}}", "{counts: {a: 2}}", ("a", "aa"), ("aa", "a")),
        ("{}", "{order: [a, b]}", ("b", "ab"), ("a", "b")),
        ("{}", "{order: {criteria: [a, b], strict: true}}", ("x", "ab"), ("", "axb")),
        ("{args: [{a: {q: 0}}]}", "{args: [{a: {q: 1}}]}", ("a", "a"), ("a", "b")),
        ("{outputs: {a: 0}}", "{}", ("a", "b"), ("b", "a")),
        ("{steps: 1}", "{steps: 2}", ("a", "bb"), ("aa", "b")),
        ("{loops: 1}", "{}", ("ab", "aa"), ("aa", "b")),
        ("{calls: {expected: [a], match: any_order}}", "{calls: [b]}", ("xa", "b"), ("xa", "xb")),
        ("{calls: {expected: [a], match: unordered}}", "{}", ("a", ""), ("a", "b")),
        ("{calls: {expected: [a], match: subset}}", "{calls: {criteria: [b], match: subset}}", ("a", "b"), ("b", "a")),
        ("{tool-f1: {expected: [a]}}", "{}", ("a", "b"), ("b", "a")),
    ],
)  # fmt: skip
def test_a_turn_expects_what_a_case_can_expect_of_its_own_calls(
    first: str, second: str, passing: tuple[str, str], failing: tuple[str, str]
) -> None:
    case = talk(first, second)

    assert judge(case, made(*passing)).verdict == "passed"
    assert judge(case, made(*failing)).verdict == "failed"


def test_a_call_whose_turn_is_not_known_may_be_of_any() -> None:
    case = talk("{}", "{never: [x]}")
    unknown = Trajectory.of([ToolCall("a", {}, turn=0), ToolCall("x", {}), ToolCall("b", {}, turn=1)])

    result = judge(case, unknown)

    assert result.verdict == "not_measured"
    assert "in which turn `x` was made was not recorded" in [placed.finding.message for placed in result.findings]
    assert judge(talk("{}", "{never: [y]}"), unknown).passed


def test_checks_of_turns_are_told_apart_and_point_into_their_turn() -> None:
    case = talk("{never: [x]}", "{never: [y, q]}", "  expect: {never: [z]}\n")

    result = judge(case, made("x", "y"))

    assert [check.key for check in case.checks] == ["never", "never (turn 1)", "never (turn 2)"]
    assert [each.verdict for each in result.results] == ["passed", "failed", "failed"]
    assert [(str(placed.source), placed.expectation) for placed in result.findings] == [
        ("set.yaml:5:22", "never (turn 1)"),
        ("set.yaml:7:22", "never (turn 2)"),
    ]


def test_equal_settings_of_all_turns_make_one_check_of_the_conversation() -> None:
    case = talk("{calls: {expected: [a, c], match: in_order}}", "{calls: {expected: [b], match: in_order}}")

    result = judge(case, made("axc", "y"))

    assert [check.key for check in case.checks] == ["calls"]
    assert (result.score, [str(placed.source) for placed in result.findings]) == (0.5, ["set.yaml:7:33"])


def test_in_a_conversation_of_one_turn_all_calls_are_of_it() -> None:
    case = case_of("cases: [{id: x, turns: [{input: 1, expect: {never: [x]}}]}]")

    assert judge(case, Trajectory.of(["a"])).passed
    assert judge(case, Trajectory.of(["x"])).verdict == "failed"


def test_a_setting_chooses_the_turn_for_an_expectation_of_the_case() -> None:
    case = case_of("cases: [{id: x, expect: {never: {expected: [x], turn: 1}}}]")

    assert judge(case, made("x", "a")).passed
    assert judge(case, made("a", "x")).verdict == "failed"


@pytest.mark.parametrize(
    ("turn", "answers", "verdict"),
    [
        ("any", ["no", "yes", "no"], "passed"),
        ("any", ["no", "no", "no"], "failed"),
        ("any", ["no", None, "no"], "not_measured"),
        ("any", ["no", None, "yes"], "passed"),
        ("last", ["yes", "no"], "failed"),
        ("last", ["no", "yes"], "passed"),
        ("0", ["yes", "no"], "passed"),
        ("0", ["no", "yes"], "failed"),
        ("5", ["no", "yes"], "not_measured"),
    ],
)
def test_an_answer_is_asked_of_any_the_last_or_one_turn(turn: str, answers: list[Any], verdict: str) -> None:
    case = case_of(f"cases: [{{id: x, expect: {{output: {{criteria: yes, turn: {turn}}}}}}}]")

    assert judge(case, Trajectory.of([], turn_outputs=answers, output=answers[-1])).verdict == verdict


def test_an_answer_of_any_turn_is_the_only_one_where_there_was_one_turn() -> None:
    case = case_of("cases: [{id: x, expect: {output: {criteria: yes, turn: any}}}]")

    assert judge(case, Trajectory.of([], output="yes")).passed
    assert judge(case, Trajectory.of([], output="no")).verdict == "failed"
    assert judge(case, Trajectory.of([], output="no", turn_inputs=["a", "b"])).verdict == "not_measured"


def test_a_finding_about_any_turn_has_the_nearest_answer() -> None:
    case = case_of("cases: [{id: x, expect: {response-match: {expected: a b c, turn: any}}}]")

    [placed] = judge(case, Trajectory.of([], turn_outputs=["x", "a b"], output="a b")).findings

    assert placed.finding.message.startswith("the outputs of 2 turns are not as expected; turn 2: the output")


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ("{seconds: 1}", "5:14: 'seconds' belongs to the case: it is about a whole run"),
        ("{tokens: 9}", "5:14: 'tokens' belongs to the case"),
        ("{nevr: [x]}", "5:14: 'nevr' names no evaluator; did you mean 'never'?"),
        ("{never: null}", "5:14: a list of calls is expected, not None"),
        ("{never: []}", "5:14: criteria of 'never (turn 1)': never: is empty; expect at least one"),
        ("{never: {expected: [x], trn: 1}}", "5:37: unknown setting 'trn' of 'never'; did you mean 'turn'?"),
        ("{calls: {expected: [{a: 5}], match: exact}}", "5:34: criteria of 'calls"),
        ("{output: {criteria: x, turn: 0}}", "5:36: 'turn' is for expectations of a case; a turn expects"),
        ("{never: {expected: [x], turn: 0}}", "5:37: 'turn' is for expectations of a case; a turn expects"),
        ("{output: {criteria: x, threshold: 5}}", "5:36: configuration of 'output': threshold"),
    ],
)
def test_a_mistake_in_a_turn_is_told_where_it_stands(first: str, message: str) -> None:
    assert message in problem(first, "{}")
