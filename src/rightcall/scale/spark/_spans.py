"""DataFrames of spans, as exporters write them, made into DataFrames of trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.verdicts import CASE_ATTRIBUTE
from rightcall.errors import InputError
from rightcall.reading import (
    Beginnings,
    Grouping,
    SpanColumns,
    UnorderedSpans,
    check_grouping,
    group_columns,
    known_columns,
    table_groups,
    table_outline,
    table_spans,
)
from rightcall.scale.columns import TRAJECTORIES, trajectories_batch
from rightcall.scale.processes import sendable

from ._session import ddl_of, map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_RUN = "rightcall_run"
"""A column that has the same value for all spans of a run. Several runs may have the same."""
_SPANS = 20_000
"""About how many spans are made into trajectories at a time, if they belong to more than one run."""


def trajectories(df: DataFrame, *, grouping: Grouping = "auto", case_attribute: str = CASE_ATTRIBUTE) -> DataFrame:
    """The trajectories of a DataFrame of spans: a row for each run, with the columns of `TRAJECTORIES`.

    The spans of a run may be in any partition and in any order; they are brought together, and no run is cut. Which
    traces are one run, which traces are left out, and what is made of each is as for tables of spans elsewhere.

    With the grouping `trace` nothing is computed before the result is asked for. With others the conversations or
    sessions are read first, and with `auto` all spans are, to learn how runs of agents begin.

    Args:
        df: A span a row, or a trace of MLflow a row, as the names of its columns say.
        grouping: What makes a run: `trace`, `conversation` or `session`; by default traces of one conversation or
            session are one run, and traces with nothing of an agent in them are left out beside others.
        case_attribute: The attribute of spans that names the case.

    Raises:
        ConfigurationError: the grouping is `file`, which a DataFrame knows nothing of.
        InputError: the DataFrame has no columns of spans.
        UnknownNameError: the grouping is unknown.
    """
    check_grouping(grouping)
    columns = known_columns(df.limit(0).toArrow().schema, "the DataFrame")
    spans = df.select(*[_quoted(name) for name in columns.needed], _key(df, columns).alias(_RUN))
    encoded = msgspec.msgpack.encode(columns)
    if needed := group_columns(columns, grouping):
        # Which trace a row belongs to is told together with how that trace begins.
        needed += [columns.paths[field][0] for field in ("parent_id", "name", "scope") if field in columns.paths]
        spans = _united(spans, list(dict.fromkeys(needed)), sendable(__name__, "read_groups", encoded, grouping))
    spans = spans.repartition(_RUN).sortWithinPartitions(_RUN)
    begun = _begun(spans, encoded) if grouping == "auto" else []
    function = sendable(__name__, "read_runs", encoded, grouping, case_attribute, begun)
    return map_in_arrow(spans, function, ddl_of(TRAJECTORIES))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _key(df: DataFrame, columns: SpanColumns) -> Column:
    """What is the same for all spans of a trace, however its id is spelt in this table."""
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
    """The same spans, with one value for all traces that a conversation or session unites."""
    from pyspark.sql import functions

    held = spans.select(*[_quoted(name) for name in needed], _RUN)
    groups = map_in_arrow(held, reader, f"{_RUN} string, unit string").distinct().persist()
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
    """How those of all runs begin in which an agent or a model was at work."""
    found = map_in_arrow(spans, sendable(__name__, "read_beginnings", columns), "name string, scope string")
    return sorted([(row.name, row.scope) for row in found.distinct().collect()])


def read_groups(batches: Iterator[Any], encoded: bytes, grouping: Grouping) -> Iterator[Any]:
    """Which traces are in which conversation or session."""
    columns = msgspec.msgpack.decode(encoded, type=SpanColumns)
    for batch in batches:
        keys: dict[str, set[str]] = {}
        for trace, key in zip(table_outline(batch, columns).traces, batch.column(_RUN).to_pylist(), strict=True):
            keys.setdefault(trace, set()).add(key)
        pairs = {(key, unit) for trace, unit in table_groups(batch, columns, grouping) for key in keys.get(trace, ())}
        held = sorted(pairs)
        columns_of = {_RUN: [key for key, _ in held], "unit": [unit for _, unit in held]}
        yield pa.RecordBatch.from_pydict(columns_of, pa.schema([(_RUN, pa.string()), ("unit", pa.string())]))


def read_beginnings(batches: Iterator[Any], encoded: bytes) -> Iterator[Any]:
    """How the runs of a partition begin in which an agent or a model was at work."""
    begun: set[tuple[str, str]] = set()
    for runs in _whole_runs(batches):
        begun |= _scattered(runs, encoded, "auto", CASE_ATTRIBUTE).begun()
    held = sorted(begun)
    columns = {"name": [name for name, _ in held], "scope": [scope for _, scope in held]}
    yield pa.RecordBatch.from_pydict(columns, pa.schema([("name", pa.string()), ("scope", pa.string())]))


def read_runs(
    batches: Iterator[Any], encoded: bytes, grouping: Grouping, case_attribute: str, begun: list[tuple[str, str]]
) -> Iterator[Any]:
    """The trajectories of a partition in which the spans of each run lie together."""
    beginnings: Beginnings = frozenset([(name, scope) for name, scope in begun])
    for runs in _whole_runs(batches):
        made = _scattered(runs, encoded, grouping, case_attribute).trajectories(beginnings)
        yield trajectories_batch(made, case_attribute)


def _scattered(batches: Iterable[Any], encoded: bytes, grouping: Grouping, case_attribute: str) -> UnorderedSpans:
    columns = msgspec.msgpack.decode(encoded, type=SpanColumns)
    spans = [span for batch in batches for span in table_spans(batch, columns)]
    return UnorderedSpans(spans, grouping, (case_attribute,))


def _whole_runs(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Batches that are sorted by run, some at a time, so that no run is in two of them."""
    held: list[Any] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        runs = batch.column(_RUN)
        begin = pc.index(runs, runs[-1]).as_py()
        is_other = bool(held) and held[-1].column(_RUN)[-1] != runs[0]
        if count + begin >= _SPANS and (begin or is_other):
            yield [*held, batch.slice(0, begin)] if begin else held
            held, count, batch = [], 0, batch.slice(begin)
        held.append(batch)
        count += batch.num_rows
    if held:
        yield held
