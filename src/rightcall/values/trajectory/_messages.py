"""What users and models said in a run, to be looked at. No verdict depends on it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

MessageWriter: TypeAlias = Literal["user", "model", "system"]
"""Who wrote a message; `system` for instructions."""


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message, and what was recorded of the call of a model that returned it. `None` is not recorded."""

    writer: MessageWriter
    text: str = ""
    """The text, as much of it as is kept; empty where a model only asks for calls, or it was not recorded."""
    left_out: int = 0
    """The number of characters that are not kept."""
    at: int = 0
    """The number of calls that come before it."""
    asks: int = 0
    """The number of calls that the model asks for in it."""
    turn: int | None = None
    agent: str | None = None
    parent_id: str | None = None
    """The span id of the call in which an agent said it."""
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """What the trace says the call of the model cost, in dollars. It is never worked out from prices."""
    start_ns: int | None = None
    end_ns: int | None = None
