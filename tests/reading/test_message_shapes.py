"""Logs of messages in the shapes of frameworks: their question, their answer, and each call with its result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.walls import for_each

from rightcall import read, read_messages

ARGS = {"order": 7}
ASKED = {"role": "user", "content": "q"}
_TEXT = {"block_type": "text"}

SHAPES: dict[str, list[Any]] = {
    "Anthropic, on the server": [
        ASKED,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "server_tool_use", "id": "1", "name": "look", "input": ARGS},
                {"type": "web_search_tool_result", "tool_use_id": "1", "content": "ok"},
                {"type": "text", "text": "do"},
                {"type": "text", "text": "ne"},
            ],
        },
    ],
    "Vercel's pages, 5": [
        {"role": "user", "parts": [{"type": "text", "text": "q"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "tool-look", "toolCallId": "1", "state": "output-available", "input": ARGS, "output": "ok"},
                {"type": "text", "text": "done"},
            ],
        },
    ],
    "Vercel's pages, 4": [
        ASKED,
        {
            "role": "assistant",
            "content": "done",
            "toolInvocations": [
                {"state": "result", "toolCallId": "1", "toolName": "look", "args": ARGS, "result": "ok"}
            ],
        },
    ],
    "Semantic Kernel": [
        {"role": "user", "items": [{"content_type": "text", "text": "q"}]},
        {
            "role": "assistant",
            "items": [{"content_type": "function_call", "id": "1", "name": "look", "arguments": ARGS}],
        },
        {"role": "tool", "items": [{"content_type": "function_result", "id": "1", "name": "look", "result": "ok"}]},
        {"role": "assistant", "items": [{"content_type": "text", "text": "done"}]},
    ],
    "LlamaIndex": [
        {"role": "user", "blocks": [{**_TEXT, "text": "q"}]},
        {
            "role": "assistant",
            "blocks": [{"block_type": "tool_call", "tool_call_id": "1", "tool_name": "look", "tool_kwargs": ARGS}],
        },
        {"role": "tool", "additional_kwargs": {"tool_call_id": "1"}, "blocks": [{**_TEXT, "text": "ok"}]},
        {"role": "assistant", "blocks": [{**_TEXT, "text": "done"}]},
    ],
    "smolagents": [
        {"task": "q"},
        {
            "step_number": 1,
            "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": ARGS}}],
            "observations": "ok",
        },
        {
            "step_number": 2,
            "tool_calls": [{"id": "2", "function": {"name": "final_answer", "arguments": {"answer": "done"}}}],
            "observations": "",
        },
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_question_answer_and_call_are_found(shape: str) -> None:
    found = read_messages(SHAPES[shape])

    assert found.calls_recorded
    assert (found.input, found.output) == ("q", "done")
    made = [call for call in found.calls if not call.internal]
    assert [(call.name, call.args, call.output, call.turn) for call in made] == [("look", ARGS, "ok", 0)]


@for_each(
    ("kind", "is_understood"),
    [
        ("Microsoft.Extensions.AI.TextReasoningContent", True),
        ("Microsoft.Extensions.AI.UsageContent", True),
        ("Microsoft.Extensions.AI.FunctionApprovalRequestContent", False),
        ("Other.TextReasoningContent", False),
    ],
)
def test_contents_of_net_are_known_by_the_names_of_their_classes(kind: str, is_understood: bool) -> None:
    parts = [{"type": kind, "content": {"text": ""}}, {"type": "text", "content": "Done."}]

    assert read_messages([ASKED, {"role": "assistant", "parts": parts}]).calls_recorded is is_understood


@for_each(
    ("told", "output"),
    [
        ({"type": "function_result", "call_id": "c1", "result": "ok"}, "ok"),
        ({"type": "function_result", "call_id": "c1"}, {"type": "function_result", "call_id": "c1"}),
        ({"type": "other", "call_id": "c1", "result": "ok"}, {"type": "other", "call_id": "c1", "result": "ok"}),
    ],
)
def test_a_result_of_agent_framework_is_unwrapped_in_messages_of_opentelemetry(told: Any, output: Any) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
    response = {"type": "tool_call_response", "id": "c1", "response": json.dumps(told)}

    [made] = read_messages([ASKED, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [response]}]).calls

    assert made.output == output


def test_text_beside_a_call_that_is_still_open_is_no_answer() -> None:
    used = {"type": "server_tool_use", "id": "1", "name": "look", "input": ARGS}

    found = read_messages([ASKED, {"role": "assistant", "content": [used, {"type": "text", "text": "I look."}]}])

    assert found.output is None


@pytest.mark.parametrize(
    "result",
    [
        {"type": "function_call_output", "call_id": "1", "output": "no", "is_error": True},
        {"role": "tool", "tool_call_id": "1", "content": "no", "tool_call_error": True},
    ],
    ids=["LiveKit", "Agno"],
)
@pytest.mark.parametrize("is_error", [True, False])
def test_a_result_that_says_it_is_an_error_is_one(result: dict[str, Any], is_error: bool) -> None:
    told = {key: is_error if held is True else held for key, held in result.items()}
    asked = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}

    [call] = read_messages([ASKED, asked, told]).calls

    assert (call.error is not None, call.output) == (is_error, "no")


def _line(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, **more}


def test_a_side_conversation_of_claude_code_begins_no_turn() -> None:
    def used(number: str, name: str) -> list[Any]:
        return [{"type": "tool_use", "id": number, "name": name, "input": {}}]

    def gave(number: str, text: str) -> list[Any]:
        return [{"type": "tool_result", "tool_use_id": number, "content": text}]

    side = {"isSidechain": True}
    lines = [
        _line("user", "q"),
        _line("assistant", used("1", "Task")),
        _line("user", "Search for it", **side),
        _line("assistant", used("2", "Grep"), **side),
        _line("user", gave("2", "a hit"), **side),
        _line("assistant", [{"type": "text", "text": "Found"}], **side),
        _line("user", gave("1", "Found")),
        _line("assistant", [{"type": "text", "text": "done"}]),
    ]

    [found] = read("\n".join(map(json.dumps, lines)).encode())

    assert [(call.name, call.turn, "parent_id" in call.unrecorded) for call in found.calls] == [
        ("Task", 0, False),
        ("Grep", 0, True),
    ]
    assert (found.input, found.output, found.turn_outputs) == ("q", "done", ())


def test_a_call_that_the_user_of_claude_code_refused_is_withheld() -> None:
    why = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, …)"
    )
    used = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "rm"}}
    gave = {"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": why}

    found = read_messages(
        [
            _line("user", "q"),
            _line("assistant", [used]),
            _line("user", [gave]),
            _line("user", "[Request interrupted by user]"),
        ]
    )

    assert ([call.name for call in found.withheld], found.calls, found.turn_inputs) == (["Bash"], (), ())


@pytest.mark.parametrize(
    "text",
    [
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>look",
        "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}",
        "<start_function_call>call:look{}",
        "<minimax:tool_call>\n<invoke>",
        "<tool_calls>[]</tool_calls>",
        "look\n<arg_key>order</arg_key>",
    ],
    ids=["DeepSeek", "gpt-oss", "Gemma", "MiniMax", "a list", "GLM"],
)
def test_tokens_of_chat_templates_are_signs_of_calls(text: str) -> None:
    assert not read_messages([ASKED, {"role": "assistant", "content": text}]).calls_recorded


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({"content": ["plain text"]}, ""),
        ({"content": "x", "tool_calls": ["search(x)"]}, "message 2: `tool_calls`, which holds str"),
        ({"content": "x", "tool_calls": []}, ""),
    ],
)
def test_text_in_a_list_is_a_sign_only_where_calls_are_listed(held: dict[str, Any], told: str) -> None:
    asked, done = {"role": "user", "content": "q"}, {"role": "assistant", "content": "done"}
    found = read_messages([asked, {"role": "assistant", **held}, done])

    assert found.not_understood == told
    assert found.calls_recorded == (not told)
