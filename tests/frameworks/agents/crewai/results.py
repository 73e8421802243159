"""A crew of one support agent."""

import os
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}  # before CrewAI is imported

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool


@tool("lookup_order")
def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


support = Agent(
    role="support",
    goal="Help with orders",
    backstory="You know all orders.",
    tools=[lookup_order],
    llm=LLM(model="openai/scripted", base_url=os.environ["OPENAI_BASE_URL"]),
)
task = Task(description="{question}", expected_output="an answer", agent=support)
agent = Crew(agents=[support], tasks=[task])


def answer(question: str) -> Any:
    """Answer one question."""
    return agent.kickoff(inputs={"question": question})
