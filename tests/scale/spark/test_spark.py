"""Scores by Spark are those of the kernel, whatever happens to its workers."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from tests.scale.tables import (
    canonical,
    deadly_plan_in,
    deadly_table,
    harmless,
    plan_in,
    read_scores,
    rows,
    scored,
    table,
    write_lines,
)

from rightcall.errors import InputError, RightcallError, StoreError
from rightcall.reporting.paths import PathCounts
from rightcall.scale.columns import SCORES, Plan
from rightcall.scale.lake import Job, score_fragment
from rightcall.scale.spark import score, score_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_scores_are_those_of_the_kernel_however_many_partitions_there_are(
    spark: SparkSession, tmp_path: Path, partitions: int
) -> None:
    trajectories, plan = table(), plan_in(tmp_path)
    df = spark.createDataFrame(trajectories).repartition(partitions)

    scores = score(df, plan)

    assert scores.rdd.getNumPartitions() == partitions
    assert canonical(scores.toArrow()) == scored(trajectories, plan)


def test_the_columns_are_those_of_scores_and_the_order_of_rows_stays(spark: SparkSession) -> None:
    df = spark.sql("select id, array('a') calls, now() at, map('k', 1) more, array(id) name from range(1000)")
    df = df.withColumn("id", df.id.cast("string")).coalesce(1)

    scores = score(df, Plan.of_expectation({"calls": ["a"]})).toArrow()

    assert scores.schema.names == SCORES.names
    assert scores["id"].to_pylist() == [str(number) for number in range(1000)]
    assert set(scores["verdict"].to_pylist()) == {"passed"}


def test_text_may_come_with_large_offsets(spark: SparkSession, tmp_path: Path) -> None:
    trajectories, plan = table(40), plan_in(tmp_path)
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        scores = score(spark.createDataFrame(trajectories), plan).toArrow()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")

    assert canonical(scores) == scored(trajectories, plan)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("id", "the DataFrame has no column 'calls', but id"),
        ("id as calls", "the column 'calls' is bigint; it should be array<string>"),
        ("array(id) as calls", "the column 'calls' is array<bigint>; it should be"),
        ("array(struct(id)) as calls", "the column 'calls' is array<struct<id:bigint>>; it should be"),
    ],
)
def test_a_frame_without_calls_is_refused_at_once(spark: SparkSession, columns: str, told: str) -> None:
    df = spark.sql(f"select {columns} from range(3)")

    with pytest.raises(InputError) as caught:
        score(df, Plan.of_expectation({"calls": ["a"]}))

    assert told in str(caught.value)


def test_where_there_is_pandas_the_documented_way_is_taken(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = ModuleType("pandas")
    pandas.__spec__, pandas.__version__ = ModuleSpec("pandas", None), "2.2.3"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)

    scores = score(spark.sql("select 'x' id, array('a') calls"), Plan.of_expectation({"calls": ["a"]}))

    monkeypatch.undo()
    assert [row.verdict for row in scores.collect()] == ["passed"]


def test_a_worker_that_is_killed_costs_no_row_and_no_row_comes_twice(spark: SparkSession, tmp_path: Path) -> None:
    trajectories, plan = deadly_table("kill"), deadly_plan_in(tmp_path)

    score(spark.createDataFrame(trajectories).coalesce(2), plan).write.parquet(str(tmp_path / "scores"))

    scores = read_scores(tmp_path / "scores")
    assert len((tmp_path / "kill.tried").read_text().split()) > 1
    assert scores.num_rows == 60
    assert canonical(scores) == harmless(trajectories, tmp_path)


def write_tables(folder: Path) -> list[str]:
    """Tables in folders with odd names; some of their rows have no id, and some have their case from a folder."""
    plain, by_case = folder / "ü + %20", folder / "by case"
    for each in (plain, by_case / "case_id=book", by_case / "case_id=007"):
        each.mkdir(parents=True)
    trajectories = table(60)
    parquet.write_table(trajectories.slice(0, 20), plain / "some.parquet", row_group_size=7)
    parquet.write_table(trajectories.slice(20, 20).drop(["id"]), plain / "more.parquet")
    bare = trajectories.slice(40, 20).drop(["id", "case_id"])
    parquet.write_table(bare.slice(0, 12), by_case / "case_id=book" / "one.parquet")
    parquet.write_table(bare.slice(12), by_case / "case_id=007" / "two.parquet")
    return [str(plain), str(by_case)]


def score_here(sources: list[str], plan: Plan, out: Path) -> pa.Table:
    with Job(sources, plan, str(out)) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, str(out))
    return read_scores(out)


def test_tables_are_read_as_they_are_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    plan, sources, out = plan_in(tmp_path), write_tables(tmp_path), tmp_path / "scores"

    score_tables(spark, sources, plan, str(out))

    scores = read_scores(out)
    assert f"{tmp_path}/by case/case_id=007/two.parquet#3" in scores["id"].to_pylist()
    assert canonical(scores) == canonical(score_here(sources, plan, tmp_path / "here"))


def test_what_spark_wrote_is_replaced_when_the_command_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    plan, out = plan_in(tmp_path), tmp_path / "scores"
    write_lines(tmp_path / "lines.jsonl", rows(30))
    parquet.write_table(table(10), tmp_path / "table.parquet")
    sources = [str(tmp_path / "lines.jsonl"), str(tmp_path / "table.parquet")]

    for _ in range(2):
        score_tables(spark, sources, plan, str(out))

    scores = read_scores(out)
    assert scores.num_rows == 30 + 2 + 10
    by_id = {row["id"]: row for row in scores.to_pylist()}
    here = [row for row in score_here(sources[:1], plan, tmp_path / "here").to_pylist() if "@" not in row["id"]]
    assert len(here) == 30
    assert [by_id[row["id"]] for row in here] == here
    unreadable = scores.filter(pc.field("id").is_null())["error"].to_pylist()
    assert sorted(error.partition(":")[0] for error in unreadable) == [
        "not JSON (line 1, column 2",
        "the line is [1]; it should be an object with calls",
    ]


@pytest.mark.parametrize("name", ["some.parquet", "notes.txt", "part-1.parquet"])
def test_a_folder_with_something_else_in_it_is_left_as_it_is(spark: SparkSession, tmp_path: Path, name: str) -> None:
    plan, out = plan_in(tmp_path), tmp_path / "scores"
    parquet.write_table(table(10), tmp_path / "table.parquet")
    out.mkdir()
    parquet.write_table(table(1), out / name)

    with pytest.raises(StoreError, match="choose another folder"):
        score_tables(spark, [str(tmp_path / "table.parquet")], plan, str(out))

    assert parquet.read_table(out / name).num_rows == 1


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("nothing", "nothing: Spark finds no file there"),
        ("nothing.parquet", "Path does not exist"),
        ("notes.txt", "Spark reads Parquet files, Delta tables and JSON lines"),
        ("delta", "this session of Spark cannot read Delta tables: give it the package"),
        ("torn.parquet", "Spark says: "),
    ],
)
def test_what_spark_cannot_read_is_told_in_one_line(
    spark: SparkSession, tmp_path: Path, source: str, told: str
) -> None:
    (tmp_path / "notes.txt").write_text("notes", encoding="utf-8")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 torn")
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "delta" / "_delta_log" / "0.json").write_text("{}", encoding="utf-8")

    with pytest.raises(RightcallError) as caught:
        score_tables(spark, [str(tmp_path / source)], plan_in(tmp_path), str(tmp_path / "scores"))

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "scores").exists()


def test_what_python_raises_in_a_worker_is_told_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    plan = deadly_plan_in(tmp_path)
    parquet.write_table(deadly_table("nothing"), tmp_path / "table.parquet")
    (tmp_path / "own.py").unlink()

    with pytest.raises(RightcallError) as caught:
        score_tables(spark, [str(tmp_path / "table.parquet")], plan, str(tmp_path / "scores"))

    assert "own.py" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_paths_are_those_of_this_machine_however_the_rows_are_cut(spark: SparkSession, tmp_path: Path) -> None:
    trajectories, plan = table(), plan_in(tmp_path)
    parquet.write_table(trajectories.slice(0, 250), tmp_path / "first.parquet", row_group_size=60)
    write_lines(tmp_path / "second.jsonl", rows(400)[250:])
    sources = [str(tmp_path / "first.parquet"), str(tmp_path / "second.jsonl")]
    here, there = str(tmp_path / "here"), PathCounts()
    with Job(sources, plan, here, paths=True) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, here)
        expected = job.paths()

    score_tables(spark, sources, plan, str(tmp_path / "there"), counts=there)

    assert there.to_plain() == expected.to_plain()
    assert read_scores(tmp_path / "there").num_rows == read_scores(tmp_path / "here").num_rows
