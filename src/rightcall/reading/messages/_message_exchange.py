"""Read messages as exchanges: the calls one message asks for, and the results it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rightcall.reading.conventions import ASKED_FOR
from rightcall.reading.spans import NOTHING, CallRecord

from ._acting_text import acts
from ._asides import (
    author_of,
    calling_id,
    is_aside,
    is_blank,
    is_no_question,
    is_open,
    kinds_of_parts,
    role_of,
    says_it_stopped,
    with_reason,
)
from ._log import decoded
from ._part_finder import FoundPart, FoundParts, find_parts
from ._parts import Writer, is_plain, is_task, part_of, read_part, text_of, writer_of
from ._refusals import withhold
from ._step_parts import IN_CODE, is_step, read_step, unknown_step
from ._unknown_calls import hidden_call, is_of_tool, unknown_block, unknown_item, unnamed_call

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
"""How the formats of LlamaIndex begin, which lists calls in an output and has an event for each."""
_MOST_LISTED = 64


class Exchange:
    """The calls and results of one message."""

    __slots__ = (
        "_acts",
        "_of_user",
        "_text",
        "_writer",
        "answers",
        "calls",
        "is_text",
        "item",
        "message",
        "of_user",
        "parent_id",
        "results",
        "role",
        "unread",
    )

    def __init__(self, message: Mapping[str, Any] | None = None) -> None:
        self.message = message or {}
        self._writer: Writer | None = None
        self._text: str | None = None
        self._of_user: bool | None = None
        self._acts: bool | None = None
        self.calls: list[CallRecord] = []
        self.results: list[CallRecord] = []
        self.of_user: list[CallRecord] = []
        """Calls of a simulated user."""
        self.role = ""
        self.item = False
        """Whether the message is itself a call or result, not a message around some."""
        self.parent_id: str | None = None
        """The id of the call whose sub-agent wrote the message (Claude Code); empty if it is not recorded."""
        self.answers = False
        """Whether the message is the model's answer, though it is listed in the input (Pydantic AI)."""
        self.unread = ""
        """A description of what may be a call and was not understood."""
        self.is_text = False
        """Whether nothing but its text can ask for a call."""

    @property
    def acts(self) -> bool:
        """Whether code or text asks for a call, or holds the result of such a call (ReAct and the like)."""
        if self._acts is None:
            by_text = self.is_text and acts(self.message, self.role)
            self._acts = by_text or any([call.format == IN_CODE for call in self.calls])
        return self._acts

    @property
    def is_of_user(self) -> bool:
        """Whether the message is the user's."""
        if self._of_user is None:
            is_other = self.calls or self.results or self.parent_id is not None or self.writer != "user"
            is_act = bool(self.of_user) and not self.text  # a simulated user that uses a tool says nothing
            self._of_user = not (is_other or is_act or self.is_note or self._is_of_framework)
        return self._of_user

    @property
    def _is_of_framework(self) -> bool:
        """Whether the message is a request of Pydantic AI without words of the user: instructions, or a retry."""
        kinds = kinds_of_parts(self.message)
        return bool(kinds) and kinds.isdisjoint({_PROMPT, None})

    @property
    def is_note(self) -> bool:
        """Whether the text is not for the agent, though it is in the user's name."""
        return is_no_question(self.text)

    @property
    def is_silent(self) -> bool:
        """Whether the message is the user's, and its content was not recorded or not understood."""
        if not self.is_of_user:
            return False
        kinds = kinds_of_parts(self.message)
        return self.is_blank or bool(self.unread) or (None in kinds and _PROMPT not in kinds)

    @property
    def is_anonymous(self) -> bool:
        """Whether the message has content and does not say who wrote it."""
        return not (self.role or self.writer or self.calls or self.results or is_blank(self.message))

    @property
    def is_mute(self) -> bool:
        """Whether the message is the model's, and has neither words nor a word on calls: it may have asked for some."""
        if self.calls or self.results or self.unread or not self.is_blank:
            return False
        return (self.writer == "model" or author_of(self.message) is not None) and is_open(self.message)

    @property
    def is_broken_off(self) -> bool:
        """Whether the message says that its model stopped to call a tool, and shows no call."""
        return not self.calls and says_it_stopped(self.message)

    @property
    def is_blank(self) -> bool:
        """Whether the content of the message was not recorded."""
        return self.message.get("content").__class__ is not str and is_blank(self.message)

    @property
    def is_of_agent(self) -> bool:
        """Whether the message shows the agent at work: text of its model, a call, or a result, understood or not."""
        if self.calls or self.results or self.writer:
            return bool(self.calls or self.results) or self.writer == "model"
        return is_of_tool(self.role, self.message)

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
            held = document[key]
            if key == "items" and "role" in document:
                continue
            if isinstance(held, list) and held and all([isinstance(item, (dict, list)) for item in held]):
                return messages_of(held) if key != "choices" else _chosen(document, held)
    return [document]


def _only_answer(response: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message in a response of Gemini that has one candidate, or in one of Bedrock's Converse."""
    candidates, output = response.get("candidates"), response.get("output")
    if isinstance(candidates, list) and len(candidates) == 1 and isinstance(candidates[0], dict):
        held = candidates[0].get("content")
    else:
        held = output.get("message") if isinstance(output, dict) and "stopReason" in response else None
    if not isinstance(held, dict) or not ("parts" in held or "content" in held):
        return None
    return with_reason(held, response)


def _chosen(response: dict[str, Any], choices: list[Any]) -> list[Any]:
    """Return the answers of a response; the response itself if there are several, of which one asks for a call.

    A log does not tell which of several answers was used. The response as a message is not understood.
    """
    several = len(choices) > 1 and any([find_parts(choice).parts for choice in choices if isinstance(choice, dict)])
    return [response] if several else choices


def exchanges_of(messages: Iterable[Any]) -> list[Exchange]:
    """Read each message, in order; messages without calls and results count, too.

    A line that a log repeats as it was, with its `uuid` (Claude Code), is read once; examples for the model and
    fragments of messages are not read.
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


def _without_repeated_events(said: list[Exchange]) -> list[Exchange]:
    """Return the exchanges without events that begin a call which the model's output before them lists (LlamaIndex).

    By their ids they are told as one later on; here are those that lost an id.
    """
    listed: list[CallRecord] = []
    for place, exchange in enumerate(said):
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
                said[place] = Exchange()
        listed = [each for each in listed if each is not twin]
    return said


def _may_begin(event: CallRecord, listed: CallRecord) -> bool:
    if event.name != listed.name or (event.call_id and listed.call_id):
        return False
    return NOTHING in (event.args, listed.args) or event.args == listed.args


def no_message(item: Any) -> Exchange:
    """Read an item that is not a message; a list of objects may be calls, and so may a text of JSON."""
    if isinstance(item, str) and item[:1] in ("{", "["):
        return unread(hidden_call({"a text instead of a message": decoded(item)}))
    are_objects = isinstance(item, list) and any([isinstance(each, dict) for each in item])
    return unread("a list instead of a message" if are_objects else "")


def unread(sign: str) -> Exchange:
    """Return an exchange of something that was not understood."""
    exchange = Exchange()
    exchange.unread = sign
    return exchange


def exchange_of(message: Mapping[str, Any]) -> Exchange:
    """Read one message."""
    exchange = Exchange(message)
    exchange.role = role_of(message)
    if is_plain(message):
        exchange.is_text = True
        return exchange
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
    _part_with_calls_of_user(exchange)
    for call in exchange.calls if exchange.parent_id == "" else ():
        call.is_parent_known = False
    author = author_of(message) if exchange.calls else None
    is_summed_up = len(exchange.calls) > 1 and _sums_up(message)
    for call in exchange.calls:
        call.agent = author
        call.step = None if is_summed_up else call.step
        if message.get("message_type") == "approval_request_message":
            call.withheld = ASKED_FOR
    withhold(message, exchange.calls, exchange.results)
    return exchange


def _sums_up(message: Mapping[str, Any]) -> bool:
    """Whether a message lists the calls of a whole run beside its answer: the result of an agent of LlamaIndex."""
    response = message.get("response") if "current_agent_name" in message else None
    return isinstance(response, dict) and not find_parts(response).parts


def _read_parts(exchange: Exchange, found: FoundParts) -> None:
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
    if not exchange.calls:
        return
    is_user = exchange.role in _USER and not exchange.item
    exchange.of_user = [call for call in exchange.calls if call.name and (call.of_user or is_user)]
    if exchange.of_user:
        exchange.calls = [call for call in exchange.calls if call not in exchange.of_user]


def has_messages(messages: list[Any]) -> bool:
    """Whether these are messages: at least one of them has a role, a part or a step of a known format."""
    # A log of a million lines is recognised by its first thousand.
    return any(isinstance(message, dict) and _is_message(message) for message in messages[:1000])


def _once(calls: list[tuple[CallRecord, FoundPart]]) -> list[CallRecord]:
    """Return the calls of one message, once if the message repeats them in another place.

    If calls of one list share an id, it identifies none of them.
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
    if is_task(message):
        return True
    if isinstance(message.get("type"), str) and {"message", "data", "content", "subtype", "uuid"} & message.keys():
        return True
    # An object of results without a type is a file of runs; a message that has results says what it is.
    return "results" not in message and bool(find_parts(message).parts)
