"""A support agent of Pydantic AI. The history of the conversation is kept in the session."""

import json
import os
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.run import AgentRunResult

if os.environ.get("INSTRUMENTED"):
    Agent.instrument_all()

agent = Agent("openai-chat:scripted", name="support", instructions="Help with orders.")


@agent.tool_plain
def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


@agent.tool_plain
def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


async def answer(question: str, session: dict[str, Any]) -> AgentRunResult[str]:
    """Answer one question, knowing those before it."""
    result = await agent.run(question, message_history=session.get("history"))
    session["history"] = result.all_messages()
    return result


class Chat:
    """One conversation in a service."""

    def __init__(self) -> None:
        self._session: dict[str, Any] = {}
        self._log = b"[]"

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        result = await answer(question, self._session)
        self._log = result.all_messages_json()
        return result.output

    async def log(self) -> Any:
        """The messages so far, as the framework gives them."""
        return json.loads(self._log)
