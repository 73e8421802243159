"""What a span stands for: a tool call by some convention, a model, an agent, or nothing of interest.

Traces repeat a few shapes of spans over and over. So what the names of a span's attributes say is worked out once
per shape and remembered; per span only the few values that decide are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Raw

from ._conventions import CONVENTIONS, Convention, convention_by_attributes, convention_by_name
from ._roles import ROLE_KEYS, Role, role_by_attributes, role_by_name
from ._span import Span

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

_AGENT = ("gen_ai.agent.name", "agent.name")
_VALUED = {*ROLE_KEYS, *(key for convention in CONVENTIONS for key, wanted in convention.marks if wanted)}


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
    """There are attributes that may say that the call failed."""


Kind = CallShape | Role | Literal[""]

_Keys = tuple[str, ...]


class _Shape(msgspec.Struct):
    """What is known of spans with the same attributes."""

    deciding: _Keys
    """The attributes whose values tell what such a span stands for."""
    groups: _Keys
    decided: dict[Any, Kind | None]


_shapes: dict[_Keys, _Shape] = {}


def kind_of(span: Span) -> Kind:
    """What a span stands for; found out once, however often it is asked."""
    kind: Kind | None = span.kind
    if kind is None:
        attributes: Any = span.attributes
        keys = tuple(attributes)
        shape = _shapes.get(keys) or _learn(keys)
        span.groups = shape.groups
        kind = _by_attributes(shape, attributes)
        if kind is None:
            kind = _by_name(span)
        span.kind = kind
    return kind


def _learn(keys: _Keys) -> _Shape:
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    deciding = tuple([key for key in keys if key in _VALUED])
    shape = _shapes[keys] = _Shape(deciding, tuple([key for key in keys if key in GROUP_KEYS]), {})
    return shape


def _by_attributes(shape: _Shape, attributes: Any) -> Kind | None:
    """What attributes say about a span; None where its name has to."""
    # Undecoded values are as good as decoded ones to tell spans apart, once they can be hashed.
    values = tuple([bytes(held) if (held := attributes[key]).__class__ is Raw else held for key in shape.deciding])
    try:
        return shape.decided[values]
    except KeyError:
        pass
    except TypeError:
        return _found_out(attributes)
    if len(shape.decided) >= _MOST_DECIDED:
        shape.decided.clear()
    found = shape.decided[values] = _found_out(attributes)
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
    )
