"""The agent as Rightcall runs it: its results are not known to Rightcall, so its tools are marked."""

from typing import Any

from agent import TOOLS, answer as answered

from rightcall import tool

MARKED = tuple([tool(each) for each in TOOLS])


async def answer(question: str, session: dict[str, Any]) -> str:
    """Answer one question, knowing those before it."""
    return str(await answered(question, session, MARKED))
