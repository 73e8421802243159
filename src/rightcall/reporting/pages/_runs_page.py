"""The pages of all runs, of several runs compared, and of a search; and the facts that pages show about a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec.structs import replace

from rightcall.reporting.reports import Report, seconds_text, share_text
from rightcall.reporting.store import Header
from rightcall.values.results import Totals, Verdict

from ._templates import NEWEST_FIRST, RUN_COLUMNS, Crumb, Head, Links, Sorting, case_key, heads_of, render

State = Literal["finished", "running", "unfinished", "unreadable"]
_TOP, _HEIGHT = 8.0, 48.0
_MOST_PICTURES = 6
_FEWEST = 2
_SHORT_ID = 4
_TEXT = 200
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_LONGEST_ID = 400
MOST_FOUND = 50


class Moment(msgspec.Struct, frozen=True):
    """A point in time: as ISO 8601, for display, and relative to now; the last is empty if now is not given."""

    iso: str
    absolute: str
    relative: str = ""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the list. A run that cannot be read has a `problem` and little else."""

    name: str
    """Its name in addresses."""
    short_id: str
    state: State = "finished"
    problem: str = ""
    started: Moment = Moment("", "")
    branch: str = ""
    commit: str = ""
    agent: str = ""
    evalset: str = ""
    totals: Totals | None = None
    share: float | None = None
    """Its pass rate."""
    took: str = ""

    @property
    def cases(self) -> int:
        """The number of its cases."""
        return sum(msgspec.structs.astuple(self.totals)) if self.totals is not None else 0

    @property
    def rate(self) -> str:
        """Its pass rate in percent."""
        return share_text(self.share) if self.share is not None else "–"


class Dot(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the chart: its position in percent of the width and in units of the height, and its description."""

    x: float
    y: float
    name: str
    says: str
    is_whole: bool
    """Whether every case passed."""
    before: tuple[float, float] | None = None
    """The dot to the left of it."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one eval set over time, the oldest first: a dot each, and the days of the first and the last."""

    evalset: str
    dots: tuple[Dot, ...]
    rate: str
    """The pass rate of the newest run."""
    first: str
    last: str


class RunsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs, the newest first by default, and a chart for each eval set."""

    folder: str
    lines: tuple[RunLine, ...]
    count: int
    """The number of runs on all pages."""
    pictures: tuple[Picture, ...] = ()
    evalsets: tuple[str, ...] = ()
    """The eval sets to select from."""
    evalset: str = ""
    """The selected eval set."""
    sorting: Sorting = NEWEST_FIRST
    number: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    is_running: bool = False
    title: str = "Runs"
    trail: tuple[Crumb, ...] = (Crumb("Runs"),)

    def href(self, links: Links, **query: str | int) -> str:
        """Return the address of the list with the same eval set and sorting, except for what `query` changes."""
        sort = "" if self.sorting == NEWEST_FIRST else self.sorting.text
        return links.runs(**{"evalset": self.evalset, "sort": sort, **query})

    def heads(self, links: Links) -> dict[str, Head]:
        """Return the headings that sort the list."""
        return heads_of(RUN_COLUMNS, self.sorting, lambda sort: self.href(links, sort=sort))


def pictures(lines: Sequence[RunLine]) -> tuple[Picture, ...]:
    """Return a chart for each eval set with several finished runs, given the runs newest first."""
    by_set: dict[str, list[RunLine]] = {}
    for line in lines:
        if line.state == "finished" and line.share is not None:
            by_set.setdefault(line.evalset, []).append(line)
    return tuple(
        [
            Picture(
                evalset=evalset,
                dots=picture(found),
                rate=found[0].rate,
                first=ends[0],
                last=ends[1],
            )
            for evalset, found in list(by_set.items())[:_MOST_PICTURES]
            if len(found) >= _FEWEST
            for ends in [ends_text(found[-1].started.absolute, found[0].started.absolute)]
        ]
    )


def ends_text(first: str, last: str) -> tuple[str, str]:
    """Return labels for the ends of a chart: days; for a single day times, for a single minute with seconds."""
    if first[:10] != last[:10]:
        return first[:10], last[:10]
    part = slice(11, 16 if first[:16] != last[:16] else 19)
    return first[part], last[part]


def picture(lines: Sequence[RunLine]) -> tuple[Dot, ...]:
    """Return the pass rate of each finished run by time, given the runs newest first. One dot is not a chart."""
    shown = [(line, line.share) for line in reversed(lines) if line.state == "finished" and line.share is not None]
    if len(shown) < _FEWEST:
        return ()
    dots: list[Dot] = []
    for (line, rate), at in zip(shown, _shares([line.started.iso for line, _ in shown]), strict=True):
        totals = line.totals or Totals()
        dots.append(
            Dot(
                x=round(2 + 96 * at, 3),
                y=round(_TOP + _HEIGHT * (1 - rate), 2),
                name=line.name,
                says=f"run {line.short_id}, {line.started.absolute}: {line.rate} passed ({totals})",
                is_whole=totals.passed == line.cases,
                before=(dots[-1].x, dots[-1].y) if dots else None,
            )
        )
    return tuple(dots)


def _shares(times: Sequence[str]) -> list[float]:
    """Return the positions of times between the first and the last; evenly spread if times are missing or equal."""
    even = [place / (len(times) - 1) for place in range(len(times))]
    if not all(times):
        return even
    seconds = [datetime.fromisoformat(time).timestamp() for time in times]
    length = max(seconds) - min(seconds)
    return [(second - min(seconds)) / length for second in seconds] if length else even


def runs_html(page: RunsPage, links: Links) -> str:
    """Render all runs, or instructions to make one if there are none. Raises `MissingExtraError`."""
    if page.count or page.evalset:
        return render("runs.html", page, links)
    return render("no_runs.html", replace(page, title="No runs yet", is_running=True), links)


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A run: its name, start and duration, and everything else by name."""

    id: str
    """Its name in addresses."""
    name: str
    """Its name for display."""
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


def moment(iso: str, now: datetime | None = None) -> Moment:
    """Parse a time in a header. A string that is not a time is shown as it is: other programs may write headers."""
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


class PartOfList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a list: its number, the number of pages, and the addresses of those before and after it."""

    number: int = 1
    of: int = 1
    previous: str = ""
    next: str = ""
    title: str = ""
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


class VerdictRow(msgspec.Struct, frozen=True):
    """The verdicts of one case, run by run; `None` if a run does not have it."""

    case_id: str
    key: str
    verdicts: tuple[Verdict | None, ...]


class VerdictsPage(PartOfList, frozen=True, kw_only=True):
    """More than two runs side by side: the cases whose verdicts differ."""

    runs: tuple[RunLine, ...]
    rows: tuple[VerdictRow, ...]
    differing: int
    same: int
    heads: Mapping[str, Head]
    """The headings that sort the rows: `case`, and the verdict in each run by its number."""
    title: str = "Compare"


def verdict_rows(runs: Sequence[Mapping[str, Verdict]]) -> list[VerdictRow]:
    """Return the cases whose verdicts differ between runs, sorted by id: their order in runs varies."""
    rows = []
    for case_id in sorted({case_id for verdicts in runs for case_id in verdicts}):
        found = tuple([verdicts.get(case_id) for verdicts in runs])
        if len(set(found)) > 1:
            rows.append(VerdictRow(case_id[:_LONGEST_ID], case_key(case_id), found))
    return rows


def verdicts_html(page: VerdictsPage, links: Links) -> str:
    """Render the comparison of more than two runs. Raises `MissingExtraError`."""
    return render("verdicts.html", page, links)


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose id, branch, commit, eval set or agent contains the text."""

    short_id: str
    href: str
    about: str
    when: Moment


class FoundCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case that contains the text, as in the newest run that has it, with the number of other runs."""

    case_id: str
    title: str
    why: str
    verdict: Verdict
    run: str
    href: str
    when: Moment
    others: int = 0
    """The number of other runs in which it was found."""


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a search."""

    q: str
    runs: tuple[FoundRun, ...] = ()
    cases: tuple[FoundCase, ...] = ()
    more: int = 0
    """The number of cases that are not listed."""
    searched: int = 0
    """The number of runs whose cases were searched."""
    of: int = 0
    """The number of all runs."""
    title: str = "Search"
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


def search_html(page: SearchPage, links: Links) -> str:
    """Render the results of a search. Raises `MissingExtraError`."""
    return render("search.html", page, links)
