"""Unwrap arguments and outputs from the envelopes of frameworks, and recognise error messages and deferred calls.

Each function knows one envelope, returns any other value unchanged, and may also set fields of the call, such as its
id or error. The table of conventions lists the functions of each convention: in another one the same object may be what
the tool returned. The value of an envelope with a part missing is `NOTHING`: the remaining part is not the value.

Most values are objects in no envelope, and asking several functions about each would be a third of the time of reading
a call. So a function is marked with its signs: an object without any of these keys is not in its envelope.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.spans import NOTHING, CallRecord, Span, UnparsableError, arguments, outcome

Envelope = Callable[[Any, CallRecord, Mapping[str, Any]], Any]

_signs: dict[Envelope, frozenset[str]] = {}


def _signed(*keys: str) -> Callable[[Envelope], Envelope]:
    """Mark a function with the signs of its envelope: it returns an object that has keys, but none of these, as it is.

    Without any, its envelope is not an object, or an empty one.
    """

    def mark(envelope: Envelope) -> Envelope:
        _signs[envelope] = frozenset(keys)
        return envelope

    return mark


def unwrapping(*envelopes: Envelope) -> Envelope:
    """Return what takes a value out of these envelopes, one after the other."""
    if len(envelopes) == 1:
        return envelopes[0]
    signs = frozenset().union(*[_signs[envelope] for envelope in envelopes])

    def unwrap(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
        if value.__class__ is dict and value and signs.isdisjoint(value):
            return value
        for envelope in envelopes:
            value = envelope(value, call, attributes)
        return value

    return unwrap


NO_ENVELOPE = unwrapping()


_WRAPPERS = lazy_pattern(r"instrumentation|^strands\.|^gcp\.vertex\.agent|^mlflow\.|^com\.anthropic\.")
"""Scopes of instrumentations that wrap values. Other tracers, ours among them, write them as they are."""
_REPR = lazy_pattern(r"content=(?P<quote>['\"])(?P<text>.*?)(?P=quote) (?:name|tool_call_id|artifact|status|id)=", re.S)
_REPR_ID = lazy_pattern(r"tool_call_id='([^']*)'")
_CALLBACK = frozenset({"input_str", "tags", "metadata", "inputs", "kwargs"})
"""Keys of what OpenLLMetry stores of LangChain's callback for the start of a tool."""
_CALLBACK_WORDS = frozenset({"tags", "color", "name", "observation_prefix", "llm_prefix"})
"""Keys of the `kwargs` that LangChain's callback for the end of a tool gets in addition to the output."""
_TOOL_RESULT = frozenset({"tool_kwargs", "tool_id", "tool_output", "return_direct"})
"""Fields of LlamaIndex's ToolCallResult, which names the tool as well."""
_COMMAND = frozenset({"graph", "update", "resume", "goto"})
"""Fields of LangGraph's `Command`."""
_DUMPED = frozenset({"lc", "type", "id", "kwargs"})
"""Keys of an object that LangChain dumped."""
_OF_MESSAGES = frozenset({"additional_kwargs", "response_metadata", "tool_call_id", "artifact"})
"""Fields of LangChain's messages; every message has some of them."""
_SIGNS_OF_INPUT = frozenset({"args", "input_str"})
_SIGNS_OF_OUTPUT = frozenset({"output", "response", "raw_output", "lc", "type", "data", *_OF_MESSAGES})
"""An object without any of these keys is not an envelope of another convention."""
_SIGNS_OF_MESSAGE = frozenset({"output", "kwargs", "lc", "type", "data", *_OF_MESSAGES})
"""An object without any of these keys is not a message of LangChain, not even an incomplete one."""
_SIGNS_OF_ADK = frozenset({"name", "response", "isError", "error", "result", "response_type"})
"""An object without any of these keys is in no envelope of Google ADK."""
_KEYS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
_WRITTEN_OBJECT = lazy_pattern(r"<[\w.]+ object at 0x[0-9a-f]+>\Z", re.A)
"""The `repr` of a Python object."""
ASKED_FOR = "approval was asked for"
"""The reason for withholding a call that may still be made."""
REFUSED = "approval was refused"
REFUSED_BY_USER = "refused by the user"
BY_GUARDRAIL = "refused by a guardrail"
ELSEWHERE = "deferred: the tool is run elsewhere"
DEFERRALS = {
    "pydantic_ai.exceptions.ApprovalRequired": ASKED_FOR,
    "pydantic_ai.exceptions.CallDeferred": ELSEWHERE,
    "langgraph.errors.GraphInterrupt": ASKED_FOR,
    "workflows.runtime.types.results.WaitingForEvent": ASKED_FOR,
}
"""Exceptions by which a tool defers its call, and the reasons.

LangGraph and LlamaIndex call the tool again once they have the answer.
"""
_DEFERRED = {"calls": ELSEWHERE, "approvals": ASKED_FOR}
_OF_DEFERRED = frozenset({"tool_name", "tool_call_id"})
FOR_APPROVAL = "'action_requests': ["
"""What an interruption has that asks a person to approve calls (LangChain's `HumanInTheLoopMiddleware`)."""
_INTERRUPTION = "GraphInterrupt"
_INTERRUPTED = ("(Interrupt(value=", f"{_INTERRUPTION}((Interrupt(value=")
"""How a `GraphInterrupt` begins as text, which is all that Langfuse and LangSmith record of it."""


def interruption_in(span: Span) -> str:
    """Return the text of the exception with which LangGraph interrupted a span; empty if it did not."""
    raised = [event.attributes for event in span.events or () if event.name == "exception"]
    told = [span.description, span.attributes.get("langfuse.observation.status_message")]
    told += [each.get("exception.message") for each in raised]
    found = next((text for text in told if isinstance(text, str) and text.startswith(_INTERRUPTED)), "")
    is_named = any([str(each.get("exception.type")).endswith(f".{_INTERRUPTION}") for each in raised])
    return found or (_INTERRUPTION if is_named else "")


def deferred_in(output: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of Pydantic AI's `DeferredToolRequests`, with which a run ends to wait, and why each waits."""
    if output.__class__ is not dict or not _DEFERRED.keys() <= output.keys():
        return []
    listed = [(reason, output[key]) for key, reason in _DEFERRED.items()]
    told = [(reason, call) for reason, calls in listed if isinstance(calls, list) for call in calls]
    return [(reason, call) for reason, call in told if isinstance(call, dict) and call.keys() >= _OF_DEFERRED]


@_signed(*_CALLBACK)
def callback_input(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap LangChain's callback as OpenLLMetry stores it: `inputs`, else `input_str`; the id is in `kwargs`."""
    is_left = isinstance(value, dict) and value.keys() <= _CALLBACK and len(value) > 2
    if not is_left and not (isinstance(value, dict) and "input_str" in value):
        return value
    kwargs = value.get("kwargs")
    if isinstance(kwargs, dict) and isinstance(kwargs.get("tool_call_id"), str):
        call.call_id = call.call_id or kwargs["tool_call_id"]
    inputs = value.get("inputs")
    if isinstance(inputs, dict):
        return inputs
    try:
        return arguments(value.get("input_str", NOTHING))
    except UnparsableError:
        return NOTHING


@_signed("tool_name")
def mcp_input(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the arguments of OpenLLMetry's MCP client: `{"tool_name": …, "arguments": …}`."""
    if isinstance(value, dict) and "tool_name" in value and "arguments" in value:
        return value["arguments"]
    return value


def haystack_question(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the arguments in Haystack's question to a person: `{"tool_name": …, "tool_params": …, …}`."""
    return value.get("tool_params", NOTHING) if isinstance(value, dict) else value


@_signed("graph", *_SIGNS_OF_MESSAGE)
def tool_message(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap LangChain's ToolMessage: dumped, constructed, flat, or as its `repr`; alone or under `output`."""
    if value.__class__ is dict and value.keys() == _COMMAND:
        return _in_command(value, call, attributes)
    if value == {} and call.span is not None and "langchain" in call.span.scope:
        return NOTHING  # LangChain's tools return a message, or an object under `output`
    if isinstance(value, dict) and value.keys() <= {"output", "kwargs"} and value:
        return _callback_output(value, call, attributes)
    if isinstance(value, str):
        return _written_tool_message(value, call)
    message = _message_fields(value)
    if message is None:
        return NOTHING if _is_left_of_message(value) else value
    call.call_id = call.call_id or _text(message.get("tool_call_id"))
    content = outcome(message.get("content", NOTHING))
    if message.get("status") == "error":
        call.failed = True
        call.error = call.error or _text(message.get("content"))
    return content_blocks(content, call, attributes)


def _in_command(value: dict[str, Any], call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Return the only message in the `Command` by which a tool updates the state of its graph; it is for the model."""
    if value["graph"] is not None or not isinstance(value["update"], dict):
        return value
    messages = value["update"].get("messages")
    told = [_message_fields(each) for each in messages] if isinstance(messages, list) else []
    results = [each for each in told if each is not None and "tool_call_id" in each]
    return tool_message(results[0], call, attributes) if len(results) == 1 else value


def _callback_output(value: dict[str, Any], call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Return the output in `{"output": …, "kwargs": {…}}`, or in `{"output": …}` if it is a message."""
    if "output" not in value:
        words = value["kwargs"]
        return NOTHING if isinstance(words, dict) and not _CALLBACK_WORDS.isdisjoint(words) else value
    inner = tool_message(value["output"], call, attributes)
    return inner if inner is not value["output"] or "kwargs" in value else value


@_signed("input")
def langsmith_input(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap LangSmith's inputs of a LangChain tool: `{"input": …}` around the arguments as text."""
    if not isinstance(value, dict) or value.keys() != {"input"}:
        return value
    try:
        inner = arguments(value["input"])
    except UnparsableError:
        return value
    return inner if isinstance(inner, dict) else value


@_signed("output")
def langsmith_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap LangSmith's run outputs: `{"output": …}`, or `{}` if the tool raised."""
    if value == {}:
        return NOTHING
    if isinstance(value, dict) and value.keys() == {"output"}:
        return tool_message(value["output"], call, attributes)
    return value


@_signed(*_TOOL_RESULT, "raw_output", "raw_input")
def llamaindex_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap LlamaIndex's ToolOutput, and the ToolCallResult around it, which also has the arguments and the id."""
    if not isinstance(value, dict):
        return value
    if len(value.keys() & _TOOL_RESULT) > 1:
        call.call_id = call.call_id or _text(value.get("tool_id"))
        if call.args is NOTHING and isinstance(value.get("tool_kwargs"), dict):
            call.args = value["tool_kwargs"]
        value = value.get("tool_output", NOTHING)
    if not isinstance(value, dict) or "raw_output" not in value:
        return NOTHING if isinstance(value, dict) and {"raw_input", "is_error"} <= value.keys() else value
    given = value.get("raw_input")
    if call.args is NOTHING and isinstance(given, dict) and given.keys() == {"args", "kwargs"}:
        call.args = python_call(given, call, attributes)
    if value.get("is_error"):
        call.failed = True
        call.error = call.error or _text(value["raw_output"]) or _text(value.get("content"))
    return outcome(value["raw_output"])


@_signed()
def adk_content(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Leave out the `{}` that ADK writes in place of both arguments and response, if it is told to record no content.

    A call without arguments has a response with a result.
    """
    written = [attributes.get(f"gcp.vertex.agent.{name}") for name in ("tool_call_args", "tool_response")]
    return NOTHING if written == ["{}", "{}"] else value


_HANDLED = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"
"""The `response_type` of what ADK's plugin for retries returns instead of an exception."""
_UNSPECIFIED = "<not specified>"
"""What ADK 1 writes as the result of a tool that raised."""


@_signed(*_SIGNS_OF_ADK)
def adk_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap outputs of Google ADK: `{"id", "name", "response"}` around one of the following.

    `{"result": x}`, where x is not an object; `{"error": …}`; an exception that a plugin handled; or the result of an
    MCP server.
    """
    if isinstance(value, dict) and _is_function_response(value, call):
        value = value.get("response", NOTHING)
    if not isinstance(value, dict):
        return value
    if "isError" in value:
        return mcp_result(value, call, attributes)
    if value.keys() == {"error"} or value.get("response_type") == _HANDLED:
        call.failed = True
        call.error = call.error or _text(value.get("error", value.get("error_details")))
    # ADK wraps what is not an object, because Gemini takes only objects as responses of functions.
    if value.keys() == {"result"} and not isinstance(value["result"], dict):
        return NOTHING if value["result"] == _UNSPECIFIED else outcome(value["result"])
    return value


def _is_function_response(value: dict[str, Any], call: CallRecord) -> bool:
    """Whether an object is Gemini's response of a function. If a key is missing, it must name this call."""
    if not value.keys() <= {"id", "name", "response"} or len(value) < 2:
        return False
    return len(value) == 3 or call.call_id == value.get("id", NOTHING) or call.name == value.get("name", NOTHING)


@_signed(*_SIGNS_OF_ADK)
def adk_unmarked(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap Google ADK's output in a span without ADK's marks, recognised by its scope or by the type of its tool."""
    if not isinstance(value, dict):
        return value
    kind = attributes.get("gen_ai.tool.type")  # of OpenTelemetry: `function`, `extension`, `datastore`
    is_class = isinstance(kind, str) and kind.endswith("Tool")
    is_scope = call.span is not None and call.span.scope.endswith(("gcp.vertex.agent", ".google_adk"))
    return adk_output(value, call, attributes) if is_class or is_scope else value


@_signed("result")
def mcp_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the output of OpenLLMetry's MCP client: `{"result": …, "is_error": true}` around the server's text."""
    if not isinstance(value, dict) or "result" not in value or not value.keys() <= {"result", "is_error"}:
        return value
    if '"tool_name"' not in str(attributes.get("traceloop.entity.input", "")):
        return value
    call.failed = call.failed or value.get("is_error") is True
    return outcome(value["result"])


@_signed("isError")
def mcp_result(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap a result of MCP: blocks of content, and whether it is an error."""
    # MCP specification, `CallToolResult`: errors of the tool are results with `isError`, not errors of the protocol.
    if isinstance(value, dict) and isinstance(value.get("content"), list) and "isError" in value:
        call.failed = call.failed or value["isError"] is True
        value = value["content"]
    return content_blocks(value, call, attributes)


@_signed()
def logfire_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Leave out the `null` that Logfire writes where a span of OpenAI Agents ended without an output."""
    return NOTHING if value is None or value == "null" else value


@_signed("type")
def openai_agents_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap OpenAI Agents' `ToolOutputText`, which tools of MCP servers return; the model gets its text."""
    is_theirs = call.span is not None and (call.span.scope or call.convention).endswith(
        ("openai_agents", "openai-agents")
    )
    is_text = is_theirs and value.__class__ is dict and value.keys() == {"type", "text"} and _is_text_block(value)
    return outcome(value["text"]) if is_text else value


@_signed("return_value")
def pydantic_return(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap Pydantic AI's `ToolReturn`: the model gets its `return_value` as the result."""
    is_theirs = value.__class__ is dict and value.get("kind") == "tool-return" and "return_value" in value
    return outcome(value["return_value"]) if is_theirs else value


@_signed()
def content_blocks(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap blocks `{"type": "text", "text": …}`, as in Anthropic and MCP; a single block becomes its text."""
    return _unblocked(value, _is_text_block)


@_signed()
def converse_blocks(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap blocks `{"json": …}` and `{"text": …}`, as in Bedrock's Converse and Strands."""
    return _unblocked(value, _is_converse_block)


@_signed("output")
def genkit_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the output of Genkit's `tool.v2`, an object that has parts such as images beside it."""
    return value["output"] if value.__class__ is dict and "output" in value else value


@_signed("content", *_SIGNS_OF_OUTPUT)
def uipath_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap an output of UiPath: the `content` of an object that has one. Envelopes of frameworks are dropped."""
    if value.__class__ is dict and "content" in value:
        content = value["content"]
        value = outcome(content, keeps_quotes=True) if content.__class__ is str else content
    is_plain = value.__class__ is dict and _SIGNS_OF_OUTPUT.isdisjoint(value)
    return value if is_plain else foreign_output(value, call, attributes)


@_signed(*_SIGNS_OF_INPUT)
def foreign_input(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Drop arguments in the envelope of a framework whose convention the span does not follow.

    A span without the mark of its convention is read by another one, which would take the envelope for arguments.
    """
    if not isinstance(value, dict) or _SIGNS_OF_INPUT.isdisjoint(value) or not _may_be_wrapped(call):
        return value
    is_call = isinstance(value.get("args"), list) and isinstance(value.get("kwargs"), dict)
    return NOTHING if is_call or {"input_str", "tags"} <= value.keys() else value


@_signed(*_SIGNS_OF_OUTPUT)
def foreign_output(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Drop outputs in the envelope of a framework whose convention the span does not follow."""
    # A shortcut: most outputs are objects without these keys, and nothing below would match.
    if (value.__class__ is dict and _SIGNS_OF_OUTPUT.isdisjoint(value)) or not _may_be_wrapped(call):
        return value
    inner = value["output"] if isinstance(value, dict) and value.keys() == {"output"} else value
    if isinstance(inner, str):
        return NOTHING if _REPR.match(inner) else value
    if isinstance(inner, list):
        return NOTHING if inner and all(map(_is_converse_block, inner)) else value
    if not isinstance(inner, dict):
        return value
    is_adk = inner.keys() == {"id", "name", "response"} and inner["name"] == call.name
    is_message = _message_fields(inner) is not None or _is_left_of_message(inner)
    return NOTHING if is_adk or "raw_output" in inner or is_message else value


def _may_be_wrapped(call: CallRecord) -> bool:
    """Whether the span may be of an instrumentation that wraps values, by its scope or because it has none."""
    scope = call.span.scope if call.span is not None else ""
    return not scope or _WRAPPERS.search(scope) is not None


def _written_tool_message(text: str, call: CallRecord) -> Any:
    found = _REPR.match(text)
    if not found:
        return text
    call_id = _REPR_ID.search(text, found.end() - 20)
    call.call_id = call.call_id or (call_id.group(1) if call_id else None)
    if "status='error'" in text[found.end("text") :]:
        call.failed = True
    quote = found["quote"]
    try:
        return outcome(arguments(f"{quote}{found['text']}{quote}"))
    except UnparsableError:
        return outcome(found["text"])


def _message_fields(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, dict):
        return None
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), dict):
        names = value.get("id")
        held: Mapping[str, Any] = value["kwargs"]
        return held if isinstance(names, list) and "ToolMessage" in names else None
    if value.get("type") != "tool":
        return None
    data: Mapping[str, Any] | None = value.get("data")
    if isinstance(data, dict):
        return data
    return value if "tool_call_id" in value and "content" in value else None


def _is_left_of_message(value: Any) -> bool:
    """Whether a value is an incomplete message of LangChain, or another dumped object of it that is incomplete."""
    if value.__class__ is not dict:
        return False
    keys, kind = value.keys(), value.get("type")
    if "lc" in keys or kind == "constructor":
        return kind != "not_implemented" and not keys >= _DUMPED
    if kind == "tool":
        return len(keys) == 1 or not _OF_MESSAGES.isdisjoint(keys)
    return "type" not in keys and (_is_of_message(value) or _is_of_message(value.get("data")))


def _is_of_message(value: Any) -> bool:
    return value.__class__ is dict and len(_OF_MESSAGES & value.keys()) > 1


def _unblocked(value: Any, is_block: Callable[[Any], bool]) -> Any:
    if not isinstance(value, list):
        return value
    told = [block for block in value if _is_for_model(block)] or value
    if not told or not all(is_block(block) for block in told):
        return value
    held = [block["json"] if "json" in block else outcome(block.get("text", block.get("content"))) for block in told]
    return held[0] if len(held) == 1 else held


def _is_for_model(block: Any) -> bool:
    """Whether a block is for the model. By the annotations of MCP, it may be only for the user."""
    annotations = block.get("annotations") if isinstance(block, dict) else None
    audience = annotations.get("audience") if isinstance(annotations, dict) else None
    return not isinstance(audience, list) or not audience or "assistant" in audience


_TEXT_BLOCKS = ("text", "input_text", "output_text")  # the latter two in OpenAI's Responses


def _is_text_block(block: Any) -> bool:
    # LlamaIndex names the type of a block `block_type`; AgentDojo names its text `content`.
    if not isinstance(block, dict):
        return False
    if not isinstance(block.get("content" if block.keys() == {"type", "content"} else "text"), str):
        return False
    return block.get("type") in _TEXT_BLOCKS or block.get("block_type") == "text"


def _is_converse_block(block: Any) -> bool:
    return isinstance(block, dict) and (block.keys() == {"json"} or block.keys() == {"text"})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# What frameworks write for the model when a tool raises, where the span does not show it. The phrases depend on their
# versions: LangGraph's ToolNode ("Error: … Please fix your mistakes."), Pydantic AI ("Fix the errors and try again.",
# "Unknown tool name: 'x'. Available tools: …"), OpenAI Agents ("An error occurred while running the tool"), LlamaIndex
# ("Tool x not found. Please select a tool that is available."), CrewAI ("Tool not found"), Agno ("Error while decoding
# function arguments: …").
_PHRASES = lazy_pattern(
    r"\s*(?:"
    r"Error: "
    r"|Error (?:executing|calling|running|invoking) tool|Error while decoding function arguments: "
    r"|An error occurred while running the tool"
    r"|Tool execution failed"
    r"|Failed to (?:execute|invoke|call) tool"
    r"|Tool '[^']*' (?:not found|does not exist|timed out after \S{1,30} seconds\.)"
    r"|Tool \S{1,200} not found\. Please select a tool\b"
    r"|Tool not found\s*\Z"
    r"|Unknown tool name: '"
    r"|(?:Error|Exception) in tool"
    r"|ToolException\b"
    r"|Traceback \(most recent call last\)"
    r")"
)
_ENDINGS = ("Fix the errors and try again.", "Please fix your mistakes.")


def reads_like_error(output: str) -> bool:
    """Whether an output reads like the error text that a framework writes for a tool that raised."""
    return _PHRASES.match(output) is not None or output.rstrip().endswith(_ENDINGS)


@_signed(*_KEYS)
def python_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the arguments of a Python call, `{"args": […], "kwargs": {…}}`.

    Positional arguments get their names from the order of the tool's parameters, if the span has them. Otherwise the
    arguments are not known.
    """
    if not isinstance(value, dict) or not value or not value.keys() <= _KEYS:
        return value
    positional, named = value.get("args", NOTHING), value.get("kwargs", NOTHING)
    if positional is NOTHING or named is NOTHING:
        return NOTHING
    if not isinstance(positional, list) or not isinstance(named, dict):
        return value
    if not positional:
        return named
    # JSON objects have no order, but their text does, and producers write parameters in the order of the function.
    names = _parameter_names(attributes)
    if len(names) < len(positional):
        return NOTHING
    return {**dict(zip(names, positional, strict=False)), **named}


@_signed(*_KEYS)
def smolagents_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the arguments of a call of smolagents: `{"args", "kwargs", "sanitize_inputs_outputs"}`."""
    is_of_smolagents = call.span is not None and call.span.scope.endswith("smolagents")
    if isinstance(value, dict) and ("sanitize_inputs_outputs" in value or is_of_smolagents):
        return python_call(value, call, attributes)
    return value


@_signed("kwargs")
def dspy_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the arguments of DSPy's `Tool.__call__`, which takes them only by name: `{"kwargs": {…}}`."""
    if is_dspy(call.span) and isinstance(value, dict) and value.keys() == {"kwargs"}:
        return value["kwargs"]
    return value


def is_dspy(span: Span | None) -> bool:
    """Whether a span is of OpenInference's DSPy, where the tool's name is only in the span's name."""
    return span is not None and span.scope.endswith(".dspy")


@_signed(*_KEYS)
def llamaindex_call(value: Any, call: CallRecord, attributes: Mapping[str, Any]) -> Any:
    """Unwrap the arguments of LlamaIndex's `FunctionTool.acall`, recorded by OpenInference under `kwargs` and `args`.

    Without `args`, they are complete if `kwargs` has the first parameter of the tool, which is the first of `args`. The
    context of the workflow is not an argument: LlamaIndex passes it to tools that have a parameter for it, which is not
    in the schema for the model.
    """
    if not call.span or not call.span.name.endswith(("Tool.call", "Tool.acall", "Tool.__call__")):
        return value
    named = value.get("kwargs") if isinstance(value, dict) else None
    names = _parameter_names(attributes) if isinstance(named, dict) else []
    if not isinstance(named, dict) or not names:
        return python_call(value, call, attributes)
    told = {key: held for key, held in named.items() if key in names or not _is_object(held)}
    if value.keys() == {"kwargs"} and names[0] in told:
        return told
    return python_call({**value, "kwargs": told}, call, attributes)


def _is_object(value: Any) -> bool:
    return isinstance(value, str) and _WRITTEN_OBJECT.match(value) is not None


def _parameter_names(attributes: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters of a tool, in the order of its schema."""
    try:
        parameters = arguments(attributes.get("tool.parameters"))
    except UnparsableError:
        return []
    if not isinstance(parameters, dict):
        return []
    properties = parameters.get("properties")
    return list(properties if isinstance(properties, dict) else parameters)
