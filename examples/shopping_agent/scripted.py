"""The assistant as an agent of ADK, with a model that is a table; it needs google-adk.

ADK records the calls itself, so the tools are only marked as something that may be mocked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

from rightcall.running.tracing import mockable

from .planner import plan
from .shop import TOOLS


class ScriptedModel(BaseLlm):  # type: ignore[misc]
    """A model that decides by the table of the planner, from what has been said so far."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next round of calls, or what there is to say after the last."""
        requests, rounds_made = _so_far(llm_request.contents)
        decided = plan(requests)
        if rounds_made < len(decided.rounds):
            parts = [types.Part.from_function_call(name=name, args=args) for name, args in decided.rounds[rounds_made]]
        else:
            parts = [types.Part.from_text(text=decided.reply)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def _so_far(contents: list[Any]) -> tuple[list[str], int]:
    """What the customer has asked for, and how many rounds of calls there have been since."""
    requests, rounds_made = [""], 0
    for content in contents:
        texts = [part.text for part in content.parts or () if part.text]
        if content.role == "user" and texts:
            requests.append(" ".join(texts))
            rounds_made = 0
        elif any(part.function_call for part in content.parts or ()):
            rounds_made += 1
    return requests, rounds_made


root_agent = LlmAgent(
    name="ShoppingAgent",
    model=ScriptedModel(),
    instruction="You are the assistant of a shop.",
    tools=[mockable(function) for function in TOOLS.values()],
)
