"""Attributes of spans in tables: maps, structs, lists of pairs, JSON, or a column each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading.conventions import shape_of
from rightcall.reading.spans import RawAttributes, plain_value, restored, undecoded
from rightcall.values.decoding import decode_json

from ._table_cells import cells, entries, present
from ._table_columns import SpanColumns

if TYPE_CHECKING:
    import pyarrow as pa

UNREADABLE = "rightcall.unreadable"
"""The attribute that says what of a span could not be read."""

_DEEPEST = 20
_KIND = "openinference.span.kind"
_BLANK = frozenset({"", "{}", "[]", "null"})

Attributes = dict[str, Any] | RawAttributes


def table_attributes(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[Attributes]:
    """The attributes of each span of a part of a table that has a span a row, as far as the part has their columns."""
    path = columns.paths.get("attributes")
    if path is None:
        found: list[Attributes] = [{} for _ in range(batch.num_rows)]
    else:
        found = [_in_cell(cell, limits) for cell in entries(batch, path)]
    there = set(batch.schema.names)
    named = [(name, key) for name, key in columns.attributes.items() if name in there]
    return _with_columns(found, batch, columns, named) if named else found


def attributes_in(cell: Any, limits: Limits) -> Attributes:
    """The attributes in a cell: an object, pairs, a list of objects with `key` and `value`, or any of these as JSON.

    Raises:
        InputError: they are no such JSON.
    """
    if cell.__class__ is dict:
        return _opened({key: without_nulls(value) for key, value in cell.items() if value is not None})
    if not isinstance(cell, (str, bytes)):
        return _in_pairs(cell)
    if cell in _BLANK:
        return {}
    lazy = _lazily(cell, limits) if isinstance(cell, str) else None
    if lazy is not None:
        return lazy
    held = decode_json(cell, limits)
    if not isinstance(held, Mapping):
        return _in_pairs(held)
    return _opened({key: value for key, value in held.items() if value is not None})


def marked(attributes: Attributes, trouble: str) -> dict[str, Any]:
    """Attributes with a word on what of their span could not be read."""
    return {**{key: attributes.get(key) for key in attributes}, UNREADABLE: trouble}


def without_nulls(value: Any) -> Any:
    """A value without what is null inside: structs have every field that any row has."""
    if value.__class__ is dict:
        return {key: without_nulls(held) for key, held in value.items() if held is not None}
    if value.__class__ is list:
        return [without_nulls(held) for held in value]
    return value


def _in_cell(cell: Any, limits: Limits) -> Attributes:
    try:
        return attributes_in(cell, limits)
    except InputError as problem:
        return {UNREADABLE: f"the attributes of a span could not be read: {problem}"}


def _lazily(text: str, limits: Limits) -> RawAttributes | None:
    """Attributes that are decoded when somebody asks; none where they lie inside of each other, or are no object."""
    held = undecoded(text) if len(text) <= limits.text_bytes else None
    if held is None or any(["." not in each.key and bytes(each.value)[15:16] == b"{" for each in held]):
        return None
    shape = shape_of(tuple([attribute.key for attribute in held]))
    return RawAttributes(shape, shape.places, held)


def _in_pairs(held: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in held if isinstance(held, list) else ():
        if isinstance(pair, Mapping):
            key, value = pair.get("key"), pair.get("value")
        else:
            key, value = pair if isinstance(pair, tuple) else (None, None)
        value = plain_value(value) if isinstance(value, Mapping) else value
        if isinstance(key, str) and value is not None:
            found[key] = value
    return found


def _opened(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with those that lie inside of others: `{"tool": {"name": …}}` is `tool.name` as well."""
    nested = [(key, value) for key, value in attributes.items() if value.__class__ is dict and "." not in key]
    for key, value in nested:
        _open(key, value, attributes, 0)
    return attributes


def _open(path: str, held: dict[str, Any], attributes: dict[str, Any], depth: int) -> None:
    for key, value in held.items():
        attributes.setdefault(f"{path}.{key}", value)
        if value.__class__ is dict and depth < _DEEPEST:
            _open(f"{path}.{key}", value, attributes, depth + 1)


def _with_columns(
    found: list[Attributes], batch: pa.RecordBatch, columns: SpanColumns, named: list[tuple[str, str]]
) -> list[Attributes]:
    """Attributes, and those that have a column each. Where there are such, `span_kind` is OpenInference's."""
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
    return [_opened(restored(row)) for row in rows]
