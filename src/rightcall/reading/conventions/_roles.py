"""Spans of models and agents: which spans they are, and the names of the agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from rightcall.reading.spans import Span

from ._tool_calls import has_value

Role = Literal["model", "agent"]

_VALUES: dict[str, dict[str, Role]] = {
    "gen_ai.operation.name": {
        "chat": "model",
        "text_completion": "model",
        "generate_content": "model",
        "invoke_agent": "agent",
        "invoke_workflow": "agent",
    },
    "openinference.span.kind": {"llm": "model", "agent": "agent"},
    "traceloop.span.kind": {"workflow": "agent", "agent": "agent"},
    "llm.request.type": {"chat": "model", "completion": "model"},
    "mlflow.spanType": {"chat_model": "model", "llm": "model", "agent": "agent"},
    "langfuse.observation.type": {"generation": "model", "agent": "agent"},
    "langsmith.span.kind": {"llm": "model", "agent": "agent"},
    "openai_agents.type": {"generation": "model", "response": "model", "agent": "agent"},
}
_PRESENT: dict[str, Role] = {
    "ai.model.id": "model",
    "gen_ai.request.model": "model",
    "gcp.vertex.agent.llm_request": "model",
    "llm.model_name": "model",
    "pydantic_ai.all_messages": "agent",
    "all_messages_events": "agent",
}
_NAMES: dict[str, Role] = {
    "haystack.agent.run": "agent",
    "haystack.agent.step.llm": "model",
    "call_llm": "model",
    "invocation": "agent",
    "agent run": "agent",
    "Agent run: {name!r}": "agent",
}
_PREFIXES: dict[str, Role] = {"invoke_agent ": "agent", "agent_run [": "agent"}
ROLE_VALUES = frozenset(_VALUES)
"""Attributes whose values decide the role of a span."""

_KEYS = frozenset({*_VALUES, *_PRESENT})


def role_by_attributes(attributes: Mapping[str, Any]) -> Role | None:
    """Return the role that attributes give a span. `agent` wins: agents often have attributes of their model."""
    found: Role | None = None
    for key in attributes:
        if key in _KEYS:
            value = attributes.get(key)
            known = _VALUES.get(key, {})
            role = known.get(value.strip('"').lower()) if isinstance(value, str) else None
            if role == "agent":
                return role
            found = found or role or _PRESENT.get(key)
    return found


def role_by_name(name: str) -> Role | None:
    """Return the role that a span's name gives it."""
    found = _NAMES.get(name)
    return found or next((role for prefix, role in _PREFIXES.items() if name.startswith(prefix)), None)


_NAME_KEYS = (
    "gen_ai.agent.name",
    "agent.name",
    "agent_name",
    "crewai.agent.role",
    "graph.node.id",
    "openai_agents.name",
)
_NAMED_SPAN = re.compile(
    r"invoke_agent (?P<semantic>.+)|agent_run \[(?P<adk>.+)\]|(?P<method>.+)\.(?:on_messages_stream|_execute_core|run)"
)
_CLASS = re.compile(r"[A-Z]\w*(?:Agent|Team)|Agent|Team")
"""Class names, which frameworks use for agents without a name."""

_NODE = "langgraph_node"
_BY_SPAN = ("openinference.span.kind", "langfuse.observation.type", "mlflow.spanType", "langsmith.span.kind")
"""Attributes of conventions in which the span of an agent has the agent's name."""

_OPERATION = "gen_ai.operation.name"
"""If a span has this one, a server may have added the others, and the span's name is not the agent's."""

_ANY = frozenset({"agent", "Agent", "LangGraph", "Agent workflow", "AgentExecutor"})
_LOGFIRE = "Agent run: {name!r}"


def agent_name(span: Span) -> str | None:
    """Return the name of the agent of a span; None if it has none, like the workflow around agents."""
    attributes = span.attributes
    for key in _NAME_KEYS:
        held = attributes.get(key)
        if isinstance(held, str) and held.strip('"'):
            return held.strip('"')
    if span.name == _LOGFIRE:
        held = attributes.get("name")
        return held if isinstance(held, str) and held else None
    entity = attributes.get("traceloop.entity.name")
    if isinstance(entity, str) and entity and entity != span.name:
        return entity
    return _name_in(span)


def _name_in(span: Span) -> str | None:
    found = _NAMED_SPAN.fullmatch(span.name)
    name = next((group for group in found.groups() if group), None) if found else None
    if found and found["method"] and "openinference.span.kind" not in span.attributes:
        name = None
    if name is None and _OPERATION not in span.attributes and _is_called_as_agent(span):
        name = span.name
    return None if name is None or name in _ANY or _CLASS.fullmatch(name) else name


def _is_called_as_agent(span: Span) -> bool:
    return any([has_value(span.attributes.get(key), "agent") for key in _BY_SPAN]) and not _is_node(span)


def _is_node(span: Span) -> bool:
    """Whether a span is a node of a LangGraph graph."""
    attributes = span.attributes
    if _NODE in str(attributes.get("metadata", "")):
        return True
    return any([key.endswith(_NODE) for key in attributes])
