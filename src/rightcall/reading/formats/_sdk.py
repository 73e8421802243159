"""Spans of the OpenTelemetry SDK: live objects, and the JSON of `ReadableSpan.to_json()`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rightcall.reading.spans import Event, Span, nanoseconds, plain_attributes, restored, span_id
from rightcall.values.decoding import admit

_FAILED = 2
_MEMBERS = ("context", "parent", "attributes", "start_time", "end_time", "status", "events", "name")


def is_sdk_span(document: Any) -> bool:
    """Whether a document is a span as `ReadableSpan.to_json()` or Phoenix's REST API writes it."""
    return isinstance(document, Mapping) and isinstance(document.get("context"), Mapping) and "name" in document


def sdk_span(document: Mapping[str, Any]) -> Span:
    """Return the span of such a document."""
    context = document["context"]
    code, description = _status(document)
    events = document.get("events")
    attributes = plain_attributes(document.get("attributes"))
    kind = document.get("span_kind")
    if isinstance(kind, str):
        attributes.setdefault("openinference.span.kind", kind)
    attributes = restored(attributes)
    name = document.get("name")
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(context.get("trace_id")) or "",
        span_id=span_id(context.get("span_id")),
        parent_id=span_id(document.get("parent_id")),
        start_ns=nanoseconds(document.get("start_time")),
        end_ns=nanoseconds(document.get("end_time")),
        attributes=attributes,
        failed=code == "ERROR",
        description=description,
        events=_events(events) if isinstance(events, list) else (),
    )


def live_span(span: Any) -> Span:
    """Return a span object of the SDK, or anything with the same attributes, as a `Span`."""
    context, parent, status, scope = span.context, span.parent, span.status, span.instrumentation_scope
    # The copy is a plain dict. Lookups in the SDK's own wrapper were measured at twenty times the cost.
    held = span.attributes
    # Most spans have no events, and the property `events` copies a list, so the private one is looked at first.
    events: Any = getattr(span, "_events", True)
    return Span(
        span.name if span.name.__class__ is str else _plain(span.name),
        _trace_id(context.trace_id) if context else "",
        format(context.span_id, "016x") if context else None,
        format(parent.span_id, "016x") if parent else None,
        span.start_time,
        span.end_time,
        _plain_attributes(held.copy()) if held else {},
        getattr(status.status_code, "_value_", status.status_code) == _FAILED,
        status.description or "",
        scope.name if scope else "",
        span.events if events is True or events else (),
    )


_PLAIN = frozenset({str, int, float, bool})


def _plain_attributes(held: dict[str, Any]) -> dict[str, Any]:
    """Convert attributes to plain types: the SDK also accepts subclasses of str and numbers (numpy, enums)."""
    if all([value.__class__ in _PLAIN for value in held.values()]) and all([key.__class__ is str for key in held]):
        return held
    return {str.__str__(key): value if value.__class__ in _PLAIN else _plain(value) for key, value in held.items()}


def _plain(value: Any) -> Any:
    """Convert a value to a JSON type; a value that JSON has no type for stays as it is."""
    return tuple([_plain(item) for item in value]) if isinstance(value, tuple) else admit(value, foreign=True)


def is_live_span(span: Any) -> bool:
    """Whether an object can be read as a span of the SDK."""
    return _has_members(span.__class__) or all([hasattr(span, name) for name in _MEMBERS])


@lru_cache(maxsize=64)
def _has_members(kind: type) -> bool:
    return all([hasattr(kind, name) for name in _MEMBERS])


@lru_cache(maxsize=64)
def _trace_id(number: int) -> str:
    return f"{number:032x}"


def _status(document: Mapping[str, Any]) -> tuple[str, str]:
    status = document.get("status")
    if not isinstance(status, Mapping):
        status = {"status_code": document.get("status_code"), "description": document.get("status_message")}
    code, description = status.get("status_code"), status.get("description")
    name = code.rpartition(".")[2].upper() if isinstance(code, str) else ""
    return name, description if isinstance(description, str) else ""


def _events(events: list[Any]) -> list[Event]:
    return [
        Event(event["name"], plain_attributes(event.get("attributes")), nanoseconds(event.get("timestamp")))
        for event in events
        if isinstance(event, Mapping) and isinstance(event.get("name"), str)
    ]
