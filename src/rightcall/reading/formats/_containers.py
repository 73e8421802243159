"""The table of containers: how each is recognised, and how its spans are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from rightcall.reading.spans import MESSAGES, Item, OtherDocument

from ._exports import (
    agents_spans,
    dataframe_span,
    is_agents_span,
    is_dataframe_row,
    is_jaeger,
    is_live_span,
    is_sdk_span,
    is_zipkin_span,
    jaeger_spans,
    live_span,
    sdk_span,
    zipkin_span,
)
from ._langfuse import is_langfuse, langfuse_spans
from ._langsmith import is_langsmith_run, langsmith_spans
from ._mlflow import is_mlflow_trace, mlflow_spans
from ._otlp import is_otlp, otlp_items
from ._platforms import is_platform_span, platform_span
from ._rows import has_rows, is_header, row_spans
from ._wrappings import held_in, is_by_columns, with_objects


class Container(msgspec.Struct, frozen=True):
    """One way to write spans as JSON documents."""

    name: str
    recognises: Callable[[Any], bool]
    items: Callable[[Any], Iterable[Item]]
    what: str
    """What is read, for people."""
    told_by: str
    """The marks, for people."""


def _alone(make: Callable[[Any], Item]) -> Callable[[Any], Iterable[Item]]:
    return lambda document: (make(document),)


# Tried from the top. MLflow comes first because its traces hold spans of OTLP and of the SDK, Langfuse before Zipkin
# because its observations have the keys of Zipkin's spans.
CONTAINERS = (
    Container(
        "mlflow",
        is_mlflow_trace,
        mlflow_spans,
        "MLflow's `Trace.to_json()`; answers of its server (`traces/get`, `traces/batchGet`); stored files; rows of "
        "`search_traces`",
        "`data.spans`; `trace_info` and `spans`; `spans` and `request`",
    ),
    Container(
        "jaeger",
        is_jaeger,
        jaeger_spans,
        "Jaeger's JSON, one trace or `data`; its spans one by one, as Elasticsearch keeps them",
        "`traceID` and `spans`; `traceID`, `spanID`, `operationName` and `process`",
    ),
    Container(
        "otlp",
        is_otlp,
        otlp_items,
        "OTLP/JSON traces and logs: one document, or one request a line as the collector's file exporter writes them; "
        "Tempo's `batches` and `trace`; Phoenix's `/spans/otlpv1`; single OTLP spans. camelCase or snake_case, "
        "hexadecimal or base64 ids",
        "`resourceSpans`, `resourceLogs`, `batches`, `startTimeUnixNano`",
    ),
    Container(
        "sdk",
        is_sdk_span,
        _alone(sdk_span),
        "what `ReadableSpan.to_json()` writes: one a line, in a list, or one after the other as the console exporter "
        "prints them; Phoenix's REST spans",
        "`context` and `name`",
    ),
    Container(
        "langfuse",
        is_langfuse,
        langfuse_spans,
        "Langfuse's traces with their observations, as its pages and its API give them; observations alone, one a line "
        "or in `data`; exports in snake_case. An observation of OpenTelemetry is read by the convention of its span",
        "`observations`; `parentObservationId`; `type`, `traceId` and `startTime`",
    ),
    Container(
        "langsmith",
        is_langsmith_run,
        langsmith_spans,
        "runs of LangSmith: a list, one a line, the answer of `runs/query`, a tree of `child_runs`, the body of "
        "`runs/batch`",
        "`run_type`, or `dotted_order` and `id`, beside `inputs` or `outputs`; `post` and `patch`",
    ),
    Container(
        "platforms",
        is_platform_span,
        _alone(platform_span),
        "spans of Braintrust (`fetch`, exports), of Datadog's LLM Observability (export API, its SDK's spans), of "
        "Opik, and rows of Application Insights",
        "`root_span_id` and `span_attributes`; `span_kind` or `meta` with `start_ns`; `trace_id`, `type` and "
        "`last_updated_at`; `operation_Id` and `customDimensions`",
    ),
    Container("zipkin", is_zipkin_span, _alone(zipkin_span), "Zipkin v2", "`traceId` and `id`"),
    Container(
        "openai-agents",
        is_agents_span,
        agents_spans,
        "the OpenAI Agents SDK's own export",
        "`object` = `trace.span`",
    ),
    Container(
        "dataframe",
        is_dataframe_row,
        _alone(dataframe_span),
        "rows of Phoenix's dataframe, as dicts or CSV",
        "`context.span_id`",
    ),
    Container(
        "rows",
        has_rows,
        row_spans,
        "rows of spans as DuckDB, BigQuery, ClickHouse and scripts print them: JSON, JSON lines or CSV, in the "
        "[columns](columns.md#tables-of-spans) of tables; Honeycomb's events; traces of Google Cloud Trace (version 1)",
        "ids of a trace and a span, and two of name, start, attributes; such a row in `data` beside `time`; "
        "`projectId`, `traceId` and `spans`",
    ),
)
"""Phoenix's REST spans are read as `sdk`, its OTLP and Tempo's as `otlp`."""

INPUT_FORMATS = (*(container.name for container in CONTAINERS), MESSAGES)
"""Names for `input_format`."""


_DEEPEST = 3
"""How many wrappings there may be around spans."""
_MOST_LOOKED_AT = 1_000  # items of a list; if none of them is a span, it is not a list of spans


def items_of(document: Any, input_format: str | None = None) -> Iterator[Item]:
    """Yield the spans and log records of a decoded document, and anything else as an `OtherDocument`."""
    if isinstance(document, list) and any([_container(item, input_format) or is_live_span(item) for item in document]):
        for item in document:
            yield from items_of(item, input_format)
        return
    container = _container(document, input_format)
    if container:
        yield from container.items(document)
    elif not isinstance(document, list) and is_live_span(document):
        yield live_span(document)
    else:
        held = _wrapped(document, input_format)
        if held is None:
            yield OtherDocument(document)
        else:
            yield from items_of(held, input_format)


def is_table_header(names: list[str]) -> bool:
    """Whether these are the names of the columns of a table of spans, of any container."""
    return is_header(names) or "@message" in names or format_of(dict.fromkeys(names, "")) != ""


def row_items(row: dict[str, Any], input_format: str | None = None) -> Iterator[Item]:
    """Yield the spans of a row of a table, in which objects may be JSON text; a row that is no span as it is."""
    known, opened = _container(row, input_format), with_objects(row)
    # Readers of these two know how each database prints a cell; other containers hold the values themselves.
    is_raw = known is not None and known.name in ("dataframe", "rows")
    yield from items_of(opened if not is_raw and format_of(opened, input_format) else row, input_format)


def format_of(document: Any, input_format: str | None = None) -> str:
    """Return the name of the container that a document is; empty if it is none."""
    found = _container(document, input_format)
    held = _wrapped(document, input_format) if found is None else document
    for item in held if isinstance(held, list) else [held]:
        found = _container(item, input_format)
        if found is not None:
            return found.name
    return ""


def _container(document: Any, input_format: str | None) -> Container | None:
    if input_format == MESSAGES or is_by_columns(document):
        return None
    for container in CONTAINERS:
        if input_format in (None, container.name) and container.recognises(document):
            return container
    return None


def _wrapped(document: Any, input_format: str | None, depth: int = 0) -> Any:
    """Return what a document wraps, if it is of a container, or a list in which something is; otherwise None."""
    for held in held_in(document) if input_format != MESSAGES else ():
        items = held[:_MOST_LOOKED_AT] if isinstance(held, list) else [held]
        if any([_container(item, input_format) for item in items]):
            return held
        inner = _wrapped(held, input_format, depth + 1) if depth < _DEEPEST else None
        if inner is not None:
            return inner
    # Of several documents in a list, which are alike, the first tells whether they wrap something.
    if not isinstance(document, list) or not document or depth >= _DEEPEST:
        return None
    if _wrapped(document[0], input_format, depth + 1) is None:
        return None
    found = [(item, _wrapped(item, input_format, depth + 1)) for item in document]
    return [each for item, held in found for each in (held if isinstance(held, list) else [held or item])]
