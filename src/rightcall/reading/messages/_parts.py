"""Read one part of a message, or one step of smolagents, as requested calls and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.reading.spans import NOTHING, PLACEHOLDERS, CallRecord, UnparsableError, arguments, is_scrubbed, outcome

from ._part_formats import PARTS, Part

_MOST_SHAPES = 4096  # the cache is cleared when it is full: hostile logs may have any number of shapes
_CALLS = frozenset({"tool_call", "tool_use", "function_call"})
"""Types of blocks of calls."""
_PARTIAL = Part(
    "a call without a name or arguments",
    "call",
    marks=(),
    name=("name", "function.name", "tool_call.name", "tool_call.function.name"),
    id=("id", "call_id", "tool_call.id", "tool_call.call_id"),
    value=("arguments", "function.arguments", "tool_call.arguments", "tool_call.function.arguments"),
)
# Only types that a row asks for are part of a shape, so that a log with any number of types has few shapes.
_TYPES = frozenset([wanted for part in PARTS for key, wanted in part.marks if key == "type"])

_Marks = tuple[tuple[str, Any], ...]
_Shape = tuple[Any, ...]
"""The type of an object, if a row asks for it, and the keys."""

_rows: dict[_Shape, tuple[tuple[Part, _Marks], ...]] = {}


def part_of(document: Mapping[str, Any]) -> Part | None:
    """Return the first row that fits a part of a message."""
    kind = document.get("type")
    shape = (kind if kind.__class__ is str and kind in _TYPES else None, *document)
    rows = _rows.get(shape)
    for part, marks in _learn(shape) if rows is None else rows:
        if not marks or all([_fits(_inside(document, key), wanted) for key, wanted in marks]):
            return part
    return None


def read_part(document: Mapping[str, Any], part: Part) -> CallRecord | None:
    """Read a part as a record of a requested call or of a result; None if it has no usable name."""
    name = _first(document, part.name)
    if part.kind == "call" and part is not _PARTIAL and not (isinstance(name, str) and name):
        return None
    record = CallRecord(name.strip("'\"") if isinstance(name, str) else "")
    call_id = _first(document, part.id)
    record.call_id = call_id if isinstance(call_id, str) and call_id and call_id not in PLACEHOLDERS else None
    record.of_user = document.get("requestor") == "user"
    record.withheld = _refusal(document, part)
    # MLflow makes up arguments for calls without a name.
    held = _first(document, part.value) if part.value and (name is not NOTHING or part.kind == "result") else NOTHING
    if part.kind == "call":
        _take_args(record, held)
        if part.output:
            _take_output(record, document, part, _first(document, part.output))
    else:
        _take_output(record, document, part, held)
    return record


def partial_part(key: str, item: Any) -> Part | None:
    """Return the format of a call with an id but without name or arguments, which other messages may have."""
    held = _inside(item, "tool_call") if isinstance(item, Mapping) else NOTHING
    held = item if held is NOTHING else held
    if not isinstance(held, Mapping) or not (key == "tool_calls" or str(held.get("type")) in _CALLS):
        return None
    call_id = _first(held, ("id", "call_id"))
    return _PARTIAL if isinstance(call_id, str) and call_id and call_id not in PLACEHOLDERS else None


def _refusal(document: Mapping[str, Any], part: Part) -> str:
    """Return why a call was not carried out, if the part says that it was not; otherwise an empty text."""
    for key, wanted, default in part.refusal:
        if _failed(_inside(document, key), wanted):
            reason = _first(document, part.message)
            return reason if isinstance(reason, str) and reason else default
    return ""


def _learn(shape: _Shape) -> tuple[tuple[Part, _Marks], ...]:
    """Find the rows that objects of a shape may fit, each with the marks that the shape does not decide.

    Messages repeat few shapes, so a part is compared with two or three rows instead of all sixty.
    """
    if len(_rows) >= _MOST_SHAPES:
        _rows.clear()
    kind, *keys = shape
    found = _rows[shape] = tuple([(part, _unsettled(part)) for part in PARTS if _may_fit(part, kind, keys)])
    return found


def _may_fit(part: Part, kind: Any, keys: list[Any]) -> bool:
    return all([key.split(".")[0] in keys and (key != "type" or wanted == kind) for key, wanted in part.marks])


def _unsettled(part: Part) -> _Marks:
    return tuple([(key, wanted) for key, wanted in part.marks if key != "type" and (wanted is not None or "." in key)])


def _take_args(record: CallRecord, held: Any) -> None:
    if held is NOTHING or held is None:
        return
    try:
        # A model that calls a tool without arguments may write an empty text.
        value = {} if held == "" else arguments(held)
    except UnparsableError:
        record.unparsable = True
        return
    if isinstance(value, dict) and not is_scrubbed(held):
        record.args = value


def _take_output(record: CallRecord, document: Mapping[str, Any], part: Part, held: Any) -> None:
    record.failed = any(_failed(_inside(document, key), wanted) for key, wanted in part.failure)
    if held is not NOTHING:
        value = outcome(held)
        for unwrap in part.unwrap:
            value = unwrap(value, record, {})
        if value is not NOTHING and not is_scrubbed(held):
            record.output = value
    if record.failed and not record.error:
        message = _first(document, part.message)
        record.error = message if isinstance(message, str) else _as_text(record.output)


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _first(document: Mapping[str, Any], paths: tuple[str, ...]) -> Any:
    for path in paths:
        held = _inside(document, path)
        if held is not NOTHING and held is not None:
            return held
    return NOTHING


def _inside(document: Any, path: str) -> Any:
    if "." not in path:
        return document.get(path, NOTHING)
    for step in path.split("."):
        if not isinstance(document, dict):
            return NOTHING
        document = document.get(step, NOTHING)
    return document


def _fits(held: Any, wanted: Any) -> bool:
    if wanted is None:
        return held is not NOTHING
    if isinstance(wanted, type):
        return isinstance(held, wanted)
    return bool(wanted(held)) if callable(wanted) else bool(held == wanted)


def _failed(held: Any, wanted: Any) -> bool:
    return bool(held) and held is not NOTHING if wanted is None else bool(held == wanted)


_OBSERVATION = "Observation:\n"


def is_step(message: Mapping[str, Any]) -> bool:
    """Whether an object is a step of smolagents."""
    return "step_number" in message and ("observations" in message or "model_output_message" in message)


def read_step(step: Mapping[str, Any]) -> tuple[list[CallRecord], list[CallRecord]]:
    """Return the calls of a step, and its result if it has one call: several calls share one text of observations."""
    calls = _calls(step.get("tool_calls"))
    output = step.get("model_output_message")
    if not calls and isinstance(output, dict):
        # A step that raised has lost its calls, but not the message that asked for them.
        calls = _calls(output.get("tool_calls"))
    if not calls:
        return [], []
    return calls, _results(step, calls)


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
    else:
        result.output = NOTHING
    return [result]
