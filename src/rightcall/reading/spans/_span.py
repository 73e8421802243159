"""A span and a log record, whatever container they came in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something a span recorded while it ran, such as an exception or a message."""

    name: str
    attributes: Mapping[str, Any]
    time_ns: int | None = None


_SPELLED = {
    "name": "name",
    "trace_id": "traceId",
    "span_id": "spanId",
    "parent_id": "parentSpanId",
    "start_ns": "startTimeUnixNano",
    "end_ns": "endTimeUnixNano",
    "attributes": "attributes",
    "events": "events",
    "status": "status",
}


class Span(msgspec.Struct, gc=False, rename=lambda field: _SPELLED.get(field, f"rightcall:{field}")):
    """One span: where it stands in its trace, when it ran, and what it says about itself.

    `events` are `Event`s, or whatever the container can turn into them when somebody asks. Decoded, the fields are
    spelled as in OTLP, and those that OTLP has not have names that nobody writes.
    """

    name: str
    trace_id: str = ""
    span_id: str | None = None
    parent_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    attributes: Mapping[str, Any] = {}
    failed: bool = False
    """Its status is ERROR."""
    description: str = ""
    """The message of its status."""
    scope: str = ""
    """Which instrumentation made it; empty where the container does not say."""
    events: Iterable[Event] = ()
    kind: Any = None
    """What the span stands for, once somebody has asked."""
    record: Any = None
    """The call read from the span, until its run takes it."""
    said: int = 0
    """How many attributes it had, where the call has taken what was in them."""


def once_each(spans: list[Span]) -> list[Span]:
    """The spans, each id once: of several with one id the one that says most. Spans without ids are all kept.

    Exporters that hear no answer send again what they sent, so this is done before anything is decided by spans.
    """
    ids = {span.span_id for span in spans}
    if len(ids) == len(spans) or ids == {None}:
        return spans
    best: dict[tuple[str, str], Span] = {}
    lone = []
    for span in spans:
        if span.span_id is None:
            lone.append(span)
            continue
        key = (span.trace_id, span.span_id)
        known = best.get(key)
        if known is None or _said(span) > _said(known):
            best[key] = span
    kept = {id(span) for span in (*lone, *best.values())}
    return [span for span in spans if id(span) in kept]


def _said(span: Span) -> int:
    return span.said or len(span.attributes)


def topmost(spans: Iterable[Span]) -> list[Span]:
    """The spans whose parent is not among them: it may be in another service, and in no file that is read."""
    held = list(spans)
    ids = {span.span_id for span in held}
    return [span for span in held if span.parent_id is None or span.parent_id not in ids]


class LogRecord(msgspec.Struct):
    """One OpenTelemetry log record: an event with a message of the model in it."""

    name: str
    body: Any
    attributes: Mapping[str, Any]
    trace_id: str = ""
    span_id: str | None = None
    time_ns: int | None = None


class OtherDocument(msgspec.Struct, frozen=True):
    """A document that is no span: a message, or a list of them."""

    document: Any


class PackedSpan(msgspec.Struct, gc=False):
    """A span of OTLP that nobody has decoded yet."""

    trace_id: str
    scope: str
    raw: bytes

    def may_be_grouped(self) -> bool:
        """Whether the span may name a conversation or a session."""
        return b"conversation" in self.raw or b"session" in self.raw or b"thread_id" in self.raw


Item = Span | PackedSpan | LogRecord | OtherDocument
"""What a container yields."""


class LazyEvents:
    """Events of a span that are decoded when somebody asks, since few spans' events matter."""

    __slots__ = ("_decode", "_held")

    def __init__(self, decode: Callable[[Any], Iterable[Event]], held: Any) -> None:
        self._decode, self._held = decode, held

    def __iter__(self) -> Iterator[Event]:
        return iter(self._decode(self._held))
