"""A support agent of Haystack."""

from typing import Annotated, Any

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool


@tool
def lookup_order(order_id: Annotated[int, "the order"]) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


@tool
def refund(order_id: Annotated[int, "the order"], amount: Annotated[int, "how much"]) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = Agent(
    chat_generator=OpenAIChatGenerator(model="scripted"),
    tools=[lookup_order, refund],
    system_prompt="Help with orders.",
)


def answer(question: str) -> Any:
    """Answer one question."""
    return agent.run(messages=[ChatMessage.from_user(question)])
