"""Large and hostile input: a result, a clear error, or an error result; never a hang."""

import random
import re
from itertools import product
from typing import Any

import pytest
from tests.builders import call, expected, judge
from tests.walls import for_each

from rightcall import (
    CriteriaError,
    EvaluationResult,
    InputError,
    RightcallError,
    ToolCallArgsEvaluator,
    ToolCallOrderEvaluator,
    ToolTrajectoryEvaluator,
    Trajectory,
)
from rightcall.judging import EVALUATORS
from rightcall.limits import Limits

SMALL = Limits(compared_calls=50, aligned_calls=20, comparisons=500)


def test_more_calls_than_can_be_compared_are_an_error_with_its_own_code() -> None:
    evaluator = ToolCallOrderEvaluator(limits=SMALL)

    for made, wanted in ((["a"] * 51, ["a"]), (["a"], ["a"] * 51)):
        result = evaluator.evaluate(made, {"tool_calls_order": wanted})
        assert (result.verdict, result.score) == ("error", None)
        assert result.error == "RC401 limit exceeded: 51 calls; the limit is 50"
        assert [finding.code for finding in result.findings] == ["RC401"]


def test_more_calls_than_can_be_aligned_have_a_score_but_no_details() -> None:
    result = ToolCallOrderEvaluator(limits=SMALL).evaluate(["a"] * 21, {"tool_calls_order": ["a", "b"]})

    assert (result.score, result.details, result.findings) == (0.5, None, ())
    assert "too many to align" in result.warnings[0]


def test_more_comparisons_than_allowed_are_an_error() -> None:
    made = [call("a", x=n) for n in range(30)]
    wanted = [expected("a", x={"$gt": n + 100}) for n in range(30)]

    result = ToolCallArgsEvaluator(limits=SMALL).evaluate(made, {"tool_calls": wanted})

    assert (result.verdict, result.score) == ("error", None)
    assert "comparisons" in (result.error or "")


def test_what_cannot_be_explained_within_the_limits_says_so() -> None:
    made = [call("a", x=n) for n in range(30)]
    wanted = [expected("a", x={"$gt": n + 100}) for n in range(30)]

    limits = Limits(comparisons=500)
    result = ToolTrajectoryEvaluator(limits=limits).evaluate(made, {"expected": wanted})

    assert (result.verdict, result.score, result.details) == ("failed", 0.0, None)
    assert result.findings[0].code == "RC401"


@pytest.mark.parametrize("size", [1_000, 10_000])
def test_the_explanation_of_a_large_mismatch_stays_small_and_counts_what_it_leaves_out(size: int) -> None:
    made = [call("a", x=f"actual {n}", y=n) for n in range(size)]
    result = judge("tool-call-args", made, {"tool_calls": [expected("a", x=f"expected {n}") for n in range(size)]})

    text = result.to_json()

    assert result.score == 0.0
    assert len(text) <= 64 * 1024
    details = result.details
    assert len(details.explained_tool_calls_args) + details.left_out == size
    assert len(details.alignment.steps) + details.alignment.left_out == size
    assert result.findings[-1].message.startswith("… and ")
    assert EvaluationResult.from_json(text) == result


@pytest.mark.parametrize("kind", ["few names", "all equal", "all different", "reversed"])
def test_ten_thousand_calls_are_judged_by_every_rule(kind: str) -> None:
    generator, size = random.Random(5), 10_000
    wanted = {
        "few names": [generator.choice("abcd") for _ in range(size)],
        "all equal": ["a"] * size,
        "all different": [f"a{n}" for n in range(size)],
        "reversed": [f"a{n}" for n in range(size)],
    }[kind]
    made = {
        "few names": [generator.choice("abcd") for _ in range(size)],
        "all different": [f"b{n}" for n in range(size)],
    }.get(kind, wanted[::-1])
    trajectory = Trajectory.of(made)

    order = judge("tool-call-order", trajectory, {"tool_calls_order": wanted})
    graded = judge("tool-trajectory", trajectory, {"expected": wanted}, match_type="IN_ORDER", partial_credit=True)
    any_order = judge("tool-trajectory", trajectory, {"expected": wanted}, match_type="ANY_ORDER")

    assert order.score == graded.score
    assert len(order.details.lcs) == round((order.score or 0) * size)
    assert any_order.score == float(kind in ("all equal", "reversed"))


def deep(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def endless() -> Any:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


HOSTILE: dict[str, Any] = {
    "deep": deep(100_000),
    "endless": endless(),
    "a huge integer": 10**5_000,
    "a set": {1},
    "bytes": b"x",
    "a function": len,
    "keys that are no text": {1: 2},
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_arguments_are_refused_with_a_clear_error(value: Any) -> None:
    with pytest.raises(InputError, match=r"calls\[0\]"):
        judge("tool-call-args", [{"name": "a", "args": {"x": value}}], {"tool_calls": ["a"]})


@for_each(("type_id", "name"), list(product(EVALUATORS, HOSTILE)))
def test_hostile_criteria_are_refused_or_judged(type_id: str, name: str) -> None:
    value = HOSTILE[name]
    keys = ("tool_calls_order", "tool_calls_count", "tool_calls", "tool_outputs", "expected", "never", "parallel")
    for key in keys:
        for shape in (value, [value], [{"name": "a", "args": {"x": value}, "output": value}], {"a": value}):
            try:
                result = EVALUATORS[type_id]().evaluate(["a"], {key: shape})
            except RightcallError:
                continue
            assert result.verdict in ("passed", "failed", "not_measured")
            result.to_json()


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\u202e", "a" * 10_000, "🜁"], ids=ascii)
def test_odd_names_and_texts_are_judged_and_saved_as_they_are(text: str) -> None:
    made = [{"name": text, "args": {text: text}, "output": text}]

    assert judge("tool-call-order", made, {"tool_calls_order": [text]}).score == 1.0
    assert judge("tool-call-args", made, {"tool_calls": [{"name": text, "args": {text: text}}]}).score == 1.0
    wrong = judge("tool-call-args", made, {"tool_calls": [{"name": text, "args": {text: text + "!"}}]})
    assert wrong.score == 0.0
    assert EvaluationResult.from_json(wrong.to_json()) == wrong


def test_a_name_of_a_million_characters_is_refused() -> None:
    with pytest.raises(CriteriaError, match="1,000,000"):
        judge("tool-call-order", [], {"tool_calls_order": ["x" * 1_000_000]})


def test_a_text_of_ten_million_characters_is_compared_and_shown_in_short() -> None:
    long = "x" * 10_000_000
    result = judge("tool-call-args", [call("a", x=long + "1")], {"tool_calls": [expected("a", x=long + "2")]})

    assert result.score == 0.0
    assert re.search(r'xx1", expected .*xx2"$', result.findings[0].message)
    assert len(result.to_json()) < 10_000


def test_a_turn_far_away_is_one_turn_too_many_and_nothing_else() -> None:
    made = Trajectory.of([{"name": "a", "args": {}, "turn": 0}, {"name": "b", "args": {}, "turn": 3_000_000}])

    assert judge("tool-trajectory", made, {"expected_turns": [["a"]]}).score == 0.5


def test_a_negative_turn_belongs_to_no_expected_turn() -> None:
    made = Trajectory.of([{"name": "a", "args": {}, "turn": -1}])

    assert judge("tool-trajectory", made, {"expected_turns": [["a"]]}).score == 0.0
