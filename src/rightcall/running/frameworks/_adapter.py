"""What an adapter of a framework is, and how it puts itself in place and looks at objects."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

WRAPPED = "__rightcall_dispatch__"
"""The mark of a method that was replaced."""


class FoundTool(NamedTuple):
    """A tool that was found in an agent, or a source of tools that are known only when the agent runs."""

    name: str
    framework: str
    parameters: tuple[str, ...] = ()
    """The parameters that a model gives, as `name: type`; those that a framework injects are not among them."""
    problem: str = ""
    """Why nothing can stand in for it; empty if mocks and recordings can."""
    is_source: bool = False
    """Whether it stands for tools that are listed only when the agent runs, such as those of an MCP server."""


class Adapter(Protocol):
    """What Rightcall has to know of a framework to stand in for its tools."""

    framework: str
    module: str
    """The module that is loaded when the framework is."""

    def stand_in(self) -> None:
        """Have the framework's tools dispatched through `dispatched`. Called again when more classes may be there."""

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        """Yield the tools that an object of the framework brings, and lists of objects to look at as well."""


def family(base: type) -> Iterator[type]:
    """Yield a class and all classes below it that exist by now."""
    seen: set[type] = set()
    left = [base]
    while left:
        kind = left.pop()
        if kind not in seen:
            seen.add(kind)
            left += kind.__subclasses__()
            yield kind


def wrap(kind: type, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method that a class defines itself, once. The signature stays, which frameworks inspect."""
    original = vars(kind).get(name)
    if original is None or hasattr(original, WRAPPED) or getattr(original, "__isabstractmethod__", False):
        return

    def bound(value: Any, /, *args: Any, **kwargs: Any) -> Any:
        # An instrumentation may have put an object here, which knows the tool only if it is bound to it (wrapt).
        return original.__get__(value, type(value))(*args, **kwargs)

    made = functools.wraps(original)(make(bound))
    setattr(made, WRAPPED, True)
    setattr(kind, name, made)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class with this name from modules that begin so, or of one below it."""
    return any([kind.__name__ == name and kind.__module__.startswith(module) for kind in type(value).__mro__])


def schema_of(value: Any, *names: str) -> Mapping[str, Any]:
    """Return the JSON Schema in an attribute of an attribute; empty if there is none."""
    for name in names:
        value = getattr(value, name, None)
    return value if isinstance(value, Mapping) else {}


def parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the properties of a JSON Schema as `name: type`."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple([f"{name}: {_type_in(held)}" for name, held in properties.items()])


def _type_in(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    choices: Iterable[Any] = schema.get("anyOf", ()) if isinstance(schema, Mapping) else ()
    return str(kind) if kind else " or ".join(dict.fromkeys(map(_type_in, choices))) or "any"


def of_callable(value: Any) -> tuple[str, ...]:
    """Return the parameters of a function, or of the one in a tool, as its annotations have them."""
    from rightcall.running.tracing import declared_parameters

    function = getattr(value, "func", value)
    return declared_parameters(function) if callable(function) else ()
