"""Where spans and log records carry messages of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from rightcall.decoding import decode_json
from rightcall.errors import InputError

from ._attributes import unnested
from ._message_log import messages_of
from ._roles import Role
from ._span import LogRecord, Span

Side = Literal["input", "output"]

_WHOLE: dict[str, Side] = {
    "gen_ai.input.messages": "input",
    "gen_ai.output.messages": "output",
    "pydantic_ai.all_messages": "input",
    "all_messages_events": "input",
    "events": "input",
    "ai.prompt.messages": "input",
    "ai.response.toolCalls": "output",
    "ai.result.toolCalls": "output",
    "gcp.vertex.agent.llm_request": "input",
    "gcp.vertex.agent.llm_response": "output",
    "haystack.agent.step.llm.input": "input",
    "haystack.agent.step.llm.output": "output",
    "llm.input_messages": "input",
    "llm.output_messages": "output",
}
"""Attributes that hold messages, whatever the span is."""

_OF_MODELS: dict[str, Side] = {
    "mlflow.spanInputs": "input",
    "mlflow.spanOutputs": "output",
    "langfuse.observation.input": "input",
    "langfuse.observation.output": "output",
    "gen_ai.prompt": "input",
    "gen_ai.completion": "output",
    "openai_agents.input": "input",
    "openai_agents.output": "output",
}
"""Attributes that hold messages on spans of a model, and other things elsewhere."""

_NUMBERED: dict[str, Side] = {
    "llm.input_messages.": "input",
    "llm.output_messages.": "output",
    "gen_ai.prompt.": "input",
    "gen_ai.completion.": "output",
}
"""Beginnings of attributes that hold messages leaf by leaf: `llm.input_messages.0.message.role`."""

_EVENTS: dict[str, Side] = {
    "gen_ai.system.message": "input",
    "gen_ai.user.message": "input",
    "gen_ai.assistant.message": "input",
    "gen_ai.tool.message": "input",
    "gen_ai.choice": "output",
}
_DETAILS = "gen_ai.client.inference.operation.details"
_BEGINNINGS = ("llm.input_m", "llm.output_", "gen_ai.promp", "gen_ai.compl")


class Conversation(msgspec.Struct):
    """The messages one span or its log records carry: those the model was given, then those it gave."""

    input: list[Any] = []
    output: list[Any] = []
    span: Span | None = None
    span_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    of_model: bool = False

    def __bool__(self) -> bool:
        return bool(self.input or self.output)


def carried(span: Span, role: Role | None) -> Conversation:
    """The messages a span carries in its attributes and events; an empty conversation if none."""
    found = Conversation([], [], span, span.span_id, span.start_ns, span.end_ns, role == "model")
    _from_attributes(found, span.attributes, role)
    for event in span.events:
        _from_event(found, event.name, event.attributes, event.attributes)
    return found


def carried_by_logs(records: Iterable[LogRecord]) -> list[Conversation]:
    """The messages of log records, those of one span together."""
    by_span: dict[tuple[str, str | None], Conversation] = {}
    for record in sorted(records, key=lambda record: record.time_ns or 0):
        key = (record.trace_id, record.span_id)
        found = by_span.get(key)
        if found is None:
            start = record.time_ns
            found = by_span[key] = Conversation([], [], None, record.span_id, start, start, True)
        found.end_ns = record.time_ns or found.end_ns
        body = record.body if isinstance(record.body, Mapping) else {}
        _from_event(found, record.name, body, record.attributes)
    return [found for found in by_span.values() if found]


def _from_attributes(found: Conversation, attributes: Mapping[str, Any], role: Role | None) -> None:
    numbered: dict[str, list[str]] = {}
    for key in list(attributes):
        side = _WHOLE.get(key) or (_OF_MODELS.get(key) if role == "model" else None)
        if side is not None:
            _add(found, side, _decoded(attributes.get(key)))
        elif key.startswith(_BEGINNINGS):
            for beginning in _NUMBERED:
                if key.startswith(beginning):
                    numbered.setdefault(beginning, []).append(key)
    for beginning, keys in numbered.items():
        leaves = ((key[len(beginning) :], attributes.get(key)) for key in keys)
        _add(found, _NUMBERED[beginning], unnested(leaves))


def _from_event(found: Conversation, name: str, body: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
    if name == _DETAILS:
        _add(found, "input", _decoded(attributes.get("gen_ai.input.messages")))
        _add(found, "output", _decoded(attributes.get("gen_ai.output.messages")))
        return
    side = _EVENTS.get(name)
    if side is not None:
        message = dict(body)
        if name == "gen_ai.tool.message":
            message.setdefault("role", "tool")
        _add(found, side, [message])


def _add(found: Conversation, side: Side, messages: Any) -> None:
    if not isinstance(messages, (list, Mapping)):
        return
    place = found.input if side == "input" else found.output
    for message in messages_of(messages):
        if not isinstance(message, Mapping):
            continue
        if any(isinstance(key, str) and "." in key for key in message):
            message = _undotted(message)
        # Pydantic AI keeps the answer in the same list of events as the prompt.
        answers = message.get("event.name", message.get("event", {})) == "gen_ai.choice"
        (found.output if answers else place).append(message)


def _undotted(value: Any) -> Any:
    # Phoenix's dataframe: [{"message.role": …, "message.tool_calls": [{"tool_call.id": …}]}].
    if isinstance(value, list):
        return [_undotted(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "event.name" in value:
        return value
    return unnested((str(key), _undotted(item)) for key, item in value.items())


def _decoded(held: Any) -> Any:
    if not isinstance(held, str):
        return held
    try:
        return decode_json(held)
    except InputError:
        return None
