"""A fast path for OTLP/JSON in its usual spelling.

Model spans repeat whole conversations, and most of a file is never looked at, so attribute values stay undecoded until
they are used. Any other spelling is left to the tolerant reader, `_otlp.py`.
"""

from __future__ import annotations

from sys import intern
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.conventions import shape_of
from rightcall.reading.spans import Attribute, Event, LazyEvents, PackedSpan, RawAttributes, Span
from rightcall.values.decoding import decode_json

from ._otlp import events_in, otlp_span

_NO_PARENT = ("0" * 16, "")
_FAILED = 2
_NO_EVENTS = msgspec.Raw(b"[]")
_TRACE_ID_LENGTH = 32  # hexadecimal digits; ids of another length are base64, which the tolerant reader decodes


class _Status(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


_NO_STATUS = _Status()


class _Span(msgspec.Struct, gc=False, rename="camel"):
    name: str
    trace_id: str = ""
    span_id: str | None = None
    parent_span_id: str | None = None
    start_time_unix_nano: int | None = None
    end_time_unix_nano: int | None = None
    attributes: tuple[Attribute, ...] = ()
    events: msgspec.Raw = _NO_EVENTS
    status: _Status = _NO_STATUS


class _Event(msgspec.Struct, gc=False):
    name: str = ""
    attributes: tuple[Attribute, ...] = ()


class _Scope(msgspec.Struct, frozen=True):
    name: str = ""


class _ScopeSpans(msgspec.Struct):
    scope: _Scope = _Scope()
    spans: list[_Span] = []


class _ResourceSpans(msgspec.Struct, rename="camel"):
    scope_spans: list[_ScopeSpans]


class _RawScopeSpans(msgspec.Struct):
    scope: _Scope = _Scope()
    spans: list[msgspec.Raw] = []


class _RawResourceSpans(msgspec.Struct, rename="camel"):
    scope_spans: list[_RawScopeSpans]


class _RawRequest(msgspec.Struct, rename="camel"):
    resource_spans: list[_RawResourceSpans]


class _Header(msgspec.Struct, rename="camel"):
    trace_id: str = ""


class _Request(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans]


# Protobuf's JSON mapping writes 64-bit integers, such as times, as strings; `strict=False` converts them.
_request_decoder = msgspec.json.Decoder(_Request, strict=False)
_raw_request_decoder = msgspec.json.Decoder(_RawRequest)
_header_decoder = msgspec.json.Decoder(_Header)
_span_decoder = msgspec.json.Decoder(_Span, strict=False)
_events_decoder = msgspec.json.Decoder(list[_Event])
_any_events_decoder = msgspec.json.Decoder(list[dict[str, Any]])


def decode_request(line: bytes) -> list[Span] | None:
    """Return the spans of an OTLP/JSON request with undecoded attributes; None if the spelling is not the usual one."""
    # RecursionError is msgspec's answer to nesting beyond Python's limit; the tolerant reader reports it.
    try:
        request = _request_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    spans = [
        _finished(span, scoped.scope.name)
        for resource in request.resource_spans
        for scoped in resource.scope_spans
        for span in scoped.spans
    ]
    return None if any([len(span.trace_id) != _TRACE_ID_LENGTH for span in spans]) else spans


def split_request(line: bytes) -> list[PackedSpan] | None:
    """Return the undecoded spans of an OTLP/JSON request; None if the spelling is not the usual one."""
    try:
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
        return _finished(_span_decoder.decode(raw), scope)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _span_tolerantly(raw, scope)


def _finished(span: _Span, scope: str) -> Span:
    shape = shape_of(tuple([attribute.key for attribute in span.attributes]))
    parent, status = span.parent_span_id, span.status
    return Span(
        span.name,
        # One string for all spans of a trace, rather than one for each.
        intern(span.trace_id.lower()),
        span.span_id.lower() if span.span_id else None,
        None if parent is None or parent in _NO_PARENT else parent.lower(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        RawAttributes(shape, shape.places, span.attributes),  # type: ignore[arg-type]
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
        return [_event_of(event) for event in _events_decoder.decode(raw)]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _events_tolerantly(raw)


def _event_of(event: _Event) -> Event:
    shape = shape_of(tuple([attribute.key for attribute in event.attributes]))
    return Event(event.name, RawAttributes(shape, shape.places, event.attributes))  # type: ignore[arg-type]


def _events_tolerantly(raw: msgspec.Raw) -> list[Event]:
    try:
        return events_in(_any_events_decoder.decode(raw))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []
