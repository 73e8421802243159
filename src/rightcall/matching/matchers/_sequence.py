"""Expected calls as a sequence, ready to be compared with many trajectories."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from rightcall.values.trajectory import ToolCall

from ._calls import Pattern, Projection


class Lookup(msgspec.Struct, frozen=True):
    """Expected calls of one tool that one index of the actual calls answers, or that must be tried."""

    name: str
    projection: Projection | None
    numbers: list[int]
    """Their places among the expected calls."""
    keys: list[Hashable]
    """What to look up for each of them."""
    confusable: list[int]
    """The places of those that have to be tried on what was found."""

    trials: list[int]
    """The places of those that have to be tried on every call of the tool."""


class ExpectedCalls:
    """Expected calls in order.

    Most trajectories that pass begin with exactly the expected calls. Where all expectations are literal, that is
    seen by two comparisons of whole lists, and only values that Python confuses are looked at one by one.
    """

    __slots__ = (
        "_confusable",
        "_literals",
        "_part",
        "lookups",
        "name_set",
        "names",
        "names_only",
        "patterns",
        "spends",
    )

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self.names = tuple([pattern.name for pattern in patterns])
        self.name_set = frozenset(self.names)
        self.names_only = all([pattern.accepts_all for pattern in patterns])
        """Whether nothing but the names of calls is expected."""
        self.spends = any([pattern.spends for pattern in patterns])
        """Whether a budget is needed to compare with them: one of them has a matcher."""
        self.lookups = _lookups(patterns)
        self._literals = [pattern.literal for pattern in patterns]
        self._confusable = [index for index, pattern in enumerate(patterns) if pattern.is_delicate]
        self._part: Callable[[ToolCall], Any] = attrgetter(patterns[0].part if patterns else "args")

    def __len__(self) -> int:
        return len(self.patterns)

    def is_beginning_of(self, calls: Sequence[ToolCall], names: tuple[str, ...]) -> bool:
        """Whether the first calls, which have these names, surely satisfy the expected ones, one by one."""
        size = len(self.patterns)
        if names[:size] != self.names:
            return False
        equal = list(map(self._part, calls[:size])) == self._literals
        for index in self._confusable if equal else range(size):  # noqa: SIM110 - faster than a generator
            if not self.patterns[index].accepts(calls[index]):
                return False
        return True


def _lookups(patterns: Sequence[Pattern]) -> list[Lookup]:
    found: dict[tuple[str, Projection | None], Lookup] = {}
    for number, pattern in enumerate(patterns):
        projection, key = pattern.index or (None, None)
        lookup = found.get((pattern.name, projection))
        if lookup is None:
            lookup = found[pattern.name, projection] = Lookup(pattern.name, projection, [], [], [], [])
        lookup.numbers.append(number)
        lookup.keys.append(key)
        if pattern.is_delicate:
            lookup.confusable.append(number)
        if projection is None and not pattern.accepts_all:
            lookup.trials.append(number)
    return list(found.values())
