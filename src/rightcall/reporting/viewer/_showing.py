"""The pages of one run and of one of its cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.reporting.pages import (
    ROWS_A_PAGE,
    Links,
    Neighbours,
    Sibling,
    case_html,
    case_page,
    facts_of,
    run_html,
    run_page,
)
from rightcall.reporting.reports import overall_line
from rightcall.reporting.store import Run
from rightcall.values.results import CaseResult

from ._history import history_of
from ._index import Entry, Index
from ._library import Library
from ._lines import current_time, goes_on, line_of, resume_command
from ._queries import choice_of, number_of, page_of


def shown_run(library: Library, name: str, query: Mapping[str, str], links: Links) -> str | None:
    """A run, and a page of those of its cases that are asked for; none where it is not there. Raises `StoreError`."""
    run = library.run(name)
    if run is None:
        return None
    index = library.index(name, run)
    choice = choice_of(query)
    rows = index.selected(choice)
    number, _ = page_of(query, len(rows), ROWS_A_PAGE)
    line = line_of(library, name, run, current_time())
    facts = facts_of(run.header, name, is_running=line.state == "running")
    page = run_page(
        replace(facts, started=line.started, took=line.took or facts.took),
        index.counts(),
        links,
        choice=replace(choice, page=number),
        rows=rows[(number - 1) * ROWS_A_PAGE : number * ROWS_A_PAGE],
        matched=len(rows),
        notes=_notes(library, run, index, line.state),
    )
    return run_html(page, links)


def shown_case(library: Library, name: str, key: str, query: Mapping[str, str], links: Links) -> str | None:
    """A case with everything; none where the run, or the case in it, is not there. Raises `StoreError`."""
    run = library.run(name)
    is_running = run is not None and goes_on(run)  # asked first: what is read afterwards may have more, never less
    index = library.index(name, run) if run is not None else None
    entry = index.entry(key) if index is not None else None
    if run is None or index is None or entry is None:
        return None
    result = index.result(entry)
    spans, trouble = _spans(index, result)
    page = case_page(
        replace(result, warnings=(*trouble, *result.warnings)),
        name,
        links,
        spans=spans,
        run_name=run.short_id,
        calls_page=number_of(query, "calls"),
        neighbours=_neighbours(index, entry, name, links),
        siblings=_siblings(index, result, name, links),
        history=history_of(library, name, run, result.case_id, current_time(), links),
        is_running=is_running,
    )
    return case_html(page, links)


def _notes(library: Library, run: Run, index: Index, state: str) -> list[str]:
    """What is said of all cases together; or how far a run is, and how to go on with one that was broken off."""
    if state == "finished":
        sample = run.header.sample
        told = [f"{sample.told(len(index))}."] if sample is not None else []
        return [*told, *map(overall_line, run.header.overall)]
    planned = run.header.planned
    told = [f"{len(index):,} of {planned:,} results are there."] if planned is not None else []
    if state == "unfinished":
        told.append(f"Go on with `{resume_command(library, run)}`")
    return [" ".join(told)] if told else []


def _spans(index: Index, result: CaseResult) -> tuple[Mapping[str, Any], list[str]]:
    """What was recorded for a result, and why it cannot be shown: a case is worth looking at without its spans."""
    try:
        spans, left_out = index.spans(result)
    except StoreError as problem:
        return {}, [str(problem)]
    return spans, [f"{left_out:,} spans of this case were not kept"] if left_out else []


def _neighbours(index: Index, entry: Entry, name: str, links: Links) -> Neighbours:
    entries = index.entries()
    place = entries.index(entry)
    bad = [number for number, each in enumerate(entries) if each.row.verdict != "passed"]
    return Neighbours(
        before=_address(entries, [place - 1] if place else [], name, links),
        after=_address(entries, [place + 1] if place + 1 < len(entries) else [], name, links),
        failure_before=_address(entries, [number for number in bad if number < place][-1:], name, links),
        failure_after=_address(entries, [number for number in bad if number > place][:1], name, links),
    )


def _address(entries: Sequence[Entry], places: Sequence[int], name: str, links: Links) -> str:
    return links.case(name, entries[places[0]].row.key) if places else ""


def _siblings(index: Index, result: CaseResult, name: str, links: Links) -> tuple[Sibling, ...]:
    """All repeats of a case; none where it has one only."""
    rows = [entry.row for entry in index.repeats(result.case_id)]
    if len(rows) < 2:
        return ()
    return tuple([Sibling(row.repeat, row.verdict, links.case(name, row.key)) for row in rows])
