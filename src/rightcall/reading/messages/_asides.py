"""What agents write beside a conversation: interruptions, fragments, messages without content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rightcall._lazy import lazy_pattern

from ._parts import unwrapped
from ._unknown_calls import ITEM_BEGINNINGS, LINES

_NO_QUESTIONS = (
    "[Request interrupted by user",
    "<local-command-stdout>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
)
"""How texts begin that Claude Code writes in the user's name: an interruption, commands that the user ran."""
_FRAGMENTS = ("tool-input-start", "tool-input-delta")  # of a call that Vercel's stream also has whole
_SAID = frozenset({"content", "parts", "blocks", "text", "message", "data", "kwargs", "items", "contents", "task"})
"""Keys of a message that hold its content."""
_REASONS = ("finish_reason", "finish_reasons", "stop_reason", "finishReason", "stopReason")
_TO_CALL = lazy_pattern(r"(?<![a-z_])(?:tool[_-]?(?:calls?|use)|function[_-]?calls?)(?![a-z_])", re.I)
"""Why a model stopped, if it asked for a call. Gemini's `MALFORMED_FUNCTION_CALL` is not one."""
_LONGEST_REASON = 200
_ABOUT_ANSWER = ("response_metadata", "generation_info", "meta", "state")
"""Keys of what LangChain, Haystack and Amp tell about an answer, with the reason for its end."""
_ABOUT_END = ("turnComplete", "turn_complete", "interrupted", "errorCode", "error_code")
_SAID_OTHERWISE = ("refusal", "audio", "reasoning", "reasoning_content", "thinking")
_SETTLED = frozenset(["tool_calls", "function_call", *_SAID_OTHERWISE, *_REASONS, *_ABOUT_END])
"""Keys that say of a message without content that it asks for no calls, or why there is no content."""


def is_aside(message: Mapping[str, Any]) -> bool:
    """Whether a message shows the model how to work (SWE-agent), or is a fragment of the one that follows (ADK)."""
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
    for holder in (message, *(message.get(key) for key in ("message", "data", "content", "info"))):
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
    forms = [message, *[held for key in ("kwargs", "data", "message") if isinstance(held := message.get(key), dict)]]
    for form in forms:
        kind, source = form.get("type"), form.get("source")
        is_autogen = isinstance(kind, str) and kind.endswith(("Message", "Event"))
        is_model = form.get("role") == "assistant" or kind in ("ai", "AIMessage", "AIMessageChunk")
        found = form.get("author") or (source if is_autogen else None) or (form.get("name") if is_model else None)
        if isinstance(found, str) and found and found != "user":
            return found
    return None


def is_about_session(message: Any) -> bool:
    """Whether a line is neither a message nor an event of the agent: what Claude's agents write after the answer."""
    kind = message.get("type") if isinstance(message, dict) and "role" not in message else None
    if not isinstance(kind, str):
        return False
    if kind in ("system", "result"):
        return message.get("subtype") == "success" if kind == "result" else "subtype" in message
    return kind.replace("-", "_") in LINES or kind.startswith(ITEM_BEGINNINGS)


def calling_id(message: Mapping[str, Any]) -> str | None:
    """Return the id of the call whose sub-agent wrote a message; empty if there is one and its id is not recorded."""
    parent = message.get("parent_tool_use_id")
    if isinstance(parent, str):
        return parent
    return "" if message.get("isSidechain") is True else None


def is_blank(message: Mapping[str, Any]) -> bool:
    """Whether the content of a message was not recorded."""
    held = unwrapped(message)
    return all([_is_nothing(held[key]) for key in _SAID & held.keys()])


def is_open(message: Mapping[str, Any]) -> bool:
    """Whether a message without content says nothing of calls either."""
    held = unwrapped(message)
    if message.get("kind") == "response" and message.get("parts") is None:
        return True  # Pydantic AI always writes a list of parts
    if stopped_to_call(held):
        return True
    actions = message.get("actions")  # an event of ADK may be about its effects alone
    has_effects = isinstance(actions, Mapping) and any(actions.values())
    return not has_effects and _SETTLED.isdisjoint(held) and _SETTLED.isdisjoint(message)


def stopped_to_call(held: Mapping[str, Any]) -> bool:
    """Whether a message, or the attributes of a span, say that a model stopped because it asked for a call."""
    told = [held.get(key) for key in _reasons_among(tuple(held))]
    return any([_TO_CALL.search(str(reason)[:_LONGEST_REASON]) is not None for reason in told]) if told else False


@lru_cache(maxsize=4096)
def _reasons_among(keys: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple([key for key in keys if key.__class__ is str and key.endswith(_REASONS)])


def says_it_stopped(message: Mapping[str, Any]) -> bool:
    """Whether a message, or what it tells about its answer, says that its model stopped because it asked for a call."""
    held = unwrapped(message)
    inner = [held.get(key) for key in _ABOUT_ANSWER] if isinstance(held, Mapping) else []
    return any([stopped_to_call(each) for each in (message, held, *inner) if isinstance(each, Mapping)])


def with_reason(message: Mapping[str, Any], holder: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message that says that its model stopped to call a tool, if the object around it says so."""
    is_told = stopped_to_call(holder) and not stopped_to_call(message)
    return {**message, "finish_reason": "tool_calls"} if is_told else dict(message)


def says_why(message: Mapping[str, Any]) -> bool:
    """Whether a message says why its model stopped."""
    return any([message.get(key) for key in _REASONS])


def _is_nothing(held: Any) -> bool:
    return held is None or (held.__class__ is list and bool(held) and not any(held))


def kinds_of_parts(message: Mapping[str, Any]) -> frozenset[Any]:
    """Return the kinds of the parts of a request of Pydantic AI, None for a part without one; empty for others."""
    parts = message.get("parts") if message.get("kind") == "request" else None
    held = [part.get("part_kind") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return frozenset([kind if isinstance(kind, str) else None for kind in held])
