"""A support agent of OpenAI Agents, with a session that remembers the conversation."""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from uuid import uuid4

from agents import Agent, Runner, RunResult, SQLiteSession, function_tool, set_trace_processors

if os.environ.get("INSTRUMENTED"):
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument()
else:
    set_trace_processors([])  # nothing is sent to OpenAI


@function_tool
def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


@function_tool
def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


agent = Agent(name="support", model="scripted", instructions="Help with orders.", tools=[lookup_order, refund])


async def answer(question: str, session: dict[str, Any]) -> RunResult:
    """Answer one question, knowing those before it."""
    if "memory" not in session:
        session["memory"] = SQLiteSession(uuid4().hex)
    return await Runner.run(agent, question, session=session["memory"])


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
        self._log: list[Any] = []

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        with named(self._id):
            result = await answer(question, self._session)
        self._log = result.to_input_list()
        return str(result.final_output)

    async def log(self) -> Any:
        """What would be the input of the next turn."""
        return self._log
