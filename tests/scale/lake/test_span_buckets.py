"""Spans scattered over tables: the same trajectories whatever lies where, and however many buckets there are."""

from __future__ import annotations

import functools
import json
import pickle
import random
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from tests.sampling import examples
from tests.scale.columns.span_tables import KINDS, WITHOUT_SCOPES, copier, copies, recorded, spans_of, without_scopes

from rightcall import read
from rightcall.errors import ConfigurationError, InputError
from rightcall.reading import Grouping
from rightcall.scale.lake import ParquetSpans, SpanBucket, SpanTable, bucket_count, span_buckets
from rightcall.values.trajectory import Trajectory

FEW = (
    "autogen/trip",
    "langgraph-openinference/trip-react",
    "mcp-sdk/trip",
    "mlflow-manual/trip",
    "openai-agents-openinference/nested",
    "pydantic-ai/trip-pkg2-fmt5",
    "strands/trip-1.62.0-latest",
    "vercel-ai/trip-v6",
)
"""Recordings of many kinds, some of one trace and some of several."""


def _united(document: Any, session: str) -> Any:
    """A document whose first span is part of a session."""
    held = json.loads(json.dumps(document))
    first = held["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    first.setdefault("attributes", []).append({"key": "session.id", "value": {"stringValue": session}})
    return held


@functools.cache
def _documents() -> list[Any]:
    """Two copies of each of a few recordings, one after the other; some are of one session, one links two sessions."""
    generator = random.Random(3)
    making = [copier(recorded()[name], generator) for name in FEW for _ in range(2)]
    made = [json.loads(make((1_700_000_000 + 1_000 * at) * 10**9)) for at, make in enumerate(making)]
    made[0], made[5] = _united(made[0], "one"), _united(made[5], "one")
    made[7], made[9] = _united(made[7], "two"), _united(made[9], "three")
    made[9] = _united(made[9], "two")
    return made


@functools.cache
def _expected(is_without_scopes: bool, grouping: Grouping) -> list[Trajectory]:
    documents = [without_scopes(each) for each in _documents()] if is_without_scopes else _documents()
    return _told(read("".join(json.dumps(each) + "\n" for each in documents).encode(), grouping=grouping))


def _told(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    return sorted(trajectories, key=lambda trajectory: str(trajectory.trace_id))


class _Batches:
    """A table in memory, in as many batches as there are cuts."""

    def __init__(self, table: pa.Table, rows: int) -> None:
        self.name, self.schema = "a table", table.schema
        self._table, self._rows = table, rows

    def batches(self, columns: Sequence[str]) -> Any:
        return self._table.select(list(columns)).to_batches(max_chunksize=self._rows)


@examples(12)
@given(
    generator=st.randoms(use_true_random=False),
    kind=st.sampled_from(sorted(KINDS)),
    grouping=st.sampled_from(["auto", "trace", "conversation", "session"]),
    tables=st.integers(1, 4),
    rows=st.integers(1, 100),
    count=st.integers(1, 12),
)
def test_any_shuffle_and_number_of_buckets_gives_what_the_readers_give(
    generator: random.Random, kind: str, grouping: Grouping, tables: int, rows: int, count: int
) -> None:
    spans = [span for document in _documents() for span in spans_of(document)]
    generator.shuffle(spans)
    if kind == "mlflow":
        spans.sort(key=lambda span: str(span["trace_id"]))
        made = KINDS[kind](spans)
        parts = [made.take(list(range(at, made.num_rows, tables))) for at in range(min(tables, made.num_rows))]
    else:
        parts = [KINDS[kind](spans[at::tables]) for at in range(tables)]

    with tempfile.TemporaryDirectory() as folder:
        buckets = span_buckets([_Batches(part, rows) for part in parts], folder, count, grouping=grouping)
        actual = _told(held for bucket in buckets for held in bucket.trajectories())

    assert len(buckets) == count
    assert actual == _expected(kind in WITHOUT_SCOPES, grouping)


@pytest.mark.parametrize("count", [1, 7])
def test_a_run_that_another_service_called_begins_as_others_do_wherever_their_spans_lie(count: int) -> None:
    elsewhere = "00f067aa0ba902b7"
    served = [
        span
        for name in ("pydantic-ai/trip-pkg2-fmt5", "uipath/trip-weather_tools-style")
        for span in spans_of(recorded()[name])
    ]
    tops = [span for span in served if span["parent_id"] is None]
    for span in tops:
        span["parent_id"] = elsewhere
    plain = [{**span, "attributes": {}, "scope": span["scope"], "parent_id": elsewhere} for span in tops]
    idle = [{**span, "trace_id": f"{10 * at + number:032x}"} for at in range(1, 9) for number, span in enumerate(plain)]
    health = [{**span, "trace_id": f"{900 + at:032x}", "name": "GET /health"} for at, span in enumerate(plain)]

    with tempfile.TemporaryDirectory() as folder:
        table = _Batches(KINDS["clickhouse"]([*idle, *health, *served]), 5)
        found = [held for bucket in span_buckets([table], folder, count) for held in bucket.trajectories()]

    assert sorted(len(held.calls) for held in found) == [0] * len(idle) + [6, 6]


def test_thousands_of_spans_over_files_of_different_kinds_give_what_the_readers_give(tmp_path: Path) -> None:
    generator = random.Random(11)
    light = [
        document for document in recorded().values() if len(json.dumps(document)) < 2_500 * len(spans_of(document))
    ]
    making = [copies(document, generator) for document in light]
    documents = [next(each) for _ in range(6) for each in making]
    otlp = tmp_path / "traces.jsonl"
    otlp.write_text("".join(json.dumps(document) + "\n" for document in documents))
    spans = [span for document in documents for span in spans_of(document)]
    assert len(spans) > 6_000
    generator.shuffle(spans)
    tables = []
    for at, kind in enumerate(["clickhouse", "flat_json", "nested", "clickhouse"]):
        pq.write_table(KINDS[kind](spans[at::4]), tmp_path / f"{at}.parquet", row_group_size=1_500)
        tables.append(ParquetSpans(str(tmp_path / f"{at}.parquet")))
    (tmp_path / "buckets").mkdir()

    buckets = span_buckets(tables, str(tmp_path / "buckets"), 5)

    assert _told(held for bucket in buckets for held in bucket.trajectories()) == _told(read(otlp))


def test_a_bucket_holds_the_same_whatever_the_order_of_rows_and_tables(tmp_path: Path) -> None:
    spans = [span for document in _documents() for span in spans_of(document)]
    halves = [KINDS["clickhouse"](spans[::2]), KINDS["clickhouse"](spans[1::2])]
    other = KINDS["clickhouse"](spans[::-1])

    def told(tables: list[pa.Table], folder: str) -> list[list[Trajectory]]:
        (tmp_path / folder).mkdir()
        buckets = span_buckets([_Batches(table, 64) for table in tables], str(tmp_path / folder), 4)
        return [list(bucket.trajectories()) for bucket in buckets]

    first = told(halves, "first")

    assert told(halves[::-1], "second") == first == told([other], "third")
    assert all(first)


def test_what_counts_in_one_bucket_depends_on_what_lies_in_others(tmp_path: Path) -> None:
    rows = {
        "trace_id": [f"{at:032x}" for at in (1, 1, *range(2, 40))],
        "span_id": [f"{at:016x}" for at in range(1, 41)],
        "parent_span_id": [None, f"{1:016x}", *[None] * 38],
        "name": ["POST /chat", "execute_tool search", *["POST /chat", "GET /health"] * 19],
        "start_time_unix_nano": list(range(1, 41)),
        "attributes": ["{}", '{"gen_ai.tool.name": "search"}', *["{}"] * 38],
    }

    buckets = span_buckets([_Batches(pa.table(rows), 7)], str(tmp_path), 8)

    kept = [held for bucket in buckets for held in bucket.trajectories()]
    assert len(kept) == 1 + 19
    assert len([bucket for bucket in buckets if list(bucket.trajectories())]) > 4


def test_rows_without_a_root_are_sorted_as_well(tmp_path: Path) -> None:
    spans = [span for span in spans_of(recorded()["openai-agents-openinference/nested"]) if span["parent_id"]]
    (expected,) = read(json.dumps(_without_roots()).encode())

    (bucket,) = span_buckets([_Batches(KINDS["flat_json"](spans), 100)], str(tmp_path), 1)

    assert list(bucket.trajectories()) == [expected]


def _without_roots() -> Any:
    document = json.loads(json.dumps(recorded()["openai-agents-openinference/nested"]))
    for resource in document["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            scoped["spans"] = [span for span in scoped["spans"] if span.get("parentSpanId")]
    return document


def test_a_bucket_can_be_sent_to_another_process(tmp_path: Path) -> None:
    spans = spans_of(recorded()["strands/trip-1.62.0-latest"])
    (bucket,) = span_buckets([_Batches(KINDS["nested"](spans), 10)], str(tmp_path), 1)

    sent: SpanBucket = pickle.loads(pickle.dumps(bucket))

    assert sent == bucket
    assert list(sent.trajectories()) == list(bucket.trajectories())


def test_what_an_earlier_sorting_left_in_the_folder_does_not_count(tmp_path: Path) -> None:
    tables = [_Batches(KINDS["nested"](spans_of(recorded()["mcp-sdk/trip"])), 10)]
    first = [list(bucket.trajectories()) for bucket in span_buckets(tables, str(tmp_path), 2)]
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]

    again = [list(bucket.trajectories()) for bucket in span_buckets(tables, str(tmp_path), 2)]

    assert again == first
    assert [path.stat().st_size for path in sorted(tmp_path.iterdir())] == sizes


def test_no_tables_and_no_rows_give_empty_buckets(tmp_path: Path) -> None:
    empty = _Batches(KINDS["nested"](spans_of(recorded()["strands/trip-1.62.0-latest"])).slice(0, 0), 10)
    lakes: list[list[SpanTable]] = [[], [empty]]

    for number, tables in enumerate(lakes):
        (tmp_path / str(number)).mkdir()
        buckets = span_buckets(tables, str(tmp_path / str(number)), 3)

        assert [list(bucket.trajectories()) for bucket in buckets] == [[], [], []]


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1, 1), (10 << 30, 320), (10 << 40, 1_024)])
def test_how_many_buckets_suit_is_told_by_the_size_alone(size: int, count: int) -> None:
    assert bucket_count(size) == count


def test_what_cannot_be_read_or_written_is_told_with_its_name(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 and nothing else PAR1")
    whole = tmp_path / "whole.parquet"
    pq.write_table(KINDS["nested"](spans_of(recorded()["strands/trip-1.62.0-latest"])), whole)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "other.parquet")
    table = ParquetSpans(str(whole))

    with pytest.raises(InputError, match=r"damaged\.parquet"):
        ParquetSpans(str(damaged))
    with pytest.raises(InputError, match=r"missing\.parquet"):
        ParquetSpans(str(tmp_path / "missing.parquet"))
    with pytest.raises(InputError, match=r"other\.parquet: not a table of spans"):
        span_buckets([ParquetSpans(str(tmp_path / "other.parquet"))], str(tmp_path), 1)
    with pytest.raises(InputError, match="bucket-00000"):
        span_buckets([table], str(tmp_path / "nowhere"), 1)
    with pytest.raises(ConfigurationError, match="0 buckets"):
        span_buckets([table], str(tmp_path), 0)
    with pytest.raises(ConfigurationError, match="not grouped by file"):
        span_buckets([table], str(tmp_path), 1, grouping="file")


def test_a_table_that_has_changed_its_columns_is_told(tmp_path: Path) -> None:
    spans = spans_of(recorded()["mcp-sdk/trip"])
    pq.write_table(KINDS["nested"](spans), tmp_path / "spans.parquet")
    table = ParquetSpans(str(tmp_path / "spans.parquet"))
    pq.write_table(KINDS["clickhouse"](spans), tmp_path / "spans.parquet")

    with pytest.raises(InputError, match="has changed"):
        span_buckets([table], str(tmp_path), 1)


def test_a_bucket_whose_file_is_cut_is_an_error_of_that_file(tmp_path: Path) -> None:
    spans = [span for document in _documents() for span in spans_of(document)]
    (bucket,) = span_buckets([_Batches(KINDS["nested"](spans), 1_000)], str(tmp_path), 1)
    data = Path(bucket.path).read_bytes()
    Path(bucket.path).write_bytes(data[: len(data) // 2])

    with pytest.raises(InputError, match="bucket-00000"):
        list(bucket.trajectories())
