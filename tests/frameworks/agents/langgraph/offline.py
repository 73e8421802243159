"""A support agent of LangGraph whose tools take the state, and say when they ran for real. It has no checkpointer."""

import os
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.prebuilt import InjectedState


@tool
def lookup_order(order_id: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Say where an order is."""
    Path(os.environ["RAN"]).touch()
    return f"order {order_id}: shipped"


@tool
def refund(order_id: int, amount: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = create_agent("openai:scripted", tools=[lookup_order, refund], system_prompt="Help with orders.")


async def broken(question: str) -> str:
    """Answer a question, and break."""
    await agent.ainvoke({"messages": [{"role": "user", "content": question}]})
    raise RuntimeError("after the call")
