"""What agents write beside a conversation: refusals, interruptions, fragments, conversations of sub-agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.reading.spans import CallRecord

# Claude Code: the note beside a result, and the text of the result.
_REFUSED = "User rejected tool use"
_REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"
_INTERRUPTED = "[Request interrupted by user"
_CANCELLED = "[Operation Cancelled] Reason: User "
_DENIALS = (f"{_CANCELLED}did not allow tool call", f"{_CANCELLED}denied execution")
"""Qwen Code's and Gemini CLI's text for it. The same text for a call that was cancelled while it ran is another."""
_FRAGMENTS = ("tool-input-start", "tool-input-delta")  # of a call that Vercel's stream also has whole


def is_aside(message: Mapping[str, Any]) -> bool:
    """Whether a message shows the model how to work (SWE-agent), or is a fragment of the one that follows (ADK)."""
    is_fragment = message.get("partial") is True and "author" in message
    return message.get("is_demo") is True or is_fragment or message.get("type") in _FRAGMENTS


def is_refused(message: Mapping[str, Any], result: CallRecord) -> bool:
    """Whether the user did not allow the call of a result."""
    if message.get("toolUseResult") == _REFUSED or (result.error or "").startswith(_REJECTED):
        return True
    # Qwen Code says beside a result that the call was cancelled, and in it that the user did not allow it.
    told = message.get("toolCallResult")
    is_cancelled = isinstance(told, dict) and told.get("status") == "cancelled"
    return is_cancelled and (result.error or "").startswith(_DENIALS)


def is_interruption(text: str) -> bool:
    """Whether a text in the user's name says that the user stopped the agent (Claude Code)."""
    return text.startswith(_INTERRUPTED)


def calling_id(message: Mapping[str, Any]) -> str | None:
    """Return the id of the call whose sub-agent wrote a message; empty if there is one and its id is not recorded."""
    parent = message.get("parent_tool_use_id")
    if isinstance(parent, str):
        return parent
    return "" if message.get("isSidechain") is True else None
