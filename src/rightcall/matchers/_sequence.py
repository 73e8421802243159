"""Expected calls as a sequence, ready to be compared with many trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from rightcall.trajectory import ToolCall

from ._calls import Pattern


class ExpectedCalls:
    """Expected calls in order.

    Most trajectories that pass begin with exactly the expected calls. Where all expectations are literal, that is
    seen by two comparisons of whole lists, and only values that Python confuses are looked at one by one.
    """

    __slots__ = ("_confusable", "_literals", "_part", "name_set", "names", "patterns")

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self.names = tuple([pattern.name for pattern in patterns])
        self.name_set = frozenset(self.names)
        self._literals = [pattern.literal for pattern in patterns]
        self._confusable = [index for index, pattern in enumerate(patterns) if pattern.is_confusable]
        self._part: Callable[[ToolCall], Any] = attrgetter(patterns[0].part if patterns else "args")

    def __len__(self) -> int:
        return len(self.patterns)

    def begin(self, calls: Sequence[ToolCall], names: tuple[str, ...]) -> bool:
        """Whether the first calls, which have these names, surely satisfy the expected ones, one by one."""
        size = len(self.patterns)
        if names[:size] != self.names:
            return False
        equal = list(map(self._part, calls[:size])) == self._literals
        for index in self._confusable if equal else range(size):  # noqa: SIM110 - faster than a generator
            if not self.patterns[index].accepts(calls[index]):
                return False
        return True
