"""The pages of one run, of one of its cases with the history of the case, and of one of its tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.reporting.pages import (
    ROWS_A_PAGE,
    CallLine,
    Crumb,
    HistoryEntry,
    Links,
    MessagePage,
    Neighbours,
    Sibling,
    ToolPage,
    call_line,
    case_html,
    case_key,
    case_page,
    facts_of,
    histogram,
    message_html,
    moment,
    mutants_html,
    mutants_page,
    quantile,
    run_html,
    run_page,
    tool_html,
)
from rightcall.reporting.reports import overall_line, share_noticed
from rightcall.reporting.store import RunFolder, kept_mutation
from rightcall.values.results import CaseResult, Verdict

from ._index import CallPlace, Entry, Index
from ._library import Library
from ._runs_view import choice_of, current_time, is_going_on, line_of, number_of, page_of, resume_command

_SEARCHED = 200
_MOST_VERDICTS = 200_000
"""The number of runs, and of verdicts in them, that are searched: as much as a library keeps in memory."""
_BEFORE, _AFTER = 20, 8
_CALLS_A_PAGE = 50
_Found = tuple[CallPlace, Entry]


def shown_run(library: Library, name: str, query: Mapping[str, str], links: Links) -> str | None:
    """Render a run and one page of its matching cases; `None` if it does not exist. Raises `StoreError`."""
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
    tried = kept_mutation(run.folder)
    return run_html(replace(page, mutants=share_noticed(tried) if tried is not None else ""), links)


def shown_mutants(library: Library, name: str, links: Links) -> str | None:
    """Render what became of the faults that were put into a run; `None` if it does not exist. Raises `StoreError`."""
    run = library.run(name)
    if run is None:
        return None
    trail = (Crumb("Runs", links.runs()), Crumb(run.short_id, links.run(name)), Crumb("Mutants"))
    report = kept_mutation(run.folder)
    if report is not None:
        return mutants_html(mutants_page(report, trail), links)
    sentence = "No faults have been put into the trajectories of this run yet. To do so:"
    command = f"rightcall mutate {run.short_id}"
    return message_html(MessagePage(title="Mutants", sentences=(sentence,), commands=(command,), trail=trail), links)


def shown_case(library: Library, name: str, key: str, query: Mapping[str, str], links: Links) -> str | None:
    """Render a case; `None` if the run or the case does not exist. Raises `StoreError`."""
    run = library.run(name)
    is_running = run is not None and is_going_on(run)  # asked first: what is read afterwards may have more, never less
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
        calls_page=number_of(query, "calls") if "calls" in query else 0,
        neighbours=_neighbours(index, entry, name, links),
        siblings=_siblings(index, result, name, links),
        history=history_of(library, name, run, result.case_id, current_time(), links),
        is_running=is_running,
    )
    return case_html(page, links)


def history_of(
    library: Library, name: str, run: RunFolder, case_id: str, now: datetime, links: Links
) -> tuple[HistoryEntry, ...]:
    """Return the verdicts of a case in runs of the same eval set, the oldest first, and where it began to fail.

    These are this run, the runs right before and after it, and the run in which the case began to fail, within the
    limits of the search. A run without the case, or one that cannot be read, is left out. If no other run has the
    case, the history is empty.
    """
    names = library.names()
    place = names.index(name) if name in names else 0
    search = _Search(library, run.header.evalset, case_id)
    newer = list(search.among(reversed(names[max(0, place - _AFTER) : place])))
    older = list(search.among(names[place:]))
    if not older or len(older) + len(newer) < 2:
        return ()
    began = _beginning(older)
    shown = [*reversed(newer), *older[: _BEFORE + 1], *older[max(_BEFORE + 1, began) : began + 2]]
    return tuple([_history_entry(past, older, began, search.is_complete, now, links) for past in reversed(shown)])


def _notes(library: Library, run: RunFolder, index: Index, state: str) -> list[str]:
    """Return overall results; for a run that is not finished, its progress and how to resume it."""
    if state == "finished":
        sample = run.header.sample
        notes = [f"{sample.note(len(index))}."] if sample is not None else []
        gate = run.header.gate.told if run.header.gate is not None else ()
        return [*gate, *notes, *map(overall_line, run.header.overall)]
    planned = run.header.planned
    notes = [f"{len(index):,} of {planned:,} results so far."] if planned is not None else []
    if state == "unfinished":
        notes.append(f"Resume it with `{resume_command(library, run)}`")
    return [" ".join(notes)] if notes else []


def _spans(index: Index, result: CaseResult) -> tuple[Mapping[str, Any], list[str]]:
    """Return the spans of a result, or why they cannot be shown: the page of a case is useful without them."""
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
    """Return all repeats of a case; empty if there is only one."""
    rows = [entry.row for entry in index.repeats(result.case_id)]
    if len(rows) < 2:
        return ()
    return tuple([Sibling(row.repeat, row.number, row.verdict, links.case(name, row.key)) for row in rows])


class _Past(msgspec.Struct, frozen=True):
    """The verdict of the case in one run."""

    name: str
    run: RunFolder
    key: str
    verdict: Verdict


def _history_entry(
    past: _Past, older: list[_Past], began: int, is_complete: bool, now: datetime, links: Links
) -> HistoryEntry:
    is_beginning = older[0].verdict != "passed" and past is older[began]
    before = older[began + 1] if began + 1 < len(older) else None
    return HistoryEntry(
        run=past.run.short_id,
        href=links.case(past.name, past.key),
        when=moment(past.run.header.started, now),
        verdict=past.verdict,
        is_this=past is older[0],
        began=is_beginning and before is not None,
        is_first=is_beginning and before is None and is_complete,
        changed=links.compare(before.name, past.name) if is_beginning and before is not None else "",
    )


class _Search:
    """A search for a case in runs of an eval set, bounded by runs and verdicts."""

    def __init__(self, library: Library, evalset: str, case_id: str) -> None:
        self._library = library
        self._evalset = evalset
        self._case_id = case_id
        self._runs_left = _SEARCHED
        self._verdicts_left = _MOST_VERDICTS
        self.is_complete = True
        """Whether nothing was left out so far because there was too much of it."""

    def among(self, names: Iterable[str]) -> Iterator[_Past]:
        """Yield the runs that have it, in the order of their names."""
        for name in names:
            if self._runs_left <= 0 or self._verdicts_left <= 0:
                self.is_complete = False
                return
            self._runs_left -= 1
            past = self._past(name)
            if past is not None:
                yield past

    def _past(self, name: str) -> _Past | None:
        try:
            run = self._library.run(name)
            if run is None or run.header.evalset != self._evalset:
                return None
            verdicts = self._library.verdicts(name, run)
        except StoreError:
            return None  # the page of that run says what is wrong with it
        self._verdicts_left -= len(verdicts)
        verdict = verdicts.get(self._case_id)
        return _Past(name, run, case_key(self._case_id), verdict) if verdict is not None else None


def _beginning(older: list[_Past]) -> int:
    """Return how many runs ago the case stopped passing, counted from this run back; all of them if it never passed."""
    failing = 0
    while older[0].verdict != "passed" and failing + 1 < len(older) and older[failing + 1].verdict != "passed":
        failing += 1
    return failing


def tool_page(library: Library, name: str, key: str, query: Mapping[str, str], links: Links) -> str | None:
    """Render the calls of a tool; `None` if the run or the tool does not exist. Raises `StoreError`."""
    run = library.run(name)
    index = library.index(name, run) if run is not None else None
    tool = index.tool(key) if index is not None else None
    if run is None or index is None or tool is None:
        return None
    return tool_html(_tool_page(library, name, run, index, tool, query, links), links)


def _tool_page(
    library: Library, name: str, run: RunFolder, index: Index, tool: str, query: Mapping[str, str], links: Links
) -> ToolPage:
    found = _calls_of(index, tool)
    only_errors, slowest = query.get("errors") == "1", query.get("slowest") == "1"
    chosen = _chosen(found, only_errors, slowest)
    number, of = page_of(query, len(chosen), _CALLS_A_PAGE)
    times = sorted([place.nanoseconds for place, _ in found if place.nanoseconds is not None])
    line = line_of(library, name, run, current_time())
    asked = {"errors": int(only_errors), "slowest": int(slowest)}
    return ToolPage(
        run=line,
        tool=tool,
        lines=tuple(_call_lines(index, chosen[(number - 1) * _CALLS_A_PAGE : number * _CALLS_A_PAGE])),
        calls=len(found),
        cases=len({entry.row.case_id for _, entry in found}),
        errors=sum(place.is_error for place, _ in found),
        median=quantile(times, 0.5),
        slow=quantile(times, 0.95),
        bars=histogram(times),
        only_errors=only_errors,
        slowest_first=slowest,
        number=number,
        of=of,
        previous=links.tool(name, tool, **asked, page=number - 1) if number > 1 else "",
        next=links.tool(name, tool, **asked, page=number + 1) if number < of else "",
        title=f"{tool[:80]} in {line.short_id}",
        trail=(Crumb("Runs", links.runs()), Crumb(line.short_id, links.run(name)), Crumb(tool[:80])),
        is_running=line.state == "running",
    )


def _calls_of(index: Index, tool: str) -> list[_Found]:
    """Return the calls of a tool whose results still count, each with its row."""
    found = [(place, index.entry_on(place.line)) for place in index.columns.of_tool(tool)]
    return [(place, entry) for place, entry in found if entry is not None]


def _chosen(found: list[_Found], only_errors: bool, slowest_first: bool) -> list[_Found]:
    if only_errors:
        found = [each for each in found if each[0].is_error]
    if slowest_first:
        found = sorted(found, key=lambda each: -1 if each[0].nanoseconds is None else each[0].nanoseconds, reverse=True)
    return found


def _call_lines(index: Index, found: Sequence[_Found]) -> list[CallLine]:
    """Return the calls themselves, reading each result once."""
    standing = {entry.number: entry for _, entry in found}
    results = {number: index.result(entry) for number, entry in standing.items()}
    lines = []
    for place, entry in found:
        trajectory, row = results[entry.number].trajectory, entry.row
        if trajectory is not None and place.position < len(trajectory.calls):
            call = trajectory.calls[place.position]
            lines.append(call_line(call, place.position + 1, row.case_id, row.key, row.verdict))
    return lines
