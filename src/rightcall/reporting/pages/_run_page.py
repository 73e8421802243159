"""The page of a run and of one of its tools, and a run as a single HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

import msgspec

from rightcall.errors import missing_package
from rightcall.reporting.reports import CaseBlock, Problem, Report, decided_verdict, duration_text, overall_line
from rightcall.values.decoding import dump_json
from rightcall.values.results import CODES, CaseResult, Code, EvaluatorTotals, Totals, Verdict
from rightcall.values.trajectory import ToolCall

from ._case_page import CALLS_A_PAGE, CasePage, brief_case_page
from ._rows import CaseRow, Group, RowCounter, RunCounts, ToolTotal, row_of
from ._run_list import ListedCase, cause_key
from ._runs_page import PartOfList, RunFacts, RunLine, report_facts
from ._templates import Crumb, Head, Links, ShownText, environment, key_of, rate_text, render, shown_text

# With long titles and a case beside them, 120 rows make a page of less than 100 kB.
ROWS_A_PAGE = 120
MOST_GROUPS = 30
_FILTERS = (
    ("", "All"),
    ("failed", "Failed"),
    ("error", "Errors"),
    ("not_measured", "Not measured"),
    ("passed", "Passed"),
)
_BARS = 20
_LONGEST_VALUE = 1_200
# Durations of one tool differ by orders of magnitude, so the scale is logarithmic.
_STEP = 10 ** (1 / 4)
"""The ratio of neighbouring bars of a histogram: four bars are a power of ten."""
MOST_BYTES = 3_000_000
"""Most bytes for the details of cases; further cases have one line each."""
MOST_CASES = 20_000
"""Most cases to list."""
_MOST_OPEN = 20
_LONGEST_NOTE = 300
_LINKS = Links(is_one_file=True)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The filter of cases; empty fields match all. Tools and causes are given by their keys."""

    verdict: str = ""
    rule: str = ""
    tool: str = ""
    cause: str = ""
    q: str = ""
    page: int = 1

    def accepts(self, row: CaseRow) -> bool:
        """Return whether to show a row. Text is searched in id, title, sentence, tools and tags, ignoring case."""
        if self.verdict and row.verdict != self.verdict:
            return False
        if (self.rule or self.tool or self.cause) and not any(map(self.is_about, row.problems)):
            return False
        if not self.q:
            return True
        wanted = self.q.casefold()
        return any(wanted in text.casefold() for text in (row.case_id, row.why, row.title, *row.tools, *row.tags))

    def takes(self, case: ListedCase) -> bool:
        """Return whether to show a case in the viewer's list, where it is under its first problem."""
        verdict, problem = case.cause
        is_open = verdict not in ("passed", "quarantined")
        if self.verdict and verdict != self.verdict and not (self.verdict == "open" and is_open):
            return False
        if (self.rule or self.cause) and not self.is_about(problem):
            return False
        return not self.q or Choice(q=self.q).accepts(case.row)

    @property
    def is_one_group(self) -> bool:
        """Whether it selects the cases of one cause, which are then listed page by page."""
        return bool(self.rule or self.cause) or self.verdict in ("passed", "quarantined")

    def is_group(self, group: Group) -> bool:
        """Return whether it selects the cases of a group."""
        return bool(self.rule or self.cause) and self.is_about(group.problem)

    def kept(self) -> dict[str, str]:
        """Return its fields as parameters of an address."""
        return {"verdict": self.verdict, "rule": self.rule, "tool": self.tool, "cause": self.cause, "q": self.q}

    def is_about(self, problem: Problem) -> bool:
        """Return whether a problem matches the filter."""
        return (
            (not self.rule or problem.code == self.rule)
            and (not self.tool or key_of(problem.tool) == self.tool)
            and (not self.cause or cause_key(problem) == self.cause)
        )


class Tile(msgspec.Struct, frozen=True):
    """A number with its name."""

    label: str
    value: str


class FilterView(msgspec.Struct, frozen=True):
    """A filter of the cases by verdict."""

    label: str
    verdict: str
    count: int
    href: str
    is_chosen: bool = False


class GroupView(msgspec.Struct, frozen=True):
    """A group of failures: a tool, words that follow its name, and the number of cases."""

    code: str
    tool: str
    words: str
    cases: int
    href: str
    key: str
    """The `cause_key` of the problem."""
    is_chosen: bool = False


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """What the page of a run shows, for its template."""

    title: str
    trail: tuple[Crumb, ...] = ()
    facts: RunFacts
    totals: Totals
    tiles: tuple[Tile, ...]
    evaluators: tuple[tuple[str, EvaluatorTotals], ...] = ()
    groups: tuple[GroupView, ...] = ()
    more_groups: int = 0
    filters: tuple[FilterView, ...] = ()
    choice: Choice = Choice()
    chosen: str = ""
    """The selected group, in words."""
    rows: tuple[CaseRow, ...] = ()
    matched: int = 0
    before: str = ""
    after: str = ""
    notes: tuple[str, ...] = ()
    tools: tuple[ToolTotal, ...] = ()
    mutants: str = ""
    """The share of faults that the eval set notices, if `rightcall mutate` was run."""
    rate: str = ""
    """The pass rate."""
    exit_code: int | None = None
    """The exit code of the command; `None` for a run that is not complete."""

    @property
    def came_out(self) -> Verdict | None:
        """The verdict of the run by its exit code; `None` for a run that is not complete."""
        ends: dict[int | None, Verdict] = {0: "passed", 1: "failed", 2: "not_measured"}
        return ends.get(self.exit_code)

    @property
    def cases(self) -> int:
        """The number of cases."""
        return self.totals.passed + self.totals.failed + self.totals.error + self.totals.not_measured

    @property
    def is_running(self) -> bool:
        """Whether the run is still going on."""
        return self.facts.is_running

    @property
    def pages(self) -> int:
        """The number of pages of cases, at least one."""
        return _pages(self.matched)


def run_page(
    facts: RunFacts,
    counts: RunCounts,
    links: Links,
    *,
    choice: Choice | None = None,
    rows: Sequence[CaseRow] = (),
    matched: int = 0,
    notes: Sequence[str] = (),
    exit_code: int | None = None,
) -> RunPage:
    """Return the page of a run.

    Args:
        facts: The facts about the run.
        counts: Its totals.
        links: The addresses of other pages.
        choice: The filter of its cases.
        rows: The cases on this page, `ROWS_A_PAGE` at most.
        matched: The number of cases on all pages.
        notes: Other remarks, one sentence each.
        exit_code: The exit code of the command, which determines the verdict of the run.
    """
    choice = choice or Choice()
    groups = tuple([_group(group, facts, choice, links) for group in counts.groups])
    return RunPage(
        title=f"{facts.name} {facts.subject}".strip(),
        trail=_trail(facts, links),
        facts=facts,
        totals=counts.totals,
        tiles=tuple(_tiles(facts, counts)),
        evaluators=tuple([(name[:200], totals) for name, totals in list(counts.evaluators.items())[:100]]),
        groups=groups[:MOST_GROUPS],
        more_groups=max(0, len(groups) - MOST_GROUPS),
        filters=tuple(_filters(facts, counts.results, choice, links)),
        choice=choice,
        chosen=next((f"{group.tool} {group.words}".strip() for group in groups if group.is_chosen), choice.rule),
        rows=tuple(rows),
        matched=matched,
        before=_paged(facts, choice, choice.page - 1, links) if choice.page > 1 else "",
        after=_paged(facts, choice, choice.page + 1, links) if choice.page < _pages(matched) else "",
        notes=tuple(notes),
        tools=counts.tools,
        rate=rate_text(counts.totals, counts.rate),
        exit_code=exit_code,
    )


def _pages(matched: int) -> int:
    return max(1, -(-matched // ROWS_A_PAGE))


def _trail(facts: RunFacts, links: Links) -> tuple[Crumb, ...]:
    here = Crumb(facts.name)
    return (here,) if links.is_one_file else (Crumb("Runs", links.runs()), here)


def _tiles(facts: RunFacts, counts: RunCounts) -> Iterator[Tile]:
    if facts.took:
        yield Tile("Took", facts.took)
    if counts.calls is not None:
        yield Tile("Calls per case", f"{counts.calls:.1f}")


def _group(group: Group, facts: RunFacts, choice: Choice, links: Links) -> GroupView:
    problem = group.problem
    key = cause_key(problem)
    href = links.run(facts.id, cause=key)
    return GroupView(problem.code[:40], problem.tool, problem.words, group.cases, href, key, choice.is_group(group))


def _filters(facts: RunFacts, results: Totals, choice: Choice, links: Links) -> Iterator[FilterView]:
    number = results.passed + results.failed + results.error + results.not_measured
    for verdict, label in _FILTERS:
        count: int = getattr(results, verdict) if verdict else number
        href = links.run(facts.id, verdict=verdict, q=choice.q)
        is_chosen = verdict == choice.verdict and not (choice.rule or choice.tool or choice.cause)
        yield FilterView(label, verdict, count, href, is_chosen)


def _paged(facts: RunFacts, choice: Choice, page: int, links: Links) -> str:
    return links.run(facts.id, **choice.kept(), page=page)


class CallLine(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the tool. `None` means not recorded."""

    case_id: str
    key: str
    """The key of its case."""
    verdict: Verdict
    """The verdict of its case."""
    position: int
    """The number of the call in its case, from 1."""
    arguments: ShownText | None
    output: ShownText | None
    error: ShownText | None
    is_suspected: bool = False
    took: str = ""

    @property
    def page(self) -> int:
        """The page of its case that shows it; 0 for the first, which is the default."""
        number = (self.position - 1) // CALLS_A_PAGE + 1
        return number if number > 1 else 0


class Bar(msgspec.Struct, frozen=True):
    """One bar of a histogram: a range of durations, the number of calls, and the height in percent."""

    begin: str
    end: str
    count: int
    height: float


class ToolPage(PartOfList, frozen=True, kw_only=True):
    """The calls of one tool: figures, and a list."""

    run: RunLine
    tool: str
    lines: tuple[CallLine, ...]
    calls: int
    cases: int
    errors: int
    median: str = ""
    slow: str = ""
    """The 95th percentile of the durations."""
    bars: tuple[Bar, ...] = ()
    only_errors: bool = False
    heads: Mapping[str, Head]
    """The headings that sort the calls."""


def call_line(call: ToolCall, position: int, case_id: str, key: str, verdict: Verdict) -> CallLine:
    """Return a call as a line. Values are JSON, shortened in the middle if they are long."""
    took = ""
    if call.start_ns is not None and call.end_ns is not None and call.end_ns >= call.start_ns:
        took = duration_text(call.end_ns - call.start_ns)
    return CallLine(
        case_id=case_id,
        key=key,
        verdict=verdict,
        position=position,
        arguments=None if "args" in call.unrecorded else _shown(call.args),
        output=None if "output" in call.unrecorded else _shown(call.output),
        error=shown_text(call.error, _LONGEST_VALUE) if call.error is not None else None,
        is_suspected=call.suspected_error,
        took=took,
    )


def quantile(times: Sequence[int], share: float) -> str:
    """Return a quantile of sorted durations; empty if there are none."""
    return duration_text(times[min(len(times) - 1, int(share * len(times)))]) if times else ""


def histogram(times: Sequence[int]) -> tuple[Bar, ...]:
    """Return a histogram of sorted durations, on a scale where each step is 1.8 times the one before."""
    if not times:
        return ()
    begin = max(1, times[0])
    edges = [begin]
    while edges[-1] < times[-1] and len(edges) < _BARS:
        edges.append(max(edges[-1] + 1, round(edges[-1] * _STEP)))
    counts = [0] * max(1, len(edges) - 1)
    place = 0
    for time in times:
        while place < len(counts) - 1 and time >= edges[place + 1]:
            place += 1
        counts[place] += 1
    ends = [*edges[1:-1], max(times[-1], begin)]
    most = max(counts)
    bounds = zip(edges, ends, counts, strict=False)
    return tuple([Bar(duration_text(a), duration_text(b), count, 100 * count / most) for a, b, count in bounds])


def tool_html(page: ToolPage, links: Links) -> str:
    """Render the page of a tool. Raises `MissingExtraError`."""
    return render("tool.html", page, links)


def _shown(value: object) -> ShownText:
    return shown_text(dump_json(value), _LONGEST_VALUE)


class ArticleView(msgspec.Struct, frozen=True, kw_only=True):
    """One case in the file: its line, its details if there is space, and whether they are open at first."""

    row: CaseRow
    cause: str
    """The key of its first problem, for filtering; empty if it has none."""
    case: CasePage | None = None
    is_open: bool = False
    note: str = ""
    """Why its verdict has no effect: other repeats passed, a gate decides, or it is in quarantine; else empty."""


def html_report(report: Report) -> Iterator[str]:
    """Yield a report as a single HTML file, piece by piece, that needs no other file and no network.

    Cases that did not pass come first, the first of them open; all values are shortened. A failed repeat of a passed
    case is listed among the passed ones, with a note. When details have taken up 3 MB, further cases have only their
    sentence, and after 20,000 cases the rest is counted. A policy in the file forbids everything but its own stylesheet
    and script.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    template = environment().get_template("report.html")
    articles = _Articles(report)
    for result in report.results():
        articles.add(result)
    counts = articles.grouping.counts(report.totals, report.evaluators)
    counts = msgspec.structs.replace(counts, rate=report.rate if report.repeats else None)
    gate = report.gate.told if report.gate is not None else ()
    notes = [*gate, *map(overall_line, report.overall), *report.notes][:100]
    page = run_page(
        report_facts(report),
        counts,
        _LINKS,
        notes=notes,
        matched=articles.number,
        exit_code=report.exit_code,
    )
    stream = template.stream(page=page, links=_LINKS, articles=articles, most=MOST_CASES)
    stream.enable_buffering(100)
    yield from stream


def check_installed() -> None:
    """Check that Jinja is installed, before any work is done. Raises `MissingExtraError`."""
    if find_spec("jinja2") is None:
        raise missing_package("web pages need jinja2")


class _Articles:
    """The cases of a report as HTML, those that did not pass first. Results are read once, and not kept."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.grouping = RowCounter()
        self.number = 0
        self._codes: dict[str, None] = {}
        self._bad = _Pile()
        self._good = _Pile()
        self._article = environment().get_template("report_parts.html").module.article  # type: ignore[attr-defined]

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        row = row_of(result)
        self.number += 1
        first = row.problems[:1]  # so that the numbers of cases by cause add up to that of all cases
        self.grouping.add(msgspec.structs.replace(row, problems=first))
        self._codes.update(dict.fromkeys([problem.code for problem in row.problems]))
        # Results arrive in any order and failures come first in the file, so both kinds are kept, as finished HTML.
        repeats = self._report.repeats.get(result.case_id)
        quarantine = self._report.quarantined.get(result.case_id)
        block = CaseBlock(result, repeats, decided=decided_verdict(self._report, result), quarantine=quarantine)
        is_good = result.passed or block.is_note
        pile = self._good if is_good else self._bad
        if len(pile.texts) == MOST_CASES:
            return
        is_open = not is_good and len(pile.texts) < _MOST_OPEN
        decides = "the gate decides" if block.decided is not None else "the case passed"
        note = ": ".join(filter(None, [decides, block.shares])) if block.is_note else ""
        note = str(quarantine)[:_LONGEST_NOTE] if quarantine is not None else note
        line = ArticleView(row=row, cause="".join(map(cause_key, first)), note=note)
        whole = ""
        if self._bad.size + (self._good.size if is_good else 0) < MOST_BYTES:
            case = brief_case_page(result)
            whole = self._article(msgspec.structs.replace(line, case=case, is_open=is_open), _LINKS)
        pile.add(line, whole)

    def __iter__(self) -> Iterator[str]:
        room, left = MOST_BYTES, MOST_CASES
        for pile in (self._bad, self._good):
            for line, whole in pile.texts[:left]:
                fits = bool(whole) and room > 0
                room -= len(whole.encode()) if fits else 0
                yield whole if fits else self._article(line, _LINKS)
            left -= min(left, len(pile.texts))

    @property
    def codes(self) -> list[Code]:
        """The explanations of the codes that occur."""
        return [CODES[code] for code in self._codes if code in CODES]


class _Pile:
    """Cases with and without their details, and the total size of the details."""

    def __init__(self) -> None:
        self.texts: list[tuple[ArticleView, str]] = []
        self.size = 0

    def add(self, line: ArticleView, whole: str) -> None:
        self.texts.append((line, whole))
        self.size += len(whole.encode())
