"""A call from a span, by the convention the span follows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightcall.limits import Limits

from ._conventions import SPAN_NAMES, Convention, says
from ._record import Record
from ._span import Event, Span, events_of
from ._values import NOTHING, PLACEHOLDERS, Unparsable, arguments, is_scrubbed, outcome

_NO_MESSAGE = frozenset({"", "TOOL_ERROR", "tool_error", "ERROR", "error"})
_REDACTED = re.compile(r"details are redacted", re.I)


def record_of(span: Span, convention: Convention, limits: Limits) -> Record | None:
    """The call a span records; none where not even the tool's name is known."""
    attributes = span.attributes
    name = _first_text(attributes, convention.tool) or _name_in(span.name)
    if not name or name == "(merged tools)" or len(name) > limits.name_length:
        return None
    record = Record(name)
    record.span = span
    record.convention = convention.name
    record.layers = (span.scope or convention.name,)
    record.call_id = _first_text(attributes, convention.call_id)
    if convention.tool_id:
        record.tool_id = _first_text(attributes, convention.tool_id)
    record.agent = _first_text(attributes, ("gen_ai.agent.name", "agent.name"))
    events = list(events_of(span))
    _read_args(record, convention, attributes, events, limits)
    _read_output(record, convention, attributes, events, limits)
    _read_error(record, convention, attributes, events)
    return record


def _read_args(
    record: Record, convention: Convention, attributes: Mapping[str, Any], events: list[Event], limits: Limits
) -> None:
    for key in convention.args:
        held = attributes.get(key)
        if held is not None and held not in PLACEHOLDERS and not (key == "tool.parameters" and _is_schema(held)):
            _take_args(record, convention, held, limits)
            if record.args is not NOTHING:
                return
    held = _in_events(events, convention.args_event)
    if held is not None:
        _take_args(record, convention, held, limits)


def _take_args(record: Record, convention: Convention, held: Any, limits: Limits) -> None:
    try:
        value = arguments(held, limits)
    except Unparsable:
        record.unparsable = True
        value = held
    attributes = record.span.attributes if record.span else {}
    for unwrap in convention.unwrap_args:
        value = unwrap(value, record, attributes)
    if value.__class__ is str and value is not held:
        try:
            value = arguments(value, limits)
        except Unparsable:
            record.unparsable = True
    if value is NOTHING or is_scrubbed(value):
        return
    if value.__class__ is dict:
        record.args, record.unparsable = value, False
    elif record.bare is NOTHING:
        record.bare = value


def _read_output(
    record: Record, convention: Convention, attributes: Mapping[str, Any], events: list[Event], limits: Limits
) -> None:
    for key in convention.output:
        held = attributes.get(key)
        if held is not None and held not in PLACEHOLDERS:
            _take_output(record, convention, held, limits)
            if record.output is not NOTHING:
                return
    held = _in_events(events, convention.output_event)
    if held is not None:
        _take_output(record, convention, held, limits)


def _take_output(record: Record, convention: Convention, held: Any, limits: Limits) -> None:
    value = outcome(held, limits, convention.encoded)
    attributes = record.span.attributes if record.span else {}
    for unwrap in convention.unwrap_output:
        value = unwrap(value, record, attributes)
    if value is not NOTHING and not is_scrubbed(value):
        record.output = value


def _read_error(
    record: Record, convention: Convention, attributes: Mapping[str, Any], events: list[Event]
) -> None:
    span = record.span
    exceptions = [event.attributes for event in events if event.name == "exception"] if events else ()
    kind = attributes.get("error.type")
    flagged = any(says(attributes.get(key), value) for key, value in convention.failure)
    if span is None or not (span.failed or exceptions or kind or flagged or record.failed):
        return
    record.failed = True
    candidates = [exception.get("exception.message") for exception in reversed(exceptions)]
    candidates += [record.error, *(_message_in(attributes.get(key)) for key in convention.message), span.description]
    candidates += [record.output, kind, *(exception.get("exception.type") for exception in exceptions)]
    record.error = next((text for text in candidates if _is_message(text)), None)


def _message_in(held: Any) -> Any:
    # Logfire keeps {"message": …, "data": {"error": …}}.
    value = outcome(held)
    if not isinstance(value, dict):
        return held
    data = value.get("data")
    detail = data.get("error") if isinstance(data, dict) else None
    return detail or value.get("message")


def _is_message(text: Any) -> bool:
    return isinstance(text, str) and text not in _NO_MESSAGE and not _REDACTED.search(text)


def _in_events(events: list[Event], where: tuple[str, str] | None) -> Any:
    for event in events if where else ():
        if where and event.name == where[0]:
            return event.attributes.get(where[1])
    return None


def _is_schema(held: Any) -> bool:
    """Whether `tool.parameters` is the tool's definition rather than the call's arguments."""
    try:
        value = arguments(held)
    except Unparsable:
        return False
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("properties"), dict) and ("type" in value or "required" in value):
        return True
    return bool(value) and all(isinstance(item, dict) and "type" in item for item in value.values())


def _first_text(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        held = attributes.get(key)
        if isinstance(held, str) and held and held not in PLACEHOLDERS:
            return held.strip('"') if held[0] == '"' else held
    return None


def _name_in(span_name: str) -> str:
    for prefix in SPAN_NAMES:
        if span_name.startswith(prefix):
            return span_name[len(prefix) :]
    return span_name.removesuffix(".tool")
