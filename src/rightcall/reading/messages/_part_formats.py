"""The table of message formats: how requested calls and results are written in each.

A new format is a few new rows. Rows are tried from the top on every part of a message. Names with dots are paths into
inner objects; alternative names of a field are separated by bars, best first. Names in braces are gathered into an
object: `{code,container_id}`, also at the end of a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.reading.conventions import (
    ASKED_FOR,
    REFUSED,
    adk_output,
    content_blocks,
    converse_blocks,
    llamaindex_output,
)
from rightcall.reading.spans import NOTHING, CallRecord, outcome

from ._agent_parts import AGENT_PARTS, ANSWERED, SERVICE_PARTS, UNFINISHED, call_row, function_result, result_row


def typed_value(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap Vercel's output, `{"type": "json", "value": …}`. With an error type, mark the call as failed."""
    if not _is_typed(value):
        return value
    if str(value["type"]).startswith("error"):
        call.failed = True
    return content_blocks(outcome(value["value"]), call, attributes)


def lost_type(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Drop Vercel's output if its type is null: its value may be an output or an error."""
    return NOTHING if _is_typed(value) and value["type"] is None else value


def bare_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Drop a typed output in the part of a call, where Vercel writes none: the part is a result without its mark."""
    return NOTHING if _is_typed(value) and (value["type"] is None or value["type"] in _OUTPUT_TYPES) else value


_OUTPUT_TYPES = ("text", "json", "content", "error-text", "error-json", "execution-denied")
"""Types of outputs of Vercel's AI SDK (`ToolResultOutput`)."""


def _is_typed(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() - {"providerOptions"} == {"type", "value"}


def _is_plain_text(content: Any) -> bool:
    """Whether content is the text of a result, not Converse blocks as JSON text, which Strands writes there."""
    return isinstance(content, str) and not content.startswith(('[{"tool', "[{}"))


def azure_result(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the only block of a result in Azure's converted threads, `{"type": "tool_result", "tool_result": …}`."""
    block = value[0] if isinstance(value, list) and len(value) == 1 else None
    if isinstance(block, dict) and block.get("type") == "tool_result" and "tool_result" in block:
        return outcome(block["tool_result"])
    return value


_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})


def _is_no_block(content: Any) -> bool:
    """Whether content is that of a result, not blocks that are results; Logfire writes blocks of text."""
    if isinstance(content, list):
        return bool(content) and all([isinstance(each, dict) and each.get("type") in _TEXT_BLOCKS for each in content])
    return isinstance(content, dict) or _is_plain_text(content)


PARTS = (
    *AGENT_PARTS,
    # Chat Completions has `tool_calls`; before November 2023 it had one `function_call`, without an id.
    call_row(
        "OpenAI chat", {"function.name": str, "function.arguments": None}, "function.name", "id", "function.arguments"
    ),
    call_row(
        "OpenAI chat, early",
        {"function_call.name": str, "function_call.arguments": None},
        "function_call.name",
        "",
        "function_call.arguments",
    ),
    call_row(
        "OpenInference, early", {"function_call_name": str}, "function_call_name", "", "function_call_arguments_json"
    ),
    # Responses: an item has an `id` of its own, and call and result share a `call_id`.
    # LiveKit writes the same items, and says which results are errors.
    result_row(
        "OpenAI Responses",
        {"type": "function_call_output"},
        "",
        "call_id",
        "output",
        failure=(("is_error", True),),
        unwrap=(content_blocks,),
    ),
    result_row("OpenAI Responses", {"type": "custom_tool_call_output"}, "", "call_id", "output"),
    call_row("OpenAI Responses, custom", {"type": "custom_tool_call"}, "name", "call_id", "{input}"),
    call_row("Semantic Kernel", {"content_type": "function_call"}, "name", "call_id|id", "arguments"),
    result_row("Semantic Kernel", {"content_type": "function_result"}, "name", "call_id|id", "result"),
    call_row(
        "OpenAI Responses, by code",
        {"type": "function_call", "name": str, "caller.caller_id": str},
        "name",
        "call_id",
        "arguments",
        refusal=(("status", "incomplete", UNFINISHED), ("status", "in_progress", UNFINISHED)),
    ),
    call_row(
        "OpenAI Responses, Agent Framework",
        {"type": "function_call", "name": str},
        "name",
        "call_id|callId|id",
        "arguments",
        refusal=(("status", "incomplete", UNFINISHED), ("status", "in_progress", UNFINISHED)),
    ),
    result_row(
        "Agent Framework",
        {"type": "function_result"},
        "name",
        "call_id",
        "result",
        failure=(("exception", None),),
        message="exception",
    ),
    call_row("OpenAI chat, custom", {"type": "custom", "custom.name": str}, "custom.name", "id", "custom.input"),
    call_row("Inspect", {"function": str, "arguments": dict}, "function", "id", "arguments"),
    call_row("AgentDojo", {"function": str, "args": dict}, "function", "id", "args"),
    # ATIF is the trajectory format of Harbor (Terminal-Bench): observations name their call as `source_call_id`.
    call_row("ATIF", {"function_name": str, "arguments": None}, "function_name", "tool_call_id", "arguments"),
    result_row(
        "ATIF", {"source_call_id": str, "content": None}, "", "source_call_id", "content", unwrap=(content_blocks,)
    ),
    *SERVICE_PARTS,
    # Messages API: the assistant asks with `tool_use`, the user answers with `tool_result`, by `tool_use_id`.
    call_row("Anthropic, by code", {"type": "tool_use", "caller.tool_id": str}, "name", "id", "input"),
    call_row("Anthropic", {"type": "tool_use"}, "name", "id", "input"),
    call_row("Anthropic, on the server", {"type": "server_tool_use"}, "name", "id", "input"),
    call_row("Anthropic, by MCP", {"type": "mcp_tool_use"}, "name", "id", "input"),
    result_row(
        "Anthropic",
        {"tool_use_id": str, "content": None},
        "",
        "tool_use_id",
        "content",
        # Content of a tool on the server is one object: its result, or an error with a code.
        failure=(("is_error", True), ("content.error_code", None)),
        message="content.error_code|error",
        unwrap=(content_blocks,),
    ),
    result_row(
        "Anthropic, nothing returned",
        {"type": "tool_result", "tool_use_id": str},
        "",
        "tool_use_id",
        "",
        failure=(("is_error", True),),
    ),
    # `Content.parts`: REST writes camel case, the Python SDK snake case; ids are optional, so order pairs them.
    call_row("Gemini", {"functionCall.name": str}, "functionCall.name", "functionCall.id", "functionCall.args"),
    call_row("Gemini", {"function_call.name": str}, "function_call.name", "function_call.id", "function_call.args"),
    result_row(
        "Gemini",
        {"functionResponse": dict},
        "functionResponse.name",
        "functionResponse.id",
        "functionResponse.response",
        unwrap=(adk_output,),
    ),
    result_row(
        "Gemini",
        {"function_response": dict},
        "function_response.name",
        "function_response.id",
        "function_response.response",
        unwrap=(adk_output,),
    ),
    # Genkit: a block has one key, which says what it is.
    call_row("Genkit", {"toolRequest.name": str}, "toolRequest.name", "toolRequest.ref", "toolRequest.input"),
    result_row(
        "Genkit", {"toolResponse": dict}, "toolResponse.name", "toolResponse.ref", "toolResponse.output", nulls=True
    ),
    # Converse has no type: the key of a block says what it is.
    call_row("Bedrock Converse", {"toolUse.name": str}, "toolUse.name", "toolUse.toolUseId", "toolUse.input"),
    result_row(
        "Bedrock Converse",
        {"toolResult": dict},
        "",
        "toolResult.toolUseId",
        "toolResult.content",
        failure=(("toolResult.status", "error"),),
        unwrap=(converse_blocks,),
    ),
    result_row(
        "Vercel",
        {"type": "tool-result"},
        "toolName",
        "toolCallId",
        "output|result",
        failure=(("isError", True),),
        message="output.reason",
        refusal=(("output.type", "execution-denied", REFUSED),),
        unwrap=(lost_type, typed_value),
    ),
    result_row(
        "Vercel",
        {"type": "tool-error"},
        "toolName",
        "toolCallId",
        "",
        failure=(("error", None),),
        message="error.message|error",
    ),
    result_row(
        "Pi",
        {"role": "toolResult", "toolCallId": str},
        "toolName",
        "toolCallId",
        "content",
        failure=(("isError", True),),
        unwrap=(content_blocks,),
    ),
    call_row(
        "Vercel",
        {"toolName": str, "toolCallId": str},
        "toolName",
        "toolCallId",
        "input|args",
        failure=(("state", "output-error"),),
        message="errorText",
        refusal=(
            ("state", "output-denied", REFUSED),
            ("state", "approval-requested", ASKED_FOR),
            ("state", "approval-responded", ANSWERED),
            ("state", "input-streaming", UNFINISHED),
            ("state", "partial-call", UNFINISHED),
        ),
        output="output|result",
        unwrap=(bare_output,),
    ),
    # `ModelMessagesTypeAdapter`: a `retry-prompt` with the name of a tool is the error that the model was given.
    # Before version 0.0.20 arguments were `{"args_json": …}` or `{"args_dict": …}`.
    call_row(
        "Pydantic AI",
        {"part_kind": "tool-call"},
        "tool_name",
        "tool_call_id",
        "args.args_json|args.args_dict|args",
        nulls=True,
    ),
    call_row("Pydantic AI, built in", {"part_kind": "builtin-tool-call"}, "tool_name", "tool_call_id", "args"),
    result_row(
        "Pydantic AI",
        {"part_kind": "tool-return"},
        "tool_name",
        "tool_call_id",
        "content",
        failure=(("outcome", "retried"), ("outcome", "failed")),
        message="content",
        refusal=(("outcome", "denied", REFUSED),),
        nulls=True,
    ),
    result_row("Pydantic AI, built in", {"part_kind": "builtin-tool-return"}, "tool_name", "tool_call_id", "content"),
    result_row(
        "Pydantic AI, again",
        {"part_kind": "retry-prompt", "tool_name": str},
        "tool_name",
        "tool_call_id",
        "content",
        failure=(("content", None),),
    ),
    result_row(
        "LlamaIndex",
        {"tool_output": dict, "tool_name": str},
        "tool_name",
        "tool_id",
        "tool_output",
        failure=(("tool_output.is_error", True),),
        unwrap=(llamaindex_output,),
    ),
    call_row("LlamaIndex", {"tool_kwargs": None, "tool_name": str}, "tool_name", "tool_id|tool_call_id", "tool_kwargs"),
    result_row(
        "LlamaIndex, messages",
        {"role": "tool", "additional_kwargs.tool_call_id": str},
        "additional_kwargs.name",
        "additional_kwargs.tool_call_id",
        "content|blocks",
        unwrap=(content_blocks,),
    ),
    result_row(
        "Haystack",
        {"tool_call_result": dict},
        "tool_call_result.origin.tool_name",
        "tool_call_result.origin.id",
        "tool_call_result.result",
        failure=(("tool_call_result.error", True),),
        unwrap=(content_blocks,),
    ),
    call_row("Haystack", {"tool_name": str, "arguments": None}, "tool_name", "id", "arguments"),
    result_row(
        "OpenTelemetry",
        {"type": "tool_call_response"},
        "name",
        "id",
        "response|result",
        unwrap=(function_result, converse_blocks, content_blocks, adk_output),
    ),
    result_row(
        "OpenTelemetry, on the server",
        {"type": "server_tool_call_response"},
        "name",
        "id",
        "server_tool_call_response|response",
    ),
    call_row(
        "OpenTelemetry, on the server",
        {"type": "server_tool_call"},
        "name",
        "id",
        "server_tool_call|arguments|args",
    ),
    result_row(
        "LangChain, on the server",
        {"type": "server_tool_result", "tool_call_id": str},
        "",
        "tool_call_id",
        "output",
        failure=(("status", "error"),),
    ),
    # Arguments that LangChain could not parse: no tool is called with them.
    call_row(
        "LangChain, not parsed",
        {"type": "invalid_tool_call", "name": str},
        "name",
        "id",
        "",
        refusal=(("type", None, "its arguments could not be parsed"),),
    ),
    result_row("LangChain, early", {"type": "function", "name": str, "content": None}, "name", "", "content"),
    result_row(
        "LangChain",
        {"type": "tool", "tool_call_id": str},
        "name",
        "tool_call_id",
        "content",
        failure=(("status", "error"),),
        unwrap=(content_blocks,),
    ),
    result_row(
        "AutoGen",
        {"call_id": str, "is_error": None, "content": None},
        "name",
        "call_id",
        "content",
        failure=(("is_error", True),),
    ),
    result_row(
        "SWE-agent", {"role": "tool", "tool_call_ids": list}, "", "tool_call_ids", "content", unwrap=(content_blocks,)
    ),
    result_row(
        "OpenAI chat",
        {"role": "tool", "tool_call_id": str},
        "name|function|tool_name",
        "tool_call_id",
        "content",
        failure=(
            ("status", "error"),
            ("error", None),
            ("is_error", True),
            ("tool_call_error", True),
        ),  # the last is Agno's
        message="error.message|error",
        unwrap=(content_blocks, azure_result),
    ),
    result_row(
        "OpenTelemetry events",
        {"role": "tool", "id": str, "content": _is_no_block},
        "name",
        "id",
        "content",
        failure=(("error", True),),
        unwrap=(converse_blocks, content_blocks),
    ),
    result_row(
        "OpenInference, Anthropic's results",
        {"role": "user", "tool_call_id": str, "content": str},
        "name",
        "tool_call_id",
        "content",
    ),
    result_row(
        "OpenAI chat, without ids",
        {"role": "tool", "content": _is_plain_text},
        "name|tool_name",  # the latter is Ollama's
        "",
        "content",
        failure=(("error", True),),
    ),
    result_row("OpenAI chat, early", {"role": "function", "content": None}, "name", "", "content"),
    # Last: these marks are few, and parts of the formats above have them, too.
    call_row("LangChain", {"name": str, "args": None, "id": None}, "name", "id", "args"),
    call_row("LangChain, without ids", {"name": str, "args": dict}, "name", "", "args"),
    call_row(
        "OpenTelemetry, AutoGen, OpenLLMetry",
        {"name": str, "arguments": None},
        "name",
        "call_id|tool_call_id|id",
        "arguments",
    ),
    call_row("OpenTelemetry, content off", {"type": "tool_call", "name": str}, "name", "id", ""),
    # OpenInference leaves out the attribute of arguments that are empty (Google ADK), or that a limit dropped.
    call_row(
        "OpenInference",
        {"tool_call.function.name": str},
        "tool_call.function.name",
        "tool_call.id",
        "tool_call.function.arguments",
    ),
)
