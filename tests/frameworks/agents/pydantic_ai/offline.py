"""A support agent of Pydantic AI whose tools take a context, and say when they ran for real."""

import os
from pathlib import Path

from pydantic_ai import Agent, RunContext

agent = Agent("openai-chat:scripted", name="support", instructions="Help with orders.", deps_type=type(None))


@agent.tool
def lookup_order(ctx: RunContext[None], order_id: int) -> str:
    """Say where an order is."""
    Path(os.environ["RAN"]).touch()
    return f"order {order_id}: shipped"


@agent.tool
def refund(ctx: RunContext[None], order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


async def broken(question: str) -> str:
    """Answer a question, and break."""
    await agent.run(question)
    raise RuntimeError("after the call")
