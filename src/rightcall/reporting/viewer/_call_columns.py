"""Every call of a run, in columns: what the page of a tool needs to find, count and time its calls."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator, Sequence

import msgspec

from rightcall.values.trajectory import ToolCall

_UNKNOWN = -1
# Fits the signed 64-bit column; times in a trace may be any integers.
_LONGEST = 2**62


class CallPlace(msgspec.Struct, frozen=True):
    """One call: the line of the journal it is in, its place there, how long it took, and whether it failed."""

    line: int
    position: int
    nanoseconds: int | None
    is_error: bool


class Columns:
    """The calls of many results. A call takes 21 bytes, whatever is in it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tools = array("I")
        self._lines = array("I")
        self._positions = array("I")
        self._times = array("q")
        self._errors = array("b")

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, line: int, calls: Sequence[ToolCall], names: Sequence[str]) -> None:
        """Add the calls of the result on a line, under these names."""
        for position, (call, name) in enumerate(zip(calls, names, strict=True)):
            self._tools.append(self._numbers.setdefault(name, len(self._numbers)))
            self._lines.append(line)
            self._positions.append(position)
            self._times.append(_duration(call))
            self._errors.append(call.error is not None or call.suspected_error)

    def tools(self) -> list[str]:
        """Return the names of the tools that were called."""
        return list(self._numbers)

    def counts(self, lines: Container[int]) -> dict[str, tuple[int, int]]:
        """Return the number of calls of each tool on these lines, and of calls that failed."""
        calls, errors = [0] * len(self._numbers), [0] * len(self._numbers)
        for tool, line, is_error in zip(self._tools, self._lines, self._errors, strict=True):
            if line in lines:
                calls[tool] += 1
                errors[tool] += is_error
        return {name: (calls[tool], errors[tool]) for name, tool in self._numbers.items() if calls[tool]}

    def of_tool(self, name: str) -> Iterator[CallPlace]:
        """Yield the calls of one tool, in the order of the lines."""
        wanted = self._numbers.get(name)
        for place, tool in enumerate(self._tools):
            if tool == wanted:
                taken = self._times[place]
                yield CallPlace(
                    self._lines[place],
                    self._positions[place],
                    None if taken == _UNKNOWN else taken,
                    bool(self._errors[place]),
                )


def _duration(call: ToolCall) -> int:
    """Return the duration of a call; a trace may contain any integer, and clocks may run backwards."""
    if call.start_ns is None or call.end_ns is None or call.end_ns < call.start_ns:
        return _UNKNOWN
    return min(call.end_ns - call.start_ns, _LONGEST)
