"""The pages of all runs: the list, comparisons, search and trends; and parsing of the queries in addresses."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from msgspec.structs import astuple, replace

from rightcall.errors import StoreError
from rightcall.reporting.changes import compare, gate, gate_sides_in, redacted_comparison, sides_in
from rightcall.reporting.pages import (
    LONGEST_IGNORED,
    MOST_FOUND,
    MOST_IGNORED,
    NEWEST_FIRST,
    RUN_COLUMNS,
    ChangeLine,
    Changes,
    Choice,
    Column,
    ComparedCase,
    ComparePage,
    Crumb,
    FoundCase,
    FoundRun,
    Links,
    ListedCase,
    RunLine,
    RunsPage,
    SearchPage,
    Shown,
    Sorting,
    TrendRun,
    VerdictsPage,
    aligned,
    changes_of,
    compare_html,
    expected_calls,
    gate_panel,
    groups_of,
    lines_of,
    moment,
    other_answers,
    pictures,
    runs_html,
    search_html,
    sentence_of_change,
    sorted_rows,
    sorted_table,
    sorting_of,
    tabs_of,
    trends_html,
    trends_page,
    verdict_rows,
    verdicts_html,
    words_of,
)
from rightcall.reporting.reports import seconds_text
from rightcall.reporting.store import RUNS, RunFolder
from rightcall.values.results import GRAVITY, Totals, Verdict
from rightcall.values.trajectory import ToolCall

from ._library import Library

_SIZE = 50
_SEARCHED = 2_000
_LONGEST_NAME = 500
_COMMIT = 9
_LONGEST = 200
_LONGEST_QUERY = 200
_MOST_DIGITS = 6
_COMPARED = 100
_LONGEST_CHANGE = 300
_SHOWN: tuple[Shown, ...] = ("regressions", "fixes", "edited", "paths", "same")
MOST_RUNS = 12
_RUNS = 500
_CASES = 50_000
"""Most cases to search, the newest runs first: as many as a library keeps in memory."""
_SEARCHED_FOR_TRENDS = 500
_MOST_RUNS = 60
"""Most runs of one eval set to read and draw."""


def runs_page(library: Library, query: Mapping[str, str], links: Links) -> str:
    """Render one page of the runs of a folder, of one eval set or of all. Raises `StoreError`."""
    names = library.names()
    evalset = query.get("evalset", "")[:_LONGEST_NAME]
    if evalset:
        searched = library.readable(names[:_SEARCHED])
        names = [name for name, run in searched if run.header.evalset == evalset]
    sorting = sorting_of(query.get("sort", ""), RUN_COLUMNS, NEWEST_FIRST)
    age = {name: place for place, name in enumerate(names)}
    names = _sorted_names(library, names, sorting)
    number, of = page_of(query, len(names), _SIZE)
    now = current_time()
    shown = names[(number - 1) * _SIZE : number * _SIZE]
    lines = [line for name in shown if (line := run_line(library, name, now)) is not None]
    newest_first = sorted(lines, key=lambda line: age[line.name])
    page = RunsPage(
        folder=str(library.folder),
        lines=tuple(lines),
        count=len(names),
        pictures=pictures(newest_first),
        evalsets=tuple(dict.fromkeys([line.evalset for line in newest_first if line.evalset])),
        evalset=evalset,
        sorting=sorting,
        number=number,
        of=of,
        is_running=any(line.state == "running" for line in lines),
    )
    before = page.href(links, page=number - 1) if number > 1 else ""
    after = page.href(links, page=number + 1) if number < of else ""
    return runs_html(replace(page, before=before, after=after), links)


def _sorted_names(library: Library, names: list[str], sorting: Sorting) -> list[str]:
    """Sort the names of runs, given newest first. Runs that cannot be read, and very old ones, come last."""
    if sorting.column == "started":
        return names if sorting.is_descending else names[::-1]
    searched = library.readable(names[:_SEARCHED])
    values = {name: _sort_value(library, name, run, sorting.column) for name, run in searched}
    return sorted_rows(names, sorting, values.get)


def _sort_value(library: Library, name: str, run: RunFolder, column: str) -> float | str | None:
    """Return the value of a run in a column; `None` if it has none, as before it is finished."""
    header = run.header
    if column == "branch":
        return header.branch or None
    if column == "agent":
        return f"{header.variant_of or 'recorded traces'}\n{header.evalset}"
    if column == "took":
        return header.seconds
    cases = sum(astuple(header.totals)) if header.totals is not None else 0
    if header.totals is None or not cases:
        return None
    try:
        return library.rate(name, run) if column == "passed" else cases
    except StoreError:
        return None  # its line shows what is wrong with it


def run_line(library: Library, name: str, now: datetime) -> RunLine | None:
    """Return a run as a line, or why it cannot be read; `None` if it does not exist."""
    try:
        run = library.run(name)
        return line_of(library, name, run, now) if run is not None else None
    except StoreError as problem:
        return RunLine(name=name, short_id=name.rpartition("-")[2], state="unreadable", problem=str(problem))


def line_of(library: Library, name: str, run: RunFolder, now: datetime) -> RunLine:
    """Return a run as a line. The cases of an unfinished run are counted now. Raises `StoreError`."""
    header = run.header
    is_running = is_going_on(run)
    totals = header.totals
    if header.finished is None:
        verdicts, apart = library.verdicts(name, run), run.quarantined
        totals = Totals.of([verdict for case_id, verdict in verdicts.items() if case_id not in apart])
    return RunLine(
        name=name,
        short_id=header.id[:4],
        state="finished" if header.finished is not None else "running" if is_running else "unfinished",
        started=moment(header.started, now),
        branch=(header.branch or "")[:_LONGEST],
        commit=(header.commit or "")[:_COMMIT],
        agent=(header.variant_of or "recorded traces")[:_LONGEST],
        evalset=header.evalset[:_LONGEST],
        totals=totals,
        share=library.rate(name, run),
        took=_took(header.started, now) if is_running else _seconds(header.seconds),
    )


def is_going_on(run: RunFolder) -> bool:
    """Return whether a run is not finished and a process is writing to it."""
    return run.header.finished is None and run.is_being_written


def resume_command(library: Library, run: RunFolder) -> str:
    """Return the command that resumes a run."""
    if library.is_alone:
        return f"rightcall run --resume {shlex.quote(str(run.folder))}"
    where = f" --runs {shlex.quote(str(library.folder))}" if library.folder != RUNS else ""
    return f"rightcall run --resume {shlex.quote(run.header.id)}{where}"


def current_time() -> datetime:
    """Return the current time in UTC, which all times on the pages are in."""
    return datetime.now(UTC)


def _seconds(seconds: float | None) -> str:
    return seconds_text(seconds) if seconds is not None else ""


def _took(started: str, now: datetime) -> str:
    """Return the time since the start in a header, which other programs may have written."""
    try:
        passed = (now - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return ""
    return _seconds(float(max(0, round(passed))))


def choice_of(query: Mapping[str, str]) -> Choice:
    """Parse the filter of cases in an address; an unknown verdict means all."""
    verdict = query.get("verdict", "")
    return Choice(
        verdict=verdict if verdict in (*get_args(Verdict), "open", "quarantined") else "",
        rule=query.get("rule", "")[:_LONGEST_QUERY],
        tool=query.get("tool", "")[:_LONGEST_QUERY],
        cause=query.get("cause", "")[:_LONGEST_QUERY],
        q=query.get("q", "").strip()[:_LONGEST_QUERY],
    )


def number_of(query: Mapping[str, str], key: str) -> int:
    """Return the number under a key; 1 if there is none."""
    text = query.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 1


def page_of(query: Mapping[str, str], count: int, size: int) -> tuple[int, int]:
    """Return the requested page, or the nearest one that exists, and the number of pages."""
    last = max(1, -(-count // size))
    return min(max(1, number_of(query, "page")), last), last


def compare_page(
    library: Library, names: Sequence[str], query: Mapping[str, str], links: Links, ignored: Sequence[str] = ()
) -> str | None:
    """Render the comparison of two or more runs; `None` if one of them does not exist. Raises `StoreError`.

    `ignored` are arguments that are not to be compared.
    """
    found = [(name, library.run(name)) for name in names]
    runs = [(name, run) for name, run in found if run is not None]
    if len(runs) < len(found):
        return None
    now = current_time()
    lines = [line_of(library, name, run, now) for name, run in runs]
    trail = (Crumb("Runs", links.runs()), Crumb("Compare"))
    if len(runs) > 2:
        return _verdicts(library, runs, lines, trail, query, links)
    kept = [name for name in dict.fromkeys(ignored) if 0 < len(name) <= LONGEST_IGNORED]
    return _two_runs(library, runs, lines, trail, query, links, tuple(kept[:MOST_IGNORED]))


def _two_runs(
    library: Library,
    runs: Sequence[tuple[str, RunFolder]],
    lines: Sequence[RunLine],
    trail: tuple[Crumb, ...],
    query: Mapping[str, str],
    links: Links,
    ignored: tuple[str, ...],
) -> str:
    names = (runs[0][0], runs[1][0])
    changes = library.changes((*names, *ignored), lambda: _changes(runs[0][1], runs[1][1], library.redacts, ignored))
    shown = _shown(changes, query)
    only, key = query.get("change", "")[:_LONGEST_CHANGE], query.get("case", "")[:_LONGEST_QUERY]
    found = lines_of(changes, shown)
    cases = tuple([line for line in found if not only or " ".join(words_of(line))[:_LONGEST_CHANGE] == only])
    number, of = page_of(query, len(cases), _COMPARED) if shown == "same" else (1, 1)
    part = cases[(number - 1) * _COMPARED : number * _COMPARED] if shown == "same" else cases
    chosen = next((line for line in cases if line.key == key), None) or _first_shown(part)
    words = changes.gate.words if changes.gate is not None else {}
    address = {"a": names[0], "b": names[1], "show": shown, "change": only}
    return compare_html(
        ComparePage(
            before=lines[0],
            after=lines[1],
            changes=changes,
            tabs=tabs_of(changes, shown, names, links, ignored),
            groups=groups_of(
                *(part, chosen.key if chosen is not None else "", words, address, links, only, ignored),
                matched=Counter([words_of(line) for line in cases]) if shown == "same" else None,
            ),
            ignored=ignored,
            shown=shown,
            filtered=only,
            gate=changes.gate,
            gate_reasons=_gate_reasons(runs),
            case=_compared_case(library, runs, chosen, links, ignored) if chosen is not None else None,
            is_case_asked=bool(key),
            number=number,
            of=of,
            previous=links.compare(*names, ignored, show=shown, page=number - 1) if number > 1 else "",
            next=links.compare(*names, ignored, show=shown, page=number + 1) if number < of else "",
            title=f"{lines[0].short_id} → {lines[1].short_id}",
            trail=trail,
        ),
        links,
    )


def _shown(changes: Changes, query: Mapping[str, str]) -> Shown:
    """Return the requested kind of change, or the first that has cases."""
    asked: Any = "same" if query.get("same") == "1" else query.get("show", "")
    if asked in _SHOWN:
        return asked  # type: ignore[no-any-return] # it is one of them
    return next((each for each in _SHOWN[:-1] if lines_of(changes, each)), "regressions")


def _first_shown(lines: Sequence[ChangeLine]) -> ChangeLine | None:
    """Return the first case of the most common change, which is open at first."""
    commonest = Counter([words_of(line) for line in lines])
    return min(lines, key=lambda line: (-commonest[words_of(line)], words_of(line)), default=None)


def _gate_reasons(runs: Sequence[tuple[str, RunFolder]]) -> tuple[str, ...]:
    """Return the decisions of gates when these runs were run."""
    found = [(run.short_id, run.header.gate) for _, run in runs]
    return tuple([f"{short_id}: {gate.reason}" for short_id, gate in found if gate is not None])


def _compared_case(
    library: Library,
    runs: Sequence[tuple[str, RunFolder]],
    line: ChangeLine,
    links: Links,
    ignored: Sequence[str],
) -> ComparedCase:
    """Return a case in both runs, with its paths aligned."""
    paths: list[Sequence[ToolCall]] = []
    answers: list[Any] = []
    expected: list[Mapping[int, str]] = []
    title = ""
    for name, run in runs:
        index = library.index(name, run)
        entry = next(
            (each for each in index.repeats(line.case_id) if each.row.verdict == _verdict_in(line, run is runs[0][1])),
            None,
        )
        entry = entry or index.entry(line.key)
        result = index.result(entry) if entry is not None else None
        title = entry.row.title if entry is not None else title
        trajectory = result.trajectory if result is not None else None
        paths.append(trajectory.calls if trajectory is not None else ())
        answers += [trajectory.output] if trajectory is not None else []
        expected.append(expected_calls(result) if result is not None else {})
    calls, left_out = aligned(paths[0], paths[1], (expected[0], expected[1]), ignored)
    return ComparedCase(
        case_id=line.case_id,
        before=line.before,
        after=line.after,
        sentence=sentence_of_change(calls),
        title=title,
        calls=calls,
        left_out=left_out,
        before_href=links.case(runs[0][0], line.key) if line.before is not None else "",
        after_href=links.case(runs[1][0], line.key) if line.after is not None else "",
        scores=line.scores,
        answers=other_answers(*answers) if len(answers) == len(runs) else None,
    )


def _verdict_in(line: ChangeLine, is_before: bool) -> Verdict | None:
    return line.before if is_before else line.after


def _changes(old: RunFolder, new: RunFolder, redacts: bool, ignored: Sequence[str]) -> Changes:
    before, after = sides_in(old, ignored), sides_in(new, ignored)
    comparison = compare(before, after)
    made = changes_of(redacted_comparison(comparison) if redacts else comparison, before, after)
    return replace(made, gate=gate_panel(gate(gate_sides_in(old), gate_sides_in(new))))


def _verdicts(
    library: Library,
    runs: Sequence[tuple[str, RunFolder]],
    lines: Sequence[RunLine],
    trail: tuple[Crumb, ...],
    query: Mapping[str, str],
    links: Links,
) -> str:
    verdicts = [library.verdicts(name, run) for name, run in runs]
    names, sort = [name for name, _ in runs], query.get("sort", "")
    rows, heads = sorted_table(
        verdict_rows(verdicts), sort, _verdict_columns(len(runs)), lambda text: links.beside(names, sort=text)
    )
    number, of = page_of(query, len(rows), _COMPARED)
    return verdicts_html(
        VerdictsPage(
            runs=tuple(lines),
            rows=tuple(rows[(number - 1) * _COMPARED : number * _COMPARED]),
            differing=len(rows),
            same=len({case_id for each in verdicts for case_id in each}) - len(rows),
            number=number,
            of=of,
            heads=heads,
            previous=links.beside(names, sort=sort, page=number - 1) if number > 1 else "",
            next=links.beside(names, sort=sort, page=number + 1) if number < of else "",
            title=f"{len(runs)} runs",
            trail=trail,
        ),
        links,
    )


def _verdict_columns(runs: int) -> dict[str, Column]:
    """Return the sortable columns for several runs side by side; the worst verdict sorts first."""

    def in_run(number: int) -> Column:
        return Column("Verdict", lambda row: GRAVITY[row.verdicts[number]] if row.verdicts[number] else None)

    return {"case": Column("Case", lambda row: row.case_id), **{str(each): in_run(each) for each in range(runs)}}


def shown_search(library: Library, query: Mapping[str, str], links: Links) -> str:
    """Render the results of a search. Raises `StoreError`."""
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
    """Return the cases that contain a string, the number of all of them, and the number of runs searched."""
    choice, left, searched = Choice(q=q), _CASES, 0
    newest: dict[tuple[str, str], tuple[str, RunFolder, ListedCase]] = {}
    often: dict[tuple[str, str], int] = {}
    for name, run in runs:
        if left <= 0:
            break
        try:
            index = library.index(name, run)
        except StoreError:
            continue  # its own page shows what is wrong with it
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


def shown_trends(library: Library, query: Mapping[str, str], links: Links) -> str:
    """Render the trends of one eval set and branch, or of all. Raises `StoreError`."""
    found = [
        (name, run)
        for name, run in library.readable(library.names()[:_SEARCHED_FOR_TRENDS])
        if run.header.finished is not None and run.header.evalset  # traces without an eval set differ each time
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
        return None  # the page of the run shows what is wrong with it
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
