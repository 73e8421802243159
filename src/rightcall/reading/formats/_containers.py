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
from ._rows import has_rows, row_spans


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
    Container("jaeger", is_jaeger, jaeger_spans, "Jaeger's JSON, one trace or `data`", "`traceID` and `spans`"),
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


_LISTS = ("data", "spans", "rows", "runs", "observations", "traces", "content", "events")


def items_of(document: Any, input_format: str | None = None) -> Iterator[Item]:
    """Yield the spans and log records of a decoded document, and anything else as an `OtherDocument`."""
    if isinstance(document, list):
        if not any([_container(item, input_format) or is_live_span(item) for item in document]):
            yield OtherDocument(document)
            return
        for item in document:
            yield from items_of(item, input_format)
        return
    container = _container(document, input_format)
    if container:
        yield from container.items(document)
    elif is_live_span(document):
        yield live_span(document)
    else:
        yield from _wrapped(document, input_format)


def format_of(document: Any, input_format: str | None = None) -> str:
    """Return the name of the container that a document is; empty if it is none."""
    held = document
    if isinstance(document, dict) and _container(document, input_format) is None:
        held = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
    for item in held if isinstance(held, list) else [held]:
        found = _container(item, input_format)
        if found is not None:
            return found.name
    return ""


def _container(document: Any, input_format: str | None) -> Container | None:
    if input_format == MESSAGES:
        return None
    for container in CONTAINERS:
        if input_format in (None, container.name) and container.recognises(document):
            return container
    return None


def _wrapped(document: Any, input_format: str | None) -> Iterator[Item]:
    rows = _transposed(document) if input_format != MESSAGES else []
    if rows:
        yield from items_of(rows, input_format)
        return
    # Servers wrap lists of spans in an object: {"data": […], "next_cursor": …}, {"spans": […]}, {"rows": […]}.
    for key in _LISTS if isinstance(document, dict) and input_format != MESSAGES else ():
        held = document.get(key)
        if isinstance(held, list) and any(_container(item, input_format) for item in held):
            yield from items_of(held, input_format)
            return
    yield OtherDocument(document)


_MOST_CELLS = 5_000_000  # columns may claim any length, and rows of them are made before a span is


def _transposed(document: Any) -> list[dict[str, Any]]:
    """Return the rows of a table that is written column by column (Logfire's query API); none if it is not one."""
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, list) or not columns or not all([_is_column(column) for column in columns]):
        return []
    lengths = {len(column["values"]) for column in columns}
    if len(lengths) != 1 or len(columns) * lengths.pop() > _MOST_CELLS:
        return []
    names = [column["name"] for column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*[column["values"] for column in columns], strict=True)]


def _is_column(column: Any) -> bool:
    return isinstance(column, dict) and isinstance(column.get("name"), str) and isinstance(column.get("values"), list)
