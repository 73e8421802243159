"""Messages that tests of logs are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightcall.reading import Turn, read_turns
from rightcall.values.trajectory import Trajectory

ASKED = {"role": "user", "content": "Refund order 7."}
ANSWERED = {"role": "assistant", "content": "Done."}


def asks(*calls: tuple[str, str | None, str]) -> dict[str, Any]:
    """A message of the model that asks for calls: name, id, arguments."""
    items = [{"id": call_id, "function": {"name": name, "arguments": args}} for name, call_id, args in calls]
    return {"role": "assistant", "content": None, "tool_calls": items}


def gives(call_id: str | None, content: str) -> dict[str, Any]:
    """The message with a result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def refund(call_id: str = "1") -> list[dict[str, Any]]:
    """A conversation with one call."""
    return [ASKED, asks(("refund", call_id, '{"order": 7}')), gives(call_id, "ok"), ANSWERED]


def told_again(messages: list[dict[str, Any]]) -> Iterator[Trajectory]:
    """Runs in which the log of a second turn repeats that of the first: as it is, and without each of its messages."""
    more = [{"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "You are welcome."}]
    for lost in range(-1, len(messages)):
        again = [message for place, message in enumerate(messages) if place != lost]
        yield read_turns([Turn(messages=messages), Turn(messages=[*again, *more])])
