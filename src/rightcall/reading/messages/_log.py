"""The log of one conversation, and functions that make its messages, for readers of transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import TOLD
from rightcall.values.decoding import decode_json

ANSWERS = ("response", "completion", "output", "outputs", "choices", "generations", "result")
"""Keys of the model's response, in logs of requests."""
_PARTS_OF_ANSWERS = ("content", "candidates", "answer", "final_answer", "final_output", "text", "message")
"""Keys that a response may have itself, where it is in one object with its request."""
_CALLS = ("tool_calls", "toolCalls", "function_calls", "tools_called", "toolsCalled")
"""Keys of a list of all calls that the agent made: an empty one says that it made none."""


class Log(msgspec.Struct, frozen=True):
    """The messages of one conversation."""

    messages: list[Any] = []
    snapshots: tuple[list[Any], ...] = ()
    """Copies of the conversation so far, which some of its events contain."""
    id: str | None = None
    about: Mapping[str, Any] = {}
    """The object that holds the messages."""
    steps: str = ""
    """A description of steps beside the messages that were not read as calls; empty if there are none."""
    nested: str = ""
    """A description of what else makes the log incomplete, such as conversations of sub-agents; empty if nothing."""
    format: str = ""
    """The name of the transcript format that the messages were read from; empty if there was no transcript."""
    unused: tuple[str, ...] = ()
    """Keys of the document that were not read."""

    def __bool__(self) -> bool:
        return bool(self.messages or self.snapshots)

    @property
    def has_answer(self) -> bool:
        """Whether something beside the messages may be the answer of a model, or lists its calls, even if none."""
        is_listed = any([isinstance(self.about.get(key), list) for key in _CALLS])
        return is_listed or any([self.about.get(key) for key in (*ANSWERS, *_PARTS_OF_ANSWERS)])


def said(role: str, text: Any) -> dict[str, Any]:
    """Return a message that is only text."""
    return {"role": role, "content": word(text)}


def called(call_id: Any, name: Any, args: Any) -> dict[str, Any]:
    """Return the message of a requested call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def returned(call_id: Any, output: Any, failed: bool = False, error: Any = None) -> dict[str, Any]:
    """Return the message of a result. `error` is the text of an error that was recorded apart from the output."""
    result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": failed}
    return {**result, "error": error} if isinstance(error, str) and error else result


def refused(call_id: Any, reason: Any) -> dict[str, Any]:
    """Return the message that says that a call was not made, and why."""
    return {"type": "user.tool_confirmation", "tool_use_id": call_id, "result": "deny", "deny_message": word(reason)}


def plain(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one. Transcripts may have a value of any type at any key."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def word(value: Any) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def decoded(value: Any) -> Any:
    """Return the value of JSON text; None if it is not JSON. Any other value is returned unchanged."""
    try:
        return decode_json(value) if isinstance(value, str) else value
    except InputError:
        return None


_USED = frozenset(
    {*TOLD, "messages", "conversation", "contents", "metadata", "trace_id", "conversation_id", "session_id", "id"}
)
_MOST_UNUSED = 20


def unused_in(document: Any, *used: str) -> tuple[str, ...]:
    """Return the keys of a document with a value that no reader of logs uses."""
    held = document.items() if isinstance(document, dict) else ()
    found = [str(key)[:40] for key, value in held if value and key not in _USED and key not in used]
    return tuple(found[:_MOST_UNUSED])
