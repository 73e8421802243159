"""The conversation that every framework is led through, and what the model says in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

QUESTIONS = ("Where is order 7?", "Then refund it.", "Thanks!")
ANSWERS = ("Order 7 was shipped yesterday.", "I refunded 20 for order 7.", "You are welcome!")
CALLS: tuple[tuple[str, dict[str, Any]] | None, ...] = (
    ("lookup_order", {"order_id": 7}),
    ("refund", {"order_id": 7, "amount": 20}),
    None,
)
FORGOTTEN = "Which order do you mean?"
"""What the model says where the conversation that it is sent does not begin with the first question."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation: `user` with a text, `result` of a tool, or anything else."""

    role: str
    text: str = ""


@dataclass(frozen=True)
class Said:
    """What the model says next: a sentence, or the call of a tool."""

    text: str | None = None
    tool: str = ""
    args: dict[str, Any] | None = None


def next_step(conversation: Sequence[Message]) -> Said:
    """The call that belongs to the last question, or its answer where a result stands behind it."""
    asked = [place for place, message in enumerate(conversation) if message.role == "user"]
    questions = [conversation[place].text for place in asked]
    turn = len(questions) - 1
    # Some frameworks put a question into a larger prompt.
    if turn >= len(QUESTIONS) or not all([said in text for said, text in zip(QUESTIONS, questions, strict=False)]):
        return Said(text=FORGOTTEN)
    call = CALLS[turn]
    is_answered = any(message.role == "result" for message in conversation[asked[-1] :])
    if call is None or is_answered:
        return Said(text=ANSWERS[turn])
    return Said(tool=call[0], args=call[1])
