"""Spans and log records, independent of their container."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event of a span, such as an exception or a message."""

    name: str
    attributes: Mapping[str, Any]
    time_ns: int | None = None


class Span(msgspec.Struct, frozen=True, gc=False):
    """One span: its place in the trace, when it ran, and what it says about itself.

    `events` are `Event`s, or an iterable that decodes them when they are asked for.
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
    """The instrumentation that made it; empty if the container does not say."""
    events: Iterable[Event] = ()


_AnySpan = TypeVar("_AnySpan", bound=Span)


def topmost(spans: Iterable[_AnySpan]) -> list[_AnySpan]:
    """Return the spans whose parent is not among them: it may be in another service, and in no file that is read."""
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
    """A document that is not a span: a message, or a list of messages."""

    document: Any


class PackedSpan(msgspec.Struct, gc=False):
    """A span of OTLP, not decoded yet."""

    trace_id: str
    scope: str
    raw: bytes

    def may_be_grouped(self) -> bool:
        """Whether the span may name a conversation or session: every such key contains one of these words."""
        return b"conversation" in self.raw or b"session" in self.raw or b"thread_id" in self.raw


Item = Span | PackedSpan | LogRecord | OtherDocument
"""Everything a container can yield."""


class LazyEvents:
    """Events of a span, decoded on first use: most are never looked at."""

    __slots__ = ("_decode", "_held")

    def __init__(self, decode: Callable[[Any], Iterable[Event]], held: Any) -> None:
        self._decode, self._held = decode, held

    def __iter__(self) -> Iterator[Event]:
        return iter(self._decode(self._held))
