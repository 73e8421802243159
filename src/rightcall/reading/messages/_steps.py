"""Steps of smolagents' memory, which are no messages: calls, observations and an error in one object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.reading.spans import NOTHING, Record, outcome

from ._parts import part_of, read_part
from ._signs import unknown_block

_OBSERVATION = "Observation:\n"


def is_step(message: Mapping[str, Any]) -> bool:
    """Whether an object is a step of smolagents."""
    return "step_number" in message and ("observations" in message or "model_output_message" in message)


def read_step(step: Mapping[str, Any]) -> tuple[list[Record], list[Record]]:
    """The calls of a step, and its result where there was one call: what several calls observed is one text."""
    calls = _calls(step.get("tool_calls"))
    output = step.get("model_output_message")
    if not calls and isinstance(output, dict):
        # A step that raised has lost its calls, but not the message that asked for them.
        calls = _calls(output.get("tool_calls"))
    if not calls:
        return [], []
    return calls, _results(step, calls)


def unknown_step(step: Mapping[str, Any]) -> str:
    """Where a step without a call that we read asked for one: what it looks like; else an empty text."""
    output = step.get("model_output_message")
    asked = step.get("tool_calls") or (output.get("tool_calls") if isinstance(output, dict) else None)
    items = asked if isinstance(asked, list) else [asked]
    observed = "a step without a call, in which something was observed" if step.get("observations") else ""
    return next((sign for item in items if item and (sign := unknown_block("tool_calls", item))), observed)


def _calls(held: Any) -> list[Record]:
    calls = []
    for item in held if isinstance(held, list) else ():
        part = part_of(item) if isinstance(item, dict) else None
        record = read_part(item, part) if part and part.kind == "call" else None
        if record:
            calls.append(record)
    return calls


def _results(step: Mapping[str, Any], calls: list[Record]) -> list[Record]:
    error = step.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    if len(calls) > 1:
        # The text of an error names the tool that raised it.
        calls = [call for call in calls if error and f"'{call.name}'" in str(message)]
        if len(calls) != 1:
            return []
    result = Record(calls[0].name)
    result.call_id = calls[0].call_id
    if error:
        result.failed = True
        result.error = message if isinstance(message, str) else None
    elif isinstance(step.get("observations"), str):
        result.output = outcome(step["observations"].removeprefix(_OBSERVATION))
    elif step.get("action_output") is not None:
        result.output = step["action_output"]
    else:
        result.output = NOTHING
    return [result]
