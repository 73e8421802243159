"""Each call of a case with everything recorded about it, and a chart of when it ran."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall.reporting.reports import CallRow, Lane, duration_text, rows
from rightcall.values.results import value_text
from rightcall.values.trajectory import ToolCall

from ._templates import ShownText, shown_text

_SHORT = 72
_TEXT = 2_000
_BRIEF = 200
_MOST_TOGETHER = 10
_pretty = json.JSONEncoder(ensure_ascii=False, default=repr, indent=2).encode
WIDTH = 1_000
"""The whole time, in units of the picture."""
_NARROWEST = 4
_DEEPEST = 12
_MOST_LANES = 40
_BRACKETS = {"first": "┌", "middle": "│", "last": "└"}


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `args` and `output` are `None` where they were not recorded."""

    number: int
    name: str
    href: str = ""
    """The page of its tool."""
    sign: str = ""
    """The kind of its step in a comparison; empty if no comparison mentions it."""
    args: ShownText | None = None
    output: ShownText | None = None
    error: ShownText | None = None
    suspected_error: bool = False
    internal: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    """Everything else that was recorded: agent, turn, times."""
    made_by: int = 0
    """The number of the call that made it; 0 for none."""
    together: tuple[int, ...] = ()
    """The numbers of the first other calls of its group: the model asked for them at once, or they ran at one time."""
    more_together: int = 0
    unrecorded: tuple[str, ...] = ()
    record: ShownText | None = None
    span: ShownText | None = None


def call_view(
    position: int,
    calls: Sequence[ToolCall],
    *,
    begin: int | None,
    makers: Mapping[str, int],
    groups: Mapping[str, Sequence[int]],
    spans: Mapping[str, Any],
    href: str = "",
    sign: str = "",
) -> CallView:
    """Return a call with everything recorded; times count from the start of the first call.

    `makers` has the numbers of calls by span id, `groups` those of calls that belong together by the name of the group.
    """
    call = calls[position]
    group = groups.get(call.group or "", ())
    span = spans.get(call.span_id) if call.span_id is not None else None
    return CallView(
        number=position + 1,
        name=call.name[:1_000],
        href=href,
        sign=sign,
        args=None if "args" in call.unrecorded else value_shown(call.args),
        output=None if "output" in call.unrecorded else value_shown(call.output),
        error=shown_text(call.error, _TEXT, whole=True) if call.error is not None else None,
        suspected_error=call.suspected_error,
        internal=call.internal is True,
        facts=_facts(call, begin),
        made_by=makers.get(call.parent_id, 0) if call.parent_id is not None else 0,
        together=tuple([each for each in group[: _MOST_TOGETHER + 1] if each != position + 1][:_MOST_TOGETHER]),
        more_together=max(0, len(group) - 1 - _MOST_TOGETHER),
        unrecorded=tuple(sorted(call.unrecorded)),
        record=shown_text(_pretty(_plain(call)), 20_000),
        span=shown_text(_pretty(msgspec.to_builtins(span)), 20_000, whole=True) if span is not None else None,
    )


def brief_call_view(position: int, calls: Sequence[ToolCall], sign: str = "") -> CallView:
    """Return a call in a line or two, for files with very many calls."""
    call = calls[position]
    return CallView(
        number=position + 1,
        name=call.name[:200],
        sign=sign,
        args=None if "args" in call.unrecorded else ShownText(value_text(call.args, _BRIEF)),
        output=None if "output" in call.unrecorded else ShownText(value_text(call.output, _BRIEF)),
        error=shown_text(call.error, _BRIEF) if call.error is not None else None,
        suspected_error=call.suspected_error,
        internal=call.internal is True,
        unrecorded=tuple(sorted(call.unrecorded)),
    )


def value_shown(value: Any, most: int = _TEXT) -> ShownText:
    """Return a value as JSON, on one line if it is short. A long text keeps its lines."""
    if isinstance(value, str) and ("\n" in value or len(value) > _SHORT):
        return shown_text(value, most, whole=True)
    text = _pretty(value)
    if len(text) <= 3 * _SHORT:
        line = value_text(value, 3 * _SHORT)
        text = line if len(line) <= _SHORT else text
    return shown_text(text, most, whole=True)


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
    """Why they belong together, in words."""
    turn: int = 0
    """The turn it belongs to, from 1; 0 if there is only one turn, or the turn was not recorded."""
    is_error: bool = False
    is_internal: bool = False


class Waterfall(msgspec.Struct, frozen=True):
    """The bars of a case, the labels of the axis, and the number of calls that did not fit."""

    bars: tuple[BarView, ...] = ()
    axis: tuple[str, ...] = ()
    left_out: int = 0


def waterfall_of(calls: Sequence[ToolCall], most: int) -> Waterfall:
    """Return the bars of the first `most` calls, each below the call that made it.

    A call without a start has no bar, one without an end has the narrowest. Clocks may run backwards.
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


def _facts(call: ToolCall, begin: int | None) -> tuple[tuple[str, str], ...]:
    took = "unknown"
    if call.start_ns is not None and call.end_ns is not None:
        took = duration_text(call.end_ns - call.start_ns)
    known = (
        (
            "started",
            f"+{duration_text(call.start_ns - begin)}" if call.start_ns is not None and begin is not None else "",
        ),
        ("took", took),
        ("agent", call.agent or ""),
        ("turn", str(call.turn + 1) if call.turn is not None else ""),
        ("recorded as", call.source or ""),
    )
    return tuple([(name, value[:200]) for name, value in known if value])


def _plain(call: ToolCall) -> Any:
    plain = msgspec.to_builtins(call)
    plain["unrecorded"].sort()
    return {key: value for key, value in plain.items() if value not in (None, False, []) or key in ("args", "output")}


def _bar(row: CallRow, begin: int, length: int, has_turns: bool) -> BarView:
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
        is_internal=call.internal is True,
    )


def _joined(lane: Lane) -> tuple[str, str]:
    bond, place = lane
    if not bond:
        return "", ""
    return _BRACKETS[place], "at the same time" if bond == "concurrent" else "asked for at once"
