"""Traps that a comparison can fall into, each with the verdict it must give."""

import copy
import pickle
from enum import StrEnum
from time import process_time
from types import MappingProxyType
from typing import Any

import pytest
from dirty_equals import HasLen, IsInstance
from tests.builders import call, calls, expected, judge

from rightcall import (
    ConfigurationError,
    CriteriaError,
    RightcallError,
    ToolCall,
    ToolCallArgsEvaluator,
    ToolCallOrderEvaluator,
    ToolCallOutputEvaluator,
    Trajectory,
    evaluator_type,
    explain,
)
from rightcall.errors import ExpectationError
from rightcall.judging import EVALUATORS
from rightcall.limits import Limits
from rightcall.matching.matchers import compile_value


def output(made: Any, wanted: Any, **config: Any) -> str:
    trajectory = Trajectory.of([ToolCall("t", {}, made)])
    return judge("tool-call-output", trajectory, {"tool_outputs": [{"name": "t", "output": wanted}]}, **config).verdict


def test_a_foreign_object_is_asked_about_the_call_and_about_nothing_else() -> None:
    two = calls(call("a", x=1, y=2))

    assert judge("tool-call-args", two, {"tool_calls": [{"name": "a", "args": HasLen(1)}]}).verdict == "failed"
    assert judge("tool-call-args", two, {"tool_calls": [{"name": "a", "args": HasLen(2)}]}).verdict == "passed"
    unrecorded = Trajectory.of([ToolCall("t", {})])
    wanted = {"tool_outputs": [{"name": "t", "output": IsInstance(dict)}]}
    assert judge("tool-call-output", unrecorded, wanted).verdict == "not_measured"


def test_any_is_true_and_not_merely_equal_to_true() -> None:
    with pytest.raises(ExpectationError, match="takes true, not 1"):
        judge("tool-call-args", ["a"], {"tool_calls": [{"name": "a", "args": {"$any": 1}}]})


def test_a_changed_copy_of_criteria_is_compiled_anew() -> None:
    evaluator = ToolCallOrderEvaluator()
    criteria = evaluator.criteria({"tool_calls_order": ["a"]})
    evaluator.evaluate(["a"], criteria)

    for changed in (
        criteria.model_copy(update={"tool_calls_order": ("b", "c")}),
        criteria.model_copy(update={"tool_calls_order": ("b", "c")}, deep=True),
    ):
        assert evaluator.evaluate(["a"], changed).score == 0.0
    ignoring = criteria.model_copy(update={"tool_calls_order": ("b",), "ignore_tools": ("a",)})
    assert ToolCallOrderEvaluator(config={"strict": True}).evaluate(["a", "b"], ignoring).score == 1.0


def test_criteria_and_evaluators_can_be_pickled_and_copied() -> None:
    evaluator = ToolCallArgsEvaluator(config={"default_evaluation_criteria": {"tool_calls": [expected("a", x=1)]}})
    made = calls(call("a", x=1))

    assert pickle.loads(pickle.dumps(evaluator)).evaluate(made).passed
    assert evaluator.evaluate(made, pickle.loads(pickle.dumps(evaluator.criteria()))).passed
    assert copy.copy(made).names == ("a",)


@pytest.mark.parametrize(
    ("made", "wanted", "verdict"),
    [
        ('{"msg": "error"}', {"$not": {"$regex": "error"}}, "failed"),
        ('{"msg": "error"}', {"$regex": "error"}, "passed"),
        ("[1]", {"$literal": "[1]"}, "passed"),
        ("[1]", {"$length": 1}, "passed"),
        ('{"a": 1, "b": 2}', {"$subset": {"a": 1}}, "passed"),
        ('{"a": 1}', {"a": {"$gt": 0}}, "passed"),
    ],
    ids=str,
)
def test_matchers_of_text_see_the_text_and_others_the_value(made: Any, wanted: Any, verdict: str) -> None:
    assert output(made, wanted) == verdict


@pytest.mark.parametrize("made", [{"$id": 7}, [float("nan")], {"a": [1]}], ids=str)
def test_any_output_can_be_compared_as_text(made: Any) -> None:
    import json

    assert output(made, json.dumps(made), compare="text") == "passed"
    many = Trajectory.of([ToolCall("t", {}, made)] * 20)
    wanted = {"tool_outputs": [{"name": "t", "output": json.dumps(made)}] * 20}
    assert judge("tool-call-output", many, wanted, compare="text").score == 1.0


@pytest.mark.parametrize("size", [4, 20], ids=["tried one by one", "found by index"])
def test_limits_of_ones_own_hold_on_every_path(size: int) -> None:
    made = Trajectory.of([ToolCall("t", {}, f"[[[[{n}]]]]") for n in range(size)])
    wanted = [{"name": "t", "output": f"[[[[{n}]]]]"} for n in reversed(range(size))]

    assert ToolCallOutputEvaluator(limits=Limits(depth=3)).evaluate(made, {"tool_outputs": wanted}).score == 1.0


@pytest.mark.parametrize(
    ("wanted", "made", "near"),
    [
        (float("inf"), 1, False),
        (float("inf"), float("inf"), True),
        (float("nan"), float("nan"), True),
        (10**16, 10**16 + 5, False),
        (10**16, 10**16 + 1, True),
    ],
)
def test_approx_is_near_to_numbers_that_are_near(wanted: Any, made: Any, near: bool) -> None:
    assert compile_value({"$approx": wanted, "abs": 1}).matches(made) is near


def test_approx_refuses_what_no_float_can_hold() -> None:
    with pytest.raises(ExpectationError, match="a float can hold"):
        compile_value({"$approx": 10**400})


def test_a_set_is_no_order() -> None:
    with pytest.raises(CriteriaError, match="a list is expected"):
        judge("tool-call-order", ["a", "b"], {"tool_calls_order": {"a", "b"}})


def test_a_set_is_no_object() -> None:
    with pytest.raises(CriteriaError, match="an object is expected"):
        judge("tool-call-count", ["a", "b"], {"tool_calls_count": {"a", "b"}})


def test_a_mean_of_equal_scores_is_that_score() -> None:
    calls_of = [{"name": "a", "args": {}, "turn": turn} for turn in range(3) for _ in range(7)]
    turns = [["a"] * 10] * 3

    result = judge(
        "tool-trajectory",
        calls_of,
        {"expected_turns": turns},
        match_type="IN_ORDER",
        partial_credit=True,
        threshold=0.7,
    )

    assert (result.verdict, result.score) == ("passed", 0.7)


class Tool(StrEnum):
    SEARCH = "search"


def test_names_may_come_from_an_enumeration() -> None:
    assert Trajectory.of([Tool.SEARCH]).names == ("search",)


def test_arguments_may_be_any_mapping() -> None:
    made = Trajectory(calls=(ToolCall("a", MappingProxyType({"x": 5}), None),))

    assert judge("tool-call-args", made, {"tool_calls": [expected("a", x={"$gt": 1})]}).passed


def test_a_call_without_a_turn_is_not_given_one_where_others_have_theirs() -> None:
    made = Trajectory.of([{"name": "a", "args": {}}, {"name": "b", "args": {}, "turn": 1}])

    assert judge("tool-trajectory", made, {"expected_turns": [["a"]]}, match_type="IN_ORDER").verdict == "not_measured"


def test_a_tool_cannot_be_expected_and_ignored() -> None:
    with pytest.raises(CriteriaError, match="'a' is both expected and ignored"):
        judge("tool-call-order", ["a"], {"tool_calls_order": ["a"], "ignore_tools": ["a"]})


def test_calls_without_a_start_time_among_others_are_flagged() -> None:
    trajectory = Trajectory.of([{"name": "a"}, {"name": "b", "start_ns": 1}])

    assert trajectory.names == ("b", "a")
    assert trajectory.warnings == ("1 calls have no start time; they are put last",)


def test_calls_that_start_together_change_places_only_with_their_parents() -> None:
    parent = ToolCall("p", {}, None, start_ns=1, span_id="p")
    child = ToolCall("x", {}, None, start_ns=5, span_id="x", parent_id="p")
    other = ToolCall("y", {}, None, start_ns=5, span_id="y")

    assert Trajectory.of([parent, child, other]).names == ("p", "x", "y")


def deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("key", ["match_type", "args_match", "threshold", "name"])
@pytest.mark.parametrize("value", [deep(), 10**5_000, {1}, object], ids=["deep", "huge", "set", "type"])
def test_odd_configuration_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError):
        EVALUATORS["tool-trajectory"](config={key: value})


@pytest.mark.parametrize("config", [[], 0, False, "", deep()], ids=["list", "0", "false", "text", "deep"])
def test_what_is_no_configuration_is_refused(config: Any) -> None:
    with pytest.raises(ConfigurationError):
        EVALUATORS["tool-trajectory"](config=config)


ODD: list[Any] = [
    lambda: evaluator_type(deep()),
    lambda: explain(deep()),
    lambda: EVALUATORS["tool-f1"](id=deep()),
    lambda: ToolCall(deep()),
    lambda: ToolCall("a", unrecorded=5),  # type: ignore[arg-type]
    lambda: ToolCall("a", unrecorded=frozenset({1})),  # type: ignore[arg-type]
    lambda: ToolCall("a", {"x": 1}, None, unrecorded=frozenset({"args"})),
    lambda: Trajectory(calls=None),  # type: ignore[arg-type]
    lambda: Trajectory(calls=("a",)),  # type: ignore[arg-type]
    lambda: Trajectory.of([ToolCall("a", start_ns="x"), ToolCall("b", start_ns=1)]),  # type: ignore[arg-type]
    lambda: compile_value({"$schema": {"$schema": []}}),
]


@pytest.mark.parametrize("attempt", ODD, ids=range(len(ODD)))
def test_odd_values_are_refused_with_an_error_of_ours(attempt: Any) -> None:
    with pytest.raises(RightcallError):
        attempt()


def test_a_generator_of_calls_is_a_trajectory_of_them() -> None:
    assert Trajectory(calls=(ToolCall(name) for name in "ab")).names == ("a", "b")  # type: ignore[arg-type]


def test_more_work_than_allowed_is_refused_before_it_begins() -> None:
    made = [call("a", x=n) for n in range(8_000)]
    wanted = [expected("a", x={"$gt": n}) for n in range(8_000)]

    before = process_time()
    result = judge("tool-call-args", made, {"tool_calls": wanted})
    seconds = process_time() - before

    assert result.verdict == "error"
    assert seconds < 5  # 64 million comparisons take minutes


def test_the_explanation_of_many_turns_has_the_room_of_one() -> None:
    made = [{"name": "a", "args": {"x": n}, "turn": turn} for turn in range(50) for n in range(100)]
    turns = [[expected("a", x=f"other {n}") for n in range(100)] for _ in range(50)]

    result = judge("tool-trajectory", made, {"expected_turns": turns})

    assert len(result.to_json()) < 70_000
    assert len(result.findings) <= 31


def test_a_list_of_forbidden_calls_ends() -> None:
    made = [*(call("a", x=1) for _ in range(60)), *(ToolCall("a") for _ in range(500))]

    assert len(judge("forbidden-tools", made, {"never": [expected("a", x=1)]}).findings) <= 41
