"""Rows of spans as databases print them: JSON, JSON lines and CSV, in the columns of tables."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from rightcall.errors import InputError
from rightcall.reading import read
from rightcall.reading.formats._rows import row_span
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
