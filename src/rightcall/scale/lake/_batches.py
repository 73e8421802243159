"""The rows of a fragment, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO

import pyarrow as pa
from pyarrow import parquet

from rightcall.errors import InputError
from rightcall.scale.columns import TRAJECTORIES, trajectories_batch
from rightcall.values.trajectory import Trajectory

from ._files import place, reason, telling
from ._fragments import Fragment, Kind
from ._lines import Rows, line_batches

ROWS = 16_384
"""Rows in a batch: more need more memory, and are not scored any faster."""
_TRAJECTORIES = 1_024
"""The same for trajectories that readers make, and that are objects first."""


def batches(fragment: Fragment, fields: Collection[str] | None = None) -> Iterator[Rows]:
    """The rows of a fragment, each batch with those columns that there are of `TRAJECTORIES`.

    Of calls in a table no more than these `fields` are read, if they are given.

    Rows that have no id get one that says where they are: `FILE#ROW`, or `FILE@BYTE` in lines.

    Raises:
        InputError: the file is not there any more, or is damaged.
    """
    return _READERS[fragment.kind](fragment) if fragment.kind in _READERS else _table_batches(fragment, fields)


def _table_batches(fragment: Fragment, fields: Collection[str] | None) -> Iterator[Rows]:
    with open_table(fragment.path) as table:
        columns = _wanted(table, fields)
        groups = list(range(fragment.begin, fragment.end))
        first, left = fragment.first_row, fragment.rows or 0
        skipped = fragment.skipped
        for batch in table.iter_batches(ROWS, row_groups=groups, columns=columns, use_threads=False):
            kept = batch.slice(min(skipped, batch.num_rows), left)
            skipped -= batch.num_rows - max(0, batch.num_rows - skipped)
            if kept.num_rows:
                yield Rows(_named(_completed(kept, fragment), f"{fragment.path}#", first))
            first, left = first + kept.num_rows, left - kept.num_rows
            if not left:
                return


def _wanted(table: parquet.ParquetFile, fields: Collection[str] | None) -> list[str]:
    """The columns to read; of calls as structs, the parts that are wanted."""
    columns = [name for name in table.schema_arrow.names if name in TRAJECTORIES.names and name != "calls"]
    held = getattr(table.schema_arrow.field("calls").type, "value_type", None)
    if fields is None or not pa.types.is_struct(held):
        return [*columns, "calls"]
    names = {*fields, *(("arguments",) if "args" in fields else ())}
    paths = [table.schema.column(index).path for index in range(len(table.schema))]
    return [*columns, *[path for path in paths if path.startswith("calls.") and path.rpartition(".")[2] in names]]


@contextmanager
def open_table(address: str) -> Iterator[parquet.ParquetFile]:
    """A Parquet file. Raises `InputError` for one that is none, or is damaged."""
    where = place(address)
    try:
        with where.system.open_input_file(where.path) as file:
            # In an object store each column's bytes are had in few large requests; here they are read as needed.
            yield parquet.ParquetFile(file, pre_buffer=not where.is_local)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:  # of names that are not UTF-8
        damaged = "" if isinstance(problem, OSError) else "damaged Parquet data: "
        raise InputError(f"{address}: {damaged}{reason(problem)}") from None


def table_schema(address: str) -> pa.Schema:
    """The columns of a Parquet file. Raises `InputError`."""
    with open_table(address) as table:
        return table.schema_arrow


def table_batches(address: str) -> Iterator[pa.RecordBatch]:
    """All rows of a Parquet file, in batches. Raises `InputError`."""
    with open_table(address) as table:
        yield from table.iter_batches(ROWS, use_threads=False)


@contextmanager
def open_bytes(address: str) -> Iterator[IO[bytes]]:
    """A file, to be read from its beginning on. Raises `InputError`."""
    where = place(address)
    with telling(address), where.system.open_input_file(where.path) as file:
        yield file


def _line_batches(fragment: Fragment) -> Iterator[Rows]:
    with open_bytes(fragment.path) as stream:
        yield from line_batches(stream, fragment, ROWS)


def _trace_batches(fragment: Fragment) -> Iterator[Rows]:
    where, reading = place(fragment.path), fragment.reading
    if where.is_local:  # by its path, because a large file is read block by block then
        yield from _trajectory_batches(reading.read(where.path), fragment)
        return
    with open_bytes(fragment.path) as stream:
        try:
            yield from _trajectory_batches(reading.read(stream), fragment)
        except InputError as problem:
            raise InputError(f"{fragment.path}: {problem}") from None


def _trajectory_batches(trajectories: Iterable[Trajectory], fragment: Fragment) -> Iterator[Rows]:
    first, left = 0, iter(trajectories)
    while some := list(islice(left, _TRAJECTORIES)):
        batch = trajectories_batch(some, fragment.reading.case_attribute)
        yield Rows(_named(batch, f"{fragment.path}#", first))
        first += batch.num_rows


def _completed(batch: pa.RecordBatch, fragment: Fragment) -> pa.RecordBatch:
    """A batch with the columns that the names of folders hold."""
    for name, value in fragment.constants:
        if name not in batch.schema.names:
            batch = batch.append_column(name, pa.repeat(pa.scalar(value, pa.string()), batch.num_rows))
    return batch


def _named(batch: pa.RecordBatch, beginning: str, first: int) -> pa.RecordBatch:
    """A batch in which every row has an id; those that had none are known by their number, counted from 1."""
    ids = [batch.column(name) for name in ("id", "trace_id") if name in batch.schema.names]
    if any([not column.null_count for column in ids]):
        return batch
    given = zip(*[column.to_pylist() for column in ids], strict=True) if ids else [()] * batch.num_rows
    made = [next((str(one) for one in some if one is not None), None) for some in given]
    named = [one or f"{beginning}{first + number}" for number, one in enumerate(made, start=1)]
    column = pa.array(named, pa.string())
    if "id" in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index("id"), "id", column)
    return batch.append_column("id", column)


def _bucket_batches(fragment: Fragment) -> Iterator[Rows]:
    if fragment.bucket is None:
        raise InputError(f"{fragment}: its spans have not been sorted into buckets")
    yield from _trajectory_batches(fragment.bucket.trajectories(), fragment)


_READERS: dict[Kind, Callable[[Fragment], Iterator[Rows]]] = {
    "lines": _line_batches,
    "traces": _trace_batches,
    "spans": _bucket_batches,
}
