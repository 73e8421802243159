"""Find the messages of models in spans and log records, and read each once, however often prompts repeat it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, Literal

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError
from rightcall.reading.conventions import Role, shape_of
from rightcall.reading.spans import NOTHING, CallRecord, LogRecord, RawAttributes, Span, by_number, event_body, unnested
from rightcall.values.decoding import decode_json

from ._acting_text import is_step
from ._message_exchange import Exchange, exchange_of, has_messages, messages_of, no_message, says_why, unread
from ._parts import may_be_part, part_of, unwrapped
from ._unknown_calls import hidden_in_event, sign_of

_WRAPPINGS = ("messages", "contents")
_pieces_in = msgspec.json.Decoder(list[msgspec.Raw]).decode
_FEWEST = 12  # decoded messages that are read again in less time than it takes to compare them
_SHORT = 4_000  # characters of a prompt that is split faster than it is compared with the one before
_BEGINNING = 100  # characters by which a prompt is recognised that another one continues
_members_in = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


_OUTPUTS = ("output.value", "langfuse.observation.output")
_OF_TASKS = ("expected_output", "raw", "messages")
"""Keys of the output of a CrewAI task."""
_QUOTED = tuple([f'"{key}"' for key in _OF_TASKS])
_PLAIN: dict[str, Side] = {"input.value": "input", "output.value": "output"}
"""Attributes that hold messages in a framework's format on model spans; used if no other attribute has calls."""

_UNTOLD = lazy_pattern(
    r'"type": ?"(?:mcp|web_search|file_search|code_interpreter|image_generation|computer|local_shell|shell|apply_patch'
    r'|tool_search)_call"'
)
"""An item of OpenAI's Responses API for a tool that is no function.

OpenInference leaves most of them out of its messages (tools of MCP servers, code, shells, images), and names others by
the type of the item.
"""
_RESPONSE = ('{"id":"resp_', '{"id": "resp_')
_AFTER_ITEMS = '"parallel_tool_calls"'
_CUT_OFF = "the answer of a model, which was cut off, and may have a call of a tool of OpenAI"

# Until OpenTelemetry semantic conventions 1.36 each message was an event; since 1.37 one event has them all.
_EVENTS: dict[str, Side] = {
    "gen_ai.system.message": "input",
    "gen_ai.user.message": "input",
    "gen_ai.assistant.message": "input",
    "gen_ai.tool.message": "input",
    "gen_ai.choice": "output",
}
_AS_IT_IS = "gen_ai.unknown"
"""Logfire's event for an item of OpenAI's Responses API that is no message and no function, with the item as data."""
_WRITERS = {"gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool"}
"""Roles of messages in events whose bodies have none."""

_RESULT = "gen_ai.tool.message"
_DETAILS = "gen_ai.client.inference.operation.details"
_COUNT = "gen_ai.request.choice.count"
_ENDS = "gen_ai.response.finish_reasons"
"""Why the model ended, once for each choice (OpenTelemetry GenAI, "Inference")."""
_PARAMETERS = "llm.invocation_parameters"
"""OpenInference: the parameters of the request, as JSON."""
_COUNTS = ("n", "candidate_count", "candidateCount")
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
"""Attributes that hold messages on spans of any kind."""

_OF_MODELS: dict[str, Side] = {
    "mlflow.spanInputs": "input",
    "mlflow.spanOutputs": "output",
    "langfuse.observation.input": "input",
    "langfuse.observation.output": "output",
    "langfuse.observation.tool_calls": "output",
    "gen_ai.prompt": "input",
    "gen_ai.completion": "output",
    "openai_agents.input": "input",
    "openai_agents.output": "output",
}
"""Attributes that hold messages on model spans, and other values on other spans."""

# OpenInference, spec/semantic_conventions.md: lists are flattened, because attributes cannot hold objects.
_OPENINFERENCE = "llm.input_messages."
_NUMBERED: dict[str, Side] = {
    _OPENINFERENCE: "input",
    "llm.output_messages.": "output",
    "gen_ai.prompt.": "input",
    "gen_ai.completion.": "output",
}
"""Prefixes of attributes that hold messages leaf by leaf: `llm.input_messages.0.message.role`."""


class Conversation(msgspec.Struct):
    """The messages of one span or of its log records: those the model was given, and those it returned."""

    input: list[Exchange] = []
    output: list[Exchange] = []
    span_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    of_model: bool = False
    is_choice: bool = False
    """Whether the model returned several choices, so that it is not known whose calls were made."""

    def __bool__(self) -> bool:
        return bool(self.input or self.output)

    def add(self, side: Side, exchanges: list[Exchange]) -> None:
        """Add messages of one side; answers of the model go to the output, whichever side they are on."""
        if side == "output":
            self.output += exchanges
            return
        self.input += [exchange for exchange in exchanges if not exchange.answers]
        self.output += [exchange for exchange in exchanges if exchange.answers]

    def part_choices(self, attributes: Mapping[str, Any]) -> None:
        """Take the calls out of an answer with several choices: not all of them were made."""
        if are_choices(self.output, attributes):
            self.output, self.is_choice = without_calls(self.output), True


class SpanMessages:
    """Reads the messages in the spans and log records of one run, each once.

    A prompt repeats the whole conversation so far, so n model calls hold the first message n times: reading each would
    be quadratic. Splitting a list into undecoded messages and looking them up costs a fraction of decoding them.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Exchange] = {}
        """Exchanges by the bytes of their messages."""
        self._lists: dict[str, tuple[str, list[bytes]]] = {}
        """By their first characters the lists split last, without the closing bracket, and their items."""
        self._last: tuple[list[Any], list[Exchange]] = [], []
        """The list of decoded messages that was read last, and its exchanges."""
        self._parted: dict[int, tuple[Exchange, Exchange]] = {}
        """By their `id()` messages with the outputs of several calls in one, and the same without an output."""

    def in_span(self, span: Span, role: Role | None) -> Conversation:
        """Return the messages in a span's attributes and events; an empty conversation if there are none."""
        found = Conversation([], [], span.span_id, span.start_ns, span.end_ns, role == "model")
        attributes: Any = span.attributes
        told: dict[Side, list[list[Exchange]]] = {}
        for holder in message_attributes(attributes):
            if not holder.only_models or role == "model":
                told.setdefault(holder.side, []).append(self._in_attributes(attributes, holder))
        if role == "model":
            self._add_plain(told, attributes)
        elif task := told_by_task(attributes, role):
            told.setdefault("input", []).append(self._said(task))
        is_of_openinference = any([holder.beginning == _OPENINFERENCE for holder in message_attributes(attributes)])
        for side, tellings in told.items():
            fullest: list[Exchange] = tellings[0] if len(tellings) == 1 else max(tellings, key=_weight)
            found.add(side, self._without_joined(fullest) if is_of_openinference and side == "input" else fullest)
        for event in span.events:
            self._add_event(found, event.name, event.attributes, event.attributes)
        if role == "model":
            found.part_choices(attributes)
        return found

    def _without_joined(self, exchanges: list[Exchange]) -> list[Exchange]:
        """Return the messages of a prompt, without the output of a result that may be those of several calls in one.

        OpenInference joins the results of an agent of Strands in one message, under the id of the last call.
        """
        return [
            self._without_output(exchange)
            if _may_be_joined(exchanges[:place][-1:], exchange, exchanges[place + 1 :][:1])
            else exchange
            for place, exchange in enumerate(exchanges)
        ]

    def _without_output(self, exchange: Exchange) -> Exchange:
        """Return a message without the output of its result: the same object each time, as prompts are compared."""
        if id(exchange) not in self._parted:
            bare = copy(exchange)
            bare.results = [CallRecord(result.name, call_id=result.call_id) for result in exchange.results]
            self._parted[id(exchange)] = exchange, bare
        return self._parted[id(exchange)][1]

    def in_logs(self, records: Iterable[LogRecord]) -> list[Conversation]:
        """Return a conversation for each use of a model in log records: those of one span, up to its next prompt."""
        found: list[Conversation] = []
        by_span: dict[tuple[str, str | None], Conversation] = {}
        for record in sorted(records, key=lambda record: record.time_ns or 0):
            time, body = record.time_ns, record.body if isinstance(record.body, Mapping) else {}
            said = Conversation([], [], record.span_id, time, time, True)
            self._add_event(said, record.name, body, record.attributes)
            before = by_span.get((record.trace_id, record.span_id))
            if before is None or (said.input and before.output and (time or 0) > (before.end_ns or 0)):
                by_span[record.trace_id, record.span_id] = said
                found.append(said)
                continue
            before.input += said.input
            before.output += said.output
            before.end_ns = time or before.end_ns
        for said in found:
            said.part_choices({})
        return [said for said in found if said]

    def _in_attributes(self, attributes: Any, holder: MessageAttributes) -> list[Exchange]:
        if not holder.beginning:
            said = self._said(attributes.get(holder.keys[0]))
            return _unless_others(said) if holder.only_models else said
        if holder.messages and attributes.__class__ is RawAttributes:
            return [self._from_leaves(names, keys, attributes) for names, keys in holder.messages]
        start = len(holder.beginning)
        return self._exchanges_in(unnested((key[start:], attributes.get(key)) for key in holder.keys))

    def _from_leaves(self, names: tuple[str, ...], keys: tuple[str, ...], attributes: RawAttributes) -> Exchange:
        """Return the exchange of a message spread over attributes, given the paths of its leaves and their keys."""
        known = self._known.get(place := (names, attributes.raw(keys)))
        if known is None:
            known = self._known[place] = _read(unnested(zip(names, map(attributes.get, keys), strict=True)))
        return known

    def _add_plain(self, told: dict[Side, list[list[Exchange]]], attributes: Any) -> None:
        # MLflow copies these to attributes that are read as messages. The calls have to be the same without MLflow.
        for key, side in _PLAIN.items():
            if key not in attributes:
                continue
            held = attributes.get(key)
            is_partly_told = held.__class__ is str and _UNTOLD.search(held) is not None
            # OpenInference 0.1.29 loses the calls of a prompt and keeps their results: this attribute may have them.
            may_tell_more = is_partly_told or _is_answer_cut(held)
            if not may_tell_more and any([exchange.calls for said in told.get(side, ()) for exchange in said]):
                continue
            said = self._said(held)
            if _tells_calls(said):
                told[side] = [said] if is_partly_told else [*told.get(side, ()), said]
            elif may_tell_more and side == "output":
                told[side] = [[*said, unread(_CUT_OFF)] for said in told.get(side, [[]])]

    def _said(self, value: Any) -> list[Exchange]:
        """Return the exchanges of messages given as values or as JSON text; none if the text is not JSON."""
        if not isinstance(value, str):
            return self._exchanges_in(value)
        pieces = self._messages_in(value)
        if pieces is not None:
            known = self._known
            return [known.get(piece) or self._from_piece(piece) for piece in pieces if piece.startswith(b"{")]
        try:
            return self._exchanges_in(decode_json(value))
        except InputError:
            return []

    def _exchanges_in(self, document: Any) -> list[Exchange]:
        """Return the exchanges of decoded messages; none if they are neither a list nor an object."""
        if not isinstance(document, (list, dict)):
            return []
        messages = messages_of(document)
        known, said = self._last
        shared = len(known) if messages[: len(known)] == known else 0
        found = [*said[:shared], *[_read(message) for message in messages[shared:] if isinstance(message, dict)]]
        if len(messages) >= _FEWEST:
            self._last = messages, found
        return found if len(found) > 1 else _unless_others(found)

    def _messages_in(self, text: str) -> list[bytes] | None:
        """Return the undecoded messages in a JSON text; None if the text has to be decoded to find them."""
        try:
            first = text[:1]
            if first == "{":
                return self._wrapped_messages(text)
            pieces = self._items_in(text) if first == "[" else None
            if pieces is not None and len(pieces) == 1 and pieces[0].startswith(b"["):
                pieces = [bytes(piece) for piece in _pieces_in(pieces[0])]
                return None if len(pieces) == 1 and pieces[0].startswith(b"[") else pieces
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
        return pieces

    def _items_in(self, text: str) -> list[bytes]:
        """Split a JSON list into its undecoded items; those of the list that it continues are known."""
        if len(text) < _SHORT:
            return [bytes(piece) for piece in _pieces_in(text)]
        beginning, known = self._lists.get(text[:_BEGINNING], ("", []))
        rest = text[len(beginning) :].lstrip() if known and text.startswith(beginning) else ""
        more = [bytes(piece) for piece in _pieces_in(f"[{rest[1:]}")] if rest.startswith(",") else []
        # Nothing more after a comma is a mistake, which has to be found in the text as it is.
        found = [*known, *more] if more else [bytes(piece) for piece in _pieces_in(text)]
        if text.endswith("]"):
            self._lists[text[:_BEGINNING]] = text[:-1], found
        return found

    def _wrapped_messages(self, text: str) -> list[bytes] | None:
        members = _members_in(text)
        key = next((key for key in _WRAPPINGS if key in members), None)
        if key is None:
            return None
        value = members.pop(key)
        if is_step(members):
            return None
        if may_be_part((*members, key)):
            wrapper = {name: msgspec.json.decode(member) for name, member in members.items()}
            if part_of({**wrapper, key: []}) is not None:
                return None
        pieces = self._messages_in(bytes(value).decode())
        return pieces if pieces and all([piece.startswith((b"{", b"[")) for piece in pieces]) else None

    def _from_piece(self, piece: bytes) -> Exchange:
        """Read a message and keep its exchange for prompts that repeat it."""
        found = self._known[piece] = _read(decode_json(piece))
        return found

    def _add_event(
        self, found: Conversation, name: str, body: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> None:
        """Add the messages of a span event or a log record, or a note if one of another name may contain a call."""
        if name == _DETAILS:
            found.add("input", self._said(attributes.get("gen_ai.input.messages")))
            found.add("output", self._said(attributes.get("gen_ai.output.messages")))
            return
        side = _EVENTS.get(name)
        if side is not None:
            message = event_body(name, body)
            if name in _WRITERS:
                message.setdefault("role", _WRITERS[name])
            if name == _RESULT and "content" not in message and "id" in message:
                message["tool_call_id"] = message["id"]  # without captured content, a result has only its id
            found.add(side, self._exchanges_in([message]))
            return
        told = _messages_of_record(body)
        for held_side, messages in told.items():
            found.add(held_side, self._exchanges_in(messages))
        if not told and (sign := hidden_in_event(body, attributes)):
            found.input.append(unread(sign))


def _is_answer_cut(held: Any) -> bool:
    """Whether an answer of the Responses API ends before the end of its items, which are in front of this key."""
    return held.__class__ is str and held.startswith(_RESPONSE) and _AFTER_ITEMS not in held


def _may_be_joined(before: Sequence[Exchange], exchange: Exchange, after: Sequence[Exchange]) -> bool:
    """Whether a message has the only result after a message with several calls, and the id of the last of them."""
    ids = [result.call_id for result in exchange.results]
    asked = [call.call_id for said in before for call in said.calls]
    return len(ids) == 1 and len(asked) > 1 and asked[-1] == ids[0] and not any([said.results for said in after])


def told_by_task(attributes: Mapping[str, Any], role: object) -> Any:
    """Return an agent's output if it is that of a CrewAI task, with all messages of its model; otherwise None.

    These messages show calls without a span: those answered from a cache, and those that CrewAI rejects.
    """
    outputs = [attributes.get(key) for key in _OUTPUTS] if role == "agent" else []
    # A text is not decoded, which would be slow: it is searched for the quoted keys.
    for held in outputs:
        wanted = _QUOTED if isinstance(held, str) else _OF_TASKS
        if isinstance(held, (str, dict)) and all([key in held for key in wanted]):
            return held
    return None


def _unless_others(exchanges: list[Exchange]) -> list[Exchange]:
    """Return the exchanges; if none is a message, only objects that look like a call stay "not understood".

    These attributes also hold values that are not messages, and those have no known format.
    """
    if not any([exchange.unread for exchange in exchanges]) or has_messages(
        [exchange.message for exchange in exchanges]
    ):
        return exchanges
    return [_as_object(exchange) if exchange.unread else exchange for exchange in exchanges]


def _as_object(exchange: Exchange) -> Exchange:
    found = copy(exchange)
    found.unread = sign_of(exchange.message)
    return found


def _read(message: Any) -> Exchange:
    if message.get("event.name") == _AS_IT_IS and isinstance(message.get("data"), dict):
        message = message["data"]
    if any([isinstance(key, str) and "." in key for key in message]):
        message = _undotted(message)
    # Keys that look like positions make a list, not a message.
    return exchange_of(message) if isinstance(message, dict) else no_message(message)


def _undotted(value: Any) -> Any:
    # Phoenix's dataframe: [{"message.role": …, "message.tool_calls": [{"tool_call.id": …}]}].
    if isinstance(value, list):
        return [_undotted(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "event.name" in value:
        return value
    return unnested((str(key), _undotted(item)) for key, item in value.items())


def _weight(exchanges: list[Exchange]) -> tuple[int, int, int]:
    """Return how much messages contain: the numbers of calls and results, of their recorded values, of messages.

    A span may repeat its conversation in attributes of several conventions, and servers add their own: MLflow
    `mlflow.spanInputs`, Phoenix `llm.input_messages`. The fullest copy is used.
    """
    calls = [call for exchange in exchanges for call in exchange.calls]
    results = [result for exchange in exchanges for result in exchange.results]
    recorded = [*[call.args for call in calls], *[result.output for result in results]]
    return len(recorded), len(recorded) - recorded.count(NOTHING), len(exchanges)


def _tells_calls(exchanges: list[Exchange]) -> bool:
    return any([exchange.calls or exchange.results for exchange in exchanges])


def messages_in(attributes: Any, holder: MessageAttributes) -> list[Any]:
    """Return the messages in attributes as they are, not read as exchanges."""
    if not holder.beginning:
        held = attributes.get(holder.keys[0])
        if isinstance(held, str):
            try:
                held = decode_json(held)
            except InputError:
                return []
    else:
        start = len(holder.beginning)
        held = unnested((key[start:], attributes.get(key)) for key in holder.keys)
    return messages_of(held) if isinstance(held, (list, dict)) else []


def messages_in_event(name: str, body: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[Side, list[Any]]:
    """Return the messages in an event of a span or in a log record, by side."""
    if name == _DETAILS:
        keys: dict[Side, str] = {"input": "gen_ai.input.messages", "output": "gen_ai.output.messages"}
        return {side: messages_in(attributes, MessageAttributes(side, (key,))) for side, key in keys.items()}
    found = _EVENTS.get(name)
    return {found: [{"event.name": name, **event_body(name, body)}]} if found else _messages_of_record(body)


def _messages_of_record(body: Mapping[str, Any]) -> dict[Side, list[Any]]:
    """Return the messages in a log record of AWS's OpenTelemetry distribution: `input.messages`, `output.messages`."""
    found: dict[Side, list[Any]] = {}
    sides: tuple[Side, ...] = ("input", "output")
    for side in sides:
        value = body.get(side)
        messages = value.get("messages") if isinstance(value, Mapping) else None
        if isinstance(messages, list) and messages:
            found[side] = [each for message in messages for each in _written_in(message)]
    # What LangChain's tools and the branches of its graphs are given is not what a user says.
    of_tool = any([isinstance(each, dict) and each.get("type") == "tool" for each in found.get("output", ())])
    return {"output": found["output"]} if of_tool else {} if _is_branch(found.get("output", [])) else found


def _written_in(message: Any) -> list[Any]:
    """Return the messages in a message whose text is a state, an answer or a result of LangChain in JSON.

    AWS's distribution moves what a framework writes into the attributes of a span to such records, as texts.
    """
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str) or text[:1] != "{" or not any([key in text for key in _OF_LANGCHAIN]):
        return [message]
    try:
        held = decode_json(text)
    except InputError:
        return [message]
    is_result = held.get("type") == "tool" and "tool_call_id" in held
    told = [held] if is_result else messages_of(held)
    return told if is_result or (told != [held] and has_messages(told)) else [message]


_OF_LANGCHAIN = ('"generations"', '"messages"', '"tool_call_id"')
_BRANCH_TO_END = "__end__"


def _is_branch(output: list[Any]) -> bool:
    """Whether an output is the name of the node with which a graph of LangGraph ends."""
    return len(output) == 1 and isinstance(output[0], dict) and output[0].get("content") == _BRANCH_TO_END


def are_choices(answer: Sequence[Exchange], attributes: Mapping[str, Any]) -> bool:
    """Whether the messages of an answer are alternative choices, at least one of which asks for a call.

    A message is a choice if it has a number, or its own finish reason (OpenTelemetry GenAI, "Output messages": each is
    one choice), unless the span has one reason for all. Without either, the number of choices requested in the span
    decides.
    """
    if len(answer) < 2 or not any([exchange.calls for exchange in answer]):
        return False
    if len({_number(exchange.message) for exchange in answer}) > 1:
        return True
    ended = [exchange for exchange in answer if says_why(exchange.message) or says_why(unwrapped(exchange.message))]
    return (len(ended) > 1 and not _is_one(attributes.get(_ENDS))) or _count_asked_for(attributes) > 1


def _is_one(reasons: Any) -> bool:
    """Whether the reasons why a model ended are those of one choice.

    OpenLLMetry writes each item of an answer of OpenAI's Responses API as a message with the reason of the answer.
    """
    return isinstance(reasons, Sequence) and not isinstance(reasons, str) and len(reasons) == 1


def without_calls(answer: Sequence[Exchange]) -> list[Exchange]:
    """Return copies of the messages of an answer without their calls; the originals belong to a cache."""
    found = [copy(exchange) for exchange in answer]
    for exchange in found:
        exchange.calls = []
    return found


def _number(message: Mapping[str, Any]) -> Any:
    """Return the number of a choice, as recorded; 0 if it has none."""
    value = message.get("index")
    if isinstance(value, str) and value.strip("0") == "":
        return 0
    return value if isinstance(value, (str, int, float)) else 0


def _count_asked_for(attributes: Mapping[str, Any]) -> int:
    counts = [attributes.get(_COUNT)]
    text = attributes.get(_PARAMETERS)
    try:
        parameters = decode_json(text) if isinstance(text, str) else None
    except InputError:
        parameters = None
    counts += [parameters.get(key) for key in _COUNTS] if isinstance(parameters, dict) else []
    return max([count for count in counts if isinstance(count, int)], default=1)


class MessageAttributes(msgspec.Struct, frozen=True):
    """The attributes that hold the messages of one convention: one with all of them, or many with a leaf each."""

    side: Side
    keys: tuple[str, ...]
    only_models: bool = False
    """Whether they hold messages on spans of a model only."""
    beginning: str = ""
    """The prefix of attributes that hold a leaf each; empty if one attribute holds all messages."""
    messages: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """For each message the paths of its leaves, and the attributes that hold them."""


def message_attributes(attributes: Any) -> tuple[MessageAttributes, ...]:
    """Return the attributes of a span that hold messages; found once for all spans with the same keys."""
    shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    if shape.message_attributes is not None:
        known: tuple[MessageAttributes, ...] = shape.message_attributes
        return known
    whole: list[MessageAttributes] = []
    numbered: dict[str, list[str]] = {}
    for key in shape.places:
        if key in _WHOLE:
            whole.append(MessageAttributes(_WHOLE[key], (key,)))
        elif key in _OF_MODELS:
            whole.append(MessageAttributes(_OF_MODELS[key], (key,), only_models=True))
        else:
            for beginning in _NUMBERED:
                if key.startswith(beginning):
                    numbered.setdefault(beginning, []).append(key)
    leaves = [_numbered_attributes(beginning, tuple(keys)) for beginning, keys in numbered.items()]
    found = shape.message_attributes = (*whole, *leaves)
    return found


def _numbered_attributes(beginning: str, keys: tuple[str, ...]) -> MessageAttributes:
    """Group attributes that hold a leaf each by the number of the message; if some have one, others are left out."""
    messages: dict[str, list[tuple[str, str]]] = {}
    for key in keys:
        number, _, name = key[len(beginning) :].partition(".")
        messages.setdefault(number, []).append((name, key))
    if any([number.isdecimal() for number in messages]):
        # OpenLLMetry has other attributes under the same prefix: `gen_ai.prompt.prompt_filter_results`.
        messages = {number: leaves for number, leaves in messages.items() if number.isdecimal()}
        keys = tuple([key for leaves in messages.values() for _, key in leaves])
    regular = all([number.isdecimal() for number in messages]) and all([name for name, _ in chain(*messages.values())])
    return MessageAttributes(
        side=_NUMBERED[beginning],
        keys=keys,
        beginning=beginning,
        messages=tuple([_names_and_keys(messages[number]) for number in sorted(messages, key=by_number)])
        if regular
        else (),
    )


def _names_and_keys(leaves: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple([name for name, _ in leaves]), tuple([key for _, key in leaves])
