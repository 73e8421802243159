"""Logs of messages as turns of a conversation."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import msgspec

from rightcall.reading.messages import Log, exchanges_of, steps_up

from ._answers import answer, question


class Said(msgspec.Struct, frozen=True):
    """A log of messages: a whole conversation, or all there was of one when a turn ended."""

    log: Log
    turn: int | None = None
    """The turn at whose end it was given back; none where it is a whole conversation."""
    asked: str | None = None
    """What the user asked in that turn, where that is known."""


def asked_and_answered_in(messages: list[Any]) -> list[tuple[Any, Any]]:
    """What the user asked and what the answer was, of each turn of a log; at least of one."""
    turns = steps_up(exchanges_of(messages))
    if not turns or turns[-1] in (None, 0):
        return [(question(messages), answer(messages))]
    told = [(turn or 0, message) for turn, message in zip(turns, messages, strict=True)]
    parts = [[message for _, message in part] for _, part in groupby(told, key=lambda pair: pair[0])]
    return [(question(part), answer(part)) for part in parts]
