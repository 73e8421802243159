"""Models of custom evaluators, which may be pydantic's: values checked by them, with our messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from rightcall.errors import ConfigurationError, CriteriaError, RightcallError, nearest, shown
from rightcall.judging.core import UserModel, parse_model

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

ModelT = TypeVar("ModelT", bound="BaseModel | UserModel")
Mistake = tuple[tuple[str | int, ...], str]
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_WANTED = {
    "tuple_type": "a list is expected",
    "dict_type": "an object is expected",
    "model_type": "an object is expected",
    "string_type": "a text is expected",
    "bool_type": "true or false is expected",
    "float_type": "a number is expected",
}
"""What is expected, in the words of JSON; pydantic's own message where there is no better one."""


def is_model(kind: Any) -> bool:
    """Return whether a type is a model, pydantic's or ours."""
    # By its methods, because pydantic is imported only where the user's code imports it.
    return isinstance(kind, type) and hasattr(kind, "model_validate") and hasattr(kind, "model_fields")


def read_criteria(model: type[ModelT], value: Any, evaluator: str) -> ModelT:
    """Return the criteria that a user gave to custom code. Raises `CriteriaError`."""
    if issubclass(model, UserModel):
        return parse_model(model, value, evaluator, CriteriaError)
    subject = f"criteria of {evaluator!r}"
    mistakes: list[Mistake] = []
    made: ModelT = _read(model, value, CriteriaError, subject, mistakes)
    if mistakes:
        # An unknown key is often the missing one, misspelt, so it is the better one to report.
        first = min(mistakes, key=lambda mistake: not mistake[1].startswith("unknown key"))
        raise CriteriaError(f"{subject}: {_joined(mistakes)}", first[0])
    return made


def read_config(model: type[ModelT], value: Any, evaluator: str) -> ModelT:
    """Return the configuration that a user gave to custom code. Raises `ConfigurationError`."""
    if issubclass(model, UserModel):
        return parse_model(model, value, evaluator, ConfigurationError)
    subject = f"configuration of {evaluator!r}"
    mistakes: list[Mistake] = []
    made: ModelT = _read(model, value, ConfigurationError, subject, mistakes)
    if mistakes:
        raise ConfigurationError(f"{subject}: {_joined(mistakes)}")
    return made


def known_keys(given: dict[str, Any], model: type[Any], subject: str, error: type[RightcallError]) -> dict[str, Any]:
    """Return an object with its keys as a model has them. A key that it does not have is an error, unless it may."""
    fields = model.model_fields
    aliases = {field.alias for field in fields.values()}
    known = {key if key in aliases else snake(key, fields): value for key, value in given.items()}
    if getattr(model, "model_config", {}).get("extra") != "allow":
        for key in known:
            if key not in fields and key not in aliases:
                raise error(f"{subject}: unknown key {key!r}; {nearest(key, tuple(fields))}")
    return known


def snake(key: str, fields: Mapping[str, Any]) -> str:
    """Return a key in camelCase as the field that it means, if there is one."""
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
