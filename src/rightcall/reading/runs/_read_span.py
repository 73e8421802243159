"""A span with what was read from it, and selections of such spans."""

from __future__ import annotations

from rightcall.reading.conventions import Kind
from rightcall.reading.spans import CallRecord, Span


class ReadSpan(Span, frozen=True, gc=False):
    """A span with its kind and the call read from it.

    Attributes and events that only the call needed are gone: model spans repeat whole conversations, and a run holds
    all of its spans until it ends.
    """

    kind: Kind = ""
    call: CallRecord | None = None
    """The call read from the span. Its `span` is not set: two values that hold each other would never be freed, since
    neither is tracked by the garbage collector."""
    attribute_count: int = 0
    """How many attributes were recorded."""


def once_each(spans: list[ReadSpan]) -> list[ReadSpan]:
    """Return the spans with each id once: of several with one id, the one with the most attributes.

    Exporters send a batch again when the response to it is lost, so this comes before anything is decided by spans.
    Spans without ids are all kept.
    """
    ids = {span.span_id for span in spans}
    if len(ids) == len(spans) or ids == {None}:
        return spans
    best: dict[tuple[str, str], ReadSpan] = {}
    without_id = []
    for span in spans:
        if span.span_id is None:
            without_id.append(span)
            continue
        key = (span.trace_id, span.span_id)
        known = best.get(key)
        if known is None or span.attribute_count > known.attribute_count:
            best[key] = span
    kept = {id(span) for span in (*without_id, *best.values())}
    return [span for span in spans if id(span) in kept]
