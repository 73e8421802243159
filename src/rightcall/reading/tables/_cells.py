"""Cells of tables as Python values: nested values, maps, times of any unit, and the attributes of spans."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rightcall.limits import Limits
from rightcall.reading.formats import Attributes, Path, attributes_or_trouble, moment, opened, without_nulls
from rightcall.reading.spans import restored

from ._span_columns import SpanColumns

if TYPE_CHECKING:
    import pyarrow as pa

_UNREADABLE = "unreadable values, such as text that is not UTF-8"
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_KIND = "openinference.span.kind"


def column_at(batch: pa.RecordBatch, path: Path) -> Any:
    """Return a column, or a field of a struct column."""
    import pyarrow.compute as pc

    column = batch.column(path[0])
    return column if len(path) == 1 else pc.struct_field(column, list(path[1:]))


def values(column: Any) -> list[Any]:
    """Return the values of a column. Text that is not UTF-8 gets replacement characters; a nested value is replaced."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):  # Parquet does not check its texts for being UTF-8
        return [_value(scalar) for scalar in column]


def cells(batch: pa.RecordBatch, path: Path) -> list[Any]:
    """Return the values of a column or of a field in it. Times are nanoseconds since 1970."""
    return values(_plain(column_at(batch, path)))


def present(column: Any) -> Iterator[tuple[int, Any]]:
    """Yield the values that are not null, each with its row: most attribute columns are nearly empty."""
    import pyarrow.compute as pc

    rows = pc.indices_nonzero(column.is_valid()).to_pylist()
    return zip(rows, values(_plain(column.drop_null())), strict=True)


def entries(batch: pa.RecordBatch, path: Path) -> list[Any]:
    """Return the values of a column, maps as dicts and structs without null fields."""
    import pyarrow as pa

    column = column_at(batch, path)
    if pa.types.is_struct(column.type):
        rows: list[dict[str, Any]] = [{} for _ in range(len(column))]
        for field, held in zip(column.type, column.flatten(), strict=True):
            for row, value in present(held):
                rows[row][field.name] = value
        return rows
    if not pa.types.is_map(column.type) or pa.types.is_nested(column.type.item_type):
        return cells(batch, path)
    # Measured: converting keys and values as two columns costs a tenth of `to_pylist` of the map.
    ends = column.offsets.to_pylist() or [0]
    first = ends[0]
    keys, texts = [values(part.slice(first, ends[-1] - first)) for part in (column.keys, column.items)]
    found = [
        dict(zip(keys[start - first : end - first], texts[start - first : end - first], strict=True))
        for start, end in pairwise(ends)
    ]
    # Arrow allows entries under a null map (columnar format, "Variable-size List Layout"); they do not count.
    return [None if empty else each for each, empty in zip(found, column.is_null().to_pylist(), strict=True)]


def times(batch: pa.RecordBatch, columns: SpanColumns, field: str) -> list[int | None]:
    """Return a column of times or durations in nanoseconds.

    Numbers are in the unit in the column's name. Without one, a duration is in nanoseconds, and the size of a time
    shows its unit.
    """
    import pyarrow as pa

    column, unit = column_at(batch, columns.paths[field]), columns.units[field]
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        unit = _UNITS[column.type.unit]
        column = column.cast(pa.int64())
    held = values(column)
    if pa.types.is_decimal(column.type):  # as which Spark writes unsigned numbers of 64 bits
        held = [None if value is None else int(value) for value in held]
    return [moment(value, unit, field == "duration") for value in held]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        text = hasattr(scalar, "as_buffer")
        return scalar.as_buffer().to_pybytes().decode("utf-8", "replace") if text else _UNREADABLE


def _plain(column: Any) -> Any:
    """Return a column with integers instead of times, because `datetime` has no nanoseconds."""
    import pyarrow as pa

    kind = column.type
    if not _has_times(kind):
        return column
    # Not `safe`: a time beyond the year 2262 overflows nanoseconds, and one odd cell must not lose the whole batch.
    return column.cast(_retyped(kind, pa.timestamp("ns")), safe=False).cast(_retyped(kind, pa.int64()))


def _has_times(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return True
    return any(_has_times(kind.field(place).type) for place in range(kind.num_fields))


def _retyped(kind: Any, time: Any) -> Any:
    """Return a type with another type instead of times."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return time
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_retyped(field.type, time)) for field in kind])
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_retyped(kind.value_type, time)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_retyped(kind.value_type, time)))
    return kind


def table_attributes(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[Attributes]:
    """Return the attributes of each span of a batch whose rows are spans, from the columns the batch has."""
    path = columns.paths.get("attributes")
    if path is None:
        found: list[Attributes] = [{} for _ in range(batch.num_rows)]
    else:
        found = [attributes_or_trouble(cell, limits) for cell in entries(batch, path)]
    there = set(batch.schema.names)
    named = [(name, key) for name, key in columns.attributes.items() if name in there]
    return _with_columns(found, batch, columns, named) if named else found


def _with_columns(
    found: list[Attributes], batch: pa.RecordBatch, columns: SpanColumns, named: list[tuple[str, str]]
) -> list[Attributes]:
    """Add the attributes that have a column each. In such tables (Phoenix), `span_kind` is OpenInference's."""
    rows = [{key: attributes.get(key) for key in attributes} for attributes in found]
    for name, key in named:
        for place, cell in present(batch.column(name)):
            if not (isinstance(cell, float) and math.isnan(cell)):
                rows[place][key] = without_nulls(cell)
    kind = columns.paths.get("kind")
    if kind is not None and kind[0] in batch.schema.names:
        for row, cell in zip(rows, cells(batch, kind), strict=True):
            if isinstance(cell, str):
                row.setdefault(_KIND, cell)
    return [opened(restored(row)) for row in rows]
