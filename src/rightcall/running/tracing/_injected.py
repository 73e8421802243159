"""Parameters that a framework or a program fills in: they are not arguments, because no model gave them.

Most real tools of Pydantic AI and ADK take a context. Its `repr` has times and addresses of memory, so that a recording
with it is never found again, and it holds prompts and whatever is in `deps`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Set
from typing import Any

_PLAIN = (str, int, float, bool, type(None), list, dict, tuple)
_FRAMEWORKS = frozenset(
    {
        *("pydantic_ai", "google", "agents", "langgraph", "langchain_core", "langchain", "mcp", "fastmcp", "strands"),
        *("agno", "autogen_core", "autogen_agentchat", "crewai", "llama_index", "smolagents", "haystack"),
    }
)
"""The packages of frameworks that pass something of their own to tools."""
_CONTEXTS = (
    *("Context", "ContextWrapper", "Runtime", "Config", "Token", "Callbacks", "RunManager", "Store", "Agent", "Team"),
    *("Session", "Events", "Queue"),
)
"""The ends of the names of such classes: `RunContext`, `ToolContext`, `ToolRuntime`, `RunnableConfig` …"""
_MARK = "Injected"
"""The beginning of LangChain's marks in `Annotated`: `InjectedState`, `InjectedStore`, `InjectedToolArg` …"""
_BY_NAME = frozenset({"self", "cls", "tool_context"})
"""ADK finds its context by the parameter's name, annotated or not (`FunctionTool.run_async`)."""


def injected_parameters(function: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters of a function that its annotations or names say are filled in by a framework."""
    hints = _hints(function)
    return frozenset([name for name, hint in hints.items() if is_context_type(hint)]) | _BY_NAME


def is_argument(value: Any) -> bool:
    """Whether a value can be an argument: JSON, or something with a known form as JSON.

    An object without one, such as a client or a connection, was not given by a model, and neither was a context.
    """
    kind = value.__class__
    if kind in _PLAIN:
        return True
    return not _is_context_class(kind) and _has_data(value, kind)


def is_context_type(hint: Any) -> bool:
    """Whether an annotation is the context of a framework, or marks the parameter as injected."""
    if isinstance(hint, str):  # not resolved: names of a module that is imported for type checkers only
        name = hint.partition("[")[0].rpartition(".")[2]
        return f"{_MARK}" in hint or name in _UNRESOLVED
    if typing.get_origin(hint) is typing.Annotated:
        inner, *marks = typing.get_args(hint)
        return any([_is_mark(mark) for mark in marks]) or is_context_type(inner)
    inner = [each for each in typing.get_args(hint) if each is not type(None)]
    if typing.get_origin(hint) in _UNIONS and len(inner) == 1:
        return is_context_type(inner[0])
    kind = typing.get_origin(hint) or hint
    return isinstance(kind, type) and _is_context_class(kind)


def declared_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters of a function that a caller gives, as `name: type`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have none
        return ()
    injected, hints = injected_parameters(function), _hints(function)
    return tuple([f"{one.name}: {_shown(hints.get(one.name))}" for one in parameters if one.name not in injected])


_UNRESOLVED = frozenset({"RunContext", "RunContextWrapper", "ToolContext", "ToolRuntime", "RunnableConfig"})
_UNIONS = (typing.Union, type(int | str))


def _is_mark(mark: Any) -> bool:
    kind = mark if isinstance(mark, type) else type(mark)
    return kind.__name__.startswith(_MARK) and _package(kind) in _FRAMEWORKS


def _is_context_class(kind: type) -> bool:
    return kind.__name__.endswith(_CONTEXTS) and _package(kind) in _FRAMEWORKS


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _has_data(value: Any, kind: type) -> bool:
    if isinstance(value, (Mapping, Set, str, int, float, bytes, bytearray, complex, list, tuple)):
        return True
    known = ("__dataclass_fields__", "__struct_fields__", "model_dump", "__members__", "isoformat")
    is_scalar = _package(kind) in ("uuid", "decimal", "pathlib", "fractions")
    return is_scalar or any([hasattr(kind, name) for name in known])


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function, as text where a name in them cannot be resolved."""
    target = inspect.unwrap(function)
    target = target if inspect.isroutine(target) else getattr(target, "func", None) or type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating annotations runs foreign code; their text is enough to go by
        return dict(getattr(target, "__annotations__", {}))


def _shown(hint: Any) -> str:
    if hint is None:
        return "any"
    return (
        hint.__name__
        if isinstance(hint, type) and typing.get_origin(hint) is None
        else str(hint).replace("typing.", "")
    )
