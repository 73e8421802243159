"""The agent of AutoGen, asked by its results alone: its tools are not marked."""

from typing import Any

from agent import TOOLS, support

agent = support(TOOLS)


async def answer(question: str) -> Any:
    """Answer one question."""
    return await support(TOOLS).run(task=question)
