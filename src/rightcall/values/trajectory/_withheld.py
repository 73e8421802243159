"""A call that an agent asked for and that was not carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS


class WithheldCall(msgspec.Struct, frozen=True):
    """A call that was asked for and not carried out: put off, or refused by a person."""

    name: str
    args: Mapping[str, Any] | None = None
    """Its arguments; `None` where they were not recorded."""
    reason: str = ""
    """Why it was not carried out."""

    def __post_init__(self) -> None:
        name, args, reason = [getattr(self, field) for field in self.__struct_fields__]
        if not isinstance(name, str) or not 0 < len(name) <= DEFAULT_LIMITS.name_length:
            raise InputError(f"a withheld call named {shown(name)}; a tool's name is text and not empty")
        if args is not None and not isinstance(args, Mapping):
            raise InputError(f"the arguments of {name[:80]!r} are {shown(args)}; they should be an object")
        if not isinstance(reason, str):
            raise InputError(f"the reason why {name[:80]!r} was withheld is {shown(reason)}, and no text")
