"""A session of Spark, and the scores of one of its DataFrames: in a notebook, a job, or over Spark Connect."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from rightcall.errors import InputError, MissingExtraError, RightcallError, missing_package
from rightcall.reporting.paths import PathCounts
from rightcall.scale.columns import SCORES, TOLD_COLUMNS, TRAJECTORIES, ColumnPaths, Plan, joined_rows, score_batch
from rightcall.scale.lake import packed_paths
from rightcall.scale.processes import sendable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WORDS = {"string": "string", "double": "double", "int64": "bigint", "bool": "boolean"}
_OLDEST = 4
_TRACE = "Traceback (most recent call last)"
_RAISED = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception): ")


def ddl_of(schema: pa.Schema) -> str:
    """A schema in Spark's words, such as `id string, score double`."""
    return ", ".join([f"`{field.name}` {_word(field.type)}" for field in schema])


def _word(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_word(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = [kind.field(position) for position in range(kind.num_fields)]
        return f"struct<{', '.join([f'`{each.name}`: {_word(each.type)}' for each in fields])}>"
    return _WORDS[str(kind)]


def map_in_arrow(df: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> DataFrame:
    """What `df.mapInArrow(function, schema)` gives, also where there is no pandas.

    pyspark refuses to map in Arrow without pandas, though neither it nor its workers use pandas for that (up to 4.3).
    Without pandas there is no Spark Connect either, so that the DataFrame is one of this process's JVM.
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
"""A column beside those of scores: in the last row of a partition, the counts of the paths of all its rows."""


def score(df: DataFrame, plan: Plan) -> DataFrame:
    """The scores of a DataFrame of trajectories: a row each, with the columns of `SCORES` and no others.

    Nothing is computed before the result is asked for. The order of rows within a partition stays, the number of
    partitions does too, and the scores do not depend on it. A row that cannot be read is an error of that row. Columns
    that are not columns of `TRAJECTORIES` are not read at all; join the scores to them by `id`.

    Wherever Spark runs Python, the same version of Rightcall has to be installed, and code that the plan names has to
    lie in the same folder; a task that finds something else says so, and fails.

    Raises:
        InputError: the DataFrame has no column of calls, or one of another type than it should have.
    """
    return scored_with(df, plan, paths=False)


def scored_with(df: DataFrame, plan: Plan, *, paths: bool) -> DataFrame:
    """The scores of a DataFrame of trajectories, with the counts of `paths` if asked for. Raises as `score` does."""
    check_calls(df)
    function = sendable(__name__, "score_batches", msgspec.msgpack.encode(plan), paths)
    return map_in_arrow(df.select(*known_columns(df, plan)), function, columns_of(paths=paths))


def columns_of(*, paths: bool) -> str:
    """The columns of scores in Spark's words, with that of paths or without."""
    return ddl_of(SCORES) + (f", `{PATHS}` binary" if paths else "")


def known_columns(df: DataFrame, plan: Plan) -> list[str]:
    """Those of a DataFrame's columns that are columns of `TRAJECTORIES`, or tell the case of a row."""
    key = plan.rule.name if plan.rule.kind == "key" else ""
    known = {*TRAJECTORIES.names, *TOLD_COLUMNS, key, plan.compare_with or ""}
    return [f"`{name}`" if "." in name else name for name in df.columns if name in known]


def check_calls(df: DataFrame) -> None:
    """Raise `InputError` for a DataFrame that has no column of calls."""
    from pyspark.sql.types import ArrayType, StringType, StructType

    if "calls" not in df.columns:
        raise InputError(f"the DataFrame has no column 'calls', but {', '.join(df.columns) or 'none at all'}")
    calls = df.schema["calls"].dataType
    each = calls.elementType if isinstance(calls, ArrayType) else None
    if not (isinstance(each, StringType) or (isinstance(each, StructType) and "name" in each.names)):
        found = calls.simpleString()
        raise InputError(f"the column 'calls' is {found}; it should be array<string>, or array<struct<name:string,…>>")


def score_batches(batches: Batches, encoded: bytes, paths: bool = False) -> Batches:
    """The scores of the batches of one partition, by a plan that was encoded; it is compiled once for all of them.

    With `paths` there is one more column, see `PATHS`.

    Raises:
        RightcallError: the plan names what is not there.
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
    """The scores of one partition, the last of which comes with what was counted meanwhile."""
    held = None
    for batch in scores:
        # Spark hands over empty batches, too; the counts go into the last row of the last batch that has one.
        if not batch.num_rows:
            continue
        if held is not None:
            yield held.append_column(PATHS, pa.nulls(held.num_rows, pa.binary()))
        held = batch
    if held is not None:
        counts = [*[None] * (held.num_rows - 1), packed_paths(counting.finish())]
        yield held.append_column(PATHS, pa.array(counts, pa.binary()))


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """The session that is active, which stays; or a new one by the settings of Spark, which is stopped.

    `SPARK_REMOTE` names a server of Spark Connect, and `SPARK_CONF_DIR` a folder with `spark-defaults.conf`. Without
    either of them Spark is run on this machine, by all of its processors.

    Raises:
        MissingExtraError: pyspark or Java is missing.
        RightcallError: Spark does not start.
    """
    _check_packages()
    from pyspark.sql import SparkSession

    # A notebook has a session, and stopping it would end what else runs there.
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
            context.pythonExec = sys.executable  # where Rightcall is; by default it is any python3
    return session


def reason(problem: BaseException) -> str:
    """What Spark has to say, or the Python that it ran, on one line and without the stacks around it."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    above = list(takewhile(lambda line: not line.startswith("at "), lines))
    raised = [line for line in above if _RAISED.match(line)] if any([_TRACE in line for line in above]) else []
    causes = raised[-1:] or [line for line in above if not line.startswith("An error occurred while calling")]
    return (causes[0].lstrip(": ") if causes else type(problem).__name__)[:500]


@contextmanager
def telling() -> Iterator[None]:
    """Turn what Spark says while it works into one line. Raises `RightcallError`."""
    try:
        yield
    except _problems() as problem:
        raise RightcallError(f"Spark says: {reason(problem)}") from None


def _problems() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:  # a client of Spark Connect alone has no Java to talk to
        return (PySparkException,)
    return (PySparkException, Py4JError)
