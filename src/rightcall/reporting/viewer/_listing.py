"""The page of all runs."""

from __future__ import annotations

from collections.abc import Mapping

from rightcall.reporting.pages import Links, RunLine, RunsPage, picture, runs_html

from ._library import Library
from ._lines import current_time, run_line
from ._queries import page_of

_SIZE = 50
_SEARCHED = 2_000
_LONGEST = 500


def runs_page(library: Library, query: Mapping[str, str], links: Links) -> str:
    """The runs of a folder, a page of them at a time, of one eval set or of all. Raises `StoreError`."""
    names = library.names()
    evalset = query.get("evalset", "")[:_LONGEST]
    if evalset:
        searched = library.readable(names[:_SEARCHED])
        names = [name for name, run in searched if run.header.evalset == evalset]
    number, of = page_of(query, len(names), _SIZE)
    now = current_time()
    shown = names[(number - 1) * _SIZE : number * _SIZE]
    lines = [line for name in shown if (line := run_line(library, name, now)) is not None]
    pictured, dots = _pictured(lines)
    return runs_html(
        RunsPage(
            folder=str(library.folder),
            lines=tuple(lines),
            count=len(names),
            dots=picture(dots),
            pictured=pictured,
            evalsets=tuple(dict.fromkeys([line.evalset for line in lines if line.evalset])),
            evalset=evalset,
            number=number,
            of=of,
            before=links.runs(evalset=evalset, page=number - 1) if number > 1 else "",
            after=links.runs(evalset=evalset, page=number + 1) if number < of else "",
            is_running=any(line.state == "running" for line in lines),
        ),
        links,
    )


def _pictured(lines: list[RunLine]) -> tuple[str, list[RunLine]]:
    """The eval set that the picture is of, which is that of the newest run, and its runs."""
    pictured = next((line.evalset for line in lines if line.state == "finished"), "")
    return pictured, [line for line in lines if line.evalset == pictured]
