"""Which spans, beside tool calls, stand for a model or an agent at work."""

from __future__ import annotations

from typing import Literal

from ._span import Span

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
    "mlflow.spantype": {"chat_model": "model", "llm": "model", "agent": "agent"},
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
}
_PREFIXES: dict[str, Role] = {"invoke_agent ": "agent", "agent_run [": "agent", "chat ": "model"}
_KEYS = {**dict.fromkeys(_VALUES), **dict.fromkeys(_PRESENT), "mlflow.spanType": None}


def role_of(span: Span) -> Role | None:
    """Whether a span that is no tool call stands for a model, an agent, or neither."""
    attributes = span.attributes
    found: Role | None = _NAMES.get(span.name)
    for key in attributes:
        if key not in _KEYS:
            continue
        value = attributes.get(key)
        known = _VALUES.get(key if key != "mlflow.spanType" else "mlflow.spantype", {})
        role = known.get(value.strip('"').lower()) if isinstance(value, str) else None
        if role == "agent":
            return role
        found = found or role or _PRESENT.get(key)
    return found or next((role for prefix, role in _PREFIXES.items() if span.name.startswith(prefix)), None)
