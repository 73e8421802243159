"""Durations as a person would write them."""

from __future__ import annotations

from collections.abc import Sequence

from rightcall.values.trajectory import ToolCall

_MS = 1_000_000
_SECOND = 1000 * _MS
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
# 30,000 years: no real duration is longer, and a float this large still has its milliseconds.
_LONGEST = 1e12


def duration_text(nanoseconds: int) -> str:
    """Return a duration in the unit that suits it: `8.0us`, `0.19ms`, `31ms`, `1.30s`, `2m05s`, `3h20m`, `12d`.

    A trace may contain any integer, so any integer is accepted: floats would lose digits or overflow.
    """
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    if nanoseconds < _MS // 100:
        return f"{nanoseconds / 1000:.1f}us" if nanoseconds else "0ms"
    if nanoseconds < 10 * _MS:
        return f"{nanoseconds / _MS:.2f}ms"
    if nanoseconds < _SECOND:
        return f"{nanoseconds // _MS}ms"
    if nanoseconds < _MINUTE:
        return f"{nanoseconds / _SECOND:.2f}s"
    if nanoseconds < _HOUR:
        return f"{nanoseconds // _MINUTE}m{nanoseconds % _MINUTE // _SECOND:02}s"
    if nanoseconds < _DAY:
        return f"{nanoseconds // _HOUR}h{nanoseconds % _HOUR // _MINUTE:02}m"
    return f"{nanoseconds // _DAY}d"


def seconds_text(seconds: float) -> str:
    """Return a duration given in seconds. Negative ones count as zero, infinite ones as very long."""
    return duration_text(round(bounded_seconds(seconds) * _SECOND))


def bounded_seconds(seconds: float) -> float:
    """Return a duration from outside as a finite number that can be calculated with."""
    return min(max(0.0, seconds), _LONGEST)


def seconds_between(begin: int | None, end: int | None) -> float | None:
    """Return the seconds between two times in nanoseconds; `None` if one is unknown or they run backwards."""
    if begin is None or end is None or end < begin:
        return None
    return min(end - begin, round(_LONGEST) * _SECOND) / _SECOND


def extent(calls: Sequence[ToolCall]) -> tuple[int | None, int | None]:
    """Return when the first call began and the last one ended, as far as it was recorded."""
    begin = min((call.start_ns for call in calls if call.start_ns is not None), default=None)
    end = max((call.end_ns for call in calls if call.end_ns is not None), default=None)
    return begin, end
