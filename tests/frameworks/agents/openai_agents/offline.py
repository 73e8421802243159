"""A support agent of OpenAI Agents whose tools take a context, and say when they ran for real."""

import os
from pathlib import Path
from typing import Any

from agents import Agent, RunContextWrapper, Runner, function_tool, set_trace_processors

set_trace_processors([])  # nothing is sent to OpenAI


@function_tool
def lookup_order(context: RunContextWrapper[Any], order_id: int) -> str:
    """Say where an order is."""
    Path(os.environ["RAN"]).touch()
    return f"order {order_id}: shipped"


@function_tool
def refund(context: RunContextWrapper[Any], order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = Agent(name="support", model="scripted", instructions="Help with orders.", tools=[lookup_order, refund])


async def broken(question: str) -> str:
    """Answer a question, and break."""
    await Runner.run(agent, question)
    raise RuntimeError("after the call")
