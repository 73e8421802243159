"""Read the call that a span records, by the convention that the span follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.limits import Limits
from rightcall.reading.conventions import (
    ASKED_FOR,
    DEFERRALS,
    MERGED,
    REFUSED,
    SPAN_NAMES,
    CallShape,
    Convention,
    Role,
    convention_by_attributes,
    has_lost_mark,
    has_value,
    interruption_in,
    is_chain,
    is_dspy,
    is_like_call,
    is_named_like_call,
    is_unmarked,
    kind_of,
    name_for_models,
    tools_of,
)
from rightcall.reading.messages import message_attributes
from rightcall.reading.spans import (
    NOTHING,
    SCRUBBED,
    UNREADABLE,
    CallRecord,
    Event,
    Span,
    UnparsableError,
    arguments,
    is_cut,
    is_incomplete,
    is_placeholder,
    is_scrubbed,
    outcome,
)

from ._input_output import KEYS
from ._span_tree import ReadSpan
from ._tokens import counts_in

PARAMETERS = "tool.parameters"
"""An attribute with the arguments of a call, or with the definition of its tool."""
NO_MESSAGE = "the tool failed; no message was recorded"
"""The error of a call that failed without a message."""
_NO_MESSAGE = frozenset({"", "TOOL_ERROR", "MCP_TOOL_ERROR", "tool_error", "ERROR", "error"})
_HANDOFF = lazy_pattern(r"handoff to (?P<agent>.+)", re.S)
"""OpenInference's name for the span of a hand-off in OpenAI Agents, which calls a tool named after the other agent."""

_QUOTED = lazy_pattern(r"(?:mcp_)?tool: '(?P<tool>.+?)'(?: on '.*')?", re.S)
"""Names of Mastra's spans of tools, and of tools on an MCP server."""
_NO_NAME = lazy_pattern(r"[^a-zA-Z0-9]")
_CALLED = ".__call__"
DEFERRAL = "pydantic_ai.tool.deferral.name"
"""The attribute that says why a call was not made."""
_EXCEPTIONS = "pydantic_ai.exceptions."
_REDACTED = lazy_pattern(r"details are redacted", re.I)


def read_span(span: Span, limits: Limits, keep: tuple[str, ...] = ()) -> ReadSpan:
    """Classify a span, read the call it records, and drop attributes and events that are no longer needed.

    This is done as soon as a span is decoded, to save memory. A span that has nothing to do with agents keeps only its
    name, ids, times and token counts. A span with an attribute to `keep` keeps all, and so does a root, which has the
    input of the run.
    """
    kind = kind_of(span)
    if kind.__class__ is CallShape:
        call = _record_of(span, kind, limits)
        if call is not None:
            call.span = None
    else:
        call = _asked_for(span) if kind == "model" else None if kind else _sign_of_call(span)
    is_done = kind.__class__ is CallShape or not (kind or (call is None and (span.events or _says_more(span))))
    attributes, events = span.attributes, span.events
    names = attributes.keys()
    count = len(names)
    # Spans of models repeat the whole conversation: without this, a run of n steps would hold n²/2 messages.
    if is_done and span.parent_id is not None and names.isdisjoint(keep):
        attributes, events = counts_in(attributes), ()
    return ReadSpan(
        span.name,
        span.trace_id,
        span.span_id,
        span.parent_id,
        span.start_ns,
        span.end_ns,
        attributes,
        span.failed,
        span.description,
        span.scope,
        events,
        kind,
        call,
        count,
        not kind and is_unmarked(span),
        not kind and is_chain(span.attributes),
    )


def take_moved(span: ReadSpan, body: Mapping[str, Any], limits: Limits) -> None:
    """Give a call what AWS's OpenTelemetry distribution moved from its span to a log record: arguments and output."""
    call, kind = span.call, span.kind
    if call is None or not isinstance(kind, CallShape):
        return
    convention, moved = kind.convention, {side: _only_text(body.get(side)) for side in ("input", "output")}
    given = zip((*convention.args[:1], *convention.output[:1]), (moved["input"], moved["output"]), strict=True)
    attributes = {key: call.name if value is None else value for key, value in convention.marks}
    attributes |= {**dict.fromkeys(convention.tool[:1], call.name), **{key: text for key, text in given if text}}
    read = read_span(Span(span.name, attributes=attributes, scope=span.scope), limits).call
    if read is None:
        return
    call.args = read.args if call.args is NOTHING else call.args
    if call.output is NOTHING and not call.failed:
        call.output, call.failed, call.error = read.output, read.failed, read.error


def _only_text(side: Any) -> str:
    """Return the text of the only message on a side of a log record; empty if there is none, or several are."""
    messages = side.get("messages") if isinstance(side, Mapping) else None
    message = messages[0] if isinstance(messages, list) and len(messages) == 1 else None
    text = message.get("content") if isinstance(message, Mapping) else None
    return text if isinstance(text, str) else ""


_ASKED = ("gen_ai.tool.name",)
"""Attribute of OpenLIT with the tools that a model requested, separated by commas, if content is not captured."""


def _sign_of_call(span: Span) -> CallRecord | None:
    """Return a record marked as not understood if a span without a kind may be a call; otherwise None."""
    if UNREADABLE in span.attributes:
        # An unreadable attribute may have been the one that marks a call.
        return CallRecord("", unread=f"the span {span.name[:80]!r}: {span.attributes.get(UNREADABLE)}")
    if is_incomplete(span.attributes) and not message_attributes(span.attributes) and _may_be_of_agent(span):
        return CallRecord("", unread=_described(span, "which lost attributes that may have said that it is a call"))
    tool = _tool_of(span)
    if tool is not None:
        return CallRecord(tool, unread=_described(span, "which may be a call"))
    if not is_named_like_call(span):
        return None
    name = _name_in(span.name)
    sign = f"the span {span.name[:80]!r}, which is named like a call and has no attributes"
    return CallRecord("" if name == span.name else name, unread=sign)


_OF_OTHERS = ("http.", "url.", "db.", "messaging.", "aws.", "faas.", "peer.service")
"""Prefixes of attributes of libraries that have nothing to do with agents (OpenTelemetry, semantic conventions)."""


def with_torn(spans: Sequence[ReadSpan], roles: Mapping[int, Role]) -> Mapping[int, Role]:
    """Return the roles of spans by `id()`, and with them those of spans that lost the attribute with their kind.

    Such a span may be a model's: then it may be of a turn of its own, and used tokens that it does not tell.
    """
    torn = [span for span in spans if not span.kind and is_incomplete(span.attributes) and _may_be_of_agent(span)]
    return {**roles, **dict.fromkeys(map(id, torn), "model")} if torn else roles


def _may_be_of_agent(span: Span) -> bool:
    is_known = convention_by_attributes(span.attributes) is not None
    return not (is_known or any([key.startswith(_OF_OTHERS) for key in span.attributes]))


def _asked_for(span: Span) -> CallRecord | None:
    """Return a record marked as not understood for the tools that a model's span names; None if it names none."""
    asked = first_text(span.attributes, _ASKED)
    return CallRecord(asked, unread=_described(span, f"whose model asked for {asked[:80]}")) if asked else None


def _says_more(span: Span) -> bool:
    """Whether a span has messages, or an input or output."""
    return bool(message_attributes(span.attributes)) or not KEYS.isdisjoint(span.attributes.keys())


def _record_of(span: Span, shape: CallShape, limits: Limits) -> CallRecord | None:
    """Return the call that a span records; marked as not understood if the tool has no name. None if it is not one."""
    attributes, convention = span.attributes, shape.convention
    name = name_for_models(first_text(attributes, shape.tool) or _name_of(span, shape), attributes)
    # ADK traces the merged responses of parallel calls as one more call.
    if name == MERGED:
        return None
    if not name or len(name) > limits.name_length:
        return (
            None
            if _is_empty(span, shape)
            else CallRecord("", span, unread=_described(span, "whose tool has no name in text"))
        )
    record = CallRecord(name, span, convention.name, (span.scope or shape.dialect,))
    take_ids(record, shape, attributes)
    is_whole = not is_incomplete(attributes)  # what was dropped may say how the values are wrapped
    record.has_lost = not is_whole
    if is_whole and not _HANDOFF.match(span.name):  # its input and output are the names of the two agents
        _read_content(record, shape, attributes, limits)
    events = tuple(span.events) if span.events else ()
    if events and is_whole:
        _read_events(record, convention, attributes, events, limits)
    if span.failed or events or record.failed or shape.may_fail:
        read_error(record, convention, span, events)
    if DEFERRAL in attributes or record.failed or record.output is NOTHING:
        record.withheld = _deferral(span, events)
    return record if not convention.decision else _decided(record, span, attributes.get(convention.decision))


def _decided(record: CallRecord, span: Span, decision: Any) -> CallRecord | None:
    """Return the call that a person refused; None if it was allowed, since its tool then has a span of its own."""
    if decision in ("confirm", "modify"):
        return None
    if decision != "reject":
        return CallRecord("", span, unread=_described(span, "which does not say what was decided"))
    record.withheld = REFUSED
    return record


def _deferral(span: Span, events: Iterable[Event]) -> str:
    """Return why a call was deferred instead of made (Pydantic AI, LangGraph), or an empty text."""
    named = span.attributes.get(DEFERRAL)
    raised = [event.attributes.get("exception.type") for event in events if event.name == "exception"]
    for name in [f"{_EXCEPTIONS}{named}", *raised]:
        if isinstance(name, str) and name in DEFERRALS:
            return DEFERRALS[name]
    if interruption_in(span):
        return ASKED_FOR
    return f"deferred: {named[:200]}" if isinstance(named, str) and named else ""


def _is_empty(span: Span, shape: CallShape) -> bool:
    return any([span.attributes.get(key) in (None, "") for key in shape.wanted])


def _name_of(span: Span, shape: CallShape) -> str:
    """Return the tool's name in a span's name. A name without a prefix counts only if no attribute should have it."""
    if _is_empty(span, shape):
        return ""
    if is_dspy(span):
        return span.name.removesuffix(_CALLED) if span.name.endswith(_CALLED) else ""
    name = _name_in(span.name)
    return "" if name == span.name and shape.convention.tool else name


def _tool_of(span: Span) -> str | None:
    """Return the tool named by a span of no convention; empty if it only looks like a call, None if it does not."""
    named = [span.attributes.get(key) for key in tools_of(span)]
    tool = next((str(value) for value in named if value not in (None, "")), "")
    is_call = tool or is_like_call(span) or has_lost_mark(span)
    return tool if is_call and convention_by_attributes(span.attributes) is None else None


def _described(span: Span, what: str) -> str:
    keys = [str(key)[:40] for key in list(span.attributes)[:12]]
    return f"the span {span.name[:80]!r}, {what}, with the attributes {', '.join(keys)}"


def _read_content(record: CallRecord, shape: CallShape, attributes: Mapping[str, Any], limits: Limits) -> None:
    for key in shape.args:
        take_args(record, shape.convention, attributes, key, attributes.get(key), limits)
        if record.args is not NOTHING:
            break
    for key in shape.output:
        take_output(record, shape.convention, attributes, attributes.get(key), limits)
        if record.output is not NOTHING:
            break


def _read_events(
    record: CallRecord, convention: Convention, attributes: Mapping[str, Any], events: Iterable[Event], limits: Limits
) -> None:
    if convention.args_event and record.args is NOTHING:
        event, key = convention.args_event
        take_args(record, convention, attributes, key, _in_events(events, event, key), limits)
    if convention.output_event and record.output is NOTHING:
        take_output(record, convention, attributes, _in_events(events, *convention.output_event), limits)


def take_ids(record: CallRecord, shape: CallShape, attributes: Mapping[str, Any]) -> None:
    """Read the ids of a call and of its tool, and its agent, into a record."""
    if shape.call_id:
        record.call_id = first_text(attributes, shape.call_id)
    if shape.tool_id:
        record.tool_id = first_text(attributes, shape.tool_id)
    if shape.agent:
        record.agent = first_text(attributes, shape.agent)


def take_args(
    record: CallRecord, convention: Convention, attributes: Mapping[str, Any], key: str, held: Any, limits: Limits
) -> None:
    """Read arguments into a record, unless the value is missing, a placeholder, scrubbed, or a schema."""
    if is_worthless(held) or (key == PARAMETERS and _is_schema(held)):
        return
    try:
        value = convention.unwrap_args(arguments(held, limits), record, attributes)
        if value.__class__ is str:
            value = arguments(value, limits)
    except UnparsableError:
        record.unparsable = True
        record.cut_at = len(held) if is_cut(held) else 0
        value = held if held.__class__ is str else NOTHING
    if value.__class__ is dict:
        if value.keys() == _TEXT and is_cut(value["input"]):
            record.unparsable, record.cut_at = True, len(value["input"])
        else:
            record.args, record.unparsable = value, False
    elif record.bare is NOTHING and not (record.unparsable and _is_cut_off(held)):
        record.bare = value


_TEXT = frozenset({"input"})
"""The only argument that OpenInference makes of arguments of Strands which it cannot parse, as an SDK cut them off."""


def _is_cut_off(value: Any) -> bool:
    """Whether a text that cannot be parsed begins like an object or list: it is not the value of a single argument."""
    return value.__class__ is str and value.lstrip()[:1] in ("{", "[")


def take_output(
    record: CallRecord, convention: Convention, attributes: Mapping[str, Any], held: Any, limits: Limits
) -> None:
    """Read an output into a record, unless the value is missing, a placeholder, or scrubbed."""
    if is_worthless(held):
        return
    value = outcome(held, limits, convention.encoded, convention.keeps_quotes)
    record.output = convention.unwrap_output(value, record, attributes)


_OBJECT = ("<", "[<")
_OBJECTS = lazy_pattern(r"\[?(?:<[\w.]{1,200} object at 0x[0-9a-f]+>(?:, )?)+\]?")
"""The `repr` of Python objects, which Agent Framework writes in place of an empty output."""


def is_worthless(value: Any) -> bool:
    """Whether a recorded value is missing, scrubbed, or a placeholder."""
    if value.__class__ is str:
        is_object = value.startswith(_OBJECT) and _OBJECTS.fullmatch(value) is not None
        return is_object or SCRUBBED in value or is_placeholder(value)
    return value is None or is_scrubbed(value)


def read_error(record: CallRecord, convention: Convention, span: Span, events: Iterable[Event]) -> None:
    """Mark a record as failed, with a message, if its span or events say so."""
    attributes = span.attributes
    exceptions = [event.attributes or {} for event in events if event.name == "exception"]
    # OpenTelemetry, "Recording errors": `error.type` is set on errors only, and an exception may be an event as well.
    kind = attributes.get("error.type")
    flagged = any([has_value(attributes.get(key), value) for key, value in convention.failure])
    if not (span.failed or exceptions or kind or flagged or record.failed):
        return
    record.failed = True
    candidates = [exception.get("exception.message") for exception in reversed(exceptions)]
    candidates += [record.error, *(_message_in(attributes.get(key)) for key in convention.message), span.description]
    candidates += [record.output, kind, *(exception.get("exception.type") for exception in exceptions)]
    told = (text for text in candidates if isinstance(text, str) and text not in _NO_MESSAGE)
    record.error = next((text for text in told if not _REDACTED.search(text)), None)


def _message_in(held: Any) -> Any:
    # Logfire keeps {"message": …, "data": {"error": …}}.
    value = outcome(held)
    if not isinstance(value, dict):
        return held
    data = value.get("data")
    detail = data.get("error") if isinstance(data, dict) else None
    return detail or value.get("message")


def _in_events(events: Iterable[Event], name: str, key: str) -> Any:
    for event in events:
        if event.name == name:
            return event.attributes.get(key)
    return None


def _is_schema(held: Any) -> bool:
    """Whether `tool.parameters` is the tool's definition instead of the call's arguments."""
    try:
        value = arguments(held)
    except UnparsableError:
        return False
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("properties"), dict) and ("type" in value or "required" in value):
        return True
    return bool(value) and all(isinstance(item, dict) and "type" in item for item in value.values())


def first_text(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """Return the first usable text among some attributes; None if there is none."""
    for key in keys:
        text = usable_text(attributes.get(key))
        if text is not None:
            return text
    return None


def usable_text(value: Any) -> str | None:
    """Return a text without the quotes around it; None for any other value, an empty text or a placeholder."""
    if value.__class__ is not str or not value or is_placeholder(value):
        return None
    text: str = value
    return text.strip('"') if text[0] == '"' else text


def _name_in(span_name: str) -> str:
    handed = _HANDOFF.match(span_name)
    if handed:
        return f"transfer_to_{_NO_NAME.sub('_', handed['agent']).lower()}"
    quoted = _QUOTED.fullmatch(span_name)
    if quoted:
        return quoted["tool"]
    for prefix in SPAN_NAMES:
        if span_name.startswith(prefix):
            return span_name[len(prefix) :]
    return span_name.removesuffix(".tool")
