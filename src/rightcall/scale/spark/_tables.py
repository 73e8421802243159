"""Tables and lines that Spark reads, and the folder of scores that it writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.verdicts import CASE_ATTRIBUTE, JoinRule
from rightcall.errors import ConfigurationError, InputError, RightcallError, StoreError
from rightcall.reading import Reading
from rightcall.reporting.paths import PathCounts
from rightcall.scale.columns import SCORES, ColumnPaths, Plan, is_span_table, with_column
from rightcall.scale.lake import score_lines, unpacked_paths
from rightcall.scale.processes import sendable

from ._session import (
    PATHS,
    check_calls,
    columns_of,
    known_columns,
    map_in_arrow,
    score_batches,
    scored_with,
    telling,
    with_paths,
)
from ._spans import trajectories

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLACE = "rightcall_place"
FILE = "rightcall_file"
"""A column that says of rows without an id where they stand."""
_TABLES, _LINES = (".parquet", ".parq"), (".jsonl", ".ndjson", ".json")
_PACKED = (".gz", ".zst", ".zstd", ".bz2", ".snappy", ".lz4")
_OURS = "part-"
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def score_tables(
    spark: SparkSession,
    sources: Sequence[str],
    plan: Plan,
    out: str,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    counts: PathCounts | None = None,
) -> str:
    """Score tables of trajectories or spans, or files of JSON lines, and write the scores to a folder, all by Spark.

    All tables of spans are one, because the spans of a run may be in any of them. Scores that this wrote to the folder
    before are replaced. Gives back where the folder is: an address that does not say so means a place that Spark knows.
    The paths of all rows are added to `counts`, if there are any.

    Raises:
        InputError: a source is not there, or nothing that Spark can read.
        RightcallError: Spark fails.
        StoreError: the folder holds something else than scores written by Spark.
    """
    check_folder(spark, out)
    paths_too = counts is not None
    scores: list[DataFrame] = []
    spans: list[DataFrame] = []
    for (kind, _), paths in _by_kind(spark, sources).items():
        if kind == "lines":
            scores.append(_score_lines(spark, paths, plan, paths_too))
        for df in _read_tables(spark, kind, paths) if kind != "lines" else ():
            if "calls" not in df.columns and is_span_table(df.limit(0).toArrow().schema):
                spans.append(df)
            else:
                scores.append(_scored(df, plan, _home(paths), paths_too, has_places=kind == "parquet"))
    with telling():
        if spans:
            whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), spans)
            runs = trajectories(whole, grouping=reading.grouping, case_attribute=reading.case_attribute)
            scores.append(scored_with(runs, plan, paths=paths_too))
        _write(reduce(lambda one, other: one.unionAll(other), scores), out, counts)
        written = _files(spark, out, 1)
    return os.path.dirname(_plain(written[0])) if written else out


def _write(scores: DataFrame, out: str, counts: PathCounts | None) -> None:
    if counts is None:
        scores.write.mode("overwrite").parquet(out)
        return
    from pyspark import StorageLevel

    # Two actions ask for the same rows; kept on disk, they are scored once.
    kept = scores.persist(StorageLevel.DISK_ONLY)
    try:
        kept.drop(PATHS).write.mode("overwrite").parquet(out)
        for row in kept.where(f"`{PATHS}` is not null").select(PATHS).toLocalIterator():
            counts.merge(unpacked_paths(bytes(row[0])))
    finally:
        kept.unpersist()


def check_folder(spark: SparkSession, out: str) -> None:
    """See to it that a folder may be written again: it is not there, is empty, or has scores written by Spark.

    Raises:
        StoreError: it has something else.
    """
    files = _files(spark, out)
    foreign = [file for file in files if not os.path.basename(file).startswith(_OURS)]
    if foreign:
        raise StoreError(f"{out}: {foreign[0]} was not written by Spark, and would be lost; choose another folder")
    with telling():
        columns = spark.read.parquet(out).columns if files else SCORES.names
    if columns != SCORES.names:
        raise StoreError(f"{out}: the table there has other columns than scores have; choose another folder")


def _files(spark: SparkSession, address: str, most: int = 1_000_000) -> list[str]:
    """The files in a folder and those below it, or the one that is named; none where there is none."""
    from pyspark.errors import AnalysisException

    with telling():
        try:
            listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(address)
            return [row.path for row in listed.select("path").take(most)]
        except AnalysisException as problem:
            if problem.getCondition() == "PATH_NOT_FOUND":
                return []
            raise


def _by_kind(spark: SparkSession, sources: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Sources that are read at once, by kind: files together, and each folder alone, as its columns are its own."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        kind = _kind_of(source)
        key = (kind, "") if kind else (_kind_in(spark, source), source)
        kinds.setdefault(key, []).append(source)
    return kinds


def _kind_of(file: str) -> str:
    """What a file, or a pattern, is by its name; nothing where that does not say."""
    name = file.lower()
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return "parquet" if name.endswith(_TABLES) else "lines" if name.endswith(_LINES) else ""


def _kind_in(spark: SparkSession, folder: str) -> str:
    if _files(spark, f"{folder.rstrip('/')}/_delta_log", 1):
        return "delta"
    files = _files(spark, folder, 1)
    if not files:
        raise InputError(f"{folder}: Spark finds no file there")
    if kind := _kind_of(files[0]):
        return kind
    raise InputError(
        f"{files[0]}: Spark reads Parquet files, Delta tables and JSON lines of trajectories; other files are read by "
        "--engine local or ray"
    )


def _read_tables(spark: SparkSession, kind: str, paths: Sequence[str]) -> list[DataFrame]:
    if kind == "delta":
        return [_read_delta(spark, path) for path in paths]
    with telling(), _texts_in_folders(spark):
        return [spark.read.option("mergeSchema", "true").parquet(*paths)]


@contextmanager
def _texts_in_folders(spark: SparkSession) -> Iterator[None]:
    """Have `case_id=007` in the name of a folder read as the text that it is."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        spark.conf.set(_INFERENCE, before or "true")


def _read_delta(spark: SparkSession, path: str) -> DataFrame:
    try:
        with telling():
            return spark.read.format("delta").load(path)
    except RightcallError as problem:
        if "DATA_SOURCE_NOT_FOUND" not in str(problem):
            raise
        raise InputError(
            f"{path}: this session of Spark cannot read Delta tables: give it the package io.delta:delta-spark "
            "(spark.jars.packages), or use --engine local"
        ) from None


def _scored(df: DataFrame, plan: Plan, home: str, paths: bool, *, has_places: bool) -> DataFrame:
    """The scores of a table, in which rows without an id are known by the place where they stand."""
    from pyspark.sql import functions

    check_calls(df)
    known = [functions.col(name) for name in known_columns(df, plan)]
    if plan.rule.reads_file:
        known.append(functions.col("_metadata.file_path").alias(FILE))
    if has_places:
        file, row = functions.col("_metadata.file_path"), functions.col("_metadata.row_index")
        ids = [functions.col(name).cast("string") for name in ("id", "trace_id") if name in df.columns]
        where = functions.concat(file, functions.lit("#"), (row + 1).cast("string"))
        lacks = functions.coalesce(*ids, functions.lit(None)).isNull()
        known.append(functions.when(lacks, where).alias(PLACE))
    function = sendable(__name__, "score_placed", msgspec.msgpack.encode(plan), home, paths)
    return map_in_arrow(df.select(*known), function, columns_of(paths=paths))


def score_placed(batches: Iterator[Any], encoded: bytes, home: str, paths: bool) -> Iterator[Any]:
    """The scores of batches of one partition, of which rows without an id may say where they stand."""
    rule = msgspec.msgpack.decode(encoded, type=Plan).rule
    yield from score_batches((_by_file(_named(batch, home), rule) for batch in batches), encoded, paths)


def _by_file(batch: Any, rule: JoinRule) -> Any:
    """A batch with what the names of its files say, in place of what its rows say."""
    if FILE not in batch.schema.names:
        return batch
    files, batch = batch.column(FILE), batch.drop_columns([FILE])
    found = [rule.read_path(unquote(file or "")) for file in files.to_pylist()]
    batch = with_column(batch, "case_id", pa.array([each.get(CASE_ATTRIBUTE) for each in found], pa.string()))
    repeats = [each.get("repeat") for each in found]
    return with_column(batch, "repeat", pa.array(repeats, pa.int64())) if any(repeats) else batch


def _named(batch: Any, home: str) -> Any:
    if PLACE not in batch.schema.names:
        return batch
    places, batch = batch.column(PLACE), batch.drop_columns([PLACE])
    if places.null_count == len(places):
        return batch
    names = pa.array([None if place is None else _name(place, home) for place in places.to_pylist()], pa.string())
    if "id" not in batch.schema.names:
        return batch.append_column("id", names)
    named = pc.coalesce(batch.column("id").cast(pa.string()), names)
    return batch.set_column(batch.schema.get_field_index("id"), "id", named)


def _name(place: str, home: str) -> str:
    """A place as it is called without Spark: no `file:`, no escapes, and from the folder that is at home."""
    file, _, row = unquote(place).rpartition("#")
    return f"{_plain(file).removeprefix(home)}#{row}"


def _plain(address: str) -> str:
    """A file of this machine as a path."""
    return "/" + address.removeprefix("file:").lstrip("/") if address.startswith("file:") else address


def _home(paths: Sequence[str]) -> str:
    """The folder that paths are meant from, where they do not say it."""
    is_relative = not any([os.path.isabs(path) or ":" in path for path in paths])
    return f"{os.getcwd().rstrip('/')}/" if is_relative else ""


def _score_lines(spark: SparkSession, files: Sequence[str], plan: Plan, paths: bool) -> DataFrame:
    if plan.rule.reads_file:
        raise ConfigurationError("--join file= is for tables with --engine spark; lines are read by local or ray")
    with telling():
        lines = spark.read.option("lineSep", "\n").text(list(files)).selectExpr("cast(value as binary) as line")
    function = sendable(__name__, "score_line_batches", msgspec.msgpack.encode(plan), paths)
    return map_in_arrow(lines, function, columns_of(paths=paths))


def score_line_batches(batches: Iterator[Any], encoded: bytes, paths: bool) -> Iterator[Any]:
    """The scores of batches of lines of one partition."""
    plan = msgspec.msgpack.decode(encoded, type=Plan)
    counting = ColumnPaths(PathCounts()) if paths else None
    scores = (score_lines(batch.column("line").to_pylist(), plan, counting) for batch in batches)
    yield from scores if counting is None else with_paths(scores, counting)
