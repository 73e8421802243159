"""Spans in what servers and tools wrap them in: answers, hits of a search, tables in each way of writing one."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.walls import for_each

from rightcall import InputError
from rightcall.reading import read

_NS = 1_777_629_600_000_000_000


def _attributes(order: int) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find",
        "gen_ai.tool.call.arguments": json.dumps({"order": order}),
        "gen_ai.tool.call.result": "ok",
    }


def _row(order: int) -> dict[str, Any]:
    return {
        "TraceId": "a" * 32,
        "SpanId": f"{order:016x}",
        "ParentSpanId": "",
        "SpanName": "execute_tool find",
        "Timestamp": _NS + order,
        "SpanAttributes": _attributes(order),
    }


def _otlp(order: int) -> dict[str, Any]:
    held = [{"key": key, "value": {"stringValue": value}} for key, value in _attributes(order).items()]
    ids = {"traceId": "a" * 32, "spanId": f"{order:016x}"}
    return {**ids, "name": "execute_tool find", "startTimeUnixNano": str(_NS + order), "attributes": held}


def _jaeger(order: int) -> dict[str, Any]:
    return {
        "traceID": "a" * 32,
        "spanID": f"{order:016x}",
        "operationName": "execute_tool find",
        "startTime": _NS // 1000 + order,
        "duration": 1,
        "tags": [{"key": key, "value": value} for key, value in _attributes(order).items()],
        "process": {"serviceName": "shop"},
    }


def _zipkin(order: int) -> dict[str, Any]:
    ids = {"traceId": "a" * 32, "id": f"{order:016x}"}
    return {**ids, "name": "execute_tool find", "timestamp": _NS // 1000 + order, "tags": _attributes(order)}


ROWS = [_row(7), _row(8)]
NAMES = list(ROWS[0])
VALUES = [list(row.values()) for row in ROWS]
COLUMNS = {name: [row[name] for row in ROWS] for name in NAMES}
TYPES = [{"name": name, "type": "String"} for name in NAMES]
REQUEST = {"resourceSpans": [{"scopeSpans": [{"spans": [_otlp(7), _otlp(8)]}]}]}
LOGGED = [{"message": json.dumps(_otlp(each)), "timestamp": 1, "ingestionTime": 1} for each in (7, 8)]
FIELDS = [[{"field": "@ptr", "value": ""}, {"field": "@message", "value": json.dumps(_otlp(each))}] for each in (7, 8)]

WRAPPED: dict[str, Any] = {
    "pandas, columns": {name: dict(enumerate(held)) for name, held in COLUMNS.items()},
    "pandas, index": {row["SpanId"]: row for row in ROWS},
    "pandas, split": {"columns": NAMES, "index": [0, 1], "data": VALUES},
    "pandas, table": {"schema": {"fields": TYPES}, "data": ROWS},
    "ClickHouse, JSONCompact": {"meta": TYPES, "data": VALUES, "rows": 2},
    "ClickHouse, JSONColumns": COLUMNS,
    "ClickHouse, JSONColumnsWithMetadata": {"meta": TYPES, "data": COLUMNS, "rows": 2},
    "Azure Monitor, answer": {"tables": [{"name": "PrimaryResult", "columns": TYPES, "rows": VALUES}]},
    "Elasticsearch, answer": {"took": 1, "hits": {"total": {"value": 2}, "hits": [{"_source": row} for row in ROWS]}},
    "Elasticsearch, hits": [{"_index": "traces", "_source": row} for row in ROWS],
    "Elasticsearch, Jaeger": {"hits": {"hits": [{"_source": _jaeger(each)} for each in (7, 8)]}},
    "Jaeger, version 3": {"result": REQUEST},
    "Jaeger, spans": [_jaeger(7), _jaeger(8)],
    "Zipkin, traces": [[_zipkin(7)], [_zipkin(8)]],
    "Honeycomb, answer": {"complete": True, "data": {"results": [{"data": row} for row in ROWS]}},
    "CloudWatch, events": {"events": LOGGED, "searchedLogStreams": []},
    "CloudWatch, Logs Insights": {"results": FIELDS, "status": "Complete"},
    "spans by their ids": {"trace": {"root_id": "7", "spans": {row["SpanId"]: row for row in ROWS}}},
    "several answers": [{"result": REQUEST}],
}


@for_each("name", list(WRAPPED))
def test_wrapped_spans_are_read(name: str) -> None:
    [run] = read(json.dumps(WRAPPED[name]).encode())

    assert [(call.name, call.args, call.output) for call in run.calls] == [
        ("find", {"order": 7}, "ok"),
        ("find", {"order": 8}, "ok"),
    ]
    assert run.calls_recorded


@for_each(
    "document",
    [
        {"columns": NAMES, "data": [VALUES[0][:-1]]},
        {"columns": [{"name": "TraceId", "values": ["a"]}, {"name": "SpanId", "values": None}]},
        {"meta": TYPES, "data": {**COLUMNS, "SpanId": []}},
        {"columns": [1, 2], "rows": [[1, 2]]},
        {"result": {"result": {"result": {"result": {"result": REQUEST}}}}},
        {"message": json.dumps(_otlp(7)), "timestamp": 1},
        {"@message": "{", "@ptr": ""},
    ],
)
def test_what_is_no_table_and_no_known_wrapping_is_refused(document: Any) -> None:
    with pytest.raises(InputError):
        list(read(json.dumps(document).encode()))


def test_spans_beside_messages_do_not_stand_for_them() -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "refund", "arguments": "{}"}}]}

    [run] = read(json.dumps({"messages": [asked], "result": REQUEST}).encode())

    assert "find" not in run.names


def test_spans_in_a_list_beside_messages_may_be_calls() -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]

    [run] = read(json.dumps({"messages": talk, "spans": [_row(1)]}).encode())

    assert not run.calls_recorded


def _observation(order: int) -> dict[str, Any]:
    return {
        "id": str(order),
        "traceId": "a",
        "type": "TOOL",
        "name": "find",
        "startTime": f"2026-05-01T10:00:0{order}Z",
        "parentObservationId": None,
        "input": {"order": order},
        "output": "ok",
    }


def _run(order: int) -> dict[str, Any]:
    return {
        "id": str(order),
        "trace_id": "a",
        "run_type": "tool",
        "name": "find",
        "start_time": f"2026-05-01T10:00:0{order}",
        "inputs": {"order": order},
        "outputs": {"output": "ok"},
        "error": None,
    }


def _event(order: int) -> dict[str, Any]:
    return {
        "span_id": str(order),
        "root_span_id": "a",
        "span_parents": [],
        "span_attributes": {"name": "find", "type": "tool"},
        "metrics": {"start": 1777629600 + order, "end": 1777629601 + order},
        "input": {"order": order},
        "output": "ok",
    }


def _dependency(order: int) -> dict[str, Any]:
    return {
        "timestamp [UTC]": f"2026-05-01T10:00:0{order}Z",
        "id": str(order),
        "operation_Id": "a",
        "operation_ParentId": "",
        "name": "execute_tool find",
        "customDimensions": _attributes(order),
    }


def _line(order: int) -> dict[str, Any]:
    return {"@timestamp": "2026-05-01", "@message": _otlp(order)}


TABLES = {"Langfuse": _observation, "LangSmith": _run, "Braintrust": _event, "Application Insights": _dependency}


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {key: json.dumps(held) if isinstance(held, (dict, list)) else held for key, held in row.items()}


def _as_text(rows: list[dict[str, Any]], separator: str) -> bytes:
    lines = [list(rows[0]), *[list(_cells(row).values()) for row in rows]]
    quoted = [["" if cell is None else '"' + str(cell).replace('"', '""') + '"' for cell in line] for line in lines]
    return "\n".join([separator.join(line) for line in quoted]).encode()


@for_each(
    ("name", "separator"),
    [(name, separator) for name in [*TABLES, "CloudWatch"] for separator in (",", "\t", ";")],
)
def test_a_table_of_a_platform_is_read_as_text(name: str, separator: str) -> None:
    make = {**TABLES, "CloudWatch": _line}[name]

    [run] = read(_as_text([make(7), make(8)], separator))

    assert [(call.name, call.args, call.output) for call in run.calls] == [
        ("find", {"order": 7}, "ok"),
        ("find", {"order": 8}, "ok"),
    ]


@for_each("name", list(TABLES))
def test_a_table_of_a_platform_is_read_as_parquet(name: str) -> None:
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([_cells(TABLES[name](each)) for each in (7, 8)]), file)

    [run] = read(file.getvalue())

    assert [(call.name, call.args, call.output) for call in run.calls] == [
        ("find", {"order": 7}, "ok"),
        ("find", {"order": 8}, "ok"),
    ]
