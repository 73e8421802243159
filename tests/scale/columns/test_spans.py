"""Tables of spans: the same trajectories as the readers give for the same spans as OTLP."""

from __future__ import annotations

import base64
import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.reading import corpus
from tests.scale.columns.span_tables import KINDS, WITHOUT_SCOPES, Span, flat_json, recorded, spans_of, without_scopes

from rightcall import read
from rightcall.errors import ConfigurationError, InputError, UnknownNameError
from rightcall.scale.columns import is_span_table, span_trajectories, trajectories_batch, trajectory_of
from rightcall.values.trajectory import Trajectory

START = 1_700_000_000_000_000_123
TYPED = pa.struct([("string_value", pa.string()), ("int_value", pa.int64())])
ROWS: dict[str, Any] = {
    "trace_id": ["ab" * 16, "ab" * 16],
    "span_id": ["01" * 8, "02" * 8],
    "parent_span_id": [None, "01" * 8],
    "name": ["answer", "execute_tool search"],
    "start_time_unix_nano": [START, START + 5],
    "end_time_unix_nano": [START + 100, START + 50],
    "attributes": [
        '{"gen_ai.operation.name": "invoke_agent"}',
        '{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", '
        '"gen_ai.tool.call.arguments": "{\\"q\\": 1}", "gen_ai.tool.call.result": "found"}',
    ],
}
"""An agent's span and a call of a tool inside of it."""


def _by_trace(trajectory: Trajectory) -> str:
    return trajectory.trace_id or ""


@functools.cache
def _expected(name: str, is_without_scopes: bool) -> list[Trajectory]:
    document = recorded()[name]
    same = without_scopes(document) if is_without_scopes else document
    return sorted(read(json.dumps(same).encode(), grouping="trace"), key=_by_trace)


def _only(**columns: Any) -> Trajectory:
    """The one trajectory of the two rows, with other columns in the place of some; those that are None are left out."""
    held = {key: value for key, value in {**ROWS, **columns}.items() if value is not None}
    (trajectory,) = span_trajectories(pa.table(held))
    return trajectory


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_any_kind_gives_what_the_readers_give_for_the_same_spans(kind: str) -> None:
    for name, document in recorded().items():
        spans = spans_of(document)
        random.Random(name).shuffle(spans)
        expected = _expected(name, kind in WITHOUT_SCOPES)

        actual = sorted(span_trajectories(KINDS[kind](spans), grouping="trace"), key=_by_trace)

        assert actual == expected, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_any_kind_of_table_is_read_like_any_other_trace(kind: str, tmp_path: Path) -> None:
    document = recorded()["openai-agents-openinference/nested"]
    pq.write_table(KINDS[kind](spans_of(document)), tmp_path / "spans.parquet")
    same = without_scopes(document) if kind in WITHOUT_SCOPES else document

    actual = list(read(tmp_path / "spans.parquet"))

    assert actual == list(read(json.dumps(same).encode()))
    assert actual[0].calls


def test_a_dataframe_that_phoenix_wrote_gives_what_its_otlp_gives(tmp_path: Path) -> None:
    files = corpus.recordings()["_containers/phoenix-openai-agents-openinference-nested"]
    (tmp_path / "frame.parquet").write_bytes(files["phoenix_dataframe.parquet"])
    (expected,) = read(files["phoenix_otlpv1.json"])

    (actual,) = span_trajectories(pq.read_table(tmp_path / "frame.parquet"))

    assert is_span_table(pq.read_schema(tmp_path / "frame.parquet"))
    assert [(call.name, call.args, call.output) for call in actual.calls] == [
        (call.name, call.args, call.output) for call in expected.calls
    ]


def test_a_trace_that_mlflow_wrote_gives_the_same_from_a_row_of_a_table() -> None:
    document = json.loads(corpus.recordings()["_containers/mlflow-langgraph-trip"]["mlflow_trace.json"])
    (expected,) = read(document)
    rows = {
        "as text": {"trace": [json.dumps(document)]},
        "spans alone": {"spans": [json.dumps(document["data"]["spans"])]},
    }

    actual = {kind: list(span_trajectories(pa.table({"trace_id": ["tr-1"], **row}))) for kind, row in rows.items()}

    assert actual == {"as text": [expected], "spans alone": [expected]}
    assert expected.calls


def test_spans_become_rows_of_trajectories_without_a_loss() -> None:
    (trajectory,) = span_trajectories(KINDS["nested"](spans_of(recorded()["openai-agents-openinference/nested"])))

    (row,) = trajectories_batch([trajectory]).to_pylist()

    assert trajectory_of(row) == trajectory


@pytest.mark.parametrize(
    ("columns", "nanoseconds"),
    [
        ({"start_time_unix_nano": None, "start_time": pa.array([START, START + 5])}, 5),
        ({"start_time_unix_nano": None, "start_time_us": [START // 1000, START // 1000 + 7]}, 7_000),
        ({"start_time_unix_nano": None, "start_time": [START // 10**6, START // 10**6 + 2]}, 2_000_000),
        ({"start_time_unix_nano": None, "timestamp": [START // 10**9, START // 10**9 + 2]}, 2_000_000_000),
        ({"start_time_unix_nano": None, "start_time": pa.array([START, START + 5], pa.timestamp("ns"))}, 5),
        ({"start_time_unix_nano": None, "Timestamp": pa.array([1000, 1003], pa.timestamp("ms", "UTC"))}, 3_000_000),
        ({"start_time_unix_nano": None, "start": ["2024-05-01T10:00:00Z", "2024-05-01T12:00:00.5+02:00"]}, 500_000_000),
        ({"start_time_unix_nano": pa.array([START, START + 5], pa.uint64())}, 5),
        ({"start_time_unix_nano": pa.array([START, START + 5]).cast(pa.decimal128(20, 0))}, 5),
        ({"start_time_unix_nano": [str(START), str(START + 5)]}, 5),
    ],
    ids=["by size", "us", "ms by size", "s by size", "ns", "with a zone", "texts", "unsigned", "decimal", "digits"],
)
def test_times_are_read_in_the_unit_that_they_have(columns: dict[str, Any], nanoseconds: int) -> None:
    both = span_trajectories(pa.table({key: held for key, held in {**ROWS, **columns}.items() if held is not None}))

    (call,) = next(both).calls

    root = _only(**columns, attributes=[ROWS["attributes"][1], ROWS["attributes"][1]]).calls[0]
    assert root.start_ns is not None
    assert call.start_ns == root.start_ns + nanoseconds


@pytest.mark.parametrize("digits", ["ab" * 8, "d31f81c5ea0b1ef8"], ids=["usual", "0x in base64"])
@pytest.mark.parametrize(
    "written",
    [
        str,
        str.upper,
        bytes.fromhex,
        lambda digits: f"0x{digits}",
        lambda digits: base64.b64encode(bytes.fromhex(digits)).decode(),
    ],
    ids=["digits", "capitals", "bytes", "0x", "base64"],
)
def test_ids_are_the_same_however_they_are_written(written: Callable[[str], Any], digits: str) -> None:
    ids = [digits, "02" * 8]

    trajectory = _only(span_id=[*map(written, ids)], parent_span_id=[None, written(digits)])

    assert [call.span_id for call in trajectory.calls] == ["02" * 8]
    assert trajectory == _only(span_id=ids, parent_span_id=[None, digits])


@pytest.mark.parametrize(
    ("column", "lasted", "nanoseconds"),
    [
        ("Duration", [100, 45], 45),
        ("duration_ms", [9.0, 1.5], 1_500_000),
        ("duration", pa.array([10, 3], pa.duration("us")), 3_000),
    ],
)
def test_an_end_is_made_of_a_duration(column: str, lasted: Any, nanoseconds: int) -> None:
    (call,) = _only(end_time_unix_nano=None, **{column: lasted}).calls

    assert call.end_ns == START + 5 + nanoseconds


@pytest.mark.parametrize(
    "attributes",
    [
        [{}, {"tool": {"name": "search"}}],
        ["{}", '{"tool": {"name": "search"}}'],
        [None, '[{"key": "tool.name", "value": {"stringValue": "search"}}]'],
        [[], [{"key": "tool.name", "value": "search"}]],
        pa.array([b"", b'{"tool.name": "search"}']),
        pa.array([None, '{"tool.name": "search"}']).dictionary_encode(),
        pa.array([None, '{"tool.name": "search"}'], pa.string_view()),
        pa.array([None, [("tool.name", "search")]], pa.map_(pa.large_string(), pa.large_string())),
        pa.array([None, [("tool.name", {"string_value": "search"})]], pa.map_(pa.string(), TYPED)),
    ],
    ids=["structs", "objects", "JSON-of-pairs", "pairs", "bytes", "dictionary", "views", "map", "map-of-typed-values"],
)
def test_attributes_are_found_however_they_are_kept(attributes: Any) -> None:
    assert _only(attributes=attributes, name=["answer", "search"]).names == ("search",)


def test_a_cell_that_cannot_be_read_costs_that_cell_and_is_told_of_its_run_alone() -> None:
    other = {**ROWS, "trace_id": ["cd" * 16] * 2}
    broken = {**ROWS, "attributes": [ROWS["attributes"][0], '{"gen_ai.tool.name": "sea']}

    told, untold = span_trajectories(pa.table(broken).to_batches() + pa.table(other).to_batches())

    assert [(call.name, call.unrecorded) for call in told.calls] == [("search", frozenset({"args", "output"}))]
    assert [text for text in told.warnings if "attributes of a span could not be read" in text]
    assert untold.names == ("search",)
    assert untold.warnings == ()


def _not_utf8(texts: list[str]) -> pa.Array:
    """Texts with a byte that is none of UTF-8 at the end of each."""
    return pa.array([text.encode() + b"\xff" for text in texts]).view(pa.string())


def test_text_that_is_not_utf8_costs_no_more_than_itself() -> None:
    named = [_not_utf8(["answer", "execute_tool search"]), pa.array(["{}", '{"gen_ai.tool.name": "search"}'])]
    pairs = pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "gen_ai.tool.name"]), _not_utf8(["b", "search"]))
    objects = pa.StructArray.from_arrays([_not_utf8(["b", "search"])], ["gen_ai.tool.name"])
    listed = pa.StructArray.from_arrays(
        [pa.array(["a", "gen_ai.tool.name"]), _not_utf8(["b", "search"])], ["key", "value"]
    )

    in_names = _only(name=named[0], attributes=named[1])
    in_map, in_struct = _only(attributes=pairs), _only(attributes=objects)
    in_list = _only(attributes=pa.ListArray.from_arrays([0, 1, 2], listed))

    assert in_names.names == ("search",)
    assert in_map.names == in_struct.names == ("search\ufffd",)
    assert [text for text in in_list.warnings if "could not be read" in text]


def test_a_trace_that_cannot_be_read_is_a_trajectory_that_says_so() -> None:
    whole = json.dumps({"data": {"spans": [_mlflow_span()]}})
    table = pa.table({"request_id": ["one", "two", "three"], "trace": [whole, whole[:40], '{"info": 1}']})

    read, *broken = sorted(span_trajectories(table), key=_by_trace)

    assert read.names == ("search",)
    assert [(held.trace_id, held.calls_recorded) for held in broken] == [("three", False), ("two", False)]
    assert all(any("the trace could not be read" in text for text in held.warnings) for held in broken)


def _mlflow_span() -> dict[str, Any]:
    span = {key: values[1] for key, values in ROWS.items()}
    return {**span, "attributes": json.loads(span["attributes"])}


def test_a_span_that_is_there_twice_counts_once() -> None:
    table = pa.table(ROWS)

    assert list(span_trajectories([*table.to_batches(), *table.to_batches()])) == list(span_trajectories(table))


def test_of_two_spans_with_one_id_the_same_is_taken_in_any_order() -> None:
    other = {**ROWS, "attributes": [ROWS["attributes"][0], ROWS["attributes"][1].replace("found", "lost")]}
    batches = [*pa.table(ROWS).to_batches(), *pa.table(other).to_batches()]

    assert list(span_trajectories(batches)) == list(span_trajectories(batches[::-1]))


def test_traces_without_an_agent_are_left_out_unless_they_begin_as_a_run_does() -> None:
    plain = '{"http.route": "/"}'
    table = flat_json(
        [
            _span("aa", "1", None, "POST /chat", 1),
            _span("aa", "2", "1", "execute_tool search", 2, **{"gen_ai.tool.name": "search"}),
            _span("bb", "3", None, "POST /chat", 3, **json.loads(plain)),
            _span("cc", "4", None, "GET /health", 4),
        ]
    )

    assert [held.trace_id for held in span_trajectories(table)] == ["aa" * 16, "bb" * 16]
    assert [held.trace_id for held in span_trajectories(table, grouping="trace")] == ["aa" * 16, "bb" * 16, "cc" * 16]


def test_traces_of_one_session_are_one_run_by_default_and_not_by_trace() -> None:
    spans = [
        _span(
            f"{at}{at}", str(at), None, "execute_tool search", at, **{"gen_ai.tool.name": "search", "session.id": "s"}
        )
        for at in (3, 1, 2)
    ]

    (run,) = span_trajectories(flat_json(spans))

    assert [call.span_id for call in run.calls] == [f"{at:016}" for at in (1, 2, 3)]
    assert len(list(span_trajectories(flat_json(spans), grouping="trace"))) == 3
    assert len(list(span_trajectories(flat_json(spans), grouping="conversation"))) == 3


def _span(trace: str, span: str, parent: str | None, name: str, start: int, **attributes: Any) -> Span:
    return {
        "trace_id": trace * 16,
        "span_id": span.zfill(16),
        "parent_id": parent and parent.zfill(16),
        "name": name,
        "start": start,
        "end": start + 1,
        "attributes": attributes,
        "code": 0,
        "message": "",
        "scope": "",
        "events": [],
    }


def test_no_rows_give_no_trajectories() -> None:
    assert list(span_trajectories(pa.table(ROWS).slice(0, 0))) == []
    assert list(span_trajectories([])) == []


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": ["a"], "body": ["b"]}, "looked for columns of spans .* there are id, body"),
        ({"id": ["a"], "calls": [["search"]]}, "not a table of spans"),
        ({**ROWS, "attributes": [{"metadata": b"", "value": b""}] * 2}, "VARIANT; write it as JSON text"),
        ({**ROWS, "trace_id": [1.5, 2.5]}, "ids of traces are double .* should be text"),
    ],
    ids=["other columns", "trajectories", "variant", "numbers for ids"],
)
def test_what_is_no_table_of_spans_is_said_with_what_was_looked_for(columns: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        span_trajectories(pa.table(columns))


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table(ROWS)

    with pytest.raises(InputError, match="several columns name"):
        span_trajectories(table.append_column("name", table.column("name")))


def test_a_grouping_by_file_or_of_no_known_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not grouped by file"):
        span_trajectories(pa.table(ROWS), grouping="file")
    with pytest.raises(UnknownNameError, match="did you mean"):
        span_trajectories(pa.table(ROWS), grouping="tarce")  # type: ignore[arg-type]
