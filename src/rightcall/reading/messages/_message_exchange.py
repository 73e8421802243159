"""Read messages as exchanges: the calls that a message asks for, the results in it, its writer and its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.reading.conventions import ASKED_FOR
from rightcall.reading.spans import NOTHING, CallRecord, is_cut

from ._acting_text import IN_CODE, acts, is_step, read_step, unknown_step
from ._agent_parts import UNFINISHED
from ._log import decoded
from ._parts import Writer, is_plain, is_task, part_of, read_part, text_of, unwrapped, writer_of
from ._refusals import withhold
from ._unknown_calls import (
    ITEM_BEGINNINGS,
    LINES,
    FoundPart,
    FoundParts,
    find_parts,
    hidden_call,
    is_of_tool,
    unknown_block,
    unknown_item,
    unnamed_call,
)

_LISTS = (
    "messages",
    "contents",
    "events",
    "output",
    "choices",
    "conversation",
    "items",
    "history",
    "new_messages",
    "steps",
    "generations",
    "replies",
    "traj",
)
_ANSWER = "gen_ai.choice"
_USER = frozenset({"user", "human"})
_PROMPT = "user-prompt"
_EVENTS = "LlamaIndex"
"""Prefix of the names of LlamaIndex's formats: it lists calls in a model's output, and writes an event for each."""
_MOST_LISTED = 64
_NO_QUESTIONS = (
    "[Request interrupted by user",
    "<local-command-stdout>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
)
"""Prefixes of texts that Claude Code writes in the user's name: interruptions, and commands that the user ran."""
_FRAGMENTS = ("tool-input-start", "tool-input-delta")  # of a call that Vercel's stream also has whole
_SAID = frozenset({"content", "parts", "blocks", "text", "message", "data", "kwargs", "items", "contents", "task"})
"""Keys of a message that hold its content."""
_REASONS = ("finish_reason", "finish_reasons", "stop_reason", "finishReason", "stopReason")
_TO_CALL = lazy_pattern(r"(?<![a-z_])(?:tool[_-]?(?:calls?|use)|function[_-]?calls?)(?![a-z_])", re.I)
"""Finish reasons of a model that asked for a call. Gemini's `MALFORMED_FUNCTION_CALL` is not one of them."""
_LONGEST_REASON = 200
_TOO_LONG = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Finish reasons of an answer that was cut off: OpenAI, Anthropic and Bedrock and Gemini, Mistral."""
_ABOUT_ANSWER = ("response_metadata", "generation_info", "meta", "state")
"""Keys of the metadata of an answer, with its finish reason, in LangChain, Haystack and Amp."""
_ABOUT_END = ("turnComplete", "turn_complete", "interrupted", "errorCode", "error_code")
_SAID_OTHERWISE = ("refusal", "audio", "reasoning", "reasoning_content", "thinking")
_COMMON = frozenset({"role", "content", "parts", "tool_calls", "tool_call_id", "finish_reason"})
"""The keys of most messages. One that has no others tells nothing of its calls but what is in their parts."""
_SETTLED = frozenset(["tool_calls", "function_call", *_SAID_OTHERWISE, *_REASONS, *_ABOUT_END])
"""Keys by which a message without content shows that it asks for no calls, or why it has no content."""


class Exchange(msgspec.Struct, eq=False):
    """The calls and results of one message."""

    message: Mapping[str, Any] = {}
    role: str = ""
    calls: list[CallRecord] = []
    results: list[CallRecord] = []
    of_user: list[CallRecord] = []
    """Calls of a simulated user."""
    item: bool = False
    """Whether the message is itself a call or result, not a message around some."""
    parent_id: str | None = None
    """The id of the call whose sub-agent wrote the message (Claude Code); empty if it is not recorded."""
    answers: bool = False
    """Whether the message is the model's answer, though it is listed in the input (Pydantic AI)."""
    unread: str = ""
    """A description of what may be a call and was not understood."""
    is_text: bool = False
    """Whether only the text of the message could ask for a call."""
    _acts: bool | None = None
    _blank: bool | None = None
    _of_user: bool | None = None
    _text: str | None = None
    _writer: Writer | None = None

    @property
    def acts(self) -> bool:
        """Whether the message asks for a call in code or text, or holds the result of such a call (as in ReAct)."""
        if self._acts is None:
            by_text = self.is_text and acts(self.message, self.role)
            self._acts = by_text or any([call.format == IN_CODE for call in self.calls])
        return self._acts

    @property
    def is_of_user(self) -> bool:
        """Whether the message is the user's."""
        if self._of_user is None:
            is_other = self.calls or self.results or self.parent_id is not None or self.writer != "user"
            is_act = bool(self.of_user) and not self.text  # a simulated user that calls a tool, without a text
            self._of_user = not (is_other or is_act or self.is_note or self._is_of_framework)
        return self._of_user

    @property
    def _is_of_framework(self) -> bool:
        """Whether the message is a request of Pydantic AI without words of the user: instructions, or a retry."""
        kinds = kinds_of_parts(self.message)
        return bool(kinds) and kinds.isdisjoint({_PROMPT, None})

    @property
    def is_note(self) -> bool:
        """Whether the text is in the user's name, but not for the agent."""
        return is_no_question(self.text)

    @property
    def is_silent(self) -> bool:
        """Whether the message is the user's, and its content was not recorded or not understood."""
        if not self.is_of_user:
            return False
        if self.text.startswith('[{"') and is_cut(self.text):
            return True  # a list of parts, which may be results of tools
        kinds = kinds_of_parts(self.message)
        return self.is_blank or bool(self.unread) or (None in kinds and _PROMPT not in kinds)

    @property
    def is_anonymous(self) -> bool:
        """Whether the message has content, but its writer was not recorded."""
        return not (self.role or self.writer or self.calls or self.results or is_blank(self.message))

    @property
    def is_mute(self) -> bool:
        """Whether the message is the model's and empty, and nothing in it shows whether it asked for calls."""
        if self.calls or self.results or self.unread or not self.is_blank:
            return False
        return (self.writer == "model" or author_of(self.message) is not None) and is_open(self.message)

    @property
    def is_broken_off(self) -> bool:
        """Whether the finish reason says that the model asked for a call, and the message has none."""
        return not self.calls and says_it_stopped(self.message)

    @property
    def is_blank(self) -> bool:
        """Whether the content of the message was not recorded."""
        if self._blank is None:
            self._blank = self.message.get("content").__class__ is not str and is_blank(self.message)
        return self._blank

    @property
    def is_of_agent(self) -> bool:
        """Whether the message shows work of the agent: text of its model, a call, or a result, understood or not."""
        if self.calls or self.results or self.writer:
            return bool(self.calls or self.results) or self.writer == "model"
        return is_of_tool(self.role, self.message)

    @property
    def answer_id(self) -> str:
        """The id of the model's answer, of which Claude Code writes each block as a line of its own; else empty."""
        value = self.message.get("message") if self.message.get("type") == "assistant" else None
        named = value.get("id") if isinstance(value, dict) else None
        return named if isinstance(named, str) else ""

    @property
    def writer(self) -> Writer:
        """Who wrote the message."""
        if self._writer is None:
            self._writer = writer_of(self.message)
        return self._writer

    @property
    def text(self) -> str:
        """The text of the message; empty if there is none."""
        if self._text is None:
            self._text = text_of(self.message) or ""
        return self._text


def messages_of(document: Any) -> list[Any]:
    """Return the messages of a document: a list of messages, an object with such a list, or one message."""
    if isinstance(document, list):
        if len(document) == 1 and isinstance(document[0], list):
            return messages_of(document[0])
        return document
    if isinstance(document, dict) and part_of(document) is None and not is_step(document):
        answer = _only_answer(document)
        if answer is not None:
            return [answer]
        for key in [key for key in _LISTS if key in document]:
            value = document[key]
            if key == "items" and "role" in document:
                continue
            if isinstance(value, list) and value and all([isinstance(item, (dict, list)) for item in value]):
                return messages_of(value) if key != "choices" else _chosen(document, value)
    return [document]


def _only_answer(response: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message in a response of Gemini that has one candidate, or in one of Bedrock's Converse."""
    candidates, output = response.get("candidates"), response.get("output")
    if isinstance(candidates, list) and len(candidates) == 1 and isinstance(candidates[0], dict):
        held, response = candidates[0].get("content"), {**response, **candidates[0]}
    else:
        held = output.get("message") if isinstance(output, dict) and "stopReason" in response else None
    if not isinstance(held, dict) or not ("parts" in held or "content" in held):
        return None
    return with_reason(held, response)


def _chosen(response: dict[str, Any], choices: list[Any]) -> list[Any]:
    """Return the choices of a response; the response itself if there are several, and one asks for a call.

    It is not recorded which of several choices was used. The response, taken for a message, is not understood.
    """
    several = len(choices) > 1 and any([find_parts(choice).parts for choice in choices if isinstance(choice, dict)])
    return [response] if several else choices


def exchanges_of(messages: Iterable[Any]) -> list[Exchange]:
    """Return an exchange for each message, in order, including messages without calls and results.

    The exchange is empty for a line that a log repeats with the same `uuid` (Claude Code), for examples that the model
    was given, and for fragments of messages.
    """
    found: list[Exchange] = []
    # A session that Claude Code resumes repeats the lines of the one before, each with its `uuid`.
    known: dict[str, Any] = {}
    for message in messages:
        uuid = message.get("uuid") if isinstance(message, dict) else None
        is_known = isinstance(uuid, str) and uuid in known and known[uuid] == message.get("message")
        if is_known or (isinstance(message, dict) and is_aside(message)):
            found.append(Exchange())
            continue
        found.append(exchange_of(message) if isinstance(message, dict) else no_message(message))
        if isinstance(uuid, str):
            known[uuid] = message.get("message")
    return _without_repeated_events(found)


def _without_repeated_events(exchanges: list[Exchange]) -> list[Exchange]:
    """Empty the events about calls that the model's output before them already lists (LlamaIndex).

    Where both have ids, the two are recognised as one call later on; this is for those without an id.
    """
    listed: list[CallRecord] = []
    for place, exchange in enumerate(exchanges):
        if not exchange.calls or not exchange.calls[0].format.startswith(_EVENTS):
            continue
        if not exchange.item:
            listed = [*listed, *exchange.calls][-_MOST_LISTED:]
            continue
        call = exchange.calls[0]
        twin = next((each for each in listed if each.call_id and each.call_id == call.call_id), None)
        if twin is None:
            twin = next((each for each in listed if _may_begin(call, each)), None)
            if twin is not None:
                twin.call_id = twin.call_id or call.call_id
                exchanges[place] = Exchange()
        listed = [each for each in listed if each is not twin]
    return exchanges


def _may_begin(event: CallRecord, listed: CallRecord) -> bool:
    if event.name != listed.name or (event.call_id and listed.call_id):
        return False
    return NOTHING in (event.args, listed.args) or event.args == listed.args


def no_message(item: Any) -> Exchange:
    """Read an item that is not a message; a list of objects may be calls, and so may JSON text."""
    if isinstance(item, str) and item[:1] in ("{", "["):
        return unread(hidden_call({"a text instead of a message": decoded(item)}))
    are_objects = isinstance(item, list) and any([isinstance(each, dict) for each in item])
    return unread("a list instead of a message" if are_objects else "")


def unread(sign: str) -> Exchange:
    """Return the exchange of an item that was not understood, with a description of it."""
    exchange = Exchange()
    exchange.unread = sign
    return exchange


def exchange_of(message: Mapping[str, Any]) -> Exchange:
    """Read one message."""
    exchange = Exchange(message, role_of(message))
    if is_plain(message):
        exchange.is_text = True
        return exchange
    is_common = _COMMON.issuperset(message)
    if not is_common:
        exchange.parent_id = calling_id(message)
        exchange.answers = message.get("event.name", message.get("event", {})) == _ANSWER
        if is_step(message):
            exchange.calls, exchange.results = read_step(message)
            exchange.unread = unknown_step(message, len(exchange.calls))
            return exchange
    found = find_parts(message)
    exchange.item = bool(found.parts) and found.parts[0].document is message
    _read_parts(exchange, found)
    if not found.parts and not found.unread:
        found.unread = unknown_item(message)
        exchange.is_text = True
    exchange.unread = found.unread
    if exchange.calls:
        _part_with_calls_of_user(exchange)
        if not is_common:
            _take_from_message(exchange, message)
        if not exchange.results and _is_cut_off(message):
            exchange.calls[-1].withheld = exchange.calls[-1].withheld or UNFINISHED
    withhold(message, exchange.calls, exchange.results)
    return exchange


def _take_from_message(exchange: Exchange, message: Mapping[str, Any]) -> None:
    """Take what a message tells of all its calls: the agent, whether their parent is unknown, or they only wait."""
    author, is_parent_known = author_of(message), exchange.parent_id != ""
    is_summed_up = len(exchange.calls) > 1 and _sums_up(message)
    is_waiting = message.get("message_type") == "approval_request_message"
    for call in exchange.calls:
        call.agent = author
        call.is_parent_known = call.is_parent_known and is_parent_known
        call.step = None if is_summed_up else call.step
        if is_waiting:
            call.withheld = ASKED_FOR


def _sums_up(message: Mapping[str, Any]) -> bool:
    """Whether a message is the result of a LlamaIndex agent: its answer, with the calls of the whole run listed."""
    response = message.get("response") if "current_agent_name" in message else None
    return isinstance(response, dict) and not find_parts(response).parts


def _read_parts(exchange: Exchange, found: FoundParts) -> None:
    """Read the parts found in a message into the calls and results of its exchange."""
    calls: list[tuple[CallRecord, FoundPart]] = []
    for place in found.parts:
        record = read_part(place.document, place.part)
        if record is None:
            found.unread = found.unread or unnamed_call(place.document)
        elif place.part.kind == "result":
            exchange.results.append(record)
            if place.part.format == "LlamaIndex" and not calls:
                exchange.item = True
        else:
            record.unread = "" if record.name else unknown_block("tool_calls", place.document)
            record.step = place.step
            calls.append((record, place))
    exchange.calls = _once(calls)


def _part_with_calls_of_user(exchange: Exchange) -> None:
    """Separate the calls of a simulated user from those of the agent (tau2-bench)."""
    is_user = exchange.role in _USER and not exchange.item
    exchange.of_user = [call for call in exchange.calls if call.name and (call.of_user or is_user)]
    if exchange.of_user:
        exchange.calls = [call for call in exchange.calls if call not in exchange.of_user]


def has_messages(messages: list[Any]) -> bool:
    """Whether these are messages: at least one of them has a role, a part or a step of a known format."""
    # A log of a million lines is recognised by its first thousand.
    return any(isinstance(message, dict) and _is_message(message) for message in messages[:1000])


def _once(calls: list[tuple[CallRecord, FoundPart]]) -> list[CallRecord]:
    """Return the calls of one message, each once, even if the message repeats them in another place.

    If calls of one list share an id, it is removed: it identifies none of them.
    """
    if len(calls) < 2:
        return [call for call, _ in calls]
    listed = [found for found in calls if found[1].listed]
    # LangChain has a call in `tool_calls`, in the blocks of `content` and in `additional_kwargs`: the same one.
    first_lists: dict[str, int] = {}
    kept = [
        call
        for call, place in listed or calls
        if not call.call_id or first_lists.setdefault(call.call_id, place.among) == place.among
    ]
    if listed and len(listed) < len(calls):
        kept += _others([call for call, place in calls if not place.listed], kept)
    uses = Counter([call.call_id for call in kept])
    for call in kept:
        call.call_id = call.call_id if uses[call.call_id] == 1 else None
    return kept


def _others(calls: list[CallRecord], listed: list[CallRecord]) -> list[CallRecord]:
    """Return the calls in a message's content that its list lacks: LangChain does not list tools run by a server."""
    names, ids = {call.name for call in listed}, {call.call_id for call in listed}
    return [call for call in calls if call.call_id and call.call_id not in ids and call.name not in names]


def _is_message(message: Mapping[str, Any]) -> bool:
    if is_step(message) or part_of(message) is not None:
        return True
    if {"role", "lc", "author", "part_kind", "parts", "tool_calls"} & message.keys():
        return True
    if is_task(message) or ("finish_reason" in message and isinstance(message.get("message"), dict)):
        return True  # the latter is a choice of Chat Completions
    if isinstance(message.get("type"), str) and {"message", "data", "content", "subtype", "uuid"} & message.keys():
        return True
    # An object with `results` and no type is a file of runs; a message with results has a type.
    return "results" not in message and bool(find_parts(message).parts)


def is_aside(message: Mapping[str, Any]) -> bool:
    """Whether a message is an example for the model (SWE-agent), or a fragment of a later one (ADK, Vercel)."""
    is_fragment = message.get("partial") is True and "author" in message
    return message.get("is_demo") is True or is_fragment or message.get("type") in _FRAGMENTS


def is_no_question(text: str) -> bool:
    """Whether a text in the user's name is not for the agent (Claude Code): a note, or a command of the user's own."""
    return text.startswith(_NO_QUESTIONS)


def role_of(message: Mapping[str, Any]) -> str:
    """Return the role of a message, or the type of an event; empty if it has neither."""
    role = message.get("role")
    if role and role.__class__ is str:
        return role
    for holder in (message, message.get("message"), message.get("data"), message.get("content"), message.get("info")):
        if isinstance(holder, dict):
            role = holder.get("role") or holder.get("source") or holder.get("kind")
            if isinstance(role, str):
                return role
    kind = message.get("type")
    return kind if isinstance(kind, str) else ""


def author_of(message: Mapping[str, Any]) -> str | None:
    """Return the agent that wrote a message: its author in ADK, its source in AutoGen, its name in LangChain and chats.

    OpenInference keeps a message under `message`. The author of a message of the user or of a tool is not an agent.
    """
    forms = [message, *[value for key in ("kwargs", "data", "message") if isinstance(value := message.get(key), dict)]]
    for form in forms:
        kind, source = form.get("type"), form.get("source")
        is_autogen = isinstance(kind, str) and kind.endswith(("Message", "Event"))
        is_model = form.get("role") == "assistant" or kind in ("ai", "AIMessage", "AIMessageChunk")
        found = form.get("author") or (source if is_autogen else None) or (form.get("name") if is_model else None)
        if isinstance(found, str) and found and found != "user":
            return found
    return None


def is_about_session(message: Any) -> bool:
    """Whether a line is about the session, not from the conversation: Claude's agents write some after the answer."""
    kind = message.get("type") if isinstance(message, dict) and "role" not in message else None
    if not isinstance(kind, str):
        return False
    if kind in ("system", "result"):
        return message.get("subtype") == "success" if kind == "result" else "subtype" in message
    return kind.replace("-", "_") in LINES or kind.startswith(ITEM_BEGINNINGS)


def calling_id(message: Mapping[str, Any]) -> str | None:
    """Return the id of the call whose sub-agent wrote a message: empty if not recorded, None without a sub-agent."""
    parent = message.get("parentToolUseID" if message.get("type") == "progress" else "parent_tool_use_id")
    if isinstance(parent, str):
        return parent
    return "" if message.get("isSidechain") is True else None


def is_blank(message: Mapping[str, Any]) -> bool:
    """Whether the content of a message was not recorded."""
    held = unwrapped(message)
    return all([_is_nothing(held[key]) for key in _SAID & held.keys()])


def is_open(message: Mapping[str, Any]) -> bool:
    """Whether a message without content may have asked for calls: nothing in it shows that there were none."""
    held = unwrapped(message)
    if message.get("kind") == "response" and message.get("parts") is None:
        return True  # Pydantic AI always writes a list of parts
    if stopped_to_call(held):
        return True
    actions = message.get("actions")  # an event of ADK may report only its effects
    has_effects = isinstance(actions, Mapping) and any(actions.values())
    return not has_effects and _SETTLED.isdisjoint(held) and _SETTLED.isdisjoint(message)


def stopped_to_call(value: Mapping[str, Any]) -> bool:
    """Whether the finish reason in a message, or in the attributes of a span, is that the model asked for a call."""
    told = [value.get(key) for key in _reasons_among(tuple(value))]
    return any([_TO_CALL.search(str(reason)[:_LONGEST_REASON]) is not None for reason in told]) if told else False


@lru_cache(maxsize=4096)
def _reasons_among(keys: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple([key for key in keys if key.__class__ is str and key.endswith(_REASONS)])


def _is_cut_off(message: Mapping[str, Any]) -> bool:
    """Whether the finish reason in a message is that the answer became too long: its last call is not complete."""
    told = [holder.get(key) for holder in _reason_holders(message) for key in _reasons_among(tuple(holder))]
    return any([str(reason)[:_LONGEST_REASON].lower() in _TOO_LONG for reason in told])


def _reason_holders(message: Mapping[str, Any]) -> list[Mapping[Any, Any]]:
    """Return the objects that may have the finish reason of a message: itself, and its metadata."""
    held = unwrapped(message)
    inner = [held[key] for key in _ABOUT_ANSWER if key in held] if isinstance(held, Mapping) else []
    holders = (message, *inner) if held is message else (message, held, *inner)
    return [each for each in holders if isinstance(each, Mapping)]


def says_it_stopped(message: Mapping[str, Any]) -> bool:
    """Whether the finish reason in a message or in its metadata is that the model asked for a call."""
    return any([stopped_to_call(each) for each in _reason_holders(message)])


def with_reason(message: Mapping[str, Any], holder: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the finish reason of the object around it, if that is a call or too long an answer."""
    if _is_cut_off(holder):
        return {**message, "finish_reason": "length"}
    is_told = stopped_to_call(holder) and not stopped_to_call(message)
    return {**message, "finish_reason": "tool_calls"} if is_told else dict(message)


def says_why(message: Mapping[str, Any]) -> bool:
    """Whether a message has a finish reason."""
    return any([message.get(key) for key in _REASONS])


def _is_nothing(value: Any) -> bool:
    return value is None or (value.__class__ is list and bool(value) and not any(value))


def kinds_of_parts(message: Mapping[str, Any]) -> frozenset[Any]:
    """Return the kinds of the parts of a request of Pydantic AI, None for a part without one; empty for others."""
    parts = message.get("parts") if message.get("kind") == "request" else None
    held = [part.get("part_kind") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return frozenset([kind if isinstance(kind, str) else None for kind in held])
