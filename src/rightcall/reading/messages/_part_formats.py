"""The table of message formats: what a requested call and a result look like in each.

A new format is a few new rows. Rows are tried from the top on every part of a message. Names with dots are paths into
inner objects; alternative names of a field are separated by bars, best first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rightcall.reading.conventions import Envelope, adk_output, content_blocks, converse_blocks, llamaindex_output
from rightcall.reading.spans import CallRecord, outcome

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


def typed_value(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Vercel's output: `{"type": "json", "value": …}`; one of the error types says that the tool failed."""
    if not isinstance(value, dict) or value.keys() - {"providerOptions"} != {"type", "value"}:
        return value
    if str(value["type"]).startswith("error"):
        call.failed = True
    return content_blocks(outcome(value["value"]), call, attributes)


def _call(
    format: str,
    marks: dict[str, Any],
    name: str,
    id: str,
    value: str,
    failure: tuple[tuple[str, Any], ...] = (),
    message: str = "",
    refusal: tuple[tuple[str, Any, str], ...] = (),
    output: str = "",
) -> Part:
    places = _names(name), _names(id), _names(value)
    return Part(format, "call", tuple(marks.items()), *places, failure, _names(message), refusal, output=_names(output))


def _result(
    format: str,
    marks: dict[str, Any],
    name: str,
    id: str,
    value: str,
    failure: tuple[tuple[str, Any], ...] = (),
    message: str = "",
    refusal: tuple[tuple[str, Any, str], ...] = (),
    unwrap: tuple[Envelope, ...] = (),
) -> Part:
    places = _names(name), _names(id), _names(value)
    return Part(format, "result", tuple(marks.items()), *places, failure, _names(message), refusal, unwrap)


def _is_plain_text(content: Any) -> bool:
    """Whether content is an output; Strands puts a message's Converse blocks there, as JSON text."""
    return isinstance(content, str) and not content.startswith('[{"tool')


def _is_no_block(content: Any) -> bool:
    return isinstance(content, dict) or _is_plain_text(content)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()


PARTS = (
    # Chat Completions has `tool_calls`; before they came (November 2023), one `function_call` without an id.
    _call(
        "OpenAI chat", {"function.name": str, "function.arguments": None}, "function.name", "id", "function.arguments"
    ),
    _call(
        "OpenAI chat, early",
        {"function_call.name": str, "function_call.arguments": None},
        "function_call.name",
        "",
        "function_call.arguments",
    ),
    _call(
        "OpenInference, early", {"function_call_name": str}, "function_call_name", "", "function_call_arguments_json"
    ),
    # Responses: an item has an `id` of its own, and call and result share a `call_id`.
    _result("OpenAI Responses", {"type": "function_call_output"}, "", "call_id", "output", unwrap=(content_blocks,)),
    _result("OpenAI Responses", {"type": "custom_tool_call_output"}, "", "call_id", "output"),
    _call("OpenAI Responses, custom", {"type": "custom_tool_call"}, "name", "call_id", "input"),
    _call("Semantic Kernel", {"content_type": "function_call"}, "name", "call_id|id", "arguments"),
    _result("Semantic Kernel", {"content_type": "function_result"}, "name", "call_id|id", "result"),
    _call(
        "OpenAI Responses, Agent Framework", {"type": "function_call", "name": str}, "name", "call_id|id", "arguments"
    ),
    _result(
        "Agent Framework",
        {"type": "function_result"},
        "name",
        "call_id",
        "result",
        failure=(("exception", None),),
        message="exception",
    ),
    _call("OpenAI chat, custom", {"type": "custom", "custom.name": str}, "custom.name", "id", "custom.input"),
    _call("Inspect", {"function": str, "arguments": dict}, "function", "id", "arguments"),
    # ATIF is the trajectory format of Harbor (Terminal-Bench): observations name their call as `source_call_id`.
    _call("ATIF", {"function_name": str, "arguments": None}, "function_name", "tool_call_id", "arguments"),
    _result(
        "ATIF", {"source_call_id": str, "content": None}, "", "source_call_id", "content", unwrap=(content_blocks,)
    ),
    _call(
        "OpenAI Responses, by MCP",
        {"type": "mcp_call", "name": str},
        "name",
        "id",
        "arguments",
        failure=(("error", None),),
        message="error.message|error",
        output="output|error",
    ),
    _call(
        "OpenAI Responses, by MCP",
        {"type": "mcp_approval_request"},
        "name",
        "id",
        "arguments",
        refusal=(("type", None, "approval was asked for"),),
    ),
    _result(
        "OpenAI Responses, by MCP",
        {"type": "mcp_approval_response", "approve": False},
        "",
        "approval_request_id",
        "",
        message="reason",
        refusal=(("type", None, "approval was refused"),),
    ),
    _call("Anthropic's managed agents", {"type": "agent.tool_use"}, "name", "id", "input"),
    _call("Anthropic's managed agents, by MCP", {"type": "agent.mcp_tool_use"}, "name", "id", "input"),
    _call("Anthropic's managed agents, custom", {"type": "agent.custom_tool_use"}, "name", "id", "input"),
    *(
        _result(
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
    _result(
        "Anthropic's managed agents, refused",
        {"type": "user.tool_confirmation", "tool_use_id": str, "result": "deny"},
        "",
        "tool_use_id",
        "",
        message="deny_message",
        refusal=(("result", "deny", "refused by the user"),),
    ),
    _result(
        "Claude, refused",
        {"tool_name": str, "tool_use_id": str, "tool_input": None},
        "tool_name",
        "tool_use_id",
        "",
        refusal=(("tool_use_id", None, "refused by the user"),),
    ),
    # Messages API: the assistant asks with `tool_use`, the user answers with `tool_result`, by `tool_use_id`.
    _call("Anthropic", {"type": "tool_use"}, "name", "id", "input"),
    _call("Anthropic, on the server", {"type": "server_tool_use"}, "name", "id", "input"),
    _call("Anthropic, by MCP", {"type": "mcp_tool_use"}, "name", "id", "input"),
    _result(
        "Anthropic",
        {"tool_use_id": str, "content": None},
        "",
        "tool_use_id",
        "content",
        failure=(("is_error", True),),
        unwrap=(content_blocks,),
    ),
    _result(
        "Anthropic, nothing returned",
        {"type": "tool_result", "tool_use_id": str},
        "",
        "tool_use_id",
        "",
        failure=(("is_error", True),),
    ),
    # `Content.parts`: REST writes camel case, the Python SDK snake case; ids are optional, so order pairs them.
    _call("Gemini", {"functionCall.name": str}, "functionCall.name", "functionCall.id", "functionCall.args"),
    _call("Gemini", {"function_call.name": str}, "function_call.name", "function_call.id", "function_call.args"),
    _result(
        "Gemini",
        {"functionResponse": dict},
        "functionResponse.name",
        "functionResponse.id",
        "functionResponse.response",
        unwrap=(adk_output,),
    ),
    _result(
        "Gemini",
        {"function_response": dict},
        "function_response.name",
        "function_response.id",
        "function_response.response",
        unwrap=(adk_output,),
    ),
    # Converse has no type: the key of a block says what it is.
    _call("Bedrock Converse", {"toolUse.name": str}, "toolUse.name", "toolUse.toolUseId", "toolUse.input"),
    _result(
        "Bedrock Converse",
        {"toolResult": dict},
        "",
        "toolResult.toolUseId",
        "toolResult.content",
        failure=(("toolResult.status", "error"),),
        unwrap=(converse_blocks,),
    ),
    _result(
        "Vercel",
        {"type": "tool-result"},
        "toolName",
        "toolCallId",
        "output|result",
        failure=(("isError", True),),
        message="output.reason",
        refusal=(("output.type", "execution-denied", "approval was refused"),),
        unwrap=(typed_value,),
    ),
    _result("Vercel", {"type": "tool-error"}, "toolName", "toolCallId", "error", failure=(("error", None),)),
    _result(
        "Pi",
        {"role": "toolResult", "toolCallId": str},
        "toolName",
        "toolCallId",
        "content",
        failure=(("isError", True),),
        unwrap=(content_blocks,),
    ),
    _call(
        "Vercel",
        {"toolName": str, "toolCallId": str},
        "toolName",
        "toolCallId",
        "input|args",
        failure=(("state", "output-error"),),
        message="errorText",
        refusal=(
            ("state", "output-denied", "approval was refused"),
            ("state", "approval-requested", "approval was asked for"),
        ),
        output="output|result",
    ),
    # `ModelMessagesTypeAdapter`: a `retry-prompt` with the name of a tool is the error that the model was given.
    _call("Pydantic AI", {"part_kind": "tool-call"}, "tool_name", "tool_call_id", "args"),
    _call("Pydantic AI, built in", {"part_kind": "builtin-tool-call"}, "tool_name", "tool_call_id", "args"),
    _result(
        "Pydantic AI",
        {"part_kind": "tool-return"},
        "tool_name",
        "tool_call_id",
        "content",
        failure=(("outcome", "retried"), ("outcome", "failed")),
        message="content",
        refusal=(("outcome", "denied", "approval was refused"),),
    ),
    _result("Pydantic AI, built in", {"part_kind": "builtin-tool-return"}, "tool_name", "tool_call_id", "content"),
    _result(
        "Pydantic AI, again",
        {"part_kind": "retry-prompt", "tool_name": str},
        "tool_name",
        "tool_call_id",
        "content",
        failure=(("content", None),),
    ),
    _result(
        "LlamaIndex",
        {"tool_output": dict, "tool_name": str},
        "tool_name",
        "tool_id",
        "tool_output",
        failure=(("tool_output.is_error", True),),
        unwrap=(llamaindex_output,),
    ),
    _call("LlamaIndex", {"tool_kwargs": dict, "tool_name": str}, "tool_name", "tool_id", "tool_kwargs"),
    _result(
        "Haystack",
        {"tool_call_result": dict},
        "tool_call_result.origin.tool_name",
        "tool_call_result.origin.id",
        "tool_call_result.result",
        failure=(("tool_call_result.error", True),),
        unwrap=(content_blocks,),
    ),
    _call("Haystack", {"tool_name": str, "arguments": None}, "tool_name", "id", "arguments"),
    _result(
        "OpenTelemetry",
        {"type": "tool_call_response"},
        "name",
        "id",
        "response|result",
        unwrap=(converse_blocks, content_blocks, adk_output),
    ),
    _result(
        "OpenTelemetry, on the server",
        {"type": "server_tool_call_response"},
        "name",
        "id",
        "server_tool_call_response|response",
    ),
    _call("OpenTelemetry, on the server", {"type": "server_tool_call"}, "name", "id", "server_tool_call|arguments"),
    _result(
        "LangChain",
        {"type": "tool", "tool_call_id": str},
        "name",
        "tool_call_id",
        "content",
        failure=(("status", "error"),),
        unwrap=(content_blocks,),
    ),
    _result(
        "AutoGen",
        {"call_id": str, "is_error": None, "content": None},
        "name",
        "call_id",
        "content",
        failure=(("is_error", True),),
    ),
    _result(
        "OpenAI chat",
        {"role": "tool", "tool_call_id": str},
        "name|function",
        "tool_call_id",
        "content",
        failure=(("status", "error"), ("error", None)),
        message="error.message|error",
        unwrap=(content_blocks,),
    ),
    _result(
        "OpenTelemetry events",
        {"role": "tool", "id": str, "content": _is_no_block},
        "name",
        "id",
        "content",
        failure=(("error", True),),
        unwrap=(converse_blocks,),
    ),
    _result(
        "OpenInference, Anthropic's results",
        {"role": "user", "tool_call_id": str, "content": str},
        "name",
        "tool_call_id",
        "content",
    ),
    _result(
        "OpenAI chat, without ids",
        {"role": "tool", "content": _is_plain_text},
        "name",
        "",
        "content",
        failure=(("error", True),),
    ),
    _result("OpenAI chat, early", {"role": "function", "content": None}, "name", "", "content"),
    # Last: these marks are few, and parts of the formats above have them, too.
    _call("LangChain", {"name": str, "args": None, "id": None}, "name", "id", "args"),
    _call("OpenTelemetry, AutoGen, OpenLLMetry", {"name": str, "arguments": None}, "name", "id|call_id", "arguments"),
    _call("OpenTelemetry, content off", {"type": "tool_call", "name": str}, "name", "id", ""),
)
