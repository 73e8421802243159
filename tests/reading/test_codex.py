"""Codex CLI: sessions, and the events of `codex exec --json`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rightcall.reading import read
from rightcall.values.trajectory import Trajectory


def only(*lines: Any) -> Trajectory:
    [trajectory] = read(b"\n".join(json.dumps(line).encode() for line in lines))
    return trajectory


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-04-05T10:00:00Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **payload)


def message(role: str, text: str) -> dict[str, Any]:
    return item(
        "message", role=role, content=[{"type": "input_text" if role == "user" else "output_text", "text": text}]
    )


META = line("session_meta", id="session-1", cwd="/tmp", originator="codex-tui", cli_version="0.118.0")
CALL = item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1")
RESULT = item("function_call_output", call_id="c1", output="a.txt")


def test_a_session_shows_its_calls_question_and_answer() -> None:
    made = only(META, message("user", "List files"), CALL, RESULT, message("assistant", "One file."))

    assert [(call.name, call.args, call.output) for call in made.calls] == [("shell", {"command": ["ls"]}, "a.txt")]
    assert (made.input, made.output, made.trace_id) == ("List files", "One file.", "session-1")
    assert made.calls_recorded


def test_lines_about_the_session_are_no_calls() -> None:
    made = only(
        META,
        line("turn_context", cwd="/tmp", model="gpt-5"),
        line("event_msg", type="task_started"),
        message("user", "Hi"),
        line("event_msg", type="token_count", info={"total_token_usage": {}}),
        item("reasoning", summary=[{"type": "summary_text", "text": "…"}], encrypted_content="x"),
        message("assistant", "Hi."),
        line("compacted", message="…", replacement_history=[{"type": "function_call", "name": "x", "call_id": "c9"}]),
    )

    assert made.calls == ()
    assert made.calls_recorded


def test_an_event_that_repeats_a_call_adds_none() -> None:
    event = line("event_msg", type="exec_command_end", call_id="c1", command=["ls"], exit_code=0)

    assert len(only(META, message("user", "List"), CALL, event, RESULT).calls) == 1


def test_an_event_about_a_call_that_no_item_has_is_not_understood() -> None:
    made = only(META, message("user", "List"), line("event_msg", type="mcp_tool_call_end", call_id="c9", result={}))

    assert not made.calls_recorded


def test_the_user_may_have_asked_by_a_picture_alone() -> None:
    made = only(META, line("event_msg", type="user_message", images=["data:…"]), message("user", "List"), CALL, RESULT)

    assert (made.input, made.names) == ("List", ("shell",))


def test_a_command_that_the_user_ran_is_no_call_of_the_agent() -> None:
    event = line("event_msg", type="exec_command_end", call_id="c9", source="user_shell", command=["ls"], exit_code=0)

    made = only(META, message("user", "List"), event, CALL, RESULT)

    assert [call.call_id for call in made.calls] == ["c1"]
    assert made.calls_recorded


def test_an_item_of_a_new_type_is_not_understood() -> None:
    made = only(META, message("user", "List"), item("time_travel_call", call_id="c9", year=1999))

    assert not made.calls_recorded
    assert "time_travel_call" in made.metadata["not_understood"]


@pytest.mark.parametrize(
    ("held", "name", "args"),
    [
        (
            item("local_shell_call", call_id="c1", status="completed", action={"type": "exec", "command": ["ls"]}),
            "local_shell",
            {"command": ["ls"]},
        ),
        (
            item("web_search_call", status="completed", action={"type": "search", "query": "tv"}),
            "web_search",
            {"query": "tv"},
        ),
        (
            item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin"),
            "apply_patch",
            {"input": "*** Begin"},
        ),
    ],
    ids=["local shell", "web search", "custom tool"],
)
def test_calls_of_other_items(held: dict[str, Any], name: str, args: dict[str, Any]) -> None:
    made = only(META, message("user", "Go"), held)

    assert [(call.name, call.args) for call in made.calls] == [(name, args)]
    assert made.calls_recorded


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ('{"output":"no such file","metadata":{"exit_code":2,"duration_seconds":0.1}}', True),
        ('{"output":"a.txt","metadata":{"exit_code":0,"duration_seconds":0.1}}', False),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\n", True),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\na.txt", False),
        ({"content": "denied", "success": False}, True),
        ("a.txt", False),
    ],
)
def test_a_command_that_did_not_exit_with_zero_failed(output: Any, failed: bool) -> None:
    [call] = only(META, message("user", "Go"), CALL, item("function_call_output", call_id="c1", output=output)).calls

    assert (call.error is not None) == failed


def test_what_codex_tells_the_model_as_the_user_is_not_a_turn() -> None:
    made = only(
        META,
        message("user", "<environment_context>…</environment_context>"),
        message("user", "List files"),
        line("event_msg", type="user_message", message="List files"),
        CALL,
        RESULT,
    )

    assert made.input == "List files"
    assert made.turn_inputs == ()


def event(kind: str, number: int, **held: Any) -> dict[str, Any]:
    return {"type": kind, "item": {"id": f"item_{number}", **held}}


RAN = {
    "type": "command_execution",
    "command": "ls",
    "aggregated_output": "a.txt",
    "exit_code": 0,
    "status": "completed",
}


def test_items_of_exec_are_calls_once_each_in_the_order_they_began() -> None:
    begun = {**RAN, "aggregated_output": "", "exit_code": None, "status": "in_progress"}
    search = {"type": "web_search", "query": "tv"}
    made = only(
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "turn.started"},
        event("item.started", 1, **begun),
        event("item.completed", 2, **search),
        event("item.completed", 1, **RAN),
        event("item.completed", 3, type="agent_message", text="One file."),
        {"type": "turn.completed", "usage": {"input_tokens": 1}},
    )

    assert [(call.name, call.args) for call in made.calls] == [
        ("command_execution", {"command": "ls"}),
        ("web_search", {"query": "tv"}),
    ]
    assert made.calls[0].output == "a.txt"
    assert (made.output, made.trace_id) == ("One file.", "t1")


def test_a_call_by_mcp_has_the_name_of_its_tool() -> None:
    held = {"type": "mcp_tool_call", "server": "shop", "tool": "refund", "arguments": {"order": 7}}
    done = {"result": {"content": [{"type": "text", "text": "done"}]}, "status": "completed"}
    failed = {"error": {"message": "no such order"}, "status": "failed"}

    made = only(event("item.completed", 1, **held, **done), event("item.completed", 2, **held, **failed))

    assert (made.calls[0].name, made.calls[0].args, made.calls[0].output) == ("refund", {"order": 7}, "done")
    assert made.calls[1].error == "no such order"


@pytest.mark.parametrize("held", [{"type": "command_execution", "argv": ["ls"]}, {"type": "vm", "command": "ls"}])
def test_a_command_that_is_written_in_another_way_is_not_understood(held: dict[str, Any]) -> None:
    assert not only(event("item.completed", 1, **RAN), event("item.completed", 2, **held)).calls_recorded


def test_a_command_that_was_declined_is_withheld() -> None:
    made = only(event("item.completed", 1, **{**RAN, "status": "declined"}))

    assert made.calls == ()
    assert [call.name for call in made.withheld] == ["command_execution"]


def test_thoughts_and_lists_of_exec_are_no_calls() -> None:
    made = only(
        event("item.completed", 1, type="reasoning", text="…"),
        event("item.updated", 2, type="todo_list", items=[{"text": "a", "completed": True}]),
        event("item.completed", 3, type="agent_message", text="Done."),
    )

    assert made.calls == ()
    assert made.calls_recorded


def test_an_item_of_exec_of_a_new_type_is_not_understood() -> None:
    made = only(event("item.completed", 1, type="teleport", where="Paris"))

    assert not made.calls_recorded


def test_events_in_an_object_are_the_same_as_lines() -> None:
    events = [event("item.completed", 1, **RAN), event("item.completed", 2, type="agent_message", text="Done.")]
    [made] = read(json.dumps({"events": events}).encode())

    assert made == only(*events)
