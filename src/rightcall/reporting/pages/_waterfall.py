"""When each call ran, as bars one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.reporting.reports import Lane, Row, duration_text, rows
from rightcall.values.trajectory import ToolCall

WIDTH = 1_000
"""The whole time, in units of the picture."""
_NARROWEST = 4
_DEEPEST = 12
_MOST_LANES = 40
_BRACKETS = {"first": "┌", "middle": "│", "last": "└"}


class BarView(msgspec.Struct, frozen=True, kw_only=True):
    """A call and its bar: where it begins and how wide it is. A width of 0 means that its time is not known."""

    number: int
    name: str
    depth: int
    begin: float = 0
    width: float = 0
    took: str = ""
    bracket: str = ""
    """Its place among calls that belong together."""
    together: str = ""
    """What joins them, in words."""
    turn: int = 0
    """Which turn of the conversation it belongs to, from 1; 0 where there is one only, or nobody knows."""
    is_error: bool = False
    is_internal: bool = False


class Waterfall(msgspec.Struct, frozen=True):
    """The bars of a case, with the labels of the axis, and how many calls have none for want of room."""

    bars: tuple[BarView, ...] = ()
    axis: tuple[str, ...] = ()
    left_out: int = 0


def waterfall_of(calls: Sequence[ToolCall], most: int) -> Waterfall:
    """The first `most` calls, each below the one that made it.

    A call without a start has no bar, one without an end the narrowest; a clock that went backwards does no harm.
    """
    starts = [call.start_ns for call in calls if call.start_ns is not None]
    ends = [call.end_ns for call in calls if call.end_ns is not None]
    begin, end = min(starts, default=0), max([*ends, *starts], default=0)
    has_turns = any([call.turn for call in calls])
    listed: list[BarView] = []
    for row in rows(calls, _MOST_LANES):
        if len(listed) == most:
            break
        listed.append(_bar(row, begin, max(1, end - begin), has_turns))
    axis = tuple([duration_text((end - begin) * part // 4) for part in range(5)]) if end > begin else ()
    return Waterfall(tuple(listed), axis, len(calls) - len(listed))


def _bar(row: Row, begin: int, length: int, has_turns: bool) -> BarView:
    call = row.call
    left = width = 0.0
    took = ""
    if call.start_ns is not None:
        left = min(WIDTH - _NARROWEST, WIDTH * (call.start_ns - begin) / length)
        width = float(_NARROWEST)
        if call.end_ns is not None:
            took = duration_text(call.end_ns - call.start_ns)
            width = min(WIDTH - left, max(width, WIDTH * (call.end_ns - call.start_ns) / length))
    bracket, together = _joined(row.lanes[-1] if row.lanes else ("", ""))
    return BarView(
        number=row.position + 1,
        name=call.name[:200],
        depth=min(row.depth, _DEEPEST),
        begin=round(left, 1),
        width=round(width, 1),
        took=took,
        bracket=bracket,
        together=together,
        turn=call.turn + 1 if has_turns and call.turn is not None else 0,
        is_error=call.error is not None or call.suspected_error,
        is_internal=call.internal,
    )


def _joined(lane: Lane) -> tuple[str, str]:
    bond, place = lane
    if not bond:
        return "", ""
    return _BRACKETS[place], "at the same time" if bond == "concurrent" else "asked for at once"
