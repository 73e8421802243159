"""Logs in the shapes in which people publish them: each with its calls, or with the note that it does not show them."""

from __future__ import annotations

import json
from typing import Any

from tests.walls import for_each

from rightcall import RightcallError, Trajectory
from rightcall.reading import read


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
TALK = [ASKED, ASKS, GIVES, SAYS]
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
    "ALFWorld without thoughts": [{"role": "user", "content": "Go on."}, {**SAYS, "content": "ACTION: take cup 1"}],
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


def _source(log: Any) -> Any:
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
