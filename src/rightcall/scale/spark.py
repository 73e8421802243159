"""Scoring on Spark: start a session, read tables, JSON lines and spans, and write a folder of scores."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib.util import find_spec
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.verdicts import CASE_ATTRIBUTE, JoinRule
from rightcall.errors import (
    ConfigurationError,
    InputError,
    MissingExtraError,
    RightcallError,
    StoreError,
    missing_package,
)
from rightcall.reading import (
    Beginnings,
    Grouping,
    Reading,
    SpanColumns,
    UnorderedSpans,
    check_grouping,
    group_columns,
    known_columns,
    table_groups,
    table_outline,
    table_spans,
)
from rightcall.reporting.paths import PathCounts
from rightcall.scale.columns import (
    SCORES,
    TOLD_COLUMNS,
    TRAJECTORIES,
    ColumnPaths,
    Plan,
    is_span_table,
    joined_rows,
    score_batch,
    trajectories_batch,
    with_column,
)
from rightcall.scale.lake import packed_paths, score_lines, unpacked_paths
from rightcall.scale.processes import sendable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_WORDS = {"string": "string", "double": "double", "int64": "bigint", "bool": "boolean"}
_OLDEST = 4
_TRACE = "Traceback (most recent call last)"
_RAISED = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception): ")
PLACE = "rightcall_place"
"""The column with the file and row number of a row that has no id."""
FILE = "rightcall_file"
"""The column with the path of a row's file, for `--join file=`."""
_TABLES, _LINES = (".parquet", ".parq"), (".jsonl", ".ndjson", ".json")
_PACKED = (".gz", ".zst", ".zstd", ".bz2", ".snappy", ".lz4")
_OURS = "part-"
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
_RUN = "rightcall_run"
"""The column with one value for all spans of a run. Several runs may share a value."""
_SPANS = 20_000
"""About how many spans are made into trajectories at a time; a longer run is not split."""


def ddl_of(schema: pa.Schema) -> str:
    """Return a schema in Spark's DDL, such as `id string, score double`."""
    return ", ".join([f"`{field.name}` {_word(field.type)}" for field in schema])


def _word(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_word(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = [kind.field(position) for position in range(kind.num_fields)]
        return f"struct<{', '.join([f'`{each.name}`: {_word(each.type)}' for each in fields])}>"
    return _WORDS[str(kind)]


def map_in_arrow(df: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> DataFrame:
    """Return `df.mapInArrow(function, schema)`, also where pandas is not installed.

    pyspark refuses to map in Arrow without pandas, though neither it nor its workers use pandas for that (up to 4.3).
    Spark Connect needs pandas, too, so without it the DataFrame belongs to this process's JVM and has `_jdf`.
    """
    if find_spec("pandas") is not None:
        return df.mapInArrow(function, schema)
    from pyspark.sql import DataFrame
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    mapped = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    # In backticks, because a dot in the name of a column would be read as a field of a struct.
    columns = [df[f"`{name}`"] for name in df.columns]
    return DataFrame(df._jdf.mapInArrow(mapped(*columns)._jc, False, None), df.sparkSession)


Batches = Iterator[Any]
"""Record batches of one partition."""


PATHS = "rightcall_paths"
"""An extra column of scores: the last row of a partition has the path counts of all its rows, the others null."""


def score(df: DataFrame, plan: Plan) -> DataFrame:
    """The scores of a DataFrame of trajectories: a row each, with the columns of `SCORES` and no others.

    Nothing is computed before the result is asked for. Partitions, and the order of rows in them, stay as they are;
    the scores do not depend on them. A row that cannot be read has the verdict `error`. Columns that are not in
    `TRAJECTORIES` are not read at all; join the scores to them by `id`.

    Wherever Spark runs Python, the same version of Rightcall has to be installed, and code that the plan names has to
    be in the same folder; otherwise the task fails with a message that says what differs.

    Raises:
        InputError: the DataFrame has no column of calls, or one of another type than it should have.
    """
    return scored_with(df, plan, paths=False)


def scored_with(df: DataFrame, plan: Plan, *, paths: bool) -> DataFrame:
    """Score a DataFrame of trajectories; with `paths`, add the column `PATHS`. Raises as `score` does."""
    check_calls(df)
    function = sendable(__name__, "score_batches", msgspec.msgpack.encode(plan), paths)
    return map_in_arrow(df.select(*scored_columns(df, plan)), function, columns_of(paths=paths))


def columns_of(*, paths: bool) -> str:
    """Return the columns of scores in Spark's DDL, with or without the column `PATHS`."""
    return ddl_of(SCORES) + (f", `{PATHS}` binary" if paths else "")


def scored_columns(df: DataFrame, plan: Plan) -> list[str]:
    """Return the columns that scoring reads: those of `TRAJECTORIES`, and those that identify the case of a row."""
    key = plan.rule.name if plan.rule.kind == "key" else ""
    known = {*TRAJECTORIES.names, *TOLD_COLUMNS, key, plan.compare_with or ""}
    return [f"`{name}`" if "." in name else name for name in df.columns if name in known]


def check_calls(df: DataFrame) -> None:
    """Raise `InputError` for a DataFrame that has no column of calls, or one of another type."""
    from pyspark.sql.types import ArrayType, StringType, StructType

    if "calls" not in df.columns:
        raise InputError(f"the DataFrame has no column 'calls', but {', '.join(df.columns) or 'none at all'}")
    calls = df.schema["calls"].dataType
    each = calls.elementType if isinstance(calls, ArrayType) else None
    if not (isinstance(each, StringType) or (isinstance(each, StructType) and "name" in each.names)):
        found = calls.simpleString()
        raise InputError(f"the column 'calls' is {found}; it should be array<string>, or array<struct<name:string,…>>")


def score_batches(batches: Batches, encoded: bytes, paths: bool = False) -> Batches:
    """Score the batches of one partition with an encoded plan, which is compiled once for all of them.

    With `paths`, add the column `PATHS`.

    Raises:
        RightcallError: the plan names code or a file that does not exist here.
    """
    plan = msgspec.msgpack.decode(encoded, type=Plan)
    if not paths:
        for batch in batches:
            yield score_batch(batch, plan)
        return
    counting = ColumnPaths(PathCounts())

    def scored() -> Batches:
        for given in batches:
            batch, _ = joined_rows(given, plan)
            scores = score_batch(batch, plan)
            counting.add(batch, scores.column("verdict").to_pylist())
            yield scores

    yield from with_paths(scored(), counting)


def with_paths(scores: Batches, counting: ColumnPaths) -> Batches:
    """Add the column `PATHS` to the scores of one partition: the counts go into its last row."""
    last = None
    for batch in scores:
        # Spark also passes empty batches, and the counts need a row: so they go into the last batch that has any.
        if not batch.num_rows:
            continue
        if last is not None:
            yield last.append_column(PATHS, pa.nulls(last.num_rows, pa.binary()))
        last = batch
    if last is not None:
        counts = [*[None] * (last.num_rows - 1), packed_paths(counting.finish())]
        yield last.append_column(PATHS, pa.array(counts, pa.binary()))


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """Yield the active session and leave it running; without one, start a session and stop it afterwards.

    A new session follows Spark's own settings: `SPARK_REMOTE` names a Spark Connect server, `SPARK_CONF_DIR` a folder
    with `spark-defaults.conf`. Without either, Spark runs on this machine, on all of its cores.

    Raises:
        MissingExtraError: pyspark or Java is missing.
        RightcallError: Spark does not start.
    """
    _check_packages()
    from pyspark.sql import SparkSession

    # A notebook has a session already, and stopping it would end whatever else runs there.
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = _started()
    try:
        yield session
    finally:
        session.stop()


def _check_packages() -> None:
    try:
        import pyspark
    except ImportError:
        raise missing_package("scoring on Spark needs pyspark", "spark") from None
    if int(pyspark.__version__.partition(".")[0]) < _OLDEST:
        raise missing_package(f"pyspark {pyspark.__version__} is too old; scoring on Spark needs 4 or newer", "spark")
    if not _is_remote() and not _has_java():
        raise MissingExtraError(
            "Spark needs Java, and none was found: install a JDK 17 (Debian: openjdk-17-jre-headless), or set JAVA_HOME"
        )


def _is_remote() -> bool:
    return "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return os.access(os.path.join(home, "bin", "java"), os.X_OK) if home else shutil.which("java") is not None


def _started() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("rightcall score")
    if not _is_remote():
        builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    try:
        session = builder.getOrCreate()
    except _problems() as problem:
        raise RightcallError(f"Spark does not start: {reason(problem)}") from None
    if not type(session).__module__.startswith("pyspark.sql.connect"):
        context = session.sparkContext
        context.setLogLevel("ERROR")
        if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # which has Rightcall; the default is any `python3`
    return session


def reason(problem: BaseException) -> str:
    """Return the error message of Spark, or of the Python code it ran, on one line and without stack traces."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    above = list(takewhile(lambda line: not line.startswith("at "), lines))
    raised = [line for line in above if _RAISED.match(line)] if any([_TRACE in line for line in above]) else []
    causes = raised[-1:] or [line for line in above if not line.startswith("An error occurred while calling")]
    return (causes[0].lstrip(": ") if causes else type(problem).__name__)[:500]


@contextmanager
def spark_errors() -> Iterator[None]:
    """Raise an error of Spark as a `RightcallError` with a one-line message."""
    try:
        yield
    except _problems() as problem:
        raise RightcallError(f"Spark says: {reason(problem)}") from None


def _problems() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:  # the Spark Connect client (pyspark-client) comes without py4j
        return (PySparkException,)
    return (PySparkException, Py4JError)


def score_tables(
    spark: SparkSession,
    sources: Sequence[str],
    plan: Plan,
    out: str,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    counts: PathCounts | None = None,
) -> str:
    """Score tables of trajectories or spans, or files of JSON lines, with Spark, and write the scores to a folder.

    All tables of spans are read as one, because the spans of a run may be in any of them. Scores that an earlier call
    wrote to the folder are replaced. Returns the folder as Spark resolves it: an address without a scheme is on Spark's
    default file system. The path counts of all rows are added to `counts`, if given.

    Raises:
        InputError: a source does not exist, or Spark cannot read it.
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
    with spark_errors():
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

    # Writing and counting are two Spark actions, and each would score all rows again.
    kept = scores.persist(StorageLevel.DISK_ONLY)
    try:
        kept.drop(PATHS).write.mode("overwrite").parquet(out)
        for row in kept.where(f"`{PATHS}` is not null").select(PATHS).toLocalIterator():
            counts.merge(unpacked_paths(bytes(row[0])))
    finally:
        kept.unpersist()


def check_folder(spark: SparkSession, out: str) -> None:
    """Check that a folder may be overwritten: it does not exist, is empty, or has scores written by Spark.

    Raises:
        StoreError: the folder has other files.
    """
    files = _files(spark, out)
    foreign = [file for file in files if not os.path.basename(file).startswith(_OURS)]
    if foreign:
        raise StoreError(f"{out}: {foreign[0]} was not written by Spark, and would be lost; choose another folder")
    with spark_errors():
        columns = spark.read.parquet(out).columns if files else SCORES.names
    if columns != SCORES.names:
        raise StoreError(f"{out}: the table there has other columns than scores have; choose another folder")


def _files(spark: SparkSession, address: str, most: int = 1_000_000) -> list[str]:
    """List the files in a folder at any depth, or the one file that is named; empty if nothing is there."""
    from pyspark.errors import AnalysisException

    with spark_errors():
        try:
            listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(address)
            return [row.path for row in listed.select("path").take(most)]
        except AnalysisException as problem:
            if problem.getCondition() == "PATH_NOT_FOUND":
                return []
            raise


def _by_kind(spark: SparkSession, sources: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Group sources by kind: all files of a kind together, and each folder alone, because its columns may differ."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        kind = _kind_of(source)
        key = (kind, "") if kind else (_kind_in(spark, source), source)
        kinds.setdefault(key, []).append(source)
    return kinds


def _kind_of(file: str) -> str:
    """Return the kind of a file or pattern by its name; empty if the name does not say."""
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
    with spark_errors(), _texts_in_folders(spark):
        return [spark.read.option("mergeSchema", "true").parquet(*paths)]


@contextmanager
def _texts_in_folders(spark: SparkSession) -> Iterator[None]:
    """Make Spark read `case_id=007` in the name of a folder as text, not as a number."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        spark.conf.set(_INFERENCE, before or "true")


def _read_delta(spark: SparkSession, path: str) -> DataFrame:
    try:
        with spark_errors():
            return spark.read.format("delta").load(path)
    except RightcallError as problem:
        if "DATA_SOURCE_NOT_FOUND" not in str(problem):
            raise
        raise InputError(
            f"{path}: this session of Spark cannot read Delta tables: give it the package io.delta:delta-spark "
            "(spark.jars.packages), or use --engine local"
        ) from None


def _scored(df: DataFrame, plan: Plan, home: str, paths: bool, *, has_places: bool) -> DataFrame:
    """Score a table; rows without an id are named by their file and row number."""
    from pyspark.sql import functions

    check_calls(df)
    known = [functions.col(name) for name in scored_columns(df, plan)]
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
    """Score the batches of one partition, in which rows without an id may have a `PLACE`."""
    rule = msgspec.msgpack.decode(encoded, type=Plan).rule
    yield from score_batches((_by_file(_named(batch, home), rule) for batch in batches), encoded, paths)


def _by_file(batch: Any, rule: JoinRule) -> Any:
    """Replace the case and repeat of each row by those in the name of its file, if there is a column `FILE`."""
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
    """Return a `PLACE` as other engines write it: without `file:` and percent-encoding, and relative to `home`."""
    file, _, row = unquote(place).rpartition("#")
    return f"{_plain(file).removeprefix(home)}#{row}"


def _plain(address: str) -> str:
    """Turn a `file:` address into a path."""
    return "/" + address.removeprefix("file:").lstrip("/") if address.startswith("file:") else address


def _home(paths: Sequence[str]) -> str:
    """Return the current folder if all paths are relative, else an empty string."""
    is_relative = not any([os.path.isabs(path) or ":" in path for path in paths])
    return f"{os.getcwd().rstrip('/')}/" if is_relative else ""


def _score_lines(spark: SparkSession, files: Sequence[str], plan: Plan, paths: bool) -> DataFrame:
    if plan.rule.reads_file:
        raise ConfigurationError("--join file= is for tables with --engine spark; lines are read by local or ray")
    with spark_errors():
        lines = spark.read.option("lineSep", "\n").text(list(files)).selectExpr("cast(value as binary) as line")
    function = sendable(__name__, "score_line_batches", msgspec.msgpack.encode(plan), paths)
    return map_in_arrow(lines, function, columns_of(paths=paths))


def score_line_batches(batches: Iterator[Any], encoded: bytes, paths: bool) -> Iterator[Any]:
    """Score the batches of JSON lines of one partition."""
    plan = msgspec.msgpack.decode(encoded, type=Plan)
    counting = ColumnPaths(PathCounts()) if paths else None
    scores = (score_lines(batch.column("line").to_pylist(), plan, counting) for batch in batches)
    yield from scores if counting is None else with_paths(scores, counting)


def trajectories(df: DataFrame, *, grouping: Grouping = "auto", case_attribute: str = CASE_ATTRIBUTE) -> DataFrame:
    """The trajectories of a DataFrame of spans: a row for each run, with the columns of `TRAJECTORIES`.

    The spans of a run may be in any partition and in any order; they are repartitioned, so that no run is split. Runs
    are formed, left out and read as in tables of spans elsewhere.

    With the grouping `trace` nothing is computed before the result is asked for. With the others the ids of
    conversations or sessions are read first; with `auto`, so are all spans, to find the root spans of agent runs.

    Args:
        df: One span per row or, for MLflow, one trace per row; the names of its columns decide which.
        grouping: What makes a run: `trace`, `conversation` or `session`. By default traces of one conversation or
            session are one run, and if some traces are of agents, those that are not are left out.
        case_attribute: The attribute of spans that names the case.

    Raises:
        ConfigurationError: the grouping is `file`, and a DataFrame has no files.
        InputError: the DataFrame has no columns of spans.
        UnknownNameError: the grouping is unknown.
    """
    check_grouping(grouping)
    columns = known_columns(df.limit(0).toArrow().schema, "the DataFrame")
    spans = df.select(*[_quoted(name) for name in columns.needed], _key(df, columns).alias(_RUN))
    encoded = msgspec.msgpack.encode(columns)
    if needed := group_columns(columns, grouping):
        # `table_outline`, from which `read_groups` takes the trace of each row, also reads the root spans.
        needed += [columns.paths[field][0] for field in ("parent_id", "name", "scope") if field in columns.paths]
        spans = _united(spans, list(dict.fromkeys(needed)), sendable(__name__, "read_groups", encoded, grouping))
    spans = spans.repartition(_RUN).sortWithinPartitions(_RUN)
    begun = _begun(spans, encoded) if grouping == "auto" else []
    function = sendable(__name__, "read_runs", encoded, grouping, case_attribute, begun)
    return map_in_arrow(spans, function, ddl_of(TRAJECTORIES))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _key(df: DataFrame, columns: SpanColumns) -> Column:
    """Return a key that is the same for all spans of a trace: its id in lower case, or as hex if it is binary."""
    from pyspark.sql import functions
    from pyspark.sql.types import BinaryType

    path = columns.paths.get("trace_id") or columns.paths.get("row_id")
    if path is None:
        raise InputError("the DataFrame has a trace in each row, but no column trace_id or request_id")
    column = functions.col(".".join([_quoted(name) for name in path]))
    kind = df.select(column).schema[0].dataType
    text = functions.hex(column) if isinstance(kind, BinaryType) else functions.lower(column.cast("string"))
    return functions.coalesce(text, functions.lit(""))


def _united(spans: DataFrame, needed: list[str], reader: Callable[[Any], Any]) -> DataFrame:
    """Give all traces that conversations or sessions connect, also indirectly, the same value of `_RUN`."""
    from pyspark.sql import functions

    chosen = spans.select(*[_quoted(name) for name in needed], _RUN)
    groups = map_in_arrow(chosen, reader, f"{_RUN} string, unit string").distinct().persist()
    # Connected components: every trace takes the smallest key among its neighbours until nothing changes.
    tops = groups.select(_RUN, functions.col(_RUN).alias("top")).distinct()
    while True:
        least = groups.join(tops, _RUN).groupBy("unit").agg(functions.min("top").alias("top"))
        further = groups.join(least, "unit").groupBy(_RUN).agg(functions.min("top").alias("top")).persist()
        before = tops.withColumnRenamed("top", "before")
        is_done = further.join(before, _RUN).where("top <> before").isEmpty()
        tops = further
        if is_done:
            break
    whole = spans.join(tops, _RUN, "left").withColumn(_RUN, functions.coalesce("top", _RUN))
    return whole.drop("top")


def _begun(spans: DataFrame, columns: bytes) -> list[tuple[str, str]]:
    """Return name and scope of the root spans of all runs that have a span of an agent or a model."""
    found = map_in_arrow(spans, sendable(__name__, "read_beginnings", columns), "name string, scope string")
    return sorted([(row.name, row.scope) for row in found.distinct().collect()])


def read_groups(batches: Iterator[Any], encoded: bytes, grouping: Grouping) -> Iterator[Any]:
    """Yield pairs of a trace and a conversation or session that it belongs to."""
    columns = msgspec.msgpack.decode(encoded, type=SpanColumns)
    for batch in batches:
        keys: dict[str, set[str]] = {}
        for trace, key in zip(table_outline(batch, columns).traces, batch.column(_RUN).to_pylist(), strict=True):
            keys.setdefault(trace, set()).add(key)
        pairs = {(key, unit) for trace, unit in table_groups(batch, columns, grouping) for key in keys.get(trace, ())}
        ordered = sorted(pairs)
        columns_of = {_RUN: [key for key, _ in ordered], "unit": [unit for _, unit in ordered]}
        yield pa.RecordBatch.from_pydict(columns_of, pa.schema([(_RUN, pa.string()), ("unit", pa.string())]))


def read_beginnings(batches: Iterator[Any], encoded: bytes) -> Iterator[Any]:
    """Yield name and scope of the root spans of those runs of a partition that have a span of an agent or a model."""
    begun: set[tuple[str, str]] = set()
    for runs in _whole_runs(batches):
        begun |= _scattered(runs, encoded, "auto", CASE_ATTRIBUTE).begun()
    ordered = sorted(begun)
    columns = {"name": [name for name, _ in ordered], "scope": [scope for _, scope in ordered]}
    yield pa.RecordBatch.from_pydict(columns, pa.schema([("name", pa.string()), ("scope", pa.string())]))


def read_runs(
    batches: Iterator[Any], encoded: bytes, grouping: Grouping, case_attribute: str, begun: list[tuple[str, str]]
) -> Iterator[Any]:
    """Yield the trajectories of a partition that is sorted by run."""
    beginnings: Beginnings = frozenset([(name, scope) for name, scope in begun])
    for runs in _whole_runs(batches):
        made = _scattered(runs, encoded, grouping, case_attribute).trajectories(beginnings)
        yield trajectories_batch(made, case_attribute)


def _scattered(batches: Iterable[Any], encoded: bytes, grouping: Grouping, case_attribute: str) -> UnorderedSpans:
    columns = msgspec.msgpack.decode(encoded, type=SpanColumns)
    spans = [span for batch in batches for span in table_spans(batch, columns)]
    return UnorderedSpans(spans, grouping, (case_attribute,))


def _whole_runs(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Collect batches that are sorted by run into lists of about `_SPANS` rows, so that no run is in two lists."""
    parts: list[Any] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        runs = batch.column(_RUN)
        begin = pc.index(runs, runs[-1]).as_py()
        is_other = bool(parts) and parts[-1].column(_RUN)[-1] != runs[0]
        if count + begin >= _SPANS and (begin or is_other):
            yield [*parts, batch.slice(0, begin)] if begin else parts
            parts, count, batch = [], 0, batch.slice(begin)
        parts.append(batch)
        count += batch.num_rows
    if parts:
        yield parts
