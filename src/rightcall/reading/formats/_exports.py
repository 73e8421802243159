"""Spans in the JSON of other programs: the OpenTelemetry SDK, OpenAI Agents, Phoenix, Jaeger, Zipkin, MLflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from types import FunctionType, MappingProxyType
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import Event, Span, nanoseconds, object_in, plain_attributes, restored, span_id
from rightcall.values.decoding import admit, decode_json, decode_text

from ._otlp import dropped_of, is_otlp_span, otlp_span
from ._rows import opened

_FAILED = 2
_MEMBERS = ("context", "parent", "attributes", "start_time", "end_time", "status", "events", "name")
_OWN = "mlflow."
"""Prefix of MLflow's own attributes, which are JSON text in every form of its traces."""
_STORED = frozenset({"request", "response", "request_metadata", "trace_metadata", "execution_duration"})
"""Keys beside the spans in a stored file of a trace, and in a row of `search_traces`."""


def is_sdk_span(document: Any) -> bool:
    """Whether a document is a span as `ReadableSpan.to_json()` or Phoenix's REST API writes it."""
    return isinstance(document, Mapping) and isinstance(document.get("context"), Mapping) and "name" in document


def sdk_span(document: Mapping[str, Any]) -> Span:
    """Return the span in JSON of the OpenTelemetry SDK or of Phoenix's REST API."""
    context = document["context"]
    code, description = _status(document)
    events = document.get("events")
    attributes = plain_attributes(document.get("attributes"))
    parent = document.get("parent")  # the context of the parent, in spans that any-agent keeps
    above = parent.get("span_id") if isinstance(parent, Mapping) else document.get("parent_id")
    kind = document.get("span_kind")
    if isinstance(kind, str) and "openinference" not in attributes:
        attributes.setdefault("openinference.span.kind", kind)
    attributes = restored(attributes)
    if any([value.__class__ is dict for value in attributes.values()]):
        attributes = opened(attributes)  # Arize and Phoenix also write attributes as nested objects
    name = document.get("name")
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(context.get("trace_id")) or "",
        span_id=span_id(context.get("span_id")),
        parent_id=span_id(above),
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
    # The copy is a plain dict. Lookups in the SDK's own mapping took twenty times as long when measured.
    held = span.attributes
    # Most spans have no events, and the property `events` copies a list, so the private list is checked first.
    events: Any = getattr(span, "_events", True)
    return Span(
        span.name if span.name.__class__ is str else _plain(span.name),
        live_trace_id(context) if context else "",
        live_span_id(context) if context else None,
        live_span_id(parent) if parent else None,
        span.start_time,
        span.end_time,
        (_plain_attributes(held.copy()) if held else {}) | dropped_of(*live_dropped(span)),
        getattr(status.status_code, "_value_", status.status_code) == _FAILED,
        status.description or "",
        scope.name if scope else "",
        span.events if events is True or events else (),
    )


def live_dropped(span: Any) -> tuple[int, int]:
    """Return how many attributes and events the SDK dropped of a span object."""
    # The properties look for the same; what they return of attributes and events does not have the numbers.
    attributes, events = getattr(span, "_attributes", None), getattr(span, "_events", None)
    return getattr(attributes, "dropped", 0), getattr(events, "dropped", 0)


def live_span_id(context: Any) -> str:
    """Return the id of the span in a context of the SDK, as other containers write it."""
    return format(context.span_id, "016x")


def live_trace_id(context: Any) -> str:
    """Return the id of the trace in a context of the SDK, as other containers write it."""
    return _trace_id(context.trace_id)


@lru_cache(maxsize=64)
def _trace_id(number: int) -> str:
    return f"{number:032x}"


_PLAIN = frozenset({str, int, float, bool})
_TEXT = frozenset({str})


def _plain_attributes(held: dict[str, Any]) -> dict[str, Any]:
    """Convert attributes to plain types: the SDK also accepts subclasses of str and numbers (numpy, enums)."""
    if _PLAIN.issuperset(map(type, held.values())) and _TEXT.issuperset(map(type, held)):
        return held
    return {str.__str__(key): value if value.__class__ in _PLAIN else _plain(value) for key, value in held.items()}


def _plain(value: Any) -> Any:
    """Convert a value to a JSON type; a value without a JSON type is returned unchanged."""
    return tuple([_plain(item) for item in value]) if isinstance(value, tuple) else admit(value, foreign=True)


def is_live_span(span: Any) -> bool:
    """Whether an object can be read as a span of the SDK."""
    return _has_members(span.__class__) or all([hasattr(span, name) for name in _MEMBERS])


@lru_cache(maxsize=64)
def _has_members(kind: type) -> bool:
    return all([hasattr(kind, name) for name in _MEMBERS])


_FIELDS = ("name", "start_time", "end_time", "status", "parent", "context", "instrumentation_scope")
_HELD = ("events", "attributes")
LiveFields = tuple[Any, int | None, int | None, Any, Any, Any, Any, Any, Any]
"""The name, both times, status, parent, context, scope, events and attributes of a span object of the SDK."""


def live_reader(spans: Iterable[Any]) -> Callable[[Any], LiveFields] | None:
    """Return what reads the fields of these spans, if all are of one class of the SDK; None if not.

    Events and attributes are the SDK's own, which know how many were dropped.
    """
    kinds = {span.__class__ for span in spans}
    return _reader(kinds.pop()) if len(kinds) == 1 else None


@lru_cache(maxsize=64)
def _reader(kind: type) -> Callable[[Any], LiveFields] | None:
    if not _has_members(kind) or not all([_is_stored(kind, name) for name in _HELD]):
        return None
    return attrgetter(*[f"_{name}" if _is_stored(kind, name) else name for name in (*_FIELDS, *_HELD)])


def _is_stored(kind: type, name: str) -> bool:
    """Whether a property of a class returns the private attribute of its name, or all of it, and does nothing else.

    Calling the property of each field was measured at four times the cost of reading the attributes.
    """
    read = getattr(getattr(kind, name, None), "fget", None)
    if (
        not isinstance(read, FunctionType)
        or read.__globals__.get("MappingProxyType", MappingProxyType) is not MappingProxyType
    ):
        return False
    code = read.__code__
    return (code.co_names, code.co_code) in (
        ((f"_{name}",), _READS_STORED.co_code),
        *[(each.co_names, each.co_code) for each in (_READS_EVENTS, _READS_ATTRIBUTES)],
    )


_READS_STORED = (lambda self: self._name).__code__
"""The code of such a property."""
_READS_EVENTS = (lambda self: tuple(self._events)).__code__
_READS_ATTRIBUTES = (lambda self: MappingProxyType(self._attributes or {})).__code__
"""The SDK does not give its lists and mappings away."""


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


_ATTRIBUTES = "attributes."


def is_agents_span(document: Any) -> bool:
    """Whether a document is a trace or a span of the OpenAI Agents SDK's own export."""
    return isinstance(document, Mapping) and document.get("object") in ("trace", "trace.span")


def agents_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the span of an object exported by the OpenAI Agents SDK; a trace object has none.

    The fields of its `span_data` become attributes named `openai_agents.…`.
    """
    data = document.get("span_data")
    if document["object"] == "trace" or not isinstance(data, Mapping):
        return
    error = document.get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    yield Span(
        name=f"handoff to {data['to_agent']}"
        if data.get("to_agent")
        else str(data.get("name") or data.get("type") or ""),
        trace_id=span_id(document.get("trace_id")) or "",
        span_id=span_id(document.get("id")),
        parent_id=span_id(document.get("parent_id")),
        start_ns=nanoseconds(document.get("started_at")),
        end_ns=nanoseconds(document.get("ended_at")),
        attributes={f"openai_agents.{key}": value for key, value in data.items()},
        failed=isinstance(error, Mapping),
        description=_agents_error(message, error),
    )


def is_dataframe_row(document: Any) -> bool:
    """Whether a document is a row of Phoenix's dataframe: columns `context.span_id` and `attributes.…`."""
    return isinstance(document, Mapping) and "context.span_id" in document and "name" in document


def dataframe_span(row: Mapping[str, Any]) -> Span:
    """Return the span of one row of Phoenix's dataframe."""
    attributes = {
        key[len(_ATTRIBUTES) :]: _cell(value)
        for key, value in row.items()
        if key.startswith(_ATTRIBUTES) and not _is_missing(value)
    }
    document = {
        "name": row.get("name"),
        "context": {"trace_id": row.get("context.trace_id"), "span_id": row.get("context.span_id")},
        "parent_id": None if _is_missing(row.get("parent_id")) else row.get("parent_id"),
        "span_kind": row.get("span_kind"),
        "start_time": _time(row.get("start_time")),
        "end_time": _time(row.get("end_time")),
        "status_code": row.get("status_code"),
        "status_message": row.get("status_message"),
        "attributes": plain_attributes(attributes),
        "events": _cell(row.get("events")),
    }
    return sdk_span(document)


def _agents_error(message: Any, error: Any) -> str:
    detail = error.get("data") if isinstance(error, Mapping) else None
    reason = detail.get("error") if isinstance(detail, Mapping) else None
    return ": ".join(part for part in (message, reason) if isinstance(part, str))


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _cell(value: Any) -> Any:
    # pandas writes lists and objects to CSV as Python's `repr`. Others stay strings, even if they look like JSON.
    if isinstance(value, str) and value[:2] in ("[{", "[]", "['"):
        try:
            return decode_text(value)
        except InputError:
            return value
    return value


def _time(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


_MICROSECOND = 1_000  # in nanoseconds; both formats count microseconds
_JAEGER_SPAN = frozenset({"traceID", "spanID", "operationName"})


def is_jaeger(document: Any) -> bool:
    """Whether a document is an export of Jaeger's UI or API, with one trace or several, or a single span of Jaeger.

    Elasticsearch stores Jaeger's spans one by one.
    """
    if not isinstance(document, Mapping):
        return False
    if _is_jaeger_span(document):
        return True
    data = document.get("data")
    if isinstance(data, list) and data:
        return all(is_jaeger(trace) for trace in data)
    spans = document.get("spans")
    return "traceID" in document and isinstance(spans, list)


def _is_jaeger_span(document: Mapping[str, Any]) -> bool:
    return document.keys() >= _JAEGER_SPAN and ("process" in document or "processID" in document)


def jaeger_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the spans of a Jaeger document."""
    if _is_jaeger_span(document):
        yield _jaeger_span(document)
        return
    traces = document["data"] if isinstance(document.get("data"), list) else [document]
    for trace in traces:
        yield from (_jaeger_span(span) for span in trace["spans"] if isinstance(span, Mapping))


def _jaeger_span(span: Mapping[str, Any]) -> Span:
    tags = _fields(span.get("tags"))
    start = nanoseconds(span.get("startTime"), _MICROSECOND)
    duration = nanoseconds(span.get("duration"), _MICROSECOND)
    name = span.get("operationName")
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(span.get("traceID")) or "",
        span_id=span_id(span.get("spanID")),
        parent_id=_jaeger_parent(span),
        start_ns=start,
        end_ns=None if start is None or duration is None else start + duration,
        attributes=tags,
        failed=tags.get("otel.status_code") == "ERROR" or tags.get("error") in (True, "true"),
        description=str(tags.get("otel.status_description") or ""),
        scope=str(tags.get("otel.scope.name") or tags.get("otel.library.name") or ""),
        events=_log_events(span.get("logs")),
    )


def _jaeger_parent(span: Mapping[str, Any]) -> str | None:
    references = span.get("references")
    for reference in references if isinstance(references, list) else ():
        # FOLLOWS_FROM refers to a predecessor, not a parent (OpenTracing specification, "References between Spans").
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
    """Whether a document is one span of Zipkin's v2 format."""
    return isinstance(document, Mapping) and {"traceId", "id"} <= document.keys() and "spanId" not in document


def zipkin_span(document: Mapping[str, Any]) -> Span:
    """Return a Zipkin span. Scope and status are among its tags, and all tags are text."""
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
    # Exporters of OpenTelemetry write {"exception": {its attributes}} (specification, "OpenTelemetry to Zipkin
    # Transformation", Events); others only the name.
    if value.startswith("{"):
        try:
            decoded = decode_json(value)
        except InputError:
            decoded = {}
        for name, attributes in decoded.items() if isinstance(decoded, dict) else ():
            return Event(name, attributes if isinstance(attributes, dict) else {})
    return Event(value, {})


def is_mlflow_trace(document: Any) -> bool:
    """Whether a document is a trace of MLflow, or a response of its server with one or several."""
    return isinstance(document, Mapping) and any(True for _ in _traces(document))


def mlflow_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the spans of the traces of MLflow in a document."""
    for spans, is_encoded in _traces(document):
        for span in spans:
            if is_otlp_span(span):
                read = otlp_span(span, "")
                yield _decoded(read) if is_encoded else read
            elif isinstance(span, Mapping):
                # A span without ids may still be a call.
                yield _decoded(sdk_span({**span, "context": object_in(span.get("context"))}))


def _traces(document: Mapping[str, Any]) -> Iterator[tuple[list[Any], bool]]:
    """Yield the spans of each trace, and whether all their attributes are encoded as JSON.

    `traces/get` has one trace, `traces/batchGet` several; a row of `search_traces` has one as text.
    """
    several = document.get("traces")
    for held in (document, document.get("trace"), *(several if isinstance(several, list) else ())):
        trace = object_in(held)
        data, spans = trace.get("data"), trace.get("spans")
        if isinstance(data, Mapping) and isinstance(data.get("spans"), list):
            yield data["spans"], True
        elif isinstance(spans, list) and "trace_info" in trace:
            yield spans, False
        elif (
            isinstance(spans, list)
            and held is document
            and not object_in(trace.get("trace"))
            and _STORED & trace.keys()
        ):
            yield spans, True


def _decoded(span: Span) -> Span:
    """Undo the JSON encoding that `to_json` applies to each attribute, so that conventions find the recorded values."""
    attributes = {key: _value(key, value) for key, value in plain_attributes(span.attributes).items()}
    return msgspec.structs.replace(span, attributes=attributes)


def _value(key: str, held: Any) -> Any:
    if not isinstance(held, str):
        return held
    try:
        value = decode_json(held)
    except InputError:
        return held
    if key.startswith(_OWN):
        # An `mlflow.…` attribute from another tracer was JSON text already, and is now encoded twice.
        return value if isinstance(value, str) and value[:1] in ('"', "{", "[") else held
    return value
