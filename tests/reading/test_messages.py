"""Logs of messages, in every format known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rightcall.reading import read, read_messages

FORMATS: dict[str, list[Any]] = {
    "OpenAI chat": [
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "t", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "o"},
    ],
    "OpenAI chat, early": [
        {"role": "assistant", "function_call": {"name": "t", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "t", "content": "o"},
    ],
    "OpenAI Responses": [
        {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "t", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "o"},
    ],
    "Anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "o"}]}],
        },
    ],
    "Gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"result": "o"}}}]},
    ],
    "ADK": [
        {"author": "x", "content": {"parts": [{"function_call": {"id": "1", "name": "t", "args": {"a": 1}}}]}},
        {
            "author": "x",
            "content": {"parts": [{"function_response": {"id": "1", "name": "t", "response": {"result": "o"}}}]},
        },
    ],
    "LangChain": [
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "t", "args": {"a": 1}, "id": "1"}]}},
        {"type": "tool", "data": {"content": "o", "type": "tool", "tool_call_id": "1", "status": "success"}},
    ],
    "LangChain, constructed": [
        {"lc": 1, "id": ["AIMessage"], "kwargs": {"tool_calls": [{"name": "t", "args": {"a": 1}, "id": "1"}]}},
        {"lc": 1, "id": ["ToolMessage"], "kwargs": {"type": "tool", "content": "o", "tool_call_id": "1"}},
    ],
    "Pydantic AI": [
        {
            "kind": "response",
            "parts": [{"part_kind": "tool-call", "tool_name": "t", "args": '{"a": 1}', "tool_call_id": "1"}],
        },
        {
            "kind": "request",
            "parts": [{"part_kind": "tool-return", "tool_name": "t", "content": "o", "tool_call_id": "1"}],
        },
    ],
    "Bedrock Converse": [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "t", "input": {"a": 1}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "1", "status": "success", "content": [{"text": "o"}]}}],
        },
    ],
    "Vercel": [
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "t", "input": {"a": 1}}],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "1", "toolName": "t", "output": {"type": "text", "value": "o"}}
            ],
        },
    ],
    "AutoGen": [
        {"type": "ToolCallRequestEvent", "content": [{"id": "1", "name": "t", "arguments": '{"a": 1}'}]},
        {
            "type": "ToolCallExecutionEvent",
            "content": [{"call_id": "1", "name": "t", "content": "o", "is_error": False}],
        },
    ],
    "Semantic Kernel": [
        {
            "role": "assistant",
            "items": [{"content_type": "function_call", "id": "1", "name": "t", "arguments": '{"a": 1}'}],
        },
        {"role": "tool", "items": [{"content_type": "function_result", "id": "1", "name": "t", "result": "o"}]},
    ],
    "Agent Framework": [
        {
            "role": "assistant",
            "contents": [{"type": "function_call", "call_id": "1", "name": "t", "arguments": '{"a": 1}'}],
        },
        {"role": "tool", "contents": [{"type": "function_result", "call_id": "1", "result": "o"}]},
    ],
    "Haystack": [
        {"role": "assistant", "content": [{"tool_call": {"tool_name": "t", "arguments": {"a": 1}, "id": "1"}}]},
        {
            "role": "tool",
            "content": [{"tool_call_result": {"result": "o", "origin": {"tool_name": "t", "id": "1"}, "error": False}}],
        },
    ],
    "LlamaIndex": [
        {"tool_name": "t", "tool_kwargs": {"a": 1}, "tool_id": "1"},
        {
            "tool_name": "t",
            "tool_kwargs": {"a": 1},
            "tool_id": "1",
            "tool_output": {"raw_output": "o", "is_error": False},
        },
    ],
    "smolagents": [
        {
            "step_number": 1,
            "tool_calls": [{"id": "1", "function": {"name": "t", "arguments": {"a": 1}}}],
            "observations": "o",
            "error": None,
        },
    ],
    "Claude stream-json": [
        {"type": "system", "subtype": "init"},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {"a": 1}}],
            },
        },
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "o"}]},
        },
    ],
    "OpenTelemetry": [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "t", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "o"}]},
    ],
    "Inspect": [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": "t", "arguments": {"a": 1}}]},
        {"role": "tool", "tool_call_id": "1", "function": "t", "content": "o", "error": None},
    ],
    "ATIF": [
        {
            "step_id": 1,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "1", "function_name": "t", "arguments": {"a": 1}}],
            "observation": {"results": [{"source_call_id": "1", "content": "o"}]},
        },
    ],
    "Anthropic's managed agents": [
        {"type": "agent.tool_use", "id": "1", "name": "t", "input": {"a": 1}},
        {
            "type": "agent.tool_result",
            "tool_use_id": "1",
            "content": [{"type": "text", "text": "o"}],
            "is_error": False,
        },
    ],
    "Anthropic's managed agents, by MCP": [
        {"type": "agent.mcp_tool_use", "id": "1", "name": "t", "input": {"a": 1}},
        {"type": "agent.mcp_tool_result", "mcp_tool_use_id": "1", "content": [{"type": "text", "text": "o"}]},
    ],
    "Anthropic's managed agents, custom": [
        {"type": "agent.custom_tool_use", "id": "1", "name": "t", "input": {"a": 1}},
        {"type": "user.custom_tool_result", "custom_tool_use_id": "1", "content": [{"type": "text", "text": "o"}]},
    ],
    "OpenAI Responses, by MCP": [
        {"type": "mcp_call", "id": "1", "name": "t", "arguments": '{"a": 1}', "output": "o", "error": None},
    ],
    "Vercel, with its result": [
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "dynamic-tool",
                    "toolName": "t",
                    "toolCallId": "1",
                    "state": "output-available",
                    "input": {"a": 1},
                    "output": "o",
                }
            ],
        },
    ],
    "Pi": [
        {"role": "assistant", "content": [{"type": "toolCall", "id": "1", "name": "t", "arguments": {"a": 1}}]},
        {
            "role": "toolResult",
            "toolCallId": "1",
            "toolName": "t",
            "content": [{"type": "text", "text": "o"}],
            "isError": False,
        },
    ],
    "AG2": [
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "t", "arguments": '{"a": 1}'}}]},
        {
            "role": "tool",
            "name": "executor",
            "content": "o",
            "tool_responses": [{"tool_call_id": "1", "role": "tool", "content": "o"}],
        },
    ],
    "Qwen Code": [
        {
            "type": "assistant",
            "message": {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "t", "args": {"a": 1}}}]},
        },
        {
            "type": "tool_result",
            "message": {
                "role": "user",
                "parts": [{"functionResponse": {"id": "1", "name": "t", "response": {"result": "o"}}}],
            },
            "toolCallResult": {"callId": "1", "status": "success"},
        },
    ],
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_and_its_result_are_read_in_the_format_of(name: str) -> None:
    [call] = read_messages(FORMATS[name]).calls

    assert (call.name, call.args, call.output, call.error, call.source) == ("t", {"a": 1}, "o", None, "message")


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_of_messages_is_told_from_a_trace(name: str) -> None:
    as_list = json.dumps(FORMATS[name]).encode()
    as_lines = b"\n".join(json.dumps(message).encode() for message in FORMATS[name])

    for source in (as_list, as_lines, {"messages": FORMATS[name]}):
        assert [trajectory.names for trajectory in read(source)] == [("t",)]


FAILURES: dict[str, list[Any]] = {
    "Anthropic": [
        FORMATS["Anthropic"][0],
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": True}]},
    ],
    "Gemini": [
        FORMATS["Gemini"][0],
        {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"error": "no"}}}]},
    ],
    "LangChain": [
        FORMATS["LangChain"][0],
        {"type": "tool", "data": {"content": "no", "type": "tool", "tool_call_id": "1", "status": "error"}},
    ],
    "Bedrock Converse": [
        FORMATS["Bedrock Converse"][0],
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "1", "status": "error", "content": [{"text": "no"}]}}],
        },
    ],
    "Vercel": [
        FORMATS["Vercel"][0],
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "1",
                    "toolName": "t",
                    "output": {"type": "error-text", "value": "no"},
                }
            ],
        },
    ],
    "Pydantic AI": [
        FORMATS["Pydantic AI"][0],
        {
            "kind": "request",
            "parts": [{"part_kind": "retry-prompt", "tool_name": "t", "content": "no", "tool_call_id": "1"}],
        },
    ],
    "Inspect": [
        FORMATS["Inspect"][0],
        {"role": "tool", "tool_call_id": "1", "content": "", "error": {"type": "timeout", "message": "no"}},
    ],
    "tau2-bench": [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "t", "arguments": {"a": 1}}]},
        {"role": "tool", "id": "1", "content": "no", "error": True},
    ],
    "OpenAI Responses, by MCP": [{**FORMATS["OpenAI Responses, by MCP"][0], "output": None, "error": "no"}],
    "AutoGen": [
        FORMATS["AutoGen"][0],
        {
            "type": "ToolCallExecutionEvent",
            "content": [{"call_id": "1", "name": "t", "content": "no", "is_error": True}],
        },
    ],
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_result_that_is_an_error_is_one_in_the_format_of(name: str) -> None:
    [call] = read_messages(FAILURES[name]).calls

    assert call.error == "no"


def test_results_find_their_calls_by_id_in_any_order() -> None:
    messages = [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "tool_calls": [{"id": str(n), "function": {"name": "t", "arguments": "{}"}} for n in range(3)],
        },
        *({"role": "tool", "tool_call_id": str(n), "content": f"o{n}"} for n in (2, 0, 1)),
    ]
    calls = read_messages(messages).calls

    assert [call.output for call in calls] == ["o0", "o1", "o2"]
    assert len({call.group for call in calls}) == 1
    assert [call.turn for call in calls] == [0, 0, 0]


def test_each_turn_of_the_user_begins_a_turn() -> None:
    ask = {"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "t", "arguments": ""}}]}
    calls = read_messages([{"role": "user", "content": "x"}, ask, {"role": "user", "content": "y"}, ask]).calls

    assert [call.turn for call in calls] == [0, 1]
    assert calls[0].args == {}


def test_calls_of_claudes_sub_agents_hang_under_the_call_that_started_them() -> None:
    def use(call_id: str, name: str, parent: str | None = None) -> dict[str, Any]:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        return {"type": "assistant", "parent_tool_use_id": parent, "message": {"role": "assistant", "content": [block]}}

    made = read_messages([use("1", "Task"), use("2", "Read", "1"), use("3", "Write")])
    outer, inner, _ = made.calls

    assert inner.parent_id == outer.span_id == "1"
    assert made.unordered == ()  # the log has them in order


def test_arguments_that_cannot_be_parsed_are_unrecorded() -> None:
    broken = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "t", "arguments": "{oops"}}]}
    trajectory = read_messages([broken])

    assert trajectory.calls[0].unrecorded == {"args", "output"}
    assert "arguments" in trajectory.warnings[0]


def test_what_several_parallel_calls_observed_belongs_to_none_of_them() -> None:
    step = {
        "step_number": 1,
        "tool_calls": [{"id": str(n), "function": {"name": f"t{n}", "arguments": {}}} for n in range(2)],
        "observations": "one\ntwo",
        "error": None,
    }

    assert all("output" in call.unrecorded for call in read_messages([step]).calls)


@pytest.mark.parametrize(
    ("last", "answer"),
    [
        ({"role": "assistant", "content": "Refunded."}, "Refunded."),
        ({"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"role": "model", "parts": [{"text": "done"}]}, "done"),
        ({"type": "ai", "data": {"content": "done", "tool_calls": []}}, "done"),
        ({"role": "assistant", "content": ""}, None),
        ({"role": "user", "content": "and now?"}, None),
        ({"role": "tool", "tool_call_id": "1", "content": "ok"}, None),
        (
            {"role": "assistant", "content": "let me see", "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
            None,
        ),
    ],
    ids=str,
)
def test_the_answer_is_the_last_message_of_a_model_that_asks_for_nothing_more(last: Any, answer: str | None) -> None:
    trajectory = read_messages([{"role": "user", "content": "refund it"}, last])

    assert (trajectory.input, trajectory.output) == ("refund it", answer)
