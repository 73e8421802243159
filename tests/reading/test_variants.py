"""Legal but uncommon forms of known formats: each is read as its definition says, or said not to be understood."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import told_again
from tests.walls import for_each

from rightcall import Trajectory, read, read_messages
from rightcall.reading import Turn, read_turns

ASKED = {"role": "user", "content": "Refund order 7"}
ARGS = {"order_id": 7}
TEXT = json.dumps(ARGS)
DONE = {"role": "assistant", "content": "Done."}


def of(document: Any) -> Trajectory:
    [found] = read(json.dumps(document).encode())
    return found


def told(found: Trajectory) -> list[tuple[Any, ...]]:
    return [(call.name, call.args, call.output, call.error is not None) for call in found.calls]


def item(kind: str, **held: Any) -> dict[str, Any]:
    return {"type": kind, **held}


def chat_call(name: str = "refund", args: Any = TEXT, call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}


def adk(author: str, part: dict[str, Any], role: str = "model", **held: Any) -> dict[str, Any]:
    return {"invocation_id": "i", "author": author, "content": {"role": role, "parts": [part]}, **held}


def adk_result(response: dict[str, Any], **held: Any) -> dict[str, Any]:
    return adk("shop", {"functionResponse": {"id": "1", "name": "refund", "response": response}}, "user", **held)


UNCONFIRMED = adk_result(
    {"error": "This tool call requires confirmation, please approve or reject."},
    actions={"requestedToolConfirmations": {"1": {"hint": "Sure?"}}},
)
REJECTED = adk_result({"error": "This tool call is rejected."})


def dumped(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", name], "kwargs": kwargs}


def claude(kind: str, number: int, content: Any, **held: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": str(number), "sessionId": "s", "message": {"role": kind, "content": content}, **held}


def pydantic(kind: str, **part: Any) -> dict[str, Any]:
    return {"kind": kind, "parts": [part]}


PROMPT = pydantic("request", part_kind="user-prompt", content="Refund order 7")
READ: dict[str, tuple[list[dict[str, Any]], list[Any]]] = {
    "Responses, an output of blocks": (
        [
            ASKED,
            item("function_call", call_id="c1", name="refund", arguments=TEXT),
            item("function_call_output", call_id="c1", output=[{"type": "input_text", "text": "ok"}]),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "Responses, tools on the machine": (
        [
            ASKED,
            item("local_shell_call", id="l", call_id="c1", action={"command": ["ls"]}, status="completed"),
            item("local_shell_call_output", id="c1", output="a"),
            item("apply_patch_call", id="p", call_id="c2", operation={"path": "a"}, status="completed"),
            item("apply_patch_call_output", call_id="c2", status="failed", output="no such file"),
        ],
        [("local_shell", {"command": ["ls"]}, "a", False), ("apply_patch", {"path": "a"}, "no such file", True)],
    ),
    "Responses, an approved call of MCP": (
        [
            ASKED,
            item("mcp_approval_request", id="a1", name="refund", arguments=TEXT),
            item("mcp_approval_response", approval_request_id="a1", approve=True),
            item("mcp_call", id="m1", name="refund", arguments=TEXT, output="ok", approval_request_id="a1"),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "Anthropic, an error of a tool on the server": (
        [
            ASKED,
            {
                "role": "assistant",
                "content": [
                    item("server_tool_use", id="s1", name="web_search", input={"query": "q"}),
                    item(
                        "web_search_tool_result",
                        tool_use_id="s1",
                        content={"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
                    ),
                ],
            },
        ],
        [
            (
                "web_search",
                {"query": "q"},
                {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
                True,
            )
        ],
    ),
    "Ollama, results in another order": (
        [
            ASKED,
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": name, "arguments": {}}} for name in ("look", "refund")],
            },
            {"role": "tool", "tool_name": "refund", "content": "2"},
            {"role": "tool", "tool_name": "look", "content": "1"},
        ],
        [("look", {}, "1", False), ("refund", {}, "2", False)],
    ),
    "Pydantic AI, before 0.0.20": (
        [
            PROMPT,
            pydantic("response", part_kind="tool-call", tool_name="refund", args={"args_json": TEXT}),
            pydantic("request", part_kind="tool-return", tool_name="refund", content="ok"),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "Pydantic AI, no arguments and nothing returned": (
        [
            PROMPT,
            pydantic("response", part_kind="tool-call", tool_name="look", args=None, tool_call_id="c1"),
            pydantic("request", part_kind="tool-return", tool_name="look", content=None, tool_call_id="c1"),
        ],
        [("look", {}, None, False)],
    ),
    "LangChain, dumps of JavaScript": (
        [
            dumped("HumanMessage", content="Refund order 7"),
            dumped("AIMessage", content="", tool_calls=[{"name": "refund", "args": ARGS, "id": "c1"}]),
            dumped("ToolMessage", content="ok", tool_call_id="c1"),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "LangChain, messages of functions": (
        [
            item("human", data={"content": "Refund order 7"}),
            item("ai", data={"content": "", "additional_kwargs": {"function_call": chat_call()["function"]}}),
            item("function", data={"type": "function", "name": "refund", "content": "ok"}),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "LangChain, blocks of a tool on the server": (
        [
            item("human", content="Refund order 7"),
            item(
                "ai",
                content=[
                    item("server_tool_call", id="s1", name="web_search", args={"query": "q"}),
                    item("server_tool_result", tool_call_id="s1", status="error", output="down"),
                ],
            ),
        ],
        [("web_search", {"query": "q"}, "down", True)],
    ),
    "Letta, several calls in a message": (
        [
            {"message_type": "user_message", "content": "Refund order 7"},
            {
                "message_type": "tool_call_message",
                "tool_call": {"name": "look", "arguments": "{}", "tool_call_id": "c1"},
                "tool_calls": [
                    {"name": "look", "arguments": "{}", "tool_call_id": "c1"},
                    {"name": "refund", "arguments": TEXT, "tool_call_id": "c2"},
                ],
            },
            {
                "message_type": "tool_return_message",
                "tool_return": "1",
                "tool_call_id": "c1",
                "tool_returns": [
                    {"tool_call_id": "c1", "status": "success", "tool_return": "1"},
                    {"tool_call_id": "c2", "status": "error", "tool_return": "2"},
                ],
            },
        ],
        [("look", {}, "1", False), ("refund", ARGS, "2", True)],
    ),
    "Microsoft.Extensions.AI": (
        [
            {"role": "user", "contents": [{"$type": "text", "text": "Refund order 7"}]},
            {
                "role": "assistant",
                "contents": [{"$type": "functionCall", "callId": "c1", "name": "refund", "arguments": ARGS}],
            },
            {"role": "tool", "contents": [{"$type": "functionResult", "callId": "c1", "result": "ok"}]},
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "Mistral, conversations": (
        [
            {"type": "message.input", "role": "user", "content": "Refund order 7"},
            item("function.call", tool_call_id="c1", name="refund", arguments=TEXT),
            item("function.result", tool_call_id="c1", result="ok"),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "Vercel, an approved call": (
        [
            ASKED,
            {
                "role": "assistant",
                "content": [
                    item("tool-call", toolCallId="c1", toolName="refund", input=ARGS),
                    item("tool-approval-request", approvalId="a", toolCallId="c1"),
                ],
            },
            {
                "role": "tool",
                "content": [
                    item("tool-approval-response", approvalId="a", approved=True),
                    item("tool-result", toolCallId="c1", toolName="refund", output={"type": "text", "value": "ok"}),
                ],
            },
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "ADK, a confirmed call": (
        [
            adk("user", {"text": "Refund order 7"}, "user"),
            adk("shop", {"functionCall": {"id": "1", "name": "refund", "args": ARGS}}),
            UNCONFIRMED,
            adk_result({"result": "ok"}),
        ],
        [("refund", ARGS, "ok", False)],
    ),
    "ADK, a tool that says it was rejected": (
        [
            adk("user", {"text": "Refund order 7"}, "user"),
            adk("shop", {"functionCall": {"id": "1", "name": "refund", "args": ARGS}}),
            REJECTED,
        ],
        [("refund", ARGS, {"error": "This tool call is rejected."}, True)],
    ),
}


@for_each("name", list(READ))
def test_a_variant_is_read_as_its_format_says(name: str) -> None:
    messages, wanted = READ[name]
    found = of(messages)

    assert told(found) == wanted
    assert found.calls_recorded, found.metadata
    assert not found.withheld


WITHHELD: dict[str, list[dict[str, Any]]] = {
    "Responses, a call that was cut off": [
        ASKED,
        item("function_call", call_id="c1", name="refund", arguments='{"order', status="incomplete"),
    ],
    "LangChain, arguments that were not parsed": [
        item("human", content="Refund order 7"),
        item(
            "ai",
            content="",
            tool_calls=[],
            invalid_tool_calls=[item("invalid_tool_call", name="refund", args="{", id="c1", error="x")],
            additional_kwargs={"tool_calls": [chat_call(args="{")]},
        ),
    ],
    "Vercel, approval asked for": [
        ASKED,
        {
            "role": "assistant",
            "content": [
                item("tool-call", toolCallId="c1", toolName="refund", input=ARGS),
                item("tool-approval-request", approvalId="a", toolCallId="c1"),
            ],
        },
    ],
    "Vercel, approval answered": [
        {"role": "user", "parts": [{"type": "text", "text": "Refund order 7"}]},
        {
            "role": "assistant",
            "parts": [item("tool-refund", toolCallId="c1", state="approval-responded", input=ARGS)],
        },
    ],
    "ADK, confirmation asked for": [
        adk("user", {"text": "Refund order 7"}, "user"),
        adk("shop", {"functionCall": {"id": "1", "name": "refund", "args": ARGS}}),
        UNCONFIRMED,
    ],
    "ADK, rejected": [
        adk("user", {"text": "Refund order 7"}, "user"),
        adk("shop", {"functionCall": {"id": "1", "name": "refund", "args": ARGS}}),
        UNCONFIRMED,
        REJECTED,
    ],
    "Letta, approval asked for": [
        {"message_type": "user_message", "content": "Refund order 7"},
        {
            "message_type": "approval_request_message",
            "tool_call": {"name": "refund", "arguments": TEXT, "tool_call_id": "c1"},
        },
    ],
    "Letta, approval refused": [
        {"message_type": "user_message", "content": "Refund order 7"},
        {
            "message_type": "approval_request_message",
            "tool_call": {"name": "refund", "arguments": TEXT, "tool_call_id": "c1"},
            "tool_calls": [{"name": "refund", "arguments": TEXT, "tool_call_id": "c1"}],
        },
        {
            "message_type": "approval_response_message",
            "approvals": [item("approval", approve=False, tool_call_id="c1", reason="no")],
        },
        {"message_type": "tool_return_message", "tool_call_id": "c1", "tool_return": "denied", "status": "error"},
    ],
}


@for_each("name", list(WITHHELD))
def test_a_call_that_was_not_carried_out_is_withheld(name: str) -> None:
    found = of(WITHHELD[name])

    assert found.calls == ()
    assert [call.name for call in found.withheld] == ["refund"]
    assert found.calls_recorded, found.metadata


@for_each("name", [*READ, *WITHHELD])
def test_the_log_of_a_later_turn_that_repeats_a_call_changes_nothing_about_it(name: str) -> None:
    messages = READ[name][0] if name in READ else WITHHELD[name]
    first = read_turns([Turn(messages=messages)])

    for found in told_again(messages):
        assert told(found) == told(first)
        assert {call.turn for call in found.calls} <= {0}
        assert found.withheld == first.withheld


TEXTS = {
    "Llama and ToolACE, Python": '[refund(order_id=7), look(city="Paris")]',
    "Functionary": '>>>refund\n{"order_id": 7}',
    "Command R": 'Action: ```json\n[{"tool_name": "refund", "parameters": {"order_id": 7}}]\n```',
    "a list in an object": '{"tool_calls": [{"name": "refund", "arguments": {"order_id": 7}}]}',
    "NexusRaven": "Call: refund(order_id=7)<bot_end>",
    "CodeAct": "<execute>refund(order_id=7)</execute>",
    "InternLM": '<|action_start|><|plugin|>{"name": "refund", "parameters": {}}<|action_end|>',
    "Step": '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="refund">',
    "Apertus": '<|tools_prefix|>[{"refund": {"order_id": 7}}]<|tools_suffix|>',
    "Aider": "a.py\n```python\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```",
}


@for_each("name", list(TEXTS))
def test_a_call_in_text_is_not_a_chat_without_calls(name: str) -> None:
    found = read_messages([ASKED, {"role": "assistant", "content": TEXTS[name]}])

    assert not found.calls_recorded


@for_each(
    "text",
    [
        "[see the manual (page=7)] for more",
        ">>> refund(7)\n{'order': 7}",
        "[1, 2, 3]",
        "Call: the shop will call (soon)",
        "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main",
    ],
)
def test_a_text_that_only_looks_like_a_call_is_a_chat(text: str) -> None:
    assert read_messages([ASKED, {"role": "assistant", "content": text}]).calls_recorded


SILENT: dict[str, Any] = {
    "a thread of OpenAI's assistants": {
        "object": "list",
        "data": [
            {
                "object": "thread.message",
                "role": role,
                "created_at": time,
                "content": [{"type": "text", "text": {"value": "x", "annotations": []}}],
            }
            for time, role in ((1, "user"), (2, "assistant"))
        ],
        "has_more": False,
    },
    "A2A": {
        "kind": "task",
        "history": [
            {"kind": "message", "role": role, "messageId": role, "parts": [{"kind": "text", "text": "x"}]}
            for role in ("user", "agent")
        ],
    },
    "A2A, version 1": [
        {"role": f"ROLE_{role}", "messageId": role, "parts": [{"text": "x"}]} for role in ("USER", "AGENT")
    ],
    "the end of a session of Claude Code alone": {
        "type": "result",
        "subtype": "success",
        "result": "Done.",
        "num_turns": 3,
        "session_id": "s",
    },
}


@for_each("name", list(SILENT))
def test_a_log_that_never_tells_of_calls_is_not_one_without_calls(name: str) -> None:
    found = of(SILENT[name])

    assert not found.calls_recorded
    assert "not_understood" in found.metadata


def test_a_text_in_a_thread_of_assistants_is_an_answer() -> None:
    assert of(SILENT["a thread of OpenAI's assistants"]).output == "x"


STATE = [
    item("human", content="Refund order 7", id="h"),
    item("ai", content="", id="a", tool_calls=[{"name": "refund", "args": ARGS, "id": "c1"}]),
]


@pytest.mark.parametrize(
    "document",
    [
        {"values": {"messages": STATE}, "tasks": [{"interrupts": [{"value": {"action_requests": [{}]}}]}]},
        {"messages": STATE, "__interrupt__": [{"value": {"action_requests": [{}]}}]},
    ],
    ids=["a state", "a result"],
)
def test_a_graph_that_waits_for_approval_has_made_no_open_call(document: Any) -> None:
    found = of(document)

    assert (found.calls, [call.name for call in found.withheld]) == ((), ["refund"])


def test_a_graph_that_was_interrupted_inside_of_a_tool_does_not_tell_which_calls_were_made() -> None:
    found = of({"messages": STATE, "__interrupt__": [{"value": "Which card?"}]})

    assert [call.name for call in found.calls] == ["refund"]
    assert not found.calls_recorded


def test_mistakes_in_arguments_that_pydantic_ai_lists_are_the_error() -> None:
    call = {"part_kind": "tool-call", "tool_name": "refund", "tool_call_id": "1", "args": {"order": "x"}}
    mistakes = [{"type": "int_parsing", "loc": ["order"], "msg": "größer"}]
    answer = {"part_kind": "tool-return", "tool_name": "refund", "tool_call_id": "1", "outcome": "retried"}
    log = [pydantic("request", part_kind="user-prompt", content="Go"), pydantic("response", **call)]

    [found] = of([*log, pydantic("request", **answer, content=mistakes)]).calls

    assert found.error == '[{"type": "int_parsing", "loc": ["order"], "msg": "größer"}]'


@pytest.mark.parametrize(("is_error", "error"), [(True, "no such order"), (False, None)])
def test_a_tool_of_an_mcp_server_says_in_its_result_for_adk_whether_it_failed(
    is_error: bool, error: str | None
) -> None:
    result = {"content": [{"type": "text", "text": "no such order"}], "isError": is_error}
    asked = adk("shop", {"functionCall": {"id": "1", "name": "refund", "args": ARGS}})

    [call] = of([adk("user", {"text": "Refund order 7"}, "user"), asked, adk_result(result)]).calls

    assert (call.output, call.error) == ("no such order", error)


def test_lines_of_claude_code_with_one_uuid_are_one_only_if_they_say_the_same() -> None:
    use = [item("tool_use", id="t1", name="Bash", input={})]
    first = claude("user", 1, "Go")

    found = of([first, first, claude("assistant", 1, use), claude("assistant", 2, [{"type": "text", "text": "Done."}])])

    assert found.names == ("Bash",)
    assert (found.input, found.output) == ("Go", "Done.")


def test_what_claude_code_writes_after_the_answer_or_in_the_name_of_the_user_is_neither() -> None:
    lines = [
        claude("user", 1, "Caveat: what follows was written by commands", isMeta=True),
        claude("user", 2, "<local-command-stdout>cleared</local-command-stdout>"),
        claude("user", 3, "Refund order 7"),
        claude("assistant", 4, [item("tool_use", id="t1", name="Bash", input={"command": "ls"})]),
        claude("user", 5, [item("tool_result", tool_use_id="t1", content="a")]),
        claude("assistant", 6, [{"type": "text", "text": "First."}]),
        claude("user", 7, "This session is being continued", isCompactSummary=True),
        claude("user", 8, "Thanks"),
        claude("assistant", 9, [{"type": "text", "text": "Done."}]),
        {"type": "system", "subtype": "turn_duration", "uuid": "10", "durationMs": 1},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    ]
    found = of(lines)

    assert (found.input, found.output) == ("Refund order 7", "Done.")
    assert found.turn_inputs == ("Refund order 7", "Thanks")
    assert [call.turn for call in found.calls] == [0]


def test_a_command_of_claude_code_that_its_model_does_not_answer_is_neither_question_nor_answer() -> None:
    command = [
        claude(
            "user",
            10,
            "Caveat: The messages below were generated by the user while running local commands",
            isMeta=True,
        ),
        claude("user", 11, "<command-name>/model</command-name>\n<command-message>model</command-message>"),
        claude("user", 12, "<local-command-stderr>no such model</local-command-stderr>"),
    ]
    work = [
        claude("user", 20, "Refund order 7"),
        claude("assistant", 21, [item("tool_use", id="t1", name="Bash", input={})]),
        claude("user", 22, [item("tool_result", tool_use_id="t1", content="ok")]),
        claude("assistant", 23, [{"type": "text", "text": "Done."}]),
    ]

    first, last = of([*command, *work]), of([*work, *command])

    assert [(found.input, found.output) for found in (first, last)] == [("Refund order 7", "Done.")] * 2
    assert [found.turn_inputs for found in (first, last)] == [(), ()]


def test_a_command_of_claude_code_that_is_a_prompt_begins_a_turn() -> None:
    asked = [
        claude(
            "user", 1, "<command-message>review is running…</command-message>\n<command-name>/review</command-name>"
        ),
        claude("user", 2, [{"type": "text", "text": "Review all changes."}], isMeta=True),
    ]
    found = of(
        [
            claude("user", 0, "Hello"),
            claude("assistant", 0, [{"type": "text", "text": "Hi."}]),
            *asked,
            claude("assistant", 3, [item("tool_use", id="t1", name="Bash", input={})]),
        ]
    )

    assert [call.turn for call in found.calls] == [1]


_PARTIAL: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "a stream for a page, the last": (
        [
            item("tool-input-available", toolCallId="1", toolName="refund", input=ARGS),
            item("tool-output-available", toolCallId="1", output="waiting", preliminary=True),
            item("tool-output-available", toolCallId="1", output="ok"),
        ],
        "ok",
    ),
    "a stream for a page, none": (
        [
            item("tool-input-available", toolCallId="1", toolName="refund", input=ARGS),
            item("tool-output-available", toolCallId="1", output="waiting", preliminary=True),
        ],
        None,
    ),
    "a stream of the SDK": (
        [
            item("tool-call", toolCallId="1", toolName="refund", input=ARGS),
            item("tool-result", toolCallId="1", toolName="refund", output="waiting", preliminary=True),
            item("tool-result", toolCallId="1", toolName="refund", output="ok"),
        ],
        "ok",
    ),
    "a message": (
        [
            ASKED,
            {
                "role": "assistant",
                "parts": [
                    item(
                        "tool-refund",
                        toolCallId="1",
                        state="output-available",
                        input=ARGS,
                        output="waiting",
                        preliminary=True,
                    )
                ],
            },
        ],
        None,
    ),
}


@pytest.mark.parametrize("name", _PARTIAL)
def test_what_a_tool_of_vercel_yields_before_it_ends_is_not_its_output(name: str) -> None:
    document, output = _PARTIAL[name]

    assert told(of(document)) == [("refund", ARGS, output, False)]


def test_messages_of_librechat_say_by_a_key_of_their_own_who_wrote_them() -> None:
    call = {"type": "tool_call", "tool_call": {"id": "c1", "name": "refund", "args": TEXT, "output": "ok"}}
    found = of(
        {
            "conversationId": "c",
            "messages": [
                {"messageId": "1", "sender": "User", "isCreatedByUser": True, "text": "Refund order 7"},
                {
                    "messageId": "2",
                    "sender": "Shop",
                    "isCreatedByUser": False,
                    "content": [call, item("text", text="Done.")],
                },
                {"messageId": "3", "sender": "User", "isCreatedByUser": True, "text": "Thanks"},
                {"messageId": "4", "sender": "Shop", "isCreatedByUser": False, "text": "Bye."},
            ],
        }
    )

    assert (found.turn_inputs, found.turn_outputs) == (("Refund order 7", "Thanks"), ("Done.", "Bye."))
    assert [call.turn for call in found.calls] == [0]


@pytest.mark.parametrize(
    ("subtype", "answer"), [("success", "Done."), ("error_max_turns", None)], ids=["a success", "an error"]
)
def test_the_answer_before_the_end_of_a_session_is_its_answer_if_it_succeeded(subtype: str, answer: str | None) -> None:
    end = {"type": "result", "subtype": subtype, "session_id": "s"}
    said = {"type": "assistant", "message": {**DONE, "content": [{"type": "text", "text": "Done."}]}}

    assert of([{"type": "user", "message": ASKED}, said, end]).output == answer


AUTHORS: dict[str, list[dict[str, Any]]] = {
    "ADK": [
        adk("user", {"text": "Refund order 7"}, "user"),
        adk("billing", {"functionCall": {"id": "1", "name": "refund", "args": ARGS}}),
    ],
    "AutoGen": [
        {"source": "user", "content": "Refund order 7", "type": "TextMessage"},
        {
            "source": "billing",
            "content": [{"id": "1", "name": "refund", "arguments": TEXT}],
            "type": "ToolCallRequestEvent",
        },
    ],
    "LangChain": [
        item("human", content="Refund order 7", name="anna"),
        item("ai", name="billing", content="", tool_calls=[{"name": "refund", "args": ARGS, "id": "1"}]),
    ],
    "AG2": [ASKED, {"role": "assistant", "name": "billing", "content": None, "tool_calls": [chat_call()]}],
}


@for_each("name", list(AUTHORS))
def test_the_author_of_a_message_is_the_agent_of_its_calls(name: str) -> None:
    assert [call.agent for call in of(AUTHORS[name]).calls] == ["billing"]


def test_question_and_answer_of_a_managed_agent_are_found_among_events_of_its_session() -> None:
    found = of(
        [
            item("user.message", content=[{"type": "text", "text": "Refund order 7"}]),
            item("session.status_running"),
            item("agent.tool_use", id="t1", name="refund", input=ARGS),
            item("agent.tool_result", tool_use_id="t1", content=[{"type": "text", "text": "ok"}]),
            item("agent.message", content=[{"type": "text", "text": "First."}]),
            item("user.message", content=[{"type": "text", "text": "Thanks"}]),
            item("agent.message", content=[{"type": "text", "text": "Done."}]),
            item("session.status_idle", stop_reason={"type": "end_turn"}),
        ]
    )

    assert (found.turn_inputs, found.turn_outputs) == (("Refund order 7", "Thanks"), ("First.", "Done."))
    assert [call.turn for call in found.calls] == [0]


def openhands(number: int, source: str, **held: Any) -> dict[str, Any]:
    return {"id": number, "source": source, "timestamp": "2026-01-01T00:00:00", **held}


def test_an_observation_of_openhands_belongs_to_the_action_that_caused_it() -> None:
    found = of(
        [
            openhands(0, "user", action="message", args={"content": "Refund order 7"}),
            openhands(
                1,
                "agent",
                action="run",
                args={"command": "ls"},
                tool_call_metadata={"function_name": "bash", "tool_call_id": "c1"},
            ),
            openhands(2, "agent", observation="run", cause=1, content="a", extras={}),
            openhands(
                3,
                "agent",
                action="run",
                args={"command": "rm"},
                tool_call_metadata={"function_name": "bash", "tool_call_id": "c2"},
            ),
            openhands(4, "user", observation="user_rejected", cause=3, content="no", extras={}),
            openhands(
                5,
                "agent",
                action="finish",
                args={"final_thought": "Done."},
                tool_call_metadata={"function_name": "finish", "tool_call_id": "c3"},
            ),
        ]
    )

    assert [(call.name, call.output) for call in found.calls] == [("bash", "a"), ("finish", None)]
    assert "output" in found.calls[1].unrecorded
    assert [(call.args, call.reason) for call in found.withheld] == [({"command": "rm"}, "no")]
    assert found.output == "Done."


def test_a_refused_call_that_the_log_does_not_show_is_no_sign_of_one_that_was_made() -> None:
    end = {
        "type": "result",
        "subtype": "success",
        "permission_denials": [{"tool_name": "Write", "tool_use_id": "t9", "tool_input": {}}],
    }

    assert of([{"type": "user", "message": ASKED}, {"type": "assistant", "message": DONE}, end]).calls_recorded


def test_a_second_result_with_one_id_of_another_tool_shows_that_a_call_is_missing() -> None:
    first = [ASKED, {"role": "assistant", "content": None, "tool_calls": [chat_call("look")]}]
    answered = {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "1"}

    assert of([*first, answered, answered, DONE]).calls_recorded
    assert not of([*first, answered, {**answered, "name": "refund"}, DONE]).calls_recorded


NAMELESS: dict[str, Any] = {
    "Codex, an item without a type": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "i1", "kind_of": "web_search", "query": "q"}},
    ],
    "Gemini CLI, calls under another key": {
        "projectHash": "p",
        "messages": [
            {"type": "user", "content": "Refund order 7"},
            {"type": "gemini", "content": "", "toolCallsV2": [{"id": "c1", "name": "refund"}]},
        ],
    },
}


@for_each("name", list(NAMELESS))
def test_what_a_transcript_has_beside_its_known_keys_is_a_sign(name: str) -> None:
    assert not of(NAMELESS[name]).calls_recorded


def test_an_author_that_is_no_text_is_none() -> None:
    handed = adk("shop", {"functionCall": {"id": "1", "name": "transfer_to_agent", "args": {"agent_name": "billing"}}})

    assert of([adk("user", {"text": "x"}, "user"), {**handed, "author": ["shop"]}]).names == ("transfer_to_agent",)


def test_an_approved_call_stays_made_without_its_output() -> None:
    messages, _ = READ["Responses, an approved call of MCP"]
    found = of([*messages[:-1], {key: held for key, held in messages[-1].items() if key != "output"}])

    assert (found.names, found.withheld) == (("refund",), ())


def test_a_result_that_was_lost_makes_no_group_of_the_calls_around_it() -> None:
    def step(number: int, **function: Any) -> dict[str, Any]:
        held = {"id": f"c{number}", "type": "function", "function": {"arguments": "{}", **function}}
        return {
            "object": "thread.run.step",
            "created_at": number,
            "step_details": {"type": "tool_calls", "tool_calls": [held]},
        }

    whole = of({"data": [step(1, name="look", output="1"), step(2, name="refund", output="2")]})
    lost = of({"data": [step(1, name="look"), step(2, name="refund", output="2")]})

    assert whole.calls[0].group != whole.calls[1].group
    assert [call.group for call in lost.calls] == [None, None]


def test_a_summary_of_autogen_repeats_a_call_whose_id_was_lost() -> None:
    call = {"name": "refund", "arguments": TEXT}
    result = {"content": "ok", "name": "refund", "call_id": "c1", "is_error": False}
    found = of(
        [
            {"source": "user", "type": "TextMessage", "content": "Refund order 7"},
            {"source": "shop", "type": "ToolCallRequestEvent", "content": [call]},
            {"source": "shop", "type": "ToolCallExecutionEvent", "content": [result]},
            {
                "source": "shop",
                "type": "ToolCallSummaryMessage",
                "content": "ok",
                "tool_calls": [{**call, "id": "c1"}],
                "results": [result],
            },
        ]
    )

    assert found.names == ("refund",)


def test_text_beside_an_unknown_call_is_not_known_to_be_the_answer() -> None:
    asked = {"role": "user", "parts": [{"type": "text", "text": "Refund order 7"}]}
    made = item("tool-refund", toolCallId="c1", state="output-available", input=ARGS, output="ok")
    text = {"type": "text", "text": "Done."}

    assert of([asked, {"role": "assistant", "parts": [made, text]}]).output == "Done."
    other = item("tool-look", state="approval-requested", input={})
    assert of([asked, {"role": "assistant", "parts": [made, other, text]}]).output is None


def test_an_item_of_codex_without_an_id_may_be_told_twice() -> None:
    ran = {"type": "command_execution", "command": "ls", "aggregated_output": "a", "status": "completed"}
    start = {"type": "thread.started", "thread_id": "t"}
    completed = {"type": "item.completed", "item": {"id": "i1", **ran}}

    assert of([start, completed]).calls_recorded
    found = of([start, {"type": "item.started", "item": {**ran, "status": "in_progress"}}, completed])
    assert (len(found.calls), found.calls_recorded) == (1, False)
