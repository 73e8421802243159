"""One call while it is put together from spans and messages."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ._recorded_values import NOTHING
from ._span import Span

_PLACE = re.compile(r"[_.:-]?[0-9]+")


class CallRecord(msgspec.Struct, eq=False):
    """What is known about one call so far. Fields that were not recorded hold `NOTHING` or None."""

    name: str
    span: Span | None = None
    convention: str = ""
    layers: tuple[str, ...] = ()
    """The instrumentations that recorded the call."""
    args: Any = NOTHING
    bare: Any = NOTHING
    """The value of an argument whose name was not recorded."""
    unparsable: bool = False
    output: Any = NOTHING
    error: str | None = None
    failed: bool = False
    call_id: str | None = None
    tool_id: str | None = None
    agent: str | None = None
    parent: CallRecord | None = None
    under: str | None = None
    """The nearest enclosing span of a call, an agent or a model."""
    is_parent_known: bool = True
    """Whether it is known which call made this one, or that none did."""
    is_placed: bool = True
    """Whether the trace shows which span is inside which."""
    group: str | None = None
    turn: int | None = None
    order: int = -1
    """Its position among the requests of the model; -1 if no message shows it."""
    asked_ns: int | None = None
    """When the model was asked for the message with the call. It orders calls that only messages show."""
    answered_ns: int | None = None
    """When the model returned that message."""
    joined: bool = False
    """Whether a span was found for the request."""
    unread: str = ""
    """A description of the span or message, if the call was not understood because its tool has no name."""
    is_doubtful: bool = False
    """Whether another span may be the same call or a second one, and nothing recorded decides it."""
    withheld: str = ""
    """Why the call was requested and not carried out."""
    of_user: bool = False
    """Whether a simulated user made the call, not the agent."""

    def fill(self, other: CallRecord) -> None:
        """Fill the gaps from another record of the same call."""
        if self.args is NOTHING:
            self.args = other.args
        if self.bare is NOTHING:
            self.bare = other.bare
        if self.output is NOTHING:
            self.output = other.output
        self.call_id = self.call_id or other.call_id
        self.tool_id = self.tool_id or other.tool_id
        self.agent = self.agent or other.agent
        self.error = self.error or other.error
        self.failed = self.failed or other.failed
        self.group = self.group or other.group
        self.turn = other.turn if self.turn is None else self.turn
        self.layers = (*self.layers, *other.layers)
        self.is_doubtful = self.is_doubtful or other.is_doubtful


def have_different_ids(first: CallRecord, second: CallRecord) -> bool:
    """Whether the ids of two records with one name show that they are two calls.

    Where a model gives no ids, instrumentations make them up from the tool's name and a number, such as `search_0`.
    Compared with an id of another kind, such an id says nothing.
    """
    if not first.call_id or not second.call_id or first.call_id == second.call_id:
        return False
    return has_made_up_id(first) == has_made_up_id(second)


def has_made_up_id(record: CallRecord) -> bool:
    """Whether the id of a call is the tool's name and a number."""
    call_id, name = record.call_id or "", record.name
    return bool(name) and call_id.startswith(name) and _PLACE.fullmatch(call_id, len(name)) is not None
