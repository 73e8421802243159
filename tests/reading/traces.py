"""Spans and requests as OTLP/JSON writes them, for tests."""

from __future__ import annotations

import json
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"


def value(held: Any) -> dict[str, Any]:
    """An OTLP value."""
    if isinstance(held, bool):
        return {"boolValue": held}
    if isinstance(held, int):
        return {"intValue": str(held)}
    return {"stringValue": held} if isinstance(held, str) else held


def span(
    number: int,
    attributes: dict[str, Any] | None = None,
    *,
    parent: int | None = None,
    name: str = "a span",
    **more: Any,
) -> dict[str, Any]:
    """A span that starts at its number in microseconds and runs for half a one."""
    made = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(number * 1000),
        "endTimeUnixNano": str(number * 1000 + 500),
        "attributes": [{"key": key, "value": value(held)} for key, held in (attributes or {}).items()],
    }
    if parent is not None:
        made["parentSpanId"] = f"{parent:016x}"
    return {**made, **more}


def call(number: int, tool: str = "search", args: str = "{}", output: str = "ok", **more: Any) -> dict[str, Any]:
    """A span of a call, as UiPath's decorators write it."""
    return span(number, {"tool.name": tool, "input.value": args, "output.value": output}, **more)


def request(*spans: dict[str, Any], scope: str = "") -> dict[str, Any]:
    """A request of one scope."""
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}]}]}


def line(*spans: dict[str, Any], scope: str = "") -> bytes:
    """The same as one line of a file."""
    return json.dumps(request(*spans, scope=scope)).encode() + b"\n"
