"""Which framework a project's agent is made with, and how `rightcall run` would name that agent.

Files are read as text. Nothing in them is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from ._seen_tools import SeenTool, tools_in

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
    agent: str
    """A pattern of the line that makes an agent; its group is the agent's name."""
    example: str
    """What an agent is called where no such line is found."""
    advice: str
    scope: str
    """The instrumentation that records its traces, as these name it."""
    adapter: str = ""
    """The text of a module with a function that asks an agent, where agents are no functions themselves."""


class Found(msgspec.Struct, frozen=True):
    """A framework, the name of the agent as far as it is known, and whether that was seen or is an example."""

    framework: Framework
    agent: str
    is_seen: bool
    tools: tuple[SeenTool, ...] = ()
    adapter: tuple[tuple[str, str], ...] = ()
    """A file that makes the agent one that can be run, and its text, where that is needed."""


_MADE = r"^(\w+)\s*(?::[^=\n]+)?=\s*"
_ADAPTER_FILE = "rightcall_agent.py"
_ADAPTER = '''\
"""The agent, as `rightcall run` asks it: one question in, one answer out."""

from agents import Runner, RunResult
from {module} import {agent}


async def answer(question: str) -> RunResult:
    return await Runner.run({agent}, question)
'''
_FRAMEWORKS = (
    Framework(
        name="Google's ADK",
        imported=r"(?:google\.adk|google\s+import\s+adk)",
        required=r"google-adk",
        agent=r"^(root_agent)\s*(?::[^=\n]+)?=",
        example="my_agent",
        advice="the folder of the agent, in which agent.py has `root_agent`",
        scope="gcp.vertex.agent",
    ),
    Framework(
        name="LangGraph",
        imported=r"(?:langgraph|langchain\.agents)",
        required=r"langgraph",
        agent=_MADE + r"(?:\w+\.compile|create_react_agent|create_agent)\(",
        example="graph.py:graph",
        advice="the file and the name of the compiled graph",
        scope="openinference.instrumentation.langchain",
    ),
    Framework(
        name="OpenAI Agents",
        imported=r"agents\s+import\s[\s\w,(]*\b(?:Agent|Runner|function_tool)",
        required=r"openai-agents",
        agent=r"^(?:async )?def (answer|main|run)\(\s*\w",
        example="agent.py:answer",
        advice="a function that takes the input and returns await Runner.run(agent, input)",
        scope="openinference.instrumentation.openai_agents",
        adapter=_ADAPTER,
    ),
    Framework(
        name="pydantic-ai",
        imported=r"pydantic_ai",
        required=r"pydantic-ai(?:-slim)?",
        agent=_MADE + r"Agent(?:\[[^\n]*\])?\(",
        example="agent.py:agent",
        advice="the file and the name of the Agent",
        scope="pydantic-ai",
    ),
)


def framework_of(folder: Path) -> Found | None:
    """The framework that the Python files of a folder import or, where none does, that its dependencies name."""
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
    for path, text in users:
        agent = re.search(framework.agent, text, re.MULTILINE)
        if agent is not None:
            return Found(framework, _named(path, agent[1]), True)
    return _adapted(framework, users) or Found(framework, framework.example, False)


def _adapted(framework: Framework, users: list[tuple[Path, str]]) -> Found | None:
    """The agent of a framework whose agents are no functions, run by a function that is written for it."""
    inside = {path.parent for path, _ in users if path.name == "__init__.py"}
    for path, text in users:
        agent = re.search(_MADE + r"Agent(?:\[[^\n]*\])?\(", text, re.MULTILINE)
        if framework.adapter and agent and path.parent not in inside and path.stem.isidentifier():
            file = path.with_name(_ADAPTER_FILE).as_posix()
            text = framework.adapter.format(module=path.stem, agent=agent[1])
            return Found(framework, f"{file}:answer", True, adapter=((file, text),))
    return None


def _named(path: Path, name: str) -> str:
    """What `rightcall run` calls this agent; one of ADK goes by its folder."""
    if name == "root_agent" and path.name in ("agent.py", "__init__.py") and path.parent != Path():
        return path.parent.as_posix()
    return f"{path.as_posix()}:{name}"


def _texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """The Python files and lists of dependencies below a folder, by their paths in it; what cannot be read is not."""
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
