"""The table of conventions for tool calls in spans: which attributes mark a call, and where its fields are.

A new convention is a new row. Rows are tried from the top, so rows with more marks come first. A row with `call=False`
means that a span with these marks is not a call, even if a row below matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.reading.spans import Span

from ._envelopes import (
    NO_ENVELOPE,
    Envelope,
    adk_content,
    adk_output,
    adk_unmarked,
    callback_input,
    content_blocks,
    converse_blocks,
    dspy_call,
    foreign_input,
    foreign_output,
    genkit_output,
    haystack_question,
    langsmith_input,
    langsmith_output,
    llamaindex_call,
    llamaindex_output,
    logfire_output,
    mcp_input,
    mcp_output,
    mcp_result,
    openai_agents_output,
    pydantic_return,
    python_call,
    smolagents_call,
    tool_message,
    uipath_output,
    unwrapping,
)

Marks = tuple[tuple[str, str | None], ...]


class Convention(msgspec.Struct, frozen=True):
    """One way to record a tool call as a span."""

    name: str
    marks: Marks
    """Attributes that must be present, with their values; None for any value that is not empty."""
    call: bool = True
    tool: tuple[str, ...] = ()
    """Attributes with the tool's name, best first; without any, the span's name has it."""
    call_id: tuple[str, ...] = ()
    tool_id: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    args_event: tuple[str, str] | None = None
    """The event and its attribute with the arguments, if they are not in attributes of the span."""
    output_event: tuple[str, str] | None = None
    failure: Marks = ()
    """Attributes, with their values, which show that the call failed, whatever the status of the span."""
    message: tuple[str, ...] = ()
    """Attributes with the message of the error."""
    unwrap_args: Envelope = NO_ENVELOPE
    unwrap_output: Envelope = NO_ENVELOPE
    unwrap_said: tuple[Envelope, ...] = ()
    """Envelopes of outputs in messages."""
    encoded: bool = False
    """Whether outputs are always JSON, so that `21.5` is a number and `"21.5"` a string."""
    keeps_quotes: bool = False
    """Whether an output in text is used unchanged, even in quotes."""
    setting: str = ""
    """The setting that makes producers record arguments and outputs; shown in a warning if they are missing."""
    decision: str = ""
    """The attribute with a person's decision, if the span records the question whether the call may be made."""
    dialect: str = ""
    """A name shared by conventions that one instrumentation may mix; by default the convention's own name."""


SPAN_NAMES = ("execute_tool ", "tools/call ", "Tool: ", "anthropic.custom_tool_use ", "running tool: ")
"""Prefixes of the tool's name in names of spans."""

# OpenTelemetry GenAI semantic conventions, "Execute tool span": the span is named `execute_tool {tool}`.
EXECUTE = ("gen_ai.operation.name", "execute_tool")
"""The attribute that marks a span as a call, with its value."""
MERGED = "(merged)"
"""The tool's name in the span that ADK writes for the merged responses of parallel calls."""

# smolagents answers by calling `final_answer`, Pydantic AI by calling its output tool, `final_result`, ADK by calling
# `set_model_response` where it has an output schema.
ANSWERS = frozenset({"final_answer", "final_result", "set_model_response"})
"""Names of calls by which agents answer."""
# To a model a hand-off is a tool: `transfer_to_…` in OpenAI Agents, AutoGen and LangGraph, `transfer_back_to_…` in
# LangGraph, `handoff_to_…` in Microsoft's Agent Framework and Strands.
HANDOFFS = ("transfer_to_", "transfer_back_to_", "handoff_to_")
"""Prefixes of the names of hand-offs."""

_STATUS = (("gen_ai.tool.status", "error"), ("tool.status", "error"))
_ADK = (
    ("gcp.vertex.agent.event_id", None),
    ("gen_ai.tool.type", "functiontool"),
    ("gen_ai.system", "gcp.vertex.agent"),
)
_STRANDS = (("gen_ai.system", "strands-agents"), ("gen_ai.provider.name", "strands-agents"))
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

GEN_AI = Convention(
    "gen_ai",
    marks=(EXECUTE,),
    tool=("gen_ai.tool.name", "tool.name"),
    call_id=("gen_ai.tool.call.id", "tool_call_id"),
    args=(
        "gen_ai.tool.call.arguments",
        "tool_arguments",
        "gen_ai.tool.arguments",
        "gen_ai.tool.args",
        "gen_ai.tool.input",
        "input.value",
    ),
    output=(
        "gen_ai.tool.call.result",
        "tool_response",
        "gen_ai.tool.result",
        "gen_ai.tool.output",
        "gen_ai.output",
        "output.value",
    ),
    failure=_STATUS,
    unwrap_output=unwrapping(adk_unmarked, pydantic_return, tool_message, content_blocks, foreign_output),
    setting=f"{_CAPTURE}=true, or the framework's own switch for sensitive data",
    dialect="gen_ai",
)

ADK = Convention(
    "adk",
    marks=(("gcp.vertex.agent.event_id", None), EXECUTE),
    tool=("gen_ai.tool.name",),
    call_id=("gen_ai.tool.call.id",),
    args=("gcp.vertex.agent.tool_call_args", "gen_ai.tool.call.arguments"),
    output=("gcp.vertex.agent.tool_response", "gen_ai.tool.call.result"),
    unwrap_args=unwrapping(adk_content),
    unwrap_output=unwrapping(adk_content, adk_output),
    unwrap_said=(adk_output,),
    encoded=True,
    setting=f"{_CAPTURE}=SPAN_ONLY",
    dialect="gen_ai",
)

STRANDS = msgspec.structs.replace(
    GEN_AI,
    name="strands",
    marks=(("gen_ai.system", "strands-agents"), EXECUTE),
    args_event=("gen_ai.tool.message", "content"),
    output_event=("gen_ai.choice", "message"),
    unwrap_output=unwrapping(converse_blocks),
)

# OpenInference, spec/semantic_conventions.md: `openinference.span.kind` is required on every span.
OPENINFERENCE = Convention(
    "openinference",
    marks=(("openinference.span.kind", "tool"),),
    tool=("tool.name", "gen_ai.tool.name"),
    call_id=("gen_ai.tool.call.id", "tool.id", "tool.call_id", "tool_call.id"),
    args=("input.value", "tool.parameters", "gen_ai.tool.call.arguments"),
    output=("output.value", "gen_ai.tool.call.result"),
    failure=_STATUS,
    unwrap_args=unwrapping(smolagents_call, llamaindex_call, dspy_call),
    unwrap_output=unwrapping(
        adk_unmarked,
        pydantic_return,
        tool_message,
        llamaindex_output,
        openai_agents_output,
        content_blocks,
    ),
    setting="OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset",
    dialect="openinference",
)
_OPENINFERENCE = OPENINFERENCE.marks[0]

_HAYSTACK_ASKED = "haystack.agent.hook.human_in_the_loop.strategy"
"""Prefix of attributes of the span in which Haystack 3 asks a person about a call."""
_HAYSTACK_CALL = "haystack.tool.call.id"
"""The id of the call, which only the spans of questions have; Haystack's spans of tools have none."""

OPENLLMETRY = Convention(
    "openllmetry",
    marks=(("traceloop.span.kind", "tool"),),
    tool=("gen_ai.tool.name", "traceloop.entity.name"),
    call_id=("gen_ai.tool.call.id",),
    args=("gen_ai.tool.call.arguments", "traceloop.entity.input"),
    output=("gen_ai.tool.call.result", "traceloop.entity.output"),
    unwrap_args=unwrapping(callback_input, mcp_input, python_call),
    unwrap_output=unwrapping(tool_message, llamaindex_output, mcp_output, openai_agents_output, content_blocks),
    setting="TRACELOOP_TRACE_CONTENT=true",
)

# Spring AI, "Observability". The operation is `framework` in version 1. The default converter writes results as JSON.
SPRING_AI = Convention(
    "spring-ai",
    marks=(("spring.ai.kind", "tool_call"),),
    tool=("spring.ai.tool.definition.name",),
    call_id=("spring.ai.tool.call.id",),
    args=("spring.ai.tool.call.arguments",),
    output=("spring.ai.tool.call.result",),
    encoded=True,
    setting="spring.ai.tools.observations.include-content=true",
)

PLAIN = Convention(
    "tool.name",
    marks=(("tool.name", None),),
    tool=("tool.name",),
    tool_id=("tool.id",),
    args=("input.value",),
    output=("output.value",),
    unwrap_args=unwrapping(foreign_input),
    unwrap_output=unwrapping(uipath_output),
    keeps_quotes=True,
)
"""The simplest convention, UiPath's: any span with a tool's name is a call."""

CONVENTIONS = (
    Convention("synthesized", marks=(("tool.synthesized", "true"),), call=False),
    Convention("merged", marks=(("gen_ai.tool.name", "(merged tools)"),), call=False),
    Convention(
        "mcp",
        marks=(("mcp.method.name", "tools/call"), ("gen_ai.tool.name", None)),
        tool=("gen_ai.tool.name",),
        call_id=("gen_ai.tool.call.id",),
        args=("gen_ai.tool.call.arguments",),
        output=("gen_ai.tool.call.result",),
        unwrap_output=unwrapping(mcp_result),
        setting="a span of the agent's framework around the call; MCP's own spans carry no content",
    ),
    Convention(
        "langsmith",
        marks=(("langsmith.span.kind", "tool"),),
        tool=("gen_ai.tool.name", "langsmith.trace.name"),
        call_id=("gen_ai.tool.call.id",),
        args=("gen_ai.prompt", "input.value"),
        output=("gen_ai.completion", "output.value"),
        unwrap_args=unwrapping(langsmith_input),
        unwrap_output=unwrapping(langsmith_output, tool_message),
        encoded=True,
    ),
    OPENLLMETRY,
    msgspec.structs.replace(OPENLLMETRY, marks=(("traceloop.entity.name", None), EXECUTE)),
    Convention(
        "openllmetry-llamaindex",
        marks=(("traceloop.span.kind", "task"), ("tool.name", None)),
        tool=("tool.name",),
        args=("tool.arguments",),
        output=("traceloop.entity.output",),
        unwrap_output=unwrapping(llamaindex_output),
        setting="TRACELOOP_TRACE_CONTENT=true",
    ),
    # UiPath's decorators mark tools as OpenInference does, but write every output as JSON, in UiPath's envelope.
    msgspec.structs.replace(
        PLAIN, name="uipath", marks=(("span_type", "tool"), ("tool.name", None)), encoded=True, keeps_quotes=False
    ),
    *(
        msgspec.structs.replace(
            OPENINFERENCE,
            name="openinference-adk",
            marks=(mark, _OPENINFERENCE),
            unwrap_output=unwrapping(adk_output),
            unwrap_said=(adk_output,),
        )
        for mark in _ADK
    ),
    *(
        msgspec.structs.replace(
            OPENINFERENCE,
            name="openinference-strands",
            marks=(mark, _OPENINFERENCE),
            args=("tool.parameters", "input.value"),
            args_event=STRANDS.args_event,
            output_event=STRANDS.output_event,
            unwrap_output=unwrapping(converse_blocks),
        )
        for mark in (*_STRANDS, ("tool.call_id", None))
    ),
    # Before OpenInference, because Phoenix adds OpenInference's marks to the spans of others.
    msgspec.structs.replace(
        GEN_AI,
        name="anthropic",
        marks=(("gen_ai.provider.name", "anthropic"), EXECUTE),
        output=("gen_ai.tool.call.result", "anthropic.tool_result.content"),
        setting="ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content",
    ),
    msgspec.structs.replace(
        GEN_AI,
        name="autogen",
        marks=(("gen_ai.system", "autogen"), EXECUTE),
        setting="another instrumentation beside AutoGen's own spans, which never carry content",
    ),
    SPRING_AI,
    # Every action of Genkit is a span. If it is used as a tool, the span around it also has a mark: see `_HALVES`.
    *(
        Convention(
            "genkit",
            marks=(("genkit:metadata:subtype", subtype), ("genkit:type", "action")),
            tool=("genkit:name",),
            args=("genkit:input",),
            output=("genkit:output",),
            failure=(("genkit:state", "error"),),
            unwrap_output=unwrap,
            encoded=True,
        )
        for subtype, unwrap in (("tool", NO_ENVELOPE), ("tool.v2", unwrapping(genkit_output)))
    ),
    OPENINFERENCE,
    Convention(
        "langfuse",
        marks=(("langfuse.observation.type", "tool"),),
        call_id=("langfuse.observation.metadata.tool_call_id", "gen_ai.tool.call.id", "ai.toolCall.id"),
        args=("langfuse.observation.input",),
        output=("langfuse.observation.output",),
        failure=(("langfuse.observation.level", "error"),),
        message=("langfuse.observation.status_message",),
        unwrap_args=unwrapping(python_call),
        unwrap_output=unwrapping(tool_message),
    ),
    *(msgspec.structs.replace(ADK, marks=(mark, EXECUTE)) for mark in _ADK),
    *(msgspec.structs.replace(STRANDS, marks=(mark, EXECUTE)) for mark in _STRANDS),
    GEN_AI,
    msgspec.structs.replace(SPRING_AI, marks=(("spring.ai.tool.definition.name", None),)),
    Convention("openinference, another kind", marks=(("openinference.span.kind", None),), call=False),
    Convention("gen_ai, another operation", marks=(("gen_ai.operation.name", None),), call=False),
    Convention(
        "vercel",
        marks=(("ai.toolCall.name", None),),
        tool=("ai.toolCall.name",),
        call_id=("ai.toolCall.id",),
        args=("ai.toolCall.args", "ai.toolCall.input"),
        output=("ai.toolCall.result", "ai.toolCall.output"),
        encoded=True,
        setting="experimental_telemetry with recordInputs and recordOutputs",
    ),
    # Any of these attributes marks the span of a question to a person; the call has its own span if it was made.
    *(
        Convention(
            "haystack, asked",
            marks=((key, None), ("haystack.tool.name", None)),
            tool=("haystack.tool.name",),
            call_id=(_HAYSTACK_CALL,),
            args=(f"{_HAYSTACK_ASKED}.input",),
            unwrap_args=unwrapping(haystack_question),
            decision=f"{_HAYSTACK_ASKED}.decision",
            setting="HAYSTACK_CONTENT_TRACING_ENABLED=true",
        )
        for key in (f"{_HAYSTACK_ASKED}.decision", f"{_HAYSTACK_ASKED}.type", _HAYSTACK_CALL)
    ),
    Convention(
        "haystack",
        marks=(("haystack.tool.name", None),),
        tool=("haystack.tool.name",),
        args=("haystack.agent.step.tool.input", "haystack.tool.input"),
        output=("haystack.agent.step.tool.output", "haystack.tool.output"),
        failure=(("haystack.tool.error", "true"),),
        setting="HAYSTACK_CONTENT_TRACING_ENABLED=true",
    ),
    Convention(
        "logfire",
        marks=(("logfire.msg_template", "function: {name}"), ("name", None)),
        tool=("name",),
        args=("input",),
        output=("output",),
        message=("error",),
        unwrap_output=unwrapping(logfire_output, openai_agents_output),
    ),
    msgspec.structs.replace(GEN_AI, name="pydantic-ai", marks=(("tool_arguments", None), ("gen_ai.tool.name", None))),
    # Koog 0.3, whose spans of tools have no operation.
    msgspec.structs.replace(
        GEN_AI,
        name="koog",
        marks=(("gen_ai.tool.description", None), ("gen_ai.tool.call.id", None), ("gen_ai.tool.name", None)),
    ),
    Convention(
        "livekit",
        marks=(("lk.function_tool.name", None),),
        tool=("lk.function_tool.name",),
        call_id=("lk.function_tool.id",),
        args=("lk.function_tool.arguments", "lk.pii.function_tool.arguments"),
        output=("lk.function_tool.output", "lk.pii.function_tool.output"),
        failure=(("lk.function_tool.is_error", "true"),),
    ),
    Convention(
        "openai-agents",
        marks=(("openai_agents.type", "function"),),
        tool=("openai_agents.name",),
        args=("openai_agents.input",),
        output=("openai_agents.output",),
        unwrap_output=unwrapping(openai_agents_output),
    ),
    Convention("openai-agents, hand-off", marks=(("openai_agents.type", "handoff"), ("openai_agents.to_agent", None))),
    PLAIN,
    # Last, because MLflow adds its marks to the spans of others.
    Convention(
        "mlflow",
        marks=(("mlflow.spanType", "tool"),),
        call_id=("tool_call_id",),
        args=("mlflow.spanInputs",),
        output=("mlflow.spanOutputs",),
        unwrap_output=unwrapping(tool_message, llamaindex_output),
        encoded=True,
    ),
)

_BY_NAME = msgspec.structs.replace(GEN_AI, name="gen_ai, by the span's name", marks=())


def convention_by_attributes(attributes: Mapping[str, Any]) -> Convention | None:
    """Return the first convention whose marks a span has, even one with `call=False`; None if there is none."""
    rows = [row for key in _ROWS.keys() & attributes.keys() for row in _ROWS[key]]
    for row in sorted(rows):
        if all([has_value(attributes.get(key), wanted) for key, wanted in CONVENTIONS[row].marks]):
            return CONVENTIONS[row]
    return None


def convention_by_name(span: Span) -> Convention | None:
    """Return the convention of a span that only its name shows to be a call, as in pydantic-ai 0.0; otherwise None."""
    return _BY_NAME if span.name == "running tool" and "gen_ai.tool.name" in span.attributes else None


def has_value(value: Any, wanted: str | None) -> bool:
    """Whether an attribute has the wanted value, ignoring case and quotes; None accepts any value but an empty one."""
    if wanted is None:
        return value is not None and value != ""
    if value.__class__ is bool:
        return wanted == "true" and bool(value)
    return isinstance(value, str) and value.strip('"').lower() == wanted


_ROWS: dict[str, list[int]] = {}
for _row, _convention in enumerate(CONVENTIONS):
    _ROWS.setdefault(_convention.marks[0][0], []).append(_row)

WRAPPED_IN_MESSAGES: dict[str, tuple[Envelope, ...]] = {
    each.name: each.unwrap_said for each in CONVENTIONS if each.unwrap_said
}
"""Envelopes of outputs in messages, by the convention of the call's span."""
