"""Turn a request into the arguments of a Python function."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rightcall.errors import AgentError, shown

from ._agent import AgentRequest

_SESSION = ("session", "context")
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Arguments:
    """The parameters of a function, and how a request fills them.

    - An input object whose keys are the function's parameters is passed by name: every parameter without a default is
      there, and no key is unknown.
    - Otherwise a function with one required parameter gets the input as it is.
    - A parameter after the first that is called `session` or `context` gets the session, unless the input has that key.
      Without a `session` in the eval set it gets an object that is empty at first, and the same in all turns.
    - A function without parameters is called without any, if the input is empty.

    A parameter annotated with a pydantic model, a dataclass, a msgspec struct or an enum gets one made from its value.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        parameters = list(_signature(function, name).parameters.values())
        self._session = next((one.name for one in parameters[1:] if one.name in _SESSION), None)
        rest = [one for one in parameters if one.name != self._session]
        self._named = [one for one in rest if one.kind not in (inspect.Parameter.VAR_KEYWORD, one.VAR_POSITIONAL)]
        self._takes_any_name = any([one.kind is one.VAR_KEYWORD for one in rest])
        self._takes_any_number = any([one.kind is one.VAR_POSITIONAL for one in rest])
        self._hints = _hints(function)

    def of(self, request: AgentRequest) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments for a request.

        Raises:
            AgentError: the input does not fit the parameters, or cannot be converted to an annotated type.
        """
        positional, named = self._placed(request.input)
        if self._session is not None and self._session not in named:
            named[self._session] = request.memory if request.session is None else request.session
        return positional, named

    def _placed(self, given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if isinstance(given, Mapping) and given and not self._unfit(given):
            return self._by_name(given)
        required = [one for one in self._named if one.default is one.empty]
        if len(required) == 1 or (not required and self._named):
            only = (required or self._named)[0]
            value = self._converted(only, given)
            return ((value,), {}) if only.kind in _PLACED else ((), {only.name: value})
        if not required and self._takes_any_number:
            return (given,), {}
        if not required and (given is None or given in ({}, "")):
            return (), {}
        raise AgentError(self._misfit_message(given, len(required)))

    def _by_name(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        known = {one.name: one for one in self._named}
        made = {key: self._converted(known[key], value) if key in known else value for key, value in given.items()}
        only_placed = [one.name for one in self._named if one.kind is one.POSITIONAL_ONLY and one.name in made]
        return tuple(made.pop(name) for name in only_placed), made

    def _unfit(self, given: Mapping[str, Any]) -> str:
        """Return why an object cannot be passed by name; empty if it can."""
        names = {one.name for one in self._named}
        missing = [one.name for one in self._named if one.default is one.empty and one.name not in given]
        unknown = [str(key) for key in given if key not in names and key != self._session]
        if missing:
            return f"it has no {', '.join(map(repr, missing))}"
        if unknown and not self._takes_any_name:
            return f"the function has no parameter {', '.join(map(repr, unknown[:5]))}"
        return ""

    def _misfit_message(self, given: Any, required: int) -> str:
        if not self._named:
            return f"{self._name} takes no parameters, but the input is {shown(given)}; add one"
        wanted = ", ".join(one.name for one in self._named)
        if isinstance(given, Mapping):
            return f"{self._name}({wanted}) cannot be called with the input {shown(given)}: {self._unfit(given)}"
        return (
            f"{self._name}({wanted}) needs {required} arguments; an input that is an object with these keys would "
            f"give them, but it is {shown(given)}"
        )

    def _converted(self, parameter: inspect.Parameter, value: Any) -> Any:
        wanted = self._hints.get(parameter.name)
        try:
            return convert(wanted, value)
        except (TypeError, ValueError) as problem:
            kind = getattr(_class_of(wanted), "__name__", wanted)
            reason = _reason(problem)
            raise AgentError(f"{self._name}: the input does not make a {kind} for {parameter.name}: {reason}") from None


def convert(wanted: Any, value: Any) -> Any:
    """Convert a value to an annotated model, dataclass, struct or enum; keep it for any other annotation.

    Raises:
        ValueError: the value does not fit the annotation.
        TypeError: the value does not fit the annotation.
    """
    kind = _class_of(wanted)
    if kind is None:
        return value
    if issubclass(kind, enum.Enum):
        return kind(value)
    if not isinstance(value, Mapping):
        return value
    if callable(validate := getattr(kind, "model_validate", None)):
        return validate(value)
    if hasattr(kind, "__pydantic_validator__"):
        return kind(**value)
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass(kind, value)
    return msgspec.convert(value, kind) if issubclass(kind, msgspec.Struct) else value


def _reason(problem: Exception) -> str:
    """Return why a value did not fit, on one line; of pydantic's errors the first five, each with its location."""
    if callable(errors := getattr(problem, "errors", None)):
        found = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in errors()[:5]]
        return "; ".join(found)
    return " ".join(str(problem).split())


def _dataclass(kind: type, value: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: convert(hints.get(name), item) for name, item in value.items()})


def _class_of(wanted: Any) -> type | None:
    """Return the class that an annotation names, alone or in a union with `None`."""
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        [*others] = [one for one in typing.get_args(wanted) if one is not type(None)]
        wanted = others[0] if len(others) == 1 else None
    if typing.get_origin(wanted) is typing.Annotated:
        wanted = typing.get_args(wanted)[0]
    return wanted if isinstance(wanted, type) and typing.get_origin(wanted) is None else None


def _signature(function: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as problem:
        raise AgentError(f"{name}: its parameters are not known ({problem}); wrap it in a function") from None


def _hints(annotated: Any) -> dict[str, Any]:
    target = inspect.unwrap(annotated) if callable(annotated) else annotated
    if not isinstance(target, type) and not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating annotations runs the agent's code; unresolved ones are ignored
        return {}
