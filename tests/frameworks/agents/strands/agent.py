"""A support agent of Strands. Strands has spans of its own, and an agent object remembers its conversation."""

import os
from typing import Any
from uuid import uuid4

from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool
def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


@tool
def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


def support(conversation: str) -> Agent:
    """An agent for one conversation."""
    model = OpenAIModel(
        client_args={"api_key": os.environ["OPENAI_API_KEY"], "base_url": os.environ["OPENAI_BASE_URL"]},
        model_id="scripted",
    )
    return Agent(
        model=model,
        tools=[lookup_order, refund],
        system_prompt="Help with orders.",
        callback_handler=None,
        trace_attributes={"session.id": conversation},
    )


async def answer(question: str, session: dict[str, Any]) -> str:
    """Answer one question, knowing those before it."""
    if "agent" not in session:
        session["agent"] = support(uuid4().hex)
    return str(await session["agent"].invoke_async(question)).strip()


class Chat:
    """One conversation in a service."""

    def __init__(self) -> None:
        self._session: dict[str, Any] = {}

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        return await answer(question, self._session)

    async def log(self) -> Any:
        """The messages of the agent."""
        return list(self._session["agent"].messages)
