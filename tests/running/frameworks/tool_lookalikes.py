"""Modules with the classes of tools that run themselves, as far as an adapter knows them.

The real ones are tried by `make frameworks`. These have the same module names, class names and signatures.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

SCHEMA = {"properties": {"order": {"type": "integer"}}}


class Tool:
    """Of smolagents."""

    inputs: dict[str, Any] = {"order": {"type": "integer"}}

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def __call__(self, *args: Any, sanitize_inputs_outputs: bool = False, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass
class MultiStepAgent:
    """Of smolagents."""

    name: str
    tools: dict[str, Any] = field(default_factory=dict)
    managed_agents: dict[str, Any] = field(default_factory=dict)
    executor_type: str = "local"

    def __call__(self, task: str, **kwargs: Any) -> Any:
        return [tool(order=7) for tool in self.tools.values()]


@dataclass
class ToolOutput:
    content: str
    tool_name: str
    raw_input: dict[str, Any]
    raw_output: Any
    is_error: bool = False


class LlamaTool:
    """`BaseTool` of LlamaIndex."""

    ctx_param_name = "ctx"

    def __init__(self, name: str, function: Any) -> None:
        self._name, self.function = name, function

    @property
    def metadata(self) -> Any:
        name = self._name
        held = {"get_name": lambda self: name, "get_parameters_dict": lambda self: SCHEMA}
        return type("ToolMetadata", (), held)()

    def call(self, *args: Any, **kwargs: Any) -> Any:
        value = self.function(*args, **{key: held for key, held in kwargs.items() if key != "ctx"})
        return value if isinstance(value, ToolOutput) else ToolOutput(str(value), self._name, {}, value)

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(lambda: self.call(*args, **kwargs))


@dataclass
class HaystackTool:
    """`Tool` of Haystack."""

    name: str
    function: Any
    parameters: dict[str, Any] = field(default_factory=lambda: SCHEMA)
    inputs_from_state: dict[str, str] = field(default_factory=lambda: {"user": "user"})

    def invoke(self, **kwargs: Any) -> Any:
        return self.function(**kwargs)

    async def invoke_async(self, **kwargs: Any) -> Any:
        return await asyncio.to_thread(lambda: self.invoke(**kwargs))


class State:
    """Of Haystack."""


class ToolInvocationError(Exception):
    """Of Haystack."""

    def __init__(self, message: str, tool_name: str) -> None:
        super().__init__(message)
        self.tool_name = tool_name


@dataclass
class FunctionExecutionResult:
    """Of Agno."""

    status: str
    result: Any = None
    error: str | None = None


@dataclass
class Function:
    """Of Agno."""

    name: str
    entrypoint: Any
    parameters: dict[str, Any] = field(default_factory=lambda: SCHEMA)


@dataclass
class FunctionCall:
    """Of Agno."""

    function: Function
    arguments: dict[str, Any] | None
    result: Any = None
    error: str | None = None

    def execute(self) -> FunctionExecutionResult:
        try:
            self.result = self.function.entrypoint(**(self.arguments or {}))
        except ValueError as error:
            return FunctionExecutionResult("failure", error=str(error))
        return FunctionExecutionResult("success", self.result)

    async def aexecute(self) -> FunctionExecutionResult:
        return self.execute()


@dataclass
class Content:
    """Of Agent Framework."""

    text: Any


class MicrosoftTool:
    """`FunctionTool` of Agent Framework."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def parameters(self) -> dict[str, Any]:
        return SCHEMA

    @staticmethod
    def parse_result(value: Any) -> list[Content]:
        return [Content(str(value))]

    async def invoke(self, *, arguments: Any = None, context: Any = None, **kwargs: Any) -> Any:
        return self.parse_result(self.function(**(arguments if arguments is not None else kwargs)))


class DspyTool:
    """`Tool` of DSPy."""

    args = SCHEMA["properties"]

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def __call__(self, **kwargs: Any) -> Any:
        return self.function(**kwargs)

    async def acall(self, **kwargs: Any) -> Any:
        return self.function(**kwargs)


def sanitize_tool_name(name: str) -> str:
    """Of CrewAI."""
    return name.lower().replace(" ", "_")


class ArgumentsOfRefund:
    """A model of Pydantic, as far as CrewAI uses it."""

    model_fields = SCHEMA["properties"]

    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        return SCHEMA


class CrewTool:
    """`BaseTool` of CrewAI."""

    args_schema = ArgumentsOfRefund

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass
class BaseAgent:
    """Of CrewAI."""

    tools: list[Any]
    mcps: list[str] = field(default_factory=list)
    allow_delegation: bool = False


@dataclass
class Task:
    """Of CrewAI."""

    tools: list[Any]


@dataclass
class Crew:
    """Of CrewAI."""

    agents: list[Any]
    tasks: list[Any]
    manager_agent: Any = None


class CacheHandler:
    """Of CrewAI."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Any] = {}

    def read(self, tool: str, input: str) -> Any:
        return self.held.get((tool, input))


@dataclass
class ToolFailure:
    """Of CrewAI."""

    message: str


@dataclass
class ToolCalling:
    """Of CrewAI, and the action that it was parsed from."""

    tool: str
    arguments: dict[str, Any] | None


class ToolUsage:
    """Of CrewAI, for a call that a model asked for in its text."""

    def __init__(self, action: ToolCalling, tool: CrewTool, cache: CacheHandler | None = None) -> None:
        self.action, self.tool, self.cache = action, tool, cache or CacheHandler()
        self.last_failure: ToolFailure | None = None
        self._raw: Any = None

    def get_last_raw_result(self, fallback: Any) -> Any:
        return fallback if self._raw is None else self._raw

    def use(self, calling: ToolCalling, tool_string: str) -> str:
        self._raw = self.cache.read(self.tool.name, json.dumps(calling.arguments))
        for _ in range(3):
            try:
                self._raw = self._raw or self.tool.function(**(calling.arguments or {}))
            except ValueError as error:
                self.last_failure = ToolFailure(str(error))
                continue
            return f"{self._raw}\n\nUse this format: …"
        return f"I encountered an error: {self.last_failure}"

    async def ause(self, calling: ToolCalling, tool_string: str) -> str:
        return self.use(calling=calling, tool_string=tool_string)


CrewTool.__name__ = "BaseTool"
LlamaTool.__name__, MicrosoftTool.__name__ = "BaseTool", "FunctionTool"
HaystackTool.__name__ = DspyTool.__name__ = "Tool"
MODULES: dict[str, dict[str, Any]] = {
    "smolagents.tools": {"Tool": Tool},
    "smolagents.agents": {"MultiStepAgent": MultiStepAgent},
    "llama_index.core.tools.types": {"BaseTool": LlamaTool, "ToolOutput": ToolOutput},
    "haystack.tools.tool": {"Tool": HaystackTool, "State": State},
    "haystack.tools.errors": {"ToolInvocationError": ToolInvocationError},
    "agno.tools.function": {
        "FunctionCall": FunctionCall,
        "Function": Function,
        "FunctionExecutionResult": FunctionExecutionResult,
    },
    "agent_framework._tools": {"FunctionTool": MicrosoftTool},
    "dspy.adapters.types.tool": {"Tool": DspyTool},
    "crewai.tools.base_tool": {"BaseTool": CrewTool, "sanitize_tool_name": sanitize_tool_name},
    "crewai.agents.cache.cache_handler": {"CacheHandler": CacheHandler},
    "crewai.agents.agent_builder.base_agent": {"BaseAgent": BaseAgent},
    "crewai.task": {"Task": Task},
    "crewai.crew": {"Crew": Crew},
    "crewai.tools.tool_usage": {"ToolUsage": ToolUsage, "sanitize_tool_name": sanitize_tool_name},
}
