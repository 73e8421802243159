"""OTLP as protobuf: one request, or several, each after its length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightcall.errors import InputError, missing_package
from rightcall.reading.spans import Event, Item, LazyEvents, Span, span_id

_FAILED = 2
_REQUEST_TAG = 0x0A  # field 1, wire type 2 (a length follows)
_LENGTH_BYTES = 4


def looks_like_protobuf(head: bytes) -> bool:
    """Whether bytes can be OTLP requests: one, whose only field is number 1, or several of the file exporter."""
    # 0x0A is a newline, too: after it JSON has white space or an opening character, a request the length of its field.
    is_request = head[:1] == b"\x0a" and not head[1:2].isspace() and head[1:2] not in (b"{", b"[", b'"')
    return is_request or _is_framed(head)


def _is_framed(head: bytes) -> bool:
    # The collector's file exporter writes the length of each request before it, as four bytes, highest first
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
        attributes=_attributes(span.attributes),
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
