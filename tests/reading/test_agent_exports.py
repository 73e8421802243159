"""What agents, frameworks and platforms export, each with the same call in it: `refund(order=7)`, answered by `ok`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import ANSWERED, ASKED, refund

from rightcall.reading import read

ARGS = {"order": 7}
TEXT = json.dumps(ARGS)
START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
QUESTION = {"id": "m0", "role": "user", "parts": [{"type": "text", "text": "Refund order 7."}]}
INVOCATION = {"state": "result", "toolCallId": "c1", "toolName": "refund", "args": ARGS, "result": "ok"}
_ID = "6f1c2a30-0000-4000-8000-00000000000"
HUMAN = {"type": "human", "content": "Refund order 7.", "id": f"{_ID}1"}
ASKS = {
    "type": "ai",
    "content": "",
    "id": f"{_ID}2",
    "tool_calls": [{"name": "refund", "args": ARGS, "id": "c1", "type": "tool_call"}],
}
GIVES = {"type": "tool", "content": "ok", "id": f"{_ID}3", "tool_call_id": "c1", "name": "refund"}
SAYS = {"type": "ai", "content": "Done.", "id": f"{_ID}4", "tool_calls": []}
TALK = [HUMAN, ASKS, GIVES, SAYS]


def _answers(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [QUESTION, {"id": "m1", "role": "assistant", "parts": [*parts, {"type": "text", "text": "Done."}]}]


def _opencode(**state: Any) -> dict[str, Any]:
    return {"id": "p2", "sessionID": "s", "type": "tool", "callID": "c1", "tool": "refund", "state": state}


_DONE = _opencode(status="completed", input=ARGS, output="ok", title="", metadata={})
_REQUEST = {
    "type": "toolRequest",
    "id": "c1",
    "toolCall": {"status": "success", "value": {"name": "refund", "arguments": ARGS}},
}
_RESPONSE = {
    "type": "toolResponse",
    "id": "c1",
    "toolResult": {"status": "success", "value": [{"type": "text", "text": "ok"}]},
}
_ATTRIBUTES = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "refund",
    "gen_ai.tool.call.arguments": TEXT,
    "gen_ai.tool.call.result": "ok",
}
XRAY = {"trace_id": "1-5880168b-fd5158284b67678a3bb5a78c", "id": "6226467e3f845502", "name": "a", "start_time": 1.5}
XRAY_CALL = {"id": "53995c3f42cd8ad8", "name": "x", "start_time": 2.5, "metadata": {"default": _ATTRIBUTES}}
_CURSOR = {"type": "tool_call", "call_id": "c1", "session_id": "s"}
_INSPECT = {"id": "c1", "function": "refund", "arguments": ARGS, "type": "function"}
_STEP = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": TEXT, "output": "ok"}}
_ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Refund order 7."}]},
    {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": TEXT},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
]
_INVOKED = {
    "invocationType": "ACTION_GROUP",
    "traceId": "t-0",
    "actionGroupInvocationInput": {
        "function": "refund",
        "parameters": [{"name": "order", "type": "integer", "value": 7}],
    },
}
_OBSERVED = {"type": "ACTION_GROUP", "traceId": "t-0", "actionGroupInvocationOutput": {"text": "ok"}}
_HEADER = {"id": "s", "timestamp": START, "instructions": None}
_ACTION = {"tool": "refund", "tool_input": ARGS, "log": "Invoking refund", "type": "AgentAction"}
_TOOL_STEP = {
    "step_number": 1,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "refund", "arguments": ARGS}}],
    "observations": "ok",
    "error": None,
}


def _executed(*steps: Any, key: str = "intermediate_steps") -> dict[str, Any]:
    return {"input": "Refund order 7.", "output": "Done.", key: list(steps)}


_DOJO = {"function": "refund", "args": ARGS, "id": "c1", "placeholder_args": None}
LOGS: dict[str, Any] = {
    "Vercel, chat": _answers(
        {"type": "tool-refund", "toolCallId": "c1", "state": "output-available", "input": ARGS, "output": "ok"}
    ),
    "Vercel, chat of 4": _answers({"type": "tool-invocation", "toolInvocation": INVOCATION}),
    "Vercel, stream": [
        {"type": "start"},
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "refund"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"or'},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "refund", "input": ARGS},
        {"type": "tool-output-available", "toolCallId": "c1", "output": "ok"},
        {"type": "finish"},
    ],
    "OpenCode": {
        "info": {"id": "s"},
        "messages": [
            {"info": {"id": "1", "role": "user"}, "parts": [{"type": "text", "text": "Refund order 7."}]},
            {
                "info": {"id": "2", "role": "assistant"},
                "parts": [{"type": "step-start"}, _DONE, {"type": "step-finish"}],
            },
        ],
    },
    "OpenCode, run": [
        {"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}},
        {"type": "tool_use", "sessionID": "s", "part": _DONE},
        {"type": "text", "sessionID": "s", "part": {"type": "text", "text": "Done."}},
    ],
    "Goose": [
        {"working_dir": "/", "description": "", "message_count": 2},
        {"role": "user", "created": 1, "content": [{"type": "text", "text": "Refund order 7."}]},
        {"role": "assistant", "created": 2, "content": [_REQUEST]},
        {"role": "user", "created": 3, "content": [_RESPONSE]},
    ],
    "Letta": [
        {"message_type": "user_message", "content": "Refund order 7."},
        {"message_type": "reasoning_message", "reasoning": "…"},
        {
            "message_type": "tool_call_message",
            "tool_call": {"name": "refund", "arguments": TEXT, "tool_call_id": "c1"},
        },
        {"message_type": "tool_return_message", "tool_return": "ok", "status": "success", "tool_call_id": "c1"},
    ],
    "Amp": {
        "id": "T-1",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Refund order 7."}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "refund", "input": ARGS}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "toolUseID": "c1", "run": {"status": "done", "result": "ok"}}],
            },
        ],
    },
    "LibreChat": [
        {"role": "user", "content": "Refund order 7."},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_call", "tool_call": {"id": "c1", "name": "refund", "args": TEXT, "output": "ok"}},
                {"type": "text", "text": "Done."},
            ],
        },
    ],
    "GitHub Copilot CLI": [
        {"type": "session.start", "data": {"sessionId": "s"}},
        {"type": "user.message", "data": {"content": "Refund order 7."}},
        {
            "type": "assistant.message",
            "data": {"content": "", "toolRequests": [{"toolCallId": "c1", "name": "refund"}]},
        },
        {"type": "tool.execution_start", "data": {"toolCallId": "c1", "toolName": "refund", "arguments": ARGS}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c1", "success": True, "result": {"content": "ok"}}},
        {"type": "assistant.message", "data": {"content": "Done.", "toolRequests": []}},
    ],
    "Cursor": [
        {**_CURSOR, "subtype": "started", "tool_call": {"refundToolCall": {"args": ARGS}}},
        {
            **_CURSOR,
            "subtype": "completed",
            "tool_call": {"refundToolCall": {"args": ARGS, "result": {"success": "ok"}}},
        },
        {"type": "result", "subtype": "success", "result": "Done."},
    ],
    "Codex, early lines": [_HEADER, {"record_type": "state"}, *_ITEMS],
    "Codex, early session": {"session": _HEADER, "items": _ITEMS},
    "LangGraph, values": [{"messages": TALK[:end]} for end in range(1, 5)],
    "LangGraph, history": [
        {"values": {"messages": TALK[:end]}, "next": [], "checkpoint": {"checkpoint_id": str(end)}}
        for end in range(4, 0, -1)
    ],
    "LangGraph, checkpoint": {"v": 1, "channel_values": {"messages": TALK}, "channel_versions": {}},
    "LangGraph, updates": [
        {"agent": {"messages": [ASKS]}},
        {"tools": {"messages": [GIVES]}},
        {"summary": None},
        {"agent": {"messages": [SAYS]}},
    ],
    "LangGraph, stream of its server": [
        {"event": "metadata", "data": {"run_id": "r"}},
        *[{"event": "values", "data": {"messages": TALK[:end]}} for end in range(1, 5)],
    ],
    "LangChain, events": [
        {"event": "on_chain_start", "run_id": "1", "data": {"input": {"messages": [HUMAN]}}},
        {"event": "on_chat_model_end", "run_id": "2", "data": {"output": ASKS}},
        {"event": "on_tool_start", "name": "refund", "run_id": "3", "data": {"input": ARGS}},
        {"event": "on_tool_end", "name": "refund", "run_id": "3", "data": {"output": GIVES}},
        {"event": "on_chat_model_end", "run_id": "4", "data": {"output": SAYS}},
    ],
    "Inspect, events": [
        {
            "event": "model",
            "output": {"choices": [{"message": {"role": "assistant", "content": "", "tool_calls": [_INSPECT]}}]},
        },
        {"event": "tool", "id": "c1", "function": "refund", "arguments": ARGS, "result": "ok"},
    ],
    "OpenAI assistants": {
        "object": "list",
        "data": [
            {"object": "thread.run.step", "type": "message_creation", "step_details": {"type": "message_creation"}},
            {"object": "thread.run.step", "step_details": {"type": "tool_calls", "tool_calls": [_STEP]}},
        ],
    },
    "OpenAI, page of items": {"object": "list", "has_more": False, "data": _ITEMS[::-1]},
    "managed agents, pages": [
        {
            "data": [
                {"type": "user.message", "content": []},
                {"type": "agent.tool_use", "id": "c1", "name": "refund", "input": ARGS},
            ],
            "next_page": "x",
        },
        {
            "data": [{"type": "agent.tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}],
            "next_page": None,
        },
    ],
    "Azure AI evaluation": {
        "query": [ASKED],
        "response": [
            {
                "role": "assistant",
                "content": [{"type": "tool_call", "tool_call_id": "c1", "name": "refund", "arguments": ARGS}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "tool_result", "tool_result": "ok"}]},
        ],
    },
    "Bedrock agents": [
        {"sessionId": "s", "trace": {"orchestrationTrace": {"invocationInput": _INVOKED}}},
        {"sessionId": "s", "trace": {"orchestrationTrace": {"observation": _OBSERVED}}},
        {
            "sessionId": "s",
            "trace": {"orchestrationTrace": {"observation": {"type": "FINISH", "finalResponse": {"text": "Done."}}}},
        },
    ],
    "ShareGPT": {
        "conversations": [
            {"from": "human", "value": "Refund order 7."},
            {"from": "function_call", "value": json.dumps({"name": "refund", "arguments": ARGS})},
            {"from": "observation", "value": "ok"},
            {"from": "gpt", "value": "Done."},
        ],
        "tools": "[]",
    },
    "SWE-agent": {
        "history": [
            ASKED,
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": TEXT}}],
            },
            {"role": "tool", "content": [{"type": "text", "text": "ok"}], "tool_call_ids": ["c1"]},
        ],
        "trajectory": [],
    },
    "messages under a key of their own": {"run": 1, "dialog": refund(), "verdict": "good"},
}
SPANS: dict[str, Any] = {
    "Braintrust": {
        "events": [
            {
                "id": "e",
                "span_id": "s2",
                "root_span_id": "s1",
                "span_parents": ["s1"],
                "span_attributes": {"name": "refund", "type": "tool"},
                "metrics": {"start": 1.5, "end": 2.5},
                "input": ARGS,
                "output": "ok",
            }
        ]
    },
    "AgentDojo": {
        "suite_name": "shop",
        "messages": [
            {"role": "user", "content": [{"type": "text", "content": "Refund order 7."}]},
            {"role": "assistant", "content": None, "tool_calls": [_DOJO]},
            {
                "role": "tool",
                "content": [{"type": "text", "content": "ok"}],
                "tool_call_id": "c1",
                "tool_call": _DOJO,
                "error": None,
            },
        ],
    },
    "Datadog, export": {
        "data": [
            {
                "id": "1",
                "type": "span",
                "attributes": {
                    "span_id": "1",
                    "trace_id": "t",
                    "parent_id": "undefined",
                    "name": "refund",
                    "span_kind": "tool",
                    "start_ns": 1,
                    "duration": 1,
                    "input": {"value": TEXT},
                    "output": {"value": "ok"},
                },
            }
        ]
    },
    "Datadog, SDK": [
        {
            "span_id": "1",
            "trace_id": "t",
            "parent_id": "undefined",
            "name": "refund",
            "start_ns": 1,
            "duration": 1,
            "meta": {"span.kind": "tool", "input": {"value": TEXT}, "output": {"value": "ok"}},
        }
    ],
    "Opik": [
        {
            "id": "b",
            "trace_id": "a",
            "name": "refund",
            "type": "tool",
            "start_time": START,
            "last_updated_at": START,
            "input": ARGS,
            "output": {"output": "ok"},
        }
    ],
    "Application Insights": [
        {
            "id": "b",
            "operation_Id": "a",
            "name": "execute_tool refund",
            "timestamp": START,
            "customDimensions": json.dumps(_ATTRIBUTES),
        }
    ],
    "Honeycomb": [
        {"Timestamp": START, "trace.trace_id": "a", "trace.span_id": "b", "name": "x", "duration_ms": 1, **_ATTRIBUTES}
    ],
    "Honeycomb, events": [
        {
            "time": START,
            "samplerate": 1,
            "data": {"trace.trace_id": "a", "trace.span_id": "b", "name": "x", "duration_ms": 1, **_ATTRIBUTES},
        }
    ],
    "Google Cloud Trace": {
        "traces": [
            {
                "projectId": "p",
                "traceId": "a",
                "spans": [
                    {"spanId": "71", "name": "x", "startTime": START, "endTime": END, "labels": _ATTRIBUTES},
                ],
            }
        ]
    },
    "Google Cloud Trace, version 2": {
        "spans": [
            {
                "name": f"projects/p/traces/{'a' * 32}/spans/051581bf3cb55c13",
                "spanId": "051581bf3cb55c13",
                "displayName": {"value": "x", "truncatedByteCount": 0},
                "startTime": START,
                "endTime": END,
                "attributes": {
                    "attributeMap": {key: {"stringValue": {"value": value}} for key, value in _ATTRIBUTES.items()}
                },
            }
        ]
    },
    "New Relic": [{"trace.id": "a", "id": "b", "name": "x", "timestamp": 1, "duration.ms": 2, **_ATTRIBUTES}],
    "Sentry": {
        "type": "transaction",
        "spans": [
            {
                "trace_id": "a",
                "span_id": "b",
                "op": "gen_ai.execute_tool",
                "description": "x",
                "start_timestamp": 1.0,
                "timestamp": 2.0,
                "data": _ATTRIBUTES,
            }
        ],
    },
    "X-Ray": {
        "Traces": [
            {
                "Id": XRAY["trace_id"],
                "Segments": [{"Id": "1", "Document": json.dumps({**XRAY, "subsegments": [XRAY_CALL]})}],
            }
        ]
    },
    "SigNoz": [{"traceID": "a", "spanID": "b", "name": "x", "timestamp": START, "stringTagMap": _ATTRIBUTES}],
    "Logfire, columns": {
        "columns": [
            {"name": name, "values": [value]}
            for name, value in {
                "trace_id": "a",
                "span_id": "b",
                "span_name": "x",
                "start_timestamp": START,
                "attributes": _ATTRIBUTES,
            }.items()
        ]
    },
    "nested attributes": [
        {
            "name": "refund",
            "context": {"trace_id": "a", "span_id": "b"},
            "start_time": START,
            "attributes": {
                "openinference": {"span": {"kind": "TOOL"}},
                "tool": {"name": "refund"},
                "input": {"value": TEXT},
                "output": {"value": "ok"},
            },
        }
    ],
}

LOGS |= {
    "AgentExecutor": _executed([_ACTION, "ok"]),
    "AgentExecutor, dumped": _executed([{"lc": 1, "type": "constructor", "kwargs": _ACTION}, "ok"]),
    "AgentExecutor, JavaScript": _executed(
        {"action": {"tool": "refund", "toolInput": ARGS, "log": ""}, "observation": "ok"}, key="intermediateSteps"
    ),
    "open deep research": {
        "question": "Refund order 7.",
        "prediction": "Done.",
        "intermediate_steps": [{"task": "Refund order 7."}, _TOOL_STEP],
        "agent_error": None,
        "true_answer": "Done.",
    },
    "DeepEval": {
        "input": "Refund order 7.",
        "actual_output": "Done.",
        "tools_called": [{"name": "refund", "input_parameters": ARGS, "output": "ok"}],
        "expected_tools": [{"name": "other"}],
    },
    "DeepEval, test run": {
        "testCases": [
            {"input": "x", "toolsCalled": [{"name": "refund", "inputParameters": ARGS, "output": "ok"}]},
        ]
    },
    "ragas": {
        "user_input": [
            {"type": "human", "content": "Refund order 7."},
            {"type": "ai", "content": "", "tool_calls": [{"name": "refund", "args": ARGS}]},
            {"type": "tool", "content": "ok"},
            {"type": "ai", "content": "Done."},
        ],
        "reference_tool_calls": [{"name": "other", "args": {}}],
    },
}

_FUNCTION = {"id": "c1", "name": "refund", "arguments": TEXT}
_RESULT = {"content": "ok", "name": "refund", "call_id": "c1", "is_error": False}
_CONTEXT: list[dict[str, Any]] = [
    {"type": "UserMessage", "source": "user", "content": "Refund order 7."},
    {"type": "AssistantMessage", "source": "x", "thought": None, "content": [_FUNCTION]},
    {"type": "FunctionExecutionResultMessage", "content": [_RESULT]},
]
_THREAD = [
    {"type": "TextMessage", "source": "user", "content": "Refund order 7."},
    {"type": "ToolCallRequestEvent", "source": "x", "content": [_FUNCTION]},
    {"type": "ToolCallExecutionEvent", "source": "x", "content": [_RESULT]},
    {"type": "TextMessage", "source": "x", "content": "Done."},
]


def _agent_state(context: list[Any]) -> dict[str, Any]:
    return {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": context}}


def _team_state(thread: list[Any], *contexts: list[Any]) -> dict[str, Any]:
    agents = {name: {"agent_state": _agent_state(each)} for name, each in zip(("x", "y"), contexts, strict=False)}
    manager = {"type": "RoundRobinManagerState", "message_thread": thread, "current_turn": 0}
    return {"type": "TeamState", "version": "1.0.0", "agent_states": {**agents, "manager": manager}}


LOGS |= {
    "AutoGen, agent": _agent_state(_CONTEXT),
    "AutoGen, team": _team_state(_THREAD, _CONTEXT),
    "AutoGen, team without events": _team_state([_THREAD[0], _THREAD[3]], _CONTEXT, _CONTEXT[:1]),
}
_CHAT: list[dict[str, Any]] = refund("c1")
_ROWS: list[tuple[list[Any], Any]] = [(_CHAT[:1], _CHAT[1]), (_CHAT[:3], _CHAT[3])]
"""The two requests of a conversation, each with its answer."""


def _row(asked: list[Any], answer: Any, **others: Any) -> dict[str, Any]:
    request = {"model": "m", "messages": asked, "tools": [{"type": "function"}]}
    return {"request": request, "response": {"choices": [{"message": answer}]}, **others}


_BLOCKS = [
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "refund", "input": ARGS}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}]},
    {"role": "assistant", "content": [{"text": "Done."}]},
]
LOGS |= {
    "proxy": [_row(*row) for row in _ROWS],
    "Helicone": [
        {"request_body": json.dumps(row["request"]), "response_body": json.dumps(row["response"])}
        for row in [_row(*row) for row in _ROWS]
    ],
    "Portkey": [
        {"request": {"body": row["request"]}, "response": {"status": 200, "body": row["response"]}}
        for row in [_row(*row) for row in _ROWS]
    ],
    "LiteLLM": [
        {"call_type": "acompletion", "trace_id": "t", "messages": asked, "response": {"choices": [{"message": answer}]}}
        for asked, answer in _ROWS
    ],
    "Bedrock, invocations": [
        {
            "input": {"inputBodyJson": {"messages": [ASKED, *_BLOCKS[:after]]}},
            "output": {"outputBodyJson": {"output": {"message": _BLOCKS[after]}, "stopReason": "x"}},
        }
        for after in (0, 2)
    ],
    "proxy of responses": [
        {
            "request": {"model": "m", "input": "Refund order 7."},
            "response": {"id": "r1", "output": [{**_ITEMS[1], "id": "f"}]},
        },
        {
            "request": {"model": "m", "input": _ITEMS[2:], "previous_response_id": "r1"},
            "response": {"id": "r2", "output": [{"type": "message", "role": "assistant", "content": "Done."}]},
        },
    ],
}


def _with_own_ids(number: int, document: Any) -> Any:
    """Two documents in one file are two runs only if they share no id."""
    text = json.dumps(document)
    for name in ("c1", "a", "b", "t", "t-0", "s1", "s2"):
        text = text.replace(f'"{name}"', f'"{name}-{number}"')
    return json.loads(text.replace(_ID, f"{_ID[:-3]}{number:02}-"))


EXPORTS = {
    name: _with_own_ids(*numbered)
    for name, numbered in zip((*LOGS, *SPANS), enumerate((*LOGS.values(), *SPANS.values())), strict=True)
}


@pytest.mark.parametrize("name", EXPORTS)
def test_a_call_is_read_once_with_arguments_and_output(name: str) -> None:
    [made] = read(json.dumps(EXPORTS[name]).encode())

    assert [(call.name, call.args, call.output) for call in made.calls] == [("refund", ARGS, "ok")]
    assert made.calls_recorded


@pytest.mark.parametrize("name", [name for name in LOGS if isinstance(LOGS[name], list)])
def test_lines_are_read_like_a_list(name: str) -> None:
    data = "\n".join(json.dumps(line) for line in LOGS[name]).encode()
    [made] = read(data)

    assert [(call.name, call.args, call.output) for call in made.calls] == [("refund", ARGS, "ok")]


FAILURES: dict[str, Any] = {
    "AgentDojo": [
        {"role": "assistant", "content": None, "tool_calls": [_DOJO]},
        {"role": "tool", "content": "", "tool_call_id": "c1", "tool_call": _DOJO, "error": "no"},
    ],
    "Vercel, chat": _answers(
        {"type": "tool-refund", "toolCallId": "c1", "state": "output-error", "input": ARGS, "errorText": "no"}
    ),
    "OpenCode": [{"role": "assistant", "parts": [_opencode(status="error", input=ARGS, error="no")]}],
    "Goose": [
        {"role": "assistant", "content": [_REQUEST]},
        {
            "role": "user",
            "content": [{"type": "toolResponse", "id": "c1", "toolResult": {"status": "error", "error": "no"}}],
        },
    ],
    "GitHub Copilot CLI": [
        LOGS["GitHub Copilot CLI"][3],
        {"type": "tool.execution_complete", "data": {"toolCallId": "c1", "success": False, "error": {"message": "no"}}},
    ],
    "Cursor": [
        {**_CURSOR, "subtype": "completed", "tool_call": {"refundToolCall": {"args": ARGS, "result": {"error": "no"}}}}
    ],
    "LangChain, events": [
        LOGS["LangChain, events"][2],
        {"event": "on_tool_error", "name": "refund", "run_id": "3", "data": {"error": "no"}},
    ],
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_call_that_failed_has_its_error(name: str) -> None:
    [made] = read(json.dumps(FAILURES[name]).encode())

    assert [(call.name, call.error) for call in made.calls] == [("refund", "no")]


def _block(text: str, *audience: str) -> dict[str, Any]:
    told = {"annotations": {"audience": list(audience), "priority": 0.0}} if audience else {}
    return {"type": "text", "text": text, **told}


@pytest.mark.parametrize(
    ("blocks", "output"),
    [
        ([_block("ok", "assistant"), _block("**ok**", "user")], "ok"),
        ([_block("ok"), _block("**ok**", "user")], "ok"),
        ([_block("ok", "user", "assistant")], "ok"),
        ([_block("ok", "user")], "ok"),
        ([_block("ok", "assistant"), _block("ok", "assistant")], ["ok", "ok"]),
        ([_block("ok", "assistant"), {"type": "image", "annotations": {"audience": ["user"]}}], "ok"),
    ],
    ids=["one for each", "one for anybody", "one for both", "one for the user alone", "two", "a picture for the user"],
)
def test_an_output_is_what_the_model_was_given(blocks: list[Any], output: Any) -> None:
    answer = {**_RESPONSE, "toolResult": {"status": "success", "value": {"content": blocks, "isError": False}}}
    [made] = read([{"role": "assistant", "content": [_REQUEST]}, {"role": "user", "content": [answer]}])

    assert [call.output for call in made.calls] == [output]


@pytest.mark.parametrize(("status", "has_failed"), [("error", True), ("ok", False)])
def test_a_span_of_datadog_failed_if_its_status_says_so(status: str, has_failed: bool) -> None:
    [exported], [sent] = SPANS["Datadog, export"]["data"], SPANS["Datadog, SDK"]
    told = {**exported, "attributes": {**exported["attributes"], "status": status}}

    for span in (told, {**sent, "status": status}):
        [made] = read(json.dumps([span]).encode())
        assert [call.error is not None for call in made.calls] == [has_failed]


def test_spans_of_opik_are_of_one_run_whatever_types_another_server_knows() -> None:
    [made] = SPANS["Opik"]
    error = {"exception_type": "ValueError", "message": "no", "traceback": "…"}
    spans = [
        {**made, "id": "a", "type": "general", "name": "agent"},
        {**made, "id": "b", "type": "tool", "parent_span_id": "a"},
        {**made, "id": "c", "type": "tool", "parent_span_id": "a", "error_info": error, "output": None},
    ]
    [found] = read(json.dumps(spans).encode())

    assert [(call.name, call.error, call.parent_id) for call in found.calls] == [
        ("refund", None, None),
        ("refund", "no", None),
    ]
    assert not [note for note in found.warnings if "left out" in note]


@pytest.mark.parametrize("state", ["input-streaming", "approval-requested", "output-denied"])
def test_a_call_of_a_vercel_chat_that_was_not_carried_out_is_withheld(state: str) -> None:
    [made] = read(
        json.dumps(_answers({"type": "tool-refund", "toolCallId": "c1", "state": state, "input": {}})).encode()
    )

    assert made.calls == ()
    assert [call.name for call in made.withheld] == ["refund"]


def test_two_conversations_that_begin_alike_are_two() -> None:
    lines = b"\n".join(json.dumps({"messages": talk}).encode() for talk in (refund()[:2], refund(), refund()))

    assert [len(each.calls) for each in read(lines)] == [1, 1, 1]


def test_states_of_a_graph_that_lost_messages_do_not_show_all_calls() -> None:
    lines = b"\n".join(json.dumps({"messages": talk}).encode() for talk in (TALK, [SAYS]))
    [made] = read(lines)

    assert not made.calls_recorded


def test_the_reader_takes_the_answers_of_a_batch_one_by_one() -> None:
    body = {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": TEXT}}],
                }
            }
        ]
    }
    lines = [{"custom_id": f"case-{number}", "response": {"body": body}} for number in range(2)]
    made = list(read(b"\n".join(json.dumps(line).encode() for line in lines)))

    assert [each.metadata["rightcall.case.id"] for each in made] == ["case-0", "case-1"]
    assert [each.names for each in made] == [("refund",), ("refund",)]


ONLY_ASKED: dict[str, Any] = {
    "xLAM": {"id": 0, "query": "x", "tools": "[]", "answers": json.dumps([{"name": "refund", "arguments": ARGS}])},
    "BFCL": {"id": "simple_0", "result": [{"refund": TEXT}]},
}


@pytest.mark.parametrize("name", ONLY_ASKED)
def test_rows_of_data_sets_have_calls_without_outputs(name: str) -> None:
    [made] = read(json.dumps(ONLY_ASKED[name]).encode())

    assert [(call.name, call.args, call.output) for call in made.calls] == [("refund", ARGS, None)]
    assert made.calls_recorded
    assert made.warnings == ("arguments or outputs of 1 call were not recorded",)


UNTOLD: dict[str, Any] = {
    "a step in text beside others": _executed([_ACTION, "ok"], "(AgentAction(tool='refund'), 'ok')"),
    "steps in text": {"question": "x", "prediction": "y", "intermediate_steps": ["ActionStep(refund)"]},
    "a step in text beside one of the memory": {
        "question": "x",
        "prediction": "y",
        "intermediate_steps": [{"task": "x"}, "ActionStep(refund)"],
    },
    "an agent that broke off": {"question": "x", "prediction": None, "intermediate_steps": [], "agent_error": "no"},
    "a test case that does not say": {"testCases": [{"input": "x"}, LOGS["DeepEval"]]},
    "an answer that was cut off": {**ONLY_ASKED["xLAM"], "answers": '[{"name": "refund"'},
    "a result in text": {"id": "simple_0", "result": "[refund(order=7)]", "latency": 1.0},
    "a thread without the contexts of its agents": _team_state([_THREAD[0], _THREAD[3]]),
    "agents whose calls have no order": _team_state(
        [_THREAD[0]], _CONTEXT, [{**_CONTEXT[1], "content": [{**_FUNCTION, "id": "c2"}]}]
    ),
    "a result of several turns": {"id": "multi_turn_0", "result": [[[{"refund": TEXT}]]], "latency": [[1.0]]},
}


@pytest.mark.parametrize("name", UNTOLD)
def test_a_result_that_does_not_tell_its_calls_says_so(name: str) -> None:
    made = next(iter(read(json.dumps(UNTOLD[name]).encode())))

    assert not made.calls_recorded


@pytest.mark.parametrize(("name", "recorded"), [("x", True), ("x/team", True), ("z/x", False)])
def test_an_agent_of_autogen_is_named_before_the_id_of_its_team(name: str, recorded: bool) -> None:
    thread = [_THREAD[0], _THREAD[3]]
    agents = {name: {"agent_state": _agent_state(_CONTEXT[:1])}, "manager": {"message_thread": thread}}
    [found] = read(json.dumps({"type": "TeamState", "agent_states": agents}).encode())

    assert (found.calls, found.calls_recorded) == ((), recorded)


def test_an_answer_that_langchain_could_not_parse_is_not_a_call() -> None:
    [made] = read(json.dumps(_executed([{**_ACTION, "tool": "_Exception"}, "Invalid"], [_ACTION, "ok"])).encode())

    assert made.names == ("refund",)


def _read_rows(*rows: Any) -> list[Any]:
    return list(read(b"\n".join(json.dumps(row).encode() for row in rows)))


def test_requests_are_joined_in_any_order_and_with_any_prompt_of_the_system() -> None:
    now = [{"role": "system", "content": f"It is {hour} o'clock."} for hour in (1, 2)]
    [made] = _read_rows(*[_row([now[place], *_ROWS[place][0]], _ROWS[place][1]) for place in (1, 0)])

    assert made.names == ("refund",)
    assert (made.input, made.output) == ("Refund order 7.", "Done.")


def test_a_request_that_failed_and_its_repetition_are_one_conversation() -> None:
    [made] = _read_rows({**_row(*_ROWS[0]), "response": {"error": {"message": "429"}}}, *LOGS["proxy"])

    assert made.names == ("refund",)


def test_equal_requests_are_conversations_of_their_own_unless_they_have_one_id() -> None:
    asked = _row(*_ROWS[0])

    assert [each.names for each in _read_rows(asked, asked)] == [("refund",)] * 2
    assert [each.names for each in _read_rows(*[{**asked, "id": "r1"}] * 2)] == [("refund",)]


def test_a_request_for_a_title_is_left_out_of_a_session_with_calls() -> None:
    title = {"messages": [{"role": "user", "content": "A title?"}]}
    [made] = _read_rows(
        *[{**row, "session_id": "s"} for row in LOGS["proxy"]],
        {"request": title, "response": {"choices": [{"message": ANSWERED}]}, "session_id": "s"},
    )

    assert made.names == ("refund",)
    assert made.calls_recorded


def test_requests_without_tools_are_conversations_where_none_of_their_session_made_calls() -> None:
    told = {"messages": [{"role": "user", "content": "Hello."}]}
    chat = {"request": told, "response": {"choices": [{"message": ANSWERED}]}}

    for session in ({}, {"session_id": "s"}):
        assert [each.output for each in _read_rows({**chat, **session})] == ["Done."]
    beside = _read_rows(*[{**row, "session_id": "s"} for row in LOGS["proxy"]], chat, {**chat, "session_id": "other"})
    assert sorted(each.names for each in beside) == [(), (), ("refund",)]


_OTHER = {"role": "assistant", "tool_calls": [{"id": "c9", "function": {"name": "cancel", "arguments": "{}"}}]}
UNJOINED: dict[str, list[Any]] = {
    "several conversations with calls": [
        _row(*_ROWS[0], session_id="s"),
        _row([{"role": "user", "content": "Cancel."}], _OTHER, session_id="s"),
    ],
    "a response in pieces": [_row(*_ROWS[0]), {**_row(*_ROWS[1]), "response": "data: {}"}],
    "several answers": [
        {**_row(*_ROWS[0]), "response": {"choices": [{"message": _CHAT[1]}, {"message": _OTHER}]}},
    ],
    "a history on the server": [
        {
            "request": {"model": "m", "input": _ITEMS[:1], "previous_response_id": "r0"},
            "response": {"id": "r1", "output": [{"type": "message", "role": "assistant", "content": "Done."}]},
        }
    ],
}


@pytest.mark.parametrize("name", UNJOINED)
def test_requests_that_do_not_show_all_calls_say_so(name: str) -> None:
    assert not any(made.calls_recorded for made in _read_rows(*UNJOINED[name]))


def test_a_conversation_that_branches_off_is_not_taken_for_whole() -> None:
    made = _read_rows(*LOGS["proxy"], _row(_ROWS[1][0], _OTHER))

    assert [each.calls_recorded for each in made] == [True, False]


BY_TEXT = {
    "Roo Code": [ASKED, {"role": "assistant", "content": "I look.\n\n<read_file>\n<path>a.py</path>\n</read_file>"}],
    "AG2": [
        {"role": "assistant", "name": "user", "content": "Plot it."},
        {"role": "user", "name": "coder", "content": "```python\nplot()\n```"},
        {"role": "assistant", "name": "user", "content": "exitcode: 0 (execution succeeded)\nCode output: 1"},
    ],
    "Glaive": [ASKED, {"role": "assistant", "content": '<functioncall> {"name": "refund", "arguments": "{}"}'}],
}


@pytest.mark.parametrize("name", BY_TEXT)
def test_calls_in_text_are_not_a_chat_without_calls(name: str) -> None:
    [made] = read(json.dumps(BY_TEXT[name]).encode())

    assert not made.calls_recorded


_ASKS_MORE = {"role": "assistant", "tool_calls": [{"id": "c9", "function": {"name": "cancel", "arguments": "{}"}}]}
BESIDE: dict[str, Any] = {
    "an answer": {"messages": refund()[:3], "response_message": _ASKS_MORE},
    "an answer to messages under a key of their own": {"request": refund(), "reply": _ASKS_MORE},
    "another conversation": {"main": refund(), "helper": {"messages": [ASKED, _ASKS_MORE]}},
    "prompts alone": [{"sessionId": "s", "messageId": 0, "type": "user", "message": "Refund order 7."}],
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_call_beside_the_messages_is_not_dropped_without_a_word(name: str) -> None:
    [made] = read(json.dumps(BESIDE[name]).encode())

    assert not made.calls_recorded


def test_an_answer_that_repeats_a_call_of_the_messages_hides_none() -> None:
    talk = refund()
    [made] = read(json.dumps({"messages": talk, "last_request": talk[1]}).encode())

    assert made.calls_recorded
    assert made.names == ("refund",)


def test_a_chat_is_still_a_chat_without_calls() -> None:
    [made] = read(json.dumps([ASKED, ANSWERED]).encode())

    assert made.calls_recorded
    assert made.calls == ()


@pytest.mark.parametrize(("about", "answer"), [({"call_type": "acompletion"}, "Done."), ({}, "Sure:")])
def test_a_request_may_end_with_what_the_model_is_to_go_on_with_where_litellm_says_so(
    about: dict[str, str], answer: str
) -> None:
    asked = [ASKED, {"role": "assistant", "content": "Sure:"}]
    row = {
        **about,
        "messages": asked,
        "response": {"choices": [{"message": {"role": "assistant", "content": "Done."}}]},
    }

    [made] = read(json.dumps([row]).encode())

    assert made.output == answer


@pytest.mark.parametrize(("prefix", "runs"), [("", 2), ("msg-0123456789abcdef-", 1)])
def test_a_conversation_that_comes_twice_is_one_only_if_its_messages_have_ids_of_their_own(
    prefix: str, runs: int
) -> None:
    """Data sets number their messages; a graph gives them ids that no others have."""
    talk = [{**message, "id": f"{prefix}{number}"} for number, message in enumerate(refund())]
    lines = b"\n".join(json.dumps({"messages": each}).encode() for each in (talk, talk))

    assert len(list(read(lines))) == runs


def test_a_part_of_a_vercel_chat_in_an_unknown_state_is_no_call_and_not_overlooked() -> None:
    part = {"type": "tool-refund", "toolCallId": "c1", "state": "being-thought-of", "input": ARGS, "output": "ok"}
    [made] = read(json.dumps(_answers(part)).encode())

    assert made.names == ()
    assert "a block of type tool-refund" in made.not_understood


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_page_of_items_is_read_in_the_order_of_their_times(newest_first: bool) -> None:
    items = [
        {"type": "function_call", "call_id": name, "name": name, "arguments": "{}", "created_at": time}
        for time, name in enumerate(("first", "second"), 5)
    ]
    data = items[::-1] if newest_first else items
    [made] = read(json.dumps({"object": "list", "has_more": False, "data": data}).encode())

    assert made.names == ("first", "second")


def test_a_sample_of_ragas_has_its_question_its_answer_and_results_by_id_where_there_are_ids() -> None:
    calls: list[Any] = [{"name": name, "args": {}, "id": name} for name in ("a", "b")]
    results = [{"type": "tool", "content": f"of {name}", "tool_call_id": name} for name in ("b", "a")]
    talk = [{"type": "human", "content": "Go."}, {"type": "ai", "content": "", "tool_calls": calls}, *results]
    [made] = read(json.dumps({"user_input": [*talk, {"type": "ai", "content": "Done."}]}).encode())

    assert (made.input, made.output) == ("Go.", "Done.")
    assert [(call.name, call.output) for call in made.calls] == [("a", "of a"), ("b", "of b")]


def test_calls_of_application_insights_that_overlapped_are_a_group() -> None:
    row = SPANS["Application Insights"][0]
    begun = [f"2026-05-01T10:00:0{second}Z" for second in (1, 2, 9)]
    rows = [{**row, "id": str(at), "timestamp": time, "duration": 5000} for at, time in enumerate(begun)]

    [run] = read(json.dumps(rows).encode())

    assert [call.group == run.calls[0].group for call in run.calls] == [True, True, False]
    assert run.calls[0].group is not None


def test_a_call_of_openai_agents_that_waits_for_approval_was_not_made() -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": "{}"}
    items = [{"type": kind, "raw_item": item} for kind in ("tool_call_item", "tool_approval_item")]

    [trajectory] = read(json.dumps([{"role": "user", "content": "Refund"}, *items]).encode())

    assert (trajectory.names, [held.name for held in trajectory.withheld]) == ((), ["refund"])


@pytest.mark.parametrize("is_js", [False, True])
def test_the_state_of_a_run_of_openai_agents_shows_calls_their_agents_and_what_waits(is_js: bool) -> None:
    def spelled(name: str) -> str:
        head, *rest = name.split("_")
        return "".join([head, *map(str.title, rest)]) if is_js else name

    def call(call_id: str, kind: str = "tool_call_item") -> dict[str, Any]:
        raw = {"type": "function_call", spelled("call_id"): call_id, "name": "refund", "arguments": "{}"}
        return {"type": kind, spelled("raw_item"): raw, "agent": {"name": "billing"}}

    result = {"type": "function_call_result" if is_js else "function_call_output", spelled("call_id"): "c1"}
    items = [
        call("c1"),
        {
            "type": "tool_call_output_item",
            spelled("raw_item"): {**result, "output": "ok"},
            "agent": {"name": "billing"},
        },
        call("c2"),
        call("c2", "tool_approval_item"),
    ]
    state = {
        "$schemaVersion": "1.3",
        spelled("original_input"): "Refund both",
        spelled("generated_items"): items,
        "trace": {"object": "trace", "id": "trace_1", "workflow_name": "w"},
    }

    [trajectory] = read(state)
    [nested] = read({**state, "pendingAgentToolRuns": {"c2": "{}"}})

    assert [(made.output, made.agent) for made in trajectory.calls] == [("ok", "billing")]
    assert [held.name for held in trajectory.withheld] == ["refund"]
    assert (trajectory.input, trajectory.calls_recorded, nested.calls_recorded) == ("Refund both", True, False)


def test_the_context_of_a_workflow_of_llamaindex_has_the_messages_of_its_memory() -> None:
    def call(number: int, name: str) -> dict[str, Any]:
        return {"id": "", "name": name, "args": {"item": number}}

    def said(role: str, text: str, **more: Any) -> dict[str, Any]:
        return {"role": role, "additional_kwargs": more, "blocks": [{"block_type": "text", "text": text}]}

    messages = [
        said("user", "Add two"),
        said("assistant", "", tool_calls=[call(1, "add"), call(2, "add"), call(3, "remove")]),
        *[said("tool", text, tool_call_id=name) for name, text in (("add", "1"), ("add", "2"), ("remove", "3"))],
        said("assistant", "Done."),
    ]
    memory = {"value": {"chat_store": {"store": {"chat_history": messages}}, "chat_store_key": "chat_history"}}
    held = {"memory": json.dumps(memory), "max_iterations": "20"}

    [early] = read({"globals": held, "streaming_queue": "[]"})
    [trajectory] = read({"state": {"state_data": {"_data": held}, "state_type": "DictState"}, "streaming_queue": []})

    assert [(made.name, made.output) for made in trajectory.calls] == [("add", "1"), ("add", "2"), ("remove", "3")]
    assert (trajectory.input, trajectory.output) == ("Add two", "Done.")
    assert early.calls == trajectory.calls


def test_a_result_of_langchain4j_without_an_id_answers_the_call_before_it() -> None:
    call = {"id": None, "name": "find", "arguments": "{}"}
    result = {"id": None, "toolName": "find", "text": "no", "type": "TOOL_EXECUTION_RESULT", "isError": True}
    messages = [{"text": "Find", "type": "USER"}, {"toolExecutionRequests": [call], "type": "AI"}, result]

    [trajectory] = read(json.dumps(messages).encode())

    [made] = trajectory.calls
    assert (made.name, made.output, made.error is not None, trajectory.input) == ("find", "no", True, "Find")


def test_a_function_of_a_plugin_of_semantic_kernel_has_the_name_that_the_model_knows() -> None:
    call = {"$type": "FunctionCallContent", "Id": "c1", "PluginName": "shop", "FunctionName": "find", "Arguments": None}
    odd = {"$type": "FunctionCallStub", "Name": "x"}
    asked = {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "Find"}]}

    [trajectory] = read(json.dumps([asked, {"Role": {"Label": "assistant"}, "Items": [call]}]).encode())
    [unread] = read(json.dumps([asked, {"Role": {"Label": "assistant"}, "Items": [call, odd]}]).encode())

    assert [(made.name, made.args) for made in trajectory.calls] == [("shop-find", {})]
    assert not unread.calls_recorded
