"""Cells of tables as Python values: nested ones, times of any unit, maps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rightcall.reading.spans import nanoseconds

from ._table_columns import Path, SpanColumns

if TYPE_CHECKING:
    import pyarrow as pa

_UNREADABLE = "values that are no values, such as text that is not UTF-8"
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Numbers since 1970 say by their size what they count: below the first bound seconds until the year 5138, and so on.
_SIZES = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))


def column_at(batch: pa.RecordBatch, path: Path) -> Any:
    """A column, or a field inside of one that is a struct."""
    import pyarrow.compute as pc

    column = batch.column(path[0])
    return column if len(path) == 1 else pc.struct_field(column, list(path[1:]))


def values(column: Any) -> list[Any]:
    """The values of a column. Text that is not UTF-8 has marks where it is not; a nested value is then a word on it."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):  # nobody checks what a column of texts has in it
        return [_value(scalar) for scalar in column]


def cells(batch: pa.RecordBatch, path: Path) -> list[Any]:
    """The values of a column, or of a field inside of it. Times in it are nanoseconds since 1970."""
    return values(_plain(column_at(batch, path)))


def present(column: Any) -> Iterator[tuple[int, Any]]:
    """The values of a column that are there, each with its row: most attributes are those of few spans."""
    import pyarrow.compute as pc

    rows = pc.indices_nonzero(column.is_valid()).to_pylist()
    return zip(rows, values(_plain(column.drop_null())), strict=True)


def entries(batch: pa.RecordBatch, path: Path) -> list[Any]:
    """The values of a column; maps in it are dicts, and structs have no fields that are null."""
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
    # Taken apart as a whole, a map costs a tenth of what it costs entry by entry.
    ends = column.offsets.to_pylist() or [0]
    first = ends[0]
    keys, texts = [values(part.slice(first, ends[-1] - first)) for part in (column.keys, column.items)]
    found = [
        dict(zip(keys[start - first : end - first], texts[start - first : end - first], strict=True))
        for start, end in pairwise(ends)
    ]
    # What is null may have entries all the same, which count for nothing.
    return [None if empty else each for each, empty in zip(found, column.is_null().to_pylist(), strict=True)]


def times(batch: pa.RecordBatch, columns: SpanColumns, field: str) -> list[int | None]:
    """A column of times or durations, in nanoseconds.

    Numbers are in the unit that the name of their column has. Where it has none, a duration is in nanoseconds, and the
    size of a time tells its unit.
    """
    import pyarrow as pa

    column, unit = column_at(batch, columns.paths[field]), columns.units[field]
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        unit = _UNITS[column.type.unit]
        column = column.cast(pa.int64())
    held = values(column)
    if pa.types.is_decimal(column.type):  # as which Spark writes unsigned numbers of 64 bits
        held = [None if value is None else int(value) for value in held]
    if unit is None and field != "duration":
        return [nanoseconds(value, _unit_of(value)) for value in held]
    return [nanoseconds(value, unit or 1) for value in held]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        text = hasattr(scalar, "as_buffer")
        return scalar.as_buffer().to_pybytes().decode("utf-8", "replace") if text else _UNREADABLE


def _unit_of(value: Any) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 40:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 1
    return next((unit for bound, unit in _SIZES if abs(value) < bound), 1)


def _plain(column: Any) -> Any:
    """A column with numbers in the place of times, of which Python's own have no nanoseconds."""
    import pyarrow as pa

    kind = column.type
    if not _has_times(kind):
        return column
    return column.cast(_retyped(kind, pa.timestamp("ns")), safe=False).cast(_retyped(kind, pa.int64()))


def _has_times(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return True
    return any(_has_times(kind.field(place).type) for place in range(kind.num_fields))


def _retyped(kind: Any, time: Any) -> Any:
    """A type with another in the place of times."""
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
