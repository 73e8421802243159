"""Steps of smolagents, read as requested calls and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.reading.spans import CallRecord, outcome

from ._parts import part_of, read_part
from ._unknown_calls import unknown_block

_OBSERVATION = "Observation:\n"
_INTERPRETER = "python_interpreter"
IN_CODE = "smolagents, code"
"""The format of a call that runs code of the model, in which tools are called that no step lists."""


_FIELDS = frozenset(
    ["step_number", "model_output_message", "code_action", "observations", "observations_images", "action_output"]
)
_FEWEST = 3
_WITHOUT_ANSWER = "AgentGenerationError"
"""The error of a step whose model gave no answer."""


def is_step(message: Mapping[str, Any]) -> bool:
    """Whether an object is a step of smolagents, also if it lost some of its fields."""
    if "step_number" in message and ("observations" in message or "model_output_message" in message):
        return True
    return "observations" in message and len(_FIELDS & message.keys()) >= _FEWEST


def read_step(step: Mapping[str, Any]) -> tuple[list[CallRecord], list[CallRecord]]:
    """Return the calls of a step, and its result if it has one call: several calls share one text of observations."""
    calls = _calls(step.get("tool_calls"))
    output = step.get("model_output_message")
    if not calls and isinstance(output, dict):
        # A step that raised has lost its calls, but not the message that asked for them.
        calls = _calls(output.get("tool_calls"))
    if isinstance(step.get("code_action"), str) or [call.name for call in calls] == [_INTERPRETER]:
        for call in calls:
            call.format = IN_CODE
    return calls, _results(step, calls) if calls and len(_asked(step)) <= len(calls) else []


def unknown_step(step: Mapping[str, Any], count: int) -> str:
    """Describe what a step asked for beside as many readable calls; otherwise return an empty text."""
    items, output = _asked(step), step.get("model_output_message")
    if count and len(items) <= count:
        return ""
    told = next((sign for item in items if (sign := unknown_block("tool_calls", item))), "")
    if told or count:
        return told or "a call of a step that cannot be read"
    if step.get("observations"):
        return "a step without a call, in which something was observed"
    # A step and the message in it always have a list of calls, or null. Of a step that raised, the message has them.
    error = step.get("error")
    is_answered = isinstance(output, dict) or (isinstance(error, dict) and error.get("type") == _WITHOUT_ANSWER)
    holders = [step, output] if isinstance(output, dict) and step.get("tool_calls") is None else [step]
    is_lost = not is_answered or not all(["tool_calls" in holder for holder in holders])
    is_done = bool(error) or step.get("action_output") is not None
    return "a step without its calls, in which something was done" if is_lost and is_done else ""


def _asked(step: Mapping[str, Any]) -> list[Any]:
    """Return the calls that a step lists, or the message that asked for them."""
    output = step.get("model_output_message")
    asked = step.get("tool_calls") or (output.get("tool_calls") if isinstance(output, dict) else None)
    return [item for item in (asked if isinstance(asked, list) else [asked]) if item]


def _calls(held: Any) -> list[CallRecord]:
    calls = []
    for item in held if isinstance(held, list) else ():
        part = part_of(item) if isinstance(item, dict) else None
        record = read_part(item, part) if part and part.kind == "call" else None
        if record:
            calls.append(record)
    return calls


def _results(step: Mapping[str, Any], calls: list[CallRecord]) -> list[CallRecord]:
    error = step.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    if len(calls) > 1:
        # The text of an error names the tool that raised it.
        calls = [call for call in calls if error and f"'{call.name}'" in str(message)]
        if len(calls) != 1:
            return []
    result = CallRecord(calls[0].name)
    result.call_id = calls[0].call_id
    if error:
        result.failed = True
        result.error = message if isinstance(message, str) else None
    elif isinstance(step.get("observations"), str):
        result.output = outcome(step["observations"].removeprefix(_OBSERVATION))
    elif step.get("action_output") is not None:
        result.output = step["action_output"]
    return [result]
