"""Verdicts as log records `gen_ai.evaluation.result` over OTLP/HTTP, for every server that takes logs.

The event and its attributes are those of OpenTelemetry's conventions for generative AI (gen-ai-events, in development).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rightcall.version import __version__

from ._marks import Mark
from ._paging import batches
from ._web import Web

_EVENT = "gen_ai.evaluation.result"
_RECORDS = 500
_SEVERITY = 9
"""INFO, by the data model of logs."""
KEY_VARIABLES = ("OTEL_EXPORTER_OTLP_TOKEN",)


def headers(keys: Sequence[str]) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"authorization": f"Bearer {keys[0]}"}


class OtlpLogs:
    """A receiver of log records."""

    def __init__(self, web: Web, place: str) -> None:
        self._web = web

    def push(self, marks: Sequence[Mark]) -> None:
        """Send a record for each verdict, with its id as an attribute. Raises `TraceServerError`."""
        for some in batches(marks, _RECORDS):
            scope = {"name": "rightcall", "version": __version__}
            logs = {"scope": scope, "logRecords": [_record(mark) for mark in some]}
            resource = {"attributes": _attributes({"service.name": "rightcall"})}
            self._web.send("POST", "/v1/logs", {"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]})


def _record(mark: Mark) -> dict[str, Any]:
    values: dict[str, Any] = {
        "gen_ai.evaluation.name": mark.name,
        "gen_ai.evaluation.score.label": mark.label,
        "gen_ai.evaluation.explanation": mark.explanation,
        "rightcall.id": mark.id,
        **{f"rightcall.{name}": value for name, value in mark.metadata.items()},
    }
    if mark.score is not None:
        values["gen_ai.evaluation.score.value"] = float(mark.score)
    if mark.label == "error":
        values["error.type"] = "evaluation_error"
    record: dict[str, Any] = {
        "timeUnixNano": str(mark.time_ns or 0),
        "severityNumber": _SEVERITY,
        "eventName": _EVENT,
        "traceId": mark.trace_id,
        "attributes": _attributes(values),
    }
    return record | ({"spanId": mark.span_id} if mark.span_id is not None else {})


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}}
        for name, value in values.items()
    ]
