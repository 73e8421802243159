"""Gemini CLI and what derives from it: the chats it keeps, and the events of its output format `stream-json`."""

from __future__ import annotations

from typing import Any

from ._log import Log, called, listed, plain, refused, returned, said, word
from ._unknown_calls import sign_of

_FAILED = frozenset({"error", "failed"})
_KEYS = frozenset({"id", "timestamp", "type", "content", "displayContent", "toolCalls", "thoughts", "tokens", "model"})
"""Keys of a message that are read, or that are known to hold no calls."""


def is_chat(document: Any) -> bool:
    """Whether a document is a chat that Gemini CLI keeps."""
    return isinstance(document, dict) and isinstance(document.get("messages"), list) and "projectHash" in document


def chat_logs(chat: dict[str, Any]) -> list[Log]:
    """Return the log of a chat."""
    return [_chat(chat["messages"], chat)]


def is_chat_line(line: Any) -> bool:
    """Whether a line is a message of such a chat."""
    return isinstance(line, dict) and line.get("type") == "gemini" and "content" in line


def line_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a chat that was kept line by line."""
    about: dict[str, Any] = next((line for line in lines if _is_about(line) and "projectHash" in line), {})
    return [_chat([line for line in lines if not _is_about(line)], about)]


def _is_about(line: Any) -> bool:
    """Whether a line is about the chat: its header, or a change of it."""
    return isinstance(line, dict) and ("projectHash" in line or line.keys() == {"$set"})


def _chat(messages: list[Any], about: dict[str, Any]) -> Log:
    session = about.get("sessionId")
    return Log(
        [each for message in messages for each in _of_message(message)],
        id=word(session) or None,
        about=about,
    )


def _of_message(message: Any) -> list[Any]:
    kind = word(plain(message).get("type"))
    if kind in ("info", "error", "warning"):
        return []
    calls = plain(message).get("toolCalls")
    if kind not in ("user", "gemini"):
        # Whatever its type is, its calls have the state that calls of this format have.
        found = [_without_calls(message) if calls else message]
    else:
        role = "model" if kind == "gemini" else "user"
        found = [{"role": role, "content": message.get("content")}]
        others = {key: held for key, held in message.items() if key not in _KEYS}
        found += [{"tool_calls": [others]}] if sign_of(others) else []
    if calls is not None and not isinstance(calls, list):
        return [*found, {"tool_calls": calls or "not a list"}]
    for call in listed(calls):
        found += _of_call(call) if isinstance(call, dict) else [{"tool_calls": [call]}]
    return found


def _without_calls(message: dict[str, Any]) -> dict[str, Any]:
    return {key: held for key, held in message.items() if key != "toolCalls"}


def _of_call(call: dict[str, Any]) -> list[Any]:
    call_id, status = call.get("id"), word(call.get("status")).lower()
    made = called(call_id, call.get("name"), call.get("args"))
    if status == "cancelled":
        return [made, refused(call_id, call.get("resultDisplay"))]
    results = [plain(plain(part).get("functionResponse")) for part in listed(call.get("result"))]
    outputs = [result["response"] for result in results if "response" in result]
    output = outputs[0] if len(outputs) == 1 else outputs or call.get("resultDisplay")
    if isinstance(output, dict) and len(output) == 1:
        output = output.get("output", output.get("error", output))
    return [made, returned(call_id, output, status in _FAILED)]


def is_prompt_line(line: Any) -> bool:
    """Whether a line is one of the prompts that Gemini CLI keeps beside its chats."""
    held = plain(line)
    return {"sessionId", "messageId", "type"} <= held.keys() and isinstance(held.get("message"), str)


def prompt_logs(lines: list[Any]) -> list[Log]:
    """Return the log of prompts, which does not show what the agent did."""
    said_alone = "the prompts of the user alone; Gemini CLI keeps its chats in other files"
    return [Log([said("user", plain(line).get("message")) for line in lines], nested=said_alone)]


def is_stream_event(event: Any) -> bool:
    """Whether an event is one of the output format `stream-json`."""
    return isinstance(event, dict) and word(event.get("type")) in ("tool_use", "tool_result") and "tool_id" in event


def stream_logs(events: list[Any]) -> list[Log]:
    """Return the log of all events. Pieces of one message follow one another."""
    found: list[Any] = []
    for event in events:
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "tool_use":
            found.append(called(event.get("tool_id"), event.get("tool_name"), event.get("parameters")))
        elif kind == "tool_result":
            failed = event.get("status") == "error"
            error = plain(event.get("error")).get("message")
            found.append(returned(event.get("tool_id"), event.get("output"), failed, error))
        elif kind == "message" and event.get("delta") and _goes_on(found, event):
            found[-1] = said(word(event.get("role")), f"{found[-1].get('content')}{event.get('content')}")
        elif kind not in ("init", "result", "error"):
            found.append(event)
    return [Log(found)]


def _goes_on(found: list[Any], event: dict[str, Any]) -> bool:
    """Whether a piece of a message goes on with the message before it."""
    return bool(found) and isinstance(found[-1], dict) and found[-1].get("role") == event.get("role")
