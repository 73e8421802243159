"""Spans as rows of a table, in JSON or CSV: names of columns, and cells in all forms that databases print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.conventions import lazy_attributes
from rightcall.reading.spans import (
    TOLD,
    UNREADABLE,
    Event,
    RawAttributes,
    Span,
    nanoseconds,
    plain_value,
    restored,
    undecoded,
)
from rightcall.values.decoding import decode_json, decode_text

from ._otlp import otlp_span

_MOST_COLUMNS = 2_000  # a hostile object may have millions of keys, and each would be folded and cached
_LONGEST_TOLD = 1_000
_KIND = "openinference.span.kind"
_NEEDED = frozenset({"trace_id", "span_id"})
_LOGGED = frozenset({"body", "severity_text", "severityText", "severity_number", "severityNumber", "Body"})
"""Keys of log records, which have the ids of a span as well."""
# ClickHouse exporter of the collector (`TraceId`, `Duration`), Phoenix (`context.trace_id`), MLflow, Databricks,
# Honeycomb (`trace.trace_id`), Jaeger (`tags`), Datadog (`meta`).
SPELLINGS: dict[str, tuple[str, ...]] = {
    "trace_id": ("trace_id", "context.trace_id", "span_trace_id", "otel_trace_id", "trace.trace_id"),
    "span_id": ("span_id", "context.span_id", "otel_span_id", "trace.span_id"),
    "parent_id": ("parent_span_id", "parent_id", "span_parent_span_id", "otel_parent_span_id", "trace.parent_id"),
    "name": ("span_name", "name", "operation_name", "otel_name"),
    "start": ("start_time", "start_timestamp", "start", "span_start_time", "started_at", "timestamp", "time"),
    "end": ("end_time", "end_timestamp", "end", "span_end_time", "ended_at"),
    "duration": ("duration", "duration_time", "span_duration"),
    "attributes": (
        "span_attributes",
        "attributes",
        "attributes_json",
        "span_attributes_json",
        "otel_attributes",
        "attributes_string",
        "string_tag_map",
        "tags",
        "meta",
    ),
    "scope": ("scope_name", "instrumentation_scope_name", "instrumentation_library_name", "otel_scope_name", "scope"),
    "status": ("status_code", "span_status_code", "otel_status_code", "status_status_code", "status"),
    "message": (
        "status_message",
        "status_description",
        "status_status_message",
        "otel_status_message",
        "otel_status_description",
    ),
    "events": ("events", "span_events", "events_json"),
    "event_names": ("events.name",),
    "event_times": ("events.timestamp",),
    "event_attributes": ("events.attributes",),
    "kind": ("span_kind",),
    "trace": ("trace",),
    "spans": ("spans",),
    "row_id": ("trace_id", "request_id"),
}
"""The fields of a span and the columns that may hold each, best first. Case and separators make no difference:
`trace_id` is also `TraceId`, `traceId` and `trace.id`, and `status_code` the field `code` of a struct `status`. A time
may have its unit as a suffix: `start_time_unix_nano`, `duration_ms`."""
OPENED = frozenset({"context", "status", "scope", "instrumentationscope", "events"})
"""Folded names of columns with structs, whose fields count as columns, too."""
Path = tuple[str, ...]
_FLAT_NAMES = frozenset({"input.value", "input.mime_type", "output.value", "output.mime_type", "error.type"})
_TIMES = {
    "unixnano": 1,
    "nanos": 1,
    "nano": 1,
    "ns": 1,
    "micros": 10**3,
    "us": 10**3,
    "millis": 10**6,
    "ms": 10**6,
    "seconds": 10**9,
    "s": 10**9,
}
"""Nanoseconds in the units that the name of a column may end with."""
_DEEPEST = 20
_BLANK = frozenset({"", "{}", "[]", "null"})
_NO_EVENTS = (None, "", "[]", "null")
_EVENT = {"name": "name", "eventname": "name", "attributes": "attributes", "body": "body"}
_EVENT |= dict.fromkeys(("timeunixnano", "timestamp", "time", "timens"), "time")
# The size of a number since 1970 shows its unit: below the first bound it is seconds until the year 5138, below the
# second milliseconds until then, and so on.
_SIZES = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))

Attributes = dict[str, Any] | RawAttributes


class _Columns(msgspec.Struct, frozen=True):
    """Which keys of a row hold the fields of a span."""

    paths: dict[str, Path]
    units: dict[str, int | None]
    attributes: dict[str, str]


def is_row(document: Any) -> bool:
    """Whether a document is a span in the columns of a table.

    It has the ids of its trace and of itself, and two of name, start and attributes.
    """
    columns = _columns_of(document) if isinstance(document, Mapping) else None
    if columns is None:
        return False
    # If both ids are lists or objects, the document is a table written column by column.
    return not all([isinstance(_cell(document, columns.paths[field]), (list, dict)) for field in _NEEDED])


def has_rows(document: Any) -> bool:
    """Whether a document is a row, or has rows below a key: an event of Honeycomb, a trace of Google Cloud Trace."""
    return is_row(document) or (isinstance(document, Mapping) and any([is_row(row) for row in _rows_below(document)]))


def row_spans(document: Mapping[str, Any]) -> list[Span]:
    """Return the span of a row, or of each row below a key."""
    return [row_span(row) for row in ([document] if is_row(document) else _rows_below(document))]


def _rows_below(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    data, spans = document.get("data"), document.get("spans")
    if isinstance(data, Mapping) and "time" in document:
        return [{"timestamp": document["time"], **data}]  # Honeycomb
    if isinstance(spans, list) and isinstance(document.get("traceId"), str) and "projectId" in document:
        # Cloud Trace, version 1 of its API: spans have no trace id, and `labels` instead of attributes.
        trace = {"trace_id": document["traceId"]}
        return [_labelled({**trace, **span}) for span in spans if isinstance(span, Mapping)]
    if {"Id", "TraceId", "ParentId", "Attributes"} <= document.keys():  # UiPath, whose spans have no `SpanId`
        return [{**document, "SpanId": document["Id"]}]
    if isinstance(document.get("trace.id"), str) and isinstance(document.get("id"), str):
        return [{**{key: value for key, value in document.items() if key != "id"}, "span_id": document["id"]}]
    if isinstance(data, Mapping) and {"trace_id", "span_id", "op"} <= document.keys():
        return [{**document, "name": document.get("description") or document["op"], "attributes": data}]
    if isinstance(document.get("displayName"), Mapping) and "spanId" in document:
        return _of_cloud_trace(document)
    held = document.get("Segments")
    if isinstance(held, list):  # X-Ray's `BatchGetTraces` has each segment as JSON in text
        opened = [_as_object(each.get("Document")) for each in held if isinstance(each, Mapping)]
        return [row for each in opened for row in _segments(each)]
    return _segments(document) if "start_time" in document and "trace_id" in document else []


def _as_object(text: Any) -> Mapping[str, Any]:
    try:
        value = decode_json(text) if isinstance(text, str) else None
    except InputError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_cloud_trace(span: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a span of Cloud Trace, version 2 of its API: texts are objects, and its name has the id of the trace."""
    names = _RESOURCE.match(span["name"]) if isinstance(span.get("name"), str) else None
    held = span.get("attributes")
    attributes = held.get("attributeMap") if isinstance(held, Mapping) else None
    if names is None:
        return []
    told = attributes if isinstance(attributes, Mapping) else {}
    row = {**span, "trace_id": names[1], "name": _bare(span["displayName"])}
    return [{**row, "attributes": {key: _bare(value) for key, value in told.items()}}]


_RESOURCE = re.compile(r"projects/[^/]{1,100}/traces/([0-9a-f]{32})/spans/")


def _bare(value: Any) -> Any:
    """Return the value in an attribute of Cloud Trace, `{"stringValue": {"value": …}}`, or in its inner object."""
    for _ in range(2):
        if isinstance(value, Mapping) and value:
            value = value.get("value", next(iter(value.values())))
    return value


def _segments(segment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of a segment of X-Ray and of the subsegments in it, which do not repeat the trace's id."""
    if not isinstance(segment.get("trace_id"), str) or _XRAY.match(segment["trace_id"]) is None:
        return []
    rows: list[Mapping[str, Any]] = []
    waiting: list[tuple[Mapping[str, Any], Any]] = [(segment, segment.get("parent_id"))]
    while waiting and len(rows) < _MOST_SEGMENTS:
        held, parent = waiting.pop()
        metadata = held.get("metadata")
        spaces = list(metadata.values()) if isinstance(metadata, Mapping) else []
        told = [each for each in (held.get("annotations"), *spaces) if isinstance(each, Mapping)]
        attributes = {key: value for each in told for key, value in each.items()}
        ids = {"trace_id": segment["trace_id"], "span_id": held.get("id"), "parent_id": parent}
        about = {key: held.get(key) for key in ("name", "start_time", "end_time")}
        failed = "error" if True in (held.get("fault"), held.get("error")) else ""
        rows.append({**ids, **about, "status": failed, "attributes": attributes})
        inner = held.get("subsegments")
        below = [each for each in inner if isinstance(each, Mapping)] if isinstance(inner, list) else []
        waiting += [(each, held.get("id")) for each in reversed(below)]
    return rows


_XRAY = re.compile(r"1-[0-9a-f]{8}-[0-9a-f]{24}\Z")
_MOST_SEGMENTS = 100_000


def _labelled(span: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**{key: value for key, value in span.items() if key != "labels"}, "attributes": span.get("labels")}


def is_header(names: list[str]) -> bool:
    """Whether these are the names of the columns of a table of spans."""
    return len(names) <= _MOST_COLUMNS and _columns(tuple([(name, ()) for name in names])) is not None


def row_span(row: Mapping[str, Any]) -> Span:
    """Return the span of one row. A cell that cannot be read is named in the attribute `rightcall.unreadable`."""
    columns = _columns_of(row) or _Columns({}, {}, {})
    held = {field: _cell(row, path) for field, path in columns.paths.items()}
    start = moment(held.get("start"), columns.units.get("start"))
    events = held.get("events")
    if "event_names" in held:
        events = side_by_side(held["event_names"], held.get("event_times"), held.get("event_attributes"))
    return span_of_cells(
        DEFAULT_LIMITS,
        held.get("trace_id"),
        held.get("span_id"),
        held.get("parent_id"),
        held.get("name"),
        start,
        _end(held, columns, start),
        _attributes(row, held, columns),
        held.get("status"),
        held.get("message"),
        held.get("scope"),
        events,
    )


def _columns_of(row: Mapping[str, Any]) -> _Columns | None:
    if len(row) > _MOST_COLUMNS or not _LOGGED.isdisjoint(row):
        return None
    names = []
    for key, value in row.items():
        inner = tuple(value)[:_MOST_COLUMNS] if value.__class__ is dict and folded(key) in OPENED else ()
        names.append((key, inner))
    return _columns(tuple(names))


@lru_cache(maxsize=256)
def _columns(names: tuple[tuple[str, Path], ...]) -> _Columns | None:
    held: dict[str, Path] = {}
    for name, inner in names:
        held.setdefault(folded(name), (name,))
        for each in inner:
            held.setdefault(folded(name) + folded(each), (name, each))
    paths, units = fields_of(held)
    attributes = attribute_columns([name for name, _ in names])
    told = [
        field for field in ("name", "start", "attributes") if field in paths or (field == "attributes" and attributes)
    ]
    if not paths.keys() >= _NEEDED or len(told) < 2:
        return None
    return _Columns(paths, units, attributes)


def _is_told(key: str, value: Any) -> bool:
    return isinstance(value, (str, int, float)) and value != "" and key not in TOLD and len(str(value)) <= _LONGEST_TOLD


def _cell(row: Mapping[str, Any], path: Path) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return None if value == "" else value


def _end(value: Mapping[str, Any], columns: _Columns, start: int | None) -> int | None:
    if value.get("end") is not None:
        return moment(value["end"], columns.units["end"])
    length = moment(value.get("duration"), columns.units.get("duration"), is_duration=True)
    return None if start is None or length is None else start + length


def _attributes(row: Mapping[str, Any], value: Mapping[str, Any], columns: _Columns) -> Attributes:
    """Return the attributes of a row: in their cell, in columns of their own, and other columns as metadata."""
    found = attributes_or_trouble(value.get("attributes"), DEFAULT_LIMITS)
    told = {key: row[key] for key in TOLD if row.get(key) not in (None, "") and key not in found}
    used = {path[0] for path in columns.paths.values()} | columns.attributes.keys()
    # Other columns are kept as metadata, because users may refer to them: `--join key=ticket`.
    told |= {f"metadata.{key}": value for key, value in row.items() if key not in used and _is_told(key, value)}
    if told:
        found = {**{key: found.get(key) for key in found}, **told}
    if not columns.attributes:
        return found
    named = {key: without_nulls(row[name]) for name, key in columns.attributes.items() if row[name] not in (None, "")}
    attributes = {**{key: found.get(key) for key in found}, **named}
    if isinstance(value.get("kind"), str):
        # In tables with a column for each attribute (Phoenix), `span_kind` is OpenInference's.
        attributes.setdefault(_KIND, value["kind"])
    return opened(restored(attributes))


_TIMED = ("start", "end", "duration")
_ATTRIBUTE_COLUMNS = re.compile(r"(?:span_?)?attributes\.(?=.)", re.IGNORECASE)
_FLAT_ATTRIBUTES = re.compile(r"(?:gen_ai|openinference|traceloop|llm|tool|ai|mcp|session|metadata|rightcall)\.(?=.)")
"""Attributes that are columns under their own names (Honeycomb)."""
_NO_WORDS = re.compile(r"[^a-z0-9]+")


def folded(name: str) -> str:
    """Return a name of a column without case and separators."""
    return _NO_WORDS.sub("", name.lower())


def fields_of(value: Mapping[str, Path]) -> tuple[dict[str, Path], dict[str, int | None]]:
    """Return the column of each field of a span, and the unit of its times in nanoseconds; None if no suffix has it.

    `value` has the columns by their folded names.
    """
    paths: dict[str, Path] = {}
    units: dict[str, int | None] = {}
    for field, spellings in SPELLINGS.items():
        for spelling in spellings:
            found = _found(value, folded(spelling), field in _TIMED)
            if found is not None:
                paths[field], units[field] = found
                break
    return paths, units


def attribute_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the columns that hold one attribute each (`attributes.tool.name`, `gen_ai.tool.name`), and its name."""
    names = list(names)
    found = {name: name[prefix.end() :] for name in names if (prefix := _ATTRIBUTE_COLUMNS.match(name))}
    return found or {name: name for name in names if _FLAT_ATTRIBUTES.match(name) or name in _FLAT_NAMES}


def _found(value: Mapping[str, Path], name: str, is_time: bool) -> tuple[Path, int | None] | None:
    if is_time:
        for suffix, unit in _TIMES.items():
            if name + suffix in value:
                return value[name + suffix], unit
    return (value[name], None) if name in value else None


def attributes_in(cell: Any, limits: Limits) -> Attributes:
    """Return the attributes in a cell: an object, pairs, objects with `key` and `value`, or any of these as text.

    Raises:
        InputError: the text is neither such JSON nor such a Python literal, which is how ClickHouse prints a map.
    """
    if cell.__class__ is dict:
        return opened({key: without_nulls(value) for key, value in cell.items() if value is not None})
    if not isinstance(cell, (str, bytes)):
        return _in_pairs(cell)
    if cell in _BLANK:
        return {}
    lazy = _lazily(cell, limits) if isinstance(cell, str) else None
    if lazy is not None:
        return lazy
    held = decode_json(cell, limits) if isinstance(cell, bytes) else decode_text(cell, limits)
    if not isinstance(held, Mapping):
        return _in_pairs(held)
    return opened({key: value for key, value in held.items() if value is not None})


def attributes_or_trouble(cell: Any, limits: Limits) -> Attributes:
    """Return the attributes in a cell; if it cannot be read, only the attribute `UNREADABLE`, with the reason."""
    try:
        return attributes_in(cell, limits)
    except InputError as problem:
        return {UNREADABLE: f"the attributes of a span could not be read: {problem}"}


def marked(attributes: Attributes, trouble: str) -> dict[str, Any]:
    """Return attributes with `UNREADABLE` added: a note on what could not be read."""
    return {**{key: attributes.get(key) for key in attributes}, UNREADABLE: trouble}


def without_nulls(value: Any) -> Any:
    """Return a value without nulls inside: a struct column gives every row the fields of all rows."""
    if value.__class__ is dict:
        return {key: without_nulls(held) for key, held in value.items() if held is not None}
    if value.__class__ is list:
        return [without_nulls(held) for held in value]
    return value


def opened(attributes: dict[str, Any]) -> dict[str, Any]:
    """Add nested attributes under dotted names: `{"tool": {"name": …}}` is also `tool.name`."""
    nested = [(key, value) for key, value in attributes.items() if value.__class__ is dict and "." not in key]
    for key, value in nested:
        _open(key, value, attributes, 0)
    return attributes


def moment(value: Any, unit: int | None, is_duration: bool = False) -> int | None:
    """Return a time or duration in nanoseconds.

    Numbers are in the unit from the column's name. Without one, a duration is in nanoseconds, and the unit of a time
    follows from its size.
    """
    if unit is None and not is_duration:
        return nanoseconds(value, _unit_of(value))
    return nanoseconds(value, unit or 1)


def span_of_cells(
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
    """Build one span with the tolerant OTLP reader, which knows all spellings of ids and statuses."""
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


def side_by_side(names: Any, moments: Any, attributes: Any) -> list[dict[str, Any]]:
    """Return the events of a row whose names, times and attributes are three lists (ClickHouse exporter)."""
    lists = [held if isinstance(held, list) and held else None for held in (names, moments, attributes)]
    held = zip(lists[0] or (), lists[1] or repeat(None), lists[2] or repeat(None), strict=False)
    return [{"name": name, "time": moment, "attributes": pairs} for name, moment, pairs in held]


def scope_name(scope: Any, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the name of an instrumentation in a cell; empty if it has none, or cannot be read."""
    return _scope_name(scope, [], limits)


def _unit_of(value: Any) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 40:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 1
    return next((unit for bound, unit in _SIZES if abs(value) < bound), 1)


def _lazily(text: str, limits: Limits) -> RawAttributes | None:
    """Return attributes decoded on demand; None if some are nested, or the text is not an object."""
    held = undecoded(text) if len(text) <= limits.text_bytes else None
    if held is None or any(["." not in each.key and bytes(each.value)[15:16] == b"{" for each in held]):
        return None
    return lazy_attributes(held)  # type: ignore[no-any-return]


def _in_pairs(held: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in held if isinstance(held, list) else ():
        if isinstance(pair, Mapping):
            key, value = pair.get("key"), pair.get("value")
        else:
            key, value = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, None)
        value = plain_value(value) if isinstance(value, Mapping) else value
        if isinstance(key, str) and value is not None:
            found[key] = value
    return found


def _open(path: str, held: dict[str, Any], attributes: dict[str, Any], depth: int) -> None:
    for key, value in held.items():
        attributes.setdefault(f"{path}.{key}", value)
        if value.__class__ is dict and depth < _DEEPEST:
            _open(f"{path}.{key}", value, attributes, depth + 1)


def _events_in(value: Any, limits: Limits) -> list[Event]:
    value = decode_json(value, limits) if isinstance(value, (str, bytes)) else value
    return [_event(event, limits) for event in value if isinstance(event, Mapping)] if isinstance(value, list) else []


def _event(event: Mapping[str, Any], limits: Limits) -> Event:
    found = {_EVENT.get(key.lower().replace("_", "")): value for key, value in event.items() if value is not None}
    name, attributes = found.get("name"), attributes_in(found.get("attributes"), limits)
    time = nanoseconds(found.get("time"))
    body = found.get("body")
    attributes = {**attributes, **body} if isinstance(body, Mapping) else attributes  # a log record beside its span
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
