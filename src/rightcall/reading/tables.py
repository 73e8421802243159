"""Read rows of Arrow tables as spans: columns by the names that exporters use, and the traces of one conversation."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.formats import (
    OPENED,
    Attributes,
    Path,
    attribute_columns,
    attributes_or_trouble,
    fields_of,
    folded,
    is_mlflow_trace,
    is_table_header,
    mlflow_spans,
    moment,
    opened,
    otlp_span,
    row_items,
    scope_name,
    side_by_side,
    span_of_cells,
    without_nulls,
)
from rightcall.reading.messages import CONVERSATION_COLUMNS
from rightcall.reading.runs import Grouping, keys_of
from rightcall.reading.spans import TOLD, UNREADABLE, Item, Span, restored, span_id, topmost
from rightcall.values.decoding import decode_json

if TYPE_CHECKING:
    import pyarrow as pa


_UNREADABLE = "unreadable values, such as text that is not UTF-8"
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_KIND = "openinference.span.kind"
LOOKED_FOR_COLUMNS = (
    "looked for columns of spans (trace_id, span_id, name, start_time; TraceId, context.trace_id and so on) and of "
    "MLflow's traces (trace or spans)"
)
"""The columns of a table of spans, for the error about a table without them."""
_IDS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary", "dictionary", "int", "uint", "null")
_RIGHT_IDS = "they should be text (hexadecimal digits or base64) or bytes"
# Parquet specification, VariantEncoding: a group of two binary fields, which readers without VARIANT see as a struct.
_VARIANT = frozenset({"metadata", "value"})


def table_items(table: Any, name: str, limits: Limits) -> Iterator[Iterable[Item]]:
    """Yield the items of each batch of a Parquet file: spans, or rows of conversations or of a platform.

    Raises:
        InputError: the table has none of these, or a column has a type that cannot be read.
    """
    schema = table.schema_arrow
    is_other = not CONVERSATION_COLUMNS.isdisjoint(schema.names) or is_table_header(schema.names)
    if is_other and span_columns(schema) is None:
        for batch in table.iter_batches():
            # Arrow gives every object the keys of all others, so null means absent.
            rows = [decode_json(msgspec.json.encode(row, enc_hook=str), limits) for row in batch.to_pylist()]
            yield [item for row in rows for item in row_items(without_nulls(row))]
        return
    columns = known_columns(schema, name)
    for batch in table.iter_batches(columns=columns.needed):
        yield table_spans(batch, columns, limits)


def table_spans(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits = DEFAULT_LIMITS) -> list[Span]:
    """Return the spans of a batch, in its order.

    If a cell cannot be read, the rest of the span is kept, and its attribute `rightcall.unreadable` has the reason. A
    row that should be a whole trace, but cannot be read as one, becomes a span without a name.
    """
    if columns.holds_traces:
        return [span for spans in spans_by_row(batch, columns, limits) for span in spans]
    held = [_cells(batch, columns, field) for field in ("trace_id", "span_id", "parent_id", "name")]
    starts = times(batch, columns, "start")
    others = [_cells(batch, columns, field) for field in ("status", "message", "scope")]
    ends, attributes = _ends(batch, columns, starts), table_attributes(batch, columns, limits)
    rows = zip(*held, starts, ends, attributes, *others, _events(batch, columns), strict=False)
    return [span_of_cells(limits, *row) for row in rows]


def spans_by_row(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[list[Span]]:
    """Return the spans of each row of a batch whose rows are traces."""
    found: list[list[Span]] = []
    held = _cells(batch, columns, "trace" if "trace" in columns.paths else "spans")
    for cell, row_id in zip(held, _cells(batch, columns, "row_id"), strict=False):
        try:
            found.append(_spans_of_trace(cell, limits))
        except InputError as problem:
            attributes = {UNREADABLE: f"the trace could not be read: {problem}"}
            found.append([otlp_span({"traceId": row_id, "attributes": attributes}, "")])
    return found


def table_names(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[tuple[str, str]]:
    """Return the name and scope of each span of a batch whose rows are spans."""
    pairs = zip(_cells(batch, columns, "name"), _cells(batch, columns, "scope"), strict=False)
    return [(name if isinstance(name, str) else "", scope_name(scope, limits)) for name, scope in pairs]


def _cells(batch: pa.RecordBatch, columns: SpanColumns, field: str) -> Iterable[Any]:
    path = columns.paths.get(field)
    return repeat(None) if path is None else cells(batch, path)


def _ends(batch: pa.RecordBatch, columns: SpanColumns, starts: list[int | None]) -> list[int | None]:
    if "end" in columns.paths:
        return times(batch, columns, "end")
    if "duration" not in columns.paths:
        return [None] * len(starts)
    pairs = zip(starts, times(batch, columns, "duration"), strict=True)
    return [None if start is None or length is None else start + length for start, length in pairs]


def _events(batch: pa.RecordBatch, columns: SpanColumns) -> Iterable[Any]:
    if "event_names" not in columns.paths:
        return _cells(batch, columns, "events")
    parts = [_cells(batch, columns, field) for field in ("event_names", "event_times", "event_attributes")]
    return [side_by_side(*lists) for lists in zip(*parts, strict=False)]


def _spans_of_trace(cell: Any, limits: Limits) -> list[Span]:
    """Return the spans of a trace in a cell of MLflow: the trace or its spans, as an object or as JSON."""
    document = decode_json(cell, limits) if isinstance(cell, (str, bytes)) else without_nulls(cell)
    if isinstance(document, list):
        document = {"data": {"spans": document}}
    if not is_mlflow_trace(document):
        raise InputError(f"{shown(document)} is not a trace of MLflow")
    return list(mlflow_spans(document))


_MENTIONED = "conversation|session|thread_id"
"""A pattern that matches every key of a conversation or session."""


def group_columns(columns: SpanColumns, grouping: Grouping) -> list[str]:
    """Return the columns needed to group traces; none if each trace is a run of its own."""
    keys = keys_of(grouping)
    if not keys:
        return []
    if columns.holds_traces:
        return columns.needed
    held = [name for name, key in columns.attributes.items() if key in keys or key.split(".")[0] in _heads(keys)]
    if "attributes" in columns.paths:
        held.append(columns.paths["attributes"][0])
    return list(dict.fromkeys([columns.paths["trace_id"][0], *held])) if held else []


def table_groups(
    batch: pa.RecordBatch, columns: SpanColumns, grouping: Grouping, limits: Limits = DEFAULT_LIMITS
) -> set[tuple[str, str]]:
    """Return the traces of a batch that are in a conversation or session, each with its id.

    The batch needs only the columns of `group_columns`.
    """
    keys = keys_of(grouping)
    if columns.holds_traces:
        spans = table_spans(batch, columns, limits)
        return {(span.trace_id, value) for span in spans for value in _values(span.attributes, keys)}
    path = columns.paths.get("attributes")
    attributes = column_at(batch, path) if path else None
    if attributes is not None and not columns.attributes:
        if _is_map_of_texts(attributes.type):
            return _in_map(column_at(batch, columns.paths["trace_id"]), attributes, keys)
        batch = batch.filter(_may_be_grouped(attributes, keys))
    traces = values(column_at(batch, columns.paths["trace_id"]))
    held = zip(traces, table_attributes(batch, columns, limits), strict=True)
    found = {(trace, value) for trace, each in held for value in _values(each, keys)}
    return {(span_id(trace) or "", value) for trace, value in found}


class Outline(msgspec.Struct, frozen=True):
    """What is known about rows before they are read as spans."""

    traces: list[str]
    """The trace id of each row."""
    roots: list[tuple[int, tuple[str, str]]]
    """The spans whose parent is not among these rows: row, name and scope of each."""


def table_outline(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits = DEFAULT_LIMITS) -> Outline:
    """Return the traces of the rows of a batch, and the roots of these traces."""
    if not columns.holds_traces:
        return Outline(_traces(batch, columns), _roots(batch, columns, limits))
    rows = spans_by_row(batch, columns, limits)
    return Outline(
        [spans[0].trace_id if spans else "" for spans in rows],
        [(row, (span.name, span.scope)) for row, spans in enumerate(rows) for span in topmost(spans)],
    )


def _traces(batch: pa.RecordBatch, columns: SpanColumns) -> list[str]:
    # Rows of one trace repeat its id. With dictionary encoding, each distinct id is converted once.
    encoded = column_at(batch, columns.paths["trace_id"]).dictionary_encode()
    names = [span_id(trace) or "" for trace in values(encoded.dictionary)]
    return ["" if place is None else names[place] for place in encoded.indices.to_pylist()]


def _roots(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[tuple[int, tuple[str, str]]]:
    import pyarrow as pa

    path, own = columns.paths.get("parent_id"), columns.paths.get("span_id")
    parents = values(column_at(batch, path)) if path else [None] * batch.num_rows
    ids = set(values(column_at(batch, own))) if own and own[0] in batch.schema.names else None
    roots = [row for row, parent in enumerate(parents) if _is_outside(parent, ids)]
    named = list(dict.fromkeys([columns.paths[field][0] for field in ("name", "scope") if field in columns.paths]))
    names = table_names(batch.select(named).take(pa.array(roots, pa.int64())), columns, limits)
    return list(zip(roots, names, strict=True))


def _values(attributes: Any, keys: frozenset[str]) -> list[str]:
    found = [attributes.get(key) for key in keys if key in attributes]
    return [value for value in found if isinstance(value, str) and value]


def _in_map(traces: Any, attributes: Any, keys: frozenset[str]) -> set[tuple[str, str]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    # A dataset has few distinct pairs and millions of entries. Arrow flattens and groups them, so that no entry
    # becomes a Python object.
    listed = attributes.cast(pa.list_(pa.struct([("key", pa.string()), ("value", attributes.type.item_type)])))
    rows, entries = pc.list_parent_indices(listed), pc.list_flatten(listed)
    wanted = pc.is_in(pc.struct_field(entries, "key"), pa.array(sorted(keys)))
    held = {"trace": traces.take(rows.filter(wanted)), "value": pc.struct_field(entries, "value").filter(wanted)}
    pairs = pa.table(held).group_by(["trace", "value"])
    distinct = pairs.aggregate([]).combine_chunks()
    found = zip(values(distinct.column("trace")), values(distinct.column("value")), strict=True)
    return {(span_id(trace) or "", group) for trace, group in found if group}


def _may_be_grouped(attributes: Any, keys: frozenset[str]) -> Any:
    """Return a mask of the rows that may have one of the keys: by text, or by the fields of a struct."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_text(attributes.type):
        return pc.match_substring_regex(attributes, _MENTIONED)
    if not pa.types.is_struct(attributes.type):
        return pa.array([True] * len(attributes))
    found = pa.array([False] * len(attributes))
    for place, field in enumerate(attributes.type):
        if field.name in keys or field.name in _heads(keys):
            found = pc.or_(found, pc.struct_field(attributes, [place]).is_valid())
    return found


def _is_map_of_texts(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_map(kind)) and _is_text(kind.item_type)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _heads(keys: Iterable[str]) -> set[str]:
    return {key.split(".")[0] for key in keys}


def _is_outside(parent: Any, ids: set[Any] | None) -> bool:
    return not parent or span_id(parent) is None or (ids is not None and parent not in ids)


def column_at(batch: pa.RecordBatch, path: Path) -> Any:
    """Return a column, or a field of a struct column."""
    import pyarrow.compute as pc

    column = batch.column(path[0])
    return column if len(path) == 1 else pc.struct_field(column, list(path[1:]))


def values(column: Any) -> list[Any]:
    """Return the values of a column. Text that is not UTF-8 gets replacement characters; a nested value, a note."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):  # Parquet does not check its strings for being UTF-8
        return [_value(scalar) for scalar in column]


def cells(batch: pa.RecordBatch, path: Path) -> list[Any]:
    """Return the values of a column or of a field in it. Times are nanoseconds since 1970."""
    return values(_plain(column_at(batch, path)))


def present(column: Any) -> Iterator[tuple[int, Any]]:
    """Yield the values that are not null, each with its row. Most columns of attributes are nearly empty."""
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
    # Converting keys and values as two columns took a tenth of the time of `to_pylist` when measured.
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

    Numbers are in the unit from the column's name. Without one, a duration is in nanoseconds, and the unit of a time
    follows from its size.
    """
    import pyarrow as pa

    column, unit = column_at(batch, columns.paths[field]), columns.units[field]
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        unit = _UNITS[column.type.unit]
        column = column.cast(pa.int64())
    held = values(column)
    if pa.types.is_decimal(column.type):  # Spark writes unsigned 64-bit integers as decimals
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
    # Not `safe`: a time after the year 2262 overflows nanoseconds, and one odd cell must not lose the whole batch.
    return column.cast(_retyped(kind, pa.timestamp("ns")), safe=False).cast(_retyped(kind, pa.int64()))


def _has_times(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return True
    return any(_has_times(kind.field(place).type) for place in range(kind.num_fields))


def _retyped(kind: Any, time: Any) -> Any:
    """Return a type in which every type of times is replaced by another one."""
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
    """Return the attributes of each span of a batch whose rows are spans, from the columns in the batch."""
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
    """The unit of each time in nanoseconds; None if the column's name does not show it."""
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

    Columns with the case, the repeat or the score of a run become attributes, and so do those in `kept`.

    A row is a span if there are columns for trace id, span id, name and start. It is a whole trace if there is a column
    of traces or of their spans, as in MLflow's tables. A table with a column `calls` is one of trajectories.
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
    """Return which columns hold the fields of a span; columns in `kept` become attributes.

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
    """Yield each column, and each field of known structs, by its folded name; the first one if names are equal."""
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
