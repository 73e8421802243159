"""Calls that a person or a rule did not allow, as each agent and framework writes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import ASKED, asks
from tests.walls import for_each

from rightcall import read
from rightcall.reading import read_messages
from rightcall.reading.messages._refusals import UNCONFIRMED, refusal_of, take_edit, unconfirmed
from rightcall.reading.spans import NOTHING, CallRecord

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. …)"
CANCELLED = "[Operation Cancelled] Reason: User"
DENIED = f"{CANCELLED} denied execution"
DECLINED = (
    "The user has declined to run this tool. DO NOT attempt to call this tool again. If there are no alternative "
    "methods to proceed, clearly explain the situation and STOP."
)
NOT_GRANTED = "Claude requested permissions to use Bash, but you haven't granted it yet."
BY_RULE = "Permission to use Bash with command rm x\nls has been denied."


@for_each(
    ("message", "error", "refused"),
    [
        ({}, None, False),
        ({}, "no such file", False),
        ({}, REJECTED, True),
        ({"toolUseResult": "User rejected tool use"}, None, True),
        ({"toolUseResult": "x"}, None, False),
        ({"toolCallResult": {"status": "cancelled"}}, DENIED, True),
        ({"toolCallResult": {"status": "cancelled"}}, "User declined", True),
        ({"toolCallResult": {"status": "error"}}, "User declined", False),
        ({"toolCallResult": {"status": "cancelled"}}, "timeout", False),
        ({"toolCallResult": {"status": "error"}}, DENIED, False),
        ({"toolCallResult": "cancelled"}, DENIED, False),
        ({}, DENIED, False),
        ({"toolCallResult": {"status": "cancelled"}}, f"{CANCELLED} did not allow tool call", True),
        ({}, UNCONFIRMED[0], False),
    ],
)
def test_a_call_is_refused_where_the_user_did_not_allow_it(
    message: dict[str, Any], error: str | None, refused: bool
) -> None:
    assert bool(refusal_of(message, CallRecord("x", error=error))) is refused


@for_each(
    ("format", "error", "refused"),
    [
        ("Anthropic", NOT_GRANTED, True),
        ("Anthropic", BY_RULE, True),
        ("Anthropic", "Permission to use the camera was denied", False),
        ("OpenAI chat", NOT_GRANTED, False),
        ("LangChain", "User rejected the tool call for `rm` with id 1", True),
        ("LangChain", "No tool call for `rm`", False),
        ("OpenCode", "The user rejected permission to use this specific tool call.", True),
        ("OpenCode", "The user has specified a rule which prevents you from using this specific tool call. …", True),
        ("OpenCode", "Error: The user rejected permission to use this specific tool call.", True),
        ("OpenCode", "The user was not found", False),
        ("OpenAI chat", "Function call was rejected by the user", True),
        ("OpenAI chat", "Tool call was rejected", True),
        ("OpenAI chat", "Tool call was rejected by the server", False),
        ("OpenAI chat", "Tool call limit reached. Tool call rm not executed. Don't try to execute it again.", True),
        ("OpenAI chat", "Tool call limit reached. Tool call rm was executed.", False),
        ("Bedrock Converse", "tool cancelled by user", True),
        ("Bedrock Converse", "tool cancelled by user interface", False),
        ("Bedrock Converse", "Manual approval denied: too late", True),
        ("Bedrock Converse", "CONFIRMATION_FAILED: sure?", True),
        ("Bedrock Converse", "Tool call cancelled. Ask first. You MUST follow this guidance immediately.", True),
        ("Bedrock Converse", "Tool call cancelled. The line was busy.", False),
        ("Gemini", f"{CANCELLED} did not allow tool call", True),
        ("Gemini", f"{CANCELLED} cancelled tool execution.", False),
    ],
)
def test_an_error_is_a_refusal_by_how_it_begins_in_its_format(format: str, error: str, refused: bool) -> None:
    assert bool(refusal_of({}, CallRecord("rm", format=format, error=error))) is refused


@for_each(
    ("format", "output", "refused"),
    [
        ("Goose", DECLINED, True),
        ("Goose", f"{DECLINED} ", False),
        ("Anthropic", DECLINED, False),
        ("Anthropic", "The user denied this operation.", True),
        ("Anthropic", "The user denied this operation and provided the following feedback:\n<feedback>…", True),
        ("Anthropic", {"status": "denied", "message": "The user denied this operation."}, True),
        ("Anthropic", {"status": "ok", "message": "The user denied this operation."}, False),
        ("Anthropic", {"status": "denied"}, False),
        ("Anthropic", "The user denied this operation once.", False),
        ("Agent Framework", "Error: Tool call invocation was rejected by user.", True),
        ("OpenAI Responses", "Tool execution was not approved.", True),
        ("OpenAI Responses", ["Tool execution was not approved."], False),
        ("OpenAI chat", "Tool execution was not approved.", False),
        ("OpenAI chat", "Tool 'look' has reached its usage limit of 3 times and cannot be used anymore.", True),
        ("Gemini", "Tool 'look' has reached its maximum usage limit and cannot be used anymore.", True),
        ("OpenAI chat", "Tool 'look' has reached its usage limit of 3 times.", False),
        ("Gemini", {"output": "Encountered error in step execution: denied by pre-tool hook: Denied by policy"}, True),
        ("Gemini", {"output": "Encountered error in step execution: no such file"}, False),
        ("OpenAI chat", {"output": "Encountered error in step execution: denied by pre-tool hook: x"}, False),
    ],
)
def test_an_output_is_a_refusal_where_it_is_the_whole_sentence_of_its_format(
    format: str, output: Any, refused: bool
) -> None:
    assert bool(refusal_of({}, CallRecord("rm", format=format, output=output))) is refused


@for_each(
    ("message", "calls"),
    [
        ({"actions": {"requested_tool_confirmations": {"c1": {}}}}, {"c1": {}}),
        ({"actions": {"requestedToolConfirmations": {"c1": {}}}}, {"c1": {}}),
        ({"actions": {"requested_tool_confirmations": ["c1"]}}, {}),
        ({"actions": {}}, {}),
        ({"actions": None}, {}),
    ],
)
def test_calls_wait_for_a_confirmation_that_is_asked_for_by_id(message: dict[str, Any], calls: Any) -> None:
    assert unconfirmed(message) == calls


def codex(output: str) -> list[dict[str, Any]]:
    asked = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}
    items = [asked, {"type": "function_call_output", "call_id": "c", "output": output}]
    meta = {"type": "session_meta", "payload": {"id": "s"}}
    return [meta, *[{"type": "response_item", "payload": item} for item in items]]


def cursor(result: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {"type": "tool_call", "call_id": "c", "session_id": "s"}
    return [
        {**begun, "subtype": "started", "tool_call": {"shellToolCall": {"args": {"command": "rm"}}}},
        {**begun, "subtype": "completed", "tool_call": {"shellToolCall": {"result": result}}},
    ]


def goose(answer: str) -> list[dict[str, Any]]:
    call = {"status": "success", "value": {"name": "shell", "arguments": {}}}
    given = {"status": "success", "value": [{"type": "text", "text": answer}]}
    return [
        {"role": "assistant", "created": 1, "content": [{"type": "toolRequest", "id": "c", "toolCall": call}]},
        {"role": "user", "created": 2, "content": [{"type": "toolResponse", "id": "c", "toolResult": given}]},
    ]


def opencode(error: str) -> list[dict[str, Any]]:
    state = {"status": "error", "input": {}, "error": error}
    return [{"role": "assistant", "parts": [{"type": "tool", "callID": "c", "tool": "shell", "state": state}]}]


def agno(error: str) -> list[dict[str, Any]]:
    return [
        asks(("shell", "c", "{}")),
        {"role": "tool", "tool_call_id": "c", "tool_call_error": True, "content": error},
    ]


def strands(error: str) -> list[dict[str, Any]]:
    result = {"toolUseId": "c", "status": "error", "content": [{"text": error}]}
    return [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "shell", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": result}]},
    ]


def gemini(error: str) -> list[dict[str, Any]]:
    result = {"name": "shell", "response": {"error": error}}
    return [
        {"role": "model", "parts": [{"functionCall": {"name": "shell", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": result}]},
    ]


def cline(answer: str) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "shell", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": answer}]},
    ]


def inspect(kind: str) -> list[dict[str, Any]]:
    result = {"role": "tool", "tool_call_id": "c", "function": "shell", "content": "", "error": {"type": kind}}
    return [asks(("shell", "c", "{}")), {**result, "error": {"type": kind, "message": "no"}}]


def inspect_events(kind: str) -> list[dict[str, Any]]:
    error = {"type": kind, "message": "no"}
    return [{"event": "tool", "id": "c", "function": "shell", "arguments": {}, "result": "", "error": error}]


def continued(status: str) -> list[dict[str, Any]]:
    call = {"id": "c", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "toolCalls": [call]}
    return [{"message": message, "toolCallStates": [{"toolCallId": "c", "toolCall": call, "status": status}]}]


LOGS = {
    "Continue": (continued("canceled"), continued("errored")),
    "Codex": (codex("exec command rejected by user"), codex("exec command rejected by users")),
    "Cursor": (cursor({"rejected": {"reason": "no"}}), cursor({"failure": {"exitCode": 1}})),
    "Goose": (goose(DECLINED), goose("done")),
    "OpenCode": (opencode("The user rejected permission to use this specific tool call."), opencode("no such file")),
    "Agno": (agno("Function call was rejected by the user"), agno("Order 7 was rejected by the user")),
    "Strands": (strands("tool cancelled by user"), strands("timeout")),
    "Gemini CLI, as it asks the model": (gemini(f"{CANCELLED} did not allow tool call"), gemini("timeout")),
    "Roo Code": (cline('{"status": "denied", "message": "The user denied this operation."}'), cline("done")),
    "Inspect": (inspect("approval"), inspect("timeout")),
    "Inspect, events": (inspect_events("approval"), inspect_events("timeout")),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_call_that_was_not_allowed_is_no_call_and_one_that_failed_is_one(name: str) -> None:
    refused, failed = LOGS[name]
    first = [] if "events" in name else [ASKED]

    [without] = read(json.dumps([*first, *refused]).encode())
    [with_it] = read(json.dumps([*first, *failed]).encode())

    assert (without.names, [held.name for held in without.withheld]) == ((), ["shell"])
    assert without.calls_recorded
    assert (with_it.names, with_it.withheld) == (("shell",), ())


def test_a_call_of_cursor_has_the_arguments_that_it_was_started_with() -> None:
    [trajectory] = read(json.dumps([ASKED, *cursor({"success": {"stdout": ""}})]).encode())

    assert trajectory.calls[0].args == {"command": "rm"}


def test_a_rule_that_denied_a_call_is_not_the_user() -> None:
    assert refusal_of({}, CallRecord("rm", format="Anthropic", error=BY_RULE)) == "approval was refused"
    assert refusal_of({}, CallRecord("rm", format="Anthropic", error=REJECTED)) == "refused by the user"


REPLACED = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in your message is the one you "
    "produced, not the one that executed. This was intentional and authorized. Do not re-issue your original call."
)
INSTEAD = f'{REPLACED} Executed instead: pay with arguments {{"n": "}}."}}.'


@for_each(
    ("given", "made"),
    [
        (f"{INSTEAD}\n\nTool response:\npaid", ("pay", {"n": "}."}, "paid")),
        (f'{INSTEAD}\n\nTool response:\n{{"paid": 5}}', ("pay", {"n": "}."}, {"paid": 5})),
        (INSTEAD, ("pay", {"n": "}."}, "")),
        ([f"{INSTEAD}\n\nTool response:", "paid"], ("pay", {"n": "}."}, "paid")),
        ([f"{INSTEAD}\n\nTool response:", "paid", "back"], ("pay", {"n": "}."}, ["paid", "back"])),
        (INSTEAD[:-5], ("pay", NOTHING, NOTHING)),
        (f"{INSTEAD[:-1]} and more", ("pay", {"n": "}."}, NOTHING)),
        (REPLACED, ("refund", NOTHING, NOTHING)),
        ("paid", ("refund", {"n": 7}, "paid")),
        (f"It said: {INSTEAD}", ("refund", {"n": 7}, f"It said: {INSTEAD}")),
        ([], ("refund", {"n": 7}, [])),
        ([3], ("refund", {"n": 7}, [3])),
    ],
)
def test_a_call_that_a_person_edited_is_the_one_that_its_result_says(given: Any, made: tuple[str, Any, Any]) -> None:
    record = CallRecord("refund", args={"n": 7}, output=given)
    take_edit(record)

    assert (record.name, record.args, record.output, record.error) == (*made, None)


def test_the_error_of_a_call_that_a_person_edited_is_what_the_tool_said() -> None:
    note = f"{INSTEAD}\n\nTool response:\nno money"
    record = CallRecord("refund", output=note, error=note, failed=True)
    take_edit(record)

    assert (record.output, record.error) == ("no money", "no money")


def test_a_log_shows_the_call_that_a_person_edited_as_it_was_made() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": f"{INSTEAD}\n\nTool response:\npaid"}
    made = read_messages([ASKED, asks(("refund", "c1", '{"n": 7}')), result])

    assert [(call.name, call.args, call.output) for call in made.calls] == [("pay", {"n": "}."}, "paid")]
