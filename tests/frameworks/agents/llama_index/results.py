"""A support agent of LlamaIndex."""

import os
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI


def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = FunctionAgent(
    tools=[lookup_order, refund],
    llm=OpenAI(model="gpt-4o-mini", api_base=os.environ["OPENAI_BASE_URL"]),  # it knows its models by their names
    system_prompt="Help with orders.",
)


async def answer(question: str) -> Any:
    """Answer one question."""
    return await agent.run(user_msg=question)
