"""Generalise the arguments of calls that several runs have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from rightcall.cases.accepting import literal
from rightcall.matching.matchers import equal, freeze, seen_before
from rightcall.values.trajectory import ToolCall, Trajectory

_ENOUGH = 5
"""Values seen before a few different ones count as all that there are."""
_FEW = 3
_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST_SHAPE = 60


class Sighting(msgspec.Struct, frozen=True):
    """A call in one of the runs."""

    trajectory: Trajectory
    position: int

    @property
    def call(self) -> ToolCall:
        """The call itself."""
        return self.trajectory.calls[self.position]


def common_args(sightings: Sequence[Sighting], runs: int) -> dict[str, Any]:
    """Return what the arguments of a call have in common, with matchers where they differ.

    A value that was seen once, in one of several runs, may be different next time, and is left out.
    """
    calls = [each.call for each in sightings]
    if any([not call.args for call in calls]) or (len(calls) == 1 < runs):
        return {}
    shared = [key for key in calls[0].args or {} if all([key in (call.args or {}) for call in calls])]
    found = {key: _common_value(sightings, key) for key in shared}
    return {key: value for key, value in found.items() if value is not None and not key.startswith("$")}


def _common_value(sightings: Sequence[Sighting], key: str) -> Any:
    """Return what one argument has in common; `None` if nothing that is worth saying."""
    values = [(each.call.args or {})[key] for each in sightings]
    if all([equal(values[0], value) for value in values]):
        return literal(values[0]) if values[0] is not None else {"$literal": None}
    return _source(sightings, values) or _shape(values) or _few(values)


def _source(sightings: Sequence[Sighting], values: Sequence[Any]) -> Any:
    """Return `$from` a tool whose earlier outputs held each value, or anywhere if all were seen somewhere."""
    if any([value in (None, "", 0, 1) or isinstance(value, bool) for value in values]):
        return None  # such values are in any output by chance
    names = [set(each.trajectory.names[: each.position]) for each in sightings]
    for tool in sorted(set.intersection(*names)):
        if _is_seen(sightings, values, tool):
            return {"$from": tool}
    return {"$from": "anywhere"} if _is_seen(sightings, values, None) else None


def _is_seen(sightings: Sequence[Sighting], values: Sequence[Any], tool: str | None) -> bool:
    return all(
        [
            seen_before(each.trajectory, each.position, value, tool)
            for each, value in zip(sightings, values, strict=True)
        ]
    )


def _shape(values: Sequence[Any]) -> Any:
    r"""Return the pattern of texts that differ in their digits only, such as `^T-\d+$`."""
    if not all([isinstance(value, str) and len(value) <= _LONGEST_SHAPE for value in values]):
        return None
    if all([_UUID.fullmatch(value) for value in values]):
        return {"$regex": f"^{_UUID.pattern}$"}
    shapes = {_DIGITS.sub("0", value) for value in values}
    if len(shapes) > 1 or not _DIGITS.search(values[0]):
        return None
    lengths = [[len(found) for found in _DIGITS.findall(value)] for value in values]
    widths = [
        f"\\d{{{each[0]}}}" if len(set(each)) == 1 and each[0] > 1 else "\\d+" for each in zip(*lengths, strict=True)
    ]
    parts = [re.escape(part).replace("\\-", "-").replace("\\ ", " ") for part in _DIGITS.split(values[0])]
    pieces = [piece for pair in zip(parts, [*widths, ""], strict=True) for piece in pair]
    return {"$regex": f"^{''.join(pieces)}$"}


def _few(values: Sequence[Any]) -> Any:
    """Return `$in` a few values, if each was seen more than once: then they are probably all."""
    if len(values) < _ENOUGH:
        return None
    counted = Counter([freeze(value) for value in values])
    if len(counted) > _FEW or min(counted.values()) < 2:
        return None
    different: list[Any] = []
    for value in values:
        if not any([equal(value, other) for other in different]):
            different.append(value)
    return {"$in": [literal(value) for value in sorted(different, key=repr)]}
