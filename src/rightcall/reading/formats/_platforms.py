"""Spans in the exports of platforms that keep kind, input and output of a span beside it: a table of their keys.

Braintrust, Datadog, Application Insights and Opik. Where a platform has kinds of its own, a span becomes what
LangSmith's exporter would write of it, so that calls and messages are read by one convention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.reading.spans import Span, nanoseconds, object_in, restored, span_id

_SECOND = 10**9
_MILLISECOND = 10**6
_MODELS = frozenset({"llm"})
_NO_PARENT = frozenset({"undefined", "0", ""})  # Datadog writes `undefined`


class Platform(msgspec.Struct, frozen=True):
    """The keys of one platform; those of inner objects with dots, alternatives with bars."""

    name: str
    marks: tuple[str, ...]
    """Keys that every span has."""
    trace: str
    id: str
    parent: str
    title: str
    start: str
    kind: str = ""
    """Where `tool`, `llm` or another kind is; empty if the attributes say it."""
    unit: int = 1
    """What a number of a time counts, in nanoseconds."""
    end: str = ""
    length: str = ""
    input: str = ""
    output: str = ""
    error: str = ""
    status: str = ""
    """Where `error` says that the span failed, with a message or without one."""
    attributes: str = ""
    """Where attributes of OpenTelemetry are."""


PLATFORMS = (
    # Braintrust, "Fetch project logs": one event a span, parents as a list.
    Platform(
        "Braintrust",
        ("span_id", "root_span_id", "span_attributes"),
        "root_span_id",
        "span_id",
        "span_parents",
        "span_attributes.name",
        "metrics.start|created",
        "span_attributes.type",
        _SECOND,
        end="metrics.end",
        input="input",
        output="output",
        error="error",
    ),
    # Datadog, "Export API": spans in `data[].attributes`; its SDK sends the same with `meta`.
    Platform(
        "Datadog",
        ("attributes.span_id", "attributes.trace_id", "attributes.span_kind"),
        "attributes.trace_id",
        "attributes.span_id",
        "attributes.parent_id",
        "attributes.name",
        "attributes.start_ns",
        "attributes.span_kind",
        length="attributes.duration",
        input="attributes.input.messages|attributes.input.value",
        output="attributes.output.messages|attributes.output.value",
        error="attributes.error.message|attributes.error.type",
        status="attributes.status",
    ),
    Platform(
        "Datadog",
        ("span_id", "trace_id", "start_ns", "meta"),
        "trace_id",
        "span_id",
        "parent_id",
        "name",
        "start_ns",
        "meta.span.kind|meta.kind",
        length="duration",
        input="meta.input.messages|meta.input.value",
        output="meta.output.messages|meta.output.value",
        error="meta.error.message|meta.error.type",
        status="status",
    ),
    # Azure Monitor, tables `dependencies` and `AppDependencies`: attributes in a column of their own.
    Platform(
        "Application Insights",
        ("operation_Id", "customDimensions"),
        "operation_Id",
        "id",
        "operation_ParentId",
        "name",
        "timestamp|timestamp [UTC]",
        unit=_MILLISECOND,
        length="duration",
        attributes="customDimensions",
    ),
    Platform(
        "Application Insights",
        ("OperationId", "Properties", "ParentId"),
        "OperationId",
        "Id",
        "ParentId",
        "Name",
        "TimeGenerated|TimeGenerated [UTC]",
        unit=_MILLISECOND,
        length="DurationMs",
        attributes="Properties",
    ),
    # Opik, "Get spans by project": what is null is left out.
    Platform(
        "Opik",
        ("id", "trace_id", "type", "start_time", "parent_span_id|error_info|last_updated_at|project_name"),
        "trace_id",
        "id",
        "parent_span_id",
        "name",
        "start_time",
        "type",
        end="end_time",
        input="input",
        output="output",
        error="error_info.message|error_info.exception_type|error_info",
    ),
)


def is_platform_span(document: Any) -> bool:
    """Whether a document is a span of one of these platforms."""
    return isinstance(document, Mapping) and _platform(document) is not None


def platform_span(document: Mapping[str, Any]) -> Span:
    """Return the span of such a document."""
    platform = _platform(document) or PLATFORMS[0]
    name, start = _first(document, platform.title), _first(document, platform.start)
    began = nanoseconds(start, platform.unit)
    length = nanoseconds(_first(document, platform.length), platform.unit)
    error = _first(document, platform.error)
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(_first(document, platform.trace)) or "",
        span_id=span_id(_first(document, platform.id)),
        parent_id=_parent(_first(document, platform.parent)),
        start_ns=began,
        end_ns=nanoseconds(_first(document, platform.end), platform.unit)
        if platform.end
        else None
        if began is None or length is None
        else began + length,
        attributes=_attributes(document, platform, name),
        failed=bool(error)
        or _first(document, platform.status) == "error"
        or document.get("success") in (False, "False", "false"),
        description=error if isinstance(error, str) else "",
    )


def _platform(document: Mapping[str, Any]) -> Platform | None:
    for platform in PLATFORMS:
        if all([_first(document, mark) is not None for mark in platform.marks]):
            return platform
    return None


def _attributes(document: Mapping[str, Any], platform: Platform, name: Any) -> dict[str, Any]:
    if platform.attributes:
        return restored(dict(object_in(_first(document, platform.attributes))))
    kind = str(_first(document, platform.kind) or "").lower()
    found: dict[str, Any] = {"langsmith.span.kind": kind if kind in ("tool", "llm", "retriever") else "chain"}
    if kind == "tool" and isinstance(name, str):
        found["gen_ai.tool.name"] = name
    for where, attribute in ((platform.input, "gen_ai.prompt"), (platform.output, "gen_ai.completion")):
        held = _first(document, where)
        if held is not None:
            found[attribute] = {"messages": held} if kind in _MODELS and isinstance(held, list) else held
    metadata = object_in(_first(document, "metadata|attributes.metadata|meta.metadata"))
    return found | {f"metadata.{key}": held for key, held in metadata.items() if isinstance(held, (str, int, float))}


def _parent(held: Any) -> str | None:
    if isinstance(held, list):
        held = held[0] if held else None
    return None if isinstance(held, str) and held in _NO_PARENT else span_id(held)


def _first(document: Mapping[str, Any], paths: str) -> Any:
    for path in paths.split("|") if paths else ():
        held = _inside(document, path)
        if held is not None:
            return held
    return None


def _inside(document: Any, path: str) -> Any:
    """Return what is at a path; a key may itself have dots (`span.kind`)."""
    while isinstance(document, Mapping):
        if path in document:
            return document[path]
        key, _, path = path.partition(".")
        document = document.get(key) if path else None
    return None
