"""A support agent of Google's ADK. ADK has spans and sessions of its own."""

from typing import Any

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part


def lookup_order(order_id: int) -> str:
    """Say where an order is."""
    return f"order {order_id}: shipped"


def refund(order_id: int, amount: int) -> str:
    """Pay back an order."""
    return f"order {order_id}: {amount} refunded"


root_agent = Agent(
    name="support", model="gemini-scripted", instruction="Help with orders.", tools=[lookup_order, refund]
)


class Chat:
    """One conversation in a service."""

    def __init__(self) -> None:
        self._runner = InMemoryRunner(root_agent, app_name="support")
        self._session: Any = None

    async def ask(self, question: str) -> str:
        """The answer to the next question."""
        if self._session is None:
            self._session = await self._runner.session_service.create_session(app_name="support", user_id="ann")
        said, answer = Content(role="user", parts=[Part(text=question)]), ""
        async for event in self._runner.run_async(user_id="ann", session_id=self._session.id, new_message=said):
            if event.is_final_response() and event.content and event.content.parts:
                answer = "".join([part.text or "" for part in event.content.parts])
        return answer

    async def log(self) -> Any:
        """The events of the session."""
        session = await self._runner.session_service.get_session(
            app_name="support", user_id="ann", session_id=self._session.id
        )
        return [event.model_dump(mode="json", exclude_none=True, by_alias=True) for event in session.events]
