"""Each call of a case with everything recorded about it, and a chart of when it ran."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall.reporting.reports import CallRow, duration_text, rows
from rightcall.values.results import call_text, value_text
from rightcall.values.trajectory import Message, ToolCall

from ._templates import ShownText, shown_text

_SHORT = 72
_LINE = 160
_TEXT = 2_000
_BRIEF = 200
_MOST_TOGETHER = 10
_pretty = json.JSONEncoder(ensure_ascii=False, default=repr, indent=2).encode
WIDTH = 1_000
"""The whole time, in units of the picture."""
_NARROWEST = 4
_DEEPEST = 12
_MOST_LANES = 40


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `args` and `output` are `None` where they were not recorded, `output` also where the call failed."""

    number: int
    name: str
    href: str = ""
    """The page of its tool."""
    sign: str = ""
    """The kind of its step in a comparison; empty if no comparison mentions it."""
    line: str = ""
    """The arguments on one line, shortened."""
    gave: str = ""
    """The output on one line, shortened."""
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
    most: int = _TEXT,
) -> CallView:
    """Return a call with everything recorded; times count from the start of the first call. Values have `most` letters.

    `makers` has the numbers of calls by span id, `groups` those of calls that belong together by the name of the group.
    """
    call = calls[position]
    group = groups.get(call.group or "", ())
    span = msgspec.to_builtins(spans.get(call.span_id)) if call.span_id is not None else None
    return CallView(
        number=position + 1,
        name=call.name[:1_000],
        href=href,
        sign=sign,
        line="" if "args" in call.unrecorded else call_text("", call.args, _LINE, 60),
        gave="" if "output" in call.unrecorded or call.output is None else value_text(call.output, _LINE),
        args=None if "args" in call.unrecorded else value_shown(call.args, most, whole=most == _TEXT),
        output=value_shown(call.output, most, whole=most == _TEXT) if _has_output(call) else None,
        error=shown_text(_error_text(call.error, span), most, whole=most == _TEXT) if call.error is not None else None,
        suspected_error=call.suspected_error,
        internal=call.internal is True,
        facts=_facts(call, begin),
        made_by=makers.get(call.parent_id, 0) if call.parent_id is not None else 0,
        together=tuple([each for each in group[: _MOST_TOGETHER + 1] if each != position + 1][:_MOST_TOGETHER]),
        more_together=max(0, len(group) - 1 - _MOST_TOGETHER),
        unrecorded=tuple(sorted(call.unrecorded)),
        record=shown_text(_pretty(_plain(call)), 10 * most) if most == _TEXT else None,
        span=shown_text(_pretty(span), 10 * most, whole=True) if span is not None and most == _TEXT else None,
    )


def brief_call_view(position: int, calls: Sequence[ToolCall], sign: str = "") -> CallView:
    """Return a call in a line or two, for files with very many calls."""
    call = calls[position]
    return CallView(
        number=position + 1,
        name=call.name[:200],
        sign=sign,
        args=None if "args" in call.unrecorded else ShownText(value_text(call.args, _BRIEF)),
        output=ShownText(value_text(call.output, _BRIEF)) if _has_output(call) else None,
        error=shown_text(call.error, _BRIEF) if call.error is not None else None,
        suspected_error=call.suspected_error,
        internal=call.internal is True,
        unrecorded=tuple(sorted(call.unrecorded)),
    )


def _has_output(call: ToolCall) -> bool:
    """Return whether there is an output to show. A call that failed and gave nothing has none, not even null."""
    return "output" not in call.unrecorded and (call.output is not None or call.error is None)


def _error_text(error: str, span: Any) -> str:
    """Return the message of an error after its type, if the span of the call recorded one that the message lacks.

    The message of a `KeyError` is only the key: OpenTelemetry records the type of an exception apart from its message.
    """
    events = span.get("events", ()) if isinstance(span, dict) else ()
    for event in reversed(events):
        attributes = event.get("attributes", {}) if event.get("name") == "exception" else {}
        kind = attributes.get("exception.type")
        if attributes.get("exception.message") == error and isinstance(kind, str) and kind:
            return error if error.startswith((kind, kind.rpartition(".")[2])) else f"{kind}: {error}"
    return error


def value_shown(value: Any, most: int = _TEXT, *, whole: bool = True) -> ShownText:
    """Return a value as JSON, on one line if it is short. A long text keeps its lines."""
    if isinstance(value, str) and ("\n" in value or len(value) > _SHORT):
        return shown_text(value, most, whole=whole)
    text = _pretty(value)
    if len(text) <= 3 * _SHORT:
        line = value_text(value, 3 * _SHORT)
        text = line if len(line) <= _SHORT else text
    return shown_text(text, most, whole=whole)


class BarView(msgspec.Struct, frozen=True, kw_only=True):
    """A call and its bar: where it begins and how wide it is. A width of 0 means that its time is not known."""

    number: int
    name: str
    depth: int
    begin: float = 0
    width: float = 0
    took: str = ""
    together: str = ""
    """How it belongs together with others, in words."""
    is_error: bool = False
    is_internal: bool = False
    is_model: bool = False


class Scale(msgspec.Struct, frozen=True):
    """When the first thing began, how long everything took, in nanoseconds, and whether bars are drawn."""

    begin: int = 0
    length: int = 1
    is_drawn: bool = True

    @property
    def text(self) -> str:
        """How long everything took, in words; empty where nothing is drawn."""
        return duration_text(self.length) if self.is_drawn and self.length > 1 else ""


def scale_of(calls: Sequence[ToolCall], messages: Sequence[Message] = (), most: int = 0) -> Scale:
    """Return the scale on which all calls and messages are drawn. Clocks may run backwards.

    Of more calls than `most`, if that is given, each bar would be a dot: none is drawn.
    """
    timed: list[ToolCall | Message] = [*calls, *messages]
    starts = [each.start_ns for each in timed if each.start_ns is not None]
    ends = [each.end_ns for each in timed if each.end_ns is not None]
    begin, end = min(starts, default=0), max([*ends, *starts], default=0)
    return Scale(begin, max(1, end - begin), not most or len(calls) <= most)


def bars_of(calls: Sequence[ToolCall], numbers: range, scale: Scale) -> dict[int, BarView]:
    """Return the bars of the calls with these numbers.

    A call without a start has no bar, one without an end has the narrowest.
    """
    chosen = [row for row in rows(calls, _MOST_LANES) if row.position + 1 in numbers]
    return {row.position + 1: _bar(row, scale) for row in chosen}


def message_bar(message: Message, scale: Scale) -> BarView | None:
    """Return the bar of a message of a model; None for others, and where no time is known."""
    if message.writer != "model" or message.start_ns is None:
        return None
    left, width, took = _extent(message.start_ns, message.end_ns, scale)
    return BarView(number=0, name="", depth=0, begin=round(left, 1), width=round(width, 1), took=took, is_model=True)


def _extent(start_ns: int, end_ns: int | None, scale: Scale) -> tuple[float, float, str]:
    """Return where a bar begins, how wide it is, and how long that took, in words."""
    left = min(WIDTH - _NARROWEST, WIDTH * (start_ns - scale.begin) / scale.length)
    if end_ns is None:
        return left, float(_NARROWEST) if scale.is_drawn else 0.0, ""
    width = min(WIDTH - left, max(float(_NARROWEST), WIDTH * (end_ns - start_ns) / scale.length))
    return left, width if scale.is_drawn else 0.0, duration_text(end_ns - start_ns)


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


def _bar(row: CallRow, scale: Scale) -> BarView:
    call = row.call
    left, width, took = (0.0, 0.0, "") if call.start_ns is None else _extent(call.start_ns, call.end_ns, scale)
    bond, _ = row.lanes[-1] if row.lanes else ("", "")
    together = {"": "", "concurrent": "at the same time"}.get(bond, "asked for at once")
    return BarView(
        number=row.position + 1,
        name=call.name[:200],
        depth=min(row.depth, _DEEPEST),
        begin=round(left, 1),
        width=round(width, 1),
        took=took,
        together=together,
        is_error=call.error is not None or call.suspected_error,
        is_internal=call.internal is True,
    )
