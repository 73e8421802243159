"""Recognise the columns of a table of spans by the names that exporters give them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

# ClickHouse exporter of the collector (`TraceId`, `Duration`), Phoenix (`context.trace_id`), MLflow, Databricks.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "trace_id": ("trace_id", "context.trace_id", "span_trace_id", "otel_trace_id"),
    "span_id": ("span_id", "context.span_id", "otel_span_id"),
    "parent_id": ("parent_span_id", "parent_id", "span_parent_span_id", "otel_parent_span_id"),
    "name": ("span_name", "name", "operation_name", "otel_name"),
    "start": ("start_time", "start_timestamp", "start", "span_start_time", "started_at", "timestamp", "time"),
    "end": ("end_time", "end_timestamp", "end", "span_end_time", "ended_at"),
    "duration": ("duration", "duration_time", "span_duration"),
    "attributes": ("span_attributes", "attributes", "attributes_json", "span_attributes_json", "otel_attributes"),
    "scope": ("scope_name", "instrumentation_scope_name", "instrumentation_library_name", "otel_scope_name", "scope"),
    "status": ("status_code", "span_status_code", "otel_status_code", "status_status_code", "status"),
    "message": ("status_message", "status_description", "status_status_message", "otel_status_description"),
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

_TIMES = {"unixnano": 1, "nanos": 1, "nano": 1, "ns": 1, "micros": 10**3, "us": 10**3}
_TIMES |= {"millis": 10**6, "ms": 10**6, "seconds": 10**9, "s": 10**9}
_TIMED = ("start", "end", "duration")
_ATTRIBUTE_COLUMNS = lazy_pattern(r"(?:span_?)?attributes\.(?=.)", re.IGNORECASE)
_NO_WORDS = lazy_pattern(r"[^a-z0-9]+")
_OPENED = frozenset({"context", "status", "scope", "instrumentationscope", "events"})

LOOKED_FOR_COLUMNS = (
    "looked for columns of spans (trace_id, span_id, name, start_time; TraceId, context.trace_id and so on) and of "
    "MLflow's traces (trace or spans)"
)
"""The columns of a table of spans, for the message about another table."""

_IDS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary", "dictionary", "int", "uint", "null")
_RIGHT_IDS = "they should be text (hexadecimal digits or base64) or bytes"

# Parquet specification, VariantEncoding: a group of two binary fields, which readers without VARIANT see as a struct.
_VARIANT = frozenset({"metadata", "value"})

Path = tuple[str, ...]


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


def span_columns(schema: pa.Schema) -> SpanColumns | None:
    """Return which columns hold the fields of a span; None if this is not a table of spans.

    A row is a span if there are columns for trace id, span id, name and start. It is a whole trace if there is a column
    of traces or of their spans, as in MLflow's tables. A table with a column `calls` holds trajectories.
    """
    names = list(schema.names)
    if "calls" in names:
        return None
    paths: dict[str, Path] = {}
    units: dict[str, int | None] = {}
    held = dict(_spelled(schema))
    for field, spellings in SPELLINGS.items():
        for spelling in spellings:
            found = _found(held, _folded(spelling), field in _TIMED)
            if found is not None:
                paths[field], units[field] = found
                break
    attributes = {name: name[prefix.end() :] for name in names if (prefix := _ATTRIBUTE_COLUMNS.match(name))}
    if {"trace_id", "span_id", "name", "start"} <= paths.keys():
        others = {"trace", "spans", "row_id"} if attributes else {"trace", "spans", "row_id", "kind"}
        return SpanColumns({field: path for field, path in paths.items() if field not in others}, units, attributes)
    for field in ("trace", "spans"):
        if field in paths and _may_hold(schema, paths[field]):
            return SpanColumns({held: paths[held] for held in (field, "row_id") if held in paths}, {}, {})
    return None


def known_columns(schema: pa.Schema, name: str) -> SpanColumns:
    """Return which columns hold the fields of a span.

    Raises:
        InputError: this is not a table of spans, or a column has a type that cannot be read.
    """
    columns = span_columns(schema)
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
        folded = _folded(field.name)
        found.setdefault(folded, (field.name,))
        if folded in _OPENED and str(field.type).startswith("struct"):
            for inner in field.type:
                found.setdefault(folded + _folded(inner.name), (field.name, inner.name))
    yield from found.items()


def _found(held: dict[str, Path], name: str, is_time: bool) -> tuple[Path, int | None] | None:
    if is_time:
        for suffix, unit in _TIMES.items():
            if name + suffix in held:
                return held[name + suffix], unit
    return (held[name], None) if name in held else None


def _folded(name: str) -> str:
    return _NO_WORDS.sub("", name.lower())


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
