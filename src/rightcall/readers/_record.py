"""One call while it is being put together from spans and messages."""

from __future__ import annotations

from typing import Any

from ._span import Span
from ._values import NOTHING


class Record:
    """What is known of one call so far. Fields not recorded yet hold `NOTHING`, or None."""

    __slots__ = (
        "agent",
        "args",
        "asked_ns",
        "bare",
        "call_id",
        "convention",
        "error",
        "failed",
        "group",
        "layers",
        "name",
        "order",
        "output",
        "parent",
        "source",
        "span",
        "tool_id",
        "turn",
        "unparsable",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.args: Any = NOTHING
        self.bare: Any = NOTHING
        """An argument without its name, where the producer kept only the value."""
        self.output: Any = NOTHING
        self.error: str | None = None
        self.failed = False
        self.call_id: str | None = None
        self.tool_id: str | None = None
        self.agent: str | None = None
        self.span: Span | None = None
        self.convention = ""
        self.layers: tuple[str, ...] = ()
        """Which instrumentations saw the call."""
        self.parent: Record | None = None
        self.group: str | None = None
        self.order = -1
        """Its place among the requests of the model."""
        self.unparsable = False
        self.source: Any = "span"
        self.asked_ns: int | None = None
        """When the model had asked for it, where only messages show the call."""
        self.turn: int | None = None

    def fill(self, other: Record) -> None:
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
