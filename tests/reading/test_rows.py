"""Rows of spans as databases print them: JSON, JSON lines and CSV, in the columns of tables."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from tests.walls import for_each

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading import read
from rightcall.reading.formats._rows import (
    attributes_or_trouble,
    has_rows,
    is_row,
    moment,
    row_span,
    row_spans,
    scope_name,
    side_by_side,
)
from rightcall.reading.spans import UNREADABLE
from rightcall.values.trajectory import Trajectory

TRACE = "0af7651916cd43dd8448eb211c80319c"
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.arguments": '{"query": "tv"}',
    "gen_ai.tool.call.result": "3 found",
}


def row(number: int = 2, **more: Any) -> dict[str, Any]:
    """A span of a tool, in the columns of a table."""
    return {
        "trace_id": TRACE,
        "span_id": f"{number:016x}",
        "parent_span_id": f"{1:016x}",
        "name": "execute_tool search",
        "start_time": number * 10**18,
        "end_time": number * 10**18 + 5,
        "attributes": TOOL,
        **more,
    }


def clickhouse() -> dict[str, Any]:
    return {
        "Timestamp": "2025-03-01 10:00:00.123456789",
        "TraceId": TRACE,
        "SpanId": f"{2:016x}",
        "ParentSpanId": "",
        "SpanName": "execute_tool search",
        "SpanAttributes": TOOL,
        "Duration": 1_000,
        "StatusCode": "Unset",
        "StatusMessage": "",
        "Events.Timestamp": [],
        "Events.Name": [],
        "Events.Attributes": [],
    }


def bigquery() -> dict[str, Any]:
    pairs = [{"key": key, "value": {"string_value": value}} for key, value in TOOL.items()]
    return row(attributes=pairs, start_time="2025-03-01 10:00:00.123456 UTC", end_time="2025-03-01 10:00:01 UTC")


def duckdb() -> dict[str, Any]:
    return {
        **{key: value for key, value in row().items() if key != "attributes"},
        "start_time": "2025-03-01 10:00:00.123456",
        "end_time": "2025-03-01 10:00:01",
        "attributes": json.dumps(TOOL),
    }


def nested() -> dict[str, Any]:
    called = {"arguments": '{"query": "tv"}', "result": "3 found"}
    return row(
        attributes={"gen_ai": {"operation": {"name": "execute_tool"}, "tool": {"name": "search", "call": called}}}
    )


def columns() -> dict[str, Any]:
    return {
        **{key: value for key, value in row().items() if key != "attributes"},
        **{f"attributes.{key}": value for key, value in TOOL.items()},
    }


SPELT = {
    "plain": row,
    "ClickHouse": clickhouse,
    "BigQuery": bigquery,
    "DuckDB": duckdb,
    "nested": nested,
    "a column each": columns,
}


def only(document: Any) -> Trajectory:
    [trajectory] = read(document if isinstance(document, bytes) else json.dumps(document).encode())
    return trajectory


@pytest.mark.parametrize("spelling", SPELT)
def test_a_row_is_a_span_in_every_spelling(spelling: str) -> None:
    made = only([SPELT[spelling]()])

    [call] = made.calls
    assert (call.name, call.args, call.output) == ("search", {"query": "tv"}, "3 found")
    assert call.start_ns is not None
    assert made.trace_id == TRACE


@pytest.mark.parametrize("spelling", SPELT)
def test_lines_a_list_and_a_wrapped_list_are_the_same(spelling: str) -> None:
    spans = [SPELT[spelling]()]
    lines = b"\n".join(json.dumps(span).encode() for span in spans)

    assert only(lines) == only(spans) == only({"rows": spans})


def as_csv(*rows: dict[str, Any]) -> bytes:
    text = io.StringIO()
    written = csv.DictWriter(text, list(rows[0]))
    written.writeheader()
    written.writerows(rows)
    return text.getvalue().encode()


def test_a_table_in_csv_is_read() -> None:
    made = only(as_csv(row(2, attributes=json.dumps(TOOL)), row(3, attributes=str(TOOL))))

    assert [(call.name, call.args, call.start_ns) for call in made.calls] == [
        ("search", {"query": "tv"}, 2 * 10**18),
        ("search", {"query": "tv"}, 3 * 10**18),
    ]


@pytest.mark.parametrize("write", [int, str], ids=["number", "text"])
@pytest.mark.parametrize(
    ("time", "unit"),
    [
        (1_740_823_200, 10**9),
        (9_000_000_000, 10**9),
        (10**11, 10**6),
        (1_740_823_200_000, 10**6),
        (9_000_000_000_000, 10**6),
        (10**14, 10**3),
        (1_740_823_200_000_000, 10**3),
        (10**17 - 1, 10**3),
        (10**17, 1),
    ],
)
def test_the_size_of_a_time_shows_its_unit(time: int, unit: int, write: type[int] | type[str]) -> None:
    [call] = only([row(start_time=write(time), end_time=None)]).calls

    assert call.start_ns == time * unit


def test_of_two_columns_that_may_hold_a_field_the_better_name_wins() -> None:
    [call] = only([row(timestamp=5 * 10**18, time=6 * 10**18)]).calls

    assert call.start_ns == 2 * 10**18


def test_a_status_and_events_of_a_row_count() -> None:
    event = {"event_name": "exception", "timestamp": 1, "attributes": {"exception.message": "no such shop"}}

    [call] = only([row(status={"code": "ERROR"}, span_events=[event])]).calls

    assert call.error == "no such shop"


@for_each(
    "row",
    [
        {"otel_status_code": "ERROR", "otel_status_message": "no"},
        {"tags": [{"key": "otel.status_code", "value": "ERROR"}], "status_code": "ERROR", "status_message": "no"},
        {"meta": {"a": "b"}, "status_code": "ERROR", "status_message": "no"},
    ],
)
def test_columns_of_logfire_jaeger_and_datadog_are_known(row: dict[str, Any]) -> None:
    ids = {"trace_id": "a" * 32, "span_id": "b" * 16, "name": "x", "start_time": 1}

    [span] = row_spans({**ids, **row})

    assert (span.failed, span.description, len(span.attributes)) == (True, "no", len(row.keys() & {"tags", "meta"}))


def test_attributes_that_cannot_be_read_are_not_a_span_without_a_call() -> None:
    # The form in which DuckDB prints a map in CSV. It has no quotes, so it cannot be read back.
    made = only(as_csv(row(attributes="{gen_ai.tool.name=search, gen_ai.operation.name=execute_tool}", name="step")))

    assert not made.calls_recorded
    assert "could not be read" in made.metadata["not_understood"]
    assert any("could not be read" in text for text in made.warnings)


def test_a_row_of_a_log_is_not_a_span() -> None:
    with pytest.raises(InputError, match="neither spans nor messages"):
        only([row(body="started", severity_text="INFO")])


def test_the_format_can_be_asked_for_by_name() -> None:
    [trajectory] = read(json.dumps([row()]).encode(), input_format="rows")

    assert trajectory.names == ("search",)


def test_what_else_a_row_says_is_told_under_its_name_if_it_is_small() -> None:
    more: dict[str, Any] = {
        "ticket": "T-7",
        "attempt": 2,
        "note": "x" * 1_001,
        "labels": ["a"],
        "owner": "",
        "repeat": 3,
    }
    attributes = row_span(row(**more)).attributes

    # Columns of the span itself are not told once more.
    told = {key: attributes.get(key) for key in attributes if key.startswith("metadata.")}
    assert told == {"metadata.ticket": "T-7", "metadata.attempt": 2}
    assert attributes.get("repeat") == 3
    assert attributes.get("gen_ai.tool.name") == "search"


def test_attributes_in_pairs_are_read_and_what_is_no_pair_is_not() -> None:
    attributes = row_span(row(attributes=[*TOOL.items(), "ab", 7, ("alone",)])).attributes

    assert {key: attributes.get(key) for key in attributes} == TOOL


def plain(attributes: Any) -> dict[str, Any]:
    return {key: attributes.get(key) for key in attributes}


@for_each(
    ("cell", "attributes"),
    [
        ({"a": 1, "b": None}, {"a": 1}),
        ({"a": {"b": 1, "c": None}}, {"a": {"b": 1}, "a.b": 1}),
        ({"a": {"b": {"c": 1}}, "a.b": 2}, {"a": {"b": {"c": 1}}, "a.b": 2, "a.b.c": 1}),
        ({"a.b": {"c": 1}}, {"a.b": {"c": 1}}),
        ({"a": [{"b": None, "c": 1}]}, {"a": [{"c": 1}]}),
        ("", {}),
        ("{}", {}),
        ("null", {}),
        (b"{}", {}),
        ('{"a": 1, "b.c": {"d": 1}}', {"a": 1, "b.c": {"d": 1}}),
        (b'{"a": 1, "b": null}', {"a": 1}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}, "a.b": 1}),
        ("{'a': 1, 'b': None}", {"a": 1}),
        ([{"key": "a", "value": 1}, {"key": "b", "value": None}, {"key": 3, "value": 1}], {"a": 1}),
        ([{"key": "a", "value": {"stringValue": "x"}}], {"a": "x"}),
        ([("a", 1), ("b",), "c"], {"a": 1}),
        ('[{"key": "a", "value": 1}]', {"a": 1}),
        (None, {}),
        (3, {}),
        ("{odd", {UNREADABLE: "the attributes of a span could not be read: neither JSON nor a Python literal"}),
    ],
)
def test_the_attributes_in_a_cell(cell: Any, attributes: dict[str, Any]) -> None:
    assert plain(attributes_or_trouble(cell, Limits())) == attributes


def test_nested_attributes_have_dotted_names_down_to_a_depth() -> None:
    cell: Any = {"leaf": 1}
    for _ in range(25):
        cell = {"a": cell}

    assert max([key.count(".") for key in attributes_or_trouble(cell, Limits())]) == 21


@for_each(
    ("value", "unit", "is_duration", "nanoseconds"),
    [
        (10**11 - 1, None, False, (10**11 - 1) * 10**9),
        (10**11, None, False, 10**11 * 10**6),
        (10**14 - 1, None, False, (10**14 - 1) * 10**6),
        (10**14, None, False, 10**14 * 10**3),
        (10**17 - 1, None, False, (10**17 - 1) * 10**3),
        (10**17, None, False, 10**17),
        (-5, None, False, -5 * 10**9),
        (1.5, None, False, 1_500_000_000),
        ("1700000000", None, False, 1_700_000_000 * 10**9),
        (f"{1_700_000_000:040}", None, False, 1_700_000_000 * 10**9),
        (f"{1_700_000_000:041}", None, False, None),
        ("2026-01-01T00:00:00Z", None, False, 1_767_225_600 * 10**9),
        (True, None, False, None),
        (None, None, False, None),
        (5, None, True, 5),
        (5, 10**6, True, 5 * 10**6),
        (5, 10**9, False, 5 * 10**9),
    ],
)
def test_the_unit_of_a_time_is_that_of_its_column_or_shown_by_its_size(
    value: Any, unit: int | None, is_duration: bool, nanoseconds: int | None
) -> None:
    assert moment(value, unit, is_duration) == nanoseconds


def test_three_lists_are_the_events_of_a_row() -> None:
    first = {"name": "a", "time": 1, "attributes": {"x": 1}}
    assert side_by_side(["a", "b"], [1, 2], [{"x": 1}, None]) == [first, {"name": "b", "time": 2, "attributes": None}]
    assert side_by_side(["a"], [], None) == [{"name": "a", "time": None, "attributes": None}]
    assert side_by_side("a", [1], [1]) == side_by_side([], [1], [1]) == []


def test_the_name_of_an_instrumentation_is_a_cell_or_in_it() -> None:
    cells = ("a", '{"name": "a"}', {"name": "a"}, '{"name": 3}', "{odd", None, "")
    assert [scope_name(cell) for cell in cells] == ["a", "a", "a", "", "", "", ""]


@for_each(
    ("cells", "failed", "description", "events", "trouble"),
    [
        ({}, False, "", [], False),
        ({"status_code": "ERROR", "status_message": "no"}, True, "no", [], False),
        ({"status": '{"code": "ERROR", "message": "no"}'}, True, "no", [], False),
        ({"status": "{odd"}, False, "", [], True),
        ({"scope": "{odd"}, False, "", [], True),
        ({"events": "[]"}, False, "", [], False),
        ({"events": "{odd"}, False, "", [], True),
        ({"events": {"name": "e"}}, False, "", [], False),
        ({"events": '[{"name": "e", "time": 5, "attributes": {"a": 1}}]'}, False, "", [("e", 5, {"a": 1})], False),
        ({"events": [{"EventName": "e", "time_unix_nano": 5}, 3]}, False, "", [("e", 5, {})], False),
        ({"events": [{"name": 3}]}, False, "", [("", None, {})], False),
    ],
)
def test_the_cells_of_a_row_are_the_fields_of_its_span(
    cells: dict[str, Any], failed: bool, description: str, events: list[Any], trouble: bool
) -> None:
    found = row_span(row(**cells))

    assert (found.failed, found.description) == (failed, description)
    assert [(event.name, event.time_ns, plain(event.attributes)) for event in found.events] == events
    assert (UNREADABLE in found.attributes) is trouble


@for_each(
    ("document", "known"),
    [
        (row(), True),
        ({**row(), "body": ""}, False),
        ({"trace_id": "1", "span_id": "2", "name": "a", "start": 1}, True),
        ({"trace_id": "1", "span_id": "2", "name": "a"}, False),
        ({"trace_id": "1", "span_id": "2", "name": "a", "gen_ai.tool.name": "x"}, True),
        ({"trace_id": "1", "name": "a", "start": 1}, False),
        ({"context": {"trace_id": "1", "span_id": "2"}, "name": "a", "start_time_ms": 1}, True),
        ({"other": {"trace_id": "1", "span_id": "2"}, "name": "a", "start_time_ms": 1}, False),
        (row(**{f"column {number}": 1 for number in range(1993)}), True),
        (row(**{f"column {number}": 1 for number in range(1994)}), False),
        ([row()], False),
    ],
)
def test_a_row_has_ids_and_two_of_name_start_and_attributes(document: Any, known: bool) -> None:
    assert is_row(document) is known


@for_each(
    ("column", "held", "nanoseconds"),
    [
        ("start_time_unix_nano", 5, 5),
        ("start_time_nanos", 5, 5),
        ("start_time_nano", 5, 5),
        ("start_time_ns", 5, 5),
        ("start_time_micros", 5, 5_000),
        ("start_time_us", 5, 5_000),
        ("start_time_millis", 5, 5_000_000),
        ("start_time_ms", 5, 5_000_000),
        ("start_time_s", 5, 5_000_000_000),
        ("startTimeSeconds", 5, 5_000_000_000),
        ("start", 5, 5_000_000_000),
    ],
)
def test_the_name_of_a_column_says_the_unit_of_its_times(column: str, held: int, nanoseconds: int) -> None:
    cells = {key: value for key, value in row().items() if key not in ("start_time", "end_time")}

    found = row_span({**cells, column: held, "duration_ms": 2})

    assert (found.start_ns, found.end_ns) == (nanoseconds, nanoseconds + 2_000_000)
    assert row_span({**cells, "duration_ms": 2}).end_ns is None
    assert row_span({**cells, column: held}).end_ns is None


def test_columns_that_are_attributes_go_by_their_names() -> None:
    found = row_span(
        {
            **row(attributes=None, span_kind="TOOL", ticket="7", note="x" * 1001, reward=1),
            "attributes.tool.name": "search",
            "attributes.input.value": None,
        }
    )
    assert plain(found.attributes) == {
        "tool.name": "search",
        "openinference.span.kind": "TOOL",
        "metadata": {"ticket": "7"},
        "metadata.ticket": "7",
        "reward": 1,
    }
    flat = row_span({**row(attributes=None), "gen_ai.tool.name": "search", "error.type": "x"})
    assert plain(flat.attributes) == {"gen_ai.tool.name": "search", "error.type": "x"}


def test_rows_below_a_key_are_those_of_honeycomb_and_cloud_trace() -> None:
    cells = {key: value for key, value in row().items() if key not in ("start_time", "trace_id")}
    [honeycomb] = row_spans({"time": 5, "data": {"trace_id": TRACE, **cells}})
    assert (honeycomb.trace_id, honeycomb.start_ns) == (TRACE, 5 * 10**9)
    cloud = {"traceId": TRACE, "projectId": "p", "spans": [{**cells, "start": 5, "labels": {"a": "b"}}, 3]}
    [span] = row_spans(cloud)
    assert (span.trace_id, plain(span.attributes)) == (TRACE, {"a": "b"})
    assert has_rows(cloud)
    assert not has_rows({**cloud, "traceId": 3})
    assert not has_rows({"time": 5, "data": [cells]})


def test_a_span_of_uipath_is_a_row_though_its_id_has_no_name_of_a_column() -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [{"name": "search", "args": {"query": "tv"}, "id": "1"}]}
    model = {"openinference.span.kind": "LLM", "output.value": json.dumps({"messages": [asked]})}
    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": "search",
        "input.value": "{'query': 'tv'}",
        "output.value": "3 found",
    }
    about = {"TraceId": "9b0d7c1e-0f0a-4b6e-8f0e-2a1d3c4b5a69", "EndTime": None, "Source": None, "Status": 1}
    lines = [
        {
            **about,
            "Id": "a",
            "ParentId": None,
            "Name": "LangGraph",
            "StartTime": "2025-10-17T10:02:12",
            "Attributes": "{}",
        },
        {
            **about,
            "Id": "b",
            "ParentId": "a",
            "Name": "m",
            "StartTime": "2025-10-17T10:02:13",
            "Attributes": json.dumps(model),
        },
        {
            **about,
            "Id": "c",
            "ParentId": "a",
            "Name": "t",
            "StartTime": "2025-10-17T10:02:14",
            "Attributes": json.dumps(tool),
        },
    ]

    [trajectory] = read("\n".join(map(json.dumps, lines)).encode())
    [call] = trajectory.calls

    assert (call.name, call.args, call.output) == ("search", {"query": "tv"}, "3 found")
