"""What a row of the table of conventions says."""

from __future__ import annotations

import msgspec

from ._envelopes import Envelope

Marks = tuple[tuple[str, str | None], ...]


class Convention(msgspec.Struct, frozen=True):
    """One way to record a tool call as a span."""

    name: str
    marks: Marks
    """Attributes that must be there, with their values; None for any value."""
    call: bool = True
    tool: tuple[str, ...] = ()
    """Attributes with the tool's name, best first; without any, the span's name has it."""
    call_id: tuple[str, ...] = ()
    tool_id: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    args_event: tuple[str, str] | None = None
    """The event and its attribute with the arguments, if they are not in attributes of the span."""
    output_event: tuple[str, str] | None = None
    failure: Marks = ()
    """Attributes that say the call failed, whatever its status."""
    message: tuple[str, ...] = ()
    """Attributes with the message of the error."""
    unwrap_args: tuple[Envelope, ...] = ()
    unwrap_output: tuple[Envelope, ...] = ()
    unwrap_said: tuple[Envelope, ...] = ()
    """Wrappings of outputs in messages."""
    encoded: bool = False
    """Whether outputs are always JSON, so that `21.5` is a number and `"21.5"` a text."""
    keeps_quotes: bool = False
    """Whether a text output is taken as it is, even in quotes."""
    setting: str = ""
    """The setting that makes producers record arguments and outputs; shown in a warning if they are missing."""
    decision: str = ""
    """The attribute with what a person decided, if the span is of the question whether the call may be made."""
    dialect: str = ""
    """A name shared by conventions that one instrumentation may mix; by default the convention's own name."""
