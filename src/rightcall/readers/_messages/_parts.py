"""Every format of messages: what a requested call and a result look like in it.

A new format is a few new rows. Rows are tried from the top on every part of a message; names with dots lead into
inner objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from .._envelopes import Envelope, adk_output, content_blocks, converse_blocks, llamaindex_output
from .._record import Record
from .._values import NOTHING, PLACEHOLDERS, Unparsable, arguments, is_scrubbed, outcome

Kind = Literal["call", "result"]


class Part(msgspec.Struct, frozen=True):
    """How one format writes a requested call, or a result."""

    format: str
    kind: Kind
    marks: tuple[tuple[str, Any], ...]
    """Keys that must be there, with their values; a type stands for any value of it, None for any at all."""
    name: tuple[str, ...] = ("name",)
    id: tuple[str, ...] = ("id",)
    value: tuple[str, ...] = ()
    """Where the arguments are, or the output."""
    failure: tuple[tuple[str, Any], ...] = ()
    """Keys that say the call failed, with their values; None stands for any that is not empty."""
    message: tuple[str, ...] = ()
    """Where the text of the error is; failing all, the output is it."""
    unwrap: tuple[Envelope, ...] = ()


def typed_value(value: Any, call: Record, attributes: Mapping[str, Any]) -> Any:
    """Vercel's output: `{"type": "json", "value": …}`; one of the error types says that the tool failed."""
    if not isinstance(value, dict) or value.keys() - {"providerOptions"} != {"type", "value"}:
        return value
    if str(value["type"]).startswith("error"):
        call.failed = True
    return content_blocks(outcome(value["value"]), call, attributes)


PARTS = (
    Part("OpenAI chat", "call", (("function.name", str), ("function.arguments", None)), ("function.name",), ("id",), ("function.arguments",)),
    Part("OpenAI chat, early", "call", (("function_call.name", str), ("function_call.arguments", None)), ("function_call.name",), (), ("function_call.arguments",)),
    Part("OpenInference, early", "call", (("function_call_name", str),), ("function_call_name",), (), ("function_call_arguments_json",)),
    Part("OpenAI Responses", "result", (("type", "function_call_output"),), (), ("call_id",), ("output",), unwrap=(content_blocks,)),
    Part("OpenAI Responses", "result", (("type", "custom_tool_call_output"),), (), ("call_id",), ("output",)),
    Part("OpenAI Responses, custom", "call", (("type", "custom_tool_call"),), ("name",), ("call_id",), ("input",)),
    Part("Semantic Kernel", "call", (("content_type", "function_call"),), ("name",), ("call_id", "id"), ("arguments",)),
    Part("Semantic Kernel", "result", (("content_type", "function_result"),), ("name",), ("call_id", "id"), ("result",)),
    Part("OpenAI Responses, Agent Framework", "call", (("type", "function_call"), ("name", str)), ("name",), ("call_id", "id"), ("arguments",)),
    Part(
        "Agent Framework", "result", (("type", "function_result"),), ("name",), ("call_id",), ("result",),
        failure=(("exception", None),), message=("exception",),
    ),
    Part("Anthropic", "call", (("type", "tool_use"),), ("name",), ("id",), ("input",)),
    Part("Anthropic, on the server", "call", (("type", "server_tool_use"),), ("name",), ("id",), ("input",)),
    Part("Anthropic, by MCP", "call", (("type", "mcp_tool_use"),), ("name",), ("id",), ("input",)),
    Part(
        "Anthropic", "result", (("tool_use_id", str), ("content", None)), (), ("tool_use_id",), ("content",),
        failure=(("is_error", True),), unwrap=(content_blocks,),
    ),
    Part("Anthropic, nothing returned", "result", (("type", "tool_result"),), (), ("tool_use_id",), (), failure=(("is_error", True),)),
    Part("Gemini", "call", (("functionCall.name", str),), ("functionCall.name",), ("functionCall.id",), ("functionCall.args",)),
    Part("Gemini", "call", (("function_call.name", str),), ("function_call.name",), ("function_call.id",), ("function_call.args",)),
    Part("Gemini", "result", (("functionResponse", dict),), ("functionResponse.name",), ("functionResponse.id",), ("functionResponse.response",), unwrap=(adk_output,)),
    Part("Gemini", "result", (("function_response", dict),), ("function_response.name",), ("function_response.id",), ("function_response.response",), unwrap=(adk_output,)),
    Part("Bedrock Converse", "call", (("toolUse.name", str),), ("toolUse.name",), ("toolUse.toolUseId",), ("toolUse.input",)),
    Part(
        "Bedrock Converse", "result", (("toolResult", dict),), (), ("toolResult.toolUseId",), ("toolResult.content",),
        failure=(("toolResult.status", "error"),), unwrap=(converse_blocks,),
    ),
    Part(
        "Vercel", "result", (("type", "tool-result"),), ("toolName",), ("toolCallId",), ("output", "result"),
        failure=(("isError", True),), unwrap=(typed_value,),
    ),
    Part("Vercel", "result", (("type", "tool-error"),), ("toolName",), ("toolCallId",), ("error",), failure=(("error", None),)),
    Part("Vercel", "call", (("toolName", str), ("toolCallId", str)), ("toolName",), ("toolCallId",), ("input", "args")),
    Part("Pydantic AI", "call", (("part_kind", "tool-call"),), ("tool_name",), ("tool_call_id",), ("args",)),
    Part("Pydantic AI, built in", "call", (("part_kind", "builtin-tool-call"),), ("tool_name",), ("tool_call_id",), ("args",)),
    Part("Pydantic AI", "result", (("part_kind", "tool-return"),), ("tool_name",), ("tool_call_id",), ("content",), failure=(("outcome", "retried"), ("outcome", "failed"))),
    Part("Pydantic AI, built in", "result", (("part_kind", "builtin-tool-return"),), ("tool_name",), ("tool_call_id",), ("content",)),
    Part("Pydantic AI, again", "result", (("part_kind", "retry-prompt"), ("tool_name", str)), ("tool_name",), ("tool_call_id",), ("content",), failure=(("content", None),)),
    Part(
        "LlamaIndex", "result", (("tool_output", dict), ("tool_name", str)), ("tool_name",), ("tool_id",), ("tool_output",),
        failure=(("tool_output.is_error", True),), unwrap=(llamaindex_output,),
    ),
    Part("LlamaIndex", "call", (("tool_kwargs", dict), ("tool_name", str)), ("tool_name",), ("tool_id",), ("tool_kwargs",)),
    Part(
        "Haystack", "result", (("tool_call_result", dict),), ("tool_call_result.origin.tool_name",), ("tool_call_result.origin.id",), ("tool_call_result.result",),
        failure=(("tool_call_result.error", True),), unwrap=(content_blocks,),
    ),
    Part("Haystack", "call", (("tool_name", str), ("arguments", None)), ("tool_name",), ("id",), ("arguments",)),
    Part("OpenTelemetry", "result", (("type", "tool_call_response"),), ("name",), ("id",), ("response", "result"), unwrap=(converse_blocks, content_blocks, adk_output)),
    Part("OpenTelemetry, on the server", "result", (("type", "server_tool_call_response"),), ("name",), ("id",), ("server_tool_call_response", "response")),
    Part("OpenTelemetry, on the server", "call", (("type", "server_tool_call"),), ("name",), ("id",), ("server_tool_call", "arguments")),
    Part(
        "LangChain", "result", (("type", "tool"), ("tool_call_id", str)), ("name",), ("tool_call_id",), ("content",),
        failure=(("status", "error"),), unwrap=(content_blocks,),
    ),
    Part(
        "AutoGen", "result", (("call_id", str), ("is_error", None), ("content", None)), ("name",), ("call_id",), ("content",),
        failure=(("is_error", True),),
    ),
    Part("OpenAI chat", "result", (("role", "tool"), ("tool_call_id", str)), ("name",), ("tool_call_id",), ("content",), failure=(("status", "error"),), unwrap=(content_blocks,)),
    Part("OpenTelemetry events", "result", (("role", "tool"), ("id", str), ("content", (str, dict))), ("name",), ("id",), ("content",), unwrap=(converse_blocks,)),
    Part("OpenAI chat, without ids", "result", (("role", "tool"), ("content", str)), ("name",), (), ("content",)),
    Part("OpenAI chat, early", "result", (("role", "function"), ("content", None)), ("name",), (), ("content",)),
    Part("LangChain", "call", (("name", str), ("args", None), ("id", None)), ("name",), ("id",), ("args",)),
    Part("OpenTelemetry, AutoGen, OpenLLMetry", "call", (("name", str), ("arguments", None)), ("name",), ("id", "call_id"), ("arguments",)),
    Part("OpenTelemetry, content off", "call", (("type", "tool_call"), ("name", str)), ("name",), ("id",), ()),
)  # fmt: skip


def part_of(document: Mapping[str, Any]) -> Part | None:
    """The first row a part of a message fits."""
    for part in PARTS:
        if all(_fits(_inside(document, key), wanted) for key, wanted in part.marks):
            return part
    return None


def read_part(document: Mapping[str, Any], part: Part) -> Record | None:
    """What a part says: a record of a requested call, or of a result. None if it is unusable."""
    name = _first(document, part.name)
    if part.kind == "call" and not (isinstance(name, str) and name):
        return None
    record = Record(name.strip("'\"") if isinstance(name, str) else "")
    call_id = _first(document, part.id)
    record.call_id = call_id if isinstance(call_id, str) and call_id not in PLACEHOLDERS else None
    held = _first(document, part.value) if part.value else NOTHING
    if part.kind == "call":
        _take_args(record, held)
    else:
        _take_output(record, document, part, held)
    return record


def _take_args(record: Record, held: Any) -> None:
    if held is NOTHING or held is None:
        return
    try:
        # A model that calls a tool without arguments may write an empty text.
        value = {} if held == "" else arguments(held)
    except Unparsable:
        record.unparsable = True
        return
    if isinstance(value, dict) and not is_scrubbed(value):
        record.args = value


def _take_output(record: Record, document: Mapping[str, Any], part: Part, held: Any) -> None:
    record.failed = any(_failed(_inside(document, key), wanted) for key, wanted in part.failure)
    if held is not NOTHING:
        value = outcome(held)
        for unwrap in part.unwrap:
            value = unwrap(value, record, {})
        if value is not NOTHING and not is_scrubbed(value):
            record.output = value
    if record.failed and not record.error:
        message = _first(document, part.message)
        record.error = message if isinstance(message, str) else _as_text(record.output)


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _first(document: Mapping[str, Any], paths: tuple[str, ...]) -> Any:
    for path in paths:
        held = _inside(document, path)
        if held is not NOTHING and held is not None:
            return held
    return NOTHING


def _inside(document: Any, path: str) -> Any:
    if "." not in path:
        return document.get(path, NOTHING)
    for step in path.split("."):
        if not isinstance(document, Mapping):
            return NOTHING
        document = document.get(step, NOTHING)
    return document


def _fits(held: Any, wanted: Any) -> bool:
    if wanted is None:
        return held is not NOTHING
    return isinstance(held, wanted) if isinstance(wanted, (type, tuple)) else bool(held == wanted)


def _failed(held: Any, wanted: Any) -> bool:
    return bool(held) and held is not NOTHING if wanted is None else bool(held == wanted)
