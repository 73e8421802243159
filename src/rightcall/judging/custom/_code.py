"""Custom evaluation code: its models, its arguments, its settings, and results made from its return values."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints, overload

import msgspec

from rightcall.errors import (
    ConfigurationError,
    CriteriaError,
    InputError,
    LimitError,
    RightcallError,
    kind_of,
    nearest,
    shown,
)
from rightcall.judging.core import AsyncEvaluator, Execution, UserModel, is_score, parse_model
from rightcall.limits import Limits
from rightcall.values.decoding import admit, dump_json
from rightcall.values.results import CustomJustification, EvaluationResult, Finding

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

PARAMETERS = (
    *("trajectory", "calls", "output", "input", "criteria", "config"),
    *("metadata", "expected_behavior", "case_id", "execution"),
)
"""The names of parameters that an evaluator may have. They are filled by name."""
_MARK = "__rightcall_evaluator__"
_CALLS = {"trajectory", "calls", "execution"}
TargetT = TypeVar("TargetT", bound=Callable[..., Any])
ModelT = TypeVar("ModelT", bound="BaseModel | UserModel")
Mistake = tuple[tuple[str | int, ...], str]
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_WANTED = {
    "tuple_type": "a list is expected",
    "dict_type": "an object is expected",
    "model_type": "an object is expected",
    "string_type": "a string is expected",
    "bool_type": "true or false is expected",
    "float_type": "a number is expected",
}
"""Messages in JSON terms for some types of pydantic errors; others keep pydantic's message."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of the decorator."""

    threshold: float | None = None
    timeout: float | None = None
    config: type[Any] | None = None
    criteria: type[Any] | None = None
    reads_calls: bool | None = None


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """A custom evaluator: how to create it, and what it takes."""

    name: str
    make: Callable[[Any], Callable[..., Any]]
    """Returns the function to call for each case, given the configuration."""
    wanted: tuple[str, ...] = ()
    """The names of the arguments to pass."""
    options: Options = Options()
    config: type[Any] | None = None
    criteria: type[Any] | None = None
    reads_calls: bool = True

    @property
    def takes_criteria(self) -> bool:
        """Whether a case may have criteria for it."""
        return self.criteria is not None or "criteria" in self.wanted


@overload
def evaluator(target: TargetT, /) -> TargetT: ...


@overload
def evaluator(
    *,
    threshold: float | None = ...,
    timeout: float | None = ...,
    config: type[Any] | None = ...,
    criteria: type[Any] | None = ...,
    reads_calls: bool | None = ...,
) -> Callable[[TargetT], TargetT]: ...


def evaluator(target: Any = None, /, **options: Any) -> Any:
    """Mark a function, or a class with a method `evaluate`, as an evaluator, and return it unchanged.

    Its parameters are filled by name: `trajectory`, `calls`, `output`, `input`, `criteria`, `config`, `metadata`,
    `expected_behavior`, `case_id`, `execution`. It returns true, false, a number from 0 to 1, a `Judgement` or an
    `EvaluationResult`, and may be asynchronous.

    Args:
        target: The function or the class.
        options: `threshold`, the score from which a case passes, 1.0 by default. `timeout`, the seconds that one
            evaluation may take. `config` and `criteria`, pydantic models of what may be written in an eval set; by
            default the annotations of these parameters, or `Config` and `Criteria` inside the class.
            `reads_calls`, whether a trace without tool data is not measured; by default whether the evaluator takes
            the calls.

    Raises:
        ConfigurationError: a parameter has none of these names, or an option is not known.
    """
    if target is None:
        return lambda marked: evaluator_with(marked, options)
    return evaluator_with(target, options)


def evaluator_with(target: Any, options: Mapping[str, Any]) -> Any:
    """Mark the target, and return it. Raises `ConfigurationError`."""
    for name in options:
        if name not in Options.__struct_fields__:
            raise ConfigurationError(f"an evaluator has no option {name!r}; {nearest(name, Options.__struct_fields__)}")
    # An attribute instead of a wrapper: the function stays the same for its own tests and for `inspect`.
    setattr(target, _MARK, Options(**options))
    code_of(target, getattr(target, "__name__", "evaluator"))
    return target


def code_of(target: Any, name: str) -> Code:
    """Inspect a user's function or class.

    Raises:
        ConfigurationError: it is neither, or has a parameter that cannot be filled.
    """
    options: Options = getattr(target, _MARK, Options())
    if isinstance(target, type):
        return _code_of_class(target, name, options)
    if not callable(target):
        raise ConfigurationError(
            f"{name} is {kind_of(target)}; an evaluator is a function, or a class with a method 'evaluate'"
        )
    wanted = _wanted(target, name)
    hints = _hints(target, name, wanted)
    return Code(
        name=name,
        make=lambda config: target,
        wanted=wanted,
        options=options,
        config=options.config or _model(hints.get("config")),
        criteria=options.criteria or _model(hints.get("criteria")),
        reads_calls=bool(_CALLS & set(wanted)) if options.reads_calls is None else options.reads_calls,
    )


def _code_of_class(target: type, name: str, options: Options) -> Code:
    method = getattr(target, "evaluate", None)
    if not callable(method):
        raise ConfigurationError(f"{name} has no method 'evaluate', by which an evaluator judges")
    wanted = _wanted(method, f"{name}.evaluate", skip=1)
    hints = _hints(method, name, wanted)
    return Code(
        name=name,
        make=lambda config: _instance(target, config, name).evaluate,
        wanted=wanted,
        options=options,
        config=options.config or _model(getattr(target, "Config", None)) or _model(hints.get("config")),
        criteria=options.criteria or _model(getattr(target, "Criteria", None)) or _model(hints.get("criteria")),
        reads_calls=bool(_CALLS & set(wanted)) if options.reads_calls is None else options.reads_calls,
    )


def _instance(kind: type, config: Any, name: str) -> Any:
    """Create an instance of a class, with the configuration if its constructor takes it."""
    parameters = list(inspect.signature(kind).parameters.values())
    needed = [one for one in parameters if one.default is one.empty and one.kind in _NAMED]
    if len(needed) > 1 or (needed and needed[0].name != "config"):
        listed = ", ".join(one.name for one in needed)
        raise ConfigurationError(f"{name} needs {listed} in its constructor, which takes 'config' or nothing")
    takes = any(one.name == "config" for one in parameters)
    made = kind(config=config) if takes else kind()
    if not takes and config is not None and not hasattr(made, "config"):
        made.config = config
    return made


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _wanted(function: Any, name: str, skip: int = 0) -> tuple[str, ...]:
    """Return the parameters of a function that can be filled by name; others must have a default."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        raise ConfigurationError(f"{name} has no signature that can be read; wrap it in a function") from None
    wanted = []
    for one in parameters:
        if one.name in PARAMETERS and one.kind in _NAMED:
            wanted.append(one.name)
        elif one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise ConfigurationError(f"{name} has the parameter {one.name!r}; {nearest(one.name, PARAMETERS)}")
    return tuple(wanted)


def _hints(function: Any, name: str, wanted: tuple[str, ...]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception as problem:  # noqa: BLE001 - an annotation may raise anything, and is needed only for models
        if {"criteria", "config"} & set(wanted):
            reason = f"its annotations cannot be read ({type(problem).__name__}: {shown(str(problem))})"
            raise ConfigurationError(f"{name}: {reason}; name the models with @evaluator(criteria=…)") from None
        return {}


def _model(annotation: Any) -> type[Any] | None:
    return annotation if is_model(annotation) else None


_REASON = 1_000


class Judgement(msgspec.Struct, frozen=True):
    """The return value of a custom evaluator: a score, the reason, and any details.

    The score is true, false, or a number from 0 to 1; `None` if what it depends on was not recorded.
    """

    score: float | bool | None
    reason: str = ""
    """One sentence, shown if the case does not pass."""
    details: Any = None
    """Anything that can be encoded as JSON: an object, a pydantic model, a dataclass."""


def result_of(given: Any, evaluator: AsyncEvaluator[Any, Any], execution: Execution) -> EvaluationResult:
    """Turn a returned value into a result; a value that is not a score is an error, RC402."""
    if isinstance(given, EvaluationResult):
        return msgspec.structs.replace(given, evaluator=evaluator.id)
    if not isinstance(given, Judgement):
        given = Judgement(given) if given is not None else given
    if not isinstance(given, Judgement):
        return _refused(None, evaluator, execution)
    if given.score is None:
        return evaluator.unmeasured(execution, given.reason or "the evaluator could not tell")
    if not is_score(given.score):
        return _refused(given.score, evaluator, execution)
    details, warnings = plain_details(given.details, evaluator.limits)
    score, reason = float(given.score), str(given.reason)[:_REASON]
    justification = CustomJustification(reason=reason, details=details)
    threshold = evaluator.config.threshold
    message = reason or f"{evaluator.id!r} scored {score:.4g}, and {threshold:.4g} is needed"
    findings = () if score >= threshold else (Finding("RC109", message),)
    return evaluator.scored(execution, score, justification, findings, warnings)


def plain_details(details: Any, limits: Limits) -> tuple[Any, tuple[str, ...]]:
    """Return details as plain JSON, or None and a warning if they are not JSON or too large."""
    try:
        plain = admit(_dumped(details), limits)
        size = len(dump_json(plain))
    except (InputError, LimitError, ValueError, TypeError) as problem:
        return None, (f"the details of the evaluator were left out, they are not JSON: {problem}",)
    if size > limits.explanation_bytes:
        most = f"{limits.explanation_bytes:,}"
        return None, (f"the details of the evaluator were left out: {size:,} characters; the limit is {most}",)
    return plain, ()


def _dumped(details: Any) -> Any:
    if is_model(type(details)):
        return details.model_dump(mode="json")
    if isinstance(details, msgspec.Struct) or (dataclasses.is_dataclass(details) and not isinstance(details, type)):
        return msgspec.to_builtins(details)
    return details


def _refused(given: Any, evaluator: AsyncEvaluator[Any, Any], execution: Execution) -> EvaluationResult:
    wanted = "an evaluator returns true, false, a number from 0 to 1, or a Judgement"
    return evaluator.broken(execution, "RC402", f"{evaluator.id!r} returned {shown(given)}; {wanted}")


def is_model(kind: Any) -> bool:
    """Return whether a type is a pydantic model or a `UserModel`."""
    # Checked by its attributes, because pydantic is imported only if the user's code imports it.
    return isinstance(kind, type) and hasattr(kind, "model_validate") and hasattr(kind, "model_fields")


def read_given(
    model: type[ModelT], value: Any, evaluator: str, error: type[ConfigurationError] | type[CriteriaError]
) -> ModelT:
    """Validate the criteria or, if `error` is `ConfigurationError`, the configuration of custom code.

    Raises:
        ConfigurationError, CriteriaError: the `error`, if it does not fit the model.
    """
    if issubclass(model, UserModel):
        return parse_model(model, value, evaluator, error)
    subject = f"{'criteria' if error is CriteriaError else 'configuration'} of {evaluator!r}"
    mistakes: list[Mistake] = []
    made: ModelT = _read(model, value, error, subject, mistakes)
    if mistakes:
        # An unknown key is often a misspelt required one, so it is the better mistake to report.
        first = min(mistakes, key=lambda mistake: not mistake[1].startswith("unknown key"))
        raise error(f"{subject}: {_joined(mistakes)}", first[0])
    return made


def known_keys(given: dict[str, Any], model: type[Any], subject: str, error: type[RightcallError]) -> dict[str, Any]:
    """Return an object with keys spelt as the model's fields. Unknown keys are an error, unless they are allowed."""
    fields = model.model_fields
    aliases = {field.alias for field in fields.values()}
    known = {key if key in aliases else snake(key, fields): value for key, value in given.items()}
    if getattr(model, "model_config", {}).get("extra") != "allow":
        for key in known:
            if key not in fields and key not in aliases:
                raise error(f"{subject}: unknown key {key!r}; {nearest(key, tuple(fields))}")
    return known


def snake(key: str, fields: Mapping[str, Any]) -> str:
    """Convert a camelCase key to snake_case if the model has that field; else return it unchanged."""
    found = _CAPITAL.sub(lambda capital: f"_{capital[1]}", key).lower()
    return found if key not in fields and found in fields else key


def _read(model: Any, value: Any, error: type[RightcallError], subject: str, mistakes: list[Mistake]) -> Any:
    from pydantic import BaseModel, ValidationError

    if isinstance(value, model):
        return value
    if isinstance(value, BaseModel) or not isinstance(value, Mapping):
        raise error(f"{subject}: expected an object or a {model.__name__}, not {shown(value)}")
    try:
        return model.model_validate(dict(value))
    except ValidationError as problem:
        mistakes += _mistakes(model, problem)
        return None


def _joined(mistakes: list[Mistake]) -> str:
    return "; ".join([reason for _, reason in mistakes[:5]])


def _mistakes(model: type[BaseModel], problem: ValidationError) -> Iterator[Mistake]:
    for details in problem.errors(include_url=False):
        yield details["loc"], _reason(model, details)


def _reason(model: type[BaseModel], details: Any) -> str:
    location = details["loc"]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")[:200]
    if details["type"] == "extra_forbidden" and location[-1] in _known_at(model, location[:-1]):
        return f"{path!r} is given twice, in snake_case and in camelCase"
    if details["type"] == "extra_forbidden":
        return f"unknown key {path!r}; {nearest(str(location[-1]), _known_at(model, location[:-1]))}"
    if details["type"] == "missing":
        return f"{path!r} is missing"
    if isinstance(context := details.get("ctx", {}).get("error"), Exception):
        return f"{path}: {context}" if path else str(context)
    wanted = _WANTED.get(details["type"], details["msg"])
    return f"{path}: {wanted}, not {shown(details['input'])}"


def _known_at(model: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    """Return the keys of the model at a location inside `model`."""
    for step in location:
        if step in model.model_fields:
            model = next(_models_in(model.model_fields[step].annotation), model)
    return list(model.model_fields)


def _models_in(annotation: Any) -> Iterator[Any]:
    if is_model(annotation):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
