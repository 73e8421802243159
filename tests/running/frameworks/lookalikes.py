"""Modules with the classes that frameworks dispatch their tools through, as far as an adapter knows them.

The real ones are tried by `make frameworks`. These have the same module names, class names and signatures.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any


def _module(name: str, **held: Any) -> ModuleType:
    made = ModuleType(name)
    for key, value in held.items():
        if isinstance(value, type):
            value.__module__ = name
        setattr(made, key, value)
    return made


class AbstractToolset:
    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        raise NotImplementedError


class FunctionToolset(AbstractToolset):
    def __init__(self, **functions: Any) -> None:
        self.tools = {name: _Tool(function) for name, function in functions.items()}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return self.tools[name].function(ctx, **tool_args)


class WrapperToolset(AbstractToolset):
    def __init__(self, wrapped: AbstractToolset) -> None:
        self.wrapped = wrapped

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return await self.wrapped.call_tool(name, tool_args, ctx, tool)


class PrefixedToolset(WrapperToolset):
    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        inner = name.removeprefix("shop_")
        return await super().call_tool(inner, tool_args, replace(ctx, tool_name=inner), tool)


class RenamedToolset(WrapperToolset):
    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return await super().call_tool("shop_pay", tool_args, replace(ctx, tool_name="shop_pay"), tool)


@dataclass
class _Tool:
    function: Any

    @property
    def function_schema(self) -> Any:
        return type("Schema", (), {"json_schema": {"properties": {"order": {"type": "integer"}}}})


@dataclass
class RunContext:
    tool_name: str | None = None
    deps: Any = None
    tool_call_id: str | None = None
    messages: Sequence[Any] = ()
    tool_call_approved: bool = False


class BaseTool:
    """Of LangChain."""

    response_format = "content"

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    @property
    def tool_call_schema(self) -> dict[str, Any]:
        return {"properties": {"order": {"type": "integer"}}}

    def run(self, given: dict[str, Any]) -> Any:
        return self._run(**given)

    async def arun(self, given: dict[str, Any]) -> Any:
        return await self._arun(**given)

    def _run(self, **given: Any) -> Any:
        raise NotImplementedError

    async def _arun(self, **given: Any) -> Any:
        return await asyncio.to_thread(lambda: self._run(**given))


class StructuredTool(BaseTool):
    def _run(self, **given: Any) -> Any:
        return self.function(**given)


class NightsTool(StructuredTool):
    """A tool with a parameter that the model need not give."""

    @property
    def tool_call_schema(self) -> dict[str, Any]:
        return {"properties": {"order": {"type": "integer"}, "nights": {"type": "integer", "default": 3}}}

    def run(self, given: dict[str, Any]) -> Any:
        return self._run(**{"nights": 3, **given})


@dataclass
class FunctionTool:
    """Of OpenAI Agents."""

    name: str
    on_invoke_tool: Any
    params_json_schema: dict[str, Any] = field(default_factory=lambda: {"properties": {"order": {"type": "integer"}}})


@dataclass
class WebSearchTool:
    name: str = "web_search"


@dataclass
class AgentBase:
    """Of OpenAI Agents."""

    tools: list[Any]
    handoffs: list[Any] = field(default_factory=list)
    mcp_servers: list[Any] = field(default_factory=list)


class AdkTool:
    """`BaseTool` of ADK."""

    def __init__(self, name: str, func: Any) -> None:
        self.name, self.func = name, func

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        raise NotImplementedError


class AdkFunctionTool(AdkTool):
    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return self.func(**args, tool_context=tool_context)


class ClientSession:
    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        failed = {"isError": True} if (arguments or {}).get("fail") else {}
        return CallToolResult({"content": [{"type": "text", "text": f"real {name}"}], **failed})


class CallToolResult:
    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held

    @classmethod
    def model_validate(cls, held: dict[str, Any]) -> CallToolResult:
        return cls(held)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.held


class GraphInterrupt(Exception):  # noqa: N818 - LangGraph calls it so
    """Of LangGraph."""


AdkTool.__name__ = "BaseTool"
MODULES: dict[str, dict[str, type]] = {
    "pydantic_ai.toolsets": {
        "AbstractToolset": AbstractToolset,
        "FunctionToolset": FunctionToolset,
        "WrapperToolset": WrapperToolset,
        "PrefixedToolset": PrefixedToolset,
        "RenamedToolset": RenamedToolset,
        "RunContext": RunContext,
    },
    "langchain_core.tools": {"BaseTool": BaseTool, "StructuredTool": StructuredTool, "NightsTool": NightsTool},
    "agents.tool": {"FunctionTool": FunctionTool, "WebSearchTool": WebSearchTool, "AgentBase": AgentBase},
    "google.adk.tools.base_tool": {"BaseTool": AdkTool, "FunctionTool": AdkFunctionTool},
    "mcp.client.session": {"ClientSession": ClientSession},
    "mcp.types": {"CallToolResult": CallToolResult},
    "langgraph.errors": {"GraphInterrupt": GraphInterrupt},
}


@contextmanager
def loaded(modules: Mapping[str, Mapping[str, Any]] = MODULES) -> Iterator[None]:
    """Have the modules loaded for the length of a block."""
    sys.modules.update({name: _module(name, **held) for name, held in modules.items()})
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
