"""Spans that other programs export: OpenAI Agents, Phoenix (dataframes), MLflow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import Span, nanoseconds, plain_attributes, span_id
from rightcall.values.decoding import decode_json, decode_text

from ._otlp import is_otlp_span, otlp_span
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


_OWN = "mlflow."
"""What MLflow's own attributes begin with: those are JSON text in every form of its traces."""


def is_mlflow_trace(document: Any) -> bool:
    """Whether a document is a trace of MLflow, or an answer of its server with one or several."""
    if not isinstance(document, Mapping):
        return False
    if isinstance(document.get("data"), Mapping):
        return isinstance(document["data"].get("spans"), list)
    return any(True for _ in _answered(document))


def mlflow_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """The spans of a trace of MLflow."""
    for trace in _answered(document):
        yield from (otlp_span(span, "") for span in trace["spans"] if is_otlp_span(span))
    data = document.get("data")
    for span in data["spans"] if isinstance(data, Mapping) else ():
        if is_otlp_span(span):
            yield _decoded(otlp_span(span, ""))
        elif isinstance(span, Mapping) and isinstance(span.get("context"), Mapping):
            yield _decoded(sdk_span(span))


def _answered(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The traces in an answer of MLflow's server: `traces/get` has one, `traces/batchGet` several."""
    several = document.get("traces")
    for held in (document, document.get("trace"), *(several if isinstance(several, list) else ())):
        if isinstance(held, Mapping) and "trace_info" in held and isinstance(held.get("spans"), list):
            yield held


def _decoded(span: Span) -> Span:
    """A span without the JSON that `to_json` makes of each attribute, so that conventions find what was recorded."""
    attributes = {key: _value(key, held) for key, held in plain_attributes(span.attributes).items()}
    return msgspec.structs.replace(span, attributes=attributes)


def _value(key: str, held: Any) -> Any:
    if not isinstance(held, str):
        return held
    try:
        value = decode_json(held)
    except InputError:
        return held
    if key.startswith(_OWN):
        # An attribute of MLflow's own that came from elsewhere was JSON text before it was made JSON text.
        return value if isinstance(value, str) and value[:1] in ('"', "{", "[") else held
    return value
