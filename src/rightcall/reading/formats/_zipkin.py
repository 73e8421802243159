"""Zipkin v2: a list of spans with text tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.errors import InputError
from rightcall.reading.spans import Event, Span, nanoseconds, span_id
from rightcall.values.decoding import decode_json

_MICROSECOND = 1_000


def is_zipkin_span(document: Any) -> bool:
    """Whether a document is one span of Zipkin's second format."""
    return isinstance(document, Mapping) and {"traceId", "id"} <= document.keys() and "spanId" not in document


def zipkin_span(document: Mapping[str, Any]) -> Span:
    """One Zipkin span. Its tags are all text, the scope and the status among them."""
    tags = document.get("tags")
    tags = dict(tags) if isinstance(tags, Mapping) else {}
    start = nanoseconds(document.get("timestamp"), _MICROSECOND)
    duration = nanoseconds(document.get("duration"), _MICROSECOND)
    name = document.get("name")
    failure = tags.get("error")
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(document.get("traceId")) or "",
        span_id=span_id(document.get("id")),
        parent_id=span_id(document.get("parentId")),
        start_ns=start,
        end_ns=None if start is None or duration is None else start + duration,
        attributes=tags,
        failed=str(tags.get("otel.status_code", "")).upper() == "ERROR",
        description=failure if isinstance(failure, str) else "",
        scope=str(tags.get("otel.scope.name") or tags.get("otel.library.name") or ""),
        events=_events(document.get("annotations")),
    )


def _events(annotations: Any) -> list[Event]:
    found = []
    for annotation in annotations if isinstance(annotations, list) else ():
        value = annotation.get("value") if isinstance(annotation, Mapping) else None
        if isinstance(value, str):
            found.append(_event(value))
    return found


def _event(value: str) -> Event:
    # Exporters of OpenTelemetry write {"exception": {its attributes}}; others just the name.
    if value.startswith("{"):
        try:
            decoded = decode_json(value)
        except InputError:
            decoded = {}
        for name, attributes in decoded.items() if isinstance(decoded, dict) else ():
            return Event(name, attributes if isinstance(attributes, dict) else {})
    return Event(value, {})
