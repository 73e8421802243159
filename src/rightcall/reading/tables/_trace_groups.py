"""Find which traces of a table belong to one conversation, from few of its columns.

This runs over a whole dataset before any row is read as a span, so it works on Arrow columns where it can.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.runs import Grouping, keys_of
from rightcall.reading.spans import span_id, topmost

from ._cells import column_at, table_attributes, values
from ._row_spans import spans_by_row, table_names, table_spans
from ._span_columns import SpanColumns

if TYPE_CHECKING:
    import pyarrow as pa

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
