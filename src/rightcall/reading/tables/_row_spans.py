"""Read rows of tables as spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.formats import is_mlflow_trace, mlflow_spans, otlp_span
from rightcall.reading.spans import Event, Span, nanoseconds
from rightcall.values.decoding import decode_json

from ._cells import UNREADABLE, Attributes, attributes_in, cells, marked, table_attributes, times, without_nulls
from ._span_columns import SpanColumns

if TYPE_CHECKING:
    import pyarrow as pa

_NO_EVENTS = (None, "", "[]", "null")
_EVENT = {"name": "name", "eventname": "name", "attributes": "attributes"}
_EVENT |= dict.fromkeys(("timeunixnano", "timestamp", "time", "timens"), "time")


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
    return [_span(limits, *row) for row in rows]


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
    return [(name if isinstance(name, str) else "", _scope_name(scope, [], limits)) for name, scope in pairs]


def _span(
    limits: Limits,
    trace_id: Any,
    span_id: Any,
    parent_id: Any,
    name: Any,
    start: int | None,
    end: int | None,
    attributes: Attributes,
    status: Any,
    message: Any,
    scope: Any,
    events: Any,
) -> Span:
    """Build one span, by way of the tolerant OTLP reader, which knows every spelling of ids and statuses."""
    troubles: list[str] = []
    if isinstance(status, str) and status[:1] == "{":
        status = _read(decode_json, status, troubles, limits)
    document = {
        "name": name,
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": parent_id,
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "status": status if isinstance(status, Mapping) else {"code": status, "message": message},
    }
    span = otlp_span(document, _scope_name(scope, troubles, limits))
    found = _read(_events_in, events, troubles, limits) if events and events not in _NO_EVENTS else None
    held = marked(attributes, troubles[0]) if troubles else attributes
    return msgspec.structs.replace(span, attributes=held, events=found or ())


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
    return [_side_by_side(*lists) for lists in zip(*parts, strict=False)]


def _side_by_side(names: Any, moments: Any, attributes: Any) -> list[dict[str, Any]]:
    """Return the events of a row whose names, times and attributes are three lists (ClickHouse exporter)."""
    held = zip(names or (), moments or repeat(None), attributes or repeat(None), strict=False)
    return [{"name": name, "time": moment, "attributes": pairs} for name, moment, pairs in held]


def _events_in(held: Any, limits: Limits) -> list[Event]:
    held = decode_json(held, limits) if isinstance(held, (str, bytes)) else held
    return [_event(event, limits) for event in held if isinstance(event, Mapping)] if isinstance(held, list) else []


def _event(event: Mapping[str, Any], limits: Limits) -> Event:
    found = {_EVENT.get(key.lower().replace("_", "")): value for key, value in event.items() if value is not None}
    name, attributes = found.get("name"), attributes_in(found.get("attributes"), limits)
    time = nanoseconds(found.get("time"))
    return Event(name if isinstance(name, str) else "", attributes, time)  # type: ignore[arg-type]


def _scope_name(scope: Any, troubles: list[str], limits: Limits) -> str:
    """Return the name of an instrumentation: the cell itself, or `name` of an object in it."""
    if isinstance(scope, str) and scope[:1] != "{":
        return scope
    held = _read(decode_json, scope, troubles, limits) if isinstance(scope, str) else scope
    name = held.get("name") if isinstance(held, Mapping) else None
    return name if isinstance(name, str) else ""


def _read(read: Callable[[Any, Limits], Any], cell: Any, troubles: list[str], limits: Limits) -> Any:
    try:
        return read(cell, limits)
    except InputError as problem:
        troubles.append(f"a cell of a span could not be read: {problem}")
        return None


def _spans_of_trace(cell: Any, limits: Limits) -> list[Span]:
    """Return the spans of a trace in a cell of MLflow: the trace or its spans, as an object or as JSON."""
    document = decode_json(cell, limits) if isinstance(cell, (str, bytes)) else without_nulls(cell)
    if isinstance(document, list):
        document = {"data": {"spans": document}}
    if not is_mlflow_trace(document):
        raise InputError(f"{shown(document)} is not a trace of MLflow")
    return list(mlflow_spans(document))
