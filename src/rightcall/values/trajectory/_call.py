"""Calls: made, withheld, and the order in which they happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import NoneType
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS

_NOTHING: frozenset[str] = frozenset()
_ABSENT = {
    (True, True): frozenset({"args", "output"}),
    (True, False): frozenset({"args"}),
    (False, True): frozenset({"output"}),
}
"""The fields that were not given, as sets that all calls share."""


class ToolCall(msgspec.Struct, frozen=True):
    """One call of one tool by an agent.

    `args` and `output` that are not given were not recorded: they are `None` and their names are in
    `unrecorded`. `None` that is given is JSON null. A call that raised has `error` set, and still counts as a call.
    """

    name: str
    args: Mapping[str, Any] | None = UNSET  # type: ignore[assignment]
    output: Any = UNSET
    error: str | None = None
    """The exception or error that the tool reported."""
    turn: int | None = None
    """Which turn of the conversation the call belongs to, from 0."""
    group: str | None = None
    """Calls asked for in one turn of the model share a group."""
    tool_id: str | None = None
    call_id: str | None = None
    span_id: str | None = None
    parent_id: str | None = None
    """`span_id` of the call that made this one, where a tool called another."""
    agent: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    source: Literal["span", "message"] | None = None
    suspected_error: bool = False
    """The record looks like a success, but its text reads like a framework's error."""
    internal: bool = False
    """The framework's own call, such as a hand-off or the final answer."""
    unrecorded: frozenset[str] = _NOTHING
    """Names of the fields the trace did not record."""

    def __post_init__(self) -> None:
        name: object = self.name
        args: object = self.args
        if not isinstance(name, str) or not 0 < len(name) <= DEFAULT_LIMITS.name_length:
            raise InputError(_bad_name(name))
        if self.unrecorded is not _NOTHING:
            self._check_unrecorded()
        if args is UNSET or self.output is UNSET:
            self._mark_unrecorded(args is UNSET, self.output is UNSET)
        # The class first: nearly all arguments are plain dicts, and `isinstance` with an ABC takes ten times as long.
        if args.__class__ is not dict and not isinstance(args, (UnsetType, NoneType)):
            if not isinstance(args, Mapping):
                raise InputError(f"the arguments of {name[:80]!r} are {shown(args)}; they should be an object")
            force_setattr(self, "args", dict(args))

    def _mark_unrecorded(self, args: bool, output: bool) -> None:
        if args:
            force_setattr(self, "args", None)
        if output:
            force_setattr(self, "output", None)
        absent = _ABSENT[args, output]
        force_setattr(self, "unrecorded", self.unrecorded | absent if self.unrecorded else absent)

    def _check_unrecorded(self) -> None:
        given: object = self.unrecorded
        if not isinstance(given, (frozenset, set, list, tuple)) or not all(isinstance(field, str) for field in given):
            raise InputError(f"the unrecorded fields of {self.name[:80]!r} are {shown(given)}, not names")
        for field in given:
            held = getattr(self, field, ...)
            if held is not None and held is not UNSET:
                raise InputError(
                    f"the call of {self.name[:80]!r} cannot have {field[:40]!r} among its unrecorded fields"
                )
        force_setattr(self, "unrecorded", frozenset(given))


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


def in_order(calls: Sequence[ToolCall]) -> list[int]:
    """Return the positions of `calls` in the order they happened.

    By start time; calls that start together, parent before child; else as given. Calls without a start time
    come last. Never by end time: calls that ran at once would come out reversed.
    """
    if all([call.start_ns is None for call in calls]):
        return list(range(len(calls)))
    starts = [call.start_ns for call in calls]
    order = sorted(range(len(calls)), key=lambda position: (starts[position] is None, starts[position] or 0))
    if not any([call.parent_id for call in calls]):
        return order
    together = groupby(order, key=starts.__getitem__)
    return [position for _, positions in together for position in _parents_first(list(positions), calls)]


def _bad_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        return f"a call named {shown(name)}; a tool's name is text and not empty"
    return (
        f"a tool's name of {len(name):,} characters ({name[:40]!r}…) exceeds the limit of "
        f"{DEFAULT_LIMITS.name_length:,}"
    )


def _parents_first(positions: list[int], calls: Sequence[ToolCall]) -> list[int]:
    """Return calls that start together, each after the call that made it, otherwise in their order."""
    if len(positions) < 2:
        return positions
    by_span = {calls[position].span_id: position for position in positions if calls[position].span_id}
    placed: dict[int, None] = {}
    for position in positions:
        chain: list[int] = []
        above: int | None = position
        while above is not None and above not in placed and above not in chain[-1:]:
            chain.append(above)
            above = by_span.get(calls[above].parent_id)
            if above == position:
                break
        placed.update(dict.fromkeys(reversed(chain)))
    return list(placed)
