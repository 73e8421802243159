"""From what was captured to a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import Turn, read_turns
from rightcall.values.trajectory import Trajectory


def read_as_begun(
    turns: Sequence[Turn], is_conversation: bool, tools_are_seen: bool, limits: Limits | None
) -> Trajectory:
    """The trajectory of turns whose spans were captured, and so are in the order in which they began.

    Raises:
        InputError: messages or documents of a turn are of no format known.
    """
    limits = limits or DEFAULT_LIMITS
    path = read_turns(turns, is_conversation=is_conversation, tools_are_seen=tools_are_seen, limits=limits)
    return _as_begun(path, [span for turn in turns for span in turn.spans]) if _has_ties(path) else path


def _has_ties(path: Trajectory) -> bool:
    starts = [call.start_ns for call in path.calls]
    return len(set(starts)) < len(starts)


def _as_begun(path: Trajectory, spans: Sequence[Any]) -> Trajectory:
    """A path whose calls of one start time are in the order in which their spans began."""
    places = {f"{span.context.span_id:016x}": place for place, span in enumerate(spans)}
    calls: list[Any] = []
    for _, tied in groupby(path.calls, key=lambda call: call.start_ns):
        together = list(tied)
        if all([call.span_id in places for call in together]):
            together.sort(key=lambda call: places[str(call.span_id)])
        calls += together
    return msgspec.structs.replace(path, calls=tuple(calls), unordered=())
