"""The page of a run in the viewer: its cases by cause on the left, the selected case on the right."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from rightcall.reporting.changes import CaseTrials, Steadiness
from rightcall.reporting.reports import Problem, interval_text, share_text
from rightcall.values.results import GRAVITY, EvaluatorTotals, Quarantine, Totals, Verdict
from rightcall.values.statistics import Interval

from ._rows import CaseRow, ToolTotal
from ._runs_page import RunFacts
from ._templates import Crumb, Links, key_of, rate_text, render

if TYPE_CHECKING:
    from markupsafe import Markup

ROWS_A_GROUP = 6
"""Rows of a group at first; a link shows the others."""
MOST_DOTS = 10
GROUPS_A_PAGE = 60
_BAR = 320.0
_TRACK = 48.0
_LONGEST_KEY = 12
_TRIES = (1, 3, 5, 10)
_QUARANTINED = Problem("", words="In quarantine, counted in nothing")
_PASSED = Problem("", words="Passed")
_UNEXPLAINED = Problem("", words="no reason given")
_PILLS: tuple[tuple[str, str], ...] = (
    ("", "All"),
    ("open", "Not passed"),
    ("failed", "Failed"),
    ("error", "Errors"),
    ("not_measured", "Not measured"),
)


class ListedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case: the result to show, and the verdicts of all of its repeats."""

    row: CaseRow
    verdict: Verdict
    verdicts: tuple[Verdict, ...]
    quarantine: Quarantine | None = None

    @property
    def cause(self) -> tuple[str, Problem]:
        """What the case is listed under: its verdict, and its first problem."""
        if self.quarantine is not None:
            return "quarantined", _QUARANTINED
        if self.verdict == "passed":
            return "passed", _PASSED
        return self.verdict, self.row.problems[0] if self.row.problems else _UNEXPLAINED


class RowView(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list."""

    case_id: str
    title: str
    href: str
    open: str
    """The address of the case's own page."""
    verdict: Verdict
    dots: tuple[Verdict, ...] = ()
    """The verdicts of its repeats, if they are few enough for a dot each."""
    share: str = ""
    """How many of its repeats passed, if there are too many for dots."""
    low: float = 0.0
    width: float = 0.0
    at: float | None = None
    """The position of the rate on its scale; `None` for a case that was not repeated."""
    rate: str = ""
    calls: int = 0
    seconds: float | None = None
    is_chosen: bool = False


class CauseView(msgspec.Struct, frozen=True, kw_only=True):
    """Cases with the same first problem: their number, the problem, and the first of them."""

    verdict: str
    problem: Problem
    count: int
    rows: tuple[RowView, ...]
    more: int = 0
    href: str = ""
    """The address of all of them."""
    is_open: bool = False


class Pill(msgspec.Struct, frozen=True):
    """A filter by verdict, with its number of cases."""

    label: str
    verdict: str
    count: int
    href: str
    is_chosen: bool


class RunHead(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run in one line: how many passed, the rate with its interval, and the parts of its bar."""

    passed: int
    cases: int
    rate: str
    interval: str
    interval_of: str
    parts: tuple[tuple[str, float, float], ...] = ()
    """The verdict, the beginning and the width of each part of the bar."""
    low: float | None = None
    high: float | None = None
    base: float | None = None
    """The position of the rate of its gate's base on the bar."""
    base_text: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    all_of: tuple[tuple[int, str, str, bool], ...] = ()
    """For each number of tries: the probability that all pass, the address that selects it, and if it is selected."""


class RunListPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a run: its result, its cases by cause, and the selected case."""

    title: str
    trail: tuple[Crumb, ...]
    facts: RunFacts
    head: RunHead
    pills: tuple[Pill, ...]
    causes: tuple[CauseView, ...]
    q: str = ""
    kept: tuple[tuple[str, str], ...] = ()
    """The parts of the address that a search keeps, as names and values."""
    filtered: str = ""
    """The filter in words; empty if there is none."""
    matched: int = 0
    notes: tuple[str, ...] = ()
    evaluators: tuple[tuple[str, EvaluatorTotals], ...] = ()
    tools: tuple[ToolTotal, ...] = ()
    mutants: str = ""
    detail: Markup | None = None
    can_pin: bool = False
    """Whether the run can be made the baseline of its eval set from here."""
    done: str = ""
    """What was just written."""
    token: str = ""
    is_case_asked: bool = False
    """Whether the address names a case, so that a small screen shows it instead of the list."""
    number: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    is_wide: bool = True

    @property
    def is_running(self) -> bool:
        """Whether the run is still going on."""
        return self.facts.is_running


def run_list_html(page: RunListPage, links: Links) -> str:
    """Render the page of a run. Raises `MissingExtraError`."""
    return render("run.html", page, links)


def run_head(
    totals: Totals,
    steady: Steadiness,
    facts: Sequence[tuple[str, str]],
    base: float | None,
    k: int,
    hrefs: Sequence[str],
) -> RunHead:
    """Return the summary line of a run; `hrefs` are the addresses for 1, 3, 5 and 10 tries."""
    counts = {name: getattr(totals, name) for name in ("passed", "not_measured", "error", "failed")}
    cases = sum(counts.values())
    is_repeated = steady.most_trials > 1
    interval, words = steady.like_these, "for cases like these"
    if interval is None:
        interval, words = steady.again, "if these cases run again"
    tries = [each for each in _TRIES if each <= steady.most_trials] if is_repeated else []
    parts, begin = [], 0.0
    for name, count in counts.items():
        width = _BAR * count / cases if cases else 0.0
        if width:
            parts.append((name, round(begin, 2), round(width, 2)))
        begin += width
    return RunHead(
        passed=totals.passed,
        cases=cases,
        rate=rate_text(totals, steady.rate if is_repeated else None),
        interval=interval_text(interval) if interval is not None else "",
        interval_of=words,
        parts=tuple(parts),
        low=None if interval is None else round(_BAR * interval.low, 2),
        high=None if interval is None else round(_BAR * interval.high, 2),
        base=None if base is None else round(_BAR * base, 2),
        base_text="" if base is None else share_text(base),
        facts=tuple([(name, value[:80]) for name, value in facts if value]),
        all_of=tuple(
            [
                (each, share_text(steady.all_of(each)[0]), href, each == k)
                for each, href in zip(_TRIES, hrefs, strict=True)
                if each in tries
            ]
        ),
    )


def cause_views(
    cases: Sequence[ListedCase],
    chosen: str,
    run_id: str,
    links: Links,
    query: Mapping[str, str],
    *,
    opens: int = 1,
    counted: Mapping[Problem, int] | None = None,
    matched: Mapping[tuple[str, Problem], int] | None = None,
    page: int = 1,
) -> tuple[CauseView, ...]:
    """Group cases by cause: failures before errors and what was not measured, the most common cause first.

    `chosen` is the key of the selected case, and `query` the parts of the address that its rows keep. The first `opens`
    groups are open, and the one with the selected case. `counted` has the number of cases by cause if only examples are
    kept, `matched` if `cases` are only some of a cause. Very many causes are split into pages, of which `page` is one.
    """
    groups: dict[tuple[str, Problem], list[ListedCase]] = {}
    for case in cases:
        groups.setdefault(case.cause, []).append(case)
    ordered = sorted(groups.items(), key=lambda item: (_rank(item[0][0]), -len(item[1]), item[0]))
    is_alone = bool(query.get("rule") or query.get("cause") or query.get("verdict") in ("passed", "quarantined"))
    views = []
    first = (page - 1) * GROUPS_A_PAGE
    for place, ((verdict, problem), found) in enumerate(ordered[first : first + GROUPS_A_PAGE]):
        most = len(found) if is_alone else ROWS_A_GROUP
        shown = list(found[:most])
        hidden = [case for case in found[most:] if case.row.key == chosen]
        rows = [_row(case, run_id, links, query, is_chosen=case.row.key == chosen) for case in [*shown, *hidden]]
        asked = {"cause": cause_key(problem)} if problem.code else {"verdict": verdict}
        views.append(
            CauseView(
                verdict=verdict,
                problem=problem,
                count=(counted or {}).get(problem, (matched or {}).get((verdict, problem), len(found))),
                rows=tuple(rows),
                more=len(found) - len(rows),
                href=links.run(run_id, **asked, q=query.get("q", "")),
                is_open=place < opens or any([row.is_chosen for row in rows]),
            )
        )
    return (*views, *_without_examples(counted or {}, groups.keys(), run_id, links))


def _without_examples(
    counted: Mapping[Problem, int], known: Collection[tuple[str, Problem]], run_id: str, links: Links
) -> list[CauseView]:
    """Return the causes without a kept example, with their numbers."""
    seen = {problem for _, problem in known}
    return [
        CauseView(
            verdict="failed", problem=problem, count=count, rows=(), href=links.run(run_id, cause=cause_key(problem))
        )
        for problem, count in list(counted.items())[:GROUPS_A_PAGE]
        if problem not in seen
    ]


def cause_key(problem: Problem) -> str:
    """Return a short key for a problem, for addresses: every row of its cases has it."""
    return key_of(f"{problem.code} {problem.tool} {problem.words}")[-_LONGEST_KEY:]


def pills(cases: Sequence[ListedCase], chosen: str, run_id: str, links: Links, q: str) -> tuple[Pill, ...]:
    """Return the filters by verdict, with their numbers of cases."""
    counted = [case for case in cases if case.quarantine is None]
    by_verdict = Totals.of([case.verdict for case in counted])
    numbers = {"": len(cases), "open": len(counted) - by_verdict.passed}
    found = []
    for verdict, label in _PILLS:
        count: int = numbers[verdict] if verdict in numbers else getattr(by_verdict, verdict)
        if count or verdict in ("", "open"):
            href = links.run(run_id, verdict=verdict, q=q)
            found.append(Pill(label, verdict, count, href, verdict == chosen))
    return tuple(found)


def steadiness_of(cases: Sequence[ListedCase]) -> Steadiness:
    """Return the trials of listed cases."""
    apart = frozenset([case.row.case_id for case in cases if case.quarantine is not None])
    return Steadiness(tuple([CaseTrials(case.row.case_id, case.verdicts) for case in cases]), apart)


def _rank(verdict: str) -> int:
    if verdict == "quarantined":
        return 9
    return 8 if verdict == "passed" else GRAVITY[verdict]  # type: ignore[index]


def _row(case: ListedCase, run_id: str, links: Links, query: Mapping[str, str], *, is_chosen: bool) -> RowView:
    row, trials = case.row, CaseTrials(case.row.case_id, case.verdicts)
    is_repeated = len(case.verdicts) > 1
    interval = (trials.interval or Interval(0.0, 1.0)) if is_repeated else None
    passed, measured = trials.measured
    few = len(case.verdicts) <= MOST_DOTS
    return RowView(
        case_id=row.case_id,
        title=row.title or row.why,
        href=f"{links.run(run_id, **{**query, 'case': row.key})}#case",
        open=links.case(run_id, row.key),
        verdict=row.verdict,
        dots=case.verdicts if is_repeated and few else (),
        share=f"{passed}/{len(case.verdicts)}" if is_repeated and not few else "",
        low=round(_TRACK * interval.low, 2) if interval is not None else 0.0,
        width=round(_TRACK * (interval.high - interval.low), 2) if interval is not None else 0.0,
        at=round(_TRACK * passed / measured, 2) if is_repeated and measured else None,
        rate=f"{passed} of {measured} passed, {interval_text(trials.interval)}" if is_repeated else "",
        calls=row.calls,
        seconds=row.seconds,
        is_chosen=is_chosen,
    )
