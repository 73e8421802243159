"""A support agent of Agno, with a database that remembers the conversation."""

import os
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat

if os.environ.get("INSTRUMENTED"):
    from openinference.instrumentation.agno import AgnoInstrumentor

    AgnoInstrumentor().instrument()


def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


TOOLS = (lookup_order, refund)


def support(tools: Sequence[Any]) -> Agent:
    """The agent."""
    return Agent(
        name="support",
        model=OpenAIChat(id="scripted"),
        tools=list(tools),
        instructions="Help with orders.",
        db=InMemoryDb(),
        add_history_to_context=True,
        telemetry=False,
    )


async def answer(question: str, session: dict[str, Any], tools: Sequence[Any] = TOOLS) -> str:
    """Answer one question, knowing those before it."""
    if "agent" not in session:
        session |= {"agent": support(tools), "id": uuid4().hex}
    session["run"] = await session["agent"].arun(question, session_id=session["id"])
    return str(session["run"].content)


class Chat:
    """One conversation in a service."""

    def __init__(self) -> None:
        self._session: dict[str, Any] = {}

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        return await answer(question, self._session)

    async def log(self) -> Any:
        """The messages of the last run, with the history that it was given."""
        return [message.to_dict() for message in self._session["run"].messages]
