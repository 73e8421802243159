"""Spans in a DataFrame become the trajectories that they become in any other table, however they are scattered."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.scale.columns.span_tables import KINDS, recorded, spans_of
from tests.scale.tables import canonical, read_scores

from rightcall import Trajectory
from rightcall.errors import ConfigurationError, InputError
from rightcall.scale.columns import Plan, span_trajectories, trajectories_batch
from rightcall.scale.lake import Job, score_fragment
from rightcall.scale.spark import score_tables, trajectories

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def all_spans() -> list[Any]:
    """The spans of every third recording, shuffled."""
    spans = [span for document in list(recorded().values())[::3] for span in spans_of(document)]
    random.Random(8).shuffle(spans)
    return spans


def rows_of(made: list[Trajectory]) -> list[dict[str, Any]]:
    return sorted(trajectories_batch(made).to_pylist(), key=lambda row: str(row["id"]))


def rows_in(df: DataFrame) -> list[dict[str, Any]]:
    return sorted(df.toArrow().to_pylist(), key=lambda row: str(row["id"]))


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A table as Spark has it: without types that Spark does not know."""
    known = {pa.uint64(): pa.int64(), pa.uint32(): pa.int64(), pa.binary(16): pa.binary(), pa.binary(8): pa.binary()}
    fields = [field.with_type(known.get(field.type, field.type)) for field in table.schema]
    return spark.createDataFrame(table.cast(pa.schema(fields)))


@pytest.mark.parametrize(
    ("kind", "grouping", "partitions"),
    [("clickhouse", "auto", 5), ("flat_json", "conversation", 2), ("phoenix", "trace", 7), ("mlflow", "trace", 3)],
)
def test_the_trajectories_are_those_of_the_table(
    spark: SparkSession, kind: str, grouping: Any, partitions: int
) -> None:
    df = frame(spark, KINDS[kind](all_spans())).repartition(partitions)
    expected = rows_of(list(span_trajectories(df.toArrow(), grouping=grouping)))

    found = trajectories(df, grouping=grouping)

    assert len(expected) > 10
    assert rows_in(found) == expected


def test_traces_that_conversations_unite_by_way_of_others_are_one_run(spark: SparkSession) -> None:
    names = ["gen_ai.conversation.id", "session.id"]
    spans = [
        {
            "trace_id": f"{trace:032x}",
            "span_id": f"{trace:016x}",
            "parent_span_id": None,
            "name": "execute_tool search",
            "start_time_unix_nano": 1_700_000_000_000_000_000 + trace,
            "end_time_unix_nano": 1_700_000_000_000_000_100 + trace,
            "attributes": [
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", f"tool-{trace}"),
                (names[trace % 2], f"unit-{trace // 2}"),
                (names[(trace + 1) % 2], f"unit-{(trace + 1) // 2}"),
            ],
        }
        for trace in range(1, 5)
    ]
    schema = pa.schema(
        [
            *[(name, pa.string()) for name in ("trace_id", "span_id", "parent_span_id", "name")],
            *[(name, pa.int64()) for name in ("start_time_unix_nano", "end_time_unix_nano")],
            ("attributes", pa.map_(pa.string(), pa.string())),
        ]
    )
    table = pa.Table.from_pylist(spans, schema=schema)
    expected = rows_of(list(span_trajectories(table)))

    found = rows_in(trajectories(spark.createDataFrame(table).repartition(2)))

    assert len(expected) == 1
    assert found == expected


def test_tables_of_spans_are_scored_as_they_are_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    table, plan = KINDS["flat_json"](all_spans()), Plan.of_expectation({"steps": 5})
    sources = [str(tmp_path / "one.parquet"), str(tmp_path / "two")]
    (tmp_path / "two").mkdir()
    parquet.write_table(table.slice(0, 200), sources[0])
    parquet.write_table(table.slice(200), tmp_path / "two" / "more.parquet")
    with Job(sources, plan, str(tmp_path / "here")) as job:
        for fragment in job.ready(job.waiting):
            score_fragment(fragment, plan, str(tmp_path / "here"))

    score_tables(spark, sources, plan, str(tmp_path / "scores"))

    assert canonical(read_scores(tmp_path / "scores")) == canonical(read_scores(tmp_path / "here"))


def test_a_frame_that_has_no_spans_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="not a table of spans"):
        trajectories(spark.sql("select id, id as name from range(3)"))
    with pytest.raises(ConfigurationError, match="not grouped by file"):
        trajectories(spark.sql("select id from range(3)"), grouping="file")
