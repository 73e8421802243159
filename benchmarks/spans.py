"""Spans as UiPath's SDK records them, for the evaluations that start from spans."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from .tasks import Call


def spans_of(calls: Iterable[Call], span: Callable[..., Any]) -> list[Any]:
    """One span per call, made by the `ReadableSpan` of whichever OpenTelemetry the caller has."""
    return [
        span(
            name=call["name"],
            start_time=position,
            end_time=position + 1,
            attributes={
                "tool.name": call["name"],
                "input.value": json.dumps(call.get("args", {})),
                "output.value": json.dumps({"content": call.get("output")}),
            },
        )
        for position, call in enumerate(calls)
    ]
