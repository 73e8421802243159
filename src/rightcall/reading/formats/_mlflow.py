"""MLflow: traces as its SDK, the answers of its server, its stored files and its tables of traces hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import Span, object_in, plain_attributes
from rightcall.values.decoding import decode_json

from ._exports import sdk_span
from ._otlp import is_otlp_span, otlp_span

_OWN = "mlflow."
"""Prefix of MLflow's own attributes, which are JSON text in every form of its traces."""
_STORED = frozenset({"request", "response", "request_metadata", "trace_metadata", "execution_duration"})
"""Keys beside the spans in a stored file of a trace, and in a row of `search_traces`."""


def is_mlflow_trace(document: Any) -> bool:
    """Whether a document is a trace of MLflow, or a response of its server with one or several."""
    return isinstance(document, Mapping) and any(True for _ in _traces(document))


def mlflow_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the spans of the traces of MLflow in a document."""
    for spans, is_encoded in _traces(document):
        for span in spans:
            if is_otlp_span(span):
                read = otlp_span(span, "")
                yield _decoded(read) if is_encoded else read
            elif isinstance(span, Mapping):
                # One that lost its ids is a call all the same.
                yield _decoded(sdk_span({**span, "context": object_in(span.get("context"))}))


def _traces(document: Mapping[str, Any]) -> Iterator[tuple[list[Any], bool]]:
    """Yield the spans of each trace, and whether each attribute of theirs is encoded as JSON.

    `traces/get` has one trace, `traces/batchGet` several; a row of `search_traces` has one as text.
    """
    several = document.get("traces")
    for held in (document, document.get("trace"), *(several if isinstance(several, list) else ())):
        trace = object_in(held)
        data, spans = trace.get("data"), trace.get("spans")
        if isinstance(data, Mapping) and isinstance(data.get("spans"), list):
            yield data["spans"], True
        elif isinstance(spans, list) and "trace_info" in trace:
            yield spans, False
        elif (
            isinstance(spans, list)
            and held is document
            and not object_in(trace.get("trace"))
            and _STORED & trace.keys()
        ):
            yield spans, True


def _decoded(span: Span) -> Span:
    """Undo the JSON encoding that `to_json` applies to each attribute, so that conventions find what was recorded."""
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
        # An `mlflow.…` attribute that another tracer sent was JSON text already, and is now encoded twice.
        return value if isinstance(value, str) and value[:1] in ('"', "{", "[") else held
    return value
