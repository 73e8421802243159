"""Scores of a DataFrame of Spark: `score(df, plan)`, in a notebook, in a job, over Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from rightcall.errors import InputError
from rightcall.scale.columns import SCORES, TRAJECTORIES, Plan, score_batch
from rightcall.scale.sending import sendable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WORDS = {"string": "string", "double": "double", "int64": "bigint", "bool": "boolean"}


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
    columns = [df[f"`{name}`"] for name in df.columns]
    return DataFrame(df._jdf.mapInArrow(mapped(*columns)._jc, False, None), df.sparkSession)


Batches = Iterator[Any]
"""Record batches of one partition."""


def score(df: DataFrame, plan: Plan) -> DataFrame:
    """The scores of a DataFrame of trajectories: a row each, with the columns of `SCORES` and no others.

    Nothing is computed before the result is asked for. The order of rows within a partition stays, the number of
    partitions does too, and the scores do not depend on it. A row that cannot be read is an error of that row. Columns
    that are no columns of `TRAJECTORIES` are not read at all; join the scores to them by `id`.

    Wherever Spark runs Python, the same version of Rightcall has to be installed, and code that the plan names has to
    lie in the same folder; a task that finds something else says so, and fails.

    Raises:
        InputError: the DataFrame has no column of calls, or one of another type than it should have.
    """
    check_calls(df)
    function = sendable(__name__, "score_batches", msgspec.msgpack.encode(plan))
    return map_in_arrow(df.select(*known_columns(df)), function, ddl_of(SCORES))


def known_columns(df: DataFrame) -> list[str]:
    """Those of a DataFrame's columns that are columns of `TRAJECTORIES`."""
    return [name for name in df.columns if name in TRAJECTORIES.names]


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


def score_batches(batches: Batches, encoded: bytes) -> Batches:
    """The scores of the batches of one partition, by a plan that was encoded; it is compiled once for all of them.

    Raises:
        RightcallError: the plan names what is not there.
    """
    plan = msgspec.msgpack.decode(encoded, type=Plan)
    for batch in batches:
        yield score_batch(batch, plan)
