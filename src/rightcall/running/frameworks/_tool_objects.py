"""What an adapter of a framework is, and the adapters of frameworks whose tools are objects that run themselves."""

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
"""The mark of a method that was replaced."""


class FoundTool(NamedTuple):
    """A tool that was found in an agent, or a source of tools that are known only when the agent runs."""

    name: str
    framework: str
    parameters: tuple[str, ...] = ()
    """The parameters that a model gives, as `name: type`; those that a framework injects are not among them."""
    problem: str = ""
    """Why nothing can stand in for it; empty if mocks and recordings can."""
    is_source: bool = False
    """Whether it stands for tools that are listed only when the agent runs, such as those of an MCP server."""


class Adapter(Protocol):
    """What Rightcall has to know of a framework to stand in for its tools."""

    framework: str
    module: str
    """The module that is loaded when the framework is."""

    def stand_in(self) -> None:
        """Have the framework's tools dispatched through `dispatched`. Called again when more classes may be there."""

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        """Yield the tools that an object of the framework brings, and lists of objects to look at as well."""


def family(base: type) -> Iterator[type]:
    """Yield a class and all classes below it that exist by now."""
    seen: set[type] = set()
    left = [base]
    while left:
        kind = left.pop()
        if kind not in seen:
            seen.add(kind)
            left += kind.__subclasses__()
            yield kind


def wrap(kind: type, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method that a class defines itself, once. The signature stays, which frameworks inspect."""
    original = vars(kind).get(name)
    if original is None or hasattr(original, WRAPPED) or getattr(original, "__isabstractmethod__", False):
        return

    def bound(value: Any, /, *args: Any, **kwargs: Any) -> Any:
        # An instrumentation may have put an object here, which knows the tool only if it is bound to it (wrapt).
        return original.__get__(value, type(value))(*args, **kwargs)

    made = functools.wraps(original)(make(bound))
    setattr(made, WRAPPED, True)
    setattr(kind, name, made)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class with this name from modules that begin so, or of one below it."""
    return any([kind.__name__ == name and kind.__module__.startswith(module) for kind in type(value).__mro__])


def schema_of(value: Any, *names: str) -> Mapping[str, Any]:
    """Return the JSON Schema in an attribute of an attribute; empty if there is none."""
    for name in names:
        value = getattr(value, name, None)
    return value if isinstance(value, Mapping) else {}


def parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the properties of a JSON Schema as `name: type`."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple([f"{name}: {_type_in(held)}" for name, held in properties.items()])


def _type_in(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    choices: Iterable[Any] = schema.get("anyOf", ()) if isinstance(schema, Mapping) else ()
    return str(kind) if kind else " or ".join(dict.fromkeys(map(_type_in, choices))) or "any"


def of_callable(value: Any) -> tuple[str, ...]:
    """Return the parameters of a function, or of the one in a tool, as its annotations have them."""
    from rightcall.running.tracing import declared_parameters

    function = getattr(value, "func", value)
    return declared_parameters(function) if callable(function) else ()


class _ToolObjects:
    """A framework whose tools have methods that run them, some of which are awaited."""

    framework: str
    module: str
    kind: str
    """The class of the tools, in that module."""
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
            except Exception as error:  # noqa: BLE001 - raised again, or told as the framework does
                return self.raised(tool, given, error)

        return called

    def _awaited(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def awaited(tool: Any, /, *args: Any, **kwargs: Any) -> Any:
            name, given, run = self.name(tool), self.given(tool, args, kwargs), partial(original, tool, *args, **kwargs)
            try:
                return await (dispatched(name, given, run, self.form(tool, name, given)) if name else run())
            except Exception as error:  # noqa: BLE001 - raised again, or told as the framework does
                return self.raised(tool, given, error)

        return awaited

    def raised(self, tool: Any, given: Mapping[str, Any], error: Exception) -> Any:
        """Answer for a tool that raised: a framework may do so itself, but not for a mock, which raises around it."""
        raise error

    def name(self, tool: Any) -> str:
        """Return the name by which the model knows a tool; empty for one that is the framework's own."""
        return str(tool.name)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that the model gave."""
        return dict(kwargs)

    def form(self, tool: Any, name: str, given: Mapping[str, Any]) -> Form:
        """Return how a tool answers."""
        return DATA

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        """Yield nothing, where the class does not hold tools but runs them."""
        return iter(())


class _Smolagents(_ToolObjects):
    """Tools are called, with their arguments by name, or by position where code of the model calls them."""

    framework = "smolagents"
    module = "smolagents.tools"
    kind = "Tool"
    methods = ("__call__",)

    def name(self, tool: Any) -> str:
        return "" if tool.name == "final_answer" else str(tool.name)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        named = {key: held for key, held in kwargs.items() if key != "sanitize_inputs_outputs"}
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
    """Another agent is called like a tool, with its task."""

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
    """Agents await `acall`, which of a plain tool goes on to `call`."""

    framework = "LlamaIndex"
    module = "llama_index.core.tools.types"
    kind = "BaseTool"
    methods = ("__call__", "call")
    awaited = ("acall",)

    def name(self, tool: Any) -> str:
        return str(tool.metadata.get_name())

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        context = getattr(tool, "ctx_param_name", None)
        named = {key: held for key, held in kwargs.items() if key != context}
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
    """What an agent takes from its state is among the arguments of a tool, and not of the model."""

    framework = "Haystack"
    module = "haystack.tools.tool"
    kind = "Tool"
    methods = ("invoke",)
    awaited = ("invoke_async",)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = {*(getattr(tool, "inputs_from_state", None) or {}).values()} - {*tool.parameters.get("properties", ())}
        return {key: held for key, held in kwargs.items() if key not in names and type(held).__name__ != "State"}

    def raised(self, tool: Any, given: Mapping[str, Any], error: Exception) -> Any:
        kind = sys.modules["haystack.tools.errors"].ToolInvocationError
        if isinstance(error, (kind, RightcallError)):
            raise error
        told = f"Failed to invoke Tool `{tool.name}` with parameters {given}. Error: {error}"
        raise kind(told, tool_name=tool.name) from error

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "haystack.tools.", "Tool"):
            yield FoundTool(value.name, self.framework, parameters(value.parameters))
        elif is_a(value, "haystack.tools.", "Toolset"):
            yield list(value.tools)
        elif is_a(value, "haystack.components.agents.", "Agent"):
            yield list(value.tools) if isinstance(value.tools, list) else [value.tools]


class _Agno(_ToolObjects):
    """What runs is the call itself, which has the function and the arguments that the model gave."""

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
            raise error  # what Agno raises itself ends the run, or tells the model to try again
        return agno_form(tool).given({"status": "failure", "error": str(error)})

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "agno.tools.", "Function"):
            yield FoundTool(value.name, self.framework, parameters(value.parameters))
        elif is_a(value, "agno.tools.", "Toolkit"):
            yield [*value.functions.values(), *getattr(value, "async_functions", {}).values()]
        elif is_a(value, "agno.agent", "Agent") or is_a(value, "agno.team", "Team"):
            held = list(value.tools) if isinstance(value.tools, (list, tuple)) else []
            members = getattr(value, "members", None)
            yield [each for each in held if not inspect.isroutine(each)]
            yield list(members) if isinstance(members, (list, tuple)) else []
            for each in filter(inspect.isroutine, held):
                yield FoundTool(each.__name__, self.framework, of_callable(each))


class _AgentFramework(_ToolObjects):
    """Functions become tools when an agent is made; those of an MCP server are known once it is connected."""

    framework = "Agent Framework"
    module = "agent_framework._tools"
    kind = "FunctionTool"
    awaited = ("invoke",)

    def given(self, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = kwargs.get("arguments")
        if given is None:
            return {key: held for key, held in kwargs.items() if key not in _OF_INVOKE}
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
"""Parameters of `FunctionTool.invoke` beside the arguments of the function."""


class _DSPy(_ToolObjects):
    """Tools take arguments by name. `ReAct` ends by a tool of its own."""

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
    """Models know tools by cleaned names; work is delegated by tools, too."""

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
"""Settings of agents and crews that bring more tools once they run: of servers, and those that ask other agents."""


class _CrewAICache(_ToolObjects):
    """The cache that a crew may have, by which a call that was made before is answered: no tool runs."""

    framework = "CrewAI"
    module = "crewai.agents.cache.cache_handler"
    kind = "CacheHandler"
    methods = ("read",)

    def _called(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(cache: Any, tool: str, input: str) -> Any:
            held = original(cache, tool, input)
            if held is not None:
                answered(tool, _cached_arguments(input), held, DATA)
            return held

        return read


def _cached_arguments(asked: str) -> dict[str, Any]:
    """Return the arguments that the cache was asked by: an object in JSON, as CrewAI writes it, or else the text."""
    try:
        found = json.loads(asked or "{}")
    except ValueError:
        found = asked
    return found if isinstance(found, dict) else {"input": found}


class _CrewAIText(_ToolObjects):
    """A model may ask for a call in its text. CrewAI then tries a tool that raises several times, which is one call."""

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
            raise error  # what CrewAI raises itself ends the run
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
