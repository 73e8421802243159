"""Who wrote a message, and what it says, in the forms in which libraries write messages."""

from __future__ import annotations

from typing import Any

from tests.walls import for_each

from rightcall.reading.messages._acting_text import IN_CODE, is_step, read_step
from rightcall.reading.messages._conversation_reader import key_of
from rightcall.reading.messages._message_exchange import exchange_of, has_messages, messages_of
from rightcall.reading.messages._parts import is_plain, text_of, writer_of
from rightcall.reading.messages._unknown_calls import find_parts
from rightcall.reading.spans import NOTHING

OF_LANGCHAIN = {"id": ["x", "HumanMessage"], "kwargs": {"content": "Go."}}


@for_each(
    ("message", "writer"),
    [
        ({"role": "user"}, "user"),
        ({"role": "HUMAN"}, "user"),
        ({"role": "tool"}, ""),
        ({"type": "ai"}, "model"),
        ({"kind": "response"}, "model"),
        ({"event.name": "gen_ai.choice"}, "model"),
        ({"message_type": "assistant_message"}, "model"),
        ({"role": "user", "isMeta": True}, ""),
        ({"role": "user", "isMeta": False}, "user"),
        ({"role": "user", "isCompactSummary": True}, ""),
        ({"task": "Go."}, "user"),
        ({"task": "Go.", "task_images": []}, "user"),
        ({"task": "Go.", "agent": "x"}, ""),
        ({"source": "user", "type": "TextMessage"}, "user"),
        ({"source": "planner", "type": "TextMessage"}, "model"),
        ({"source": "planner", "type": "Event"}, ""),
        ({"source": 3, "type": "TextMessage"}, ""),
        (["user", "Go."], "user"),
        (["tool", "Go."], ""),
        (["user", "Go.", "Now."], ""),
        (["user", 3], ""),
        ("user", ""),
        ({"message": {"role": "user"}}, "user"),
        ({"data": {"content": "Go."}, "type": "human"}, "user"),
        ({"lc": 1, **OF_LANGCHAIN}, "user"),
        ({"lc": 2, **OF_LANGCHAIN}, ""),
        ({"lc": 1, "id": ["x", "ToolMessage"], "kwargs": {"content": "ok"}}, ""),
        ({"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "ok"}}, "model"),
        ({"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "ok", "type": "human"}}, "user"),
        ({"message": "Gone.", "finish_reason": "stop"}, "model"),
        ({"message": "Gone."}, ""),
        ({"content": {"role": "user", "parts": []}}, "user"),
        ({"role": "user", "content": {"parts": []}}, "user"),
        ({"role": "user", "content": {"role": "model", "parts": []}}, "model"),
        ({"content": {"parts": []}}, ""),
        ({"info": {"role": "user"}, "parts": []}, "user"),
        ({"info": {"role": 3}, "parts": []}, ""),
        ({"info": {"role": "user"}}, ""),
    ],
)
def test_who_wrote_a_message(message: Any, writer: str) -> None:
    assert writer_of(message) == writer


@for_each(
    ("message", "text"),
    [
        ({"content": "Go."}, "Go."),
        ({"content": ""}, None),
        ({"content": []}, None),
        ({"content": 7}, None),
        ({"content": "", "parts": ["a"]}, "a"),
        ({"task": "Go."}, "Go."),
        ({"text": "a"}, None),
        (["user", "Go."], "Go."),
        ("Go.", None),
        ({"contents": ["a", {"text": "b"}]}, "ab"),
        ({"parts": [{"type": "text", "content": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"parts": [{"content": "a"}]}, None),
        ({"parts": [{"text": "a", "thought": True}]}, None),
        ({"parts": [{"text": "a", "thought": False}]}, "a"),
        ({"parts": [{"type": "text", "text": "a", "thought": True}]}, "a"),
        ({"blocks": [{"block_type": "text", "text": "a"}]}, "a"),
        ({"items": [{"content_type": "text", "text": "a"}]}, "a"),
        ({"role": "ai", "text": "a"}, "a"),
        ({"role": "ai", "text": "a", "content": None}, None),
        ({"content": [{"type": "image", "text": "a"}]}, None),
        ({"content": [{"type": "output_audio", "transcript": "a"}, {"type": "input_audio", "transcript": None}]}, "a"),
        ({"content": [{"type": "output_text", "text": "a"}, 3]}, "a"),
        ({"content": [{"part_kind": "user-prompt", "content": "a"}]}, "a"),
        ({"content": [{"type": "text", "text": {"value": "a"}}]}, "a"),
        ({"content": [{"message_content": {"type": "text", "text": "a"}}]}, "a"),
        ({"content": '[{"type": "text", "text": "a"}]'}, "a"),
        ({"content": '[{"x": "a"}]'}, '[{"x": "a"}]'),
        ({"content": '[{"type": "text"'}, '[{"type": "text"'),
        ({"content": '[{"text": "a"}, 3]'}, '[{"text": "a"}, 3]'),
    ],
)
def test_what_a_message_says(message: Any, text: str | None) -> None:
    assert text_of(message) == text


TEXT = {"type": "text", "content": "a"}


@for_each(
    ("message", "plain"),
    [
        ({"role": "user", "content": "Go."}, True),
        ({"role": "user", "content": "[1]"}, True),
        ({"role": "user", "content": "Go.", "finish_reason": "stop"}, True),
        ({"message": {"role": "user", "content": "Go."}}, True),
        ({"role": "user", "parts": []}, True),
        ({"role": "user", "parts": [TEXT, {"text": "a"}, {"type": "text", "text": "a"}]}, True),
        ({"role": "tool", "content": "Go."}, False),
        ({"role": "user", "content": "Go.", "name": "x"}, False),
        ({"message": {"role": "user", "content": "Go."}, "x": 1}, False),
        ({"role": "user", "content": '[{"type": "text"}]'}, False),
        ({"role": "user", "content": '{"a": 1}'}, False),
        ({"role": "user", "content": "Go.", "finish_reason": 3}, False),
        ({"role": "user", "content": "Go.", "parts": []}, False),
        ({"role": "user", "content": None, "parts": []}, False),
        ({"role": "user", "content": []}, False),
        ({"role": ["user"], "content": "a"}, False),
        ({"role": "user"}, False),
        ({"content": "a"}, False),
        ({"role": "user", "parts": [TEXT, {"type": "image", "content": "a"}]}, False),
        ({"role": "user", "parts": [TEXT, {"type": "text", "content": "[{"}]}, False),
        ({"role": "user", "parts": [TEXT, {"text": '{"a'}]}, False),
        ({"role": "user", "parts": [TEXT, {"text": "a", "x": 1}]}, False),
        ({"role": "user", "parts": [TEXT, "a"]}, False),
        ({"role": "user", "parts": [TEXT, {"text": 3}]}, False),
    ],
)
def test_messages_that_are_text_and_nothing_else_are_not_looked_into(message: dict[str, Any], plain: bool) -> None:
    assert is_plain(message) is plain
    if plain:
        found = find_parts(message)
        assert (found.parts, found.unread) == ([], "")


CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
OTHER = {"id": "2", "type": "function", "function": {"name": "find", "arguments": "{}"}}


@for_each(
    ("step", "names", "results"),
    [
        ({"tool_calls": [CALL], "observations": "Observation:\nok"}, ["look"], [("look", "1", "ok", None)]),
        ({"tool_calls": [CALL], "observations": None, "action_output": 7}, ["look"], [("look", "1", 7, None)]),
        ({"tool_calls": [CALL], "observations": None}, ["look"], [("look", "1", NOTHING, None)]),
        ({"tool_calls": [CALL, OTHER], "observations": "ok"}, ["look", "find"], []),
        (
            {"tool_calls": [CALL, OTHER], "observations": "", "error": {"message": "in 'find'"}},
            ["look", "find"],
            [("find", "2", NOTHING, "in 'find'")],
        ),
        (
            {"tool_calls": [CALL, OTHER], "observations": "", "error": "in 'find' and 'look'"},
            ["look", "find"],
            [],
        ),
        ({"tool_calls": [CALL], "observations": "", "error": "x"}, ["look"], [("look", "1", NOTHING, "x")]),
        ({"tool_calls": [CALL], "observations": "", "error": {"code": 3}}, ["look"], [("look", "1", NOTHING, None)]),
        ({"model_output_message": {"tool_calls": [CALL]}, "error": "x"}, ["look"], [("look", "1", NOTHING, "x")]),
        (
            {"tool_calls": [OTHER], "model_output_message": {"tool_calls": [CALL]}},
            ["find"],
            [("find", "2", NOTHING, None)],
        ),
        ({"tool_calls": [3], "observations": "ok"}, [], []),
        ({"tool_calls": "look", "observations": "ok"}, [], []),
    ],
)
def test_a_step_of_smolagents_has_calls_and_the_result_of_one(
    step: dict[str, Any], names: list[str], results: list[Any]
) -> None:
    calls, found = read_step({"step_number": 1, **step})

    assert is_step({"step_number": 1, **step})
    assert not is_step(step)
    assert [call.name for call in calls] == names
    assert [(each.name, each.call_id, each.output, each.error) for each in found] == results
    assert [each.failed for each in found] == ["error" in step for _ in found]


@for_each(
    ("step", "is_known"),
    [
        ({"step_number": 1, "observations": ""}, True),
        ({"step_number": 1, "model_output_message": None}, True),
        ({"step_number": 1, "code_action": None, "action_output": None}, False),
        ({"observations": "", "code_action": None, "action_output": None}, True),
        ({"observations": "", "code_action": None}, False),
        ({"model_output_message": {}, "model_input_messages": [], "plan": "x", "timing": {}}, False),
    ],
)
def test_a_step_is_known_by_its_fields_also_if_some_are_lost(step: dict[str, Any], is_known: bool) -> None:
    assert is_step(step) is is_known


@for_each(
    ("step", "name", "is_in_code"),
    [
        ({"code_action": "x = 1"}, "look", True),
        ({}, "python_interpreter", True),
        ({"code_action": None}, "look", False),
        ({}, "look", False),
    ],
)
def test_the_calls_of_a_step_are_code_where_it_ran_some(step: dict[str, Any], name: str, is_in_code: bool) -> None:
    asked = {"id": "1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    [call], _ = read_step({"step_number": 1, "tool_calls": [asked], "observations": "ok", **step})

    assert (call.format == IN_CODE) is is_in_code


def test_arguments_are_written_alike_where_they_are_equal() -> None:
    assert key_of({"a": 1, "b": {"d": [2], "c": 3}}) == key_of({"b": {"c": 3, "d": [2]}, "a": 1})
    assert key_of({"a": None}) != key_of({"a": float("nan")})
    assert key_of({"b": None, "a": [{"d": 1, "c": 2}]}) == key_of({"a": [{"c": 2, "d": 1}], "b": None})
    assert key_of({"a": 2**70, "b": 1}) == key_of({"b": 1, "a": 2**70})
    assert (key_of(NOTHING), key_of({})) == (b"", b"{}")


BEDROCK = {"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}
GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}


@for_each(
    ("document", "messages"),
    [
        ([{"a": 1}, {"b": 2}], [{"a": 1}, {"b": 2}]),
        ([[{"a": 1}]], [{"a": 1}]),
        ([[{"a": 1}], []], [[{"a": 1}], []]),
        ({"messages": [{"a": 1}]}, [{"a": 1}]),
        ({"messages": [[{"a": 1}]]}, [{"a": 1}]),
        ({"messages": [], "events": [{"a": 1}]}, [{"a": 1}]),
        ({"messages": ["a"]}, [{"messages": ["a"]}]),
        ({"choices": [[{"a": 1}]]}, [[{"a": 1}]]),
        ({"items": [{"a": 1}]}, [{"a": 1}]),
        ({"items": [{"a": 1}], "role": "user"}, [{"items": [{"a": 1}], "role": "user"}]),
        ({"role": "user"}, [{"role": "user"}]),
        ("a", ["a"]),
        ({"messages": ["Go.", {"role": "user"}]}, [{"messages": ["Go.", {"role": "user"}]}]),
        (BEDROCK, [{"role": "assistant", "content": [{"text": "Hi"}]}]),
        ({"output": BEDROCK["output"]}, [{"output": BEDROCK["output"]}]),
        ({"output": "x", "stopReason": "end_turn"}, [{"output": "x", "stopReason": "end_turn"}]),
        (GEMINI, [{"role": "model", "parts": [{"text": "Hi"}]}]),
        ({"candidates": [{"content": "x"}]}, [{"candidates": [{"content": "x"}]}]),
        ({"candidates": GEMINI["candidates"] * 2}, [{"candidates": GEMINI["candidates"] * 2}]),
    ],
)
def test_a_document_is_a_list_of_messages_holds_one_or_is_a_message(document: Any, messages: list[Any]) -> None:
    assert messages_of(document) == messages


@for_each(
    ("message", "known"),
    [
        ({"role": "user"}, True),
        ({"author": "a"}, True),
        ({"tool_calls": []}, True),
        ({"task": "Go."}, True),
        ({"type": "x", "content": "a"}, True),
        ({"type": "x", "uuid": "a"}, True),
        ({"type": "x"}, False),
        ({"type": 3, "content": "a"}, False),
        ({"content": "a"}, False),
        ({"body": {"role": "user"}}, False),
        ({"body": CALL}, True),
        ({"results": [CALL]}, False),
        ("user", False),
    ],
)
def test_a_list_has_messages_where_one_has_a_role_a_call_or_a_type_with_content(message: Any, known: bool) -> None:
    assert has_messages([3, message]) is known


def test_a_call_that_a_message_repeats_is_one_and_an_id_that_calls_share_is_none() -> None:
    def calls(**message: Any) -> list[tuple[str, str | None]]:
        return [(call.name, call.call_id) for call in exchange_of({"role": "assistant", **message}).calls]

    def block(name: str, call_id: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": call_id, "name": name, "input": {}}

    look, find = ("look", "1"), ("find", "2")
    assert calls(tool_calls=[CALL]) == [look]
    assert calls(tool_calls=[CALL, OTHER]) == [look, find]
    assert calls(tool_calls=[CALL, CALL]) == [("look", None)] * 2
    assert calls(tool_calls=[CALL], content=[block("look", "1")]) == [look]
    assert calls(tool_calls=[CALL], content=[block("find", "2")]) == [look, find]
    assert calls(tool_calls=[CALL], content=[block("look", "2")]) == [look]
    assert calls(tool_calls=[CALL], content=[block("find", "1")]) == [look]
    assert calls(content=[block("look", "1"), block("find", "2")]) == [look, find]
    assert calls(content=[block("look", "1"), block("look", "1")]) == [("look", None)] * 2
    assert calls(content=[block("look", "1")], parts=[block("look", "1")]) == [look]


def test_a_result_has_an_error_only_if_it_failed() -> None:
    def result(**more: Any) -> tuple[bool, str | None, Any]:
        [found] = exchange_of({"type": "tool_result", "tool_use_id": "1", "content": "no", **more}).results
        return found.failed, found.error, found.output

    assert result() == (False, None, "no")
    assert result(is_error=False) == (False, None, "no")
    assert result(is_error=True) == (True, "no", "no")


def test_the_name_of_a_server_that_pydantic_ai_hid_is_not_known() -> None:
    part = {"type": "tool_call", "id": "1", "name": "mcp_server:[REDACTED]", "arguments": {}}
    [found] = exchange_of({"role": "assistant", "parts": [part]}).calls

    assert (found.name, found.call_id) == ("", "1")


def test_keys_of_a_call_of_a_server_that_were_not_set_are_no_arguments() -> None:
    action = {"type": "search", "query": "tv", "queries": None}
    [found] = exchange_of({"type": "web_search_call", "id": "1", "action": action}).calls

    assert found.args == {"type": "search", "query": "tv"}


def test_a_result_of_an_event_may_be_blocks_of_text() -> None:
    def output(content: Any) -> Any:
        message = {"event.name": "gen_ai.tool.message", "role": "tool", "id": "1", "name": "add", "content": content}
        return [each.output for each in exchange_of(message).results]

    assert output([{"type": "input_text", "text": "3"}]) == ["3"]
    assert output([]) == output([{"type": "tool_result"}]) == []
