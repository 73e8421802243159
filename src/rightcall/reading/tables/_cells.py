"""Columns and cells of tables of spans: columns by the names that exporters give them, cells as Python values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading.formats import (
    OPENED,
    Attributes,
    Path,
    attribute_columns,
    attributes_or_trouble,
    fields_of,
    folded,
    moment,
    opened,
    without_nulls,
)
from rightcall.reading.spans import TOLD, restored

if TYPE_CHECKING:
    import pyarrow as pa

_UNREADABLE = "unreadable values, such as text that is not UTF-8"
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_KIND = "openinference.span.kind"
LOOKED_FOR_COLUMNS = (
    "looked for columns of spans (trace_id, span_id, name, start_time; TraceId, context.trace_id and so on) and of "
    "MLflow's traces (trace or spans)"
)
"""The columns of a table of spans, for the message about another table."""
_IDS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary", "dictionary", "int", "uint", "null")
_RIGHT_IDS = "they should be text (hexadecimal digits or base64) or bytes"
# Parquet specification, VariantEncoding: a group of two binary fields, which readers without VARIANT see as a struct.
_VARIANT = frozenset({"metadata", "value"})


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


class SpanColumns(msgspec.Struct, frozen=True):
    """Which columns of a table hold the fields of a span."""

    paths: dict[str, Path]
    """The column of each field, or the path into a struct column."""
    units: dict[str, int | None]
    """Nanoseconds per unit of each time; None if the column does not say."""
    attributes: dict[str, str]
    """The columns that hold one attribute each, and its name."""

    @property
    def holds_traces(self) -> bool:
        """Whether each row is a whole trace."""
        return "span_id" not in self.paths

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys([*(path[0] for path in self.paths.values()), *self.attributes]))


def span_columns(schema: pa.Schema, kept: Collection[str] = ()) -> SpanColumns | None:
    """Return which columns hold the fields of a span; None if this is not a table of spans.

    Columns that tell the case, the repeat or the score of a run are attributes, and so are those in `kept`.

    A row is a span if there are columns for trace id, span id, name and start. It is a whole trace if there is a column
    of traces or of their spans, as in MLflow's tables. A table with a column `calls` holds trajectories.
    """
    names = list(schema.names)
    if "calls" in names:
        return None
    paths, units = fields_of(dict(_spelled(schema)))
    attributes = attribute_columns(names)
    used = {path[0] for path in paths.values()}
    told = {name: name for name in names if (name in TOLD or name in kept) and name not in used}
    if {"trace_id", "span_id", "name", "start"} <= paths.keys():
        others = {"trace", "spans", "row_id"} if attributes else {"trace", "spans", "row_id", "kind"}
        held = {field: path for field, path in paths.items() if field not in others}
        return SpanColumns(held, units, attributes | told)
    for field in ("trace", "spans"):
        if field in paths and _may_hold(schema, paths[field]):
            return SpanColumns({held: paths[held] for held in (field, "row_id") if held in paths}, {}, {})
    return None


def known_columns(schema: pa.Schema, name: str, kept: Collection[str] = ()) -> SpanColumns:
    """Return which columns hold the fields of a span, and those in `kept`.

    Raises:
        InputError: this is not a table of spans, or a column has a type that cannot be read.
    """
    columns = span_columns(schema, kept)
    if columns is None:
        there = ", ".join(schema.names[:12]) + (", …" if len(schema.names) > 12 else "")
        raise InputError(f"{name}: not a table of spans; {LOOKED_FOR_COLUMNS}; there are {there or 'none'}")
    needed, seen = set(columns.needed), set()
    for field in schema:
        if field.name not in needed:
            continue
        if field.name in seen:
            raise InputError(f"{name}: there are several columns {field.name}")
        if _is_variant(field.type):
            advice = f"write it as JSON text, with to_json({field.name})"
            raise InputError(f"{name}: column {field.name} is a VARIANT; {advice}")
        seen.add(field.name)
    kind = _type_at(schema, columns.paths.get("trace_id", ()))
    if kind is not None and not str(kind).startswith(_IDS):
        raise InputError(f"{name}: ids of traces are {kind} in column {columns.paths['trace_id'][0]}; {_RIGHT_IDS}")
    return columns


def _spelled(schema: pa.Schema) -> Iterator[tuple[str, Path]]:
    """Yield each column, and each field of known structs, by its letters and digits; the first of two alike."""
    found: dict[str, Path] = {}
    for field in schema:
        name = folded(field.name)
        found.setdefault(name, (field.name,))
        if name in OPENED and str(field.type).startswith("struct"):
            for inner in field.type:
                found.setdefault(name + folded(inner.name), (field.name, inner.name))
    yield from found.items()


def _may_hold(schema: pa.Schema, path: Path) -> bool:
    """Whether a column can hold spans: as text, or as lists and structs."""
    return str(schema.field(path[0]).type).startswith(("string", "large_string", "list", "large_list", "struct"))


def _type_at(schema: pa.Schema, path: Path) -> Any:
    kind: Any = schema.field(path[0]).type if path else None
    for name in path[1:]:
        kind = kind.field(name).type
    return kind


def _is_variant(kind: Any) -> bool:
    """Whether a type is Parquet's VARIANT, or the struct with `metadata` and `value` that represents it."""
    text = str(kind) if kind.num_fields <= len(_VARIANT) else ""
    return "variant" in text or (text.startswith("struct") and {field.name for field in kind} == _VARIANT)
