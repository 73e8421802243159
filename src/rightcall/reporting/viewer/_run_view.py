"""The pages of one run, of one of its cases with its history, and of one of its tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.reporting.pages import (
    GROUPS_A_PAGE,
    ROWS_A_PAGE,
    Acting,
    CallLine,
    CasePage,
    Choice,
    Column,
    Crumb,
    HistoryEntry,
    Links,
    ListedCase,
    MessagePage,
    Neighbours,
    RunCounts,
    RunHead,
    RunLine,
    RunListPage,
    Sibling,
    ToolPage,
    call_line,
    case_html,
    case_key,
    case_page,
    cause_key,
    cause_views,
    copies_of,
    facts_of,
    histogram,
    message_html,
    moment,
    mutants_html,
    mutants_page,
    pills,
    quantile,
    render_part,
    run_head,
    run_list_html,
    sorted_table,
    tool_html,
)
from rightcall.reporting.reports import Problem, overall_line, share_noticed
from rightcall.reporting.store import RunFolder, kept_mutation
from rightcall.values.results import GRAVITY, CaseResult, Verdict

from ._edit_view import EditSession
from ._library import CallPlace, Entry, Index, Library
from ._runs_view import choice_of, current_time, is_going_on, line_of, number_of, page_of, resume_command

if TYPE_CHECKING:
    from markupsafe import Markup


_LONGEST_KEY = 100
_SEARCHED = 200
_MOST_VERDICTS = 200_000
"""Most verdicts to search for the history of a case, in `_SEARCHED` runs: as many as a library keeps in memory."""
_BEFORE, _AFTER = 20, 8
_CALLS_A_PAGE = 50
_Found = tuple[CallPlace, Entry]
_COLUMNS = {
    "case": Column("Case", lambda found: (found[1].row.case_id, found[1].row.repeat, found[0].position)),
    "error": Column("Output or error", lambda found: found[0].is_error),
    "took": Column("Took", lambda found: found[0].nanoseconds),
}


class _Looked(msgspec.Struct, frozen=True):
    """A run to show: where it comes from, the query of the address, and the session for edits."""

    library: Library
    name: str
    run: RunFolder
    index: Index
    query: Mapping[str, str]
    links: Links
    session: EditSession | None = None


def shown_run(
    library: Library, name: str, query: Mapping[str, str], links: Links, session: EditSession | None = None
) -> str | None:
    """Render a run with the selected case beside its list; `None` if it does not exist. Raises `StoreError`."""
    run = library.run(name)
    if run is None:
        return None
    index = library.index(name, run)
    line = line_of(library, name, run, current_time())
    facts = replace(facts_of(run.header, name, is_running=line.state == "running"), started=line.started)
    choice = choice_of(query)
    matching = [case for case in index.cases() if choice.takes(case)]
    number, of, part, matched = _part(matching, query, is_one_group=choice.is_one_group)
    kept = {key: value for key, value in choice.kept().items() if value}
    asked = query.get("case", "")[:_LONGEST_KEY]
    chosen = asked if index.entry(asked) is not None else next((case.row.key for case in _by_cause(part)), "")
    counts, tried = index.counts(), kept_mutation(run.folder)
    page = RunListPage(
        title=f"{facts.name} {facts.subject}".strip(),
        trail=(Crumb("Runs", links.runs()), *([Crumb(facts.subject)] if facts.subject else []), Crumb(facts.name)),
        facts=facts,
        head=_head(run, line, index, query, links, name),
        pills=pills(index.cases(), choice.verdict, name, links, choice.q),
        causes=cause_views(
            *(part, chosen, name, links, kept),
            opens=len(part) if choice.q else 1,
            counted=_sampled(run, counts),
            matched=matched,
            page=1 if choice.is_one_group else number,
        ),
        q=choice.q,
        kept=tuple([(key, value) for key, value in kept.items() if key != "q"]),
        filtered=_filter_words(choice, counts),
        matched=len(matching),
        notes=tuple(_notes(library, run, index, line.state)),
        evaluators=tuple([(each[:200], totals) for each, totals in list(counts.evaluators.items())[:100]]),
        tools=counts.tools,
        mutants=share_noticed(tried) if tried is not None else "",
        detail=_detail(_Looked(library, name, run, index, query, links, session), chosen) if chosen else None,
        is_case_asked=bool(asked),
        number=number,
        of=of,
        before=links.run(name, **kept, page=number - 1) if number > 1 else "",
        after=links.run(name, **kept, page=number + 1) if number < of else "",
    )
    return run_list_html(_with_actions(page, run, session, query), links)


def _with_actions(
    page: RunListPage, run: RunFolder, session: EditSession | None, query: Mapping[str, str]
) -> RunListPage:
    """Return the page with the edits that it offers, and the edit just made."""
    if session is None:
        return page
    can_pin = run.header.finished is not None and bool(run.header.evalset)
    return replace(page, can_pin=can_pin, done=done_of(session, query), token=session.token)


def _part(
    matching: Sequence[ListedCase], query: Mapping[str, str], *, is_one_group: bool
) -> tuple[int, int, Sequence[ListedCase], Mapping[tuple[str, Problem], int]]:
    """Return the requested page, the number of pages, its cases, and the number of cases by cause.

    The cases are a page of one group, or all cases of all groups.
    """
    causes = Counter([case.cause for case in matching])
    if is_one_group:
        number, of = page_of(query, len(matching), ROWS_A_PAGE)
        return number, of, matching[(number - 1) * ROWS_A_PAGE : number * ROWS_A_PAGE], causes
    return *page_of(query, len(causes), GROUPS_A_PAGE), matching, causes


def _sampled(run: RunFolder, counts: RunCounts) -> dict[Problem, int] | None:
    """Return the number of cases by cause if the journal has only examples; else None."""
    if run.header.sample is None:
        return None
    return {group.problem: group.cases for group in counts.groups}


def _by_cause(cases: Sequence[ListedCase]) -> list[ListedCase]:
    """Return the cases of the most common cause of the worst verdict; passed ones if there are no others."""
    counts = Counter([case.cause for case in cases])
    open_cases = [case for case in cases if case.cause[0] not in ("passed", "quarantined")] or list(cases)
    if not open_cases:
        return []
    gravest = min([GRAVITY[case.verdict] for case in open_cases])
    among = [case for case in open_cases if GRAVITY[case.verdict] == gravest]
    most = min({case.cause for case in among}, key=lambda cause: (-counts[cause], cause))
    return [case for case in among if case.cause == most]


def _head(run: RunFolder, line: RunLine, index: Index, query: Mapping[str, str], links: Links, name: str) -> RunHead:
    """Return the result of a run in one line."""
    counts, header = index.counts(), run.header
    steady = index.steadiness()
    most = steady.most_trials
    facts = (
        ("Agent", line.agent),
        ("Branch", f"{line.branch} {line.commit}".strip()),
        ("Calls per case", f"{counts.calls:.1f}" if counts.calls is not None else ""),
        ("Rounds", f"{most:,}" if most > 1 else ""),
        ("Took", line.took),
    )
    totals = header.totals if header.sample is not None and header.totals is not None else counts.totals
    base = header.gate.before if header.gate is not None else None
    k = number_of(query, "k") if query.get("k") else min(5, most)
    return run_head(totals, steady, facts, base, k, [links.run(name, k=each) for each in (1, 3, 5, 10)])


def _filter_words(choice: Choice, counts: RunCounts) -> str:
    """Describe the filter in words."""
    group = next((each for each in counts.groups if choice.is_group(each)), None)
    words = [f"{group.problem.tool} {group.problem.words}".strip()] if group is not None else []
    words += [choice.rule] if choice.rule and group is None else []
    words += [f"with “{choice.q}”"] if choice.q else []
    return " ".join(words)


def _detail(looked: _Looked, key: str) -> Markup | None:
    """Return the case beside the list: the page of the case, without its frame."""
    asked = {each: value for each, value in looked.query.items() if each != "done"}  # the page around it shows that
    page = _case_page(replace(looked, query=asked), key)
    # The page around it shows whether the run is still going on, and is refreshed as a whole.
    return render_part("case.html", replace(page, is_running=False), looked.links) if page is not None else None


def shown_mutants(library: Library, name: str, links: Links) -> str | None:
    """Render the faults that were tried on a run; `None` if the run does not exist. Raises `StoreError`."""
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


def shown_case(
    library: Library, name: str, key: str, query: Mapping[str, str], links: Links, session: EditSession | None = None
) -> str | None:
    """Render a case; `None` if the run or the case does not exist. Raises `StoreError`."""
    run = library.run(name)
    index = library.index(name, run) if run is not None else None
    if run is None or index is None:
        return None
    page = _case_page(_Looked(library, name, run, index, query, links, session), key)
    return case_html(page, links) if page is not None else None


def _case_page(looked: _Looked, key: str) -> CasePage | None:
    name, run, index, query, links = looked.name, looked.run, looked.index, looked.query, looked.links
    is_running = is_going_on(run)  # checked first: what is read afterwards may be newer, never older
    entry = index.entry(key)
    if entry is None:
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
        history=history_of(looked.library, name, run, result.case_id, current_time(), links),
        is_running=is_running,
    )
    acting = Acting(
        copies=copies_of(result, run.header.agent, run.header.evalset),
        is_allowed=looked.session is not None and bool(run.header.evalset),
        done=done_of(looked.session, query),
        token=looked.session.token if looked.session is not None else "",
    )
    return replace(page, acting=acting)


def done_of(session: EditSession | None, query: Mapping[str, str]) -> str:
    """Return the edit that was just written, if the address refers to it; else an empty string."""
    last = session.last if session is not None else None
    return last.text if last is not None and query.get("done") == str(last.number) else ""


def _notes(library: Library, run: RunFolder, index: Index, state: str) -> list[str]:
    """Return overall results; for a run that is not finished, its progress and how to resume it."""
    if state == "finished":
        sample = run.header.sample
        notes = [f"{sample.note(len(index))}."] if sample is not None else []
        gate = [" · ".join(run.header.gate.told)] if run.header.gate is not None else []
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
        **_of_cause(index, entry, name, links),
    )


def _of_cause(index: Index, entry: Entry, name: str, links: Links) -> dict[str, str]:
    """Return the position of a case among those with the same first problem, and their address; empty if it passed."""
    own = next((case for case in index.cases() if case.row.case_id == entry.row.case_id), None)
    if own is None or own.cause[0] in ("passed", "quarantined") or index.run.header.sample is not None:
        return {}
    same = [case.row.case_id for case in index.cases() if case.cause == own.cause]
    if len(same) < 2:
        return {}
    place = f"{same.index(own.row.case_id) + 1:,} of {len(same):,}"
    return {"cause": place, "cause_href": links.run(name, cause=cause_key(own.cause[1]))}


def _address(entries: Sequence[Entry], places: Sequence[int], name: str, links: Links) -> str:
    return links.case(name, entries[places[0]].row.key) if places else ""


def _siblings(index: Index, result: CaseResult, name: str, links: Links) -> tuple[Sibling, ...]:
    """Return all repeats of a case; empty if there is only one."""
    rows = [entry.row for entry in index.repeats(result.case_id)]
    if len(rows) < 2:
        return ()
    return tuple([Sibling(row.repeat, row.number, row.verdict, links.case(name, row.key)) for row in rows])


def history_of(
    library: Library, name: str, run: RunFolder, case_id: str, now: datetime, links: Links
) -> tuple[HistoryEntry, ...]:
    """Return the verdicts of a case in runs of the same eval set, the oldest first, and where it began to fail.

    These are this run, the runs right before and after it, and the run in which the case began to fail, within the
    limits of the search. A run without the case, or one that cannot be read, is left out. If no other run has the case,
    the history is empty.
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
        """Whether the limits of the search were not reached."""

    def among(self, names: Iterable[str]) -> Iterator[_Past]:
        """Yield the runs that have the case, in the order of their names."""
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
            return None  # the page of that run shows what is wrong with it
        self._verdicts_left -= len(verdicts)
        verdict = verdicts.get(self._case_id)
        return _Past(name, run, case_key(self._case_id), verdict) if verdict is not None else None


def _beginning(older: list[_Past]) -> int:
    """Return how many runs ago the case stopped passing; if it never passed, the index of the oldest run."""
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
    only_errors, sort = query.get("errors") == "1", query.get("sort", "")
    chosen, heads = sorted_table(
        [each for each in found if each[0].is_error] if only_errors else found,
        sort,
        _COLUMNS,
        lambda text: links.tool(name, tool, errors=int(only_errors), sort=text),
    )
    number, of = page_of(query, len(chosen), _CALLS_A_PAGE)
    times = sorted([place.nanoseconds for place, _ in found if place.nanoseconds is not None])
    line = line_of(library, name, run, current_time())
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
        heads=heads,
        number=number,
        of=of,
        previous=links.tool(name, tool, errors=int(only_errors), sort=sort, page=number - 1) if number > 1 else "",
        next=links.tool(name, tool, errors=int(only_errors), sort=sort, page=number + 1) if number < of else "",
        title=f"{tool[:80]} in {line.short_id}",
        trail=(Crumb("Runs", links.runs()), Crumb(line.short_id, links.run(name)), Crumb(tool[:80])),
        is_running=line.state == "running",
    )


def _calls_of(index: Index, tool: str) -> list[_Found]:
    """Return the calls of a tool whose results still count, each with its row."""
    found = [(place, index.entry_on(place.line)) for place in index.columns.of_tool(tool)]
    return [(place, entry) for place, entry in found if entry is not None]


def _call_lines(index: Index, found: Sequence[_Found]) -> list[CallLine]:
    """Return the lines of calls, reading each result once."""
    standing = {entry.number: entry for _, entry in found}
    results = {number: index.result(entry) for number, entry in standing.items()}
    lines = []
    for place, entry in found:
        trajectory, row = results[entry.number].trajectory, entry.row
        if trajectory is not None and place.position < len(trajectory.calls):
            call = trajectory.calls[place.position]
            lines.append(call_line(call, place.position + 1, row.case_id, row.key, row.verdict))
    return lines
