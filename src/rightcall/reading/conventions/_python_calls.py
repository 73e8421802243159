"""Arguments of Python calls, as instrumentations write them down: those with a name, and those without."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.spans import NOTHING, CallRecord, Span, UnparsableError, arguments

_KEYS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
_WRITTEN_OBJECT = lazy_pattern(r"<[\w.]+ object at 0x[0-9a-f]+>\Z", re.A)
"""The `repr` of a Python object."""


def python_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """A Python call kept as `{"args": […], "kwargs": {…}}`: positional arguments have no names.

    If the span has the tool's parameters, their order gives the names; otherwise the arguments are not known.
    """
    if not isinstance(value, dict) or not value or not value.keys() <= _KEYS:
        return value
    positional, named = value.get("args", NOTHING), value.get("kwargs", NOTHING)
    if positional is NOTHING or named is NOTHING:
        return NOTHING
    if not isinstance(positional, list) or not isinstance(named, dict):
        return value
    if not positional:
        return named
    # Objects of JSON have no order, but their text does, and producers write parameters in the order of the function.
    names = _parameter_names(attributes)
    if len(names) < len(positional):
        return NOTHING
    return {**dict(zip(names, positional, strict=False)), **named}


def smolagents_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Smolagents' call of a tool: `{"args", "kwargs", "sanitize_inputs_outputs"}`."""
    is_of_smolagents = call.span is not None and call.span.scope.endswith("smolagents")
    if isinstance(value, dict) and ("sanitize_inputs_outputs" in value or is_of_smolagents):
        return python_call(value, call, attributes)
    return value


def dspy_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """DSPy's `Tool.__call__`, which takes arguments by name alone: `{"kwargs": {…}}`."""
    if is_dspy(call.span) and isinstance(value, dict) and value.keys() == {"kwargs"}:
        return value["kwargs"]
    return value


def is_dspy(span: Span | None) -> bool:
    """Whether a span is of OpenInference's DSPy: its calls have the name of the tool in that of the span alone."""
    return span is not None and span.scope.endswith(".dspy")


def llamaindex_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """LlamaIndex's `FunctionTool.acall`, whose arguments OpenInference keeps as `{"kwargs"}`, or with `args` beside it.

    Where every parameter of the tool has a name there, none was given without one. The context of the workflow is no
    argument: LlamaIndex gives it to tools that have a parameter for it, which the model is not told of.
    """
    if not call.span or not call.span.name.endswith(("Tool.call", "Tool.acall", "Tool.__call__")):
        return value
    named = value.get("kwargs") if isinstance(value, dict) else None
    names = _parameter_names(attributes) if isinstance(named, dict) else []
    if not isinstance(named, dict) or not names:
        return python_call(value, call, attributes)
    told = {key: held for key, held in named.items() if key in names or not _is_object(held)}
    if value.keys() == {"kwargs"} and told.keys() >= set(names):
        return told
    return python_call({**value, "kwargs": told}, call, attributes)


def _is_object(value: Any) -> bool:
    return isinstance(value, str) and _WRITTEN_OBJECT.match(value) is not None


def _parameter_names(attributes: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters of a tool, in the order of its schema."""
    try:
        parameters = arguments(attributes.get("tool.parameters"))
    except UnparsableError:
        return []
    if not isinstance(parameters, dict):
        return []
    properties = parameters.get("properties")
    return list(properties if isinstance(properties, dict) else parameters)
