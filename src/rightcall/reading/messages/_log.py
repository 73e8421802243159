"""A log: the messages of one conversation. And the messages into which readers of transcripts write what they find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import TOLD
from rightcall.values.decoding import decode_json


class Log(msgspec.Struct, frozen=True):
    """The messages of one conversation."""

    messages: list[Any] = []
    snapshots: tuple[list[Any], ...] = ()
    """The conversation so far, as some of its events repeat it."""
    id: str | None = None
    about: Mapping[str, Any] = {}
    """The object that holds the messages."""
    steps: str = ""
    """A description of steps beside the messages that were not read as calls; empty if there are none."""
    nested: str = ""
    """A description of other conversations beside the messages, such as those of sub-agents."""
    format: str = ""
    """The transcript that the messages were read from; empty if they lay there as messages."""
    unused: tuple[str, ...] = ()
    """Keys of the document that were not looked at."""

    def __bool__(self) -> bool:
        return bool(self.messages or self.snapshots)


def said(role: str, text: Any) -> dict[str, Any]:
    """A message of text."""
    return {"role": role, "content": word(text)}


def called(call_id: Any, name: Any, args: Any) -> dict[str, Any]:
    """A requested call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def returned(call_id: Any, output: Any, failed: bool = False, error: Any = None) -> dict[str, Any]:
    """The result of a call. An error that lies apart from the output is not one: the call gave nothing back."""
    result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": failed}
    return {**result, "error": error} if isinstance(error, str) and error else result


def refused(call_id: Any, reason: Any) -> dict[str, Any]:
    """The note that a call was not carried out."""
    return {"type": "user.tool_confirmation", "tool_use_id": call_id, "result": "deny", "deny_message": word(reason)}


def plain(value: Any) -> dict[str, Any]:
    """Return an object; empty if this is not one. Transcripts from strangers have any type at any key."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list; empty if this is not one."""
    return value if isinstance(value, list) else []


def word(value: Any) -> str:
    """Return a text; empty if this is not one."""
    return value if isinstance(value, str) else ""


def decoded(value: Any) -> Any:
    """Return what a text of JSON holds; None if it is not JSON. Any other value stays as it is."""
    try:
        return decode_json(value) if isinstance(value, str) else value
    except InputError:
        return None


_USED = frozenset(
    {*TOLD, "messages", "conversation", "contents", "metadata", "trace_id", "conversation_id", "session_id", "id"}
)
_MOST_UNUSED = 20


def unused_in(document: Any, *used: str) -> tuple[str, ...]:
    """Return the keys of a document that hold something, and that no reader of logs looks at."""
    held = document.items() if isinstance(document, dict) else ()
    found = [str(key)[:40] for key, value in held if value and key not in _USED and key not in used]
    return tuple(found[:_MOST_UNUSED])
