"""The page of a search over all runs."""

from __future__ import annotations

from collections.abc import Mapping

from rightcall.errors import StoreError
from rightcall.reporting.pages import (
    MOST_FOUND,
    Choice,
    Crumb,
    FoundCase,
    FoundRun,
    Links,
    ListedCase,
    SearchPage,
    moment,
    search_html,
)
from rightcall.reporting.store import RunFolder

from ._library import Library
from ._runs_view import current_time

_RUNS = 500
_CASES = 50_000
"""Cases that are searched, the newest runs first: as many as a library keeps in memory."""
_LONGEST = 200


def shown_search(library: Library, query: Mapping[str, str], links: Links) -> str:
    """Render what a text is found in. Raises `StoreError`."""
    q = query.get("q", "").strip()[:_LONGEST]
    trail = (Crumb("Runs", links.runs()), Crumb("Search"))
    names = library.names()
    if not q:
        return search_html(SearchPage(q="", trail=trail, of=len(names)), links)
    runs = list(library.readable(names[:_RUNS]))
    cases, count, searched = _cases(library, runs, q, links)
    page = SearchPage(
        q=q,
        runs=tuple(_runs(runs, q, links)),
        cases=tuple(cases),
        more=count - len(cases),
        searched=searched,
        of=len(names),
        trail=trail,
    )
    return search_html(page, links)


def _runs(runs: list[tuple[str, RunFolder]], q: str, links: Links) -> list[FoundRun]:
    wanted, now = q.casefold(), current_time()
    found: list[FoundRun] = []
    for name, run in runs:
        header = run.header
        texts = (header.id, header.branch or "", header.commit or "", header.evalset, header.agent)
        if any([wanted in text.casefold() for text in texts]) and len(found) < MOST_FOUND // 5:
            named = [header.evalset, header.branch or "", header.agent]
            about = " · ".join([text[:_LONGEST] for text in named if text])
            when = moment(header.started, now)
            found.append(FoundRun(short_id=run.short_id, href=links.run(name), about=about, when=when))
    return found


def _cases(
    library: Library, runs: list[tuple[str, RunFolder]], q: str, links: Links
) -> tuple[list[FoundCase], int, int]:
    """Return the cases that have a text, the number of all of them, and the number of runs that were searched."""
    choice, left, searched = Choice(q=q), _CASES, 0
    newest: dict[tuple[str, str], tuple[str, RunFolder, ListedCase]] = {}
    often: dict[tuple[str, str], int] = {}
    for name, run in runs:
        if left <= 0:
            break
        try:
            index = library.index(name, run)
        except StoreError:
            continue  # its own page says what is wrong with it
        index.let_go()
        searched += 1
        left -= len(index) + 1
        for case in index.cases():
            if choice.accepts(case.row):
                key = run.header.evalset, case.row.case_id
                newest.setdefault(key, (name, run, case))
                often[key] = often.get(key, 0) + 1
    now = current_time()
    found = [
        FoundCase(
            case_id=case.row.case_id,
            title=case.row.title,
            why=case.row.why,
            verdict=case.verdict,
            run=run.short_id,
            href=links.case(name, case.row.key),
            when=moment(run.header.started, now),
            others=often[key] - 1,
        )
        for key, (name, run, case) in list(newest.items())[:MOST_FOUND]
    ]
    return found, len(newest), searched
