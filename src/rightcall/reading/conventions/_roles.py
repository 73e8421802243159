"""Which spans, beside tool calls, stand for a model or an agent at work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

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
"""Attributes whose values tell the role of a span."""

_KEYS = frozenset({*_VALUES, *_PRESENT})


def role_by_attributes(attributes: Mapping[str, Any]) -> Role | None:
    """Whether attributes say that a span stands for an agent, or else for a model."""
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
    """Whether a span's name says that it stands for a model or an agent."""
    found = _NAMES.get(name)
    return found or next((role for prefix, role in _PREFIXES.items() if name.startswith(prefix)), None)
