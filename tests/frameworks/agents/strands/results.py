"""The agent of Strands, as an object."""

from typing import Any

from agent import support

agent = support("all cases")


async def answer(question: str) -> Any:
    """Answer one question."""
    return await support(question).invoke_async(question)
