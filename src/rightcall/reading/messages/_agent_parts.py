"""Rows of the table of message formats for coding agents, for chats, and for calls that services run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from rightcall.reading.conventions import ASKED_FOR, REFUSED, REFUSED_BY_USER, Envelope, content_blocks
from rightcall.reading.spans import CallRecord

Kind = Literal["call", "result"]


class Part(msgspec.Struct, frozen=True):
    """How one format writes a requested call, or a result."""

    format: str
    kind: Kind
    marks: tuple[tuple[str, Any], ...]
    """Keys that must be present, and what their values must be: a type, a function that accepts them, a value to
    equal, or None for any value."""
    name: tuple[str, ...]
    id: tuple[str, ...]
    value: tuple[str, ...]
    """Where the arguments or the output are."""
    failure: tuple[tuple[str, Any], ...] = ()
    """Keys that show that the call failed, with their values; None for any value that is not empty."""
    message: tuple[str, ...] = ()
    """Where the error message or the reason of a refusal is; without one, the output is the error."""
    refusal: tuple[tuple[str, Any, str], ...] = ()
    """Keys that show that the call was not made, with their values, and the default reason."""
    unwrap: tuple[Envelope, ...] = ()
    output: tuple[str, ...] = ()
    """Where the output is, if the part of the call also holds its result."""
    nulls: bool = False
    """Whether null instead of arguments or output is a recorded value: no arguments, or nothing returned."""
    naming: Callable[[str], str] | None = None
    """Makes the name of the tool from the value at `name`, such as the type of the part."""


def call_row(
    format: str,
    marks: dict[str, Any],
    name: str,
    id: str,
    value: str,
    failure: tuple[tuple[str, Any], ...] = (),
    message: str = "",
    refusal: tuple[tuple[str, Any, str], ...] = (),
    unwrap: tuple[Envelope, ...] = (),
    output: str = "",
    naming: Callable[[str], str] | None = None,
    nulls: bool = False,
) -> Part:
    """Return the row of a part that holds a call: the fields of `Part`, with alternative keys separated by bars."""
    places = _names(name), _names(id), _names(value)
    more: dict[str, Any] = {"output": _names(output), "nulls": nulls, "naming": naming}
    return Part(format, "call", tuple(marks.items()), *places, failure, _names(message), refusal, unwrap, **more)


def result_row(
    format: str,
    marks: dict[str, Any],
    name: str,
    id: str,
    value: str,
    failure: tuple[tuple[str, Any], ...] = (),
    message: str = "",
    refusal: tuple[tuple[str, Any, str], ...] = (),
    unwrap: tuple[Envelope, ...] = (),
    nulls: bool = False,
) -> Part:
    """Return the row of a part that holds the result of a call, written like that of a call."""
    places = _names(name), _names(id), _names(value)
    return Part(format, "result", tuple(marks.items()), *places, failure, _names(message), refusal, unwrap, nulls=nulls)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()


_UI_STATES = frozenset(
    {
        "input-streaming",
        "input-available",
        "output-available",
        "output-error",
        "output-denied",
        "approval-requested",
        "approval-responded",
    }
)
"""States of a call in a chat of Vercel's AI SDK (`UIMessage`, "tool-NAME" parts)."""


def _is_ui_state(state: Any) -> bool:
    return isinstance(state, str) and state in _UI_STATES


def _is_ui_tool(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("tool-") and len(kind) > len("tool-")


def _of_ui_tool(kind: str) -> str:
    return kind.removeprefix("tool-")


UNFINISHED = "its arguments were still being written"
ANSWERED = "approval was answered, and no result is recorded"
"""Why a call was withheld."""
APPROVED = "Agent Framework, approved"
"""The format of a part by which a person approved a call. It has no result."""


AGENT_PARTS = (
    # First: a tool may be named `result`, and its type is then `tool-result`, which is a type of another format.
    call_row(
        "Vercel, chat",
        {"type": _is_ui_tool, "toolCallId": str, "state": _is_ui_state},
        "type",
        "toolCallId",
        "input|rawInput",
        failure=(("state", "output-error"),),
        message="errorText",
        refusal=(
            ("state", "output-denied", REFUSED),
            ("state", "approval-requested", ASKED_FOR),
            ("state", "approval-responded", ANSWERED),
            ("state", "input-streaming", UNFINISHED),
        ),
        output="output",
        naming=_of_ui_tool,
    ),
    result_row(
        "Vercel, approval",
        {"type": "tool-approval-request", "toolCallId": str},
        "",
        "toolCallId",
        "",
        refusal=(("type", None, ASKED_FOR),),
    ),
    call_row("Vercel, stream", {"type": "tool-input-available"}, "toolName", "toolCallId", "input"),
    result_row("Vercel, stream", {"type": "tool-output-available", "toolCallId": str}, "", "toolCallId", "output"),
    result_row(
        "Vercel, stream",
        {"type": "tool-output-error", "toolCallId": str},
        "",
        "toolCallId",
        "",
        failure=(("type", None),),
        message="errorText",
    ),
    result_row(
        "Vercel, stream",
        {"type": "tool-output-denied", "toolCallId": str},
        "",
        "toolCallId",
        "",
        refusal=(("type", None, REFUSED),),
    ),
    call_row(
        "OpenCode",
        {"type": "tool", "callID": str, "tool": str, "state": dict},
        "tool",
        "callID",
        "state.input",
        failure=(("state.status", "error"),),
        message="state.error",
        refusal=(("state.status", "pending", UNFINISHED),),
        output="state.output",
    ),
    call_row(
        "Goose",
        {"type": "toolRequest", "toolCall": dict},
        "toolCall.value.name",
        "id",
        "toolCall.value.arguments",
    ),
    result_row(
        "Goose",
        {"type": "toolResponse", "toolResult": dict},
        "",
        "id",
        "toolResult.value.content|toolResult.value",
        failure=(("toolResult.status", "error"), ("toolResult.value.isError", True)),
        message="toolResult.error",
        unwrap=(content_blocks,),
    ),
    result_row("Continue", {"role": "tool", "toolCallId": str, "content": None}, "", "toolCallId", "content"),
    result_row("Vapi", {"role": "tool_call_result", "toolCallId": str}, "name", "toolCallId", "result"),
    call_row(
        "LibreChat",
        {"type": "tool_call", "tool_call.name": str, "tool_call.args": None},
        "tool_call.name",
        "tool_call.id",
        "tool_call.args",
        output="tool_call.output",
    ),
    call_row(
        "Letta",
        {"message_type": "tool_call_message", "tool_call.name": str},
        "tool_call.name",
        "tool_call.tool_call_id",
        "tool_call.arguments",
    ),
    result_row(
        "Letta",
        {"message_type": "tool_return_message", "tool_call_id": str},
        "name",
        "tool_call_id",
        "tool_return",
        failure=(("status", "error"),),
    ),
    call_row(
        "Letta, approval",
        {"message_type": "approval_request_message", "tool_call.name": str},
        "tool_call.name",
        "tool_call.tool_call_id",
        "tool_call.arguments",
        refusal=(("message_type", None, ASKED_FOR),),
    ),
    result_row(
        "Letta, several",
        {"tool_call_id": str, "tool_return": None, "status": str},
        "name",
        "tool_call_id",
        "tool_return",
        failure=(("status", "error"),),
    ),
    result_row(
        "Letta, refused",
        {"approve": False, "tool_call_id": str},
        "",
        "tool_call_id",
        "",
        message="reason",
        refusal=(("tool_call_id", None, REFUSED),),
    ),
    # The request for approval is in the message of the call; the person's answer is a part of a later one.
    result_row(
        "Agent Framework, approval",
        {"type": "function_approval_request", "function_call.call_id": str},
        "function_call.name",
        "function_call.call_id",
        "",
        refusal=(("type", None, ASKED_FOR),),
    ),
    result_row(
        APPROVED,
        {"type": "function_approval_response", "approved": True, "function_call.call_id": str},
        "function_call.name",
        "function_call.call_id",
        "",
    ),
    result_row(
        "Agent Framework, refused",
        {"type": "function_approval_response", "approved": False, "function_call.call_id": str},
        "function_call.name",
        "function_call.call_id",
        "",
        refusal=(("type", None, REFUSED),),
    ),
    call_row("Microsoft.Extensions.AI", {"$type": "functionCall", "name": str}, "name", "callId", "arguments"),
    result_row(
        "Microsoft.Extensions.AI", {"$type": "functionResult", "callId": str}, "", "callId", "result", nulls=True
    ),
    result_row("Spring AI", {"responseData": None, "name": str}, "name", "id", "responseData"),
    result_row(
        "Mistral, conversations", {"type": "function.result", "tool_call_id": str}, "", "tool_call_id", "result"
    ),
    result_row(
        "Amp",
        {"type": "tool_result", "toolUseID": str, "run": dict},
        "",
        "toolUseID",
        "run.result",
        failure=(("run.status", "error"),),
        message="run.error.message|run.error",
        refusal=(
            ("run.status", "rejected-by-user", REFUSED_BY_USER),
            ("run.status", "cancelled", "cancelled by the user"),
        ),
    ),
)
"""Rows that are tried before all others."""


def _of_server_call(kind: str) -> str:
    return kind.removesuffix("_call")


def _text(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the output of a tool of OpenAI Agents for JavaScript, `{"type": "text", "text": …}`."""
    return value["text"] if isinstance(value, dict) and value.keys() == {"type", "text"} else value


def function_result(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap a result of Agent Framework, which OpenTelemetry's messages of its early versions have as a whole."""
    is_theirs = isinstance(value, dict) and value.get("type") == "function_result" and "call_id" in value
    return value["result"] if is_theirs and "result" in value else value


def _running(language: str) -> str:
    """Return the name of Gemini's tool that runs code, as requests declare it."""
    return "code_execution"


RUN_BY_SERVICE = frozenset(
    {
        *("LibreChat", "Anthropic, by code"),
        *("OpenAI Responses, on the server", "OpenAI Responses, by MCP", "OpenAI Responses, by code"),
    }
)
"""Formats of calls made by a service or by code that runs there. Calls in a row may be sequential or parallel."""

SERVICE_PARTS = (
    # Voice agents: transcripts of telephone calls (ElevenLabs, "Get conversation details";
    # Retell, "Get call", `transcript_with_tool_calls`).
    call_row("ElevenLabs", {"tool_name": str, "params_as_json": None}, "tool_name", "request_id", "params_as_json"),
    result_row(
        "ElevenLabs",
        {"tool_name": str, "result_value": None, "request_id": str},
        "tool_name",
        "request_id",
        "result_value",
        failure=(("is_error", True),),
        refusal=(("tool_has_been_called", False, "the tool was not called"),),
    ),
    call_row("Retell", {"role": "tool_call_invocation", "name": str}, "name", "tool_call_id", "arguments"),
    result_row(
        "Retell",
        {"role": "tool_call_result", "tool_call_id": str},
        "",
        "tool_call_id",
        "content",
        failure=(("successful", False),),
    ),
    # Tools of the server: the tool is named by the type of the item, and the arguments are keys beside it.
    *(
        call_row(
            "OpenAI Responses, on the server",
            {"type": kind},
            "type",
            "id",
            args,
            failure=(("status", "failed"),),
            output=output,
            naming=_of_server_call,
        )
        for kind, args, output in (
            ("web_search_call", "action", ""),
            ("file_search_call", "{queries}", "results"),
            ("code_interpreter_call", "{code,container_id}", "outputs"),
            ("image_generation_call", "{}", "result"),
        )
    ),
    # Tools of OpenAI that run where the agent runs: one item for the call, another for its result.
    *(
        call_row(
            "OpenAI Responses, built in",
            {"type": f"{name}_call", "call_id": str},
            "type",
            "call_id",
            args,
            refusal=(("status", "incomplete", UNFINISHED),),
            naming=_of_server_call,
        )
        for name, args in (
            ("computer", "action|{actions}"),
            ("local_shell", "action"),
            ("shell", "action"),
            ("apply_patch", "operation"),
        )
    ),
    *(
        result_row(
            "OpenAI Responses, built in",
            {"type": f"{name}_call_output"},
            "",
            "call_id|callId|id",
            "output",
            failure=(("status", "failed"),),
        )
        for name in ("computer", "local_shell", "shell", "apply_patch")
    ),
    # Where the server searches, call and output have no `call_id`, and an `id` each.
    call_row(
        "OpenAI Responses, built in",
        {"type": "tool_search_call", "arguments": None},
        "type",
        "call_id",
        "arguments",
        naming=_of_server_call,
    ),
    result_row("OpenAI Responses, built in", {"type": "tool_search_output"}, "", "call_id", "tools"),
    # Programmatic tool calling: code of the model, whose calls are items of their own (`caller`).
    call_row("OpenAI Responses, built in", {"type": "program", "call_id": str}, "type", "call_id", "{code}"),
    result_row(
        "OpenAI Responses, built in",
        {"type": "program_output", "call_id": str},
        "",
        "call_id",
        "result",
        failure=(("status", "incomplete"),),
    ),
    # The items of OpenAI Agents for JavaScript (`protocol.ts`) have other keys, and types of their own.
    *(
        call_row(
            "OpenAI Agents, JavaScript",
            {"type": f"{name}_call", "callId": str},
            "type",
            "callId",
            args,
            refusal=(("status", "incomplete", UNFINISHED),),
            naming=_of_server_call,
        )
        for name, args in (("computer", "action|{actions}"), ("shell", "action"), ("apply_patch", "operation"))
    ),
    *(
        result_row("OpenAI Agents, JavaScript", {"type": f"{kind}_result"}, "name", "callId", "output", unwrap=(_text,))
        for kind in ("function_call", "computer_call")
    ),
    call_row(
        "OpenAI Responses, on the server",
        {"type": "hosted_tool_call", "name": str},
        "name",
        "id",
        "arguments",
        output="output",
        failure=(("status", "failed"),),
        naming=_of_server_call,
    ),
    call_row(
        "OpenAI Responses, by MCP",
        {"type": "mcp_call", "name": str},
        "name",
        "approval_request_id|id",
        "arguments",
        failure=(("error", None),),
        message="error.message|error",
        output="output",
    ),
    call_row(
        "OpenAI Responses, by MCP",
        {"type": "mcp_approval_request"},
        "name",
        "id",
        "arguments",
        refusal=(("type", None, ASKED_FOR),),
    ),
    result_row(
        "OpenAI Responses, by MCP",
        {"type": "mcp_approval_response", "approve": False},
        "",
        "approval_request_id",
        "",
        message="reason",
        refusal=(("type", None, REFUSED),),
    ),
    *(
        row
        for code, result in (("executableCode", "codeExecutionResult"), ("executable_code", "code_execution_result"))
        for row in (
            call_row(
                "Gemini, code",
                {code: dict},
                f"{code}.language",
                f"{code}.id",
                f"{code}.{{language,code}}",
                naming=_running,
            ),
            result_row(
                "Gemini, code",
                {result: dict},
                "",
                f"{result}.id",
                f"{result}.output",
                failure=tuple([(f"{result}.outcome", f"OUTCOME_{why}") for why in ("FAILED", "DEADLINE_EXCEEDED")]),
            ),
        )
    ),
    call_row("Anthropic's managed agents", {"type": "agent.tool_use"}, "name", "id", "input"),
    call_row("Anthropic's managed agents, by MCP", {"type": "agent.mcp_tool_use"}, "name", "id", "input"),
    call_row("Anthropic's managed agents, custom", {"type": "agent.custom_tool_use"}, "name", "id", "input"),
    *(
        result_row(
            "Anthropic's managed agents",
            {"type": f"{kind}_result", key: str},
            "",
            key,
            "content",
            failure=(("is_error", True),),
            unwrap=(content_blocks,),
        )
        for kind, key in (("agent.mcp_tool", "mcp_tool_use_id"), ("user.custom_tool", "custom_tool_use_id"))
    ),
    result_row(
        "Anthropic's managed agents, refused",
        {"type": "user.tool_confirmation", "tool_use_id": str, "result": "deny"},
        "",
        "tool_use_id",
        "",
        message="deny_message",
        refusal=(("result", "deny", REFUSED_BY_USER),),
    ),
    result_row(
        "Claude, refused",
        {"tool_name": str, "tool_use_id": str, "tool_input": None},
        "tool_name",
        "tool_use_id",
        "",
        refusal=(("tool_use_id", None, REFUSED_BY_USER),),
    ),
)
