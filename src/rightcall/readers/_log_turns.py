"""Logs of messages as turns of a conversation."""

from __future__ import annotations

from functools import cached_property
from itertools import groupby
from typing import Any

import msgspec

from ._answers import answer, question
from ._message_log import Exchange, exchanges_of
from ._threads import steps_up


class Log(msgspec.Struct, frozen=True, dict=True):
    """A log of messages: a whole conversation, or all there was of one when a turn ended."""

    messages: list[Any]
    turn: int | None = None
    """The turn at whose end it was given back; none where it is a whole conversation."""
    asked: str | None = None
    """What the user asked in that turn, where that is known."""

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """What happens in each message."""
        return exchanges_of(self.messages)


def asked_and_answered_in(messages: list[Any]) -> list[tuple[Any, Any]]:
    """What the user asked and what the answer was, of each turn of a log; at least of one."""
    held = [message for message in messages if isinstance(message, dict)]
    turns = steps_up(exchanges_of(held))
    if not turns or turns[-1] in (None, 0):
        return [(question(messages), answer(messages))]
    told = [(turn or 0, message) for turn, message in zip(turns, held, strict=True)]
    parts = [[message for _, message in part] for _, part in groupby(told, key=lambda pair: pair[0])]
    return [(question(part), answer(part)) for part in parts]
