"""Spans in the JSON of Jaeger and of Zipkin v2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.errors import InputError
from rightcall.reading.spans import Event, Span, nanoseconds, span_id
from rightcall.values.decoding import decode_json

_MICROSECOND = 1_000


def is_jaeger(document: Any) -> bool:
    """Whether a document is Jaeger's, as its interface and its API give it: one trace or a list of them."""
    if not isinstance(document, Mapping):
        return False
    data = document.get("data")
    if isinstance(data, list) and data:
        return all(is_jaeger(trace) for trace in data)
    spans = document.get("spans")
    return "traceID" in document and isinstance(spans, list)


def jaeger_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """The spans of a Jaeger document."""
    traces = document["data"] if isinstance(document.get("data"), list) else [document]
    for trace in traces:
        yield from (_span(span) for span in trace["spans"] if isinstance(span, Mapping))


def _span(span: Mapping[str, Any]) -> Span:
    tags = _fields(span.get("tags"))
    start = nanoseconds(span.get("startTime"), _MICROSECOND)
    duration = nanoseconds(span.get("duration"), _MICROSECOND)
    name = span.get("operationName")
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(span.get("traceID")) or "",
        span_id=span_id(span.get("spanID")),
        parent_id=_parent(span),
        start_ns=start,
        end_ns=None if start is None or duration is None else start + duration,
        attributes=tags,
        failed=tags.get("otel.status_code") == "ERROR" or tags.get("error") is True,
        description=str(tags.get("otel.status_description") or ""),
        scope=str(tags.get("otel.scope.name") or tags.get("otel.library.name") or ""),
        events=_log_events(span.get("logs")),
    )


def _parent(span: Mapping[str, Any]) -> str | None:
    references = span.get("references")
    for reference in references if isinstance(references, list) else ():
        # FOLLOWS_FROM names a predecessor, not a parent.
        if isinstance(reference, Mapping) and reference.get("refType") == "CHILD_OF":
            return span_id(reference.get("spanID"))
    return span_id(span.get("parentSpanID"))


def _log_events(logs: Any) -> list[Event]:
    found = []
    for log in logs if isinstance(logs, list) else ():
        fields = _fields(log.get("fields")) if isinstance(log, Mapping) else {}
        name = fields.pop("event", None)
        if isinstance(name, str):
            found.append(Event(name, fields))
    return found


def _fields(fields: Any) -> dict[str, Any]:
    return {
        field["key"]: field.get("value")
        for field in (fields if isinstance(fields, list) else ())
        if isinstance(field, Mapping) and isinstance(field.get("key"), str)
    }


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
        events=_annotations(document.get("annotations")),
    )


def _annotations(annotations: Any) -> list[Event]:
    found = []
    for annotation in annotations if isinstance(annotations, list) else ():
        value = annotation.get("value") if isinstance(annotation, Mapping) else None
        if isinstance(value, str):
            found.append(_annotation(value))
    return found


def _annotation(value: str) -> Event:
    # Exporters of OpenTelemetry write {"exception": {its attributes}}; others just the name.
    if value.startswith("{"):
        try:
            decoded = decode_json(value)
        except InputError:
            decoded = {}
        for name, attributes in decoded.items() if isinstance(decoded, dict) else ():
            return Event(name, attributes if isinstance(attributes, dict) else {})
    return Event(value, {})
