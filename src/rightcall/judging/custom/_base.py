"""Evaluators in the style of UiPath's documents: subclasses of `BaseEvaluator` with an asynchronous `evaluate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from rightcall.errors import ConfigurationError, CriteriaError
from rightcall.judging.core import AgentExecution, Execution
from rightcall.values.decoding import dump_json
from rightcall.values.results import EvaluationResult
from rightcall.values.trajectory import ToolCall

from ._code import Code, Judgement, Options, read_given


class BaseEvaluationCriteria(BaseModel):
    """The expectation of one case, to be subclassed. Keys are written in snake_case or camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


CriteriaT = TypeVar("CriteriaT", bound=BaseEvaluationCriteria)


class BaseEvaluatorConfig(BaseModel, Generic[CriteriaT]):
    """How an evaluator judges, to be subclassed."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    name: str = ""
    description: str = ""
    default_evaluation_criteria: CriteriaT | None = None


class BaseEvaluatorJustification(BaseModel):
    """The expected and the actual behaviour in words, to be subclassed."""

    expected: str
    actual: str


class NumericEvaluationResult(BaseModel):
    """A score from 0 to 1."""

    score: float
    details: Any = None


class BooleanEvaluationResult(BaseModel):
    """Yes or no."""

    score: bool
    details: Any = None


class ErrorEvaluationResult(BaseModel):
    """Judging broke off; the details say why. It has no score, whatever it says."""

    score: float = 0.0
    details: Any = None


ConfigT = TypeVar("ConfigT", bound=BaseEvaluatorConfig[Any])
JustificationT = TypeVar("JustificationT")


class BaseEvaluator(ABC, Generic[CriteriaT, ConfigT, JustificationT]):
    """A custom evaluator in the calling style of UiPath's documents.

    A subclass names its types, `BaseEvaluator[Criteria, Config, Justification]`, and has `get_evaluator_id` and an
    asynchronous `evaluate`. The configuration is `evaluator_config`.

    Raises:
        ConfigurationError: the configuration is wrong, or the subclass does not name its types.
    """

    def __init__(self, id: str | None = None, config: Any = None, **known: Any) -> None:
        self.id = id or self.get_evaluator_id()
        criteria, settings, justification = types_of(type(self))
        self.evaluation_criteria_type, self.config_type, self.justification_type = criteria, settings, justification
        given = {} if config is None else config
        self.evaluator_config: ConfigT = read_given(settings, given, self.id, ConfigurationError)
        self.name = known.get("name") or self.evaluator_config.name
        self.description = known.get("description") or self.evaluator_config.description

    @classmethod
    @abstractmethod
    def get_evaluator_id(cls) -> str:
        """The id by which eval sets refer to it."""

    @abstractmethod
    async def evaluate(self, agent_execution: AgentExecution, evaluation_criteria: CriteriaT) -> Any:
        """A `NumericEvaluationResult`, `BooleanEvaluationResult` or `ErrorEvaluationResult`."""

    def validate_evaluation_criteria(self, criteria: Any) -> CriteriaT:
        """The criteria as the model that was named. Raises `CriteriaError`."""
        checked: CriteriaT = read_given(self.evaluation_criteria_type, criteria, self.id, CriteriaError)
        return checked

    def validate_justification(self, justification: Any) -> Any:
        """The justification as the type that was named. Raises pydantic's `ValidationError`."""
        if self.justification_type is str:
            return "" if justification is None else str(justification)
        if isinstance(self.justification_type, type) and issubclass(self.justification_type, BaseModel):
            return self.justification_type.model_validate(justification)
        return justification

    async def validate_and_evaluate_criteria(
        self, agent_execution: AgentExecution, evaluation_criteria: Mapping[str, Any] | CriteriaT | None = None
    ) -> EvaluationResult:
        """The result for one execution, as every other evaluator gives it.

        Raises:
            CriteriaError: the criteria are wrong or missing.
        """
        from ._custom import type_of

        async def evaluate(criteria: Any) -> Any:
            return judgement_of(await self.evaluate(agent_execution, criteria))

        code = msgspec.structs.replace(
            code_of_base(type(self), self.get_evaluator_id()), make=lambda config: evaluate, wanted=("criteria",)
        )
        adapter = type_of(code)(self.id, self.evaluator_config.model_dump(exclude_unset=True))
        criteria: Any = evaluation_criteria
        return await adapter.validate_and_evaluate_criteria(agent_execution, criteria)


def code_of_base(kind: type, name: str) -> Code:
    """Return what such a class needs and takes. A subclass of UiPath's own base class is made the same way.

    Raises:
        ConfigurationError: the class does not name its types.
    """
    criteria, config, _ = types_of(kind)

    def make(settings: Any) -> Any:
        judge = _made(kind, settings.model_dump(exclude_unset=True))

        async def evaluate(execution: Execution, criteria: Any) -> Any:
            return judgement_of(await judge.evaluate(agent_execution_of(execution), criteria))

        return evaluate

    wanted = ("execution", "criteria")
    return Code(name=name, make=make, wanted=wanted, options=Options(), config=config, criteria=criteria)


def _made(kind: Any, config: dict[str, Any]) -> Any:
    """An instance of such a class; those of UiPath's own package are pydantic models, made of an evaluator's file."""
    known = {"id": kind.get_evaluator_id()}
    if issubclass(kind, BaseModel):
        return kind.model_validate({**known, "evaluatorConfig": config})
    return kind(**known, config=config)


def types_of(kind: type) -> tuple[Any, Any, Any]:
    """The types that a class names in `BaseEvaluator[Criteria, Config, Justification]`. Raises `ConfigurationError`."""
    for parent in kind.__mro__:
        for base in getattr(parent, "__orig_bases__", ()):
            arguments = get_args(base)
            if len(arguments) == 3 and get_origin(base) is not Generic and isinstance(arguments[0], type):
                return arguments
        arguments = getattr(parent, "__pydantic_generic_metadata__", {}).get("args", ())
        if len(arguments) == 3 and isinstance(arguments[0], type):
            return arguments  # type: ignore[no-any-return]
    raise ConfigurationError(f"{kind.__name__} does not name its types: BaseEvaluator[Criteria, Config, Justification]")


def judgement_of(given: Any) -> Any:
    """Return the judgement for such a result. An error is raised instead, with its details."""
    if type(given).__name__ == "ErrorEvaluationResult":
        raise RuntimeError(given.details if isinstance(given.details, str) else repr(given.details))
    if type(given).__name__ in ("NumericEvaluationResult", "BooleanEvaluationResult"):
        reason = given.details if isinstance(given.details, str) else ""
        return Judgement(given.score, reason, given.details)
    return given


class CallSpan(msgspec.Struct, frozen=True):
    """A call as a span, for code that reads spans: the trajectory is what is kept of them."""

    name: str
    attributes: dict[str, Any]
    start_time: int | None = None
    end_time: int | None = None
    status: Any = None
    parent: Any = None
    context: Any = None
    events: tuple[Any, ...] = ()


def agent_execution_of(execution: Execution) -> AgentExecution:
    """An execution in that style. Its trace has a span for each call."""
    made = AgentExecution(
        agent_input=execution.input,
        agent_output=execution.output,
        agent_trace=[_span(call) for call in execution.calls],
        expected_agent_behavior=execution.expected_behavior or None,
    )
    made.__dict__["trajectory"] = execution.trajectory
    return made


def _span(call: ToolCall) -> CallSpan:
    attributes: dict[str, Any] = {"openinference.span.kind": "TOOL", "tool.name": call.name}
    if "args" not in call.unrecorded:
        attributes["input.value"] = dump_json(call.args)
    if "output" not in call.unrecorded:
        attributes["output.value"] = call.output if isinstance(call.output, str) else dump_json(call.output)
    if call.error is not None:
        attributes["exception.message"] = call.error
    return CallSpan(call.name, attributes, call.start_ns, call.end_ns)
