"""Codex CLI: the sessions it keeps, and the events that `codex exec --json` prints.

What is known to be neither a call nor a result is left out. Whatever else a line holds stays as it is, so that it is
not understood rather than not there.
"""

from __future__ import annotations

import re
from typing import Any

from ._log import Log, called, listed, plain, refused, returned, said, word

# codex-rs/protocol/src/protocol.rs, `RolloutItem`.
_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ABOUT = frozenset({"session_meta", "turn_context", "compacted", "inter_agent_communication", "world_state"})
"""Types of lines that are about the session."""
# codex-rs/protocol/src/models.rs, `ResponseItem`: what the harness adds to the model's items.
_NO_CALLS = frozenset({"ghost_snapshot", "compaction", "context_compaction", "compaction_trigger", "additional_tools"})
_EVENTS = ("thread.", "turn.", "item.plan.")
"""Prefixes of types of events (codex-rs/exec/src/exec_events.rs, `ThreadEvent`)."""
_SILENT = frozenset({"reasoning", "todo_list", "plan", "error"})
"""Types of items that are not calls: thoughts, the to-do list that is shown, errors of the session."""
_FAILED = ("failed", "errored")
_REJECTED = ("exec command rejected by user", "patch rejected by user")
"""Whole results of calls that the user did not allow; what a command writes has its exit code beside it."""
_EXIT = re.compile(r"(?:Exit code: |Process exited with code )(-?\d{1,9})\b")


def is_session_line(line: Any) -> bool:
    """Whether a line is one of a session that Codex keeps."""
    return isinstance(line, dict) and word(line.get("type")) in _LINES and isinstance(line.get("payload"), dict)


def session_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a session."""
    held = [line for line in lines if isinstance(line, dict)]
    items = [plain(line.get("payload")) for line in held if line.get("type") == "response_item"]
    known = {item["call_id"] for item in items if isinstance(item.get("call_id"), str)}
    events = [plain(line.get("payload")) for line in held if line.get("type") == "event_msg"]
    asked = {event["message"] for event in events if _is_typed(event, "user_message", "message")}
    messages: list[Any] = []
    for line in lines:
        messages += _of_line(line, known, asked)
    meta = next((plain(line.get("payload")) for line in held if line.get("type") == "session_meta"), {})
    session = meta.get("id")
    return [Log(messages, id=word(session) or None, about=meta)]


def _is_typed(event: dict[str, Any], kind: str, key: str) -> bool:
    return event.get("type") == kind and isinstance(event.get(key), str)


def _of_line(line: Any, known: set[str], asked: set[str]) -> list[Any]:
    kind = word(line.get("type")) if isinstance(line, dict) else ""
    if kind in _ABOUT:
        return []
    if kind == "response_item" and isinstance(line.get("payload"), dict):
        return _of_item(line["payload"], asked)
    if kind == "event_msg" and isinstance(line.get("payload"), dict):
        # Events repeat what the items say. One about a call that no item has is not understood.
        event = line["payload"]
        call_id = event.get("call_id")
        by_user = event.get("source") == "user_shell"
        return [] if call_id is None or by_user or (isinstance(call_id, str) and call_id in known) else [event]
    return [line]


def _of_item(item: dict[str, Any], asked: set[str]) -> list[Any]:
    kind, call_id = word(item.get("type")), item.get("call_id")
    if kind in _NO_CALLS:
        return []
    if kind == "message":
        return [_message(item, asked)]
    if kind == "local_shell_call" and isinstance(item.get("action"), dict):
        action = {key: held for key, held in item["action"].items() if key != "type" and held is not None}
        return [called(call_id or item.get("id"), "local_shell", action)]
    if kind in ("web_search_call", "tool_search_call") and isinstance(item.get("action", item.get("arguments")), dict):
        asked_for = item.get("action", item.get("arguments"))
        return [called(item.get("id") or call_id, kind.removesuffix("_call"), _without(plain(asked_for), "type"))]
    if kind == "custom_tool_call":
        # A custom tool has one argument, which is a text (OpenAI, "Custom tools").
        return [called(call_id, item.get("name"), {"input": item.get("input")})]
    if kind in ("function_call_output", "custom_tool_call_output"):
        return [_result(call_id, item.get("output"))]
    return [item]


def _message(item: dict[str, Any], asked: set[str]) -> dict[str, Any]:
    """Return a message. What Codex itself tells the model, as the user, is not the user's."""
    if item.get("role") != "user" or not asked:
        return item
    texts = [block.get("text") for block in listed(item.get("content")) if isinstance(block, dict)]
    is_own = all([isinstance(text, str) and text not in asked for text in texts])
    return {**item, "role": "developer"} if is_own and texts else item


def _result(call_id: Any, output: Any) -> dict[str, Any]:
    if output in _REJECTED:
        return refused(call_id, output)
    if isinstance(output, dict) and isinstance(output.get("success"), bool):
        return returned(call_id, output.get("content"), not output["success"])
    return returned(call_id, output, _exit_code(output) not in (0, None))


def _exit_code(output: Any) -> int | None:
    """Return the exit code of a command from the text that the model received about it."""
    if not isinstance(output, str):
        return None
    if output.startswith('{"output":'):
        found = re.search(r'"exit_code":\s{0,4}(-?\d{1,9})\b', output[-400:])
    else:
        found = _EXIT.search(output[:400])
    return int(found[1]) if found else None


def _without(held: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in held.items() if key not in keys and value is not None}


def is_early_line(line: Any) -> bool:
    """Whether a line is about a session as Codex kept it until August 2025: items without envelopes."""
    if not isinstance(line, dict) or "type" in line or "role" in line:
        return False
    return "record_type" in line or {"id", "timestamp", "instructions"} <= line.keys()


def early_logs(lines: list[Any]) -> list[Log]:
    """Return the log of such a session."""
    about: dict[str, Any] = next((line for line in lines if is_early_line(line) and "id" in line), {})
    items = [line for line in lines if not is_early_line(line)]
    messages = [each for item in items for each in (_of_item(item, set()) if isinstance(item, dict) else [item])]
    return [Log(messages, id=word(about.get("id")) or None, about=about)]


def is_early_session(document: Any) -> bool:
    """Whether a document is a session as the first Codex CLI kept it."""
    held = plain(document)
    return isinstance(held.get("session"), dict) and isinstance(held.get("items"), list) and "messages" not in held


def early_session_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of such a session."""
    return early_logs([{"instructions": "", "timestamp": "", "id": "", **document["session"]}, *document["items"]])


def is_event(event: Any) -> bool:
    """Whether an event is one that `codex exec --json` prints."""
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        return False
    kind = event["type"]
    return kind == "thread.started" or (kind.startswith("item.") and isinstance(event.get("item"), dict))


def event_logs(events: list[Any]) -> list[Log]:
    """Return the log of a run. An item is read as it was last reported, in the place where it was first reported."""
    items: dict[Any, dict[str, Any]] = {}
    messages: list[Any] = []
    thread = None
    for event in events:
        kind = word(event.get("type")) if isinstance(event, dict) else ""
        item = event.get("item") if isinstance(event, dict) else None
        if isinstance(item, dict) and kind.startswith("item."):
            has_id = isinstance(item.get("id"), str)
            if not has_id and kind != "item.completed":
                messages.append(("", {"tool_calls": [item]}))  # it may be told again when it is completed
                continue
            key = item.get("id") if has_id else id(item)
            if key not in items:
                messages.append(key)
            items[key] = item
        elif kind == "thread.started":
            thread = event.get("thread_id")
        elif not (kind.startswith(_EVENTS) or kind == "error"):
            messages.append(("", event))
    found: list[Any] = []
    for key in messages:
        found += [key[1]] if isinstance(key, tuple) else _of_thread_item(items[key])
    return [Log(found, id=word(thread) or None)]


def _of_thread_item(item: dict[str, Any]) -> list[Any]:
    kind = word(item.get("type", item.get("item_type")))  # it was named `item_type` until September 2025
    if kind in ("agent_message", "assistant_message"):
        return [said("assistant", item.get("text"))]
    if kind in _SILENT:
        return []
    if not kind:
        return [{"tool_calls": [item]}]  # a query or a text beside other keys would pass for a message
    name, args, output = _parts_of(kind, item)
    if name is None:
        return [item]
    call_id, status = item.get("id"), word(item.get("status"))
    made = called(call_id, name, args)
    if status == "declined":
        return [made, refused(call_id, "declined")]
    if status == "in_progress":
        return [made]
    error = plain(item.get("error")).get("message")
    failed = status in _FAILED or error is not None
    return [made, returned(call_id, None if failed and error else output, failed, error)]


def _parts_of(kind: str, item: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the name, the arguments and the output of an item that is a call; no name for another item."""
    if kind == "command_execution" and isinstance(item.get("command"), str):
        return kind, {"command": item["command"]}, item.get("aggregated_output")
    if kind == "file_change" and isinstance(item.get("changes"), list):
        return kind, {"changes": item["changes"]}, None
    if kind == "web_search" and isinstance(item.get("query"), str):
        return kind, {"query": item["query"]}, None
    if kind == "mcp_tool_call" and isinstance(item.get("tool"), str):
        result = plain(item.get("result"))
        return item["tool"], item.get("arguments"), result.get("structured_content") or result.get("content")
    if kind == "collab_tool_call" and isinstance(item.get("tool"), str):
        args = {key: item[key] for key in ("prompt", "receiver_thread_ids") if item.get(key) is not None}
        return item["tool"], args, item.get("agents_states")
    return None, None, None
