"""Where the values of arguments come from: which output of an earlier call had the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rightcall.values.results import value_text
from rightcall.values.trajectory import ToolCall

_SHORTEST = 3
_SMALLEST = 100
"""Short texts and small numbers are in many outputs by chance: 1, "a", "ok" say nothing about where they come from."""
_MOST_VALUES = 100_000
_MOST_FLOWS = 6
_DEEPEST = 12
_USES = 10


class Flow(msgspec.Struct, frozen=True):
    """An argument whose value an earlier call returned."""

    argument: str
    value: str
    source: int
    """The number of that call."""


def flows_of(
    calls: Sequence[ToolCall], numbers: range
) -> tuple[dict[int, tuple[Flow, ...]], dict[int, tuple[int, ...]]]:
    """Return the flows into the calls with these numbers, and for each source the calls that use its values.

    The source is the last call before it that returned the value, and had ended as far as times are known.
    """
    holders: dict[Any, list[int]] = {}
    left = _MOST_VALUES
    flows: dict[int, tuple[Flow, ...]] = {}
    uses: dict[int, list[int]] = {}
    for number, call in enumerate(calls[: max(0, numbers.stop - 1)], 1):
        if number in numbers:
            found = tuple(_into(call, number, calls, holders))[:_MOST_FLOWS]
            if found:
                flows[number] = found
            for flow in found:
                known = uses.setdefault(flow.source, [])
                if number not in known:
                    known.append(number)
        for value in _leaves(call.output):
            if left <= 0:
                break
            left -= 1
            if _tells(value):
                holders.setdefault((value.__class__, value), []).append(number)
    return flows, {source: tuple(numbers[:_USES]) for source, numbers in uses.items()}


def _into(call: ToolCall, number: int, calls: Sequence[ToolCall], holders: dict[Any, list[int]]) -> Iterator[Flow]:
    for name, value in (call.args or {}).items():
        for leaf in _leaves(value):
            if not _tells(leaf):
                continue
            earlier = [
                each for each in holders.get((leaf.__class__, leaf), ())[-20:] if _had_ended(calls[each - 1], call)
            ]
            if earlier:
                yield Flow(str(name)[:80], value_text(leaf, 60), earlier[-1])
                break


def _had_ended(source: ToolCall, call: ToolCall) -> bool:
    if source.group is not None and source.group == call.group:
        return False  # asked for at once: neither can know what the other returns
    return source.end_ns is None or call.start_ns is None or source.end_ns <= call.start_ns


def _tells(value: Any) -> bool:
    if isinstance(value, str):
        return _SHORTEST <= len(value) <= 1_000
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) >= _SMALLEST


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """The values inside of a value that hold no others."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, depth + 1)
    else:
        yield value
