"""The names that exporters give to the columns of a table of spans; rows of JSON and CSV have the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# ClickHouse exporter of the collector (`TraceId`, `Duration`), Phoenix (`context.trace_id`), MLflow, Databricks,
# Honeycomb (`trace.trace_id`).
SPELLINGS: dict[str, tuple[str, ...]] = {
    "trace_id": ("trace_id", "context.trace_id", "span_trace_id", "otel_trace_id", "trace.trace_id"),
    "span_id": ("span_id", "context.span_id", "otel_span_id", "trace.span_id"),
    "parent_id": ("parent_span_id", "parent_id", "span_parent_span_id", "otel_parent_span_id", "trace.parent_id"),
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

OPENED = frozenset({"context", "status", "scope", "instrumentationscope", "events"})
"""Columns whose fields are columns as well, by their letters."""

Path = tuple[str, ...]
_FLAT_NAMES = frozenset({"input.value", "input.mime_type", "output.value", "output.mime_type", "error.type"})

_TIMES = {"unixnano": 1, "nanos": 1, "nano": 1, "ns": 1, "micros": 10**3, "us": 10**3}
_TIMES |= {"millis": 10**6, "ms": 10**6, "seconds": 10**9, "s": 10**9}
_TIMED = ("start", "end", "duration")
_ATTRIBUTE_COLUMNS = re.compile(r"(?:span_?)?attributes\.(?=.)", re.IGNORECASE)
_FLAT_ATTRIBUTES = re.compile(r"(?:gen_ai|openinference|traceloop|llm|tool|ai|mcp|session|metadata|rightcall)\.(?=.)")
"""Attributes that have columns of their own names (Honeycomb)."""
_NO_WORDS = re.compile(r"[^a-z0-9]+")


def folded(name: str) -> str:
    """Return a name of a column without case and separators."""
    return _NO_WORDS.sub("", name.lower())


def fields_of(held: Mapping[str, Path]) -> tuple[dict[str, Path], dict[str, int | None]]:
    """Return the column of each field of a span, and the unit of times in nanoseconds; None if no name says it.

    `held` has the columns by their folded names.
    """
    paths: dict[str, Path] = {}
    units: dict[str, int | None] = {}
    for field, spellings in SPELLINGS.items():
        for spelling in spellings:
            found = _found(held, folded(spelling), field in _TIMED)
            if found is not None:
                paths[field], units[field] = found
                break
    return paths, units


def attribute_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the columns that hold one attribute each (`attributes.tool.name`, `gen_ai.tool.name`), and its name."""
    names = list(names)
    found = {name: name[prefix.end() :] for name in names if (prefix := _ATTRIBUTE_COLUMNS.match(name))}
    return found or {name: name for name in names if _FLAT_ATTRIBUTES.match(name) or name in _FLAT_NAMES}


def _found(held: Mapping[str, Path], name: str, is_time: bool) -> tuple[Path, int | None] | None:
    if is_time:
        for suffix, unit in _TIMES.items():
            if name + suffix in held:
                return held[name + suffix], unit
    return (held[name], None) if name in held else None
