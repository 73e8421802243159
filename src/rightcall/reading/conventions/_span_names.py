"""What the name of a span says about its kind, where no attribute does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.spans import Span, object_in

from ._tool_calls import EXECUTE, MERGED, SPAN_NAMES, has_value

_OPERATIONS = {
    "execute_tool ": dict([EXECUTE]),
    "anthropic.custom_tool_use ": dict([EXECUTE]),
    "invoke_agent ": {EXECUTE[0]: "invoke_agent"},
    "Function: {name}": {"logfire.msg_template": "Function: {name}"},
}
"""Prefixes of names of spans, and the attribute that says the same; Logfire names a span by its template."""
_TELLING = tuple(_OPERATIONS)

_ENTITIES = frozenset({"workflow", "agent", "task", "tool"})
"""Suffixes of names of OpenLLMetry's spans."""
_OF_CALLS = frozenset({"ai.toolCall", "running tool"})
"""Names of spans of calls that do not hold the tool's name: Vercel, Pydantic AI."""
_HALVES = (
    ("logfire.msg_template", "function: {name}"),
    ("openai_agents.type", "handoff"),
    ("span_type", "tool"),
    ("genkit:metadata:subtype", "tool"),
    ("genkit:metadata:subtype", "tool.v2"),
)
"""Marks that only calls have, of conventions that ask for one more."""
_MLFLOW_INPUT = "mlflow.spanInputs"
_COPIED_BY_MLFLOW = frozenset(
    {
        "agent.messages",
        "ai.prompt",
        "ai.value",
        "ai.values",
        "gen_ai.input.messages",
        "input",
        "input.value",
        "langfuse.observation.input",
        "lk.chat_ctx",
        "lk.input_text",
        "lk.user_input",
        "lk.user_transcript",
        "llm.messages",
        "lmnr.span.input",
        "traceloop.entity.input",
    }
)
"""Attributes of other tracers whose values MLflow's server copies to an attribute of its own."""
_MESSAGE_EVENT = "gen_ai."
"""The prefix of the names of events with messages, which the server copies as well."""
_UIPATH = "span_type"
_LANGFUSE_INPUT = "langfuse.observation.input"
_CLEAN = lazy_pattern(r"[a-z0-9]+(?:_[a-z0-9]+)*", re.A)
"""A name that CrewAI gives to models as it is."""
_TOLD = lazy_pattern(r"Tool Name: (?P<name>[^\n]+)\nTool Arguments: ")
"""How the description begins that CrewAI gives to a model, and OpenInference writes beside the name of the author."""
_OF_CREWAI = "tool.description_updated"
KIND_KEYS = frozenset(
    {
        "gen_ai.operation.name",
        "openinference.span.kind",
        "traceloop.span.kind",
        "langsmith.span.kind",
        "langfuse.observation.type",
    }
)
"""Attributes with the kind of a span."""


def kind_in_name(span: Span) -> Mapping[str, str]:
    """Return the kind in a span's name as an attribute, if no attribute has it.

    ADK 1 leaves a span without attributes if the tool raised; the name is all there is.
    """
    name = span.name
    if name.startswith(_TELLING) and not name.endswith(MERGED):
        said = next(said for operation, said in _OPERATIONS.items() if name.startswith(operation))
        return {} if _says_kind(span) or not said.keys().isdisjoint(span.attributes.keys()) else said
    entity, _, kind = name.rpartition(".")
    if kind in _ENTITIES and entity == span.attributes.get("traceloop.entity.name") and not _says_kind(span):
        return {"traceloop.span.kind": kind}
    return {}


def is_named_like_call(span: Span) -> bool:
    """Whether a span that lost its attributes has a name that instrumentations give to calls alone."""
    if span.attributes.keys():
        return False
    return span.name in _OF_CALLS or span.name.startswith(SPAN_NAMES) or span.name.endswith(".tool")


def has_lost_mark(span: Span) -> bool:
    """Whether a span looks like a call that lost a part of what marks it, or its type.

    Langfuse and MLflow write a type on every span of theirs; MLflow's server writes none on many spans of others, and
    what it copies says nothing that the span did not say before. A tool that UiPath traced has its output under
    `content`.
    """
    attributes, keys = span.attributes, span.attributes.keys()
    if any([key in keys and has_value(attributes.get(key), value) for key, value in _HALVES]):
        return True
    if _MLFLOW_INPUT in keys and not _is_copied(span):
        return "mlflow.spanType" not in keys
    if _UIPATH in keys and str(attributes.get(_UIPATH)).startswith("function_call"):
        return object_in(attributes.get("output.value")).keys() == {"content"}
    if _LANGFUSE_INPUT not in keys or "langfuse.observation.type" in keys:
        return False
    held = attributes.get(_LANGFUSE_INPUT)
    return isinstance(held, str) and held.startswith('{"args"') and '"kwargs"' in held


def _is_copied(span: Span) -> bool:
    """Whether MLflow's input is a copy of what another tracer recorded in the same span."""
    is_attribute = not _COPIED_BY_MLFLOW.isdisjoint(span.attributes.keys())
    return is_attribute or any([event.name.startswith(_MESSAGE_EVENT) for event in span.events])


def is_clean(name: str) -> bool:
    """Whether a model knows a tool of this name by no other, whichever framework runs it."""
    return _CLEAN.fullmatch(name) is not None


def name_for_models(name: str, attributes: Mapping[str, Any]) -> str:
    """Return the name by which a model knows the tool of a call; empty if the span lost it.

    A tool of CrewAI is called `Search The Web` by its author, in spans, and `search_the_web` where a model asks for it.
    """
    if is_clean(name):
        return name
    held = attributes.get("tool.description")
    told = _TOLD.match(held) if isinstance(held, str) else None
    if told is not None:
        return str(told["name"])
    return "" if _OF_CREWAI in attributes else name


def may_tell_kind(name: str) -> bool:
    """Whether the name of a span may have its kind, where no attribute has it."""
    return name.startswith(_TELLING) or name.rpartition(".")[2] in _ENTITIES


def _says_kind(span: Span) -> bool:
    return not KIND_KEYS.isdisjoint(span.attributes.keys())
