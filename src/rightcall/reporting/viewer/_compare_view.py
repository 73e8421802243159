"""The pages of two runs, one against the other, and of more beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightcall.reporting.changes import compare, redacted_comparison, sides_of
from rightcall.reporting.pages import (
    Changes,
    ComparePage,
    Crumb,
    Links,
    RunLine,
    VerdictsPage,
    changes_of,
    compare_html,
    verdict_rows,
    verdicts_html,
)
from rightcall.reporting.store import RunFolder

from ._library import Library
from ._runs_view import current_time, line_of, page_of

_SIZE = 100
MOST_RUNS = 12


def compare_page(library: Library, names: Sequence[str], query: Mapping[str, str], links: Links) -> str | None:
    """Render two runs or more; `None` if one of them does not exist. Raises `StoreError`."""
    found = [(name, library.run(name)) for name in names]
    runs = [(name, run) for name, run in found if run is not None]
    if len(runs) < len(found):
        return None
    now = current_time()
    lines = [line_of(library, name, run, now) for name, run in runs]
    trail = (Crumb("Runs", links.runs()), Crumb("Compare"))
    if len(runs) > 2:
        return _verdicts(library, runs, lines, trail, query, links)
    (old_name, old), (new_name, new) = runs
    changes = library.changes(old_name, new_name, lambda: _changes(old, new, library.redacts))
    number, of = page_of(query, len(changes.changed), _SIZE)
    same = "1" if query.get("same") == "1" else ""
    return compare_html(
        ComparePage(
            before=lines[0],
            after=lines[1],
            changes=changes,
            lines=changes.changed[(number - 1) * _SIZE : number * _SIZE],
            shows_same=bool(same),
            number=number,
            of=of,
            previous=links.compare(old_name, new_name, same=same, page=number - 1) if number > 1 else "",
            next=links.compare(old_name, new_name, same=same, page=number + 1) if number < of else "",
            title=f"{lines[0].short_id} → {lines[1].short_id}",
            trail=trail,
        ),
        links,
    )


def _changes(old: RunFolder, new: RunFolder, redacts: bool) -> Changes:
    before, after = (sides_of(run.results(), run.needed) for run in (old, new))
    comparison = compare(before, after)
    return changes_of(redacted_comparison(comparison) if redacts else comparison, before, after)


def _verdicts(
    library: Library,
    runs: Sequence[tuple[str, RunFolder]],
    lines: Sequence[RunLine],
    trail: tuple[Crumb, ...],
    query: Mapping[str, str],
    links: Links,
) -> str:
    verdicts = [library.verdicts(name, run) for name, run in runs]
    rows = verdict_rows(verdicts)
    number, of = page_of(query, len(rows), _SIZE)
    names = [name for name, _ in runs]
    return verdicts_html(
        VerdictsPage(
            runs=tuple(lines),
            rows=tuple(rows[(number - 1) * _SIZE : number * _SIZE]),
            differing=len(rows),
            same=len({case_id for each in verdicts for case_id in each}) - len(rows),
            number=number,
            of=of,
            previous=links.beside(names, page=number - 1) if number > 1 else "",
            next=links.beside(names, page=number + 1) if number < of else "",
            title=f"{len(runs)} runs",
            trail=trail,
        ),
        links,
    )
