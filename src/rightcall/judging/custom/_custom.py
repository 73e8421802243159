"""Adapters that make custom evaluators behave like built-in ones: functions, classes, and UiPath-style subclasses."""

from __future__ import annotations

import copy
import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

import msgspec
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from rightcall.errors import ConfigurationError, CriteriaError, RightcallError, nearest, shown
from rightcall.judging.core import (
    CODE_OF_YOURS,
    AgentExecution,
    AsyncConfig,
    AsyncEvaluator,
    Conclusion,
    Criteria,
    Evaluator,
    Execution,
    OverallEvaluator,
    Row,
    in_thread,
    is_score,
    parse_model,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import dump_json
from rightcall.values.results import CustomJustification, EvaluationResult
from rightcall.values.trajectory import ToolCall

from ._code import Code, Judgement, Options, code_of, known_keys, plain_details, read_given, result_of, snake

_OURS = tuple(AsyncConfig.model_fields)


class CustomEvaluator(AsyncEvaluator[AsyncConfig, Criteria]):
    """Judge by the user's code. A plain function runs in a thread, an asynchronous one in the event loop.

    An exception, a return value that is not a score, and a timeout are errors. The code gets copies, so it cannot
    change what was recorded.
    """

    code: ClassVar[Code]
    justification_type = CustomJustification

    def __init__(
        self, id: str | None = None, config: Mapping[str, Any] | None = None, *, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        name = id or self.type_id
        ours, theirs = _split(dict(config or {}), self.code, name)
        self.settings = _settings(self.code, theirs, name)
        self.reads_calls = self.code.reads_calls
        self.fingerprint = f"{self.fingerprint} {self.settings!r}"
        super().__init__(id, {**_defaults(self.code, self.settings), **ours}, limits=limits)
        try:
            self._call = self.code.make(self.settings)
        except RightcallError:
            raise
        except Exception as problem:  # noqa: BLE001 - any exception of the user's code is reported
            raise ConfigurationError(
                f"{self.code.name} raised when created: {type(problem).__name__}: {problem}"
            ) from None

    def criteria(self, value: Any = None, *, has_matchers: bool = True) -> Any:
        """Validate criteria by the model of the code, if it has one.

        Raises:
            CriteriaError: they are wrong or missing, or the code takes none.
        """
        default = self.config.default_evaluation_criteria
        value = default if value is None else value
        model = self.code.criteria
        if not self.code.takes_criteria:
            if value not in (None, True, {}):
                inside = tuple(value)[:1] if isinstance(value, dict) else ()
                raise CriteriaError(f"{self.id!r} takes no criteria; write 'true', not {shown(value)}", inside)
            return None
        if model is None:
            return value
        if isinstance(value, model):
            return value
        if value is None or value is True:
            value = {}
        if isinstance(value, Mapping):
            value = known_keys(dict(value), model, f"criteria of {self.id!r}", CriteriaError)
        return read_given(model, value, self.id, CriteriaError)

    async def assess(self, execution: Execution, criteria: Any) -> EvaluationResult:
        """Run the user's code."""
        given = self._arguments(execution, criteria)
        if inspect.iscoroutinefunction(self._call):
            return result_of(await self._call(**given), self, execution)
        value = await in_thread(lambda: self._call(**given))
        return result_of(await value if inspect.isawaitable(value) else value, self, execution)

    def _arguments(self, execution: Execution, criteria: Any) -> dict[str, Any]:
        execution = copy.deepcopy(execution)
        known = {
            "execution": execution,
            "trajectory": execution.trajectory,
            "calls": execution.calls,
            "output": execution.output,
            "input": execution.input,
            "metadata": execution.metadata,
            "expected_behavior": execution.expected_behavior,
            "case_id": execution.case_id,
            "criteria": copy.deepcopy(criteria),
            "config": self.settings,
        }
        return {name: known[name] for name in self.code.wanted}


def custom_type(target: Any, name: str, fingerprint: str = "") -> type[Evaluator[Any, Any, Any]]:
    """Return the evaluator class for a function or class of the user. `name` is its name in the eval set.

    Raises:
        ConfigurationError: it cannot be an evaluator.
    """
    if isinstance(target, type) and issubclass(target, Evaluator):
        if not isinstance(getattr(target, "type_id", None), str):
            raise ConfigurationError(f"{name} has no 'type_id', the text by which an evaluator is known")
        return target
    if isinstance(target, type) and callable(getattr(target, "get_evaluator_id", None)):
        code = code_of_base(target, name)
    else:
        code = code_of(target, name)
    return type_of(code, fingerprint)


def type_of(code: Code, fingerprint: str = "") -> type[CustomEvaluator]:
    """Return an evaluator class for custom code."""
    kind = {"type_id": code.name, "code": code, "fingerprint": fingerprint, "criteria_type": code.criteria or Criteria}
    return type("CustomEvaluator", (CustomEvaluator,), kind)


def _split(given: dict[str, Any], code: Code, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a configuration into the keys of every evaluator and those of this code. Shared keys go to both."""
    ours, theirs = {}, {}
    for key, value in given.items():
        plain = snake(key, AsyncConfig.model_fields)
        if plain in _OURS:
            ours[plain] = value
        if plain not in _OURS or (code.config is not None and plain in code.config.model_fields):
            theirs[key] = value
    if code.config is not None:
        return ours, known_keys(theirs, code.config, f"configuration of {name!r}", ConfigurationError)
    if theirs:
        unknown = next(iter(theirs))
        raise ConfigurationError(f"configuration of {name!r}: unknown key {unknown!r}; {nearest(unknown, _OURS)}")
    return ours, {}


def _settings(code: Code, theirs: dict[str, Any], name: str) -> Any:
    if code.config is None:
        return None
    return read_given(code.config, theirs, name, ConfigurationError)


def _defaults(code: Code, settings: Any) -> dict[str, Any]:
    """Return defaults for settings that the eval set lacks, from the code's configuration or its decorator."""
    found: dict[str, Any] = {}
    for key in ("threshold", "timeout"):
        value: Any = getattr(settings, key, None)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        found[key] = float(value) if is_number else getattr(code.options, key)
    found["default_evaluation_criteria"] = getattr(settings, "default_evaluation_criteria", None)
    return {key: value for key, value in found.items() if value is not None}


def function_of_rows(target: Any, name: str) -> Callable[..., Any]:
    """Check a user's function that judges all cases together, and return it.

    Raises:
        ConfigurationError: it is not a function, or does not take `rows`.
    """
    if not callable(target) or isinstance(target, type):
        raise ConfigurationError(
            f"{name} is not a function; an evaluator of all cases together is a function of 'rows'"
        )
    parameters = list(inspect.signature(target).parameters.values())
    if not parameters or parameters[0].name != "rows" or any(one.default is one.empty for one in parameters[1:]):
        raise ConfigurationError(f"{name} does not take 'rows', which an evaluator of all cases together needs")
    return target  # type: ignore[no-any-return]


class CustomOverall(OverallEvaluator):
    """Judge all cases together by a user's function, which takes `rows` and returns a score.

    Raises:
        ConfigurationError: the configuration is wrong.
    """

    def __init__(self, function: Callable[..., Any], id: str, config: Mapping[str, Any]) -> None:
        self.id = id
        self._function = function
        self._config = parse_model(AsyncConfig, config, id, ConfigurationError)
        self.threshold = self._config.threshold

    def see(self, row: Row) -> Row:
        """Return the whole row: the function may use any part of it."""
        return row

    def tally(self) -> _RowTally:
        """Return an empty tally."""
        return _RowTally(self._function, self.id, self._config.timeout)


class UnimportedOverall(OverallEvaluator):
    """A placeholder for custom code that is not imported here. Its result is an error."""

    def __init__(self, type_id: str, id: str) -> None:
        self.id, self.type_id, self.threshold = id, type_id, 1.0

    def see(self, row: Row) -> None:
        """Keep nothing."""

    def tally(self) -> _EmptyTally:
        """Return a tally that counts nothing."""
        return _EmptyTally()


class _EmptyTally:
    def add(self, seen: Any) -> None:
        return

    def conclude(self) -> Conclusion:
        return Conclusion(reason=CODE_OF_YOURS, is_error=True)


class _RowTally:
    def __init__(self, function: Callable[..., Any], id: str, timeout: float) -> None:
        self._function, self._id, self._timeout = function, id, timeout
        self._rows: list[Row] = []

    def add(self, seen: Any) -> None:
        self._rows.append(seen)

    def conclude(self) -> Conclusion:
        given: list[Any] = []
        thread = threading.Thread(target=self._ask, args=(given,), name="rightcall-evaluator", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if not given:
            return Conclusion(reason=f"{self._id!r} did not answer within {self._timeout:g} s", is_error=True)
        return given[0] if isinstance(given[0], Conclusion) else self._conclusion(given[0])

    def _ask(self, given: list[Any]) -> None:
        try:
            value = self._function(list(self._rows))
            if inspect.iscoroutine(value):
                import asyncio

                value = asyncio.run(value)
            given.append(value)
        except (Exception, SystemExit, KeyboardInterrupt) as problem:  # noqa: BLE001 - a fault affects this result only
            reason = f"{type(problem).__name__} while judging: {problem}"
            given.append(Conclusion(reason=reason, is_error=True))

    def _conclusion(self, value: Any) -> Conclusion:
        judgement = value if isinstance(value, Judgement) else Judgement(value)
        if value is None or (judgement.score is not None and not is_score(judgement.score)):
            wanted = "an evaluator returns true, false, a number from 0 to 1, or a Judgement"
            return Conclusion(reason=f"{self._id!r} returned {judgement.score!r:.80}; {wanted}", is_error=True)
        if judgement.score is None:
            return Conclusion(reason=judgement.reason or "the evaluator could not tell")
        details, _ = plain_details(judgement.details, DEFAULT_LIMITS)
        reason = judgement.reason or f"scored {judgement.score:.4g} over {len(self._rows):,} cases"
        return Conclusion(score=float(judgement.score), reason=str(reason)[:1000], details=details)


class BaseEvaluationCriteria(BaseModel):
    """The expectation of one case; to be subclassed. Keys are written in snake_case or camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


CriteriaT = TypeVar("CriteriaT", bound=BaseEvaluationCriteria)


class BaseEvaluatorConfig(BaseModel, Generic[CriteriaT]):
    """The configuration of an evaluator; to be subclassed."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    name: str = ""
    description: str = ""
    default_evaluation_criteria: CriteriaT | None = None


class BaseEvaluatorJustification(BaseModel):
    """The expected and the actual behaviour in words; to be subclassed."""

    expected: str
    actual: str


class NumericEvaluationResult(BaseModel):
    """A score from 0 to 1."""

    score: float
    details: Any = None


class BooleanEvaluationResult(BaseModel):
    """A score of true or false."""

    score: bool
    details: Any = None


class ErrorEvaluationResult(BaseModel):
    """An error while judging, with the reason in `details`. Its score is ignored."""

    score: float = 0.0
    details: Any = None


ConfigT = TypeVar("ConfigT", bound=BaseEvaluatorConfig[Any])
JustificationT = TypeVar("JustificationT")


class BaseEvaluator(ABC, Generic[CriteriaT, ConfigT, JustificationT]):
    """A custom evaluator with the interface of UiPath's documentation.

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
        """Return the id by which eval sets refer to it."""

    @abstractmethod
    async def evaluate(self, agent_execution: AgentExecution, evaluation_criteria: CriteriaT) -> Any:
        """Return a `NumericEvaluationResult`, `BooleanEvaluationResult` or `ErrorEvaluationResult`."""

    def validate_evaluation_criteria(self, criteria: Any) -> CriteriaT:
        """Validate criteria by the named model. Raises `CriteriaError`."""
        checked: CriteriaT = read_given(self.evaluation_criteria_type, criteria, self.id, CriteriaError)
        return checked

    def validate_justification(self, justification: Any) -> Any:
        """Validate a justification by the named type. Raises pydantic's `ValidationError`."""
        if self.justification_type is str:
            return "" if justification is None else str(justification)
        if isinstance(self.justification_type, type) and issubclass(self.justification_type, BaseModel):
            return self.justification_type.model_validate(justification)
        return justification

    async def validate_and_evaluate_criteria(
        self, agent_execution: AgentExecution, evaluation_criteria: Mapping[str, Any] | CriteriaT | None = None
    ) -> EvaluationResult:
        """Evaluate one execution, and return a result like that of every other evaluator.

        Raises:
            CriteriaError: the criteria are wrong or missing.
        """

        async def evaluate(criteria: Any) -> Any:
            return judgement_of(await self.evaluate(agent_execution, criteria))

        code = msgspec.structs.replace(
            code_of_base(type(self), self.get_evaluator_id()), make=lambda config: evaluate, wanted=("criteria",)
        )
        adapter = type_of(code)(self.id, self.evaluator_config.model_dump(exclude_unset=True))
        criteria: Any = evaluation_criteria
        return await adapter.validate_and_evaluate_criteria(agent_execution, criteria)


def code_of_base(kind: type, name: str) -> Code:
    """Inspect a `BaseEvaluator` subclass, or a subclass of UiPath's own base class.

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
    """Create an instance; classes of UiPath's package are pydantic models, validated from an evaluator's file."""
    known = {"id": kind.get_evaluator_id()}
    if issubclass(kind, BaseModel):
        return kind.model_validate({**known, "evaluatorConfig": config})
    return kind(**known, config=config)


def types_of(kind: type) -> tuple[Any, Any, Any]:
    """Return the types named in `BaseEvaluator[Criteria, Config, Justification]`. Raises `ConfigurationError`."""
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
    """Turn a UiPath-style result into a judgement. Raises `RuntimeError` with the details of an error result."""
    if type(given).__name__ == "ErrorEvaluationResult":
        raise RuntimeError(given.details if isinstance(given.details, str) else repr(given.details))
    if type(given).__name__ in ("NumericEvaluationResult", "BooleanEvaluationResult"):
        reason = given.details if isinstance(given.details, str) else ""
        return Judgement(given.score, reason, given.details)
    return given


class CallSpan(msgspec.Struct, frozen=True):
    """A call as a span, for code that reads spans."""

    name: str
    attributes: dict[str, Any]
    start_time: int | None = None
    end_time: int | None = None
    status: Any = None
    parent: Any = None
    context: Any = None
    events: tuple[Any, ...] = ()


def agent_execution_of(execution: Execution) -> AgentExecution:
    """Convert an execution to UiPath's style. Its trace has a span for each call."""
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
