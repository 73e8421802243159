"""What other programs export: OpenAI Agents' own spans, Phoenix's dataframes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.errors import InputError
from rightcall.reading.spans import Span, nanoseconds, plain_attributes, span_id
from rightcall.values.decoding import decode_text

from ._sdk import sdk_span

_ATTRIBUTES = "attributes."


def is_agents_span(document: Any) -> bool:
    """Whether a document is a trace or a span of the OpenAI Agents SDK's own export."""
    return isinstance(document, Mapping) and document.get("object") in ("trace", "trace.span")


def agents_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """The span of an object exported by the OpenAI Agents SDK; a trace object is none.

    Its data become attributes named `openai_agents.…`.
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
    """The span of one row of Phoenix's dataframe."""
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
    # A CSV holds lists and objects as Python writes them; texts that only look like JSON stay texts.
    if isinstance(value, str) and value[:2] in ("[{", "[]", "['"):
        try:
            return decode_text(value)
        except InputError:
            return value
    return value


def _time(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
