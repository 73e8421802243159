"""Traces of MLflow: as `Trace.to_json()` writes them, and as its server answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import Span, plain_attributes
from rightcall.values.decoding import decode_json

from ._otlp import is_otlp_span, otlp_span
from ._sdk import sdk_span

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
