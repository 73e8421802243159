"""The interface of framework adapters, and the adapters for frameworks whose tools are objects with a run method."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

from rightcall.errors import RightcallError

from ._dispatch import (
    DATA,
    Form,
    agent_framework_form,
    agno_form,
    answered,
    crewai_form,
    dispatched,
    dispatched_plainly,
    llama_index_form,
)

WRAPPED = "__rightcall_dispatch__"
"""The attribute that marks a method as replaced."""


class FoundTool(NamedTuple):
    """A tool that was found in an agent, or a source of tools that are listed only when the agent runs."""

    name: str
    framework: str
    parameters: tuple[str, ...] = ()
    """The parameters that a model fills in, as `name: type`, without those that the framework injects."""
    problem: str = ""
    """Why mocks and recordings cannot answer for it; empty if they can."""
    is_source: bool = False
    """Whether this is a source of tools, such as an MCP server, and not a single tool."""


class Adapter(Protocol):
    """How to find the tools of a framework, and to answer for them."""

    framework: str
    module: str
    """The module that is imported if the framework is used."""

    def stand_in(self) -> None:
        """Patch the framework to call tools through `dispatched`. Called again when there may be new classes."""

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        """Yield the tools in an object of the framework, and lists of further objects to look at."""


def family(base: type) -> Iterator[type]:
    """Yield a class and all its subclasses that exist so far."""
    seen: set[type] = set()
    left = [base]
    while left:
        kind = left.pop()
        if kind not in seen:
            seen.add(kind)
            left += kind.__subclasses__()
            yield kind


def wrap(kind: type, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method that a class itself defines, once. The signature stays: frameworks inspect it."""
    original = vars(kind).get(name)
    if original is None or hasattr(original, WRAPPED) or getattr(original, "__isabstractmethod__", False):
        return

    def bound(value: Any, /, *args: Any, **kwargs: Any) -> Any:
        # An instrumentation may have put a wrapt object here, which gets the tool only by being bound to it.
        return original.__get__(value, type(value))(*args, **kwargs)

    made = functools.wraps(original)(make(bound))
    setattr(made, WRAPPED, True)
    setattr(kind, name, made)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is an instance of a class with this name, from a module with this prefix, or of a subclass."""
    return any([kind.__name__ == name and kind.__module__.startswith(module) for kind in type(value).__mro__])


def schema_of(value: Any, *names: str) -> Mapping[str, Any]:
    """Return the JSON Schema at a path of attributes; empty if there is none."""
    for name in names:
        value = getattr(value, name, None)
    return value if isinstance(value, Mapping) else {}


def parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the properties of a JSON Schema as `name: type`."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple([f"{name}: {_type_in(value)}" for name, value in properties.items()])


def _type_in(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    choices: Iterable[Any] = schema.get("anyOf", ()) if isinstance(schema, Mapping) else ()
    return str(kind) if kind else " or ".join(dict.fromkeys(map(_type_in, choices))) or "any"


def of_callable(value: Any) -> tuple[str, ...]:
    """Return the annotated parameters of a function, or of the function in a tool."""
    from rightcall.running.tracing import declared_parameters

    function = getattr(value, "func", value)
    return declared_parameters(function) if callable(function) else ()


class _ToolObjects:
    """A framework whose tools have methods that run them, synchronous (`methods`) or asynchronous (`awaited`)."""

    framework: str
    module: str
    kind: str
    """The base class of tools in `module`."""
    methods: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()

    def stand_in(self) -> None:
        for kind in family(getattr(sys.modules[self.module], self.kind)):
            for name in self.methods:
                wrap(kind, name, self._called)
            for name in self.awaited:
                wrap(kind, name, self._awaited)

    def _called(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def called(tool: Any, /, *args: Any, **kwargs: Any) -> Any:
            name, given, run = self.name(tool), self.given(tool, args, kwargs), partial(original, tool, *args, **kwargs)
            try:
                return dispatched_plainly(name, given, run, self.form(tool, name, given)) if name else run()
            except Exception as error:  # noqa: BLE001 - raised again, or answered as the framework would
                return self.raised(tool, given, error)

        return called

    def _awaited(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def awaited(tool: Any, /, *args: Any, **kwargs: Any) -> Any:
            name, given, run = self.name(tool), self.given(tool, args, kwargs), partial(original, tool, *args, **kwargs)
            try:
                return await (dispatched(name, given, run, self.form(tool, name, given)) if name else run())
            except Exception as error:  # noqa: BLE001 - raised again, or answered as the framework would
                return self.raised(tool, given, error)

        return awaited

    def raised(self, tool: Any, given: Mapping[str, Any], error: Exception) -> Any:
        """Raise a tool's error, or return what the framework makes of it: a mock raises outside the framework."""
        raise error

    def name(self, tool: Any) -> str:
        """Return the name by which the model knows a tool; empty for a tool of the framework itself."""
        return str(tool.name)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that the model gave."""
        return dict(kwargs)

    def form(self, tool: Any, name: str, given: Mapping[str, Any]) -> Form:
        """Return how to convert the answers of a tool."""
        return DATA

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        """Yield nothing: by default, the class runs tools but does not have any."""
        return iter(())


class _Smolagents(_ToolObjects):
    """Tools are called with named arguments, or with positional ones by code that the model wrote."""

    framework = "smolagents"
    module = "smolagents.tools"
    kind = "Tool"
    methods = ("__call__",)

    def name(self, tool: Any) -> str:
        return "" if tool.name == "final_answer" else str(tool.name)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        named = {key: value for key, value in kwargs.items() if key != "sanitize_inputs_outputs"}
        if len(args) == 1 and not named and isinstance(args[0], dict) and args[0].keys() <= tool.inputs.keys():
            return dict(args[0])
        return {**dict(zip(tool.inputs, args, strict=False)), **named}

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "smolagents.", "Tool"):
            if self.name(value):
                yield FoundTool(value.name, self.framework, parameters({"properties": value.inputs}))
        elif is_a(value, "smolagents.", "MultiStepAgent"):
            yield [*value.tools.values(), *value.managed_agents.values()]
            if getattr(value, "executor_type", "local") != "local":
                yield FoundTool("code", self.framework, problem="the code of the agent runs elsewhere")


class _SmolagentsTeam(_ToolObjects):
    """A managed agent is called like a tool, with its task as the argument."""

    framework = "smolagents"
    module = "smolagents.agents"
    kind = "MultiStepAgent"
    methods = ("__call__",)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {**dict(zip(("task",), args, strict=False)), **kwargs}

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "smolagents.", "MultiStepAgent"):
            for name in value.managed_agents:
                yield FoundTool(name, self.framework, ("task: string",))


class _LlamaIndex(_ToolObjects):
    """Agents await `acall`, which calls `call` for a synchronous tool."""

    framework = "LlamaIndex"
    module = "llama_index.core.tools.types"
    kind = "BaseTool"
    methods = ("__call__", "call")
    awaited = ("acall",)

    def name(self, tool: Any) -> str:
        return str(tool.metadata.get_name())

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        context = getattr(tool, "ctx_param_name", None)
        named = {key: value for key, value in kwargs.items() if key != context}
        return {**dict(zip(self._schema(tool).get("properties", ()), args, strict=False)), **named} if args else named

    def form(self, tool: Any, name: str, given: Mapping[str, Any]) -> Form:
        return llama_index_form(name, given)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "llama_index.core.tools.", "BaseTool"):
            yield FoundTool(self.name(value), self.framework, parameters(self._schema(value)))
        elif is_a(value, "llama_index.core.agent.", "BaseWorkflowAgent"):
            yield list(value.tools or ())
            if getattr(value, "tool_retriever", None) is not None:
                yield FoundTool("tool_retriever", self.framework, is_source=True)
        elif is_a(value, "llama_index.core.agent.", "AgentWorkflow"):
            yield list(value.agents.values())

    def _schema(self, tool: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = tool.metadata.get_parameters_dict()
        return found


class _Haystack(_ToolObjects):
    """The arguments of a tool include values from the agent's state, which the model did not give."""

    framework = "Haystack"
    module = "haystack.tools.tool"
    kind = "Tool"
    methods = ("invoke",)
    awaited = ("invoke_async",)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = {*(getattr(tool, "inputs_from_state", None) or {}).values()} - {*tool.parameters.get("properties", ())}
        return {key: value for key, value in kwargs.items() if key not in names and type(value).__name__ != "State"}

    def raised(self, tool: Any, given: Mapping[str, Any], error: Exception) -> Any:
        kind = sys.modules["haystack.tools.errors"].ToolInvocationError
        if isinstance(error, (kind, RightcallError)):
            raise error
        text = f"Failed to invoke Tool `{tool.name}` with parameters {given}. Error: {error}"
        raise kind(text, tool_name=tool.name) from error

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "haystack.tools.", "Tool"):
            yield FoundTool(value.name, self.framework, parameters(value.parameters))
        elif is_a(value, "haystack.tools.", "Toolset"):
            yield list(value.tools)
        elif is_a(value, "haystack.components.agents.", "Agent"):
            yield list(value.tools) if isinstance(value.tools, list) else [value.tools]


class _Agno(_ToolObjects):
    """A `FunctionCall` runs itself, and has the function and the arguments that the model gave."""

    framework = "Agno"
    module = "agno.tools.function"
    kind = "FunctionCall"
    methods = ("execute",)
    awaited = ("aexecute",)

    def name(self, tool: Any) -> str:
        return str(tool.function.name)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return dict(tool.arguments or {})

    def form(self, tool: Any, name: str, given: Mapping[str, Any]) -> Form:
        return agno_form(tool)

    def raised(self, tool: Any, given: Mapping[str, Any], error: Exception) -> Any:
        if isinstance(error, RightcallError) or type(error).__module__.startswith("agno."):
            raise error  # Agno's own exceptions end the run, or ask the model to retry
        return agno_form(tool).given({"status": "failure", "error": str(error)})

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "agno.tools.", "Function"):
            yield FoundTool(value.name, self.framework, parameters(value.parameters))
        elif is_a(value, "agno.tools.", "Toolkit"):
            yield [*value.functions.values(), *getattr(value, "async_functions", {}).values()]
        elif is_a(value, "agno.agent", "Agent") or is_a(value, "agno.team", "Team"):
            tools = list(value.tools) if isinstance(value.tools, (list, tuple)) else []
            members = getattr(value, "members", None)
            yield [each for each in tools if not inspect.isroutine(each)]
            yield list(members) if isinstance(members, (list, tuple)) else []
            for each in filter(inspect.isroutine, tools):
                yield FoundTool(each.__name__, self.framework, of_callable(each))


class _AgentFramework(_ToolObjects):
    """Functions become tools when an agent is created; the tools of an MCP server are known once it is connected."""

    framework = "Agent Framework"
    module = "agent_framework._tools"
    kind = "FunctionTool"
    awaited = ("invoke",)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = kwargs.get("arguments")
        if given is None:
            return {key: value for key, value in kwargs.items() if key not in _OF_INVOKE}
        return dict(given) if isinstance(given, Mapping) else dict(given.model_dump())

    def form(self, tool: Any, name: str, given: Mapping[str, Any]) -> Form:
        return agent_framework_form(tool)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "agent_framework.", "FunctionTool"):
            yield FoundTool(value.name, self.framework, parameters(value.parameters()))
        elif is_a(value, "agent_framework.", "RawAgent"):
            yield list(value.default_options.get("tools") or ())
            for server in value.mcp_tools:
                yield FoundTool(str(server.name), self.framework, is_source=True)


_OF_INVOKE = frozenset({"arguments", "context", "tool_call_id", "skip_parsing"})
"""Parameters of `FunctionTool.invoke` that are not arguments of the function."""


class _DSPy(_ToolObjects):
    """Tools take named arguments. `ReAct` ends with a call of its own tool `finish`."""

    framework = "DSPy"
    module = "dspy.adapters.types.tool"
    kind = "Tool"
    methods = ("__call__",)
    awaited = ("acall",)

    def name(self, tool: Any) -> str:
        return "" if tool.name == "finish" else str(tool.name)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "dspy.adapters.", "Tool"):
            if self.name(value):
                yield FoundTool(value.name, self.framework, parameters({"properties": value.args or {}}))
        elif is_a(value, "dspy.predict.", "ReAct"):
            yield list(value.tools.values())


class _CrewAI(_ToolObjects):
    """Models know tools by sanitized names. Delegating work to another agent is a tool call, too."""

    framework = "CrewAI"
    module = "crewai.tools.base_tool"
    kind = "BaseTool"
    methods = ("run",)
    awaited = ("arun",)

    def name(self, tool: Any) -> str:
        return str(sys.modules[self.module].sanitize_tool_name(tool.name))

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {**dict(zip(tool.args_schema.model_fields, args, strict=False)), **kwargs}

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "crewai.tools.", "BaseTool"):
            yield FoundTool(self.name(value), self.framework, parameters(value.args_schema.model_json_schema()))
        elif is_a(value, "crewai.agents.", "BaseAgent") or is_a(value, "crewai.task", "Task"):
            yield list(value.tools or ())
        elif is_a(value, "crewai.crew", "Crew"):
            yield [*value.agents, *value.tasks, value.manager_agent]
        else:
            return
        for source in _SOURCES_OF_CREWAI:
            if getattr(value, source, None):
                yield FoundTool(source, self.framework, is_source=True)


_SOURCES_OF_CREWAI = ("mcps", "apps", "allow_delegation", "manager_llm")
"""Settings of agents and crews that add tools when they run: those of servers, and those to delegate work."""


class _CrewAICache(_ToolObjects):
    """The cache of a crew, which answers repeated calls: no tool runs, but the call is logged."""

    framework = "CrewAI"
    module = "crewai.agents.cache.cache_handler"
    kind = "CacheHandler"
    methods = ("read",)

    def _called(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(cache: Any, tool: str, input: str) -> Any:
            cached = original(cache, tool, input)
            if cached is not None:
                answered(tool, _cached_arguments(input), cached, DATA)
            return cached

        return read


def _cached_arguments(asked: str) -> dict[str, Any]:
    """Return the arguments in a cache key: a JSON object, as CrewAI writes it, or else the text as `input`."""
    try:
        found = json.loads(asked or "{}")
    except ValueError:
        found = asked
    return found if isinstance(found, dict) else {"input": found}


class _CrewAIText(_ToolObjects):
    """Calls that a model requests in its text. CrewAI retries a tool that raises; all attempts are one call."""

    framework = "CrewAI"
    module = "crewai.tools.tool_usage"
    kind = "ToolUsage"
    methods = ("use",)
    awaited = ("ause",)

    def name(self, tool: Any) -> str:
        return str(sys.modules[self.module].sanitize_tool_name(tool.action.tool))

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        calling = args[0] if args else kwargs["calling"]
        return dict(calling.arguments or {})

    def form(self, tool: Any, name: str, given: Mapping[str, Any]) -> Form:
        return crewai_form(tool)

    def raised(self, tool: Any, given: Mapping[str, Any], error: Exception) -> Any:
        if isinstance(error, RightcallError) or type(error).__module__.startswith("crewai."):
            raise error  # CrewAI's own exceptions end the run
        return f"Error executing tool: {error}"


TOOL_OBJECTS: tuple[Adapter, ...] = (
    _Smolagents(),
    _SmolagentsTeam(),
    _LlamaIndex(),
    _Haystack(),
    _Agno(),
    _AgentFramework(),
    _DSPy(),
    _CrewAI(),
    _CrewAICache(),
    _CrewAIText(),
)
