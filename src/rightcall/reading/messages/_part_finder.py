"""Find the calls and results in a message: in its lists, in what wraps it, in lists that are JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from rightcall.errors import InputError
from rightcall.values.decoding import decode_json

from ._agent_parts import Part
from ._parts import constructed, part_of, partial_part
from ._unknown_calls import is_data, unknown_block

_WRAPPERS = ("message", "data", "kwargs", "content", "body", "tool_call", "root", "observation", "toolInvocation")
_HOLDERS = (
    "tool_calls",
    "toolCalls",
    "content",
    "parts",
    "blocks",
    "contents",
    "items",
    "tool_call_results",
    "tool.result",
    "message",
    "function",
    "results",
    "permission_denials",
    "tool_responses",
    "toolInvocations",
    "invalid_tool_calls",
    "tool_returns",
    "approvals",
    "toolResults",
    "tool_results",
)
_LISTED = frozenset({"tool_calls", "toolCalls", "invalid_tool_calls"})
_DEPTH = 6
_STEP_BEGINS = "step-start"
"""The type of the part before those of a step, in messages of several steps (Vercel's AI SDK 5, OpenCode)."""


class FoundPart(NamedTuple):
    """A call or result in a message, its format, and where it is."""

    document: Mapping[str, Any]
    part: Part
    listed: bool
    """Whether it is in the message's list of calls."""
    among: int
    """The number of the list that it is an item of."""
    step: int
    """The step of the message that it is in."""


class FoundParts:
    """The calls and results found in a message, and the first item that may be one and is of no known format."""

    __slots__ = ("lists", "number", "parts", "step", "unread")

    def __init__(self) -> None:
        self.parts: list[FoundPart] = []
        self.unread = ""
        self.lists = 0
        self.step = 0
        self.number: Any = None

    def add(self, document: Mapping[str, Any], part: Part, listed: bool, among: int) -> None:
        """Add a part. What comes after a result, or has another number of a step, was asked for later."""
        number = document.get("step")  # of Vercel's AI SDK 4, whose messages hold several steps
        if part.kind == "result" or number != self.number:
            self.step, self.number = self.step + 1, number
        self.parts.append(FoundPart(document, part, listed, among, self.step))


def find_parts(message: Mapping[str, Any]) -> FoundParts:
    """Find the calls and results in a message, however deep they are."""
    found = FoundParts()
    _find_parts(message, found, 0, False, 0)
    return found


def _find_parts(document: Mapping[str, Any], found: FoundParts, depth: int, listed: bool, among: int) -> None:
    if "lc" in document:
        document = constructed(document)
    may_have_list = "tool_responses" in document or "message_type" in document
    part = part_of(document) if not may_have_list or not _has_list_beside(document) else None
    if part is not None:
        found.add(document, part, listed, among)
        return
    if depth >= _DEPTH:
        return
    holders, wrappers = _inner_keys(tuple(document))
    for key in holders:
        held = _opened(document[key])
        if held.__class__ is list:
            _find_in_list(key, held, found, depth, held is not document[key])
    for key in wrappers:
        held = document[key]
        if held.__class__ is dict:
            _find_parts(held, found, depth + 1, listed, among)
    # Langfuse writes messages of LangChain with what the provider returned, and without LangChain's own list of calls.
    if not found.parts and document.get("additional_kwargs").__class__ is dict:
        _find_parts(document["additional_kwargs"], found, depth + 1, listed, among)


@lru_cache(maxsize=4096)
def _inner_keys(keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those of the keys of an object under which there may be parts, and those that may hold the message."""
    return tuple([key for key in _HOLDERS if key in keys]), tuple([key for key in _WRAPPERS if key in keys])


def _has_list_beside(document: Mapping[str, Any]) -> bool:
    """Whether a message has a list of its calls or results, beside the first (Letta) or all of them as text (AG2)."""
    if document.get("tool_responses"):
        return True
    return "message_type" in document and bool(document.get("tool_calls") or document.get("tool_returns"))


def _find_in_list(key: str, items: list[Any], found: FoundParts, depth: int, written: bool) -> None:
    """Find the parts in a list; one `written` as JSON text may be the answer of the model."""
    found.lists += 1
    among = found.lists
    for item in items:
        if item.__class__ is str and key == "function":
            item = _opened(item)  # OpenInference's AutoGen: each result as JSON text
        before = len(found.parts)
        if item.__class__ is dict:
            found.step += item.get("type") == _STEP_BEGINS
            _find_parts(item, found, depth + 1, key in _LISTED, among)
        if len(found.parts) > before or (written and is_data(key, item)):
            continue
        part = partial_part(key, item)
        if part is not None:
            found.add(item, part, key == "tool_calls", among)
        else:
            found.unread = found.unread or unknown_block(key, item)


def _opened(held: Any) -> Any:
    # OpenLLMetry and Strands keep blocks of content as JSON text.
    if isinstance(held, str) and held[:2] in ("[{", '{"'):
        try:
            return decode_json(held)
        except InputError:
            return None
    return held
