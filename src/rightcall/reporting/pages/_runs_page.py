"""The page of all runs: how many cases passed in each, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from rightcall.values.results import Totals

from ._facts import Moment
from ._links import Crumb, Links
from ._templates import render
from ._texts import percent

State = Literal["finished", "running", "unfinished", "unreadable"]
_TOP, _HEIGHT = 18.0, 90.0
_FEWEST = 2


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the list. One that cannot be read has a `problem` and little else."""

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
    took: str = ""

    @property
    def cases(self) -> int:
        """The number of its cases."""
        return sum(msgspec.structs.astuple(self.totals)) if self.totals is not None else 0

    @property
    def rate(self) -> str:
        """The share of its cases that passed, in percent."""
        return percent(self.totals.passed, self.cases) if self.totals is not None else "–"


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


class RunsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs, the newest first, and a picture of those of one eval set, the oldest first."""

    folder: str
    lines: tuple[RunLine, ...]
    count: int
    """The number of runs on all pages."""
    dots: tuple[Dot, ...] = ()
    pictured: str = ""
    """The eval set of the picture."""
    evalsets: tuple[str, ...] = ()
    """The eval sets to choose from, where there are several."""
    evalset: str = ""
    """The one that was chosen."""
    number: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    is_running: bool = False
    title: str = "Runs"
    trail: tuple[Crumb, ...] = (Crumb("Runs"),)


def picture(lines: Sequence[RunLine]) -> tuple[Dot, ...]:
    """Return the pass rate of each finished run, oldest first, given the runs newest first. One dot is not a chart."""
    shown = [line for line in reversed(lines) if line.state == "finished" and line.cases]
    if len(shown) < _FEWEST:
        return ()
    dots: list[Dot] = []
    for place, line in enumerate(shown):
        totals = line.totals or Totals()
        dots.append(
            Dot(
                x=round(2 + 96 * place / (len(shown) - 1), 3),
                y=round(_TOP + _HEIGHT * (1 - totals.passed / line.cases), 2),
                name=line.name,
                says=f"run {line.short_id}, {line.started.absolute}: {line.rate} passed ({totals})",
                is_whole=totals.passed == line.cases,
                before=(dots[-1].x, dots[-1].y) if dots else None,
            )
        )
    return tuple(dots)


def runs_html(page: RunsPage, links: Links) -> str:
    """The runs as a page, or how to make one where there are none. Raises `MissingExtraError`."""
    if page.count or page.evalset:
        return render("runs.html", page, links)
    return render("no_runs.html", replace(page, title="No runs yet", is_running=True), links)
