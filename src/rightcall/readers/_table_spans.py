"""Rows of tables, as exporters write them, made into spans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any

from rightcall.decoding import decode_json
from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._attributes import plain_value
from ._exports import is_mlflow_trace, mlflow_spans
from ._identity import nanoseconds
from ._otlp import otlp_span
from ._span import Span
from ._table_cells import cells, entries, times
from ._table_columns import SpanColumns

if TYPE_CHECKING:
    import pyarrow as pa

UNREADABLE = "rightcall.unreadable"
"""The attribute that says what of a span could not be read."""

_DEEPEST = 20
_KIND = "openinference.span.kind"
_EVENT = {"name": "name", "eventname": "name", "attributes": "attributes"}
_EVENT |= dict.fromkeys(("timeunixnano", "timestamp", "time", "timens"), "timeUnixNano")


def table_spans(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits = DEFAULT_LIMITS) -> list[Span]:
    """The spans of a part of a table, in its order.

    A cell that cannot be read costs that cell: the span says so in the attribute `rightcall.unreadable`. Of a row that
    should hold a whole trace and does not, a span without a name is left.
    """
    if columns.holds_traces:
        return [span for spans in spans_by_row(batch, columns, limits) for span in spans]
    held = [_cells(batch, columns, field) for field in ("trace_id", "span_id", "parent_id", "name")]
    starts = times(batch, columns, "start")
    statuses = (_cells(batch, columns, "status"), _cells(batch, columns, "message"))
    rows = zip(
        *held,
        starts,
        _ends(batch, columns, starts),
        table_attributes(batch, columns, limits),
        *statuses,
        _cells(batch, columns, "scope"),
        _events(batch, columns),
        strict=False,
    )
    return [_span(limits, *row) for row in rows]


def table_attributes(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[dict[str, Any]]:
    """The attributes of each span of a part of a table that has a span a row, as far as the part has their columns."""
    path = columns.paths.get("attributes")
    if path is not None:
        found = [_attributes_in(cell, limits) for cell in entries(batch, path)]
    else:
        found = [{} for _ in range(batch.num_rows)]
    there = set(batch.schema.names)
    for name, key in [(name, key) for name, key in columns.attributes.items() if name in there]:
        for attributes, cell in zip(found, cells(batch, (name,)), strict=True):
            if cell is not None and not (isinstance(cell, float) and math.isnan(cell)):
                attributes[key] = _without_nulls(cell)
    if columns.attributes:
        found = [_opened(attributes) for attributes in found]
    if "kind" in columns.paths and columns.paths["kind"][0] in there:
        for attributes, kind in zip(found, _cells(batch, columns, "kind"), strict=True):
            if isinstance(kind, str):
                attributes.setdefault(_KIND, kind)
    return found


def spans_by_row(batch: pa.RecordBatch, columns: SpanColumns, limits: Limits) -> list[list[Span]]:
    """The spans of each row of a part of a table that has a trace a row."""
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
    """The name and the scope of each span of a part of a table that has a span a row."""
    pairs = zip(_cells(batch, columns, "name"), _cells(batch, columns, "scope"), strict=False)
    return [(name if isinstance(name, str) else "", _name_in(scope, {}, limits)) for name, scope in pairs]


def _span(
    limits: Limits,
    trace_id: Any,
    span_id: Any,
    parent_id: Any,
    name: Any,
    start: int | None,
    end: int | None,
    attributes: dict[str, Any],
    status: Any,
    message: Any,
    scope: Any,
    events: Any,
) -> Span:
    """One span. What OTLP means by each of these is said by its reader."""
    if events:
        events = _readable(_event_documents, events, attributes, limits) or []
    if isinstance(status, str) and status[:1] == "{":
        status = _readable(decode_json, status, attributes, limits)
    if not isinstance(status, Mapping):
        status = {"code": status, "message": message}
    scope = _name_in(scope, attributes, limits)
    document = {
        "name": name,
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": parent_id,
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "attributes": attributes,
        "status": status,
        "events": events,
    }
    return otlp_span(document, scope)


def _cells(batch: pa.RecordBatch, columns: SpanColumns, field: str) -> Iterable[Any]:
    path = columns.paths.get(field)
    return repeat(None) if path is None else cells(batch, path)


def _ends(batch: pa.RecordBatch, columns: SpanColumns, starts: list[int | None]) -> list[int | None]:
    if "end" in columns.paths:
        return times(batch, columns, "end")
    if "duration" not in columns.paths:
        return [None] * len(starts)
    lasted = times(batch, columns, "duration")
    return [
        None if start is None or length is None else start + length
        for start, length in zip(starts, lasted, strict=True)
    ]


def _attributes_in(cell: Any, limits: Limits) -> dict[str, Any]:
    """Attributes of a cell: pairs, an object, a list of objects with `key` and `value`, or any of these as JSON."""
    if cell.__class__ is dict:
        return _opened({key: _without_nulls(value) for key, value in cell.items() if value is not None})
    if isinstance(cell, (str, bytes)):
        try:
            return _decoded_attributes(decode_json(cell, limits)) if cell else {}
        except InputError as problem:
            return {UNREADABLE: f"the attributes of a span could not be read: {problem}"}
    return _decoded_attributes(cell)


def _decoded_attributes(held: Any) -> dict[str, Any]:
    if isinstance(held, Mapping):
        return _opened({key: value for key, value in held.items() if value is not None})
    found: dict[str, Any] = {}
    for pair in held if isinstance(held, list) else ():
        key, value = (pair.get("key"), pair.get("value")) if isinstance(pair, Mapping) else pair
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


def _without_nulls(value: Any) -> Any:
    """A value without what is null inside: structs have every field that any row has."""
    if value.__class__ is dict:
        return {key: _without_nulls(held) for key, held in value.items() if held is not None}
    if value.__class__ is list:
        return [_without_nulls(held) for held in value]
    return value


def _events(batch: pa.RecordBatch, columns: SpanColumns) -> Iterable[Any]:
    if "event_names" not in columns.paths:
        return _cells(batch, columns, "events")
    parts = [_cells(batch, columns, field) for field in ("event_names", "event_times", "event_attributes")]
    return [_side_by_side(*lists) for lists in zip(range(batch.num_rows), *parts, strict=False)]


def _side_by_side(row: int, names: Any, moments: Any, attributes: Any) -> list[dict[str, Any]]:
    """The events of a row whose names, times and attributes are a list each."""
    return [
        {"name": name, "time": moment, "attributes": held}
        for name, moment, held in zip(
            names or (),
            moments or repeat(None),
            attributes or repeat(None),
            strict=False,
        )
    ]


def _event_documents(held: Any, limits: Limits) -> list[dict[str, Any]]:
    held = decode_json(held, limits) if isinstance(held, (str, bytes)) else held
    return [_event_document(event, limits) for event in held if isinstance(event, Mapping)] if held else []


def _event_document(event: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in event.items():
        field = _EVENT.get(key.lower().replace("_", ""))
        if field is not None and value is not None:
            document[field] = value
    document["attributes"] = _attributes_in(document.get("attributes"), limits)
    document["timeUnixNano"] = nanoseconds(document.get("timeUnixNano"))
    return document


def _readable(read: Callable[[Any, Limits], Any], cell: Any, attributes: dict[str, Any], limits: Limits) -> Any:
    try:
        return read(cell, limits)
    except InputError as problem:
        attributes[UNREADABLE] = f"a cell of a span could not be read: {problem}"
        return None


def _name_in(scope: Any, attributes: dict[str, Any], limits: Limits) -> str:
    if isinstance(scope, str) and scope[:1] != "{":
        return scope
    held = _readable(decode_json, scope, attributes, limits) if isinstance(scope, str) else scope
    name = held.get("name") if isinstance(held, Mapping) else None
    return name if isinstance(name, str) else ""


def _spans_of_trace(cell: Any, limits: Limits) -> list[Span]:
    """The spans of a trace as MLflow has it in a cell: the trace or its spans, as an object or as JSON."""
    document = decode_json(cell, limits) if isinstance(cell, (str, bytes)) else _without_nulls(cell)
    if isinstance(document, list):
        document = {"data": {"spans": document}}
    if not is_mlflow_trace(document):
        raise InputError(f"{shown(document)} is no trace of MLflow")
    return list(mlflow_spans(document))
