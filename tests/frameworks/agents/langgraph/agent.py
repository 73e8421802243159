"""A support agent of LangChain and LangGraph, with a checkpointer that remembers the conversation."""

import os
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.messages import messages_to_dict
from langgraph.checkpoint.memory import InMemorySaver

if os.environ.get("INSTRUMENTED"):
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument()


def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = create_agent(
    "openai:scripted",
    tools=[lookup_order, refund],
    system_prompt="Help with orders.",
    checkpointer=InMemorySaver(),
)


class Chat:
    """One conversation in a service."""

    def __init__(self) -> None:
        self._thread: Any = {"configurable": {"thread_id": uuid4().hex}}
        self._messages: list[Any] = []

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        state = await agent.ainvoke({"messages": [{"role": "user", "content": question}]}, self._thread)
        self._messages = state["messages"]
        return str(self._messages[-1].content)

    async def log(self) -> Any:
        """The messages of the state."""
        return messages_to_dict(self._messages)
