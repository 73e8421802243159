"""Evaluators in the style of UiPath's documents."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Generic, TypeVar

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from pydantic import BaseModel, Field
from tests.builders import call

from rightcall import ConfigurationError, CriteriaError, Trajectory
from rightcall.judging import (
    AgentExecution,
    BaseEvaluationCriteria,
    BaseEvaluator,
    BaseEvaluatorConfig,
    BaseEvaluatorJustification,
    BooleanEvaluationResult,
    ErrorEvaluationResult,
    NumericEvaluationResult,
    custom_type,
)


class OperatorCriteria(BaseEvaluationCriteria):
    expected_operator: str


class OperatorConfig(BaseEvaluatorConfig[OperatorCriteria]):
    name: str = "Operator"
    negated: bool = False
    default_evaluation_criteria: OperatorCriteria | None = OperatorCriteria(expected_operator="+")


class Operator(BaseEvaluator[OperatorCriteria, OperatorConfig, BaseEvaluatorJustification]):
    """Was the right operator used?"""

    @classmethod
    def get_evaluator_id(cls) -> str:
        return "Operator"

    async def evaluate(self, agent_execution: AgentExecution, evaluation_criteria: OperatorCriteria) -> Any:
        for span in agent_execution.agent_trace:
            if span.attributes.get("tool.name") == "calculate":
                used = json.loads(span.attributes["input.value"])["operator"]
                holds = (used == evaluation_criteria.expected_operator) != self.evaluator_config.negated
                details = {"expected": evaluation_criteria.expected_operator, "actual": used}
                return NumericEvaluationResult(score=float(holds), details=self.validate_justification(details))
        return ErrorEvaluationResult(details="nothing was calculated")


MADE = Trajectory.of([call("calculate", operator="+")], output={"total": 3})


def adapted(**config: Any) -> Any:
    return custom_type(Operator, "file://operator.py:Operator")("Operator", config)


def test_it_is_judged_like_any_other_with_the_spans_of_the_calls() -> None:
    right, wrong = (adapted().evaluate(MADE, {"expectedOperator": each}) for each in "+-")

    assert (right.verdict, right.score) == ("passed", 1.0)
    assert (wrong.verdict, wrong.score) == ("failed", 0.0)
    assert wrong.details.details == {"expected": "-", "actual": "+"}


def test_configuration_and_default_criteria_count() -> None:
    assert adapted().evaluate(MADE).passed
    assert not adapted(negated=True).evaluate(MADE).passed
    assert not adapted(defaultEvaluationCriteria={"expectedOperator": "*"}).evaluate(MADE).passed
    with pytest.raises(ConfigurationError, match="unknown key 'negate'; did you mean 'negated'"):
        adapted(negate=True)
    with pytest.raises(CriteriaError, match="unknown key 'operator'; did you mean 'expected_operator'"):
        adapted().criteria({"operator": "+"})


def test_an_error_is_an_error_and_never_the_score_it_carries() -> None:
    result = adapted().evaluate(Trajectory.of([], output=1))

    assert (result.verdict, result.score) == ("error", None)
    assert result.error == "RC402 RuntimeError while judging: nothing was calculated"


def test_it_can_be_called_as_the_documents_do() -> None:
    span = ReadableSpan("calculate", attributes={"tool.name": "calculate", "input.value": '{"operator": "+"}'})
    execution = AgentExecution(agent_input={"a": 1}, agent_output={"total": 3}, agent_trace=[span])

    result = asyncio.run(Operator(id="mine").validate_and_evaluate_criteria(execution, {"expected_operator": "+"}))

    assert (result.evaluator, result.score) == ("mine", 1.0)
    assert execution.workload_output == execution.agent_output
    assert execution.workload_trace == execution.agent_trace


def test_yes_and_no_are_scores() -> None:
    class Answered(Operator):
        async def evaluate(self, agent_execution: AgentExecution, evaluation_criteria: OperatorCriteria) -> Any:
            return BooleanEvaluationResult(score=agent_execution.agent_output == {"total": 3}, details="as it should")

    result = custom_type(Answered, "x.py:Answered")("a", {}).evaluate(MADE)

    assert (result.score, result.details.reason) == (1.0, "as it should")


def test_a_class_that_does_not_name_its_types_is_refused() -> None:
    class Untyped(BaseEvaluator):  # type: ignore[type-arg]
        @classmethod
        def get_evaluator_id(cls) -> str:
            return "Untyped"

        async def evaluate(self, agent_execution: Any, evaluation_criteria: Any) -> Any:
            return None

    with pytest.raises(ConfigurationError, match="does not name its types"):
        custom_type(Untyped, "x.py:Untyped")


CriteriaT = TypeVar("CriteriaT")
ConfigT = TypeVar("ConfigT")
JustificationT = TypeVar("JustificationT")


class Theirs(BaseModel, Generic[CriteriaT, ConfigT, JustificationT]):
    """The shape that the parent in UiPath's own package has: a model, made of an evaluator's file."""

    id: str
    evaluator_config: ConfigT = Field(alias="evaluatorConfig")


class OfTheirs(Theirs[OperatorCriteria, OperatorConfig, str]):
    @classmethod
    def get_evaluator_id(cls) -> str:
        return "OfTheirs"

    async def evaluate(self, workload_execution: Any, evaluation_criteria: OperatorCriteria) -> Any:
        used = json.loads(workload_execution.workload_trace[0].attributes["input.value"])["operator"]
        right = used == evaluation_criteria.expected_operator
        return NumericEvaluationResult(score=float(right != self.evaluator_config.negated))


def test_a_class_whose_parent_is_uipaths_own_is_made_the_way_uipath_does() -> None:
    kind = custom_type(OfTheirs, "x.py:OfTheirs")

    assert kind("a", {}).evaluate(MADE, {"expectedOperator": "+"}).passed
    assert not kind("a", {"negated": True}).evaluate(MADE, {"expectedOperator": "+"}).passed
