"""The table of containers, how each is recognised and read, and the envelopes of servers and tools around spans.

An envelope does not show whether there are spans in it: everything that may be inside is tried against the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import MESSAGES, Item, OtherDocument
from rightcall.values.decoding import decode_json

from ._exports import (
    agents_spans,
    dataframe_span,
    is_agents_span,
    is_dataframe_row,
    is_jaeger,
    is_live_span,
    is_mlflow_trace,
    is_sdk_span,
    is_zipkin_span,
    jaeger_spans,
    live_span,
    mlflow_spans,
    sdk_span,
    zipkin_span,
)
from ._otlp import is_otlp, otlp_items
from ._platforms import is_langfuse, is_langsmith_run, is_platform_span, langfuse_spans, langsmith_spans, platform_span
from ._rows import has_rows, is_header, row_spans

_KEYS = (
    *("data", "spans", "rows", "runs", "observations", "traces", "content", "events", "results"),
    *("result", "hits", "tables", "trace", "Traces"),
)
"""Keys of lists of spans and of envelopes: Jaeger's `result`, Elasticsearch's `hits`, Azure's `tables`."""
_NO_WRAPPING = frozenset({"messages", "role", "generated_items", "generatedItems"})
"""Keys of conversations and messages, which are not envelopes, even if spans, or a trace, are beside them."""
_MOST_CELLS = 5_000_000  # columns may have any length, and all rows are made before the first span
_FEWEST_COLUMNS = 4
"""An object with fewer lists is not a table of spans, which needs two ids, a name and a start."""
_OBJECTS = ("", "{", "[")
_LINE = ("@message", "message")
_ABOUT_LINE = frozenset({"@message", "@ptr", "ingestionTime", "logStreamName"})
"""Keys of log lines in CloudWatch, which stores a span of AgentCore as the text of a line."""


class Container(msgspec.Struct, frozen=True):
    """One way to write spans as JSON documents."""

    name: str
    recognises: Callable[[Any], bool]
    items: Callable[[Any], Iterable[Item]]
    what: str
    """What is read, as the reference documentation says it."""
    told_by: str
    """The keys that mark the container, as the reference documentation lists them."""


def _alone(make: Callable[[Any], Item]) -> Callable[[Any], Iterable[Item]]:
    return lambda document: (make(document),)


# Tried from the top. MLflow comes first because its traces contain spans of OTLP and of the SDK; Langfuse comes before
# Zipkin because its observations have the keys of Zipkin's spans.
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
        "[columns](columns.md#tables-of-spans) of tables; Honeycomb's events; traces of Google Cloud Trace (versions "
        "1 and 2); spans of New Relic, Sentry and UiPath; segments of AWS X-Ray",
        "ids of a trace and a span, and two of name, start, attributes; such a row in `data` beside `time`; "
        "`projectId`, `traceId` and `spans`; `spanId` and `displayName`; `trace.id` and `id`; `op`, `data` and ids; "
        "`Id`, `TraceId` and `Attributes`; `Segments`",
    ),
)
"""Phoenix's REST spans are read as `sdk`, its OTLP and Tempo's as `otlp`."""

INPUT_FORMATS = (*(container.name for container in CONTAINERS), MESSAGES)
"""Names for `input_format`."""


_DEEPEST = 3
"""How many envelopes there may be around spans."""
_OF_CHAT = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "refusal"})
"""Keys of messages in the format of OpenAI's chats."""
_MOST_LOOKED_AT = 1_000  # items of a list; if none of the first ones is a span, it is not a list of spans


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
    """Yield the spans of a row of a table, whose objects may be JSON text; another row as an `OtherDocument`."""
    known, opened = _container(row, input_format), with_objects(row)
    # The readers of these two containers decode cells themselves; the others expect decoded values.
    is_raw = known is not None and known.name in ("dataframe", "rows")
    yield from items_of(opened if not is_raw and format_of(opened, input_format) else row, input_format)


def format_of(document: Any, input_format: str | None = None) -> str:
    """Return the name of the container of a document, or of what is in its envelope; empty if there is none."""
    found = _container(document, input_format)
    held = _wrapped(document, input_format) if found is None else document
    for item in held if isinstance(held, list) else [held]:
        found = _container(item, input_format)
        if found is not None:
            return found.name
    return ""


def is_chat_message(document: Any) -> bool:
    """Whether a document is a message of a chat and nothing else: most items of most logs need no other question."""
    return document.__class__ is dict and "role" in document and document.keys() <= _OF_CHAT


def _container(document: Any, input_format: str | None) -> Container | None:
    if input_format == MESSAGES or is_chat_message(document) or is_by_columns(document):
        return None
    for container in CONTAINERS:
        if input_format in (None, container.name) and container.recognises(document):
            return container
    return None


def _wrapped(document: Any, input_format: str | None, depth: int = 0) -> Any:
    """Return the content of an envelope if it is of a known container, or a list with such an item; otherwise None."""
    for held in held_in(document) if input_format != MESSAGES else ():
        items = held[:_MOST_LOOKED_AT] if isinstance(held, list) else [held]
        if any([_container(item, input_format) for item in items]):
            return held
        inner = _wrapped(held, input_format, depth + 1) if depth < _DEEPEST else None
        if inner is not None:
            return inner
    # The documents of a list are alike: the first one shows whether they are envelopes.
    if not isinstance(document, list) or not document or depth >= _DEEPEST:
        return None
    if _wrapped(document[0], input_format, depth + 1) is None:
        return None
    found = [(item, _wrapped(item, input_format, depth + 1)) for item in document]
    return [each for item, held in found for each in (held if isinstance(held, list) else [held or item])]


def held_in(document: Any) -> Iterator[Any]:
    """Yield everything that may be inside a document: the rows of a table, unwrapped items, lists and objects."""
    if isinstance(document, list):
        yield from _held_in_list(document)
    if not isinstance(document, Mapping) or not _NO_WRAPPING.isdisjoint(document):
        return
    bare = held_by(document)
    if bare is not document:
        yield bare
    yield from rows_of(document)
    for key in _KEYS:
        value = document.get(key)
        if value and isinstance(value, (list, Mapping)):
            yield value


def _held_in_list(items: list[Any]) -> Iterator[list[Any]]:
    bare = [held_by(item) for item in items]
    if any([held is not item for held, item in zip(bare, items, strict=True)]):
        yield bare
    if items and all([isinstance(item, list) for item in items]):
        yield [each for item in items for each in item]  # Zipkin answers with a list of traces


def held_by(item: Any) -> Any:
    """Return the document inside a hit of Elasticsearch or a log line of CloudWatch; any other item unchanged."""
    if isinstance(item, list) and item and all([_is_field(each) for each in item]):
        item = {each["field"]: each.get("value") for each in item}  # a result of CloudWatch's Logs Insights
    if not isinstance(item, Mapping):
        return item
    source = item.get("_source")
    if isinstance(source, Mapping):
        return source
    text = next((item[key] for key in _LINE if isinstance(item.get(key), str)), "")
    if text[:1] != "{" or _ABOUT_LINE.isdisjoint(item):
        return item
    try:
        return decode_json(text)
    except InputError:
        return item


def with_objects(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table with objects and lists in JSON text decoded, and null for empty cells."""
    return {key: _object_in_cell(cell) for key, cell in row.items()}


def _object_in_cell(cell: Any) -> Any:
    if not isinstance(cell, str) or cell[:1] not in _OBJECTS:
        return cell
    try:
        return decode_json(cell) if cell else None
    except InputError:
        return cell


def is_by_columns(document: Any) -> bool:
    """Whether an object is a table by columns: each key has a list, or an object, with the same number of values."""
    if not isinstance(document, Mapping) or len(document) < _FEWEST_COLUMNS:
        return False
    first = next(iter(document.values()))
    if first.__class__ is list:
        return all([value.__class__ is list and len(value) == len(first) for value in document.values()])
    is_table = first.__class__ is dict and len(first) > 0
    return is_table and all([value.__class__ is dict and value.keys() == first.keys() for value in document.values()])


def rows_of(document: Any) -> Iterator[list[Any]]:
    """Yield the rows of a document in each way in which it may be a table: with a separate header, or by columns."""
    if not isinstance(document, Mapping):
        return
    names = _names(document)
    rows: list[Any] = next((document[key] for key in ("rows", "data") if isinstance(document.get(key), list)), [])
    if names and all([isinstance(row, list) and len(row) == len(names) for row in rows]):
        yield [dict(zip(names, row, strict=True)) for row in rows]  # pandas (`split`), ClickHouse, Azure Monitor
    columns = _columns(document, names)
    if columns:
        yield _transposed(columns)
    held = list(document.values())
    if held and all([each.__class__ is dict for each in held]):
        yield held  # an index: pandas (`index`) writes a row by its id, `columns` the other way round
    if is_by_columns(document):
        yield _transposed(
            {key: list(each.values() if each.__class__ is dict else each) for key, each in document.items()}
        )


def _names(document: Mapping[str, Any]) -> list[str]:
    """Return the header of a table: names, or objects with a name; empty if there is none."""
    value = document.get("columns") or document.get("meta")
    if not isinstance(value, list) or not value:
        return []
    names = [each.get("name") if isinstance(each, Mapping) else each for each in value]
    return [name for name in names if isinstance(name, str)] if all([isinstance(name, str) for name in names]) else []


def _columns(document: Mapping[str, Any], names: list[str]) -> dict[str, list[Any]]:
    """Return the columns of a table with a separate header and values by column: Logfire, ClickHouse."""
    columns, data = document.get("columns"), document.get("data")
    held: Any = None
    if isinstance(columns, list) and all([isinstance(each, Mapping) for each in columns]):
        held = [each.get("values") for each in columns]
    elif isinstance(data, Mapping):
        held = [data.get(name) for name in names]
    if not names or not isinstance(held, list) or len(held) != len(names):
        return {}
    lengths = {len(each) if isinstance(each, list) else None for each in held}
    return dict(zip(names, held, strict=True)) if len(lengths) == 1 and None not in lengths else {}


def _transposed(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    if sum([len(column) for column in columns.values()]) > _MOST_CELLS:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_field(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("field"), str)
