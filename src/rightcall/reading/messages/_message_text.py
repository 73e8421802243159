"""The author of a message, and its text without calls, results and thoughts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from rightcall.errors import InputError
from rightcall.values.decoding import decode_json, decode_text

Writer = Literal["user", "model", ""]

_WRITERS: dict[str, Writer] = {
    "user": "user",
    "human": "user",
    "humanmessage": "user",
    "request": "user",
    "gen_ai.user.message": "user",
    "assistant": "model",
    "model": "model",
    "ai": "model",
    "aimessage": "model",
    "aimessagechunk": "model",
    "response": "model",
    "gen_ai.choice": "model",
    "gen_ai.assistant.message": "model",
}
_TEXTS = frozenset({"text", "output_text", "input_text", "user-prompt"})
_KINDS = ("type", "block_type", "part_kind")
_CONTENTS = ("content", "contents", "parts", "blocks")
_WRAPPINGS = 5
_OF_AUTOGEN = "Message"

_WRITTEN = re.compile(r"content=(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") additional_kwargs=", re.S)
_ASKS = re.compile(r" tool_calls=\[\{")
_RESULT = re.compile(r" tool_call_id='")


def writer_of(message: Any) -> Writer:
    """Return whether the user or the model wrote a message; empty for instructions, results and unknown authors."""
    message = _unwrapped(message)
    if not isinstance(message, Mapping):
        return ""
    for key in ("role", "type", "kind", "event.name"):
        found = _WRITERS.get(str(message.get(key, "")).lower())
        if found:
            return found
    source, kind = message.get("source"), message.get("type")
    if isinstance(source, str) and isinstance(kind, str) and kind.endswith(_OF_AUTOGEN):
        return "user" if source == "user" else "model"
    return ""


def text_of(message: Any) -> str | None:
    """Return the text of a message; None if there is none."""
    message = _unwrapped(message)
    if not isinstance(message, Mapping):
        return None
    held = next((message[key] for key in _CONTENTS if message.get(key)), None)
    return _text_in(held) or None


def asks_for_calls(message: Any) -> bool:
    """Whether a message has a list of calls, of any format."""
    message = _unwrapped(message)
    if not isinstance(message, Mapping):
        return False
    return bool(message.get("tool_calls") or message.get("function_call"))


def written_text(message: str) -> str | None:
    """Return the text in the `repr` of a LangChain message; None if it asks for calls or is a result."""
    found = _WRITTEN.match(message)
    if found is None or _ASKS.search(message, found.end()) or _RESULT.search(message, found.end()):
        return None
    try:
        text = decode_text(found["text"])
    except InputError:
        return None
    return text if isinstance(text, str) and text else None


def is_pair(message: Any) -> bool:
    """Whether a message is a pair of role and text, as LangChain accepts them."""
    return (
        isinstance(message, list)
        and len(message) == 2
        and all([isinstance(each, str) for each in message])
        and message[0] in ("user", "human", "ai", "assistant", "system")
    )


def _unwrapped(message: Any) -> Any:
    """Return the message inside the wrappings of libraries, with the role that a wrapping gives it."""
    if is_pair(message):
        return {"role": message[0], "content": message[1]}
    for _ in range(_WRAPPINGS):
        if not isinstance(message, Mapping):
            return message
        inner = _inside(message)
        if inner is None:
            return message
        message = inner
    return message


def _inside(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    kind = message.get("type")
    data, kwargs, inner, content = (message.get(key) for key in ("data", "kwargs", "message", "content"))
    if isinstance(data, Mapping) and "content" in data:
        return {"type": kind, **data}
    if message.get("lc") == 1 and isinstance(kwargs, Mapping):
        names = message.get("id")
        return {"type": names[-1] if isinstance(names, list) and names else "", **kwargs}
    if isinstance(inner, Mapping):
        return inner
    if isinstance(inner, str) and "finish_reason" in message:
        return {"role": "assistant", "content": inner}
    if isinstance(content, Mapping) and ("parts" in content or "role" in content):
        return content
    return None


def _text_in(held: Any) -> str:
    if isinstance(held, str):
        blocks = _blocks(held)
        return held if blocks is None else _text_in(blocks)
    if not isinstance(held, list):
        return ""
    return "".join([_text_of_part(part) for part in held])


def _text_of_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    inner = part.get("message_content")
    part = inner if isinstance(inner, Mapping) else part
    kind = next((part[key] for key in _KINDS if isinstance(part.get(key), str)), None)
    if kind is not None and kind not in _TEXTS:
        return ""
    if kind is None and part.get("thought"):
        return ""
    text = part.get("text", part.get("content") if kind is not None else None)
    return text if isinstance(text, str) else ""


def _blocks(text: str) -> list[Any] | None:
    # OpenLLMetry and Strands keep blocks of content as JSON text.
    if text[:2] != "[{":
        return None
    try:
        held = decode_json(text)
    except InputError:
        return None
    known = isinstance(held, list) and all(isinstance(block, dict) and _is_block(block) for block in held)
    return held if known else None


def _is_block(block: Mapping[str, Any]) -> bool:
    return bool({"type", "text", "toolUse", "toolResult", "json", "reasoningContent"} & block.keys())
