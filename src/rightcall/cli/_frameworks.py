"""Detect the framework of a project's agent, its tools, and how `rightcall run` would name it.

Files are read as text. Nothing in them is imported.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

_MOST_FILES = 2_000
_MOST_FOLDERS = 5_000
_MOST_BYTES = 1 << 20
_SKIPPED = {"node_modules", "site-packages", "venv", "env", "build", "dist", "__pycache__"}
_REQUIREMENTS = re.compile(r"pyproject\.toml|requirements[\w.-]*\.txt")


class Framework(msgspec.Struct, frozen=True):
    """How a framework is recognised."""

    name: str
    imported: str
    """A pattern of the module that its users import."""
    required: str
    """A pattern of its name among dependencies."""
    agents: tuple[str, ...]
    """Patterns of the line that makes an agent, in the order they are tried; their group is the agent's name."""
    example: str
    """The name of an agent if no such line is found."""
    advice: str
    scope: str
    """The name of its instrumentation in traces."""


class Found(msgspec.Struct, frozen=True):
    """A framework, the name of its agent, and whether that was seen or is an example."""

    framework: Framework
    agent: str
    is_seen: bool
    tools: tuple[SeenTool, ...] = ()
    others: tuple[str, ...] = ()
    """Other agents of the framework that were seen."""


_MADE = r"^(\w+)\s*(?::[^=\n]+)?=\s*"
_FUNCTION = r"^(?:async )?def (answer|main|run)\(\s*\w"
_WITH_DEPENDENCIES = _FUNCTION + r"[^\n]*\n(?:(?:[ \t][^\n]*)?\n)*?[ \t][^\n]*\bdeps\s*="
"""A function that passes an agent of Pydantic AI the dependencies of its tools, which `rightcall run` cannot."""
_GRAPH = _MADE + r"\(?\s*(?:\w+\.)?StateGraph\([^\n]*(?:\n[ \t]+[^\n]*)*?\.compile\("
"""A graph that is made and compiled in one statement, as in LangGraph's own template."""
_AGENT = _MADE + r"Agent(?:\[[^\n]*\])?\("


def _object(name: str, package: str, required: str, classes: str, scope: str) -> Framework:
    """Return a framework whose agents are objects of these classes, recorded by an instrumentation of OpenInference."""
    made = _MADE + rf"(?:{classes})\("
    advice = "the file and the name of the agent, or of a function that asks it"
    return Framework(
        name, package, required, (made, _FUNCTION), "agent.py:agent", advice, f"openinference.instrumentation.{scope}"
    )


_FRAMEWORKS = (
    Framework(
        name="Google's ADK",
        imported=r"(?:google\.adk|google\s+import\s+adk)",
        required=r"google-adk",
        agents=(r"^(root_agent)\s*(?::[^=\n]+)?=",),
        example="my_agent",
        advice="the folder of the agent, in which agent.py has `root_agent`",
        scope="gcp.vertex.agent",
    ),
    Framework(
        name="LangGraph",
        imported=r"(?:langgraph|langchain\.agents)",
        required=r"langgraph",
        agents=(_MADE + r"(?:\w+\.compile|create_react_agent|create_agent)\(", _GRAPH),
        example="graph.py:graph",
        advice="the file and the name of the compiled graph",
        scope="openinference.instrumentation.langchain",
    ),
    Framework(
        name="OpenAI Agents",
        imported=r"agents\s+import\s[\s\w,(]*\b(?:Agent|Runner|function_tool)",
        required=r"openai-agents",
        agents=(_FUNCTION, _AGENT),
        example="agent.py:agent",
        advice="the file and the name of the Agent, or of a function that returns await Runner.run(agent, input)",
        scope="openinference.instrumentation.openai_agents",
    ),
    Framework(
        name="pydantic-ai",
        imported=r"pydantic_ai",
        required=r"pydantic-ai(?:-slim)?",
        agents=(_WITH_DEPENDENCIES, _AGENT),
        example="agent.py:agent",
        advice="the file and the name of the Agent, or of a function that returns await agent.run(input, deps=…)",
        scope="pydantic-ai",
    ),
    _object("LlamaIndex", "llama_index", "llama-index(?:-core)?", r"\w*Agent|AgentWorkflow", "llama_index"),
    _object("Agno", "agno", "agno", "Agent|Team", "agno"),
    _object("Strands", "strands", "strands-agents", "Agent", "strands_agents"),
    _object("smolagents", "smolagents", "smolagents", r"\w*Agent", "smolagents"),
    _object("Haystack", "haystack", "haystack-ai", "Agent", "haystack"),
    _object("CrewAI", "crewai", "crewai", "Crew", "crewai"),
    Framework(
        name="Agent Framework",
        imported=r"agent_framework",
        required=r"agent-framework(?:-core)?",
        agents=(_AGENT, _FUNCTION),
        example="agent.py:agent",
        advice="the file and the name of the Agent, or of a function that asks it",
        scope="agent_framework",
    ),
    Framework(
        name="AutoGen",
        imported="autogen_agentchat",
        required="autogen-agentchat",
        agents=(_FUNCTION,),
        example="agent.py:answer",
        advice="a function that makes the agent, keeps it in its `session`, and returns await agent.run(task=question)",
        scope="openinference.instrumentation.autogen_agentchat",
    ),
)


def framework_of(folder: Path) -> Found | None:
    """Return the framework that Python files of a folder import or, if none does, that its dependencies name."""
    texts = list(_texts(folder))
    modules = [(path, text) for path, text in texts if path.suffix == ".py"]
    for framework in _FRAMEWORKS:
        users = _users_of(framework, modules)
        if users:
            tools = tools_in([text for _, text in (*users, *modules)])
            return msgspec.structs.replace(_imported(framework, users), tools=tools)
    for framework in _FRAMEWORKS:
        required = re.compile(rf"(?:^|[\"'\s]){framework.required}(?![\w-])", re.MULTILINE)
        if any(required.search(text) for path, text in texts if path.suffix != ".py"):
            return Found(framework, framework.example, False)
    return None


def _users_of(framework: Framework, modules: list[tuple[Path, str]]) -> list[tuple[Path, str]]:
    imports = re.compile(rf"^\s*(?:from|import)\s+{framework.imported}(?![\w])", re.MULTILINE)
    return [(path, text) for path, text in modules if imports.search(text)]


def _imported(framework: Framework, users: list[tuple[Path, str]]) -> Found:
    for pattern in framework.agents:
        made = [(path, name) for path, text in users for name in re.findall(pattern, text, re.MULTILINE)]
        if made:
            path, name = _root_of(made, users)
            others = [_named(*one) for one in made if one != (path, name)]
            return Found(framework, _named(path, name), True, others=tuple(others))
    return Found(framework, framework.example, False)


def _root_of(made: list[tuple[Path, str]], users: list[tuple[Path, str]]) -> tuple[Path, str]:
    """Return the first agent that no other one hands over to, and no tool asks; the first of all if there is none."""
    texts = "\n".join([text for _, text in users])
    asked = {name for function in _tool_functions([text for _, text in users]) for name in _names_in(function)}
    used = {
        name
        for _, name in made
        if name in asked
        or re.search(rf"(?:handoffs|sub_agents|agents|tools|nodes)\s*=\s*[\[(][^\])]*\b{name}\b", texts)
        or re.search(rf"\b{name}\.(?:as_tool|as_agent)\(|\bhandoff\(\s*{name}\b|AgentTool\([^)]*\b{name}\b", texts)
    }
    return next((one for one in made if one[1] not in used), made[0])


def _names_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the names in the body of a function. Decorators are left out: they name the agent that has the tool."""
    for statement in function.body:
        yield from [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]


def _named(path: Path, name: str) -> str:
    """Return the name to pass to `rightcall run`; for ADK agents that is the folder."""
    if name == "root_agent" and path.name in ("agent.py", "__init__.py") and path.parent != Path():
        return path.parent.as_posix()
    return f"{path.as_posix()}:{name}"


def _texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield Python files and lists of dependencies below a folder, by relative path; unreadable ones as empty."""
    found = 0
    for root, folders, files in islice(os.walk(folder), _MOST_FOLDERS):
        folders[:] = sorted([name for name in folders if name not in _SKIPPED and not name.startswith(".")])
        for name in sorted(files):
            path = Path(root, name)
            if (name.endswith(".py") or _REQUIREMENTS.fullmatch(name)) and path.is_file():
                found += 1
                if found > _MOST_FILES:
                    return
                yield path.relative_to(folder), _beginning(path)


def _beginning(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""  # a file that may not be read tells nothing of the project


_MOST_MODULES = 50
_MOST_CHARACTERS = 200_000
_MOST_TOOLS = 20
_MARKS = {"tool", "function_tool", "tool_plain"}
"""The names of tool decorators in LangChain, OpenAI Agents and pydantic-ai, alone or as attributes of an object."""
_GIVEN_BY_FRAMEWORK = {"self", "cls", "ctx", "context", "tool_context", "config", "state", "runtime", "wrapper"}
_CONTEXTS = ("Context", "ContextWrapper", "Injected", "RunnableConfig", "ToolRuntime")
_TYPES = ("str", "int", "float", "bool")


class Parameter(msgspec.Struct, frozen=True):
    """An argument that has to be given: its name, and its type if it is a plain one."""

    name: str
    type: str | None


class SeenTool(msgspec.Struct, frozen=True):
    """A function that an agent can call."""

    name: str
    parameters: tuple[Parameter, ...]


def tools_in(modules: Iterable[str]) -> tuple[SeenTool, ...]:
    """Return the tools in the strings of modules: functions marked as such, and those listed as `tools`, in order.

    A module that is too long or not Python is skipped.
    """
    found: dict[str, SeenTool] = {}
    for node in _tool_functions(modules):
        found.setdefault(node.name, SeenTool(node.name, tuple(_parameters(node))))
    return tuple(found.values())[:_MOST_TOOLS]


def _tool_functions(modules: Iterable[str]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    trees = [tree for tree in map(_tree, _few(modules)) if tree is not None]
    listed = {name for tree in trees for name in _listed(tree)}
    for node in [node for tree in trees for node in ast.walk(tree)]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (_is_marked(node) or node.name in listed):
            yield node


def _few(modules: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(modules):
        if number < _MOST_MODULES and len(text) <= _MOST_CHARACTERS:
            yield text


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # text that is not Python, or is made to be hard to read


def _listed(tree: ast.Module) -> Iterator[str]:
    """Yield the names in `tools=[…]`, as an argument or as an assignment."""
    for node in ast.walk(tree):
        named = [node.arg] if isinstance(node, ast.keyword) else []
        if isinstance(node, ast.Assign):
            named = [one.id for one in node.targets if isinstance(one, ast.Name)]
        if "tools" in named and isinstance(node, (ast.keyword, ast.Assign)):
            yield from _names(node.value)


def _names(value: ast.expr) -> list[str]:
    listed = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    return [one.id for one in listed if isinstance(one, ast.Name)]


def _is_marked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return any(
        (isinstance(mark, ast.Name) and mark.id in _MARKS) or (isinstance(mark, ast.Attribute) and mark.attr in _MARKS)
        for mark in marks
    )


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Parameter]:
    given = [*node.args.posonlyargs, *node.args.args]
    needed = given[: len(given) - len(node.args.defaults)]
    needed += [one for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None]
    for one in needed:
        annotation = ast.unparse(one.annotation) if one.annotation is not None else "str"
        if one.arg not in _GIVEN_BY_FRAMEWORK and not any(context in annotation for context in _CONTEXTS):
            yield Parameter(one.arg, annotation if annotation in _TYPES else None)
