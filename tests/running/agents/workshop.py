"""Agents written into a folder, loaded, asked and closed again."""

from __future__ import annotations

import asyncio
import inspect
import textwrap
from pathlib import Path
from typing import Any

from rightcall.running.agents import Agent, AgentAnswer, AgentOptions, AgentRequest, load_agent


class Workshop:
    """A project folder in which a test writes agents."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.loaded: list[Agent] = []

    def write(self, name: str, text: str) -> Path:
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def load(self, named: str, **options: Any) -> Agent:
        agent = load_agent(named, self.project, AgentOptions(**options))
        self.loaded.append(agent)
        return agent

    def output(self, named: str, given: Any, **request: Any) -> Any:
        return ask(self.load(named), given, **request).output


def ask(agent: Agent, given: Any = None, **request: Any) -> AgentAnswer:
    """The answer of an agent, awaited if it has to be."""
    answer = agent.answer(AgentRequest(input=given, **{"case_id": "case", **request}))
    assert inspect.isawaitable(answer) == agent.is_async
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer  # type: ignore[return-value]
