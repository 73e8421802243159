"""Spans as they were recorded, to be looked at. No verdict depends on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import decode_json, dump_json, load_json

SpanKind: TypeAlias = Literal["internal", "server", "client", "producer", "consumer"]
SpanStatus: TypeAlias = Literal["unset", "ok", "error"]

_EFFORT = 2
"""The limit of work for spans that turn out not to fit, in multiples of the space for spans."""
# Made once, and held here: an agent that puts something else in their place must not be asked.
_parts_of = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


class RawEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a span recorded while it ran."""

    name: str
    time_ns: int | None = None
    attributes: Mapping[str, Any] = {}


class RawSpan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span with everything it says about itself, whatever container it came in. What is empty was not recorded."""

    name: str
    span_id: str
    trace_id: str = ""
    parent_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    kind: SpanKind | None = None
    status: SpanStatus = "unset"
    message: str = ""
    """The message of the status."""
    scope: str = ""
    """The instrumentation that made it."""
    service: str = ""
    """The `service.name` of its resource."""
    attributes: Mapping[str, Any] = {}
    events: tuple[RawEvent, ...] = ()


class KeptSpans(msgspec.Struct, frozen=True):
    """The spans of one run of a case, as many as there is room for: a list in JSON, on one line."""

    text: str = "[]"
    left_out: int = 0
    """The number of spans that are not here."""

    @classmethod
    def of(
        cls, spans: Collection[RawSpan], first: Collection[str | None] = (), limits: Limits = DEFAULT_LIMITS
    ) -> KeptSpans:
        """Return these spans, in their order. If they do not all fit, those with an id in `first` are preferred.

        Texts longer than `kept_text` are cut, and say so. Spans that cannot be written as JSON are left out.
        """
        # The spans of calls are what the page of a case links to.
        ordered = sorted(spans, key=lambda span: span.span_id not in first) if first else spans
        texts = _as_far_as_they_fit(ordered, limits)
        kept = [texts[span.span_id] for span in spans if span.span_id in texts]
        return cls(f"[{b', '.join(kept).decode()}]", len(spans) - len(kept))

    def without_spans(self) -> KeptSpans:
        """Return the same without any spans."""
        return KeptSpans(left_out=self.left_out + _count(self.text))

    def check(self, limits: Limits = DEFAULT_LIMITS) -> None:
        """Check that this can be part of a line of JSON.

        Raises:
            InputError: it is not a list, is larger than `of` makes it, or not on one line.
        """
        try:
            size = len(self.text.encode())
        except UnicodeEncodeError as problem:
            raise InputError(f"the spans are not text: {problem}") from None
        _count(self.text)
        if size > limits.kept_bytes + 2 or "\n" in self.text or self.left_out < 0:
            raise InputError(f"spans of {size:,} bytes, and the limit is {limits.kept_bytes:,}, on one line")

    def by_id(self) -> dict[str, RawSpan]:
        """Return the spans by id. Raises `InputError` if the text is not JSON."""
        return spans_by_id(load_json(self.text))[0]


def spans_by_id(items: Iterable[Any]) -> tuple[dict[str, RawSpan], int]:
    """Return spans from plain data, by id, and the number of items that are not spans."""
    found, others = {}, 0
    for item in items:
        try:
            span = msgspec.convert(item, RawSpan)
        except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for text that no encoding has, as an item
            others += 1
        else:
            found[span.span_id] = span
    return found, others


def _count(text: str) -> int:
    """Return the number of items of a list in JSON. Raises `InputError` if it is not a list."""
    try:
        return len(_parts_of(text))
    except msgspec.MsgspecError:
        held = decode_json(text)  # which also takes escapes of lone surrogates
    if not isinstance(held, list):
        raise InputError("the spans are not a list")
    return len(held)


def _as_far_as_they_fit(spans: Iterable[RawSpan], limits: Limits) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    room, effort = limits.kept_bytes, _EFFORT * limits.kept_bytes
    for span in spans:
        if effort <= 0:
            break
        text = span_text(span, limits)
        size = len(text) + 2
        effort -= size
        if text and size <= room:
            room -= size
            texts[span.span_id] = text
    return texts


def span_text(span: RawSpan, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return a span as JSON on one line, with long texts cut; empty if it cannot be written."""
    most = limits.kept_text
    try:
        text = _quickly_written(span)
        if text and len(text) <= most:  # and so is every text in it
            return text
        plain = msgspec.to_builtins(span)
        _cut_texts(plain.get("attributes", {}), most)
        for event in plain.get("events", ()):
            _cut_texts(event.get("attributes", {}), most)
        return dump_json(plain).encode()
    except (TypeError, ValueError, RecursionError):
        return b""


def _quickly_written(span: RawSpan) -> bytes:
    """Return a span as JSON, ten times as fast as `dump_json`; empty if the fast encoder may lose something."""
    try:
        text = _encode(span)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, a large integer
        return b""
    # It writes null for NaN and infinities, and our marks for them may be there as they are.
    return b"" if b"null" in text or b'"$float"' in text or b'"$literal"' in text else text


def _cut_texts(attributes: dict[str, Any], most: int) -> None:
    for key, value in attributes.items():
        if value.__class__ is str and len(value) > most:
            attributes[key] = f"{value[:most]}… [{len(value) - most:,} more characters]"
