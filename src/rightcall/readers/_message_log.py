"""A log of messages as exchanges: what the model asked for at once, and what came back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightcall.decoding import decode_json
from rightcall.errors import InputError

from ._message_formats import Part
from ._parts import part_of, read_part
from ._record import Record
from ._steps import is_step, read_step

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
)
_WRAPPERS = ("message", "data", "kwargs", "content", "body", "tool_call", "root")
_HOLDERS = (
    "tool_calls",
    "content",
    "parts",
    "contents",
    "items",
    "tool_call_results",
    "tool.result",
    "message",
    "function",
)
_DEPTH = 6
_ANSWER = "gen_ai.choice"


class Exchange:
    """The calls and results of one message."""

    __slots__ = ("answers", "calls", "item", "parent_id", "results", "role")

    def __init__(self) -> None:
        self.calls: list[Record] = []
        self.results: list[Record] = []
        self.role = ""
        self.item = False
        """The message is one call or result itself, not a message around them."""
        self.parent_id: str | None = None
        """The id of the call whose sub-agent wrote the message (Claude)."""
        self.answers = False
        """The message is the model's answer, though it stands among those the model was given (Pydantic AI)."""


def messages_of(document: Any) -> list[Any]:
    """The messages of a document: a list of them, an object that holds such a list, or one message."""
    if isinstance(document, list):
        if len(document) == 1 and isinstance(document[0], list):
            return messages_of(document[0])
        return document
    if isinstance(document, dict) and part_of(document) is None and not is_step(document):
        for key in _LISTS:
            held = document.get(key)
            if key == "items" and "role" in document:
                continue
            if isinstance(held, list) and held and all([isinstance(item, (dict, list)) for item in held]):
                return messages_of(held) if key != "choices" else held
    return [document]


def exchanges_of(messages: Iterable[Any]) -> list[Exchange]:
    """What happens in each message, in order; messages without calls and results count too."""
    return [exchange_of(message) for message in messages if isinstance(message, dict)]


def exchange_of(message: Mapping[str, Any]) -> Exchange:
    """What happens in one message."""
    exchange = Exchange()
    exchange.role = _role(message)
    parent = message.get("parent_tool_use_id")
    exchange.parent_id = parent if isinstance(parent, str) else None
    exchange.answers = message.get("event.name", message.get("event", {})) == _ANSWER
    if is_step(message):
        exchange.calls, exchange.results = read_step(message)
        return exchange
    parts = _parts(message)
    exchange.item = bool(parts) and parts[0][0] is message
    for document, part, listed in parts:
        record = read_part(document, part)
        if record is None:
            continue
        if part.kind == "result":
            exchange.results.append(record)
            if part.format == "LlamaIndex" and not exchange.calls:
                exchange.item = True
        else:
            record.order = 1 if listed else 0
            exchange.calls.append(record)
    exchange.calls = _once(exchange.calls)
    return exchange


def has_messages(messages: list[Any]) -> bool:
    """Whether these are messages at all: something in them has a role, a part or a step of a known format."""
    return any(isinstance(message, dict) and _is_message(message) for message in messages[:1000])


def _once(calls: list[Record]) -> list[Record]:
    """The calls of one message, those that it repeats in another place counted once."""
    if len(calls) < 2:
        return calls
    listed = [call for call in calls if call.order]
    chosen = listed or calls
    known: dict[str, Record] = {}
    kept = []
    for call in chosen:
        if call.call_id is None or call.call_id not in known:
            kept.append(call)
            known[call.call_id or ""] = call
    return kept


_Found = list[tuple[Mapping[str, Any], Part, bool]]


def _parts(message: Mapping[str, Any]) -> _Found:
    """The calls and results in a message, their formats, and whether they stand in its list of calls."""
    found: _Found = []
    _find_parts(message, found, 0, False)
    return found


def _find_parts(document: Mapping[str, Any], found: _Found, depth: int, listed: bool) -> None:
    part = part_of(document)
    if part is not None:
        found.append((document, part, listed))
        return
    if depth >= _DEPTH:
        return
    for key in [key for key in _HOLDERS if key in document]:
        held = _opened(document[key])
        if held.__class__ is list:
            for item in held:
                if item.__class__ is str and key == "function":
                    item = _opened(item)  # OpenInference's AutoGen: each result as JSON text
                if item.__class__ is dict:
                    _find_parts(item, found, depth + 1, key == "tool_calls")
    for key in [key for key in _WRAPPERS if key in document]:
        held = document[key]
        if held.__class__ is dict:
            _find_parts(held, found, depth + 1, listed)


def _opened(held: Any) -> Any:
    # OpenLLMetry and Strands keep blocks of content as JSON text.
    if isinstance(held, str) and held[:2] in ("[{", '{"'):
        try:
            return decode_json(held)
        except InputError:
            return None
    return held


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    if role and role.__class__ is str:
        return role
    for holder in (message, *(message.get(key) for key in ("message", "data", "content"))):
        if isinstance(holder, dict):
            role = holder.get("role") or holder.get("source") or holder.get("kind")
            if isinstance(role, str):
                return role
    kind = message.get("type")
    return kind if isinstance(kind, str) else ""


def _is_message(message: Mapping[str, Any]) -> bool:
    if is_step(message) or part_of(message) is not None:
        return True
    if {"role", "lc", "author", "task", "part_kind", "parts", "tool_calls"} & message.keys():
        return True
    if isinstance(message.get("type"), str) and {"message", "data", "content", "subtype", "uuid"} & message.keys():
        return True
    return bool(_parts(message))
