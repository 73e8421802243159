"""What is written beside a conversation: who wrote it, whether it is interrupted or without content."""

from __future__ import annotations

from typing import Any

from tests.walls import for_each

from rightcall.reading.messages._message_exchange import (
    author_of,
    calling_id,
    is_about_session,
    is_aside,
    is_blank,
    is_open,
    kinds_of_parts,
    role_of,
    stopped_to_call,
)


@for_each(
    ("message", "aside"),
    [
        ({"is_demo": True}, True),
        ({"is_demo": False}, False),
        ({"partial": True, "author": "x"}, True),
        ({"partial": True}, False),
        ({"partial": False, "author": "x"}, False),
        ({"type": "tool-input-delta"}, True),
        ({"type": "tool-call"}, False),
        ({"is_demo": 1}, False),
    ],
)
def test_examples_and_fragments_are_no_messages(message: dict[str, Any], aside: bool) -> None:
    assert is_aside(message) is aside


@for_each(
    ("message", "role"),
    [
        ({"role": "user"}, "user"),
        ({"role": "", "type": "human"}, "human"),
        ({"role": 7, "type": "human"}, "human"),
        ({"message": {"role": "user"}}, "user"),
        ({"data": {"role": "user"}}, "user"),
        ({"info": {"role": "user"}}, "user"),
        ({"source": "agent"}, "agent"),
        ({"kind": "request"}, "request"),
        ({"kind": 7, "type": "x"}, "x"),
        ({"role": "user", "source": "agent", "type": "x"}, "user"),
        ({"type": "message", "message": {"role": "user"}}, "user"),
        ({"type": 7}, ""),
        ({}, ""),
        ({"role": "user", "type": "x"}, "user"),
        ({"role": "", "type": "x"}, "x"),
        ({"role": 3, "kind": "request"}, ""),
        ({"source": "planner", "type": "TextMessage"}, "planner"),
        ({"message": {"role": "assistant"}}, "assistant"),
        ({"data": {"role": "ai"}, "type": "x"}, "ai"),
        ({"content": {"role": "model"}}, "model"),
        ({"message": "a", "type": "x"}, "x"),
        ({"type": 3}, ""),
    ],
)
def test_the_role_of_a_message_is_its_own_or_that_of_what_it_holds(message: dict[str, Any], role: str) -> None:
    assert role_of(message) == role


@for_each(
    ("message", "author"),
    [
        ({"author": "boss"}, "boss"),
        ({"author": "user"}, None),
        ({"author": ""}, None),
        ({"source": "boss", "type": "TextMessage"}, "boss"),
        ({"source": "boss", "type": "ToolCallRequestEvent"}, "boss"),
        ({"source": "boss", "type": "x"}, None),
        ({"source": "boss"}, None),
        ({"role": "assistant", "name": "boss"}, "boss"),
        ({"role": "user", "name": "boss"}, None),
        ({"type": "ai", "name": "boss"}, "boss"),
        ({"data": {"type": "AIMessage", "name": "boss"}}, "boss"),
        ({"message": {"role": "assistant", "name": "boss"}}, "boss"),
        ({"kwargs": {"type": "ai", "name": 7}}, None),
        ({"author": "planner"}, "planner"),
        ({"source": "planner", "type": "TextMessage"}, "planner"),
        ({"source": "planner", "type": "ToolCallRequestEvent"}, "planner"),
        ({"source": "planner", "type": "other"}, None),
        ({"source": "planner"}, None),
        ({"role": "assistant", "name": "planner"}, "planner"),
        ({"role": "tool", "name": "look"}, None),
        ({"type": "ai", "name": "planner"}, "planner"),
        ({"type": "AIMessageChunk", "name": "planner"}, "planner"),
        ({"kwargs": {"type": "ai", "name": "planner"}}, "planner"),
        ({"message": {"role": "assistant", "name": "planner"}}, "planner"),
        ({"message": {"role": "tool", "name": "planner"}}, None),
        ({"data": {"type": "ai", "name": "planner"}}, "planner"),
        ({"data": "planner"}, None),
        ({"author": 3}, None),
    ],
)
def test_an_agent_is_the_author_of_its_own_messages_alone(message: dict[str, Any], author: str | None) -> None:
    assert author_of(message) == author


@for_each(
    ("message", "about"),
    [
        ({"type": "system", "subtype": "init"}, True),
        ({"type": "system"}, False),
        ({"type": "result", "subtype": "success"}, True),
        ({"type": "result", "subtype": "error_max_turns"}, False),
        ({"type": "result"}, False),
        ({"type": "system", "subtype": "init", "role": "user"}, False),
        ({"type": "assistant"}, False),
        ({"type": 7}, False),
        ({}, False),
        ("system", False),
        ({"type": "system", "subtype": "init", "role": "x"}, False),
        ({"type": "result", "subtype": "error"}, False),
        ({"type": 3}, False),
    ],
)
def test_lines_about_a_session_are_not_of_the_conversation(message: Any, about: bool) -> None:
    assert is_about_session(message) is about


def test_the_call_of_a_sub_agent_is_named_or_known_to_be_one() -> None:
    assert calling_id({"parent_tool_use_id": "t"}) == "t"
    assert calling_id({"parent_tool_use_id": None, "isSidechain": True}) == ""
    assert calling_id({"parent_tool_use_id": None, "isSidechain": False}) is None


@for_each(
    ("message", "blank", "is_left_open"),
    [
        ({"role": "assistant"}, True, True),
        ({"role": "assistant", "content": None}, True, True),
        ({"role": "assistant", "content": [None]}, True, True),
        ({"role": "assistant", "content": []}, False, True),
        ({"role": "assistant", "content": ""}, False, True),
        ({"role": "assistant", "text": "x"}, False, True),
        ({"role": "assistant", "tool_calls": []}, True, False),
        ({"role": "assistant", "refusal": "no"}, True, False),
        ({"role": "assistant", "finish_reason": "stop"}, True, False),
        ({"role": "assistant", "finish_reason": "tool_calls"}, True, True),
        ({"role": "assistant", "finish_reason": "tool_calls", "refusal": "no"}, True, True),
        ({"author": "x", "actions": {"stateDelta": {"a": 1}}}, True, False),
        ({"author": "x", "actions": {"stateDelta": {}}}, True, True),
        ({"author": "x", "turnComplete": True}, True, False),
        ({"kind": "response", "parts": None, "finish_reason": "stop"}, True, True),
        ({"kind": "response", "parts": []}, False, True),
        ({"role": "assistant", "parts": [{"text": "a"}]}, False, True),
        ({"role": "assistant", "text": "a"}, False, True),
        ({"role": "assistant", "tool_calls": None}, True, False),
        ({"role": "assistant", "refusal": "No."}, True, False),
        ({"role": "assistant", "stopReason": "toolUse"}, True, True),
        ({"author": "a", "turnComplete": True}, True, False),
        ({"author": "a", "actions": {"state": {"x": 1}}}, True, False),
        ({"author": "a", "actions": {"state": {"x": 1}, "artifacts": {}}}, True, False),
        ({"author": "a", "actions": {"state": {}}}, True, True),
        ({"author": "a", "actions": "none"}, True, True),
        ({"message": {"role": "assistant"}, "stop_reason": "end"}, True, False),
        ({"role": "assistant", "finish_reason": "tool_calls", "refusal": "No."}, True, True),
    ],
)
def test_a_message_without_content_may_have_asked_for_calls_unless_it_says_why(
    message: dict[str, Any], blank: bool, is_left_open: bool
) -> None:
    assert (is_blank(message), is_open(message)) == (blank, is_left_open)


@for_each(
    ("reason", "is_call"),
    [
        ("tool_calls", True),
        ("tool_use", True),
        ("tool-call", True),
        ("function_call", True),
        (["stop", "tool_call"], True),
        ("TOOL_CALL", True),
        ("stop", False),
        ("MALFORMED_FUNCTION_CALL", False),
        ("tool_calls_off", False),
        (None, False),
        ("x" * 199 + "tool_use", False),
    ],
)
def test_a_model_stopped_to_call_where_its_reason_says_so(reason: Any, is_call: bool) -> None:
    assert stopped_to_call({"finish_reason": reason}) is is_call
    assert stopped_to_call({"gen_ai.response.finish_reasons": reason}) is is_call
    assert stopped_to_call({"reason": reason}) is False


@for_each(
    ("message", "kinds"),
    [
        (
            {"kind": "request", "parts": [{"part_kind": "user-prompt"}, {"part_kind": "retry"}]},
            {"user-prompt", "retry"},
        ),
        ({"kind": "request", "parts": [{"part_kind": 7}, "x"]}, {None}),
        ({"kind": "request", "parts": "x"}, set()),
        ({"kind": "response", "parts": [{"part_kind": "text"}]}, set()),
        ({"parts": [{"part_kind": "text"}]}, set()),
    ],
)
def test_parts_have_kinds_in_requests_of_pydantic_ai(message: dict[str, Any], kinds: set[str | None]) -> None:
    assert kinds_of_parts(message) == kinds
