"""An adapter for each framework, and a search for the tools of a loaded agent.

No framework is imported here. An adapter patches its framework once the agent has imported it, for the life of the
process, and passes calls on unchanged while nothing is mocked, recorded or logged.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from rightcall.errors import nearest, shown
from rightcall.running.tracing import declared_parameters, marked_tools

from ._dispatch import (
    CONTENT_AND_ARTIFACT,
    DATA,
    MCP_RESULT,
    RETURN_VALUE,
    TOOL_OUTPUT,
    DispatchedCall,
    Form,
    dispatch_log,
    dispatched,
    dispatched_plainly,
    is_same_call,
)
from ._tool_objects import (
    TOOL_OBJECTS,
    WRAPPED,
    Adapter,
    FoundTool,
    family,
    is_a,
    of_callable,
    parameters,
    schema_of,
    wrap,
)

_MOST_OBJECTS = 20_000
_UIPATH = "uipath.eval.mocks"
_INSTALLED = ("site-packages", "dist-packages", "lib/python")
_MARKED = "rightcall"
_LISTED = 12
"""How many names of tools a message lists."""


def stand_in_for_frameworks() -> tuple[Adapter, ...]:
    """Patch all frameworks that have been imported so far, and return their adapters."""
    loaded = tuple([adapter for adapter in ADAPTERS if adapter.module in sys.modules])
    for adapter in loaded:
        adapter.stand_in()
    return loaded


@contextmanager
def logging_calls(log: list[DispatchedCall]) -> Iterator[None]:
    """Log the tool calls of all frameworks that have been imported so far, during the block."""
    stand_in_for_frameworks()
    token = dispatch_log.set(log)
    try:
        yield
    finally:
        with suppress(ValueError):  # closed in another context than it was opened in, where there is nothing to reset
            dispatch_log.reset(token)


class _PydanticAI:
    """Toolsets have `call_tool`. Those that only wrap others stand in for no tool: one of them asks for approval first.

    Of those that prefix or rename tools the name that the model used is kept for the toolset inside.
    """

    framework = "Pydantic AI"
    module = "pydantic_ai.toolsets"
    _FORWARDING = ("WrapperToolset", "CombinedToolset", "DynamicToolset", "ExternalToolset", "OutputToolset")

    def stand_in(self) -> None:
        for kind in family(sys.modules[self.module].AbstractToolset):
            bases = {base.__name__ for base in kind.__mro__}
            if not bases.isdisjoint(_RENAMING):
                wrap(kind, "call_tool", _call_renaming)
            elif bases.isdisjoint(self._FORWARDING):
                wrap(kind, "call_tool", _call_toolset)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "pydantic_ai.toolsets.", "AbstractToolset"):
            yield from self._of_toolset(value)
        elif is_a(value, "pydantic_ai.agent", "AbstractAgent"):
            yield list(getattr(value, "toolsets", ()))
            for native in getattr(value, "_builtin_tools", ()) or getattr(value, "_native_tools", ()) or ():
                name = str(getattr(native, "kind", type(native).__name__))
                yield FoundTool(name, self.framework, problem="the model's provider runs it")

    def _of_toolset(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        tools = getattr(value, "tools", None)
        if isinstance(tools, Mapping):
            for name, tool in tools.items():
                yield FoundTool(name, self.framework, parameters(schema_of(tool, "function_schema", "json_schema")))
            return
        inner = [getattr(value, name) for name in ("wrapped", "toolsets") if hasattr(value, name)]
        toolsets = [each for one in inner for each in (one if isinstance(one, (list, tuple)) else [one])]
        # A toolset that prefixes or renames tools lists the new names only when the agent runs.
        is_renaming = any([base.__name__ in _RENAMING for base in type(value).__mro__])
        if toolsets and not is_renaming:
            yield toolsets
        elif not is_a(value, "pydantic_ai._output", "OutputToolset"):
            yield FoundTool(type(value).__name__, self.framework, is_source=True)


_RENAMING = ("PrefixedToolset", "RenamedToolset")
_asked: ContextVar[tuple[str, str] | None] = ContextVar("rightcall_asked", default=None)
"""The id of the call that is being made in this context, and the name by which the model asked for it."""


def _call_renaming(original: Callable[..., Any]) -> Callable[..., Any]:
    async def call_tool(self: Any, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        call_id, asked = getattr(ctx, "tool_call_id", None), _asked.get()
        if isinstance(call_id, str) and (asked is None or asked[0] != call_id):
            asked = call_id, name  # the outermost toolset has the name that the model knows
        token = _asked.set(asked)
        try:
            return await original(self, name, tool_args, ctx, tool)
        finally:
            _asked.reset(token)

    return call_tool


def _call_toolset(original: Callable[..., Any]) -> Callable[..., Any]:
    async def call_tool(self: Any, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        # The context has the name that the model used, or since 2.68 that of the toolset inside.
        asked = _asked.get()
        is_renamed = asked is not None and asked[0] == getattr(ctx, "tool_call_id", None)
        seen = asked[1] if asked is not None and is_renamed else getattr(ctx, "tool_name", None) or name
        given = _asked_with(ctx, tool_args)
        return await dispatched(seen, given, lambda: original(self, name, tool_args, ctx, tool), RETURN_VALUE)

    return call_tool


def _asked_with(ctx: Any, tool_args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that the model gave, without the defaults that Pydantic adds to them.

    A person who approved the call may have changed them.
    """
    messages, call_id = getattr(ctx, "messages", None) or (), getattr(ctx, "tool_call_id", None)
    parts = [] if not messages or not call_id else getattr(messages[-1], "parts", ())
    asked = [part for part in parts if getattr(part, "tool_call_id", None) == call_id and hasattr(part, "args_as_dict")]
    if len(asked) != 1 or getattr(ctx, "tool_call_approved", False):
        return tool_args
    return dict(asked[0].args_as_dict())


class _LangChain:
    """`BaseTool.run` and `arun` handle callbacks and call `_run` and `_arun`, which every kind of tool defines.

    LangGraph's `ToolNode` invokes LangChain tools, and adds state, store and runtime to their arguments.
    """

    framework = "LangChain"
    module = "langchain_core.tools"

    def stand_in(self) -> None:
        for kind in family(sys.modules[self.module].BaseTool):
            wrap(kind, "run", _invoke_tool)
            wrap(kind, "arun", _ainvoke_tool)
            wrap(kind, "_run", _run_tool)
            wrap(kind, "_arun", _arun_tool)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "langchain_core.tools", "BaseTool"):
            yield FoundTool(value.name, self.framework, parameters(_declared(value)))
            return
        by_name, nodes = getattr(value, "tools_by_name", None), getattr(value, "nodes", None)
        if isinstance(by_name, Mapping):
            yield list(by_name.values())
        if isinstance(nodes, Mapping) and isinstance(getattr(value, "channels", None), Mapping):
            yield [getattr(node, "bound", None) for node in nodes.values()]
            yield [inner for node in nodes.values() for inner in getattr(node, "subgraphs", None) or ()]


_invoked: ContextVar[tuple[Any, Any] | None] = ContextVar("rightcall_invoked", default=None)
"""The tool of LangChain that is being invoked in this context, and its input before defaults are added to it."""


def _invoke_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        token = _invoked.set((self, tool_input))
        try:
            return original(self, tool_input, *args, **kwargs)
        finally:
            _invoked.reset(token)

    return run


def _ainvoke_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    async def arun(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        token = _invoked.set((self, tool_input))
        try:
            return await original(self, tool_input, *args, **kwargs)
        finally:
            _invoked.reset(token)

    return arun


def _run_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatched_plainly(
            self.name, _given(self, args, kwargs), lambda: original(self, *args, **kwargs), _form_of(self)
        )

    return _run


def _arun_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await dispatched(
            self.name, _given(self, args, kwargs), lambda: original(self, *args, **kwargs), _form_of(self)
        )

    return _arun


def _given(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the model gave: those in the schema that was sent to it, without defaults."""
    names, invoked = list(_declared(tool).get("properties", {})), _invoked.get()
    if invoked is not None and invoked[0] is tool and isinstance(invoked[1], Mapping):
        return {key: invoked[1][key] for key in names if key in invoked[1]}
    return {**dict(zip(names, args, strict=False)), **{key: kwargs[key] for key in names if key in kwargs}}


def _declared(tool: Any) -> Mapping[str, Any]:
    schema = tool.tool_call_schema
    found: Mapping[str, Any] = schema if isinstance(schema, Mapping) else schema.model_json_schema()
    return found


def _form_of(tool: Any) -> Form:
    """Return how a LangChain tool answers: with a value, or with a pair of content and artifact."""
    return CONTENT_AND_ARTIFACT if getattr(tool, "response_format", "") == "content_and_artifact" else DATA


class _OpenAIAgents:
    """A `FunctionTool` has its invoker in a field; a descriptor on the class wraps it whenever it is read."""

    framework = "OpenAI Agents"
    module = "agents.tool"

    def stand_in(self) -> None:
        kind = sys.modules[self.module].FunctionTool
        if not isinstance(vars(kind).get("on_invoke_tool"), _InvokerField):
            kind.on_invoke_tool = _InvokerField()

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "agents.tool", "FunctionTool"):
            yield FoundTool(value.name, self.framework, parameters(value.params_json_schema))
        elif type(value).__module__ == "agents.tool" and isinstance(getattr(value, "name", None), str):
            yield FoundTool(value.name, self.framework, problem="the model's provider or its own executor runs it")
        elif is_a(value, "agents.", "AgentBase"):
            yield list(value.tools)
            yield [getattr(each, "agent", each) for each in getattr(value, "handoffs", ())]
            for server in getattr(value, "mcp_servers", ()):
                yield FoundTool(str(getattr(server, "name", "MCP server")), self.framework, is_source=True)


class _InvokerField:
    """The descriptor of `on_invoke_tool`: stores the invoker, and returns a wrapper of it, always the same one."""

    def __get__(self, tool: Any, kind: type | None = None) -> Any:
        if tool is None:
            raise AttributeError("on_invoke_tool")  # as before: the field has no default
        inner = tool.__dict__["on_invoke_tool"]
        made = tool.__dict__.get(WRAPPED)
        if made is None or made.__wrapped__ is not inner or object.__getattribute__(made, "_tool") is not tool:
            made = tool.__dict__[WRAPPED] = _Invoker(tool, inner)
        return made

    def __set__(self, tool: Any, value: Any) -> None:
        tool.__dict__["on_invoke_tool"] = value.__wrapped__ if type(value) is _Invoker else value


class _Invoker:
    """A wrapper of a tool's invoker that differs from it only when it is called.

    The SDK compares invokers by identity, checks their class, and reads attributes of them.
    """

    def __init__(self, tool: Any, inner: Callable[..., Any]) -> None:
        self._tool = tool
        self.__wrapped__ = inner

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    async def __call__(self, context: Any, arguments: str) -> Any:
        inner, given = self.__wrapped__, _decoded(arguments)
        if given is None:  # not a JSON object: the SDK reports that to the model, and no tool runs
            return await inner(context, arguments)
        return await dispatched(self._tool.name, given, lambda: inner(context, arguments), TOOL_OUTPUT)


def _decoded(arguments: str) -> dict[str, Any] | None:
    try:
        given = json.loads(arguments) if arguments else {}
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


class _GoogleADK:
    """Every tool has `run_async(args=…, tool_context=…)`. Functions become tools when the agent runs."""

    framework = "Google ADK"
    module = "google.adk.tools.base_tool"

    def stand_in(self) -> None:
        for kind in family(sys.modules[self.module].BaseTool):
            wrap(kind, "run_async", _run_async)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "google.adk.tools.", "BaseTool"):
            is_ours = type(value).run_async is not sys.modules[self.module].BaseTool.run_async
            yield FoundTool(
                value.name, self.framework, of_callable(value), "" if is_ours else "the model's provider runs it"
            )
        elif is_a(value, "google.adk.tools.", "BaseToolset"):
            yield FoundTool(type(value).__name__, self.framework, is_source=True)
        elif is_a(value, "google.adk.apps.", "App"):
            yield [value.root_agent]
        elif is_a(value, "google.adk.agents.", "BaseAgent"):
            tools = list(getattr(value, "tools", ()))
            yield [each for each in tools if not inspect.isroutine(each)] + list(value.sub_agents)
            for each in filter(inspect.isroutine, tools):
                yield FoundTool(each.__name__, self.framework, of_callable(each))


def _run_async(original: Callable[..., Any]) -> Callable[..., Any]:
    async def run_async(self: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await dispatched(self.name, args, lambda: original(self, args=args, tool_context=tool_context), DATA)

    return run_async


class _Mcp:
    """A client session calls the tools of an MCP server, in this process or over a network."""

    framework = "MCP"
    module = "mcp.client.session"

    def stand_in(self) -> None:
        wrap(sys.modules[self.module].ClientSession, "call_tool", _call_session)

    def look(self, value: Any) -> Iterator[FoundTool | list[Any]]:
        if is_a(value, "mcp.client.", "ClientSession"):
            yield FoundTool("ClientSession", self.framework, is_source=True)


def _call_session(original: Callable[..., Any]) -> Callable[..., Any]:
    async def call_tool(self: Any, name: str, arguments: dict[str, Any] | None = None, *args: Any, **more: Any) -> Any:
        run = functools.partial(original, self, name, arguments, *args, **more)
        if is_same_call(name, arguments or {}):
            return await run()
        return await dispatched(name, arguments or {}, run, MCP_RESULT)

    return call_tool


ADAPTERS: tuple[Adapter, ...] = (_PydanticAI(), _LangChain(), _OpenAIAgents(), _GoogleADK(), _Mcp(), *TOOL_OBJECTS)


class ToolInventory(msgspec.Struct, frozen=True):
    """The tools of an agent, as far as they are known before it runs."""

    tools: tuple[FoundTool, ...] = ()
    is_open: bool = False
    """Whether more tools may be created or listed when the agent runs, for which mocks can answer."""

    @property
    def are_all_seen(self) -> bool:
        """Whether every tool call would be observed, so that no observed calls means that none were made."""
        return bool(self.tools) and not any([tool.problem for tool in self.tools])


def find_tools(target: Any, project: Path) -> ToolInventory:
    """Find the tools of an agent, and patch the frameworks that it uses.

    The search covers the agent, the modules of its project, and the lists, objects and closures in them. Tools that are
    marked with our decorators are found wherever they are.
    """
    adapters = stand_in_for_frameworks()
    found = {tool.name: tool for tool in _seen(adapters, _roots(target, project))}
    for marks in marked_tools():  # last, because a marked function may also be a framework's tool
        if marks.tool not in found or found[marks.tool].problem:
            found[marks.tool] = FoundTool(marks.tool, _MARKED, declared_parameters(marks.function))
    tools = tuple(sorted(found.values(), key=lambda tool: tool.name))
    has_source = any([tool.is_source for tool in tools])
    # A framework is imported, but no tool of it was found: the agent may create them while it runs.
    is_made_later = bool(adapters) and not any([tool.framework != _MARKED for tool in tools])
    return ToolInventory(tools, has_source or is_made_later or _UIPATH in sys.modules)


def unreached_names(inventory: ToolInventory, names: Iterable[str]) -> str | None:
    """Return a message about the first name for which mocks cannot answer; None if there is none.

    A name with `*` has to match a tool. If there may be more tools when the agent runs, an unknown name is accepted.
    """
    tools = [tool for tool in inventory.tools if not tool.is_source]
    for name in names:
        fits = _pattern(name).matches if "*" in name else name.__eq__
        fitting = [tool for tool in tools if fits(tool.name)]
        reached = [tool for tool in fitting if not tool.problem]
        if fitting and not reached:
            return f"nothing can stand in for the tool {shown(name)} of {fitting[0].framework}: {fitting[0].problem}"
        if not fitting and not inventory.is_open:
            return _unknown(name, [tool.name for tool in tools])
    return None


def _pattern(name: str) -> Any:
    from rightcall.matching.matchers import NamePattern  # few names have a `*`, and most workers need no matchers

    return NamePattern.of(name)


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        found = "no tools were found in the agent"
    else:
        listed = ", ".join(known[:_LISTED]) + (f" and {len(known) - _LISTED} more" if len(known) > _LISTED else "")
        found = f"the agent's tools are {listed} ({nearest(name, known)})"
    return (
        f"no tool {shown(name)} to stand in for: {found}; mark the function with @rightcall.tool, or correct the name"
    )


def _seen(adapters: tuple[Adapter, ...], roots: Iterable[Any]) -> Iterator[FoundTool]:
    left, seen = deque(roots), set[int]()
    kept: list[Any] = []  # references, so that the id of a freed object is not reused meanwhile
    while left and len(seen) < _MOST_OBJECTS:
        value = left.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        for adapter in adapters:
            for found in adapter.look(value):
                if isinstance(found, FoundTool):
                    yield found
                else:
                    left.extend(found)
        left.extend(_parts(value))


def _roots(target: Any, project: Path) -> Iterator[Any]:
    yield target
    own = sys.modules.get(getattr(target, "__module__", None) or "")
    if own is not None and _is_own(own):
        yield from list(vars(own).values())
    for module in list(sys.modules.values()):
        if _is_own(module) and Path(str(module.__file__)).is_relative_to(project):
            yield from list(vars(module).values())


def _parts(value: Any) -> Iterator[Any]:
    """Yield the parts of a value of the agent's own code; objects of installed packages are left to the adapters."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()
    elif inspect.isfunction(value):
        yield from _closed_over(value)
    elif inspect.ismethod(value):
        yield value.__self__
    elif not isinstance(value, (str, bytes, int, float, type, ModuleType)) and _is_own(
        sys.modules.get(type(value).__module__)
    ):
        yield from list(getattr(value, "__dict__", {}).values())


def _closed_over(function: Any) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _is_own(module: Any) -> bool:
    """Whether a module belongs to the user's program, not to Python, an installed package or Rightcall."""
    file = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
    if not isinstance(file, str) or module.__name__.partition(".")[0] == _MARKED:
        return False
    return not any([part in file for part in _INSTALLED])
