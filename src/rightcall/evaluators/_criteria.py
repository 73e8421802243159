"""What users write for evaluators, as pydantic models, and the errors they get for mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    field_validator,
)
from pydantic.alias_generators import to_camel

from rightcall.errors import ConfigurationError, CriteriaError, RightcallError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.matchers import ArgsPolicy

ModelT = TypeVar("ModelT", bound=BaseModel)


class UserModel(BaseModel):
    """Data that a user writes: keys in snake_case or camelCase, unknown ones refused, values frozen."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        loc_by_alias=False,
        arbitrary_types_allowed=True,
        defer_build=True,  # of many models, a program uses a few
    )


def _parse(model: type[ModelT], value: Any, error: type[RightcallError], subject: str) -> ModelT:
    """The model of what a user wrote, given as a mapping or as the model itself.

    Raises:
        RightcallError: of the type `error`, naming each wrong key with what would be right.
    """
    if isinstance(value, model):
        return value
    if isinstance(value, BaseModel) or not isinstance(value, Mapping):
        raise error(f"{subject}: expected an object or a {model.__name__}, not {shown(value)}")
    try:
        return model.model_validate(dict(value))
    except ValidationError as problem:
        reasons = [text for _, text in mistakes(model, problem)]
        raise error(f"{subject}: {'; '.join(reasons[:5])}") from None


def mistakes(model: type[BaseModel], problem: ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """What is wrong with data that a user wrote: the place of each mistake, and a sentence with what would be right."""
    return [(details["loc"], _reason(model, details)) for details in problem.errors(include_url=False)]


def _reason(model: type[BaseModel], details: Any) -> str:
    location = details["loc"]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")[:200]
    if details["type"] == "extra_forbidden" and location[-1] in _known_keys(model, location[:-1]):
        return f"{path!r} is given twice, in snake_case and in camelCase"
    if details["type"] == "extra_forbidden":
        return f"unknown key {path!r}; {nearest(str(location[-1]), _known_keys(model, location[:-1]))}"
    if details["type"] == "missing":
        return f"{path!r} is missing"
    if isinstance(context := details.get("ctx", {}).get("error"), Exception):
        return f"{path}: {context}" if path else str(context)
    wanted = _WANTED.get(details["type"], details["msg"])
    return f"{path}: {wanted}, not {shown(details['input'])}"


_WANTED = {
    "tuple_type": "a list is expected",
    "dict_type": "an object is expected",
    "model_type": "an object is expected",
    "string_type": "a text is expected",
    "bool_type": "true or false is expected",
    "float_type": "a number is expected",
}
"""What is expected, in the words of JSON; pydantic's own message where there is no better one."""


def _known_keys(model: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    """The keys of the model at a location inside `model`."""
    for step in location:
        if step in model.model_fields:
            inner = next(_models_in(model.model_fields[step].annotation), None)
            model = inner or model
    fields = model.model_fields.items()
    return [field.alias if (field.alias or "").startswith("$") else name for name, field in fields]  # type: ignore[misc]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _tool_name(value: str) -> str:
    if not 0 < len(value) <= DEFAULT_LIMITS.name_length:
        raise ValueError(f"a tool's name has 1 to {DEFAULT_LIMITS.name_length:,} characters, this one {len(value):,}")
    return value


def _listed(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, (list, tuple, Mapping, str, bytes)):
        raise ValueError(f"a list is expected, not {shown(value)}")
    return value


def _not_empty(value: Any) -> Any:
    if not value:
        raise ValueError("is empty; expect at least one")
    return value


ItemsT = TypeVar("ItemsT")
Listed = Annotated[ItemsT, BeforeValidator(_listed)]
"""Expectations in order: a set has none."""

NotEmpty = Annotated[ItemsT, BeforeValidator(_listed), AfterValidator(_not_empty)]
"""Expectations that must not be empty: nothing expected is a mistake here, not a score."""

ToolName: TypeAlias = Annotated[StrictStr, AfterValidator(_tool_name)]
Threshold: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, strict=True)]


_POLICIES: tuple[str, ...] = get_args(ArgsPolicy)


def _policy(value: Any) -> Any:
    written = value.lower() if isinstance(value, str) else ""
    if written not in _POLICIES:
        raise ValueError(f"unknown argument policy {shown(value)}; {nearest(written, _POLICIES)}")
    return written


Policy: TypeAlias = Annotated[ArgsPolicy, BeforeValidator(_policy)]


class ExpectedCall(UserModel):
    """One expected call: the tool's name and, where they matter, its arguments with any matchers in them."""

    name: ToolName
    args: Any = None

    @field_validator("args")
    @classmethod
    def _is_object(cls, value: Any) -> Any:
        if isinstance(value, (str, bytes, int, float, list, tuple)):
            raise ValueError(f"arguments are an object, not {shown(value)}")
        return value


def _call_from_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Call = Annotated[ExpectedCall, BeforeValidator(_call_from_name)]
"""An expected call, or its name alone."""


class Criteria(UserModel):
    """What an evaluator compares a trajectory with; every kind of criteria can narrow down the calls it looks at."""

    ignore_tools: Listed[tuple[StrictStr, ...]] = ()
    """Names of tools whose calls are left out."""
    agent: StrictStr | None = None
    """Only this agent's calls count."""
    top_level: StrictBool = False
    """Only calls that no other tool made count."""
    parallel: Literal["in_order", "any_order"] = "in_order"
    """With `any_order`, neighbouring calls of one parallel group may come in any order."""

    def __copy__(self) -> Criteria:
        return _without_plans(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Criteria:
        return _without_plans(super().__deepcopy__(memo))

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        kept = {key: value for key, value in state["__dict__"].items() if key not in _DERIVED}
        return {**state, "__dict__": kept}

    @cached_property
    def takes_all(self) -> bool:
        """Whether they look at every call, in the order it was made."""
        narrowed = self.ignore_tools or self.top_level or self.agent is not None
        return not narrowed and self.parallel == "in_order"

    @cached_property
    def plans(self) -> dict[Any, Any]:
        """What evaluators compiled from these criteria, by evaluator."""
        return {}


_DERIVED = ("plans", "takes_all")


def _without_plans(copied: Criteria) -> Criteria:
    """A copy may be changed, and then what was compiled is no longer true of it."""
    for name in _DERIVED:
        copied.__dict__.pop(name, None)
    return copied


class Config(UserModel):
    """How an evaluator judges, whatever it is given."""

    name: StrictStr = ""
    description: StrictStr = ""
    threshold: Threshold = 1.0
    """The score from which a trajectory passes."""
    default_evaluation_criteria: Any = None
    """The criteria that are used where none are given."""


def parse_criteria(model: type[ModelT], value: Any, evaluator: str) -> ModelT:
    """The criteria that a user gave to an evaluator. Raises `CriteriaError`."""
    return value if value.__class__ is model else _parse(model, value, CriteriaError, f"criteria of {evaluator!r}")


def parse_config(model: type[ModelT], value: Any, evaluator: str) -> ModelT:
    """The configuration that a user gave to an evaluator. Raises `ConfigurationError`."""
    return _parse(model, value, ConfigurationError, f"configuration of {evaluator!r}")
