"""Points in time, as a person and as a program would say them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class When(msgspec.Struct, frozen=True):
    """A point in time: for a program, for a person, and how long ago; the last is empty where nobody knows."""

    iso: str
    absolute: str
    relative: str = ""


def when(iso: str, now: datetime | None = None) -> When:
    """A time of a header. A text that is no time stands for itself: headers can be written by others."""
    try:
        time = datetime.fromisoformat(iso).astimezone(UTC)
    except (ValueError, OverflowError):
        return When("", iso[:40])
    relative = _ago((now - time).total_seconds()) if now is not None else ""
    return When(time.isoformat(timespec="seconds"), f"{time:%Y-%m-%d %H:%M:%S} UTC", relative)


def _ago(seconds: float) -> str:
    if seconds < 0:
        return "in the future"
    for length, unit in _UNITS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count:,} {unit}{'s' * (count != 1)} ago"
    return "just now"
