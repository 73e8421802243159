"""Models of data that users write, and messages about mistakes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from rightcall.errors import ConfigurationError, CriteriaError, RightcallError, nearest, shown

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


def parse_criteria(model: type[ModelT], value: Any, evaluator: str) -> ModelT:
    """The criteria that a user gave to an evaluator. Raises `CriteriaError`."""
    return value if value.__class__ is model else _parse(model, value, CriteriaError, f"criteria of {evaluator!r}")


def parse_config(model: type[ModelT], value: Any, evaluator: str) -> ModelT:
    """The configuration that a user gave to an evaluator. Raises `ConfigurationError`."""
    return _parse(model, value, ConfigurationError, f"configuration of {evaluator!r}")


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
    """Return the place of each mistake in data that a user wrote, and a sentence with what would be right."""
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
