"""Functions over Arrow batches, run by Spark: types in its words, and a way to it that needs no pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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
