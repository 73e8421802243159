"""What went wrong, one sentence at a time."""

from __future__ import annotations

import msgspec


class NamedCall(msgspec.Struct, frozen=True):
    """A call that a finding is about: its position in its own list, from 0, and its text."""

    position: int
    text: str


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that went wrong: a stable code, one sentence, and the calls it is about."""

    code: str
    """Such as `RC101`; `rightcall explain RC101` says more."""
    message: str
    expected: NamedCall | None = None
    actual: NamedCall | None = None
    path: str | None = None
    """Which part of the criteria it is about, such as `tool_calls[2]`."""
    help: str | None = None
    """What to do about it, where there is something specific to say."""
