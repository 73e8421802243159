"""Which arguments of a call are made up: values that should come from a source, and were seen nowhere there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.errors import LimitError
from rightcall.limits import DEFAULT_LIMITS, Budget
from rightcall.values.results import value_text
from rightcall.values.trajectory import ToolCall

from ._expectations import SOURCES, Compiler, is_matcher
from ._moments import CallMoment
from ._operand import Operand
from ._sources import Source, history_of, source_of

_MOST = 20


class MadeUp(msgspec.Struct, frozen=True):
    """An argument that was seen at no source before."""

    argument: str
    """The path of the argument, as people write it: `id`, `seats[0]`."""
    value: Any
    """What was not seen: the argument, or the first value inside of it."""
    source: Source
    seen: int
    """How many different values were seen at the source before the call."""
    examples: tuple[str, ...]
    """The first of these as text."""

    def __str__(self) -> str:
        told = f"{self.argument} {value_text(self.value, 60)} {self.source.phrase}"
        if not self.seen:
            return f"{told} (nothing there)"
        more = ", …" if self.seen > len(self.examples) else ""
        return f"{told} ({self.seen:,} value{'s' * (self.seen > 1)} there: {', '.join(self.examples)}{more})"


def made_up_values(expected: Any, call: ToolCall, moment: CallMoment | None) -> tuple[MadeUp, ...]:
    """The arguments of a call that surely do not come from where the expected arguments say, at most 20 of them.

    Those inside of another matcher, such as `$anyOf`, are not told: they are one way of several.
    """
    if moment is None or call.args is None:
        return ()
    found: list[MadeUp] = []
    with Budget():
        try:
            for path, source, value in _asked(expected, call.args, ""):
                if (
                    len(found) < _MOST
                    and history_of(moment.trajectory).has_seen(source, value, moment.position) is False
                ):
                    found.append(_told(path, source, value, moment))
        except LimitError:
            pass  # The verdict is settled by now: an explanation that is too expensive is shorter.
    return tuple(found)


def _told(path: str, source: Source, value: Any, moment: CallMoment) -> MadeUp:
    history = history_of(moment.trajectory)
    seen, examples = history.sample(source, moment.position)
    return MadeUp(path, history.unseen(source, value, moment.position), source, seen, tuple(examples))


def _asked(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, Source, Any]]:
    """Every place where a value should come from a source, with the actual value there."""
    if is_matcher(expected):
        if "$from" in expected:
            operand = Operand(expected["$from"], "$from", Compiler(DEFAULT_LIMITS, SOURCES))
            yield path or "the arguments", source_of(operand), actual
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, item in expected.items():
            if key in actual:
                yield from _asked(item, actual[key], f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (item, value) in enumerate(zip(expected, actual, strict=False)):
            yield from _asked(item, value, f"{path}[{index}]")
