"""Logs as services, protocols and applications write them today: each call once, as it was, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from tests.walls import for_each

from rightcall import Trajectory, read, read_messages

ASKED = {"role": "user", "content": "q"}
ANSWERED = {"role": "assistant", "content": "done"}


def told(trajectory: Trajectory) -> list[tuple[Any, ...]]:
    """The calls of a run, each with its name, arguments, and output or error."""
    return [
        (call.name, call.args, call.output if call.error is None else f"! {call.error}") for call in trajectory.calls
    ]


def lines(*events: dict[str, Any]) -> Trajectory:
    """The only run in a file with one event a line."""
    (found,) = read("\n".join(map(json.dumps, events)).encode())
    return found


def claude(answer: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line of Claude Code with blocks of an answer."""
    return {"type": "assistant", "message": {"id": answer, "role": "assistant", "content": list(blocks)}, **more}


def uses(call_id: str, name: str = "look", **args: Any) -> dict[str, Any]:
    """A block that asks for a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(call_id: str, output: Any = "ok", **more: Any) -> dict[str, Any]:
    """A line of Claude Code with the result of a call."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": output, **more}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


QUESTION = {"type": "user", "message": ASKED}
HOOK = {"type": "progress", "data": {"type": "hook_progress"}, "toolUseID": "1", "parentToolUseID": "1"}


@for_each(
    "between",
    [[], [HOOK], [result("1")], [claude("a", {"type": "text", "text": "x"})], [{"type": "queue-operation"}]],
)
def test_calls_of_one_answer_of_claude_code_were_asked_for_at_once_whatever_lies_between(between: list[Any]) -> None:
    events = [QUESTION, claude("a", uses("1")), *between, claude("a", uses("2")), result("1"), result("2")]

    first, second = lines(*events).calls

    assert first.group == second.group != None  # noqa: E711


def test_calls_of_two_answers_of_claude_code_were_not_asked_for_at_once() -> None:
    events = [QUESTION, claude("a", uses("1")), result("1"), claude("b", uses("2")), result("2")]

    first, second = lines(*events).calls

    assert first.group != second.group


def test_the_call_of_a_sub_agent_in_a_line_of_its_progress_is_inside_of_its_callers() -> None:
    inner = {"type": "agent_progress", "message": claude("b", uses("2", "run"))}
    progress = {"type": "progress", "data": inner, "toolUseID": "x", "parentToolUseID": "1"}

    _, call = lines(QUESTION, claude("a", uses("1")), progress, result("1")).calls

    assert (call.name, call.parent_id) == ("run", "1")


def test_calls_that_claude_code_counts_and_keeps_in_other_files_are_not_no_calls() -> None:
    def counted(number: int, *between: dict[str, Any]) -> Trajectory:
        back = {**result("1"), "toolUseResult": {"status": "completed", "totalToolUseCount": number}}
        return lines(QUESTION, claude("a", uses("1")), *between, back)

    inner = {"type": "agent_progress", "message": claude("b", uses("2", "run"))}
    progress = {"type": "progress", "data": inner, "toolUseID": "x", "parentToolUseID": "1"}
    hook = {"type": "progress", "data": {"type": "hook_progress"}, "toolUseID": "x", "parentToolUseID": "1"}
    inside = claude("b", uses("2"), isSidechain=True), result("2")

    recorded = [counted(0), counted(1, *inside), counted(1, progress), counted(1, progress, progress)]
    missing = [counted(3), counted(1, hook), counted(2, *inside), counted(2, progress, progress)]

    assert [each.calls_recorded for each in (*recorded, *missing)] == [True] * 4 + [False] * 4
    assert "3 of 3" in missing[0].not_understood


def test_calls_of_a_sub_agent_without_a_count_are_known_only_if_its_lines_are_there() -> None:
    def told(agent: str, **more: Any) -> Trajectory:
        inside = claude("b", uses("2"), isSidechain=True, agentId=agent), {**result("2"), "isSidechain": True}
        back = {**result("1"), "toolUseResult": {"agentId": "a1", "status": "async_launched", **more}}
        return lines(QUESTION, claude("a", uses("1")), *inside, back)

    assert told("a1").calls_recorded
    assert not told("a2").calls_recorded
    assert told("a2", totalToolUseCount=1).calls_recorded


@for_each(
    ("error", "made"),
    [
        ("PreToolUse:look hook error: [./check.sh]: not here", 0),
        ("Hook PreToolUse:look denied this tool", 0),
        ("PostToolUse:look hook error: [./check.sh]: not here", 1),
        ("the PreToolUse:look hook error: [./check.sh]: not here", 1),
    ],
)
def test_a_call_that_a_hook_of_claude_code_blocked_was_not_made(error: str, made: int) -> None:
    trajectory = lines(QUESTION, claude("a", uses("1")), result("1", error, is_error=True))

    assert (len(trajectory.calls), len(trajectory.withheld)) == (made, 1 - made)


@for_each(
    "line",
    [
        {"type": "TOOL_CALL_BEGUN", "toolCallId": "1", "toolCallName": "look"},
        {"type": "note", "tool_calls": [{"fn": "look"}]},
    ],
)
def test_a_line_beside_a_conversation_that_has_a_sign_of_a_call_is_not_left_out_in_silence(
    line: dict[str, Any],
) -> None:
    trajectory = lines({"messages": [ASKED, ANSWERED]}, line)
    other = lines({"messages": [ASKED, ANSWERED]}, {"type": "note", "text": "x"})

    assert (trajectory.calls_recorded, other.calls_recorded) == (False, True)


@for_each(
    "more",
    [
        {"channel": "commentary", "recipient": "functions.look"},
        {"channel": "analysis", "recipient": "python"},
        {"recipient": "browser.search"},
        {"type": "code", "format": "python"},
        {"executed_tools": [{"type": "search", "arguments": "{}", "output": "x"}]},
        {"tool": "search", "tool_input": {"q": 1}},
        {"skill_calls": [{"name": "x"}]},
        {"content": "<|START_ACTION|>[]<|END_ACTION|>"},
        {"content": "<|python_start|>[look(n=1)]<|python_end|>"},
        {"content": "<tool>search</tool><tool_input>x</tool_input>"},
        {"content": "<think>I look.</think>\n<search>x</search>"},
        {"content": "<search>x</search><information>y</information>"},
    ],
)
def test_a_call_beside_the_text_of_an_answer_or_in_it_is_not_no_calls(more: dict[str, Any]) -> None:
    assert not read_messages([ASKED, {**ANSWERED, **more}, ANSWERED]).calls_recorded


@for_each(
    "more", [{"channel": "final"}, {"channel": "final", "recipient": "all"}, {"recipient": "Bob"}, {"type": "message"}]
)
def test_an_answer_to_a_person_is_no_call(more: dict[str, Any]) -> None:
    assert read_messages([ASKED, {**ANSWERED, **more}]).calls_recorded


@for_each("text", ["Use the <search> element: <search><form></form></search>.", "<p>the python</p>"])
def test_text_about_tags_is_no_call(text: str) -> None:
    assert read_messages([ASKED, {**ANSWERED, "content": text}]).calls_recorded


BEGUN = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}]
CUT_OFF: dict[str, Any] = {
    "Chat Completions": {
        "choices": [{"message": {"role": "assistant", "tool_calls": BEGUN}, "finish_reason": "length"}]
    },
    "Anthropic": {"role": "assistant", "content": [uses("1", n=1)], "stop_reason": "max_tokens"},
    "Gemini": {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"n": 1}}}]},
                "finishReason": "MAX_TOKENS",
            }
        ]
    },
    "Converse": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "1", "name": "look", "input": {"n": 1}}}],
            }
        },
        "stopReason": "max_tokens",
    },
    "LangChain": {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "look", "args": {"n": 1}, "id": "1"}],
        "response_metadata": {"finish_reason": "length"},
    },
}


@for_each("name", list(CUT_OFF))
def test_the_last_call_of_an_answer_that_was_cut_off_was_not_made(name: str) -> None:
    (trajectory,) = read(json.dumps(CUT_OFF[name]).encode())

    assert (trajectory.calls, [call.name for call in trajectory.withheld]) == ((), ["look"])


def test_a_call_of_an_answer_that_was_cut_off_was_made_if_it_has_a_result_or_another_one_follows() -> None:
    two = [*BEGUN, {"id": "2", "type": "function", "function": {"name": "find", "arguments": "{}"}}]
    cut = {"role": "assistant", "tool_calls": two, "finish_reason": "length"}
    answers = [{"role": "tool", "tool_call_id": call_id, "content": "ok"} for call_id in ("1", "2")]

    assert read_messages([ASKED, cut]).names == ("look",)
    assert read_messages([ASKED, cut, *answers]).names == ("look", "find")


def rpc(number: int, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, **more}


CALLED = rpc(2, method="tools/call", params={"name": "look", "arguments": {"n": 1}})
DONE = {"content": [{"type": "text", "text": "ok"}]}


def test_a_request_of_an_mcp_server_with_the_id_of_a_call_is_answered_before_it() -> None:
    trajectory = lines(
        CALLED, rpc(2, method="sampling/createMessage", params={}), rpc(2, result={}), rpc(2, result=DONE)
    )

    assert told(trajectory) == [("look", {"n": 1}, "ok")]


def test_a_call_that_mcp_runs_as_a_task_has_the_result_of_the_task() -> None:
    asked = rpc(3, method="tasks/result", params={"taskId": "t"})
    trajectory = lines(CALLED, rpc(2, result={"task": {"taskId": "t"}}), asked, rpc(3, result=DONE))
    open_task = lines(CALLED, rpc(2, result={"task": {"taskId": "t"}}))

    assert told(trajectory) == [("look", {"n": 1}, "ok")]
    assert "output" in open_task.calls[0].unrecorded


def item(kind: str, number: int, **more: Any) -> dict[str, Any]:
    held = {"type": "function_call", "id": f"i{number}", "call_id": f"{number}", "name": f"tool{number}", **more}
    return {"type": f"response.output_item.{kind}", "item": held}


def test_calls_in_a_stream_of_responses_have_the_order_in_which_they_began() -> None:
    done = [item("done", number, arguments="{}", status="completed") for number in (2, 1)]
    trajectory = lines(item("added", 1, arguments=""), item("added", 2, arguments=""), *done)

    assert trajectory.names == ("tool1", "tool2")


def test_an_item_in_a_stream_of_responses_that_lost_its_call_id_in_one_event_is_one_call() -> None:
    lost = {**item("done", 1, arguments="{}"), "item": {"type": "function_call", "id": "i1", "name": "tool1"}}

    for events in ([item("added", 1), lost], [lost, item("done", 1, arguments="{}")]):
        assert [(call.name, call.call_id) for call in lines(*events).calls] == [("tool1", "1")]


def test_a_call_that_began_in_a_stream_of_responses_and_was_cut_off_is_withheld() -> None:
    trajectory = lines(item("done", 1, arguments="{}"), item("added", 2, arguments="", status="in_progress"))

    assert trajectory.names == ("tool1",)
    assert [(call.name, call.args) for call in trajectory.withheld] == [("tool2", None)]


GEMINI = {"executableCode": {"language": "PYTHON", "code": "1"}}
FOUND: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "code of Gemini": (
        [{"role": "model", "parts": [GEMINI, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}]}],
        [("code_execution", {"language": "PYTHON", "code": "1"}, "1")],
    ),
    "code of Gemini that failed, with ids": (
        [
            {
                "role": "model",
                "parts": [
                    {"executableCode": {"id": "e", "language": "PYTHON", "code": "1"}},
                    {"codeExecutionResult": {"id": "e", "outcome": "OUTCOME_FAILED", "output": "no"}},
                ],
            }
        ],
        [("code_execution", {"language": "PYTHON", "code": "1"}, "! no")],
    ),
    "a custom tool": (
        [
            {"type": "custom_tool_call", "call_id": "1", "name": "look", "input": '{"n": 1}'},
            {"type": "custom_tool_call_output", "call_id": "1", "output": "ok"},
        ],
        [("look", {"input": '{"n": 1}'}, "ok")],
    ),
    "a search for tools": (
        [
            {"type": "tool_search_call", "id": "a", "call_id": None, "arguments": {"paths": ["x"]}},
            {"type": "tool_search_output", "id": "b", "call_id": None, "tools": []},
        ],
        [("tool_search", {"paths": ["x"]}, [])],
    ),
    "OpenAI Agents for JavaScript": (
        [
            {"type": "function_call", "id": "f", "callId": "1", "name": "look", "arguments": '{"n": 1}'},
            {"type": "function_call_result", "name": "look", "callId": "1", "output": {"type": "text", "text": "ok"}},
            {"type": "hosted_tool_call", "id": "h", "name": "web_search_call", "arguments": "{}", "output": "found"},
            {"type": "shell_call", "callId": "2", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "callId": "2", "output": "a"},
        ],
        [("look", {"n": 1}, "ok"), ("web_search", {}, "found"), ("shell", {"commands": ["ls"]}, "a")],
    ),
}


@for_each("name", list(FOUND))
def test_calls_are_read_with_their_results_in_the_format_of(name: str) -> None:
    messages, calls = FOUND[name]

    trajectory = read_messages([ASKED, *messages, ANSWERED])

    assert (told(trajectory), trajectory.calls_recorded, trajectory.output) == (calls, True, "done")


def test_the_text_after_code_of_gemini_without_ids_is_the_answer_unless_the_code_is_still_running() -> None:
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    text = {"text": "done"}

    answers = [
        read_messages([ASKED, {"role": "model", "parts": parts}]).output
        for parts in ([GEMINI, ran, text], [GEMINI, text])
    ]

    assert answers == ["done", None]


def test_a_message_with_the_decisions_of_a_person_alone_hides_no_call() -> None:
    asks = [
        {"type": "tool-call", "toolCallId": "1", "toolName": "look", "input": {}},
        {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "1"},
    ]
    decides = {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "a", "approved": True}]}
    gives = {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "1", "toolName": "look", "output": {"type": "text", "value": "ok"}}
        ],
    }
    unknown = {**decides, "content": [*decides["content"], {"type": "tool-thing"}]}

    trajectory = read_messages([ASKED, {"role": "assistant", "content": asks}, decides, gives, ANSWERED])

    assert (told(trajectory), trajectory.calls_recorded) == ([("look", {}, "ok")], True)
    assert not read_messages([ASKED, unknown, ANSWERED]).calls_recorded


def test_a_call_that_was_denied_in_a_stream_of_vercel_was_not_made() -> None:
    call = {"type": "tool-input-available", "toolCallId": "1", "toolName": "look", "input": {}}

    trajectory = lines({"type": "start"}, call, {"type": "tool-output-denied", "toolCallId": "1"})

    assert (trajectory.calls, len(trajectory.withheld), trajectory.calls_recorded) == ((), 1, True)


@for_each(("has_been_called", "made"), [(True, 1), (False, 0)])
def test_a_tool_that_elevenlabs_did_not_call_was_not_made(has_been_called: bool, made: int) -> None:
    asked = {"request_id": "1", "tool_name": "look", "params_as_json": "{}", "tool_has_been_called": False}
    back = {"request_id": "1", "tool_name": "look", "result_value": "x", "tool_has_been_called": has_been_called}

    trajectory = read_messages([ASKED, {"role": "agent", "tool_calls": [asked], "tool_results": [back]}, ANSWERED])

    assert (len(trajectory.calls), len(trajectory.withheld)) == (made, 1 - made)


def test_a_completion_that_is_only_text_has_no_calls() -> None:
    completion = {"object": "chat.completion", "choices": [{"index": 0, "message": ANSWERED, "finish_reason": "stop"}]}

    (trajectory,) = read(json.dumps(completion).encode())

    assert (trajectory.calls, trajectory.calls_recorded, trajectory.output) == ((), True, "done")


def test_a_page_without_calls_of_functions_begins_with_the_question() -> None:
    searched = [{"type": "web_search_call", "id": name, "action": {"query": name}} for name in ("b", "a")]
    page = {"object": "list", "has_more": False, "data": [{"type": "message", **ANSWERED}, *searched, ASKED]}

    (trajectory,) = read(json.dumps(page).encode())

    assert [call.args for call in trajectory.calls] == [{"query": "a"}, {"query": "b"}]
    assert (trajectory.input, trajectory.output) == ("q", "done")


@for_each("key", ["entries", "outputs"])
def test_a_conversation_of_mistral_is_read_without_the_question_too(key: str) -> None:
    ran = {"type": "tool.execution", "id": "t", "name": "web_search", "arguments": '{"query": "x"}'}
    said = {
        "type": "message.output",
        "role": "assistant",
        "content": [{"type": "text", "text": "done"}, {"type": "tool_reference"}],
    }

    (trajectory,) = read(json.dumps({"object": "conversation.response", key: [ran, said]}).encode())

    assert (told(trajectory), trajectory.calls_recorded) == ([("web_search", {"query": "x"}, None)], True)
    assert trajectory.output == "done"


def run_of(*events: dict[str, Any], snake: bool = False) -> list[dict[str, Any]]:
    begun = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"messages": [{"id": "u", **ASKED}]}}
    found = [begun, *events, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]
    names = {"toolCallId": "tool_call_id", "toolCallName": "tool_call_name", "messageId": "message_id"}
    return [{names.get(key, key): held for key, held in event.items()} for event in found] if snake else found


def ag_ui_call(call_id: str, *pieces: str, ends: bool = True) -> list[dict[str, Any]]:
    begun = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": "look"}
    written = [{"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": piece} for piece in pieces]
    return [begun, *written, *([{"type": "TOOL_CALL_END", "toolCallId": call_id}] if ends else [])]


GIVEN = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "1", "content": "ok"}
SAID = [
    {"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"},
    *[{"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": text} for text in ("do", "ne")],
    {"type": "TEXT_MESSAGE_END", "messageId": "a"},
]


@for_each("snake", [False, True])
def test_a_stream_of_ag_ui_is_put_together(snake: bool) -> None:
    trajectory = lines(*run_of(*ag_ui_call("1", '{"n"', ": 1}"), GIVEN, *SAID, snake=snake))

    assert (told(trajectory), trajectory.calls_recorded) == ([("look", {"n": 1}, "ok")], True)
    assert (trajectory.input, trajectory.output) == ("q", "done")


def test_a_call_of_ag_ui_in_chunks_is_put_together() -> None:
    chunk = {"type": "TOOL_CALL_CHUNK", "toolCallId": "1", "toolCallName": "look", "delta": '{"n"'}

    assert told(lines(*run_of(chunk, {"type": "TOOL_CALL_CHUNK", "delta": ": 1}"}, GIVEN))) == [
        ("look", {"n": 1}, "ok")
    ]


def test_a_call_of_ag_ui_whose_arguments_did_not_end_was_not_made() -> None:
    trajectory = lines(*run_of(*ag_ui_call("1", '{"n"', ends=False)))

    assert (trajectory.calls, [call.name for call in trajectory.withheld]) == ((), ["look"])


def test_a_snapshot_of_ag_ui_repeats_what_was_told() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}]
    messages = [
        {"id": "u", **ASKED},
        {"id": "c", "role": "assistant", "toolCalls": calls},
        {"id": "r", "role": "tool", "toolCallId": "1", "content": "ok"},
        {"id": "a", **ANSWERED},
    ]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    shorter = {"type": "MESSAGES_SNAPSHOT", "messages": messages[:1]}

    trajectory = lines(*run_of(*ag_ui_call("1", '{"n": 1}'), GIVEN, *SAID, snapshot))
    lossy = lines(*run_of(*ag_ui_call("1", '{"n": 1}'), GIVEN, shorter))

    assert (told(trajectory), trajectory.calls_recorded) == ([("look", {"n": 1}, "ok")], True)
    assert (lossy.names, lossy.calls_recorded) == (("look",), False)


def test_an_event_of_ag_ui_of_a_new_kind_is_not_understood() -> None:
    assert not lines(*run_of({"type": "TOOL_THING", "toolCallId": "1"})).calls_recorded


def node(role: str, text: str, to: str = "all", **more: Any) -> dict[str, Any]:
    """A message of ChatGPT."""
    author = {"role": role, "name": more.pop("name", None)}
    return {"author": author, "recipient": to, "content": {"content_type": "text", "parts": [text], **more}}


def chatgpt(*messages: dict[str, Any]) -> Trajectory:
    """The run in an export of ChatGPT, with an answer that was written anew on a branch of its own."""
    mapping: dict[str, Any] = {"root": {"message": None, "parent": None, "children": ["0"]}}
    for number, message in enumerate(messages):
        mapping[f"{number}"] = {"message": message, "parent": f"{number - 1}" if number else "root", "children": []}
    mapping["other"] = {"message": node("assistant", "x", "python"), "parent": "0", "children": []}
    exported = {"title": "t", "mapping": mapping, "current_node": f"{len(messages) - 1}"}
    (found,) = read(json.dumps([exported]).encode())
    return found


def test_an_export_of_chatgpt_has_the_calls_on_the_path_to_its_current_message() -> None:
    trajectory = chatgpt(
        node("system", ""),
        node("user", "q"),
        node("assistant", "", content_type="thoughts"),
        node("assistant", "1 + 1", "python"),
        node("tool", "2", name="python", content_type="execution_output"),
        node("tool", "3", name="python"),
        node("assistant", '{"queries": ["x"]}', "file_search.msearch"),
        node("tool", "none", name="file_search", content_type="system_error"),
        node("assistant", "done"),
    )

    assert told(trajectory) == [
        ("python", {"input": "1 + 1"}, ["2", "3"]),
        ("file_search.msearch", {"queries": ["x"]}, "! none"),
    ]
    assert (trajectory.input, trajectory.output, trajectory.calls_recorded) == ("q", "done", True)


def test_a_result_in_an_export_of_chatgpt_without_its_call_is_not_understood() -> None:
    assert not chatgpt(node("user", "q"), node("tool", "2", name="python"), node("assistant", "done")).calls_recorded


@for_each(
    ("changes", "recorded"),
    [
        ({}, True),
        ({"current_node": "2"}, True),
        ({"current_node": None}, False),
        ({"1": {"message": None, "parent": "0", "children": ["2"]}}, False),
        ({"1": {"message": node("assistant", "x")}}, False),
        ({"2": {"message": node("assistant", "done"), "parent": None}}, False),
        ({"1": {"message": {"content": {"parts": ["x"]}}, "parent": "0"}}, False),
        ({"1": {"message": node("assistant", "x", content_type=["thoughts"]), "parent": "0"}}, True),
        ({"0": {"message": node("user", "q"), "parent": "gone", "children": ["1"]}}, False),
        ({"1": {"message": node("assistant", "x"), "parent": "2"}}, False),
    ],
)
def test_an_export_of_chatgpt_that_lost_its_path_is_not_understood(changes: dict[str, Any], recorded: bool) -> None:
    mapping = {
        "0": {"message": node("user", "q"), "parent": None, "children": ["1", "other"]},
        "1": {"message": node("assistant", "x"), "parent": "0", "children": ["2"]},
        "2": {"message": node("assistant", "done"), "parent": "1", "children": []},
        "other": {"message": node("assistant", "y", "python"), "parent": "0", "children": []},
    }
    document = {"mapping": mapping, "current_node": "2", **changes}
    document["mapping"] = {**mapping, **{key: held for key, held in changes.items() if key in mapping}}

    (trajectory,) = read(json.dumps(document).encode())

    assert trajectory.calls_recorded is recorded


@for_each("named", [True, False])
def test_an_export_of_claude_has_its_calls_with_and_without_ids(named: bool) -> None:
    call_id, of_call = ({"id": "t"}, {"tool_use_id": "t"}) if named else ({"id": None}, {"tool_use_id": None})
    blocks = [
        {"type": "tool_use", "name": "look", "input": {"n": 1}, **call_id},
        {"type": "tool_result", "name": "look", "content": [{"type": "text", "text": "ok"}], **of_call},
        {"type": "text", "text": "done"},
    ]
    chat = [{"sender": "human", "text": "q"}, {"sender": "assistant", "text": "done", "content": blocks}]

    (trajectory,) = read(json.dumps([{"uuid": "u", "chat_messages": chat}]).encode())

    assert (told(trajectory), trajectory.output) == ([("look", {"n": 1}, "ok")], "done")
    assert (trajectory.input, trajectory.calls_recorded) == ("q", True)


@for_each(
    ("answer", "recorded"),
    [
        ({"text": "done"}, True),
        ({"text": ""}, False),
        ({"text": "done", "content": [{"type": "text", "text": "done"}]}, True),
    ],
)
def test_an_answer_in_an_export_of_claude_without_its_blocks_may_have_asked_for_calls(
    answer: dict[str, Any], recorded: bool
) -> None:
    asked = {"sender": "human", "text": "q"}
    chat = [asked, {"sender": "assistant", **answer}]
    lost = [{**asked, "content": [{"type": "text", "text": "q"}]}, {"sender": "assistant", "text": "done"}]

    (trajectory,) = read(json.dumps({"chat_messages": chat}).encode())
    (other,) = read(json.dumps({"chat_messages": lost}).encode())

    assert (trajectory.calls_recorded, other.calls_recorded) == (recorded, False)
