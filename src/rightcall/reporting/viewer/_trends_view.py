"""The page of trends: which runs it shows, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from rightcall.errors import StoreError
from rightcall.reporting.pages import Links, TrendRun, moment, trends_html, trends_page
from rightcall.reporting.store import RunFolder

from ._library import Library

_SEARCHED = 500
_MOST_RUNS = 60
"""Runs of one eval set that are drawn, and read for their figures."""
_LONGEST = 200


def shown_trends(library: Library, query: Mapping[str, str], links: Links) -> str:
    """Render what changed over time, of one eval set and branch or of all. Raises `StoreError`."""
    found = [
        (name, run)
        for name, run in library.readable(library.names()[:_SEARCHED])
        if run.header.finished is not None and run.header.evalset  # traces of no eval set are others each time
    ]
    often: dict[str, int] = {}
    runs: list[TrendRun] = []
    for name, run in found:
        often[run.header.evalset] = often.get(run.header.evalset, 0) + 1
        if often[run.header.evalset] <= _MOST_RUNS and run.header.sample is None:
            made = _trend_run(library, name, run)
            if made is not None:
                runs.append(made)
    runs.sort(key=lambda run: run.started)
    evalset, branch = query.get("evalset", "")[:_LONGEST], query.get("branch", "")[:_LONGEST]
    page = trends_page(runs, evalset, branch, links, query.get("sort", ""), query.get("gates", ""))
    return trends_html(page, links)


def _trend_run(library: Library, name: str, run: RunFolder) -> TrendRun | None:
    header = run.header
    try:
        started = datetime.fromisoformat(header.started).astimezone(UTC)
        figures, rate = library.figures(name, run), library.rate(name, run)
    except (ValueError, OverflowError, StoreError):
        return None  # the page of the run says what is wrong with it
    return TrendRun(
        name=name,
        short_id=run.short_id,
        evalset=header.evalset[:_LONGEST],
        branch=(header.branch or "")[:_LONGEST],
        commit=(header.commit or "")[:9],
        started=started.timestamp(),
        when=moment(header.started).absolute,
        rate=rate,
        figures=figures,
        gate=header.gate,
        is_part=bool(header.options.get("cases") or header.options.get("tags") or header.options.get("failed")),
    )
