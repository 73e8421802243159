"""OTLP as JSON and as protobuf: spans and log records, as exporters and the collector write them.

The usual spelling has a fast path: spans of models repeat whole conversations, and most of a file is never needed, so
attribute values stay undecoded until they are used. All other spellings are left to the tolerant reader: camelCase and
snake_case, ids in hexadecimal or base64, enums as numbers or names. It skips broken parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from sys import intern
from typing import Any, Generic, TypeVar

import msgspec

from rightcall.errors import InputError, missing_package
from rightcall.reading.conventions import lazy_attributes, shape_of
from rightcall.reading.spans import (
    DROPPED,
    Attribute,
    Event,
    Item,
    LazyEvents,
    LogRecord,
    PackedSpan,
    RawAttributes,
    Span,
    nanoseconds,
    plain_attributes,
    plain_value,
    restored,
    span_id,
)
from rightcall.values.decoding import decode_json

# `batches` is Tempo's name for `resourceSpans`, `instrumentationLibrarySpans` OTLP's for `scopeSpans` before 0.15.
_SPAN_LISTS = ("resourceSpans", "resource_spans", "batches")
_LOG_LISTS = ("resourceLogs", "resource_logs")
_SCOPE_LISTS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_FAILED = 2  # STATUS_CODE_ERROR of opentelemetry/proto/trace/v1/trace.proto
_FAILURES = frozenset({_FAILED, "2", "STATUS_CODE_ERROR", "ERROR", "Error"})
_REQUEST_TAG = 0x0A  # field 1, wire type 2 (a length follows)
_LENGTH_BYTES = 4


def is_otlp(document: Any) -> bool:
    """Whether a document is OTLP, bare or in the envelope of a server."""
    if not isinstance(document, Mapping):
        return False
    if any(isinstance(document.get(key), list) for key in (*_SPAN_LISTS, *_LOG_LISTS)):
        return True
    if isinstance(document.get("trace"), Mapping):
        return is_otlp(document["trace"])
    return is_otlp_span(document) or _has_bare_spans(document) or _is_record(document)


def _is_record(document: Mapping[str, Any]) -> bool:
    """Whether a document is one log record, as CloudWatch stores those of agents on AgentCore."""
    times = {"timeUnixNano", "observedTimeUnixNano", "time_unix_nano", "observed_time_unix_nano"}
    return isinstance(document.get("body"), Mapping) and "attributes" in document and not times.isdisjoint(document)


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
    if _is_record(document) and not is_otlp_span(document):
        yield _log(document)
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
    """Convert a span of OTLP, given as JSON, that the instrumentation `scope` recorded."""
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {}
    code, events = status.get("code"), span.get("events")
    return Span(
        name=_text(span.get("name")),
        trace_id=span_id(_either(span, "traceId", "trace_id")) or "",
        span_id=span_id(_either(span, "spanId", "span_id")),
        parent_id=span_id(_either(span, "parentSpanId", "parent_span_id")),
        start_ns=nanoseconds(_either(span, "startTimeUnixNano", "start_time_unix_nano")),
        end_ns=nanoseconds(_either(span, "endTimeUnixNano", "end_time_unix_nano")),
        attributes=restored(plain_attributes(span.get("attributes")) | _dropped(span)),
        failed=isinstance(code, (int, str)) and code in _FAILURES,
        description=_text(status.get("message")),
        scope=scope,
        events=events_in(events) if isinstance(events, list) else (),
    )


def _dropped(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that say how much of a span its SDK dropped; none if it dropped nothing."""
    fields = ("droppedAttributesCount", "dropped_attributes_count"), ("droppedEventsCount", "dropped_events_count")
    return dropped_of(*[_either(span, *names) for names in fields])


def dropped_of(*counts: Any) -> dict[str, Any]:
    """Return the attributes with these numbers of dropped attributes and events, without those that are zero."""
    return {key: count for key, count in zip(DROPPED, counts, strict=True) if count}


def events_in(events: list[Any]) -> list[Event]:
    """Return events of OTLP."""
    return [
        Event(
            _text(event.get("name")),
            plain_attributes(event.get("attributes")),
            nanoseconds(_either(event, "timeUnixNano", "time_unix_nano")),
        )
        for event in events
        if isinstance(event, Mapping)
    ]


def _log(record: Mapping[str, Any]) -> LogRecord:
    attributes = plain_attributes(record.get("attributes"))
    name = _either(record, "eventName", "event_name") or attributes.get("event.name")
    time = nanoseconds(_either(record, "timeUnixNano", "time_unix_nano"))
    return LogRecord(
        name=_text(name),
        body=_body(record.get("body")),
        attributes=attributes,
        trace_id=span_id(_either(record, "traceId", "trace_id")) or "",
        span_id=span_id(_either(record, "spanId", "span_id")),
        time_ns=time or nanoseconds(_either(record, "observedTimeUnixNano", "observed_time_unix_nano")),
    )


def _body(value: Any) -> Any:
    """Return the body of a record: an `AnyValue`, or the plain object into which CloudWatch converts it."""
    if isinstance(value, Mapping) and not {"input", "output"}.isdisjoint(value):
        return value
    return plain_value(value)


def _has_bare_spans(document: Mapping[str, Any]) -> bool:
    # Phoenix's /spans/otlpv1: {"data": [span, …], "next_cursor": …}.
    data = document.get("data")
    return isinstance(data, list) and bool(data) and all(is_otlp_span(span) for span in data)


def _objects(document: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    for key in keys:
        value = document.get(key)
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, Mapping))


def _scope_name(scoped: Mapping[str, Any]) -> str:
    scope = scoped.get("scope") or scoped.get("instrumentationLibrary")
    return _text(scope.get("name")) if isinstance(scope, Mapping) else ""


def _either(document: Mapping[str, Any], first: str, second: str) -> Any:
    found = document.get(first)
    return document.get(second) if found is None else found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_NO_PARENT = ("0" * 16, "")
_key_of = attrgetter("key")
_NO_EVENTS = msgspec.Raw(b"[]")
_TRACE_ID_LENGTH = 32  # hexadecimal digits; ids of another length are base64, which the tolerant reader decodes


class _Status(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


_NO_STATUS = _Status()
_AnySpan = TypeVar("_AnySpan")
"""A span, decoded or as raw bytes."""


class _OtlpSpan(msgspec.Struct, gc=False, rename="camel"):
    """A span in OTLP's usual spelling, its attributes and events undecoded."""

    name: str
    trace_id: str = ""
    span_id: str | None = None
    parent_span_id: str | None = None
    start_time_unix_nano: int | None = None
    end_time_unix_nano: int | None = None
    attributes: tuple[Attribute, ...] = ()
    events: msgspec.Raw = _NO_EVENTS
    status: _Status = _NO_STATUS
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0


class _Event(msgspec.Struct, gc=False):
    name: str = ""
    attributes: tuple[Attribute, ...] = ()


class _Scope(msgspec.Struct, frozen=True):
    name: str = ""


class _ScopeSpans(msgspec.Struct, Generic[_AnySpan]):
    scope: _Scope = _Scope()
    spans: list[_AnySpan] = []


class _ResourceSpans(msgspec.Struct, Generic[_AnySpan], rename="camel"):
    scope_spans: list[_ScopeSpans[_AnySpan]]


class _Request(msgspec.Struct, Generic[_AnySpan], rename="camel"):
    resource_spans: list[_ResourceSpans[_AnySpan]]
    resource_logs: None = None
    """Must be absent: a document that also has logs is left to the tolerant reader."""


class _Header(msgspec.Struct, rename="camel"):
    trace_id: str = ""


# Protobuf's JSON mapping writes 64-bit integers, such as times, as strings; `strict=False` converts them.
_request_decoder = msgspec.json.Decoder(_Request[_OtlpSpan], strict=False)
_raw_request_decoder = msgspec.json.Decoder(_Request[msgspec.Raw])
_header_decoder = msgspec.json.Decoder(_Header)
_span_decoder = msgspec.json.Decoder(_OtlpSpan, strict=False)
_events_decoder = msgspec.json.Decoder(list[_Event])
_any_events_decoder = msgspec.json.Decoder(list[dict[str, Any]])


class OtlpRequest(msgspec.Struct, gc=False):
    """An OTLP/JSON request, and its spans, their attributes still undecoded."""

    line: bytes
    spans: list[Span]


def decode_request(line: bytes) -> OtlpRequest | None:
    """Return an OTLP/JSON request with undecoded attributes; None if the spelling is not the usual one."""
    # msgspec raises RecursionError for nesting beyond Python's limit; the tolerant reader reports that.
    try:
        # msgspec does not check that values it skips are UTF-8, but a line that is not UTF-8 has to be refused. Most
        # lines are ASCII, and checking that is faster than decoding them.
        if not line.isascii():
            line.decode()
        request = _request_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    spans = []
    for resource in request.resource_spans:
        for scoped in resource.scope_spans:
            for span in scoped.spans:
                if len(span.trace_id) != _TRACE_ID_LENGTH or span.dropped_attributes_count or span.dropped_events_count:
                    return None
                spans.append(_finished(span, scoped.scope.name))
    return OtlpRequest(line, spans)


def split_request(line: bytes) -> list[PackedSpan] | None:
    """Return the undecoded spans of an OTLP/JSON request; None if the spelling is not the usual one."""
    try:
        if not line.isascii():
            line.decode()
        request = _raw_request_decoder.decode(line)
        spans = [
            PackedSpan(_header_decoder.decode(raw).trace_id.lower(), scoped.scope.name, bytes(raw))
            for resource in request.resource_spans
            for scoped in resource.scope_spans
            for raw in scoped.spans
        ]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return None if any([len(span.trace_id) != _TRACE_ID_LENGTH for span in spans]) else spans


def span_in(raw: bytes, scope: str) -> Span:
    """Decode a span that `split_request` returned, in any spelling."""
    try:
        span = _span_decoder.decode(raw)
        if not (span.dropped_attributes_count or span.dropped_events_count):
            return _finished(span, scope)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return _span_tolerantly(raw, scope)


def _finished(span: _OtlpSpan, scope: str) -> Span:
    """Return a decoded span of OTLP; its attributes and events stay undecoded."""
    shape = shape_of(tuple(map(_key_of, span.attributes)))
    attributes: Any = RawAttributes(shape, shape.places, span.attributes)
    parent, status = span.parent_span_id, span.status
    return Span(
        span.name,
        # Interned, so that all spans of a trace share one string.
        intern(span.trace_id.lower()),
        span.span_id.lower() if span.span_id else None,
        None if parent is None or parent in _NO_PARENT else parent.lower(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        attributes,
        status.code == _FAILED,
        status.message,
        scope,
        LazyEvents(_raw_events, span.events) if span.events != _NO_EVENTS else (),
    )


def _span_tolerantly(raw: bytes, scope: str) -> Span:
    try:
        document = decode_json(raw)
    except InputError:
        document = {}
    return otlp_span(document if isinstance(document, dict) else {}, scope)


def _raw_events(raw: msgspec.Raw) -> list[Event]:
    try:
        return [Event(event.name, lazy_attributes(event.attributes)) for event in _events_decoder.decode(raw)]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        return events_in(_any_events_decoder.decode(raw))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []


def looks_like_protobuf(head: bytes) -> bool:
    """Whether bytes can be OTLP protobuf: one request, whose only field is number 1, or a file of the collector."""
    # 0x0A is also a newline. In JSON, white space or an opening character follows it; in a request, a length.
    is_request = head[:1] == b"\x0a" and not head[1:2].isspace() and head[1:2] not in (b"{", b"[", b'"')
    return is_request or _is_framed(head)


def _is_framed(head: bytes) -> bool:
    # The collector's file exporter writes the length of each request before it, in four bytes, big-endian
    # (opentelemetry-collector-contrib, exporter/fileexporter, `format: proto`).
    return len(head) > _LENGTH_BYTES and head[0] < 4 and head[_LENGTH_BYTES] == _REQUEST_TAG


def protobuf_items(data: bytes, where: str) -> Iterator[Item]:
    """Yield the spans of OTLP protobuf bytes.

    Raises:
        MissingExtraError: `opentelemetry-proto` is not installed.
        InputError: the bytes are not an OTLP request.
    """
    return (protobuf_span(span, scope) for span, scope, _ in protobuf_spans(data, where))


def protobuf_spans(data: bytes, where: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield the protobuf messages of spans, each with the name of its scope and its resource.

    Raises:
        MissingExtraError: `opentelemetry-proto` is not installed.
        InputError: the bytes are not an OTLP request.
    """
    for request, part in _requests(data, where):
        for resource in _parsed(request, part).resource_spans:
            for scoped in resource.scope_spans:
                for span in scoped.spans:
                    yield span, scoped.scope.name, resource.resource


def _requests(data: bytes, where: str) -> Iterator[tuple[bytes, str]]:
    if not _is_framed(data[:8]):
        yield data, where
        return
    start = 0
    while start < len(data):
        size = int.from_bytes(data[start : start + _LENGTH_BYTES], "big")
        end = start + _LENGTH_BYTES + size
        if end > len(data):
            raise InputError(f"{where}: the message at byte {start:,} ends after the file; it was cut off")
        yield data[start + _LENGTH_BYTES : end], f"{where}, byte {start:,}"
        start = end


def _parsed(data: bytes, where: str) -> Any:
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise missing_package(f"{where} is OTLP protobuf, and reading it needs opentelemetry-proto") from None
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as problem:
        raise InputError(f"{where}: neither JSON nor an OTLP protobuf request: {problem}") from None
    return request


def protobuf_span(span: Any, scope: str) -> Span:
    """Return the span of a protobuf message."""
    return Span(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span_id(span.span_id),
        parent_id=span_id(span.parent_span_id),
        start_ns=span.start_time_unix_nano or None,
        end_ns=span.end_time_unix_nano or None,
        attributes=_attributes(span.attributes) | dropped_of(span.dropped_attributes_count, span.dropped_events_count),
        failed=span.status.code == _FAILED,
        description=span.status.message,
        scope=scope,
        events=LazyEvents(_events, span.events),
    )


def _events(events: Any) -> list[Event]:
    return [Event(event.name, _attributes(event.attributes), event.time_unix_nano or None) for event in events]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    # protobuf refuses nesting beyond 100 messages, so this recursion is bounded.
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    held = getattr(value, kind)
    if kind == "array_value":
        return [_value(item) for item in held.values]
    if kind == "kvlist_value":
        return _attributes(held.values)
    return held.decode("utf-8", "replace") if kind == "bytes_value" else held
