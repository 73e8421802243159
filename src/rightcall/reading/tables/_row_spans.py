"""Rows of tables as spans, and which traces of a table belong to one conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.formats import (
    is_mlflow_trace,
    is_table_header,
    mlflow_spans,
    otlp_span,
    row_items,
    scope_name,
    side_by_side,
    span_of_cells,
    without_nulls,
)
from rightcall.reading.messages import CONVERSATION_COLUMNS
from rightcall.reading.runs import Grouping, keys_of
from rightcall.reading.spans import UNREADABLE, Item, Span, span_id, topmost
from rightcall.values.decoding import decode_json

from ._cells import SpanColumns, cells, column_at, known_columns, span_columns, table_attributes, times, values

if TYPE_CHECKING:
    import pyarrow as pa


def table_items(table: Any, name: str, limits: Limits) -> Iterator[Iterable[Item]]:
    """Yield the spans of each batch of a file of Parquet; the rows, where they are conversations or of a platform.

    Raises:
        InputError: the table is of neither, or a column has a type that cannot be read.
    """
    schema = table.schema_arrow
    is_other = not CONVERSATION_COLUMNS.isdisjoint(schema.names) or is_table_header(schema.names)
    if is_other and span_columns(schema) is None:
        for batch in table.iter_batches():
            # Arrow gives every object the keys of all others, so null and absent are the same there.
            rows = [decode_json(msgspec.json.encode(row, enc_hook=str), limits) for row in batch.to_pylist()]
            yield [item for row in rows for item in row_items(without_nulls(row))]
        return
    columns = known_columns(schema, name)
    for batch in table.iter_batches(columns=columns.needed):
        yield table_spans(batch, columns, limits)


def table_spans(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits = DEFAULT_LIMITS) -> list[Span]:
    """Return the spans of a batch, in its order.

    A cell that cannot be read is lost alone, and the attribute `rightcall.unreadable` of the span says so. A row that
    should hold a whole trace and does not becomes a span without a name.
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
"""A pattern that every key of a conversation or session matches."""


def group_columns(columns: SpanColumns, grouping: Grouping) -> list[str]:
    """Return the columns needed to group traces; none if each trace is a run."""
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
    # Rows of one trace repeat its id: with a dictionary each distinct id is converted once.
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

    # A dataset has few distinct pairs and millions of entries: flattened and grouped by Arrow, no entry becomes a
    # Python object.
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
