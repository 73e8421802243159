"""Read sessions of GitHub Copilot CLI: events of the user, of the model, and of tools."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ._event_lines import session_of
from ._log import Log, called, listed, plain, refused, returned, said, word

_ABOUT = ("session.", "assistant.", "hook.", "system.", "abort", "tool.execution_p", "tool.user_requested", "skill.")
"""Prefixes of types of events that are neither a call nor a result; progress of a tool is one."""
_NOT_ALLOWED = ("rejected", "denied")
"""Codes of errors of calls that were not carried out."""


def is_copilot_event(line: Any) -> bool:
    """Whether a line is an event of a session of GitHub Copilot CLI that no other agent writes."""
    return (
        isinstance(line, dict)
        and word(line.get("type")) in ("tool.execution_start", "tool.execution_complete", "assistant.turn_start")
        and isinstance(line.get("data"), dict)
    )


def copilot_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a session. A call is where the model asked for it, or else where it began."""
    told = [(word(plain(line).get("type")), plain(plain(line).get("data"))) for line in lines]
    session = _Session(told)
    messages: list[Any] = []
    for line, (kind, data) in zip(lines, told, strict=True):
        if not isinstance(line, dict) or not isinstance(line.get("data"), dict):
            messages.append(line)
        elif kind == "assistant.message":
            messages += _of_caller(session.answer(data), data)
        elif kind != "tool.execution_start" or not session.was_asked_for(data):
            messages += _of_caller(_of_event(kind, data, line), data)
    return [Log(messages, id=session_of(lines))]


class _Session:
    """What the events of a session tell of each call: the request of the model, and its beginning."""

    def __init__(self, told: list[tuple[str, dict[str, Any]]]) -> None:
        answers = [data for kind, data in told if kind == "assistant.message"]
        requests = [plain(each) for data in answers for each in listed(data.get("toolRequests"))]
        starts = [data for kind, data in told if kind == "tool.execution_start"]
        self._asked = {word(each.get("toolCallId")) for each in requests} - {""}
        self._begun = {word(data.get("toolCallId")): data for data in starts if word(data.get("toolCallId"))}
        # One of the two may have lost its id: then it is told by the other one, which has the name.
        self._only_begun = Counter(
            [word(each.get("toolName")) for key, each in self._begun.items() if key not in self._asked]
        )
        self._only_asked = Counter([word(each.get("name")) for each in requests if self._is_never_begun(each)])

    def _is_never_begun(self, request: dict[str, Any]) -> bool:
        call_id = word(request.get("toolCallId"))
        return bool(call_id) and call_id not in self._begun

    def answer(self, data: dict[str, Any]) -> list[Any]:
        """Return what the model said and asked for. An event may leave the name or the arguments to the other one."""
        text = [said("assistant", data["content"])] if data.get("content") else []
        calls: list[Any] = []
        for request in listed(data.get("toolRequests")):
            held = plain(request)
            if not word(held.get("toolCallId")) and _take(self._only_begun, word(held.get("name"))):
                continue
            start = self._begun.get(word(held.get("toolCallId")), {})
            name, args = held.get("name") or start.get("toolName"), held.get("arguments", start.get("arguments"))
            calls.append(called(held.get("toolCallId"), name, args) if held else {"tool_calls": [request]})
        return [*text, {"role": "assistant", "content": calls}] if calls else text

    def was_asked_for(self, start: dict[str, Any]) -> bool:
        """Whether a request tells the call that begins."""
        call_id = word(start.get("toolCallId"))
        return call_id in self._asked or (not call_id and _take(self._only_asked, word(start.get("toolName"))))


def _take(left: Counter[str], name: str) -> bool:
    """Take one of the calls of a name that are left, if there is one."""
    if not left[name]:
        return False
    left[name] -= 1
    return True


def _of_event(kind: str, data: dict[str, Any], event: dict[str, Any]) -> list[Any]:
    if kind == "user.message":
        return [said("user", data.get("content"))]
    call_id = data.get("toolCallId")
    if kind == "tool.execution_start":
        return [called(call_id, data.get("toolName"), data.get("arguments"))]
    if kind == "tool.execution_complete":
        result, error = data.get("result"), plain(data.get("error"))
        if error.get("code") in _NOT_ALLOWED:
            return [refused(call_id, error.get("message"))]
        held = plain(result)
        output = held.get("content", held.get("detailedContent")) if held else result
        return [returned(call_id, output, data.get("success") is False, error.get("message"))]
    return [] if kind.startswith(_ABOUT) else [event]


def _of_caller(messages: list[Any], data: dict[str, Any]) -> list[Any]:
    """Return messages with the call whose sub-agent they are of, if they are of one."""
    caller = data.get("parentToolCallId")
    return [{**each, "parent_tool_use_id": caller} for each in messages] if isinstance(caller, str) else messages
