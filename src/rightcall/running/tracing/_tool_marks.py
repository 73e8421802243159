"""Marks that the decorators attach to a function, and the binding of its arguments to names.

Parameters that a framework or the program injects are not arguments, because no model gave them. Most real tools of
Pydantic AI and ADK take a context. Its `repr` has times and memory addresses, so that a recording with it would never
match again, and it contains prompts and whatever is in `deps`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Set
from typing import Any, NamedTuple
from weakref import WeakSet

_KEY = "__rightcall__"
_MAKER = f"{__package__}._decorators"
_is_any_tool = [False]
_wrappers: WeakSet[Any] = WeakSet()
"""All functions made by our decorators that are still referenced."""
_RECEIVERS = ("self", "cls")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_PLAIN = (str, int, float, bool, type(None), list, dict, tuple)
_FRAMEWORKS = frozenset(
    {
        *("pydantic_ai", "google", "agents", "langgraph", "langchain_core", "langchain", "mcp", "fastmcp", "strands"),
        *("agno", "autogen_core", "autogen_agentchat", "crewai", "llama_index", "smolagents", "haystack"),
    }
)
"""The packages of frameworks that inject objects of their own into tool calls."""
_CONTEXTS = (
    *("Context", "ContextWrapper", "Runtime", "Config", "Token", "Callbacks", "RunManager", "Store", "Agent", "Team"),
    *("Session", "Events", "Queue"),
)
"""Suffixes of the names of injected classes: `RunContext`, `ToolContext`, `ToolRuntime`, `RunnableConfig` …"""
_MARK = "Injected"
"""The prefix of LangChain's marks in `Annotated`: `InjectedState`, `InjectedStore`, `InjectedToolArg` …"""
_BY_NAME = frozenset({"self", "cls", "tool_context"})
"""Parameters that are injected by name: ADK passes `tool_context`, annotated or not (`FunctionTool.run_async`)."""


class Marks(NamedTuple):
    """The settings of all decorators of one function, whatever their order."""

    function: Callable[..., Any]
    """The function itself, without any of our decorators."""
    name: str
    """The function's own name."""
    binding: Binding
    is_traced: bool = False
    is_tool: bool = False
    is_mockable: bool = False
    span_name: str | None = None
    tool_name: str | None = None
    example_calls: tuple[Any, ...] = ()
    """Example calls that show what the tool returns, for writing mocks."""

    @property
    def tool(self) -> str:
        """The tool's name in recorded calls and in mocks."""
        return self.tool_name or self.name

    @property
    def span(self) -> str:
        """The name of the span of a call."""
        return self.span_name or self.tool

    @property
    def opens_span(self) -> bool:
        """Whether a call opens a span. Calls of a function that is only mockable are recorded by other code."""
        return self.is_traced or self.is_tool

    @property
    def may_be_mocked(self) -> bool:
        """Whether mocks may answer for the function."""
        return self.is_tool or self.is_mockable


def marks_of(function: Any) -> Marks | None:
    """Return the marks of a decorated function; None for any other function."""
    marks = getattr(function, _KEY, None)
    # Other decorators copy attributes from the function they wrap (`functools.wraps`): only our own wrapper counts.
    is_ours = getattr(function, "__globals__", {}).get("__name__") == _MAKER
    return marks if isinstance(marks, Marks) and is_ours else None


def new_marks(function: Callable[..., Any]) -> Marks:
    """Return new marks for a function without any."""
    return Marks(function, _name_of(function), Binding(function))


def tools_are_marked() -> bool:
    """Whether any function of this program is marked as a tool: then a run without spans made no calls."""
    return _is_any_tool[0]


def marked_tools() -> list[Marks]:
    """Return the marks of all functions of this program that mocks may answer for, sorted by tool name."""
    found = [marks for marks in map(marks_of, list(_wrappers)) if marks is not None and marks.may_be_mocked]
    return sorted(found, key=lambda marks: marks.tool)


def attach_marks(wrapper: Callable[..., Any], marks: Marks) -> None:
    """Attach marks to their wrapper."""
    _is_any_tool[0] |= marks.is_tool
    setattr(wrapper, _KEY, marks)
    _wrappers.add(wrapper)


def _name_of(function: Any) -> str:
    """Return the name of a function, of the function in a partial, or of a callable object's class."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


class Binding:
    """Binds the arguments of one function to names, as Python does.

    Defaults are applied. Injected parameters, `self` and `cls` are left out. `*args` is a list under its name. The
    items of `**kwargs` are merged with the others, unless a parameter has the same name.
    """

    __slots__ = ("_defaults", "_function", "_injected", "_is_ready", "_order", "_positional", "_signature", "_simple")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._is_ready = False

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name.

        Raises:
            TypeError: the function cannot be called with them.
        """
        if not self._is_ready:
            self._prepare()
        named = self._bind_simple(args, kwargs) if self._simple and len(args) <= len(self._positional) else None
        if named is None:
            named = self._bind_any(args, kwargs)
        left_out = self._injected
        return {key: value for key, value in named.items() if key not in left_out and is_argument(value)}

    def _prepare(self) -> None:
        """Inspect the signature. Done for the first recorded call, because most programs record none."""
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # some functions written in C have none
            signature = inspect.Signature(
                [inspect.Parameter(name, kind) for name, kind in zip(("args", "kwargs"), _VARIADIC, strict=True)]
            )
        parameters = list(signature.parameters.values())
        self._signature = signature
        self._positional = tuple([each.name for each in parameters if each.kind in _POSITIONAL])
        self._order = tuple([each.name for each in parameters])
        self._defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
        self._simple = all([each.kind not in (*_VARIADIC, inspect.Parameter.POSITIONAL_ONLY) for each in parameters])
        # `self` and `cls` are receivers only if they come first: a tool may have an argument of that name.
        not_first = frozenset([name for name in self._order[1:] if name in _RECEIVERS])
        self._injected = injected_parameters(self._function) - not_first
        self._is_ready = True

    def _bind_simple(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Bind an ordinary call in a tenth of the time that `Signature.bind` takes; None for other calls."""
        given = dict(zip(self._positional, args, strict=False))
        if kwargs:
            if not given.keys().isdisjoint(kwargs):
                return None
            given.update(kwargs)
        named, defaults = {}, self._defaults
        for name in self._order:
            if name in given:
                named[name] = given[name]
            elif name in defaults:
                named[name] = defaults[name]
            else:
                return None
        if len(given) > len(named) or not given.keys() <= named.keys():
            return None
        return named

    def _bind_any(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                taken = {key: value.pop(key) for key in list(value) if key in self._order or key in named}
                named.update(value)
                if taken:
                    named[name] = taken
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                if value:
                    named[name] = list(value)
            else:
                named[name] = value
        return named


def injected_parameters(function: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters of a function that a framework injects, by their annotations or names."""
    hints = _hints(function)
    return frozenset([name for name, hint in hints.items() if is_context_type(hint)]) | _BY_NAME


def is_argument(value: Any) -> bool:
    """Whether a value can be an argument: it is JSON, or can be converted to JSON.

    Other objects, such as a client or a connection, were not given by a model, and neither was a context.
    """
    kind = value.__class__
    if kind in _PLAIN:
        return True
    return not _is_context_class(kind) and _has_data(value, kind)


def is_context_type(hint: Any) -> bool:
    """Whether an annotation is the context of a framework, or marks the parameter as injected."""
    if isinstance(hint, str):  # an unresolved annotation, such as of a module imported for type checking only
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
    """Return the parameters of a function that are not injected, as `name: type`."""
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
    """Return the annotations of a function; as text, if a name in them cannot be resolved."""
    target = inspect.unwrap(function)
    target = target if inspect.isroutine(target) else getattr(target, "func", None) or type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating annotations runs foreign code, and their text is enough
        return dict(getattr(target, "__annotations__", {}))


def _shown(hint: Any) -> str:
    if hint is None:
        return "any"
    return (
        hint.__name__
        if isinstance(hint, type) and typing.get_origin(hint) is None
        else str(hint).replace("typing.", "")
    )
