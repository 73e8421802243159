"""What a log of messages was asked, and what it answered in the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._message_log import exchanges_of

_USER = frozenset({"user", "human"})
_MODEL = frozenset({"assistant", "model", "ai"})


def question(messages: list[Any]) -> str | None:
    """The text of the first message of the user."""
    return next((text for message in messages if (text := _text(message, _USER))), None)


def answer(messages: list[Any]) -> str | None:
    """The text of the last message, where the model wrote it and asked for nothing more in it."""
    if not messages or any(exchange.calls or exchange.results for exchange in exchanges_of(messages[-1:])):
        return None
    return _text(messages[-1], _MODEL)


def _text(message: Any, roles: frozenset[str]) -> str | None:
    if not isinstance(message, dict):
        return None
    inner = message.get("data")
    role = message.get("role") or message.get("type")
    held: Any = inner if isinstance(inner, dict) else message
    if not isinstance(role, str) or role not in roles or held.get("tool_calls") or held.get("function_call"):
        return None
    content = held.get("content", held.get("parts"))
    if isinstance(content, str):
        return content or None
    return _joined(content) if isinstance(content, list) else None


def _joined(parts: Iterable[Any]) -> str | None:
    texts = [part.get("text", part.get("content")) if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str)) or None
