"""Facts about a run, from its header or from a report."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from rightcall.reporting.reports import Report, seconds_text
from rightcall.reporting.store import Header

_SHORT_ID = 4
_TEXT = 200
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A run: its name, its start, its duration, and everything else by name."""

    id: str
    """Its name in addresses."""
    name: str
    """Its name on a page."""
    subject: str
    """Its eval set."""
    started: Moment | None = None
    took: str = ""
    known: tuple[tuple[str, str], ...] = ()
    is_running: bool = False
    is_finished: bool = True
    """Whether it finished. A run that is neither finished nor running was interrupted."""


def facts_of(header: Header, id: str = "", *, is_running: bool = False) -> RunFacts:
    """Return the facts in a header. `id` is the run's name in addresses, by default the id in the header."""
    known = (("agent", header.agent or "recorded traces"), ("eval set", header.evalset), *header.known())
    return RunFacts(
        id=id or header.id,
        name=header.id[:_SHORT_ID],
        subject=header.evalset[:_TEXT],
        started=moment(header.started),
        took=_took(header.seconds),
        known=tuple([(name[:_TEXT], value[:_TEXT]) for name, value in known if value]),
        is_running=is_running,
        is_finished=header.finished is not None,
    )


def report_facts(report: Report) -> RunFacts:
    """Return the facts in a report. Reports on recorded traces have no run."""
    known = (("run", report.run_id), ("agent", report.agent), ("eval set", report.subject), *report.facts)
    return RunFacts(
        id=report.run_id[:_TEXT],
        name=report.run_id[:_TEXT] or "Report",
        subject=report.subject[:_TEXT],
        took=_took(report.seconds),
        known=tuple([(name[:_TEXT], value[:_TEXT]) for name, value in known if value]),
    )


class Moment(msgspec.Struct, frozen=True):
    """A point in time: for a program, for a person, and relative to now; the last is empty if now is not given."""

    iso: str
    absolute: str
    relative: str = ""


def moment(iso: str, now: datetime | None = None) -> Moment:
    """Parse a time in a header. A text that is not a time is shown as it is: other programs may write headers."""
    try:
        time = datetime.fromisoformat(iso).astimezone(UTC)
    except (ValueError, OverflowError):
        return Moment("", iso[:40])
    relative = _ago((now - time).total_seconds()) if now is not None else ""
    return Moment(time.isoformat(timespec="seconds"), f"{time:%Y-%m-%d %H:%M:%S} UTC", relative)


def _took(seconds: float | None) -> str:
    return seconds_text(seconds) if seconds is not None else ""


def _ago(seconds: float) -> str:
    if seconds < 0:
        return "in the future"
    for length, unit in _UNITS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count:,} {unit}{'s' * (count != 1)} ago"
    return "just now"
