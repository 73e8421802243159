"""OTLP as JSON: spans and log records, as exporters and the collector write them.

This reader is tolerant: camelCase and snake_case, ids in hexadecimal or base64, enums as numbers or names, broken parts
left out. `_otlp_lazy.py` reads the usual spelling, faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.reading.spans import (
    Event,
    Item,
    LogRecord,
    Span,
    nanoseconds,
    plain_attributes,
    plain_value,
    restored,
    span_id,
)

# `batches` is Tempo's name for `resourceSpans`, `instrumentationLibrarySpans` OTLP's for `scopeSpans` before 0.15.
_SPAN_LISTS = ("resourceSpans", "resource_spans", "batches")
_LOG_LISTS = ("resourceLogs", "resource_logs")
_SCOPE_LISTS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_FAILED = frozenset({2, "2", "STATUS_CODE_ERROR", "ERROR", "Error"})


def is_otlp(document: Any) -> bool:
    """Whether a document is OTLP, bare or wrapped as servers do."""
    if not isinstance(document, Mapping):
        return False
    if any(isinstance(document.get(key), list) for key in (*_SPAN_LISTS, *_LOG_LISTS)):
        return True
    if isinstance(document.get("trace"), Mapping):
        return is_otlp(document["trace"])
    return is_otlp_span(document) or _has_bare_spans(document)


def is_otlp_span(document: Any) -> bool:
    """Whether a document is one span of OTLP."""
    return isinstance(document, Mapping) and bool(
        {"startTimeUnixNano", "start_time_unix_nano"} & document.keys() and "name" in document
    )


def otlp_items(document: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the spans and log records of an OTLP document, without broken parts."""
    if isinstance(document.get("trace"), Mapping) and not is_otlp_span(document):
        yield from otlp_items(document["trace"])
        return
    yield from (otlp_span(span, scope) for span, scope, _ in spans_in(document))
    for resource in _objects(document, _LOG_LISTS):
        for scoped in _objects(resource, _SCOPE_LISTS):
            yield from (_log(record) for record in _objects(scoped, ("logRecords", "log_records")))


def spans_in(document: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str, Any]]:
    """Yield every span of an OTLP document, undecoded, with the name of its scope and its resource."""
    if is_otlp_span(document):
        yield document, "", None
        return
    if isinstance(document.get("trace"), Mapping):
        yield from spans_in(document["trace"])
        return
    if _has_bare_spans(document):
        yield from ((span, "", None) for span in document["data"])
    for resource in _objects(document, _SPAN_LISTS):
        for scoped in _objects(resource, _SCOPE_LISTS):
            scope = _scope_name(scoped)
            yield from ((span, scope, resource.get("resource")) for span in _objects(scoped, ("spans",)))


def otlp_span(span: Mapping[str, Any], scope: str) -> Span:
    """Return one span of OTLP."""
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {}
    events = span.get("events")
    return Span(
        name=_text(span.get("name")),
        trace_id=span_id(_either(span, "traceId", "trace_id")) or "",
        span_id=span_id(_either(span, "spanId", "span_id")),
        parent_id=span_id(_either(span, "parentSpanId", "parent_span_id")),
        start_ns=nanoseconds(_either(span, "startTimeUnixNano", "start_time_unix_nano")),
        end_ns=nanoseconds(_either(span, "endTimeUnixNano", "end_time_unix_nano")),
        attributes=restored(plain_attributes(span.get("attributes"))),
        failed=_is_failure(status.get("code")),
        description=_text(status.get("message")),
        scope=scope,
        events=events_in(events) if isinstance(events, list) else (),
    )


def events_in(events: list[Any]) -> list[Event]:
    """Return events of OTLP."""
    return [
        Event(_text(event.get("name")), plain_attributes(event.get("attributes")), _event_time(event))
        for event in events
        if isinstance(event, Mapping)
    ]


def _event_time(event: Mapping[str, Any]) -> int | None:
    return nanoseconds(_either(event, "timeUnixNano", "time_unix_nano"))


def _log(record: Mapping[str, Any]) -> LogRecord:
    attributes = plain_attributes(record.get("attributes"))
    name = _either(record, "eventName", "event_name") or attributes.get("event.name")
    time = nanoseconds(_either(record, "timeUnixNano", "time_unix_nano"))
    return LogRecord(
        name=_text(name),
        body=plain_value(record.get("body")),
        attributes=attributes,
        trace_id=span_id(_either(record, "traceId", "trace_id")) or "",
        span_id=span_id(_either(record, "spanId", "span_id")),
        time_ns=time or nanoseconds(_either(record, "observedTimeUnixNano", "observed_time_unix_nano")),
    )


def _has_bare_spans(document: Mapping[str, Any]) -> bool:
    # Phoenix's /spans/otlpv1: {"data": [span, …], "next_cursor": …}.
    data = document.get("data")
    return isinstance(data, list) and bool(data) and all(is_otlp_span(span) for span in data)


def _objects(document: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    for key in keys:
        held = document.get(key)
        if isinstance(held, list):
            yield from (item for item in held if isinstance(item, Mapping))


def _scope_name(scoped: Mapping[str, Any]) -> str:
    scope = scoped.get("scope") or scoped.get("instrumentationLibrary")
    return _text(scope.get("name")) if isinstance(scope, Mapping) else ""


def _either(document: Mapping[str, Any], first: str, second: str) -> Any:
    found = document.get(first)
    return document.get(second) if found is None else found


def _is_failure(code: Any) -> bool:
    return isinstance(code, (int, str)) and code in _FAILED


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
