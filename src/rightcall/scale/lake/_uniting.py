"""Which traces belong to one run, found out before any of their spans is read."""

from __future__ import annotations

from collections.abc import Iterable


class United:
    """Traces of one conversation or session. The smallest id among them stands for all, in whatever order they came."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._above: dict[str, str] = {}

    def add(self, groups: Iterable[tuple[str, str]]) -> None:
        """Take in traces, each with the id of a conversation or session."""
        for trace, group in groups:
            first = self._first.setdefault(group, trace)
            if first != trace:
                self._unite(self.top(first), self.top(trace))

    def top(self, trace: str) -> str:
        """The trace that stands for all that a trace is united with."""
        above = self._above
        while (higher := above.get(trace)) is not None:
            highest = above.get(higher)
            if highest is None:
                return higher
            above[trace] = trace = highest
        return trace

    def _unite(self, one: str, other: str) -> None:
        if one != other:
            self._above[max(one, other)] = min(one, other)
