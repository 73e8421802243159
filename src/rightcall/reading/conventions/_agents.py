"""What agents are called, by their spans."""

from __future__ import annotations

import re

from rightcall.reading.spans import Span

from ._conventions import says

_KEYS = ("gen_ai.agent.name", "agent.name", "agent_name", "crewai.agent.role", "graph.node.id", "openai_agents.name")
_NAMED = re.compile(
    r"invoke_agent (?P<semantic>.+)|agent_run \[(?P<adk>.+)\]|(?P<method>.+)\.(?:on_messages_stream|_execute_core|run)"
)
_CLASS = re.compile(r"[A-Z]\w*(?:Agent|Team)|Agent|Team")
"""What stands for an agent that nobody gave a name."""

_NODE = "langgraph_node"
_BY_SPAN = ("openinference.span.kind", "langfuse.observation.type", "mlflow.spanType", "langsmith.span.kind")
"""Attributes of conventions by which a span is called as its agent is."""

_OPERATION = "gen_ai.operation.name"
"""Where this stands, a server may have added the others: such a span is not called as its agent is."""

_ANY = frozenset({"agent", "Agent", "LangGraph", "Agent workflow", "AgentExecutor"})
_LOGFIRE = "Agent run: {name!r}"


def agent_name(span: Span) -> str | None:
    """The name of the agent that a span stands for; none where it has none, as the workflow around agents."""
    attributes = span.attributes
    for key in _KEYS:
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
    found = _NAMED.fullmatch(span.name)
    name = next((group for group in found.groups() if group), None) if found else None
    if found and found["method"] and "openinference.span.kind" not in span.attributes:
        name = None
    if name is None and _OPERATION not in span.attributes and _is_called_as_agent(span):
        name = span.name
    return None if name is None or name in _ANY or _CLASS.fullmatch(name) else name


def _is_called_as_agent(span: Span) -> bool:
    return any([says(span.attributes.get(key), "agent") for key in _BY_SPAN]) and not _is_node(span)


def _is_node(span: Span) -> bool:
    """Whether a span is a node of a graph, whatever the graph is called."""
    attributes = span.attributes
    if _NODE in str(attributes.get("metadata", "")):
        return True
    return any([key.endswith(_NODE) for key in attributes])
