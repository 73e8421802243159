"""A support agent of AutoGen, which remembers its conversation."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from uuid import uuid4

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient

if os.environ.get("INSTRUMENTED"):
    from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

    AutogenAgentChatInstrumentor().instrument()


def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


TOOLS = (lookup_order, refund)


def support(tools: Sequence[Any]) -> AssistantAgent:
    """An agent for one conversation."""
    info = ModelInfo(vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False)
    return AssistantAgent(
        "support",
        model_client=OpenAIChatCompletionClient(model="scripted", model_info=info),
        tools=list(tools),
        system_message="Help with orders.",
        reflect_on_tool_use=True,
    )


async def answer(question: str, session: dict[str, Any], tools: Sequence[Any] = TOOLS) -> str:
    """Answer one question, knowing those before it."""
    if "agent" not in session:
        session["agent"] = support(tools)
    result = await session["agent"].run(task=question)
    session.setdefault("messages", []).extend(result.messages)
    return str(result.messages[-1].to_text())


def named(session_id: str) -> AbstractContextManager[Any]:
    """Have the spans of a turn name the session, as OpenInference's documentation says."""
    if not os.environ.get("INSTRUMENTED"):
        return nullcontext()
    from openinference.instrumentation import using_session

    return using_session(session_id)


class Chat:
    """One conversation in a service."""

    def __init__(self) -> None:
        self._id = uuid4().hex
        self._session: dict[str, Any] = {}

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        with named(self._id):
            return await answer(question, self._session)

    async def log(self) -> Any:
        """The messages of all turns."""
        return [message.dump() for message in self._session["messages"]]
