"""Classify a span: a tool call by some convention, a model, an agent, or something else.

Traces repeat a few shapes of spans over and over. What the names of a span's attributes imply is worked out once per
shape and cached; per span only the few values that decide are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rightcall.reading.spans import RawAttributes, Span

from ._roles import ROLE_VALUES, Role, role_by_attributes, role_by_name
from ._tool_calls import (
    CONVENTIONS,
    Convention,
    convention_by_attributes,
    convention_by_name,
    dialect_of,
    kind_in_name,
)

# The caches are cleared when they are full: hostile traces may have any number of shapes.
_MOST_SHAPES = 4096
_MOST_DECIDED = 1024
CONVERSATION_KEYS = ("gen_ai.conversation.id", "traceloop.association.properties.conversation_id")
"""Attributes with the id of a conversation."""

SESSION_KEYS = (
    "session.id",
    "mcp.session.id",
    "gcp.vertex.agent.session_id",
    "langfuse.session.id",
    "mlflow.trace.session",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langsmith.trace.session_id",
)
"""Attributes with the id of a session."""

GROUP_KEYS = frozenset({*CONVERSATION_KEYS, *SESSION_KEYS})

_TOOL_ENDINGS = ("tool.name", "tool_name", "toolName", "tool_call.name", "function_name")
_OF_CALLS = (
    "ai.toolCall.",
    "gcp.vertex.agent.tool_",
    "gen_ai.tool.arguments",
    "gen_ai.tool.call.",
    "haystack.agent.step.tool.",
    "haystack.tool.",
    "lk.function_tool.",
    "tool.arguments",
    "tool_arguments",
)
"""Prefixes of attributes that only calls have."""
_AGENT = ("gen_ai.agent.name", "agent.name")
_MARKS = [mark for convention in CONVENTIONS for mark in convention.marks]
_VALUED = ROLE_VALUES | {key for key, wanted in _MARKS if wanted}
_WANTED = {key for key, wanted in _MARKS if wanted is None}


class CallShape(msgspec.Struct, frozen=True):
    """A tool call, and in which of its attributes the fields of the call are."""

    convention: Convention
    tool: tuple[str, ...]
    call_id: tuple[str, ...]
    tool_id: tuple[str, ...]
    agent: tuple[str, ...]
    args: tuple[str, ...]
    output: tuple[str, ...]
    may_fail: bool
    """Whether there are attributes that may say that the call failed."""
    wanted: tuple[str, ...]
    """Attributes that make the span a call only if they are not empty."""
    dialect: str
    """The name of its instrumentation, if the scope is not known."""


Kind = CallShape | Role | Literal[""]

_Keys = tuple[str, ...]


class Shape(msgspec.Struct):
    """What is known about spans with the same attribute names."""

    places: dict[str, int]
    """The position of each attribute in the span's list."""
    deciding: _Keys
    """The attributes whose values decide the kind of such a span."""
    deciding_places: tuple[int, ...]
    tools: _Keys
    """Attributes that are named like a tool's name, in any convention."""
    groups: _Keys
    """Attributes with the id of a conversation or session."""
    decided: dict[Any, Kind | None]
    message_attributes: Any = None
    """Which attributes hold messages; filled by the package `messages`, which is above this one."""


_shapes: dict[_Keys, Shape] = {}


def shape_of(keys: _Keys) -> Shape:
    """Return what is known about spans with these attribute names, in this order."""
    return _shapes.get(keys) or _learn(keys)


def groups_of(span: Span) -> _Keys:
    """Return the attributes of a span with the id of a conversation or session."""
    attributes: Any = span.attributes
    shape: Shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    return shape.groups


def kind_of(span: Span) -> Kind:
    """Classify a span: a call, an agent, a model, or neither (an empty text)."""
    said = kind_in_name(span)
    kind = _found_out({**span.attributes, **said}) if said else _by_attributes(span.attributes)
    return _by_name(span) if kind is None else kind


def _learn(keys: _Keys) -> Shape:
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    places = {key: place for place, key in enumerate(keys)}
    deciding = tuple([key for key in places if key in _VALUED])
    groups = tuple([key for key in places if key in GROUP_KEYS])
    shape = _shapes[keys] = Shape(
        places, deciding, tuple([places[key] for key in deciding]), _tool_keys(keys), groups, {}
    )
    return shape


def _tool_keys(keys: _Keys) -> _Keys:
    return tuple([key for key in keys if key.endswith(_TOOL_ENDINGS)])


def is_like_call(span: Span) -> bool:
    """Whether a span has an attribute that only calls have, in any convention."""
    return any([key.startswith(_OF_CALLS) for key in span.attributes])


def tools_of(span: Span) -> _Keys:
    """Return the attributes of a span that are named like a tool's name."""
    attributes: Any = span.attributes
    shape: Shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    return shape.tools


def _by_attributes(attributes: Any) -> Kind | None:
    """Classify a span by its attributes; None if its name has to decide."""
    shape: Shape
    if attributes.__class__ is RawAttributes:
        # The cache is keyed by undecoded values: equal bytes are equal values, and decoding them costs more.
        held, shape = attributes.held, attributes.shape
        places = shape.deciding_places
        values = tuple([bytes(held[place].value) for place in places]) if places else ()
    else:
        shape = shape_of(tuple(attributes))
        values = tuple([attributes[key] for key in shape.deciding]) if shape.deciding else ()
    try:
        return shape.decided[values]
    except KeyError:
        pass
    except TypeError:
        return _found_out(attributes)
    found = _found_out(attributes)
    # Some marks accept any value but an empty one, and their values are not part of the cache's key. So what was found
    # for a span with an empty one does not hold for others, and is not cached.
    if not any([key in _WANTED and attributes.get(key) in (None, "") for key in shape.places]):
        if len(shape.decided) >= _MOST_DECIDED:
            shape.decided.clear()
        shape.decided[values] = found
    return found


def _found_out(attributes: Mapping[str, Any]) -> Kind | None:
    convention = convention_by_attributes(attributes)
    if convention is not None and convention.call:
        return _call_shape(convention, attributes)
    role = role_by_attributes(attributes)
    return role or (None if convention is None else "")


def _by_name(span: Span) -> Kind:
    convention = convention_by_name(span)
    return _call_shape(convention, span.attributes) if convention else role_by_name(span.name) or ""


def _call_shape(convention: Convention, attributes: Mapping[str, Any]) -> CallShape:
    def present(keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([key for key in keys if key in attributes])

    return CallShape(
        convention,
        present(convention.tool),
        present(convention.call_id),
        present(convention.tool_id),
        present(_AGENT),
        present(convention.args),
        present(convention.output),
        "error.type" in attributes or any([key in attributes for key, _ in convention.failure]),
        tuple([key for key, wanted in convention.marks if wanted is None]),
        dialect_of(convention, attributes),
    )
