"""Sessions of coding agents: Codex CLI, GitHub Copilot CLI, Gemini CLI, OpenHands.

Each reader leaves out what is known to be neither a call nor a result, and passes on everything else unchanged: a line
of no known format then makes the log "not understood" (RC304) instead of disappearing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ._event_lines import session_of
from ._log import Log, called, listed, plain, refused, returned, said, word
from ._unknown_calls import sign_of

# codex-rs/protocol/src/protocol.rs, `RolloutItem`.
_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ABOUT_CODEX = frozenset({"session_meta", "turn_context", "compacted", "inter_agent_communication", "world_state"})
"""Types of lines that are about the session."""
# codex-rs/protocol/src/models.rs, `ResponseItem`: what the harness adds to the model's items.
_NO_CALLS_IN_CODEX = frozenset(
    {"ghost_snapshot", "compaction", "context_compaction", "compaction_trigger", "additional_tools"}
)
_EVENTS_OF_CODEX = ("thread.", "turn.", "item.plan.")
"""Prefixes of types of events (codex-rs/exec/src/exec_events.rs, `ThreadEvent`)."""
_SILENT = frozenset({"reasoning", "todo_list", "plan", "error"})
"""Types of items that are not calls: thoughts, the to-do list that is shown, errors of the session."""
_FAILED_IN_CODEX = ("failed", "errored")
_REJECTED = ("exec command rejected by user", "patch rejected by user")
"""Complete texts of results of calls that the user rejected. A command's own output always has an exit code with it."""
_EXIT = re.compile(r"(?:Exit code: |Process exited with code )(-?\d{1,9})\b")
_ABOUT_COPILOT = (
    "session.",
    "assistant.",
    "hook.",
    "system.",
    "abort",
    "tool.execution_p",
    "tool.user_requested",
    "skill.",
)
"""Prefixes of types of events that are neither a call nor a result, such as the progress of a tool."""
_NOT_ALLOWED = ("rejected", "denied")
"""Error codes of calls that were not allowed to run."""
_FAILED_IN_GEMINI = frozenset({"error", "failed"})
_KEYS = frozenset({"id", "timestamp", "type", "content", "displayContent", "toolCalls", "thoughts", "tokens", "model"})
"""Keys of a message that are read, or that are known to hold no calls."""
# openhands/core/schema/action.py and observation.py: what is about the session, and not something the agent did.
_NO_CALLS_IN_OPENHANDS = frozenset(
    {
        "message",
        "system",
        "recall",
        "null",
        "pause",
        "resume",
        "stop",
        "change_agent_state",
        "agent_state_changed",
        "condensation",
        "condensation_request",
        "loop_detection",
        "finish",
        "reject",
    }
)
_KEPT = ("thought", "security_risk", "confirmation_state", "hidden", "image_urls", "wait_for_response", "is_confirmed")
"""Keys of `args` that are not arguments of the action."""
_EVENTS_OF_OPENHANDS = frozenset(
    {"ActionEvent", "ObservationEvent", "MessageEvent", "AgentErrorEvent", "SystemPromptEvent"}
)
_OTHER_EVENTS = (
    "State",
    "ConversationState",
    "ConversationError",
    "Pause",
    "Interrupt",
    "Condens",
    "SystemPrompt",
    "Token",
    "LLMCompletion",
)
"""Beginnings of the kinds of events of the SDK that are about the session."""
_SOURCES = ("agent", "user", "environment")


def is_codex_line(line: Any) -> bool:
    """Whether a line belongs to a session file of Codex."""
    return isinstance(line, dict) and word(line.get("type")) in _LINES and isinstance(line.get("payload"), dict)


def codex_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a Codex session."""
    held = [line for line in lines if isinstance(line, dict)]
    items = [plain(line.get("payload")) for line in held if line.get("type") == "response_item"]
    known = {item["call_id"] for item in items if isinstance(item.get("call_id"), str)}
    events = [plain(line.get("payload")) for line in held if line.get("type") == "event_msg"]
    asked = {event["message"] for event in events if _is_typed(event, "user_message", "message")}
    messages: list[Any] = []
    for line in lines:
        messages += _of_codex_line(line, known, asked)
    meta = next((plain(line.get("payload")) for line in held if line.get("type") == "session_meta"), {})
    session = meta.get("id")
    return [Log(messages, id=word(session) or None, about=meta)]


def _is_typed(event: dict[str, Any], kind: str, key: str) -> bool:
    return event.get("type") == kind and isinstance(event.get(key), str)


def _of_codex_line(line: Any, known: set[str], asked: set[str]) -> list[Any]:
    """Return the messages in a line of a Codex session."""
    kind = word(line.get("type")) if isinstance(line, dict) else ""
    if kind in _ABOUT_CODEX:
        return []
    if kind == "response_item" and isinstance(line.get("payload"), dict):
        return _of_codex_item(line["payload"], asked)
    if kind == "event_msg" and isinstance(line.get("payload"), dict):
        # Events repeat the items. An event about a call that no item has is kept, and so not understood.
        event = line["payload"]
        call_id = event.get("call_id")
        by_user = event.get("source") == "user_shell"
        return [] if call_id is None or by_user or (isinstance(call_id, str) and call_id in known) else [event]
    return [line]


def _of_codex_item(item: dict[str, Any], asked: set[str]) -> list[Any]:
    """Return the messages in an item of a Codex session."""
    kind, call_id = word(item.get("type")), item.get("call_id")
    if kind in _NO_CALLS_IN_CODEX:
        return []
    if kind == "message":
        return [_codex_message(item, asked)]
    if kind == "local_shell_call" and isinstance(item.get("action"), dict):
        action = {key: value for key, value in item["action"].items() if key != "type" and value is not None}
        return [called(call_id or item.get("id"), "local_shell", action)]
    if kind in ("web_search_call", "tool_search_call") and isinstance(item.get("action", item.get("arguments")), dict):
        asked_for = item.get("action", item.get("arguments"))
        named = call_id if kind == "tool_search_call" else None  # its result has the same
        return [
            called(named or item.get("id") or call_id, kind.removesuffix("_call"), _without(plain(asked_for), "type"))
        ]
    if kind == "custom_tool_call":
        # A custom tool has one argument, which is a text (OpenAI, "Custom tools").
        return [called(call_id, item.get("name"), {"input": item.get("input")})]
    if kind in ("function_call_output", "custom_tool_call_output"):
        return [_codex_result(call_id, item.get("output"))]
    return [item]


def _codex_message(item: dict[str, Any], asked: set[str]) -> dict[str, Any]:
    """Return a message; if Codex itself wrote it in the role of the user, with the role `developer`."""
    if item.get("role") != "user" or not asked:
        return item
    texts = [block.get("text") for block in listed(item.get("content")) if isinstance(block, dict)]
    is_own = all([isinstance(text, str) and text not in asked for text in texts])
    return {**item, "role": "developer"} if is_own and texts else item


def _codex_result(call_id: Any, output: Any) -> dict[str, Any]:
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


def is_early_codex_line(line: Any) -> bool:
    """Whether a line is the header or the state of a Codex session before August 2025, when items had no envelopes."""
    if not isinstance(line, dict) or "type" in line or "role" in line:
        return False
    return "record_type" in line or {"id", "timestamp", "instructions"} <= line.keys()


def early_codex_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a Codex session before August 2025."""
    about: dict[str, Any] = next((line for line in lines if is_early_codex_line(line) and "id" in line), {})
    items = [line for line in lines if not is_early_codex_line(line)]
    messages = [each for item in items for each in (_of_codex_item(item, set()) if isinstance(item, dict) else [item])]
    return [Log(messages, id=word(about.get("id")) or None, about=about)]


def is_first_codex_session(document: Any) -> bool:
    """Whether a document is a session of the first Codex CLI, one JSON object a file."""
    value = plain(document)
    return isinstance(value.get("session"), dict) and isinstance(value.get("items"), list) and "messages" not in value


def first_codex_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a session of the first Codex CLI."""
    return early_codex_logs(
        [{"instructions": "", "timestamp": "", "id": "", **document["session"]}, *document["items"]]
    )


def is_codex_event(event: Any) -> bool:
    """Whether an event is one that `codex exec --json` prints."""
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        return False
    kind = event["type"]
    return kind == "thread.started" or (kind.startswith("item.") and isinstance(event.get("item"), dict))


def codex_event_logs(events: list[Any]) -> list[Log]:
    """Return the log of a run: each item in its last reported state, at the position of its first report."""
    items: dict[Any, dict[str, Any]] = {}
    messages: list[Any] = []
    thread = None
    for event in events:
        kind = word(event.get("type")) if isinstance(event, dict) else ""
        item = event.get("item") if isinstance(event, dict) else None
        if isinstance(item, dict) and kind.startswith("item."):
            has_id = isinstance(item.get("id"), str)
            if not has_id and kind != "item.completed":
                messages.append(("", {"tool_calls": [item]}))  # its completion may report it again
                continue
            key = item.get("id") if has_id else id(item)
            if key not in items:
                messages.append(key)
            items[key] = item
        elif kind == "thread.started":
            thread = event.get("thread_id")
        elif not (kind.startswith(_EVENTS_OF_CODEX) or kind == "error"):
            messages.append(("", event))
    found: list[Any] = []
    for key in messages:
        found += [key[1]] if isinstance(key, tuple) else _of_thread_item(items[key])
    return [Log(found, id=word(thread) or None)]


def _of_thread_item(item: dict[str, Any]) -> list[Any]:
    """Return the messages in an item of `codex exec --json`."""
    kind = word(item.get("type", item.get("item_type")))  # it was named `item_type` until September 2025
    if kind in ("agent_message", "assistant_message"):
        return [said("assistant", item.get("text"))]
    if kind in _SILENT:
        return []
    if not kind:
        return [{"tool_calls": [item]}]  # otherwise one with a query or a text would pass for a message
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
    failed = status in _FAILED_IN_CODEX or error is not None
    return [made, returned(call_id, None if failed and error else output, failed, error)]


def _parts_of(kind: str, item: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the name, the arguments and the output of an item that is a call; three times None for other items."""
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


def is_copilot_event(line: Any) -> bool:
    """Whether a line is an event that only GitHub Copilot CLI writes."""
    return (
        isinstance(line, dict)
        and word(line.get("type")) in ("tool.execution_start", "tool.execution_complete", "assistant.turn_start")
        and isinstance(line.get("data"), dict)
    )


def copilot_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a session, with each call where the model requested it, or else where it started."""
    told = [(word(plain(line).get("type")), plain(plain(line).get("data"))) for line in lines]
    session = _CopilotSession(told)
    messages: list[Any] = []
    for line, (kind, data) in zip(lines, told, strict=True):
        if not isinstance(line, dict) or not isinstance(line.get("data"), dict):
            messages.append(line)
        elif kind == "assistant.message":
            messages += _of_caller(session.answer(data), data)
        elif kind != "tool.execution_start" or not session.was_asked_for(data):
            messages += _of_caller(_of_copilot(kind, data, line), data)
    return [Log(messages, id=session_of(lines))]


class _CopilotSession:
    """The two events of each call in a session: the request of the model, and the start of the tool."""

    def __init__(self, told: list[tuple[str, dict[str, Any]]]) -> None:
        answers = [data for kind, data in told if kind == "assistant.message"]
        requests = [plain(each) for data in answers for each in listed(data.get("toolRequests"))]
        starts = [data for kind, data in told if kind == "tool.execution_start"]
        self._asked = {word(each.get("toolCallId")) for each in requests} - {""}
        self._begun = {word(data.get("toolCallId")): data for data in starts if word(data.get("toolCallId"))}
        # If one of the two events has no id, it is paired with the other one by the tool's name.
        self._only_begun = Counter(
            [word(each.get("toolName")) for key, each in self._begun.items() if key not in self._asked]
        )
        self._only_asked = Counter([word(each.get("name")) for each in requests if self._is_never_begun(each)])

    def _is_never_begun(self, request: dict[str, Any]) -> bool:
        call_id = word(request.get("toolCallId"))
        return bool(call_id) and call_id not in self._begun

    def answer(self, data: dict[str, Any]) -> list[Any]:
        """Return the text and the calls of an answer; a name or arguments missing in a request come from its start."""
        text = [said("assistant", data["content"])] if data.get("content") else []
        calls: list[Any] = []
        for request in listed(data.get("toolRequests")):
            value = plain(request)
            if not word(value.get("toolCallId")) and _take(self._only_begun, word(value.get("name"))):
                continue
            start = self._begun.get(word(value.get("toolCallId")), {})
            name, args = value.get("name") or start.get("toolName"), value.get("arguments", start.get("arguments"))
            calls.append(called(value.get("toolCallId"), name, args) if value else {"tool_calls": [request]})
        return [*text, {"role": "assistant", "content": calls}] if calls else text

    def was_asked_for(self, start: dict[str, Any]) -> bool:
        """Whether the call that starts is already in a request of the model."""
        call_id = word(start.get("toolCallId"))
        return call_id in self._asked or (not call_id and _take(self._only_asked, word(start.get("toolName"))))


def _take(left: Counter[str], name: str) -> bool:
    """Take one of the remaining calls with this name; return False if there is none."""
    if not left[name]:
        return False
    left[name] -= 1
    return True


def _of_copilot(kind: str, data: dict[str, Any], event: dict[str, Any]) -> list[Any]:
    """Return the messages in an event of GitHub Copilot CLI."""
    if kind == "user.message":
        return [said("user", data.get("content"))]
    call_id = data.get("toolCallId")
    if kind == "tool.execution_start":
        return [called(call_id, data.get("toolName"), data.get("arguments"))]
    if kind == "tool.execution_complete":
        result, error = data.get("result"), plain(data.get("error"))
        if error.get("code") in _NOT_ALLOWED:
            return [refused(call_id, error.get("message"))]
        value = plain(result)
        output = value.get("content", value.get("detailedContent")) if value else result
        return [returned(call_id, output, data.get("success") is False, error.get("message"))]
    return [] if kind.startswith(_ABOUT_COPILOT) else [event]


def _of_caller(messages: list[Any], data: dict[str, Any]) -> list[Any]:
    """Return messages marked with the id of the call that started their sub-agent, if a sub-agent wrote them."""
    caller = data.get("parentToolCallId")
    return [{**each, "parent_tool_use_id": caller} for each in messages] if isinstance(caller, str) else messages


def is_gemini_chat(document: Any) -> bool:
    """Whether a document is a chat file of Gemini CLI."""
    return isinstance(document, dict) and isinstance(document.get("messages"), list) and "projectHash" in document


def gemini_chat_logs(chat: dict[str, Any]) -> list[Log]:
    """Return the log of a chat file of Gemini CLI."""
    return [_gemini_log(chat["messages"], chat)]


def is_gemini_line(line: Any) -> bool:
    """Whether a line is the model's message in a chat file of Gemini CLI with one message a line."""
    return isinstance(line, dict) and line.get("type") == "gemini" and "content" in line


def gemini_line_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a chat file of Gemini CLI with one message a line."""
    about: dict[str, Any] = next((line for line in lines if _is_about_gemini(line) and "projectHash" in line), {})
    return [_gemini_log([line for line in lines if not _is_about_gemini(line)], about)]


def _is_about_gemini(line: Any) -> bool:
    """Whether a line is about the chat: its header, or a change of it."""
    return isinstance(line, dict) and ("projectHash" in line or line.keys() == {"$set"})


def _gemini_log(messages: list[Any], about: dict[str, Any]) -> Log:
    session = about.get("sessionId")
    return Log(
        [each for message in messages for each in _of_gemini(message)],
        id=word(session) or None,
        about=about,
    )


def _of_gemini(message: Any) -> list[Any]:
    """Return a message of Gemini CLI, followed by its calls and their results."""
    kind = word(plain(message).get("type"))
    if kind in ("info", "error", "warning"):
        return []
    calls = plain(message).get("toolCalls")
    if kind not in ("user", "gemini"):
        # A message of an unknown type may still list calls: they are read, with their status, like those of any other.
        found = [_without_calls(message) if calls else message]
    else:
        role = "model" if kind == "gemini" else "user"
        found = [{"role": role, "content": message.get("content")}]
        others = {key: value for key, value in message.items() if key not in _KEYS}
        found += [{"tool_calls": [others]}] if sign_of(others) else []
    if calls is not None and not isinstance(calls, list):
        return [*found, {"tool_calls": calls or "not a list"}]
    for call in listed(calls):
        found += _gemini_call(call) if isinstance(call, dict) else [{"tool_calls": [call]}]
    return found


def _without_calls(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != "toolCalls"}


def _gemini_call(call: dict[str, Any]) -> list[Any]:
    """Return a call of Gemini CLI and its result, or the note that it was cancelled."""
    call_id, status = call.get("id"), word(call.get("status")).lower()
    made = called(call_id, call.get("name"), call.get("args"))
    if status == "cancelled":
        return [made, refused(call_id, call.get("resultDisplay"))]
    results = [plain(plain(part).get("functionResponse")) for part in listed(call.get("result"))]
    outputs = [result["response"] for result in results if "response" in result]
    output = outputs[0] if len(outputs) == 1 else outputs or call.get("resultDisplay")
    if isinstance(output, dict) and len(output) == 1:
        output = output.get("output", output.get("error", output))
    return [made, returned(call_id, output, status in _FAILED_IN_GEMINI)]


def is_gemini_prompt(line: Any) -> bool:
    """Whether a line is from the file of prompts that Gemini CLI writes beside its chats."""
    value = plain(line)
    return {"sessionId", "messageId", "type"} <= value.keys() and isinstance(value.get("message"), str)


def gemini_prompt_logs(lines: list[Any]) -> list[Log]:
    """Return the log of prompts, which does not show what the agent did."""
    said_alone = "the prompts of the user alone; Gemini CLI keeps its chats in other files"
    return [Log([said("user", plain(line).get("message")) for line in lines], nested=said_alone)]


def is_gemini_event(event: Any) -> bool:
    """Whether an event is a call or result in the output format `stream-json` of Gemini CLI."""
    return isinstance(event, dict) and word(event.get("type")) in ("tool_use", "tool_result") and "tool_id" in event


def gemini_event_logs(events: list[Any]) -> list[Log]:
    """Return the log of all events. The chunks of a message, which are consecutive, are joined."""
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
    """Whether a chunk continues the message before it."""
    return bool(found) and isinstance(found[-1], dict) and found[-1].get("role") == event.get("role")


def is_openhands_event(event: Any) -> bool:
    """Whether an item is an event of OpenHands."""
    if not isinstance(event, dict) or word(event.get("source")) not in _SOURCES:
        return False
    if word(event.get("kind")) in _EVENTS_OF_OPENHANDS:
        return True
    named = isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)
    return named and ("timestamp" in event or "args" in event or "extras" in event)


def openhands_logs(events: list[Any]) -> list[Log]:
    """Return the log of a trajectory of OpenHands."""
    return [Log(_openhands_messages(events))]


def is_openhands_evaluation(line: Any) -> bool:
    """Whether a document is a line of an evaluation of OpenHands."""
    if not isinstance(line, dict) or not isinstance(line.get("history"), list) or "instance_id" not in line:
        return False
    return any([is_openhands_event(each) for each in _flat(line["history"])])


def openhands_evaluation_logs(line: dict[str, Any]) -> list[Log]:
    """Return the log of an instance of an evaluation."""
    return [Log(_openhands_messages(_flat(line["history"])), id=word(line["instance_id"]) or None, about=line)]


def _flat(history: list[Any]) -> list[Any]:
    """Return the events of a history, which until 2024 was a list of pairs of an action and its observation."""
    return [each for item in history for each in (item if isinstance(item, list) else [item])]


def _openhands_messages(events: list[Any]) -> list[Any]:
    asked = [(str(plain(event).get("id")), plain(plain(event).get("tool_call_metadata"))) for event in events]
    ids = {number: held["tool_call_id"] for number, held in asked if isinstance(held.get("tool_call_id"), str)}
    return [message for event in events for message in _of_openhands(event, ids)]


def _of_openhands(event: Any, ids: Mapping[str, str]) -> Iterator[Any]:
    """Yield the messages in an event of OpenHands; `ids` has the ids of calls by the ids of their actions."""
    if not isinstance(event, dict):
        yield event
    elif isinstance(event.get("kind"), str):
        yield from _of_openhands_sdk(event, event["kind"])
    elif isinstance(event.get("action"), str):
        yield from _of_action(event, event["action"])
    elif isinstance(event.get("observation"), str):
        yield from _of_observation(event, event["observation"], ids)
    else:
        yield event


def _of_action(event: dict[str, Any], action: str) -> Iterator[Any]:
    """Yield the call of the agent, or the text of the agent or the user, in an action of OpenHands."""
    args, source = plain(event.get("args")), event.get("source")
    asked = event.get("tool_call_metadata")
    if action in _NO_CALLS_IN_OPENHANDS and (source != "agent" or not isinstance(asked, dict)):
        if action in ("message", "finish"):
            yield said("assistant" if source == "agent" else "user", _text(event, args))
        return
    if source != "agent":
        return  # what the user ran in the terminal beside the agent
    if not isinstance(asked, dict):
        yield called(str(event.get("id")), action, {key: value for key, value in args.items() if key not in _KEPT})
        return
    yield called(asked.get("tool_call_id"), asked.get("function_name"), _arguments(asked, args))
    if action == "finish":
        yield said("assistant", _text(event, args))


def _text(event: dict[str, Any], args: dict[str, Any]) -> str:
    return word(args.get("content")) or word(args.get("final_thought")) or word(event.get("message"))


def _arguments(asked: dict[str, Any], args: dict[str, Any]) -> Any:
    """Return the arguments in the model's response, else those of the action that was made from it."""
    response = plain(asked.get("model_response"))
    for choice in listed(response.get("choices")):
        for call in listed(plain(plain(choice).get("message")).get("tool_calls")):
            if plain(call).get("id") == asked.get("tool_call_id"):
                return plain(plain(call).get("function")).get("arguments")
    return {key: value for key, value in args.items() if key not in _KEPT}


def _of_observation(event: dict[str, Any], kind: str, ids: Mapping[str, str]) -> Iterator[Any]:
    """Yield the result of the call that an observation names, or of the action that caused it."""
    asked, cause = event.get("tool_call_metadata"), event.get("cause")
    if kind in _NO_CALLS_IN_OPENHANDS:
        return
    call_id = asked.get("tool_call_id") if isinstance(asked, dict) else ids.get(str(cause), cause)
    if kind == "user_rejected":
        yield refused(call_id if isinstance(call_id, str) else str(call_id), event.get("content"))
    elif call_id is not None and event.get("source") != "user":
        yield returned(call_id if isinstance(call_id, str) else str(call_id), event.get("content"), kind == "error")


def _of_openhands_sdk(event: dict[str, Any], kind: str) -> Iterator[Any]:
    """Yield the message in an event of the OpenHands SDK."""
    call_id, asked = event.get("tool_call_id"), plain(event.get("tool_call"))
    if kind == "MessageEvent" and isinstance(event.get("llm_message"), dict):
        yield event["llm_message"]
    elif kind == "ActionEvent":
        args = asked.get("arguments", plain(asked.get("function")).get("arguments"))
        if args is None:
            args = {key: value for key, value in plain(event.get("action")).items() if key != "kind"}
        yield called(call_id, event.get("tool_name"), args)
    elif kind == "ObservationEvent":
        value = plain(event.get("observation"))
        output = value.get("content", value.get("output", {key: each for key, each in value.items() if key != "kind"}))
        yield returned(call_id, output, value.get("is_error") is True)
    elif kind == "AgentErrorEvent":
        yield returned(call_id, None, True, event.get("error"))
    elif kind == "UserRejectObservation":
        yield refused(call_id, event.get("rejection_reason"))
    elif not kind.startswith(_OTHER_EVENTS):
        yield event
