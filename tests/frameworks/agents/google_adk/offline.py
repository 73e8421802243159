"""A support agent of Google's ADK whose tools take a context, and say when they ran for real."""

import os
from pathlib import Path

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai.types import Content, Part


def lookup_order(order_id: int, tool_context: ToolContext) -> str:
    """Say where an order is."""
    Path(os.environ["RAN"]).touch()
    return f"order {order_id}: shipped"


def refund(order_id: int, amount: int, tool_context: ToolContext) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = Agent(name="support", model="gemini-scripted", instruction="Help with orders.", tools=[lookup_order, refund])


async def broken(question: str) -> str:
    """Answer a question, and break."""
    runner = InMemoryRunner(agent, app_name="support")
    session = await runner.session_service.create_session(app_name="support", user_id="ann")
    said = Content(role="user", parts=[Part(text=question)])
    async for _ in runner.run_async(user_id="ann", session_id=session.id, new_message=said):
        pass
    raise RuntimeError("after the call")
