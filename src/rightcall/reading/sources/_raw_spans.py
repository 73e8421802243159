"""Convert spans to and from `RawSpan`, in which they are stored as they were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.formats import (
    is_otlp,
    items_of,
    live_span,
    looks_like_protobuf,
    otlp_span,
    protobuf_span,
    protobuf_spans,
    spans_in,
)
from rightcall.reading.runs import RunBuilder
from rightcall.reading.spans import Event, Span, plain_attributes
from rightcall.values.decoding import decode_json
from rightcall.values.trajectory import RawEvent, RawSpan, SpanKind, SpanStatus, Trajectory

from ._document_reader import opened

_KINDS: tuple[SpanKind, ...] = get_args(SpanKind)
# opentelemetry/proto/trace/v1/trace.proto, `SpanKind`: 1 is INTERNAL; the SDK has the names without a prefix.
_NAMED_KINDS: dict[Any, SpanKind] = {
    **{kind.upper(): kind for kind in _KINDS},
    **{f"SPAN_KIND_{kind.upper()}": kind for kind in _KINDS},
    **dict(enumerate(_KINDS, start=1)),
}
_SUCCESSES = frozenset({1, "1", "STATUS_CODE_OK", "OK", "Ok"})
_SERVICE = "service.name"


def raw_span(span: Any) -> RawSpan:
    """Return a span object of the OpenTelemetry SDK as it was recorded.

    Raises:
        InputError: it has no id.
    """
    resource = span.resource
    held = resource.attributes if resource else None
    return _raw(
        live_span(span),
        _NAMED_KINDS.get(getattr(span.kind, "_name_", None)),
        getattr(span.status.status_code, "_value_", None),
        held.get(_SERVICE) if held else None,
    )


def raw_spans(document: bytes, limits: Limits = DEFAULT_LIMITS) -> Iterator[RawSpan]:
    """Yield the spans in the bytes that an agent sent or wrote, as they were recorded. Broken lines are skipped.

    Raises:
        InputError: the bytes cannot be unpacked, or exceed the limits.
        MissingExtraError: the format needs a package that is not installed.
    """
    with opened(document, limits.text_bytes) as (name, stream):
        data = stream.read(limits.text_bytes + 1)
    if looks_like_protobuf(data[:8]):
        for span, scope, resource in protobuf_spans(data, name):
            if span.span_id:
                service = next((pair.value.string_value for pair in resource.attributes if pair.key == _SERVICE), "")
                yield _raw(protobuf_span(span, scope), _NAMED_KINDS.get(span.kind), span.status.code, service)
        return
    for decoded in _decoded(data, limits):
        yield from _in_json(decoded)


def read_raw_spans(
    turns: Iterable[Iterable[RawSpan]], is_conversation: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Trajectory:
    """Read stored spans of one run as a trajectory, turn by turn in a conversation."""
    run = RunBuilder(limits)
    for spans in turns:
        for span in spans:
            run.add(_unraw(span))
        if is_conversation:
            run.end_turn()
    return run.trajectory()


def _unraw(span: RawSpan) -> Span:
    return Span(
        name=span.name,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        attributes=dict(span.attributes),
        failed=span.status == "error",
        description=span.message,
        scope=span.scope,
        events=[Event(event.name, event.attributes, event.time_ns) for event in span.events],
    )


def _decoded(data: bytes, limits: Limits) -> Iterator[Any]:
    """Yield the only document, or the document in each line."""
    try:
        yield decode_json(data, limits)
        return
    except InputError:
        # One document is tried first, because it may extend over several lines.
        lines = data.splitlines()
    for line in lines:
        try:
            yield decode_json(line, limits)
        except InputError:
            continue  # reading the same bytes as a trajectory adds the warning about this line


def _in_json(document: Any) -> Iterator[RawSpan]:
    if isinstance(document, list):
        for item in document:
            yield from _in_json(item)
    elif is_otlp(document):
        for span, scope, resource in spans_in(document):
            read = otlp_span(span, scope)
            if read.span_id is not None:
                yield _raw(read, _named_kind(span.get("kind")), _code(span.get("status")), _service(resource))
    else:
        yield from (_raw(item) for item in items_of(document) if isinstance(item, Span) and item.span_id is not None)


def _raw(span: Span, kind: SpanKind | None = None, code: Any = None, service: Any = None) -> RawSpan:
    if span.span_id is None:
        raise InputError(f"a span without an id: {span.name!r:.80}")
    status: SpanStatus = "error" if span.failed else "ok" if code in _SUCCESSES else "unset"
    return RawSpan(
        name=span.name,
        span_id=span.span_id,
        trace_id=span.trace_id,
        parent_id=span.parent_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        kind=kind,
        status=status,
        message=span.description,
        scope=span.scope,
        service=service if isinstance(service, str) else "",
        attributes=span.attributes,
        events=tuple([_event(event) for event in span.events]),
    )


def _event(event: Any) -> RawEvent:
    """Return an event, ours or the SDK's, as it was recorded."""
    time = event.time_ns if hasattr(event, "time_ns") else getattr(event, "timestamp", None)
    return RawEvent(event.name, time, dict(event.attributes or {}))


def _named_kind(kind: Any) -> SpanKind | None:
    return _NAMED_KINDS.get(kind) if isinstance(kind, (int, str)) else None


def _code(status: Any) -> Any:
    code = status.get("code") if isinstance(status, Mapping) else None
    return code if isinstance(code, (int, str)) else None


def _service(resource: Any) -> Any:
    return plain_attributes(resource.get("attributes")).get(_SERVICE) if isinstance(resource, Mapping) else None
