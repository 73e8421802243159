"""One call while it is being put together from spans and messages."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ._recorded_values import NOTHING
from ._span import Span

_PLACE = re.compile(r"[_.:-]?[0-9]+")


class CallRecord(msgspec.Struct, eq=False):
    """What is known of one call so far. Fields not recorded yet hold `NOTHING`, or None."""

    name: str
    span: Span | None = None
    convention: str = ""
    layers: tuple[str, ...] = ()
    """Which instrumentations saw the call."""
    args: Any = NOTHING
    bare: Any = NOTHING
    """An argument without its name, where the producer kept only the value."""
    unparsable: bool = False
    output: Any = NOTHING
    error: str | None = None
    failed: bool = False
    call_id: str | None = None
    tool_id: str | None = None
    agent: str | None = None
    parent: CallRecord | None = None
    under: str | None = None
    """The nearest span around it that stands for a call, an agent or a model."""
    is_parent_known: bool = True
    """Whether the call that made this one, or that there was none, can be told."""
    is_placed: bool = True
    """Whether the trace tells what is inside of what."""
    group: str | None = None
    turn: int | None = None
    order: int = -1
    """Its place among the requests of the model."""
    asked_ns: int | None = None
    """When the model was asked for the message with the call; it orders calls that only messages show."""
    answered_ns: int | None = None
    """When the model had given that message."""
    joined: bool = False
    """A request for which a span was found."""
    unread: str = ""
    """What the span of a tool looks like whose name is not known: the call is not understood."""
    is_doubtful: bool = False
    """Another span may be of the same call or of one more: nothing recorded tells."""
    withheld: str = ""
    """Why the call was asked for and not carried out."""
    of_user: bool = False
    """A simulated user made the call, not the agent."""

    def fill(self, other: CallRecord) -> None:
        """Take from another record of the same call what this one lacks."""
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
    """Whether the ids of two records of one name say that they are two calls.

    Instrumentations make up ids from the name of a tool and a place, `search_0`, where a model gives none: beside an
    id of another kind, such an id says nothing.
    """
    if not first.call_id or not second.call_id or first.call_id == second.call_id:
        return False
    return has_made_up_id(first) == has_made_up_id(second)


def has_made_up_id(record: CallRecord) -> bool:
    """Whether the id of a call is its name and a number."""
    call_id, name = record.call_id or "", record.name
    return bool(name) and call_id.startswith(name) and _PLACE.fullmatch(call_id, len(name)) is not None
