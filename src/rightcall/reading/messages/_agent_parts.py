"""Rows of the tables of message formats, and the parts of coding agents, chats and services of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from rightcall.reading.conventions import ASKED_FOR, REFUSED, REFUSED_BY_USER, Envelope, content_blocks

Kind = Literal["call", "result"]


class Part(msgspec.Struct, frozen=True):
    """How one format writes a requested call, or a result."""

    format: str
    kind: Kind
    marks: tuple[tuple[str, Any], ...]
    """Keys that must be there, with their values: a type for any value of it, a function for those it
    accepts, None for any at all."""
    name: tuple[str, ...]
    id: tuple[str, ...]
    value: tuple[str, ...]
    """Where the arguments or the output are."""
    failure: tuple[tuple[str, Any], ...] = ()
    """Keys that say the call failed, with their values; None for any value that is not empty."""
    message: tuple[str, ...] = ()
    """Where the error message or the reason of a refusal is; without one, the output is the error."""
    refusal: tuple[tuple[str, Any, str], ...] = ()
    """Keys that say the call was not carried out, with their values, and the default reason."""
    unwrap: tuple[Envelope, ...] = ()
    output: tuple[str, ...] = ()
    """Where the output is, if the call holds its result, too."""
    nulls: bool = False
    """Whether null in the place of the arguments or the output is a value: no arguments, or nothing returned."""
    naming: Callable[[str], str] | None = None
    """How the name of the tool is made of what is found under `name`, such as the type of a part."""


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
    """Return the row of a part that holds a call."""
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
    """Return the row of a part that holds the result of a call."""
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
"""The format of a part that says that a person approved a call: nothing of what came of it."""


AGENT_PARTS = (
    # First: a tool may be called `result`, and the type of its parts is then that of another format.
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
    # A person is asked about a call in the same message, and answers with another such part.
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
"""Tried before all others."""
