"""Streams of events of agents and frameworks, one event a line, one conversation a stream.

Cursor's `stream-json`, `opencode run --format json`, LangChain's `astream_events`, events of an Inspect sample, traces
of Bedrock agents, MCP sessions, OpenAI's Responses and Realtime API, AG-UI, answers of models in pieces. Lines of no
known format are passed on unchanged, so that they count as not understood (RC304) instead of disappearing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rightcall.values.decoding import dump_json

from ._log import Log, called, decoded, listed, plain, refused, returned, said, word
from ._parts import text_of
from ._unknown_calls import sign_of


def _logs_by(of_event: Callable[[dict[str, Any]], list[Any]]) -> Callable[[list[Any]], list[Log]]:
    """Return a reader of logs in which each line is read on its own."""

    def logs(lines: list[Any]) -> list[Log]:
        """Return the log of all lines."""
        messages: list[Any] = []
        for line in lines:
            messages += of_event(line) if isinstance(line, dict) else [line]
        return [Log(messages, id=session_of(lines))]

    return logs


def session_of(lines: list[Any]) -> str | None:
    """Return the id of the session from the first lines; None if they have none."""
    for line in lines[:_LOOKED_AT]:
        value = plain(line)
        for key in ("session_id", "sessionID", "sessionId"):
            found = word(value.get(key)) or word(plain(value.get("data")).get(key))
            if found:
                return found
    return None


_LOOKED_AT = 100


def is_cursor_event(line: Any) -> bool:
    """Whether a line is a call in the output format `stream-json` of Cursor's agent."""
    return (
        isinstance(line, dict)
        and line.get("type") == "tool_call"
        and word(line.get("subtype")) in ("started", "completed")
        and isinstance(line.get("tool_call"), dict)
    )


def _of_cursor(event: dict[str, Any]) -> list[Any]:
    if not is_cursor_event(event):
        return [event]
    if event["subtype"] == "started":
        return []  # its completion repeats it; see `cursor_logs`
    tools = {key: held for key, held in event["tool_call"].items() if isinstance(held, dict)}
    if len(tools) != 1:
        return [event]
    (key, held) = next(iter(tools.items()))
    call_id = event.get("call_id")
    if key == "function":
        made = called(call_id, held.get("name"), held.get("arguments"))
    else:
        made = called(call_id, key.removesuffix("ToolCall"), held.get("args"))
    if "result" not in held:
        return [made]
    result = plain(held["result"])
    if "rejected" in result:
        return [made, refused(call_id, plain(result["rejected"]).get("reason"))]
    failed = "success" not in result and bool(result)
    output = result.get("success", next(iter(result.values()))) if len(result) == 1 else held["result"]
    return [made, returned(call_id, output, failed)]


def cursor_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a run of Cursor's agent. A call that was never completed is read from its start.

    The event of the start always has the arguments; the event of the completion may lack them.
    """
    events = [line for line in lines if is_cursor_event(line)]
    done = {word(line.get("call_id")) for line in events if line["subtype"] == "completed"}
    begun = {word(line.get("call_id")): line["tool_call"] for line in events if line["subtype"] == "started"}
    return _cursor_lines([_whole(line, done, begun) if is_cursor_event(line) else line for line in lines])


def _whole(event: dict[str, Any], done: set[str], begun: dict[str, dict[str, Any]]) -> dict[str, Any]:
    call_id = word(event.get("call_id"))
    if call_id not in done:
        return {**event, "subtype": "completed"}
    if not call_id:
        return event
    first = {key: plain(value) for key, value in begun.get(call_id, {}).items()}
    tools = {
        key: {**first.get(key, {}), **value} if isinstance(value, dict) else value
        for key, value in event["tool_call"].items()
    }
    return {**event, "tool_call": tools}


_cursor_lines = _logs_by(_of_cursor)


def is_opencode_event(line: Any) -> bool:
    """Whether a line is an event of `opencode run --format json`."""
    return isinstance(line, dict) and isinstance(line.get("part"), dict) and "sessionID" in line and "type" in line


def _of_opencode(event: dict[str, Any]) -> list[Any]:
    if not is_opencode_event(event):
        return [] if event.get("type") == "error" else [event]
    part = event["part"]
    if part.get("type") == "text":
        return [said("assistant", part.get("text"))]
    return [] if part.get("type") in ("step-start", "step-finish", "reasoning") else [part]


opencode_logs = _logs_by(_of_opencode)


def is_langchain_event(line: Any) -> bool:
    """Whether a line is an event of LangChain's `astream_events`."""
    return (
        isinstance(line, dict)
        and word(line.get("event")).startswith("on_")
        and isinstance(line.get("run_id"), str)
        and isinstance(line.get("data"), dict)
    )


def langchain_logs(events: list[Any]) -> list[Log]:
    """Return the log of all events: the calls that tools were started with, else those that models requested."""
    has_tools = any([is_langchain_event(each) and each["event"] == "on_tool_start" for each in events])
    messages: list[Any] = []
    for event in events:
        messages += _of_langchain(event, has_tools) if is_langchain_event(event) else [event]
    return [Log(messages)]


def _of_langchain(event: dict[str, Any], has_tools: bool) -> list[Any]:
    kind, data, run = event["event"], event["data"], event["run_id"]
    if kind == "on_tool_start":
        return [called(run, event.get("name"), data.get("input"))]
    if kind == "on_tool_error":
        return [returned(run, None, True, data.get("error"))]
    if kind == "on_tool_end":
        output = data.get("output")
        message = plain(plain(output).get("kwargs") or output)
        return [returned(run, message.get("content", output), message.get("status") == "error")]
    if kind == "on_chat_model_end":
        answer = plain(data.get("output"))
        if not has_tools:
            return [answer] if answer else [event]
        return [said("assistant", answer["content"])] if answer.get("content") else []
    return []


def is_inspect_event(line: Any) -> bool:
    """Whether an object is an event of a sample of Inspect."""
    kind = line.get("event") if isinstance(line, dict) else None
    return (kind == "tool" and "function" in line) or (kind == "model" and "output" in line)


def inspect_event_logs(events: list[Any]) -> list[Log]:
    """Return the log of all events: calls as models requested them, and results from the events of tools."""
    messages: list[Any] = []
    asked = set[str]()
    for event in map(plain, events):
        kind = event.get("event")
        if kind == "model":
            answers = [plain(choice).get("message") for choice in listed(plain(event.get("output")).get("choices"))[:1]]
            messages += [answer for answer in answers if isinstance(answer, dict)]
            asked |= {word(plain(call).get("id")) for each in answers for call in listed(plain(each).get("tool_calls"))}
        elif kind == "tool" and event.get("pending") is not True:
            failure = plain(event.get("error"))
            error = failure.get("message")
            if word(event.get("id")) not in asked:
                messages.append(called(event.get("id"), event.get("function"), event.get("arguments")))
            output = event.get("result") if error is None else None
            is_refused = failure.get("type") == "approval"
            result = returned(event.get("id"), output, error is not None, error)
            messages.append(refused(event.get("id"), error) if is_refused else result)
        elif not isinstance(kind, str):
            messages.append(event)
    return [Log(messages)]


_OF_BEDROCK = ("orchestrationTrace", "preProcessingTrace", "postProcessingTrace", "guardrailTrace", "failureTrace")
_INVOKED = {
    "ACTION_GROUP": ("actionGroupInvocationInput", "actionGroupInvocationOutput"),
    "KNOWLEDGE_BASE": ("knowledgeBaseLookupInput", "knowledgeBaseLookupOutput"),
    "AGENT_COLLABORATOR": ("agentCollaboratorInvocationInput", "agentCollaboratorInvocationOutput"),
    "ACTION_GROUP_CODE_INTERPRETER": ("codeInterpreterInvocationInput", "codeInterpreterInvocationOutput"),
}
"""Keys of input and output by type of invocation (Bedrock API reference, "InvocationInput" and "Observation")."""


def is_bedrock_trace(line: Any) -> bool:
    """Whether an object is a `TracePart` in the answer of `InvokeAgent`."""
    value = plain(line).get("trace")
    return isinstance(value, dict) and any([isinstance(value.get(key), dict) for key in _OF_BEDROCK])


def bedrock_logs(lines: list[Any]) -> list[Log]:
    """Return the log of an invocation. A call and its observation share a `traceId`."""
    messages: list[Any] = []
    for line in lines:
        messages += _of_bedrock(plain(line)["trace"]) if is_bedrock_trace(line) else [line]
    return [Log(messages, id=session_of(lines))]


def _of_bedrock(trace: dict[str, Any]) -> list[Any]:
    step = plain(trace.get("orchestrationTrace"))
    asked, observed = step.get("invocationInput"), step.get("observation")
    if isinstance(asked, dict):
        return [_invoked(asked)]
    if not isinstance(observed, dict) or observed.get("type") == "REPROMPT":
        return []
    if observed.get("type") == "FINISH":
        return [said("assistant", plain(observed.get("finalResponse")).get("text"))]
    _, key = _INVOKED.get(word(observed.get("type")), ("", ""))
    output = observed.get(key)
    if not isinstance(output, dict):
        return [{"tool_calls": [observed]}]
    text = output.get("text", output.get("executionOutput"))
    return [returned(observed.get("traceId"), output if text is None else text, bool(output.get("executionError")))]


def _invoked(asked: dict[str, Any]) -> dict[str, Any]:
    key, _ = _INVOKED.get(word(asked.get("invocationType")), ("", ""))
    value = plain(asked.get(key))
    call_id = asked.get("traceId")
    if key == "actionGroupInvocationInput" and (value.get("function") or value.get("apiPath")):
        content = plain(plain(value.get("requestBody")).get("content"))
        given = [*listed(value.get("parameters")), *[each for body in content.values() for each in listed(body)]]
        args = {word(plain(each).get("name")): plain(each).get("value") for each in given}
        return called(call_id, value.get("function") or value.get("apiPath"), args)
    if key == "knowledgeBaseLookupInput":
        return called(call_id, "knowledge_base", {"text": value.get("text")})
    if key == "codeInterpreterInvocationInput":
        return called(call_id, "code_interpreter", {"code": value.get("code")})
    if key == "agentCollaboratorInvocationInput":
        return called(call_id, value.get("agentCollaboratorName"), {"input": plain(value.get("input")).get("text")})
    return {"tool_calls": [asked]}


def is_rpc_line(line: Any) -> bool:
    """Whether a line is an MCP request to call a tool, alone or in an envelope."""
    held = _rpc(line)
    return held is not None and held.get("method") == "tools/call"


def _rpc(line: Any) -> dict[str, Any] | None:
    value = plain(line)
    found = [
        each
        for each in (value, *[value.get(key) for key in ("message", "payload", "data")])
        if "jsonrpc" in plain(each)
    ]
    return found[0] if found else None


def rpc_logs(lines: list[Any]) -> list[Log]:
    """Return the log of an MCP session: its tool calls. An id may be reused once it was answered.

    Both sides number their requests: one of the server (sampling, elicitation) may have the id of a call that waits,
    and is answered before it. A call that is run as a task has its result in the answer to `tasks/result`.
    """
    messages: list[Any] = []
    waiting: dict[Any, str] = {}
    of_server: set[str] = set()
    tasks: dict[str, str] = {}
    for number, line in enumerate(lines):
        held = _rpc(line)
        if held is None:
            messages.append(line)
            continue
        key = repr(held.get("id"))
        if held.get("method") == "tools/call":
            asked = plain(held.get("params"))
            waiting[key] = f"call-{number}"
            messages.append(called(waiting[key], asked.get("name"), asked.get("arguments", {})))
        elif held.get("method") == "tasks/result" and (task := _task_in(held.get("params"))) in tasks:
            waiting[key] = tasks[task]
        elif "method" in held:
            of_server |= {key} & waiting.keys()
        elif key in of_server:
            of_server.remove(key)
        elif key in waiting:
            call_id = waiting.pop(key)
            if task := _task_in(plain(held.get("result")).get("task")):
                tasks[task] = call_id
            else:
                messages.append(_rpc_result(call_id, held))
    return [Log(messages, id=session_of(lines))]


def _task_in(value: Any) -> str:
    return word(plain(value).get("taskId"))


def _rpc_result(call_id: str, response: dict[str, Any]) -> dict[str, Any]:
    if "error" in response:
        error = plain(response["error"]).get("message", response["error"])
        return returned(call_id, None, True, error)
    result = plain(response.get("result"))
    return returned(call_id, result.get("content", response.get("result")), failed=result.get("isError") is True)


_ITEM_EVENTS = (
    "response.output_item.done",
    *[f"conversation.item.{done}" for done in ("create", "created", "added", "done")],
)
_LAST_EVENTS = ("response.completed", "response.done", "response.incomplete", "response.failed")


def is_response_event(line: Any) -> bool:
    """Whether a line is an event with items in a stream of OpenAI's Responses API or Realtime API."""
    value = plain(line)
    has_item = word(value.get("type")) in _ITEM_EVENTS and isinstance(value.get("item"), dict)
    return has_item or (word(value.get("type")) in _LAST_EVENTS and isinstance(value.get("response"), dict))


def response_logs(lines: list[Any]) -> list[Log]:
    """Return the log of a stream: each item in its last version, at its first position."""
    items: dict[str, Any] = {}
    keys: dict[str, str] = {}  # by the ids of items
    for number, line in enumerate(lines):
        kind = word(plain(line).get("type"))
        if kind in _ITEM_EVENTS:
            told = [plain(line).get("item")]
        elif kind in _LAST_EVENTS:
            told = listed(plain(plain(line).get("response")).get("output"))
        elif kind == _BEGUN:
            told = _begun_call(plain(line).get("item"))
        else:
            told = [] if kind.startswith(_OF_STREAMS) else [line]
        for place, item in enumerate(told):
            value = plain(item)
            # Items that a client creates have no id yet. A call and its result share a `call_id`, so the type is added.
            key = word(value.get("call_id")) and f"{value.get('type')} {value['call_id']}"
            name = word(value.get("id")) or f"{number}.{place}"
            key = keys.setdefault(name, key or name)
            if kind == _BEGUN and key in items:
                continue
            before = plain(items.get(key)).get("call_id")
            items[key] = {**value, "call_id": before} if before and not value.get("call_id") else item
    return [Log(list(items.values()))]


_BEGUN = "response.output_item.added"


def _begun_call(item: Any) -> list[Any]:
    """Return an item that was begun if it is a call, without arguments: no other event has it if the stream ends."""
    value = plain(item)
    begun = {key: value[key] for key in value if key != "arguments"}
    return [{**begun, "status": "in_progress"}] if word(value.get("type")).endswith("_call") else []


_OF_STREAMS = (
    "response.",
    "conversation.",
    "session.",
    "input_audio_buffer.",
    "output_audio_buffer.",
    "rate_limits.",
    "transcription_session.",
    "mcp_list_tools.",
    "error",
)


_RUN, _PIECE, _CALL = "RUN_STARTED", "TEXT_MESSAGE_", "TOOL_CALL_"
_OF_AG_UI = (_RUN, f"{_PIECE}START", f"{_PIECE}CHUNK", f"{_CALL}START", f"{_CALL}CHUNK")
_NO_CALLS_IN_AG_UI = ("RUN_", "STEP_", "STATE_", "ACTIVITY_", "THINKING_", "REASONING_", "RAW", "CUSTOM", "META")
"""Beginnings of types that are about the run, or repeat in the words of a framework what other events say."""


def is_ag_ui_event(line: Any) -> bool:
    """Whether a line is an event of the Agent User Interaction Protocol."""
    value = plain(line)
    return word(value.get("type")) in _OF_AG_UI and bool(
        {"threadId", "thread_id", "messageId", "message_id", "toolCallId", "tool_call_id"} & value.keys()
    )


def ag_ui_logs(events: list[Any]) -> list[Log]:
    """Return the log of a stream of AG-UI: texts and arguments put together, and the messages that a run began with."""
    stream = _Stream()
    for event in events:
        stream.take(event)
    first = next((plain(event) for event in events if plain(event).get("type") == _RUN), {})
    return [Log(stream.messages(), id=word(_either(first, "threadId")) or None, nested=stream.lost)]


def _either(event: dict[str, Any], key: str) -> Any:
    """Return the value of a key, which Python's events have in snake case."""
    return event.get(key, event.get(re.sub("(?=[A-Z])", "_", key).lower()))


class _Stream:
    """What the events of a stream of AG-UI say so far: texts, calls and results in order, each with its kind and id."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], Any] = {}
        self._ended: set[tuple[str, str]] = set()
        self._last = ""  # the id of the chunk before, which the next one may leave out
        self._snapshot: set[str] = set()
        self.lost = ""
        """A description of what a snapshot lacks; empty if nothing."""

    def take(self, event: Any) -> None:
        """Add an event."""
        value = plain(event)
        kind = word(value.get("type"))
        if kind == "MESSAGES_SNAPSHOT":
            self._replace(listed(value.get("messages")))
        elif kind == _RUN:
            self._add(listed(plain(value.get("input")).get("messages")))
        elif kind == f"{_CALL}RESULT":
            call_id = _either(value, "toolCallId")
            self._told["result", str(call_id)] = returned(call_id, value.get("content"))
        elif kind.startswith(_CALL):
            self._take_call(value, kind)
        elif kind.startswith(_PIECE):
            self._last = word(_either(value, "messageId")) or self._last
            new = said(word(value.get("role")) or "assistant", "")
            self._told.setdefault(("text", self._last), new)["content"] += word(value.get("delta"))
        elif not kind.startswith(_NO_CALLS_IN_AG_UI):
            self._told["event", str(len(self._told))] = event

    def _take_call(self, event: dict[str, Any], kind: str) -> None:
        self._last = word(_either(event, "toolCallId")) or self._last
        key = ("call", self._last)
        call = self._told.setdefault(key, called(self._last, None, ""))
        call["name"] = _either(event, "toolCallName") or call["name"]
        call["input"] += word(event.get("delta"))
        if kind.endswith(("END", "CHUNK")):
            self._ended.add(key)

    def _add(self, messages: list[Any]) -> None:
        """Add messages that are not known yet: a run begins with all messages before it."""
        for place, message in enumerate(messages):
            value = plain(message)
            self._told.setdefault(("message", word(value.get("id")) or f"{len(self._told)}.{place}"), message)
            calls = [plain(each) for each in listed(_either(value, "toolCalls"))]
            self._snapshot |= {word(call.get("id")) for call in calls}

    def _replace(self, messages: list[Any]) -> None:
        """Put a snapshot, which has all messages so far, in the place of what was told."""
        before = {key: value for key, value in self._told.items() if key[0] == "call"}
        self._told = {}
        self._add(messages)
        for key, value in before.items():
            if key[1] not in self._snapshot:
                self._told[key], self.lost = value, "a snapshot of the messages that lacks a call told before it"

    def messages(self) -> list[Any]:
        """Return the messages; the arguments of a call that did not end were still being written."""
        return [
            {"type": "function_call", "call_id": value["id"], "name": value["name"], "status": "in_progress"}
            if key[0] == "call" and key not in self._ended
            else value
            for key, value in self._told.items()
        ]


_OF_CHUNK = frozenset({"role", "content", "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call"})
_OF_CLAUDE = {"message_start": "message", "message_delta": "delta", "content_block_start": "content_block"}
_OF_CLAUDE |= {"content_block_delta": "delta", "content_block_stop": "index"}
"""Types of events in a stream of Claude, and the key that each has."""
_OF_CONVERSE = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"})
_ABOUT_PIECES = frozenset({"ping", "error", "message_stop"})
_SUMS = frozenset({"text", "citation", "thinking", "signature", "input_json"})
"""Events that Anthropic's SDKs add to a stream of Claude: a piece again, with the `snapshot` of all before it."""
_OF_FILTERS = frozenset({"index", "finish_reason", "content_filter_results", "content_filter_offsets"})
"""Keys of a choice in a chunk with nothing but what Azure's filters say of others."""
_TEXT = -1
"""The place of the text of Chat Completions, which stands before the calls."""


def is_piece(line: Any) -> bool:
    """Whether a line is a piece of a model's answer: of Chat Completions, of Claude, or of Bedrock's ConverseStream."""
    value = _sent_data(line)
    key = _OF_CLAUDE.get(word(value.get("type")))
    if key is not None:
        return key in value
    choices = listed(value.get("choices"))
    return any([isinstance(plain(choice).get("delta"), dict) for choice in choices]) or _of_converse(value) != ""


def _sent_data(line: Any) -> dict[str, Any]:
    """Return an event; its data, if a server sent it with a name."""
    value = plain(line)
    return plain(value["data"]) if value.keys() == {"event", "data"} else value


def _of_converse(event: dict[str, Any]) -> str:
    """Return which piece of ConverseStream an event is; empty if it is none."""
    key = next(iter(event), "")
    return key if key in _OF_CONVERSE and isinstance(event[key], dict) and len(event) == 1 else ""


def piece_logs(lines: list[Any]) -> list[Log]:
    """Return the log of answers that were streamed, each put together from its pieces, among whole messages."""
    told: list[Any] = []
    named: dict[str, _Answer] = {}
    last = _Answer()
    for line in lines:
        value = _sent_data(line)
        if not is_piece(line):
            told += [] if line == "[DONE]" or _is_about_answer(value) else [line]
            continue
        name = word(value.get("id")) if "choices" in value else ""
        begins = value.get("type") == "message_start" or "messageStart" in value
        begins = begins or ("choices" in value and last.has_ended)
        last = named.get(name, _Answer()) if name else _Answer() if begins else last
        if last.is_new:
            told.append(last)
            named[name] = last
        last.take(value)
    lost = next((answer.lost for answer in told if isinstance(answer, _Answer) and answer.lost), "")
    return [Log([each.message() if isinstance(each, _Answer) else each for each in told], nested=lost)]


def _is_about_answer(event: dict[str, Any]) -> bool:
    """Whether an event has no piece of an answer, but what is about it, repeats pieces, or was found by filters."""
    kind = word(event.get("type"))
    is_sum = kind in _SUMS and ("snapshot" in event or "signature" in event)
    if kind in _ABOUT_PIECES or is_sum or event.keys() == {"metadata"}:
        return True
    choices = event.get("choices")
    if choices == []:
        return bool(event.get("usage") or event.get("prompt_filter_results"))
    found = [plain(choice) for choice in listed(choices)]
    return bool(found) and all(["content_filter_offsets" in each and each.keys() <= _OF_FILTERS for each in found])


class _Answer:
    """A message of a model, put together from its pieces: texts and calls in blocks, by their indexes."""

    def __init__(self) -> None:
        self._blocks: dict[int | None, dict[str, Any]] = {}
        self._written: dict[int | None, str] = {}
        self._open: set[int | None] = set()
        self._reason, self._lost, self.is_new = "", "", True

    @property
    def has_ended(self) -> bool:
        """Whether a piece told why the answer ended."""
        return bool(self._reason)

    @property
    def lost(self) -> str:
        """Why the pieces do not show all of the answer; empty if they do."""
        if not self._reason:
            return "an answer in pieces that ends in the middle"
        count = len(self._blocks.keys() - {_TEXT})
        is_whole = self._blocks.keys() - {_TEXT} == set(range(count)) and not self._open
        return self._lost or ("" if is_whole else "an answer of which pieces are missing")

    def take(self, event: dict[str, Any]) -> None:
        """Add a piece."""
        self.is_new = False
        key = _of_converse(event)
        for choice in map(plain, listed(event.get("choices"))):
            self._take_choice(choice)
        if key:
            self._take_of_converse(key, event[key])
        elif "choices" not in event:
            self._take_of_claude(word(event.get("type")), event)

    def message(self) -> dict[str, Any]:
        """Return the message. A call that was still being written is marked as such."""
        content = [self._block(place) for place in sorted([each for each in self._blocks if each is not None])]
        return {"role": "assistant", "content": content, "stop_reason": self._reason or None}

    def _block(self, place: int) -> dict[str, Any]:
        block, text = self._blocks[place], self._written.get(place, "")
        if block.get("type") == "text":
            return {"type": "text", "text": word(block.get("text")) + text}
        is_open = place in self._open or not (self._reason or place + 1 in self._blocks)
        if is_open and "input" in block:
            begun = {"call_id": block.get("id"), "name": block.get("name"), "status": "in_progress"}
            return {"type": "function_call", **begun}
        return {**block, "input": text} if text and "input" in block else block

    def _begin(self, place: int | None, block: dict[str, Any]) -> None:
        if place in self._blocks or place is None:
            self._lost = self._lost or "an answer in pieces with two blocks at one place"
        self._blocks.setdefault(place, block)

    def _add(self, place: int | None, text: str) -> None:
        if place not in self._blocks or self._reason:
            self._lost = self._lost or "a piece of an answer without its beginning"
        self._written[place] = self._written.get(place, "") + text

    def _take_choice(self, choice: dict[str, Any]) -> None:
        """Add a choice of a chunk of Chat Completions."""
        delta = plain(choice.get("delta"))
        if choice.get("index") not in (None, 0):
            self._lost = "several answers in pieces, of which the log does not tell the one that was used"
        if text := text_of({"role": "assistant", "content": delta.get("content")}):
            self._blocks.setdefault(_TEXT, {"type": "text"})
            self._add(_TEXT, text)
        early = plain(delta.get("function_call"))
        calls = [{"index": 0, "function": early}] if early else listed(delta.get("tool_calls"))
        for call in map(plain, calls):
            self._take_call(_place(call.get("index")), call)
        self._lost = self._lost or sign_of({key: value for key, value in delta.items() if key not in _OF_CHUNK})
        self._reason = word(choice.get("finish_reason")) or self._reason

    def _take_call(self, place: int | None, call: dict[str, Any]) -> None:
        """Add a piece of a call of Chat Completions: the first has its name and id, which others may repeat."""
        function, known = plain(call.get("function")), self._blocks.get(place)
        new = called(word(call.get("id")), word(function.get("name")), {})
        if not function or not (known or new["name"]):
            self._lost = self._lost or "a piece of a call of an unknown kind"
        elif known is None or (new["name"] and not new["id"]) or new["id"] not in ("", known["id"]):
            self._begin(place, new)
        if place in self._blocks:
            self._add(place, word(function.get("arguments")))

    def _take_of_claude(self, kind: str, event: dict[str, Any]) -> None:
        place, delta = _place(event.get("index")), plain(event.get("delta"))
        if kind == "content_block_start":
            self._begin(place, plain(event["content_block"]))
            self._open.add(place)
        elif kind == "content_block_delta":
            key = {"text_delta": "text", "input_json_delta": "partial_json"}.get(word(delta.get("type")), "")
            self._add(place, word(delta.get(key)))
        elif kind == "content_block_stop":
            self._open.discard(place)
        self._reason = word(delta.get("stop_reason")) or self._reason

    def _take_of_converse(self, kind: str, event: dict[str, Any]) -> None:
        place, delta = _place(event.get("contentBlockIndex")), plain(event.get("delta"))
        if kind == "contentBlockStart":
            use = plain(plain(event.get("start")).get("toolUse"))
            self._begin(place, called(use.get("toolUseId"), use.get("name"), {}))
            self._open.add(place)
        elif kind == "contentBlockDelta":
            if "toolUse" not in delta:  # only the block of a call has a beginning of its own
                self._blocks.setdefault(place, {"type": "text" if "text" in delta else "thinking"})
            self._add(place, word(delta.get("text")) or word(plain(delta.get("toolUse")).get("input")))
        elif kind == "contentBlockStop":
            self._open.discard(place)
        self._reason = word(event.get("stopReason")) or self._reason


def _place(index: Any) -> int | None:
    return index if isinstance(index, int) and index >= 0 else None


def put_together(held: Any) -> dict[str, Any] | None:
    """Return the response that a list, or a text, of streamed events is; None if it is none, or has gaps."""
    events = [decoded(text) for text in sent_events(held)] if isinstance(held, str) else listed(held)
    last = plain(next((each for each in reversed(events) if plain(each).get("type") in _LAST_EVENTS), None))
    if isinstance(last.get("response"), dict):
        return plain(last["response"])
    [log] = piece_logs(events) if any(map(is_piece, events)) else [Log()]
    return log.messages[0] if len(log.messages) == 1 and not log.nested else None


_FIELD = re.compile(r"(data|event|id|retry)?:[ ]?(.*)")


def sent_events(text: str) -> list[str]:
    """Return the events in a text of server-sent events (HTML standard, 9.2), as JSON; nothing for any other text."""
    found: list[str] = []
    name, data = "", list[str]()
    for line in [*re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), ""]:
        field = _FIELD.fullmatch(line)
        if not line:
            found += _sent(name, data)
            name, data = "", []
        elif field is None:
            return []
        elif field[1] == "event":
            name = field[2]
        elif field[1] == "data" and field[2] != "[DONE]":
            data.append(field[2])
    return found


def _sent(name: str, data: list[str]) -> list[str]:
    """Return the data of one event; with its name, unless the data repeat it."""
    # Lines that were saved without the empty ones between them are an event each.
    are_whole = all([isinstance(decoded(each), dict) for each in data[1:]])
    whole = data if are_whole else ["".join(data)]
    if name in ("", "message") or [plain(decoded(each)).get("type") for each in whole] == [name]:
        return whole
    return [f'{{"event": {dump_json(name)}, "data": {each}}}' for each in whole]
