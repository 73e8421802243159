"""Evaluators of the user's own: what they are given, what they may give back, and what their mistakes cost."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.builders import call, calls

from rightcall import ConfigurationError, CriteriaError, EvaluationResult, Judgement, Trajectory, evaluator
from rightcall.judging import Criteria, CustomEvaluator, Execution, custom_type
from rightcall.values.results import CustomJustification

MADE = Trajectory.of([call("search", query="laptop"), call("book", id=1)], input="a laptop", output="Booked, please")


def judge(target: Any, criteria: Any = None, trajectory: Trajectory = MADE, **config: Any) -> EvaluationResult:
    return custom_type(target, "checks.py:mine")("mine", config).evaluate(trajectory, criteria)


class Words(BaseModel):
    words: list[str]
    any_of: bool = Field(default=False, alias="anyOf")


@evaluator
def mentions(output: Any, criteria: Words) -> float:
    return sum(word in output for word in criteria.words) / len(criteria.words)


@evaluator
class FewCalls:
    class Config(BaseModel):
        most_calls: int = 3

    def __init__(self, config: Config) -> None:
        self.most_calls = config.most_calls

    def evaluate(self, calls: Any) -> bool:
        return len(calls) <= self.most_calls


def test_a_function_is_given_what_the_names_of_its_parameters_say() -> None:
    given: dict[str, Any] = {}

    def listen(
        trajectory: Any,
        calls: Any,
        output: Any,
        input: Any,
        metadata: Any,
        case_id: Any,
        execution: Any,
        other: int = 3,
    ) -> bool:
        given.update(locals())
        return True

    judge(listen)

    assert given["trajectory"] == MADE
    assert [each.name for each in given["calls"]] == ["search", "book"]
    assert (given["output"], given["input"], given["case_id"]) == ("Booked, please", "a laptop", "")
    assert isinstance(given["execution"], Execution)
    assert given["other"] == 3


@pytest.mark.parametrize(
    ("returned", "verdict", "score"),
    [
        pytest.param(True, "passed", 1.0, id="true"),
        pytest.param(False, "failed", 0.0, id="false"),
        pytest.param(1, "passed", 1.0, id="a whole number"),
        pytest.param(0.25, "failed", 0.25, id="a number"),
        pytest.param(Judgement(0.75, "nearly"), "failed", 0.75, id="a judgement"),
        pytest.param(Judgement(None, "no output"), "not_measured", None, id="a judgement without a score"),
        pytest.param(EvaluationResult(evaluator="x", verdict="passed", score=1.0), "passed", 1.0, id="a result"),
    ],
)
def test_what_it_gives_back_is_a_result_under_its_own_id(returned: Any, verdict: str, score: float | None) -> None:
    result = judge(lambda output: returned)

    assert (result.evaluator, result.verdict, result.score) == ("mine", verdict, score)
    assert result.evaluation_time > 0


@pytest.mark.parametrize(
    "returned",
    [None, float("nan"), float("inf"), -0.1, 1.1, 7, "good", [], {}, 10**400, Judgement(2.0), Judgement(float("nan"))],
    ids=repr,
)
def test_what_is_no_score_is_an_error_with_the_reason_and_never_a_score(returned: Any) -> None:
    result = judge(lambda output: returned)

    assert (result.verdict, result.score) == ("error", None)
    assert result.error is not None
    assert result.error.startswith("RC402 'mine' returned")


def test_one_that_raises_is_an_error_with_its_own_lines_of_the_traceback() -> None:
    def fail(calls: Any) -> bool:
        raise KeyError("oh no")

    result = judge(fail)

    assert (result.verdict, result.error) == ("error", "RC402 KeyError while judging: 'oh no'")
    assert result.traceback is not None
    assert "in fail" in result.traceback
    assert "_threads.py" not in result.traceback


@pytest.mark.parametrize("problem", [SystemExit(1), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()])
def test_whatever_is_raised_costs_this_result_only(problem: BaseException) -> None:
    def fail(output: Any) -> bool:
        raise problem

    assert judge(fail).verdict == "error"


def test_a_function_may_be_asynchronous() -> None:
    async def wait(output: Any) -> bool:
        await asyncio.sleep(0)
        return True

    assert judge(wait).passed


def test_one_that_never_returns_is_given_up_after_its_timeout() -> None:
    from threading import Event

    released = Event()

    result = judge(lambda output: released.wait(60), timeout=0.05)
    released.set()

    assert result.error == "RC404 'mine' did not answer within 0.05 s"


def test_reason_and_details_are_kept_and_read_back() -> None:
    @dataclasses.dataclass
    class Found:
        words: list[str]

    class Model(BaseModel):
        n: int

    for details, plain in (
        ({"a": [1, None]}, {"a": [1, None]}),
        (Found(["x"]), {"words": ["x"]}),
        (Model(n=1), {"n": 1}),
    ):
        result = judge(lambda output, details=details: Judgement(0.5, "half", details))

        assert result.details == CustomJustification(reason="half", details=plain)
        assert EvaluationResult.from_json(result.to_json()) == result
        assert [(finding.code, finding.message) for finding in result.findings] == [("RC109", "half")]


@pytest.mark.parametrize("details", [object(), {1, 2}, "x" * 100_000], ids=["an object", "a set", "very long"])
def test_details_that_cannot_be_kept_are_left_out_and_the_score_stands(details: Any) -> None:
    result = judge(lambda output: Judgement(1.0, "", details))

    assert (result.passed, result.details) == (True, CustomJustification())
    assert "details of the evaluator were left out" in result.warnings[0]


def test_whatever_it_does_to_what_it_is_given_the_trajectory_stays_as_it_was() -> None:
    def alter(calls: Any, metadata: Any) -> bool:
        calls[0].args.clear()
        metadata["x"] = 1
        return True

    trajectory = Trajectory.of([call("search", query="laptop")])
    judge(alter, trajectory=trajectory)

    assert trajectory.calls[0].args == {"query": "laptop"}


def test_criteria_are_checked_by_the_model_that_its_parameter_is_annotated_with() -> None:
    assert judge(mentions, {"words": ["Booked", "x"], "anyOf": True}).score == 0.5
    with pytest.raises(CriteriaError, match="unknown key 'wrds'; did you mean 'words'"):
        judge(mentions, {"wrds": ["x"]})
    with pytest.raises(CriteriaError, match="'words' is missing"):
        judge(mentions)
    with pytest.raises(CriteriaError, match="words: "):
        judge(mentions, {"words": "x"})


def test_default_criteria_are_used_where_none_are_given() -> None:
    assert judge(mentions, default_evaluation_criteria={"words": ["Booked"]}).passed


def test_criteria_without_a_model_are_handed_over_as_they_are() -> None:
    def same(output: Any, criteria: Any) -> bool:
        return bool(criteria == ["a", {"b": 1}])

    assert judge(same, ["a", {"b": 1}]).passed


def test_one_without_criteria_takes_none() -> None:
    assert judge(lambda output: True, True).passed
    assert judge(lambda output: True, {}).passed
    with pytest.raises(CriteriaError, match="takes no criteria"):
        judge(lambda output: True, {"words": []})


def test_criteria_may_choose_calls_as_ours_do() -> None:
    class Fewer(Criteria):
        most: int

    def few(calls: Any, criteria: Fewer) -> bool:
        return len(calls) <= criteria.most

    few.__annotations__["criteria"] = Fewer

    assert judge(few, {"most": 1, "ignore_tools": ["search"]}).passed
    assert not judge(few, {"most": 1}).passed


def test_a_class_has_a_configuration_of_its_own_beside_that_of_every_evaluator() -> None:
    assert judge(FewCalls).passed
    assert not judge(FewCalls, mostCalls=1).passed
    assert judge(FewCalls, most_calls=1, threshold=0.0).passed
    with pytest.raises(ConfigurationError, match="unknown key 'most_call'; did you mean 'most_calls'"):
        judge(FewCalls, most_call=1)
    with pytest.raises(ConfigurationError, match="most_calls"):
        judge(FewCalls, most_calls="many")


def test_a_threshold_is_that_of_the_file_else_of_the_configuration_else_of_the_decorator() -> None:
    class Config(BaseModel):
        threshold: float = 0.6

    @evaluator(threshold=0.3, timeout=5)
    def half(output: Any) -> float:
        return 0.5

    @evaluator(threshold=0.3, config=Config)
    def configured(output: Any, config: Any) -> float:
        return float(config.threshold)

    assert judge(half).threshold == 0.3
    assert judge(half, threshold=0.8).threshold == 0.8
    assert (judge(configured).threshold, judge(configured).score) == (0.6, 0.6)
    assert (judge(configured, threshold=0.9).threshold, judge(configured, threshold=0.9).score) == (0.9, 0.9)


def test_one_that_looks_at_calls_is_not_asked_about_a_trace_without_tool_data() -> None:
    nothing = Trajectory(calls_recorded=False, output="x")

    assert judge(lambda calls: True, trajectory=nothing).verdict == "not_measured"
    assert judge(lambda output: True, trajectory=nothing).passed
    assert judge(evaluator(reads_calls=False)(lambda trajectory: True), trajectory=nothing).passed


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param(lambda outputs: True, "has the parameter 'outputs'; did you mean 'output'", id="parameter"),
        pytest.param(3, "is an int; an evaluator is a function, or a class", id="no code"),
        pytest.param(dict, "has no method 'evaluate'", id="class"),
    ],
)
def test_what_cannot_be_an_evaluator_is_told_when_it_is_found(target: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        custom_type(target, "checks.py:mine")


def test_the_decorator_refuses_at_once_what_nobody_can_give() -> None:
    with pytest.raises(ConfigurationError, match="has the parameter 'answer'"):

        @evaluator
        def wrong(answer: Any) -> bool:
            return True

    with pytest.raises(ConfigurationError, match="no option 'treshold'; did you mean 'threshold'"):
        evaluator(treshold=0.5)(lambda output: True)  # type: ignore[call-overload]


def test_a_decorated_function_stays_a_function() -> None:
    assert mentions("Booked", Words(words=["Booked"])) == 1.0


def test_one_of_our_own_kind_is_taken_as_it_is() -> None:
    class Mine(CustomEvaluator):
        type_id = "mine"

    assert custom_type(Mine, "checks.py:Mine") is Mine


def test_many_are_judged_at_once_by_one_instance() -> None:
    made = custom_type(mentions, "checks.py:mine")("mine", {})
    results = [made.evaluate(calls("a"), {"words": ["x"]}) for _ in range(20)]

    assert {result.verdict for result in results} == {"error"}  # no output to look into
