"""Classify a span, by its attributes or else by its name: a tool call, a model, an agent, or something else.

Traces repeat a few shapes of spans, which are sets of attribute names. What the names imply is computed once for each
shape and cached; for each span, only the few values that decide are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.reading.spans import Attribute, RawAttributes, Span, object_in

from ._tool_calls import (
    CONVENTIONS,
    EXECUTE,
    GEN_AI,
    MERGED,
    OPENINFERENCE,
    SPAN_NAMES,
    Convention,
    convention_by_attributes,
    convention_by_name,
    has_value,
)

Role = Literal["model", "agent"]

_VALUES: dict[str, dict[str, Role]] = {
    "gen_ai.operation.name": {
        "chat": "model",
        "text_completion": "model",
        "generate_content": "model",
        "call_llm": "model",
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
# OpenTelemetry GenAI: these operations also name a model, but do not ask it anything. ADK 1.14 writes an empty request
# of a model into the span of merged tools.
_NOT_ASKING = frozenset({"create_agent", "embeddings", "execute_tool", "retrieval"})
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
_OPERATIONS = {
    "execute_tool ": dict([EXECUTE]),
    "anthropic.custom_tool_use ": dict([EXECUTE]),
    "invoke_agent ": {EXECUTE[0]: "invoke_agent"},
    "Function: {name}": {"logfire.msg_template": "Function: {name}"},
}
"""Prefixes of span names, each with the attribute that has the same meaning; Logfire names a span by its template."""
_TELLING = tuple(_OPERATIONS)

_ENTITIES = frozenset({"workflow", "agent", "task", "tool"})
"""Suffixes of names of OpenLLMetry's spans."""
_NAMES_OF_CALLS = frozenset({"ai.toolCall", "running tool"})
"""Names of spans of calls without the tool's name: Vercel, Pydantic AI."""
_HALVES = (
    ("logfire.msg_template", "function: {name}"),
    ("openai_agents.type", "handoff"),
    ("span_type", "tool"),
    ("genkit:metadata:subtype", "tool"),
    ("genkit:metadata:subtype", "tool.v2"),
)
"""Marks that only calls have, in conventions that require one more mark."""
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
CLEAN_NAME = lazy_pattern(r"[a-z0-9]+(?:_[a-z0-9]+)*", re.A)
"""The name of a tool that is the same for the model, in any framework: CrewAI changes others."""
_TOLD = lazy_pattern(r"Tool Name: (?P<name>[^\n]+)\nTool Arguments: ")
"""The beginning of a tool's description by CrewAI, with the name for the model; OpenInference records it."""
_OF_CREWAI = "tool.description_updated"
_KIND_KEYS = frozenset(
    {
        "gen_ai.operation.name",
        "openinference.span.kind",
        "traceloop.span.kind",
        "langsmith.span.kind",
        "langfuse.observation.type",
    }
)
"""Attributes with the kind of a span."""


def role_by_attributes(attributes: Mapping[str, Any]) -> Role | None:
    """Return the role of a span by its attributes. `agent` wins: spans of agents often have attributes of a model."""
    found: Role | None = None
    operation = attributes.get("gen_ai.operation.name")  # may be of any type in a table
    marks = {} if isinstance(operation, str) and operation in _NOT_ASKING else _PRESENT
    names = attributes.keys()
    for key in names:
        if key in _KEYS:
            value = attributes.get(key)
            known = _VALUES.get(key, {})
            role = known.get(value.strip('"').lower()) if isinstance(value, str) else None
            # OpenTelemetry GenAI, "Invoke agent span": it may have `gen_ai.request.model`, as models do.
            if role == "agent":
                return role
            found = found or role or marks.get(key)
    return found


def role_by_name(name: str) -> Role | None:
    """Return the role of a span by its name; None if the name does not show it."""
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
_GRAPH = "graph.node.id"
_GENERATED = lazy_pattern(r"[0-9a-f]{16,}|[0-9a-f]{8}-[0-9a-f-]{27}")
"""Ids of nodes that are not names (Agno)."""
_NAMED_SPAN = lazy_pattern(
    r"invoke_agent (?P<semantic>.+)|agent_run \[(?P<adk>.+)\]|"
    r"(?P<method>.+)\.(?:on_messages_stream|_execute_core|a?(?:continue_)?run)"
)
_CLASS = lazy_pattern(r"[A-Z]\w*(?:Agent|Team)|Agent|Team")
"""Class names, which frameworks use for agents without a name."""

_NODE = "langgraph_node"
_KIND = "openinference.span.kind"
_OF_AGENTS = frozenset({"agent.name", "graph.node.id"})
_BY_SPAN = ("openinference.span.kind", "langfuse.observation.type", "mlflow.spanType", "langsmith.span.kind")
"""Attributes of conventions in which an agent's span is named after the agent."""

_OPERATION = "gen_ai.operation.name"
"""If a span has this attribute, a server may have added those of `_BY_SPAN`, and the span's name is not the agent's."""

_LANGCHAIN = "lc_agent_name"
"""The key of the agent's name in the metadata that `create_agent` of LangChain gives to all that it runs."""
_METADATA = ("traceloop.association.properties.", "langsmith.metadata.", "langfuse.observation.metadata.")
"""How OpenLLMetry, LangSmith and Langfuse write metadata, key by key; OpenInference writes one object."""
_OF_LANGCHAIN = frozenset({"metadata", *[f"{prefix}{_LANGCHAIN}" for prefix in _METADATA]})
"""The attributes that may name an agent of LangChain."""

_ANY = frozenset({"agent", "Agent", "LangGraph", "Agent workflow", "AgentExecutor"})
_LOGFIRE = "Agent run: {name!r}"


def agent_name(span: Span) -> str | None:
    """Return the name of the agent of a span; None if there is none, as for a workflow around agents."""
    attributes, names = span.attributes, span.attributes.keys()
    for key in _NAME_KEYS:
        value = attributes.get(key) if key in names else None
        if isinstance(value, str) and value.strip('"') and not (key == _GRAPH and _GENERATED.fullmatch(value)):
            return value.strip('"')
    if span.name == _LOGFIRE:
        value = attributes.get("name")
        return value if isinstance(value, str) and value else None
    entity = attributes.get("traceloop.entity.name")
    if isinstance(entity, str) and entity and span.name not in ("", entity) and not _is_workflow(span):
        return entity
    return _name_in(span)


def agent_in_metadata(attributes: Mapping[str, Any]) -> str | None:
    """Return the agent that LangChain's `create_agent` names in the metadata of everything it runs; None if none."""
    names = attributes.keys()
    if _OF_LANGCHAIN.isdisjoint(names):
        return None
    held = [attributes.get(f"{prefix}{_LANGCHAIN}") for prefix in _METADATA if f"{prefix}{_LANGCHAIN}" in names]
    if not held and _LANGCHAIN in str(attributes.get("metadata")):
        held = [object_in(attributes.get("metadata")).get(_LANGCHAIN)]
    name = held[0] if held else None
    return name.strip('"') or None if isinstance(name, str) else None


def _name_in(span: Span) -> str | None:
    attributes, names = span.attributes, span.attributes.keys()
    found = _NAMED_SPAN.fullmatch(span.name)
    name = next((group for group in found.groups() if group), None) if found else None
    if found and found["method"] and _KIND not in names:
        name = None
    if name is None and _OPERATION not in names:
        # A node of a LangGraph graph is named after itself.
        is_agent = any([has_value(attributes.get(key), "agent") for key in _BY_SPAN])
        name = span.name if is_agent and not is_graph_node(span) else None
    return None if name is None or name in _ANY or _CLASS.fullmatch(name) else name


def is_graph_node(span: Span) -> bool:
    """Whether a span is of a node of a LangGraph graph, or inside of one."""
    attributes, names = span.attributes, span.attributes.keys()
    return _NODE in str(attributes.get("metadata", "")) or any([key.endswith(_NODE) for key in names])


def is_unmarked(span: Span) -> bool:
    """Whether a span has attributes of OpenInference's agents, but lacks the kind that every span of it should have."""
    keys = span.attributes.keys()
    return _KIND not in keys and not _OF_AGENTS.isdisjoint(keys)


def is_chain(attributes: Mapping[str, Any]) -> bool:
    """Whether a span is a chain: neither a call nor, as far as it says, an agent. A graph of LangGraph is one."""
    return any([has_value(attributes.get(key), "chain") for key in _BY_SPAN if key in attributes])


def _is_workflow(span: Span) -> bool:
    """Whether a span is of a function marked as a workflow. LangGraph's graphs are not: they are agents, too."""
    is_marked = span.scope.startswith("traceloop")
    return is_marked and has_value(span.attributes.get("traceloop.span.kind"), "workflow")


# The caches are cleared when they are full: hostile traces may have any number of shapes.
_MOST_SHAPES = 4096
_MOST_DECIDED = 1024
# OpenTelemetry GenAI has `gen_ai.conversation.id`, OpenInference `session.id`; others are of servers and frameworks.
CONVERSATION_KEYS = ("gen_ai.conversation.id", "traceloop.association.properties.conversation_id")
"""Attributes with the id of a conversation."""

SESSION_KEYS = (
    "session.id",
    "mcp.session.id",
    "gcp.vertex.agent.session_id",
    "langfuse.session.id",
    "mlflow.trace.session",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langsmith.trace.session_id",
    # LangSmith's threads are told by metadata, and LangGraph's thread is among it ("Configure threads").
    "langsmith.metadata.session_id",
    "langsmith.metadata.conversation_id",
    "langsmith.metadata.thread_id",
    "langfuse.trace.metadata.thread_id",
)
"""Attributes with the id of a session."""

GROUP_KEYS = frozenset({*CONVERSATION_KEYS, *SESSION_KEYS})

_TOOL_ENDINGS = ("tool.name", "tool_name", "toolName", "tool_call.name", "function_name")
_KEYS_OF_CALLS = (
    "ai.toolCall.",
    "gcp.vertex.agent.tool_",
    "gen_ai.tool.arguments",
    "gen_ai.tool.call.",
    "gen_ai.tool.input",
    "gen_ai.tool.output",
    "haystack.agent.step.tool.",
    "haystack.tool.",
    "lk.function_tool.",
    "spring.ai.tool.call.",
    "tool.arguments",
    "tool_arguments",
)
"""Prefixes of attributes that only calls have."""
_AGENT = ("gen_ai.agent.name", "agent.name")
_MARKS = [mark for convention in CONVENTIONS for mark in convention.marks]
MARKS_OF_ANY_VALUE = frozenset([key for key, wanted in _MARKS if wanted is None])
"""Attributes that are a mark unless they are empty."""
_VALUED = ROLE_VALUES | {key for key, wanted in _MARKS if wanted}


class CallShape(msgspec.Struct, frozen=True):
    """A kind of span that is a tool call, and which of its attributes hold the fields of the call."""

    convention: Convention
    tool: tuple[str, ...]
    call_id: tuple[str, ...]
    tool_id: tuple[str, ...]
    agent: tuple[str, ...]
    args: tuple[str, ...]
    output: tuple[str, ...]
    may_fail: bool
    """Whether there are attributes that may show that the call failed."""
    wanted: tuple[str, ...]
    """Attributes that mark a call, with any value that is not empty."""
    dialect: str
    """A name for the instrumentation, used if the scope is not known."""


Kind = CallShape | Role | Literal[""]

_Keys = tuple[str, ...]


class Shape(msgspec.Struct, eq=False):
    """What is known about spans with the same attribute names."""

    places: dict[str, int]
    """The position of each attribute in the span's list."""
    deciding: _Keys
    """The attributes whose values decide the kind of such a span."""
    deciding_places: tuple[int, ...]
    tools: _Keys
    """Attributes that are named like a tool's name, in any convention."""
    groups: _Keys
    """Attributes with the id of a conversation or session."""
    is_like_call: bool
    """Whether there is an attribute that only calls have, in any convention."""
    is_told: bool
    """Whether there is an attribute for the kind of a span; otherwise the span's name may have it."""
    decided: dict[Any, Kind | None]
    message_attributes: Any = None
    """Which attributes hold messages; filled by the package `messages`, which this one cannot import."""


_shapes: dict[_Keys, Shape] = {}


def shape_of(keys: _Keys) -> Shape:
    """Return what is known about spans with these attribute names, in this order."""
    known = _shapes.get(keys)
    if known is not None:
        return known
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    places = {key: place for place, key in enumerate(keys)}
    deciding = tuple([key for key in places if key in _VALUED])
    groups = tuple([key for key in places if key in GROUP_KEYS])
    at = tuple([places[key] for key in deciding])
    tools = tuple([key for key in keys if key.endswith(_TOOL_ENDINGS)])
    is_like_call = any([key.startswith(_KEYS_OF_CALLS) for key in keys])
    is_told = not _KIND_KEYS.isdisjoint(keys)
    shape = _shapes[keys] = Shape(places, deciding, at, tools, groups, is_like_call, is_told, {})
    return shape


def lazy_attributes(held: tuple[Attribute, ...]) -> Any:
    """Return attributes that are decoded when they are used; those with the same names share one `Shape`."""
    shape = shape_of(tuple([attribute.key for attribute in held]))
    return RawAttributes(shape, shape.places, held)


def groups_of(span: Span) -> _Keys:
    """Return the attributes of a span with the id of a conversation or session."""
    attributes: Any = span.attributes
    shape: Shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    return shape.groups


def kind_of(span: Span) -> Kind:
    """Classify a span: a call, an agent, a model, or none of these (an empty string)."""
    attributes: Any = span.attributes
    shape: Shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    said = {} if shape.is_told else _kind_in_name(span)
    if said:
        attributes = {**attributes, **said}
        shape = shape_of(tuple(attributes))
    kind = _by_attributes(attributes, shape)
    return _by_name(span) if kind is None else kind


def is_like_call(span: Span) -> bool:
    """Whether a span has an attribute that only calls have, in any convention."""
    attributes: Any = span.attributes
    if attributes.__class__ is RawAttributes:
        return bool(attributes.shape.is_like_call)
    return any([key.startswith(_KEYS_OF_CALLS) for key in attributes])


def tools_of(span: Span) -> _Keys:
    """Return the attributes of a span that are named like a tool's name."""
    attributes: Any = span.attributes
    shape: Shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    return shape.tools


def _by_attributes(attributes: Any, shape: Shape) -> Kind | None:
    """Classify a span by its attributes; None if its name has to decide."""
    if attributes.__class__ is RawAttributes:
        # The cache is keyed by undecoded values: equal bytes are equal values, and decoding would cost more.
        held, places = attributes.held, shape.deciding_places
        values = tuple([bytes(held[place].value) for place in places]) if places else ()
    else:
        values = tuple([attributes[key] for key in shape.deciding]) if shape.deciding else ()
    try:
        return shape.decided[values]
    except KeyError:
        # Some marks accept any value except an empty one, and their values are not part of the cache's key. So the
        # result for a span with an empty one is not valid for others, and is not cached.
        empty = [key for key in shape.places if key in MARKS_OF_ANY_VALUE and attributes.get(key) in (None, "")]
        is_valid_for_others = not empty
    except TypeError:
        is_valid_for_others = False  # a list or an object decides, and cannot be looked up
    found: Kind | None
    convention = convention_by_attributes(attributes)
    if convention is not None and convention.call:
        found = _call_shape(convention, attributes)
    else:
        found = role_by_attributes(attributes) or (None if convention is None else "")
    if is_valid_for_others:
        if len(shape.decided) >= _MOST_DECIDED:
            shape.decided.clear()
        shape.decided[values] = found
    return found


def _by_name(span: Span) -> Kind:
    convention = convention_by_name(span)
    return _call_shape(convention, span.attributes) if convention else role_by_name(span.name) or ""


def _call_shape(convention: Convention, attributes: Mapping[str, Any]) -> CallShape:
    names = attributes.keys()
    dialect = convention.dialect or convention.name
    # Phoenix adds OpenInference's marks to the spans of others.
    if dialect == OPENINFERENCE.dialect and has_value(attributes.get(EXECUTE[0]), EXECUTE[1]):
        dialect = GEN_AI.dialect

    def present(keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([key for key in keys if key in names])

    return CallShape(
        convention,
        present(convention.tool),
        present(convention.call_id),
        present(convention.tool_id),
        present(_AGENT),
        present(convention.args),
        present(convention.output),
        "error.type" in names or any([key in names for key, _ in convention.failure]),
        tuple([key for key, wanted in convention.marks if wanted is None]),
        dialect,
    )


def _kind_in_name(span: Span) -> Mapping[str, str]:
    """Return the kind in the name of a span without an attribute for it, as an attribute; empty if it has none.

    ADK 1 leaves a span without attributes if the tool raised, so that only the name shows the kind.
    """
    name = span.name
    if name.startswith(_TELLING) and not name.endswith(MERGED):
        said = next(said for operation, said in _OPERATIONS.items() if name.startswith(operation))
        return said if said.keys().isdisjoint(span.attributes.keys()) else {}
    entity, _, kind = name.rpartition(".")
    if kind in _ENTITIES and entity == span.attributes.get("traceloop.entity.name"):
        return {"traceloop.span.kind": kind}
    return {}


def is_named_like_call(span: Span) -> bool:
    """Whether a span without attributes has a name that instrumentations give only to calls."""
    if span.attributes.keys():
        return False
    return span.name in _NAMES_OF_CALLS or span.name.startswith(SPAN_NAMES) or span.name.endswith(".tool")


def has_lost_mark(span: Span) -> bool:
    """Whether a span looks like a call with some of its marks, or its type, missing.

    Langfuse and MLflow write a type on each of their spans. MLflow's server writes none on many spans of other tracers,
    and only copies what those already have. A tool traced by UiPath has its output under `content`.
    """
    attributes, keys = span.attributes, span.attributes.keys()
    if any([key in keys and has_value(attributes.get(key), value) for key, value in _HALVES]):
        return True
    if _MLFLOW_INPUT in keys and not _is_copied(span):
        return "mlflow.spanType" not in keys
    if _UIPATH in keys and str(attributes.get(_UIPATH)).startswith("function_call"):
        return object_in(attributes.get("output.value")).keys() == {"content"}
    if "langfuse.observation.type" in keys:
        return False
    held = attributes.get(_LANGFUSE_INPUT) if _LANGFUSE_INPUT in keys else None
    is_function = isinstance(held, str) and held.startswith('{"args"') and '"kwargs"' in held
    return is_function or "langfuse.observation.metadata.tool_call_id" in keys


def _is_copied(span: Span) -> bool:
    """Whether MLflow's input is a copy of what another tracer recorded in the same span."""
    is_attribute = not _COPIED_BY_MLFLOW.isdisjoint(span.attributes.keys())
    return is_attribute or any([event.name.startswith(_MESSAGE_EVENT) for event in span.events])


def name_for_models(name: str, attributes: Mapping[str, Any]) -> str:
    """Return the name by which a model knows the tool of a call; empty if the span does not have it.

    A tool of CrewAI may be `Search The Web` in spans, as its author named it, and `search_the_web` for the model.
    """
    if CLEAN_NAME.fullmatch(name):
        return name
    value = attributes.get("tool.description")
    told = _TOLD.match(value) if isinstance(value, str) else None
    if told is not None:
        return str(told["name"])
    return "" if _OF_CREWAI in attributes else name


def may_tell_kind(name: str) -> bool:
    """Whether the name of a span may contain its kind, for spans without an attribute for it."""
    return name.startswith(_TELLING) or name.rpartition(".")[2] in _ENTITIES
