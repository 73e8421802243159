"""Cases as rows of a list: their problems, worst first, and what rows have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rightcall.reporting.reports import Problem, problems_of, reported_findings, seconds_between
from rightcall.values.results import (
    CODES,
    CaseResult,
    Code,
    EvaluatorTotals,
    PlacedFinding,
    Totals,
    Verdict,
)

from ._templates import ShownText, case_key, shown_text

_SENTENCE = 300
_CASE_ID = 400
_TITLE = 120
_MOST_PROBLEMS = 20
_MOST_TOOLS = 50
_PROBLEM_SENTENCE = 1_000
_PLACE = 300
_MOST = 40


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a case, as small as a list needs it: what is long is cut, what is many is bounded."""

    key: str
    """Its name in addresses."""
    case_id: str
    repeat: int
    number: int
    """The number of the repeat that is shown."""
    verdict: Verdict
    score: float | None
    why: str
    """One sentence; empty where it passed."""
    problems: tuple[Problem, ...] = ()
    """The worst first."""
    tools: tuple[str, ...] = ()
    """The names of the tools called, each once."""
    calls: int = 0
    seconds: float | None = None
    """The time the agent took; `None` if it was not run and its calls have no times."""
    tags: tuple[str, ...] = ()
    title: str = ""
    """What the user asked for, on one line; empty where that is not a text."""


def row_of(result: CaseResult, tags: Sequence[str] = ()) -> CaseRow:
    """Return the row of a result."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    return CaseRow(
        key=case_key(result.case_id, result.repeat),
        case_id=result.case_id[:_CASE_ID],
        repeat=result.repeat,
        number=result.number,
        verdict=result.verdict,
        score=result.score,
        why=sentence_of(result)[:_SENTENCE],
        problems=problems_of(result, _MOST_PROBLEMS),
        tools=tuple(dict.fromkeys([call.name[:200] for call in calls[:10_000]]))[:_MOST_TOOLS],
        calls=len(calls),
        seconds=result.outcome.seconds if result.outcome is not None else _seconds(result),
        tags=tuple(tags),
        title=title_of(result),
    )


_ASKED = ("query", "text", "question", "message", "prompt", "input", "content", "request")
"""Keys under which the input of an agent is what its user said. A value under another key may be anything."""


def title_of(result: CaseResult) -> str:
    """Return what the user asked for, on one line; empty where neither the input nor a message has it."""
    given = result.trajectory.input if result.trajectory is not None else None
    if isinstance(given, (list, tuple)) and given:
        given = given[0]
    if isinstance(given, dict):
        given = next((given[key] for key in _ASKED if isinstance(given.get(key), str)), None)
    if not isinstance(given, str) and result.trajectory is not None:
        given = next((each.text for each in result.trajectory.messages if each.writer == "user"), None)
    return " ".join(given[:_TITLE].split()) if isinstance(given, str) else ""


def sentence_of(result: CaseResult) -> str:
    """Return the sentence that says why a case did not pass; empty if it did."""
    if result.passed:
        return ""
    reported = reported_findings(result)
    if reported:
        return reported[0].finding.message
    if result.outcome is not None and result.outcome.error:
        return result.outcome.error
    return next((one.error for one in result.results if one.error), None) or "no reason given"


class Group(msgspec.Struct, frozen=True):
    """Cases with the same problem."""

    problem: Problem
    cases: int


class ToolTotal(msgspec.Struct, frozen=True):
    """The number of calls of a tool, and of calls that failed."""

    name: str
    calls: int
    errors: int


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a run."""

    totals: Totals
    """Cases, each once however often it was run."""
    rate: float | None = None
    """The pass rate where cases were repeated; else that of the totals counts."""
    results: Totals
    """Results: each repeat of a case is one."""
    groups: tuple[Group, ...] = ()
    """The largest first."""
    calls: float | None = None
    """Mean calls per result; `None` if there are no results."""
    evaluators: Mapping[str, EvaluatorTotals] = {}
    tools: tuple[ToolTotal, ...] = ()
    """The most called first; empty if tools were not counted."""


class RowCounter:
    """Counts rows, one at a time."""

    def __init__(self) -> None:
        self._problems: Counter[Problem] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._calls = 0

    def add(self, row: CaseRow) -> None:
        """Count a row."""
        self._verdicts[row.verdict] += 1
        self._problems.update(set(row.problems))
        self._calls += row.calls

    def remove(self, row: CaseRow) -> None:
        """Remove a row that another one replaces."""
        self._verdicts[row.verdict] -= 1
        self._problems.subtract(set(row.problems))
        self._calls -= row.calls

    def groups(self) -> tuple[Group, ...]:
        """Return the failures by problem, the largest group first."""
        found = [Group(problem, count) for problem, count in self._problems.items() if count > 0]
        return tuple(sorted(found, key=lambda group: (-group.cases, group.problem)))

    def counts(self, totals: Totals, evaluators: Mapping[str, EvaluatorTotals]) -> RunCounts:
        """Return the totals of all rows, given the totals that rows do not have."""
        verdicts = self._verdicts
        results = Totals(verdicts["passed"], verdicts["failed"], verdicts["not_measured"], verdicts["error"])
        number = results.passed + results.failed + results.not_measured + results.error
        calls = self._calls / number if number else None
        return RunCounts(totals=totals, results=results, groups=self.groups(), calls=calls, evaluators=evaluators)


class ProblemView(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence that says what is wrong, its code, who found it, where that is written, and what may help."""

    code: str
    name: str
    """The name of the code; empty for one that is not known."""
    message: ShownText
    expectation: str
    place: str
    help: str = ""
    why: str = ""
    """The reason for what is expected, where the expectation gives one."""
    number: int = 0
    """The call it is about, from 1; 0 for none."""
    path: str = ""
    """The part of the criteria it is about."""


def problem_views(result: CaseResult) -> tuple[ProblemView, ...]:
    """Return the problems of a case, the worst first, at most 40."""
    return tuple([problem_view(placed) for placed in reported_findings(result)[:_MOST]])


def codes_of(problems: Iterable[ProblemView]) -> tuple[Code, ...]:
    """Return the explanation of each code, once."""
    return tuple([CODES[code] for code in dict.fromkeys([each.code for each in problems]) if code in CODES])


def _seconds(result: CaseResult) -> float | None:
    """Return the time from the start of the first call to the end of the last one."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    begin = min((call.start_ns for call in calls if call.start_ns is not None), default=None)
    end = max((call.end_ns for call in calls if call.end_ns is not None), default=None)
    return seconds_between(begin, end)


def problem_view(placed: PlacedFinding) -> ProblemView:
    """Return a finding as pages show it."""
    finding = placed.finding
    return ProblemView(
        code=finding.code[:40],
        name=CODES[finding.code].name if finding.code in CODES else "",
        message=shown_text(finding.message, _PROBLEM_SENTENCE),
        expectation=placed.expectation[:100],
        place=str(placed.source)[:_PLACE] if placed.source.file else "",
        help=(finding.help or "")[:_PROBLEM_SENTENCE],
        why=(finding.why or "")[:_PROBLEM_SENTENCE],
        number=finding.actual.position + 1 if finding.actual is not None else 0,
        path=(finding.path or "")[:_PLACE],
    )
