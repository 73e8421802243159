"""Logs in the shapes in which people publish them: each with its calls, or with the note that it does not show them."""

from __future__ import annotations

import io
import json
from typing import Any

from tests.walls import for_each

from rightcall import RightcallError, Trajectory
from rightcall.reading import read
from rightcall.reading.messages._conversation_lists import is_glaive


def _function(call_id: str, name: str, **args: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}


def _part(call_id: str, name: str, **others: Any) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call_id, "state": "output-available", "output": "ok", **others}


def _step(number: int, name: str, arguments: Any, **others: Any) -> dict[str, Any]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"step_number": number, "tool_calls": [call], "observations": "ok", "error": None, **others}


ASKED = {"role": "user", "content": "Refund order 7."}
ASKS = {"role": "assistant", "content": None, "tool_calls": [_function("c1", "find", order=7)]}
GIVES = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
SAYS = {"role": "assistant", "content": "Done."}
TALK: list[dict[str, Any]] = [ASKED, ASKS, GIVES, SAYS]
FOUND = "find(order=7) = ok"
LINES = "\n"
"""The mark of a log that is one document a line."""

READ: dict[str, tuple[Any, list[list[str]]]] = {
    "Vercel 5, two steps in one message": (
        [
            {"role": "user", "parts": [{"type": "text", "text": "Refund order 7."}]},
            {
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    _part("c1", "find", input={"order": 7}),
                    _part("c2", "find", input={"order": 8}),
                    {"type": "step-start"},
                    _part("c3", "refund", input={"order": 7}),
                    {"type": "text", "text": "Done."},
                ],
            },
        ],
        [
            [
                "Refund order 7.",
                "turn-1 find(order=7) = ok",
                "turn-1 find(order=8) = ok",
                "turn-2 refund(order=7) = ok",
                "Done.",
            ]
        ],
    ),
    "Vercel 4, two steps in one message": (
        [
            ASKED,
            {
                "role": "assistant",
                "content": "Done.",
                "toolInvocations": [
                    {
                        "state": "result",
                        "step": step,
                        "toolCallId": f"c{step}",
                        "toolName": "find",
                        "args": {},
                        "result": 1,
                    }
                    for step in (0, 1)
                ],
            },
        ],
        [["Refund order 7.", "turn-1 find() = 1", "turn-2 find() = 1", "Done."]],
    ),
    "Anthropic, two searches of the server one after the other": (
        [
            ASKED,
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "a"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": "1"},
                    {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"query": "b"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s2", "content": "2"},
                    {"type": "text", "text": "Done."},
                ],
            },
        ],
        [["Refund order 7.", "turn-1 web_search(query=a) = 1", "turn-2 web_search(query=b) = 2", "Done."]],
    ),
    "AutoGen 0.2, the result of a chat, told by the one who asked": (
        {
            "chat_id": 1,
            "chat_history": [{**ASKED, "role": "assistant"}, ASKS, GIVES, {**SAYS, "role": "user"}],
            "summary": "Done.",
            "cost": {},
        },
        [["Refund order 7.", f"turn-1 {FOUND}", "Done."]],
    ),
    "AutoGen 0.2, the result of a chat, told by the one who answered": (
        {"chat_history": TALK, "summary": "Done.", "cost": {}},
        [["Refund order 7.", f"turn-1 {FOUND}", "Done."]],
    ),
    "a row of a case, with numbers for ids or none": (
        {
            "question": "Refund order 7.",
            "tool_calls": [
                {"id": 1, "name": "find", "arguments": {"order": 7}, "result": "ok"},
                {"name": "find", "arguments": {"order": 8}, "result": "no"},
            ],
            "answer": "Done.",
        },
        [["Refund order 7.", f"turn-1 {FOUND}", "turn-1 find(order=8) = no", "Done."]],
    ),
    "AutoGen, events of models and tools": (
        [
            LINES,
            {"type": "LLMCall", "messages": [ASKED], "response": {"choices": [{"message": ASKS}]}},
            {"type": "ToolCall", "tool_name": "find", "arguments": {"order": 7}, "result": "ok"},
        ],
        [["Refund order 7.", f"turn-1 {FOUND}"]],
    ),
    "τ²-bench, a user who uses a tool": (
        {
            "simulations": [
                {
                    "messages": [
                        ASKED,
                        ASKS,
                        {**GIVES, "id": "c1"},
                        {"role": "assistant", "content": "Restart it."},
                        {
                            "role": "user",
                            "tool_calls": [{"id": "u1", "name": "off", "arguments": {}, "requestor": "user"}],
                        },
                        {"role": "tool", "id": "u1", "content": "off", "requestor": "user"},
                        {"role": "user", "content": "I did."},
                        SAYS,
                    ]
                }
            ]
        },
        [["Refund order 7.", f"turn-1 {FOUND}", "Restart it.", "I did.", "Done."]],
    ),
    "Claude Code, lines about the session": (
        [
            LINES,
            {"type": "user", "uuid": "1", "message": ASKED},
            {
                "type": "assistant",
                "uuid": "2",
                "message": {"content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"order": 7}}]},
            },
            {
                "type": "user",
                "uuid": "3",
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
            },
            {"type": "mode", "mode": "normal", "sessionId": "s"},
            {"type": "agent-setting", "agentSetting": "x", "sessionId": "s"},
        ],
        [["Refund order 7.", f"turn-1 {FOUND}"]],
    ),
}

_PLAIN = [["Refund order 7.", f"turn-1 {FOUND}", "Done."]]
_TEXT = json.dumps(TALK)
CONTAINERS: dict[str, Any] = {
    "below a key": {"task_id": "7", "result": {"messages": TALK}},
    "in a list below a key": {"model": "m", "results": [{"messages": TALK, "score": 1}]},
    "a list of lists below a key": {"trajectories": [TALK]},
    "below the keys of an index": {"task-7": {"messages": TALK}},
    "a store of LlamaIndex": {"store": {"anna": TALK}, "class_name": "SimpleChatStore"},
    "messages as text": {"id": "7", "messages": _TEXT},
    "messages as text, one conversation a line": [LINES, {"id": "7", "messages": _TEXT}],
    "a text in a text": _TEXT,
    "messages as Python writes them": {"messages": repr(TALK)},
    "beside what is expected": {"rows": [{"messages": TALK, "expected": {"messages": [ASKED, SAYS]}}]},
    "what was given, and all that came of it": {"inputs": {"messages": [ASKED]}, "outputs": {"messages": TALK}},
    "CSV": b'id,messages\n7,"' + _TEXT.replace('"', '""').encode() + b'"\n',
}
READ |= {name: (log, _PLAIN) for name, log in CONTAINERS.items()}


def _exchange(asked: list[Any], answer: Any) -> dict[str, Any]:
    request = {"postData": {"text": json.dumps({"messages": asked})}}
    return {"request": request, "response": {"content": {"text": json.dumps({"choices": [{"message": answer}]})}}}


def _rpc(number: int, **held: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, **held}


def _chat_call(call_id: str) -> dict[str, Any]:
    held = {"id": call_id, "name": "find", "args": '{"order": 7}', "output": "ok", "progress": 1}
    return {"type": "tool_call", "tool_call": held}


_RUN = [{"id": f"{place:0>36}", "from_history": False, **each} for place, each in enumerate(TALK)]
_TAKEN_OVER = [{**each, "from_history": True} for each in _RUN]
_HELP = {"id": f"{8:0>36}", "role": "system", "content": "Help."}
_MORE = [
    {"id": f"{9:0>36}", "role": "user", "content": "Thanks."},
    {"id": f"{10:0>36}", "role": "assistant", "content": "Bye."},
]


def _item(kind: str, **held: Any) -> dict[str, Any]:
    return {"type": kind, "item": held}


def _claude(parent: str | None, block: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": [block]}, "parent_tool_use_id": parent}


def _node(role: str, text: str, to: str = "all", name: str | None = None) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role, "name": name}, "recipient": to, "content": content}


_CALL = {"type": "function_call", "id": "i1", "call_id": "c1", "name": "find", "arguments": '{"order": 7}'}
_ANSWER = {"type": "message", "id": "i2", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}


def chunk(number: int, reason: str | None = None, **delta: Any) -> dict[str, Any]:
    """A piece of an answer of Chat Completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "choices": [choice]}


def call_piece(index: int, arguments: str, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """What a piece of an answer of Chat Completions says of a call."""
    begun = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{"index": index, **(begun if name else {"function": {"arguments": arguments}})}]}


OF_CHAT: list[dict[str, Any]] = [
    chunk(1, role="assistant", content=None),
    chunk(1, **call_piece(0, "", "c1", "find")),
    chunk(1, **call_piece(0, '{"order"')),
    chunk(1, **call_piece(0, ": 7}")),
    chunk(1, "tool_calls"),
    {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 3}},
]
OF_CLAUDE: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "find", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"ord'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": 'er": 7}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {}},
    {"type": "message_stop"},
]
OF_CONVERSE: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "I look."}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "c1", "name": "find"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"order": '}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "7}"}}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"totalTokens": 3}, "metrics": {"latencyMs": 5}}},
]

TRANSCRIPTS: dict[str, Any] = {
    "Chat Completions, in pieces": [
        ASKED,
        *OF_CHAT,
        GIVES,
        chunk(2, role="assistant", content="Do"),
        chunk(2, content="ne."),
        chunk(2, "stop"),
    ],
    "Claude, in pieces": [ASKED, *OF_CLAUDE, GIVES, SAYS],
    "ConverseStream, in pieces": [ASKED, *OF_CONVERSE, GIVES, SAYS],
    "HAR": {"log": {"version": "1.2", "entries": [_exchange(TALK[:1], ASKS), _exchange(TALK[:3], SAYS)]}},
    "Weave": [
        {"op_name": "agent", "inputs": {"task": "x"}, "output": "Done."},
        {"op_name": "create", "inputs": {"messages": TALK[:1]}, "output": {"choices": [{"message": ASKS}]}},
        {"op_name": "find", "inputs": {"order": 7}, "output": "ok"},
        {"op_name": "create", "inputs": {"messages": TALK[:3]}, "output": {"choices": [{"message": SAYS}]}},
    ],
    "Realtime": [
        {"type": "session.created", "session": {"id": "s"}},
        _item("conversation.item.created", id="i0", type="message", **ASKED),
        _item("response.output_item.added", **{**_CALL, "arguments": ""}),
        _item("response.output_item.done", **_CALL),
        {"type": "response.done", "response": {"output": [_CALL]}},
        _item("conversation.item.create", type="function_call_output", call_id="c1", output="ok"),
        _item("conversation.item.created", id="i3", type="function_call_output", call_id="c1", output="ok"),
        {"type": "response.done", "response": {"output": [_ANSWER]}},
    ],
    "AG-UI": [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"messages": [{"id": "i0", **ASKED}]}},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "find", "parentMessageId": "i1"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"order": 7}'},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "TOOL_CALL_RESULT", "messageId": "i2", "toolCallId": "c1", "content": "ok"},
        {"type": "TEXT_MESSAGE_START", "messageId": "i3", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "i3", "delta": "Done."},
        {"type": "TEXT_MESSAGE_END", "messageId": "i3"},
    ],
    "ChatGPT, export": {
        "mapping": {
            "0": {"message": None, "parent": None, "children": ["1"]},
            "1": {"message": _node("user", "Refund order 7."), "parent": "0", "children": ["2"]},
            "2": {"message": _node("assistant", '{"order": 7}', "find"), "parent": "1", "children": ["3"]},
            "3": {"message": _node("tool", "ok", name="find"), "parent": "2", "children": ["4"]},
            "4": {"message": _node("assistant", "Done."), "parent": "3", "children": []},
        },
        "current_node": "4",
    },
    "Claude.ai, export": {
        "uuid": "u",
        "chat_messages": [
            {"sender": "human", "content": [{"type": "text", "text": "Refund order 7."}]},
            {
                "sender": "assistant",
                "content": [
                    {"type": "tool_use", "name": "find", "input": {"order": 7}},
                    {"type": "tool_result", "name": "find", "content": "ok"},
                    {"type": "text", "text": "Done."},
                ],
            },
        ],
    },
    "Agno, session": {
        "session_id": "s",
        "runs": [
            {"run_id": "1", "messages": TALK},
            {"run_id": "2", "messages": [*[{**each, "from_history": True} for each in TALK], ASKED, SAYS]},
        ],
    },
    "Hermes": {
        "conversations": [
            {"from": "human", "value": "Refund order 7."},
            {"from": "gpt", "value": "<tool_call>\n{'arguments': {'order': 7}, 'name': 'find'}\n</tool_call>"},
            {"from": "tool", "value": '<tool_response>\n{"name": "find", "content": "ok"}\n</tool_response>'},
            {"from": "gpt", "value": "Done."},
        ]
    },
    "Haystack 2.9": [
        {"_role": "user", "_content": [{"text": "Refund order 7."}], "_name": None, "_meta": {}},
        {
            "_role": "assistant",
            "_content": [{"tool_call": {"tool_name": "find", "arguments": {"order": 7}, "id": "c1"}}],
            "_meta": {},
        },
        {
            "_role": "tool",
            "_content": [{"tool_call_result": {"result": "ok", "origin": {"tool_name": "find", "id": "c1"}}}],
        },
        {"_role": "assistant", "_content": [{"text": "Done."}], "_meta": {}},
    ],
    "Spring AI": [
        {"messageType": "USER", "text": "Refund order 7.", "metadata": {}, "media": []},
        {
            "messageType": "ASSISTANT",
            "text": "",
            "toolCalls": [{"id": "c1", "type": "function", "name": "find", "arguments": '{"order": 7}'}],
        },
        {"messageType": "TOOL", "text": "", "responses": [{"id": "c1", "name": "find", "responseData": "ok"}]},
        {"messageType": "ASSISTANT", "text": "Done.", "toolCalls": []},
    ],
    "LangChain4j": [
        {"contents": [{"text": "Refund order 7.", "type": "TEXT"}], "type": "USER"},
        {"toolExecutionRequests": [{"id": "c1", "name": "find", "arguments": '{"order": 7}'}], "type": "AI"},
        {"id": "c1", "toolName": "find", "text": "ok", "type": "TOOL_EXECUTION_RESULT"},
        {"text": "Done.", "toolExecutionRequests": [], "type": "AI"},
    ],
    "Semantic Kernel, .NET": [
        {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "Refund order 7."}]},
        {
            "Role": {"Label": "assistant"},
            "Items": [
                {"$type": "FunctionCallContent", "Id": "c1", "FunctionName": "find", "Arguments": {"order": 7}},
            ],
        },
        {
            "Role": {"Label": "tool"},
            "Items": [{"$type": "FunctionResultContent", "CallId": "c1", "FunctionName": "find", "Result": "ok"}],
        },
        {"Role": {"Label": "assistant"}, "Items": [{"$type": "TextContent", "Text": "Done."}]},
    ],
    "OpenAI Agents, items": [
        ASKED,
        {
            "type": "tool_call_item",
            "agent": {"name": "shop"},
            "raw_item": {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"order": 7}'},
        },
        {
            "type": "tool_call_output_item",
            "raw_item": {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            "output": "ok",
        },
        {
            "type": "message_output_item",
            "raw_item": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Done."}],
            },
        },
    ],
    "fast-agent": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Refund order 7."}], "is_template": False},
            {
                "role": "assistant",
                "content": [],
                "tool_calls": {"c1": {"method": "tools/call", "params": {"name": "find", "arguments": {"order": 7}}}},
                "channels": {"reasoning": [{"type": "text", "text": "I look."}]},
                "stop_reason": "toolUse",
                "is_template": False,
            },
            {
                "role": "user",
                "content": [],
                "tool_results": {"c1": {"content": [{"type": "text", "text": "ok"}], "isError": False}},
                "is_template": False,
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "is_template": False},
        ]
    },
    "OpenAI Agents, state of a run": {
        "$schemaVersion": "1.3",
        "original_input": "Refund order 7.",
        "generated_items": [
            {"type": "tool_call_item", "agent": {"name": "shop"}, "raw_item": _CALL},
            {
                "type": "tool_call_output_item",
                "raw_item": {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            },
            {"type": "message_output_item", "raw_item": _ANSWER},
        ],
    },
    "Agent Framework, thread": {
        "service_thread_id": None,
        "chat_message_store_state": {
            "messages": [
                {"role": {"type": "role", "value": "user"}, "contents": [{"type": "text", "text": "Refund order 7."}]},
                {
                    "role": {"type": "role", "value": "assistant"},
                    "contents": [
                        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"order": 7}'}
                    ],
                },
                {
                    "role": {"type": "role", "value": "tool"},
                    "contents": [{"type": "function_result", "call_id": "c1", "result": "ok"}],
                },
                {"role": {"type": "role", "value": "assistant"}, "contents": [{"type": "text", "text": "Done."}]},
            ]
        },
    },
    "DSPy, ReAct": {
        "question": "Refund order 7.",
        "trajectory": {
            "thought_0": "I look.",
            "tool_name_0": "find",
            "tool_args_0": {"order": 7},
            "observation_0": "ok",
            "thought_1": "I know.",
            "tool_name_1": "finish",
            "tool_args_1": {},
            "observation_1": "Completed.",
        },
        "reasoning": "It was found.",
        "answer": "Done.",
    },
    "Flowise, answer": {
        "text": "Done.",
        "question": "Refund order 7.",
        "chatId": "1",
        "usedTools": [{"tool": "find", "toolInput": {"order": 7}, "toolOutput": "ok"}],
    },
    "LangGraph, messages of its server": [
        {"event": "messages/metadata", "data": {"run": {}}},
        {"event": "messages/complete", "data": [{"type": "human", "content": "Refund order 7.", "id": "1"}]},
        {"event": "messages/partial", "data": [{"type": "ai", "content": "", "id": "2", "tool_calls": []}]},
        {
            "event": "messages/complete",
            "data": [
                {
                    "type": "ai",
                    "content": "",
                    "id": "2",
                    "tool_calls": [{"name": "find", "args": {"order": 7}, "id": "c1", "type": "tool_call"}],
                }
            ],
        },
        {"event": "messages/complete", "data": [{"type": "tool", "content": "ok", "tool_call_id": "c1", "id": "3"}]},
        {"event": "messages/complete", "data": [{"type": "ai", "content": "Done.", "id": "4"}]},
    ],
    "Vercel, generateText": [
        ASKED,
        {
            "content": [
                {"type": "tool-call", "toolCallId": "call-1", "toolName": "find", "input": {"order": 7}},
                {"type": "tool-result", "toolCallId": "call-1", "toolName": "find", "output": "ok"},
            ],
            "finishReason": "tool-calls",
            "response": {
                "messages": [{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "call-1"}]}]
            },
        },
        {"content": [{"type": "text", "text": "Done."}], "finishReason": "stop", "response": {"messages": []}},
    ],
    "Vercel 4, generateText": [
        ASKED,
        {
            "stepType": "initial",
            "text": "",
            "toolCalls": [{"type": "tool-call", "toolCallId": "call-4", "toolName": "find", "args": {"order": 7}}],
            "toolResults": [{"type": "tool-result", "toolCallId": "call-4", "toolName": "find", "result": "ok"}],
            "finishReason": "tool-calls",
        },
        {"stepType": "tool-result", "text": "Done.", "toolCalls": [], "toolResults": [], "finishReason": "stop"},
    ],
    "LlamaIndex, events of a workflow": [
        {
            "value": {"input": [{"role": "user", "blocks": [{"block_type": "text", "text": "Refund order 7."}]}]},
            "qualified_name": "llama_index.core.agent.workflow.workflow_events.AgentInput",
        },
        {
            "value": {"tool_name": "find", "tool_kwargs": {"order": 7}, "tool_id": "c1"},
            "qualified_name": "llama_index.core.agent.workflow.workflow_events.ToolCall",
        },
        {
            "value": {
                "tool_name": "find",
                "tool_kwargs": {"order": 7},
                "tool_id": "c1",
                "tool_output": {"raw_output": "ok", "tool_name": "find", "is_error": False},
            },
            "qualified_name": "llama_index.core.agent.workflow.workflow_events.ToolCallResult",
        },
        {
            "value": {
                "response": {"role": "assistant", "blocks": [{"block_type": "text", "text": "Done."}]},
                "current_agent_name": "shop",
                "tool_calls": [],
            },
            "qualified_name": "llama_index.core.agent.workflow.workflow_events.AgentOutput",
        },
    ],
    "Genkit": [
        {"role": "user", "content": [{"text": "Refund order 7."}]},
        {"role": "model", "content": [{"toolRequest": {"name": "find", "ref": "c1", "input": {"order": 7}}}]},
        {"role": "tool", "content": [{"toolResponse": {"name": "find", "ref": "c1", "output": "ok"}}]},
        {"role": "model", "content": [{"text": "Done."}]},
    ],
    "Hermes, chat": {
        "messages": [
            ASKED,
            {"role": "assistant", "content": '<tool_call>{"name": "find", "arguments": {"order": 7}}</tool_call>'},
            {"role": "tool", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ],
        "source": "hermes",
    },
    "Glaive": {
        "system": "SYSTEM: You have functions.",
        "chat": "USER: Refund order 7.\n\n\nASSISTANT: <functioncall> "
        '{"name": "find", "arguments": \'{"order": 7}\'} <|endoftext|>\n\n\n'
        "FUNCTION RESPONSE: ok\n\n\nASSISTANT: Done. <|endoftext|>\n",
    },
}
READ |= {name: (log, _PLAIN) for name, log in TRANSCRIPTS.items()}
TRANSCRIPTS["MCP"] = [
    _rpc(0, method="initialize", params={}),
    _rpc(0, result={"capabilities": {}}),
    {"at": 1, "message": _rpc(1, method="tools/call", params={"name": "find", "arguments": {"order": 7}})},
    {"at": 2, "message": _rpc(1, result={"content": [{"type": "text", "text": "ok"}]})},
    _rpc(2, method="tools/call", params={"name": "refund"}),
    _rpc(2, error={"code": -32602, "message": "Unknown tool"}),
]
TRANSCRIPTS["batch"] = {
    "custom_id": "7",
    "result": {
        "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]}
    },
}
READ |= {
    "Hermes, messages": (
        [
            ASKED,
            {"role": "assistant", "content": '<tool_call>\n{"name": "find", "arguments": {"order": 7}}\n</tool_call>'},
            {"role": "user", "content": "<tool_response>\nok\n</tool_response>"},
            {"role": "assistant", "content": "Done."},
        ],
        _PLAIN,
    ),
    "Agno, session": (TRANSCRIPTS["Agno, session"], [[*_PLAIN[0], "Refund order 7.", "Done."]]),
    "MCP": ([LINES, *TRANSCRIPTS["MCP"]], [[f"turn-1 {FOUND}", "turn-2 refund() failed"]]),
    "MCP, a tool that failed": (
        [LINES, *TRANSCRIPTS["MCP"][:3], _rpc(1, result={"content": [], "isError": True})],
        [["turn-1 find(order=7) failed"]],
    ),
    "Agno, runs that take the messages of those before over": (
        [{"run_id": "1", "messages": _RUN}, {"run_id": "2", "messages": [_HELP, *_TAKEN_OVER, *_MORE]}],
        [[*_PLAIN[0], "Thanks.", "Bye."]],
    ),
    "Agno, runs that have another history than the messages of those before": (
        [
            {"run_id": "1", "messages": _RUN},
            {"run_id": "2", "messages": [{"role": "user", "content": "Hi.", "from_history": True}, *_MORE]},
        ],
        [*_PLAIN, ["Hi.", "Bye."]],
    ),
    "LibreChat, calls that may have been made one after the other": (
        [
            ASKED,
            {"role": "assistant", "content": [_chat_call("c1"), _chat_call("c2"), {"type": "text", "text": "Done."}]},
        ],
        [["Refund order 7.", "None find(order=7) = ok", "None find(order=7) = ok", "Done."]],
    ),
    "LibreChat, one call": (
        [ASKED, {"role": "assistant", "content": [_chat_call("c1"), {"type": "text", "text": "Done."}]}],
        _PLAIN,
    ),
    "Responses, calls of the server beside those of functions": (
        [
            ASKED,
            {"type": "web_search_call", "id": "w1", "action": {"query": "a"}, "status": "completed"},
            {"type": "mcp_call", "id": "m1", "name": "find", "arguments": '{"order": 7}', "output": "ok"},
            {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "mail", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            {"type": "function_call_output", "call_id": "c2", "output": "ok"},
            _ANSWER,
        ],
        [
            [
                "Refund order 7.",
                "None web_search(query=a) = None",
                "None find(order=7) = ok",
                "turn-1 refund() = ok",
                "turn-1 mail() = ok",
                "Done.",
            ]
        ],
    ),
    "Hermes, two calls at once": (
        {
            "conversations": [
                {"from": "human", "value": "Compare."},
                {
                    "from": "gpt",
                    "value": '<tool_call>{"name": "find", "arguments": {"order": 7}}</tool_call>\n'
                    '<tool_call>{"name": "find", "arguments": {"order": 8}}</tool_call>',
                },
                {"from": "tool", "value": "<tool_response>a</tool_response>\n<tool_response>b</tool_response>"},
            ]
        },
        [["Compare.", "turn-1 find(order=7) = a", "turn-1 find(order=8) = b"]],
    ),
    "Vapi": (
        {
            "messages": [
                {"role": "user", "message": "Refund order 7.", "time": 1},
                {"role": "tool_calls", "message": "", "toolCalls": [_function("c1", "find", order=7)], "time": 2},
                {"role": "tool_call_result", "name": "find", "result": "ok", "toolCallId": "c1", "time": 3},
                {"role": "bot", "message": "Done.", "time": 4},
            ]
        },
        _PLAIN,
    ),
    "ElevenLabs": (
        {
            "conversation_id": "c",
            "transcript": [
                {"role": "agent", "message": "Hi.", "tool_calls": [], "tool_results": []},
                {"role": "user", "message": "Refund order 7.", "tool_calls": [], "tool_results": []},
                {
                    "role": "agent",
                    "message": None,
                    "tool_calls": [{"request_id": "1", "tool_name": "find", "params_as_json": '{"order": 7}'}],
                    "tool_results": [],
                },
                {
                    "role": "agent",
                    "message": None,
                    "tool_calls": [],
                    "tool_results": [{"request_id": "1", "tool_name": "find", "result_value": "ok", "is_error": False}],
                },
                {"role": "agent", "message": "Done.", "tool_calls": [], "tool_results": []},
            ],
        },
        _PLAIN,
    ),
    "Retell": (
        {
            "call_id": "c",
            "transcript_object": [ASKED, {"role": "agent", "content": "Done."}],
            "transcript_with_tool_calls": [
                ASKED,
                {"role": "tool_call_invocation", "tool_call_id": "1", "name": "find", "arguments": '{"order": 7}'},
                {"role": "tool_call_result", "tool_call_id": "1", "content": "ok", "successful": True},
                {"role": "tool_call_invocation", "tool_call_id": "2", "name": "refund", "arguments": "{}"},
                {"role": "tool_call_result", "tool_call_id": "2", "content": "no", "successful": False},
                {"role": "agent", "content": "Done."},
            ],
        },
        [["Refund order 7.", f"turn-1 {FOUND}", "turn-2 refund() failed", "Done."]],
    ),
    "Continue": (
        {
            "history": [
                {"message": ASKED, "contextItems": []},
                {"message": {"role": "assistant", "content": "", "toolCalls": [_function("c1", "find", order=7)]}},
                {"message": {"role": "tool", "content": "ok", "toolCallId": "c1"}},
                {"message": SAYS},
            ]
        },
        _PLAIN,
    ),
    "Vercel 5, result of a step": (
        {
            "text": "",
            "toolCalls": [{"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": {"order": 7}}],
            "toolResults": [{"type": "tool-result", "toolCallId": "c1", "toolName": "find", "output": "ok"}],
            "finishReason": "tool-calls",
        },
        [[f"turn-1 {FOUND}"]],
    ),
    "LiveKit, a hand-off between the items": (
        {
            "items": [
                {"type": "message", "role": "user", "content": ["Refund order 7."]},
                {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"order": 7}'},
                {"type": "function_call_output", "call_id": "c1", "output": "ok", "is_error": False},
                {"type": "agent_handoff", "old_agent_id": "a", "new_agent_id": "b"},
                {"type": "message", "role": "assistant", "content": ["Done."]},
            ]
        },
        _PLAIN,
    ),
    "Weave, the result of a call in the row of the tool alone": (
        [
            LINES,
            *TRANSCRIPTS["Weave"][:2],
            {
                "op_name": "weave:///me/shop/op/find:v1",
                "inputs": {"order": 7},
                "output": "ok",
                "attributes": {"kind": "tool"},
            },
        ],
        [["Refund order 7.", f"turn-1 {FOUND}"]],
    ),
    "Anthropic, batch": ([LINES, TRANSCRIPTS["batch"]], [["turn-1 find() = None"]]),
    "Gemini, a response": (
        {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]}}]},
        [["turn-1 find() = None"]],
    ),
    "Converse, a response": (
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "c1", "name": "find", "input": {}}}],
                }
            },
            "stopReason": "tool_use",
        },
        [["turn-1 find() = None"]],
    ),
    "Claude, a sub-agent whose prompt is the only one": (
        [
            LINES,
            _claude(None, {"type": "tool_use", "id": "c1", "name": "find", "input": {"order": 7}}),
            _claude("c1", {"type": "text", "text": "Look for it."}, "user"),
            _claude("c1", {"type": "text", "text": "It is here."}),
            _claude(None, {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}, "user"),
            _claude(None, {"type": "text", "text": "Done."}),
        ],
        [[f"turn-1 {FOUND}", "Done."]],
    ),
    "Claude Code, the file of a sub-agent": (
        [
            LINES,
            {"isSidechain": True, **_claude(None, {"type": "text", "text": "Refund order 7."}, "user")},
            {"isSidechain": True, **_claude(None, {"type": "text", "text": "Done."})},
        ],
        [["Refund order 7.", "Done."]],
    ),
    "OpenAI assistants, calls of one step": (
        {
            "object": "list",
            "data": [
                {
                    "object": "thread.run.step",
                    "step_details": {
                        "type": "tool_calls",
                        "tool_calls": [
                            {
                                "id": each,
                                "type": "function",
                                "function": {"name": each, "arguments": "{}", "output": "ok"},
                            }
                            for each in ("find", "refund")
                        ],
                    },
                }
            ],
        },
        [["turn-1 find() = ok", "turn-1 refund() = ok"]],
    ),
    "messages of two conversations in turn, which they name": (
        [LINES, *[{"conversation_id": name, **each} for each in TALK for name in ("a", "b")]],
        _PLAIN * 2,
    ),
    "a list of messages of two conversations": (
        [{"thread_id": name, **each} for name in (1, 2) for each in TALK],
        _PLAIN * 2,
    ),
    "messages given and returned": ({"input": TALK[:3], "output": [SAYS]}, _PLAIN),
    "responses that say what they answer": (
        [
            LINES,
            {"object": "response", "model": "m", "id": "r1", "input": "Refund order 7.", "output": [_CALL]},
            {
                "object": "response",
                "model": "m",
                "id": "r2",
                "previous_response_id": "r1",
                "input": [{"type": "function_call_output", "call_id": "c1", "output": "ok"}],
                "output": [_ANSWER],
            },
        ],
        _PLAIN,
    ),
    "rows of cases": (
        [
            LINES,
            {"question": "Refund order 7.", "tool_calls": [_function("c1", "find", order=7) | {"result": "ok"}]},
            {"question": "Hello.", "tool_calls": [], "answer": "Hi."},
            {"question": "Go.", "tool_calls": [{"name": "find", "arguments": {"order": 7}, "result": "ok"}]},
        ],
        [["Refund order 7.", f"turn-1 {FOUND}"], ["Hello.", "Hi."], ["Go.", f"turn-1 {FOUND}"]],
    ),
    "rows of the steps of one run": (
        [LINES, *[{"step": at, "prompt": "a", "tool_calls": [_function(str(at), "find")]} for at in (1, 2)]],
        [["None find() = None", "None find() = None"]],
    ),
    "rows of cases below a key": (
        {"results": [{"input": "a", "tool_calls": [{"name": each, "args": {}}]} for each in ("find", "refund")]},
        [["a", "turn-1 find() = None"], ["a", "turn-1 refund() = None"]],
    ),
    "sessions of MCP below the keys of an index": (
        {"a": TRANSCRIPTS["MCP"], "b": TRANSCRIPTS["MCP"]},
        [[f"turn-1 {FOUND}", "turn-2 refund() failed"]] * 2,
    ),
    "several conversations below the keys of an index": ({"a": TALK, "b": TALK}, _PLAIN * 2),
    "conversations, and a task that broke off": ({"results": [{"messages": TALK}, {"error": "boom"}]}, _PLAIN),
}

NOT_TOLD: dict[str, Any] = {
    "several answers, of which one asks for a call": {"choices": [{"message": ASKS}, {"message": SAYS}]},
    "several answers, which ask for other calls": {
        "choices": [{"message": ASKS}, {"message": {**ASKS, "tool_calls": [_function("c2", "refund")]}}]
    },
    "calls in the information about an answer": {
        "messages": [ASKED, SAYS],
        "info": {"tool_calls": [{"tool_name": "find", "args": {"order": 7}, "result": "ok"}]},
    },
    "calls in the metadata": {"messages": [ASKED, SAYS], "metadata": {"tools_called": [{"name": "find"}]}},
    "smolagents, calls in code": [
        {"task": "Refund order 7."},
        _step(1, "python_interpreter", "refund(7)", code_action="refund(7)"),
        _step(2, "python_interpreter", "final_answer('Done.')", code_action="final_answer('Done.')"),
    ],
    "Open Interpreter": [
        {**ASKED, "type": "message"},
        {"role": "assistant", "type": "code", "format": "python", "content": "refund(7)"},
        {"role": "computer", "type": "console", "format": "output", "content": "ok"},
        {**SAYS, "type": "message"},
    ],
    "AgentInstruct, ALFWorld": {
        "conversations": [
            {"from": "human", "value": "You are in a room."},
            {"from": "gpt", "value": "THOUGHT: I look.\nACTION: go to desk 1"},
        ]
    },
    "calls beside the conversation that an object holds": {
        "result": {"messages": [ASKED, SAYS]},
        "tools_called": [_function("c1", "find", order=7)],
    },
    "conversations below two keys, which may be one": {
        "first": {"messages": TALK},
        "second": {"messages": TALK},
        "n": 1,
    },
    "what was given alone": {"inputs": {"messages": [ASKED, SAYS]}, "outputs": {"text": "find(7)"}},
    "Hermes, a call that is not closed": {
        "conversations": [
            {"from": "human", "value": "Refund order 7."},
            {"from": "gpt", "value": '<tool_call>{"name": "find", "arguments": {}}'},
        ]
    },
    "Flowise, a tool that cannot be read": {
        "text": "Done.",
        "question": "Refund order 7.",
        "usedTools": [{"name": "find"}],
    },
    "DSPy, a step without a name": {
        "trajectory": {"tool_name_0": "find", "tool_args_0": {}, "observation_0": "ok", "tool_name_1": 7}
    },
    "Hermes, messages that quote a call": [
        ASKED,
        {"role": "assistant", "content": 'I write `<tool_call>{"name": "find", "arguments": {}}</tool_call>`.'},
    ],
    "Hermes, messages with a call that is not closed": [
        ASKED,
        {"role": "assistant", "content": '<tool_call>{"name": "find", "arguments": {}}'},
    ],
    "Glaive, a call that cannot be read": {
        "system": "x",
        "chat": 'USER: Refund.\n\nASSISTANT: <functioncall> {"name": "find", "arguments": nothing}',
    },
    "Weave, a model that asks for no call, beside what it did": [
        LINES,
        {"op_name": "create", "inputs": {"messages": [ASKED]}, "output": {"choices": [{"message": SAYS}]}},
        {"op_name": "find", "inputs": {"order": 7}, "output": "ok"},
    ],
    "Weave, a tool beside those that the model asked for": [
        LINES,
        *TRANSCRIPTS["Weave"],
        {"op_name": "o/refund:1", "inputs": {"order": 7}, "output": "ok", "attributes": {"kind": "tool"}},
    ],
    "Open WebUI": [ASKED, {**SAYS, "content": '<details type="tool_calls" name="find">\n</details>\nDone.'}],
    "tools that a message says it used": [ASKED, {**SAYS, "tools_used": ["find"]}],
    "steps in a message": [ASKED, {**SAYS, "steps": [{"tool": "find", "input": {"order": 7}}]}],
    "a call for content": [ASKED, {**SAYS, "content": {"tool_name": "find", "tool_input": {"order": 7}}}],
    "AutoGPT": [ASKED, {**SAYS, "content": '{"thoughts": {}, "command": {"name": "find", "args": {"order": 7}}}'}],
    "DSPy, steps beside the messages": {
        "messages": [ASKED, SAYS],
        "trajectory": {"thought_0": "…", "tool_name_0": "find", "tool_args_0": {"order": 7}, "observation_0": "ok"},
    },
    "LangChain, a message as it is printed": [ASKED, {**SAYS, "content": "Tool Calls:\n  find (c1)\n Call ID: c1"}],
    "ALFWorld without thoughts": [{"role": "user", "content": "Go on."}, {**SAYS, "content": "ACTION: take cup 1"}],
    "CrewAI, two tasks of one run": {"raw": "Done.", "tasks_output": [{"messages": TALK}, {"messages": TALK}]},
    "Flowise": [
        {"role": "userMessage", "content": "x"},
        {"role": "apiMessage", "content": "y", "usedTools": '[{"tool": 1}]'},
    ],
    "roles of nobody": [{"role": "userMessage", "content": "x"}, {"role": "apiMessage", "content": "y"}],
    "calls in the metadata of a message": [ASKED, {**SAYS, "metadata": {"tool_calls": [{"name": "find"}]}}],
    "BrowserGym, a block": [ASKED, {**SAYS, "content": "I look.\n```\nclick('a51')\n```"}],
    "BrowserGym, tags": [
        ASKED,
        {**SAYS, "content": "<think>\nI look.\n</think>\n<action>\nfill('a5', 'x')\n</action>"},
    ],
    "WebArena": [ASKED, {**SAYS, "content": "In summary, the next action I will perform is ```click [1582]```"}],
    "AgentBench, operating system": [ASKED, {**SAYS, "content": "I know it.\n\nAct: answer(220)"}],
    "AgentBench, knowledge graph": [ASKED, {**SAYS, "content": "Now:\nAction: get_relations(cat)"}],
    "AutoGen, the event of a tool that no model asked for": [
        LINES,
        {"type": "LLMCall", "messages": [ASKED], "response": {"choices": [{"message": SAYS}]}},
        {"type": "ToolCall", "tool_name": "find", "arguments": {"order": 7}, "result": "ok"},
    ],
}


@for_each("name", list(READ))
def test_a_published_log_shows_its_calls(name: str) -> None:
    log, expected = READ[name]

    assert [_told(each) for each in read(_source(log))] == expected


@for_each("name", list(NOT_TOLD))
def test_a_published_log_that_does_not_show_its_calls_says_so(name: str) -> None:
    try:
        trajectories = list(read(_source(NOT_TOLD[name])))
    except RightcallError:
        return

    assert [each.calls_recorded for each in trajectories] == [False] * len(trajectories)


def test_conversations_in_parquet_are_read_without_the_nulls_that_arrow_adds() -> None:
    import pyarrow as pa
    from pyarrow import parquet

    asked = {**ASKS, "tool_calls": [{"id": "c1", "name": "find", "arguments": {"order": 7}}]}
    other = {**ASKS, "tool_calls": [{"id": "c1", "name": "refund", "arguments": {"amount": 20}}]}
    file = io.BytesIO()
    rows = [{"id": 1, "messages": [ASKED, asked, GIVES, SAYS]}, {"id": 2, "messages": [ASKED, other, GIVES, SAYS]}]
    parquet.write_table(pa.Table.from_pylist(rows), file)

    refunded = ["Refund order 7.", "turn-1 refund(amount=20) = ok", "Done."]
    assert [_told(each) for each in read(file.getvalue())] == [*_PLAIN, refunded]


def _source(log: Any) -> Any:
    if isinstance(log, bytes):
        return log
    return b"\n".join([json.dumps(line).encode() for line in log[1:]]) if LINES in log else json.dumps(log).encode()


def _told(trajectory: Trajectory) -> list[str]:
    """The question, the calls and the answer of each turn."""
    assert trajectory.calls_recorded
    asked = trajectory.turn_inputs or (trajectory.input,)
    answered = trajectory.turn_outputs or (trajectory.output,)
    told: list[str] = []
    for turn, (question, answer) in enumerate(zip(asked, answered, strict=True)):
        calls = [call for call in trajectory.calls if call.turn in (turn, None)]
        told += [question] if question else []
        for call in calls:
            args = ", ".join([f"{key}={value}" for key, value in (call.args or {}).items()])
            told.append(f"{call.group} {call.name}({args}) {'failed' if call.error else f'= {call.output}'}")
        told += [answer] if answer else []
    return told


@for_each(
    ("row", "is_one"),
    [
        ({"system": "", "chat": "USER: Go.\nASSISTANT: Gone."}, True),
        ({"chat": "USER: Go.\nASSISTANT: Gone."}, False),
        ({"system": "", "chat": "USER: Go."}, False),
        ({"system": "", "chat": "ASSISTANT: Gone."}, False),
        ({"system": "", "chat": f"{'x' * 100}USER: Go.\nASSISTANT: Gone."}, False),
        ({"system": "", "chat": ["USER:", "ASSISTANT:"]}, False),
        ("USER: Go.\nASSISTANT: Gone.", False),
    ],
)
def test_a_row_of_glaive_has_a_system_and_a_chat_of_both(row: Any, is_one: bool) -> None:
    assert is_glaive(row) is is_one
