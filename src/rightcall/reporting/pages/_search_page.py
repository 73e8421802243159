"""What a text is found in: runs by their names, and cases of all runs."""

from __future__ import annotations

import msgspec

from rightcall.values.results import Verdict

from ._runs_page import Moment
from ._templates import Crumb, Links, render

MOST_FOUND = 50


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose id, branch, commit, eval set or agent has the text."""

    short_id: str
    href: str
    about: str
    when: Moment


class FoundCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case that has the text: as it was in the newest run that has it, and in how many others."""

    case_id: str
    title: str
    why: str
    verdict: Verdict
    run: str
    href: str
    when: Moment
    others: int = 0
    """The number of other runs that have it, too."""


class SearchPage(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

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
    """Render what was found. Raises `MissingExtraError`."""
    return render("search.html", page, links)
