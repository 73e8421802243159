"""Failures by what they have in common, and what rows of cases come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from rightcall.values.results import EvaluatorTotals, Totals

from ._rows import CaseRow
from ._rules import Problem


class Group(msgspec.Struct, frozen=True):
    """Cases that broke the same rule by the same tool."""

    code: str
    tool: str
    cases: int


class ToolTotal(msgspec.Struct, frozen=True):
    """How often a tool was called, and how often that failed."""

    name: str
    calls: int
    errors: int


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a run comes to."""

    totals: Totals
    """Cases, each once however often it was run."""
    results: Totals
    """Results: each repeat of a case is one."""
    groups: tuple[Group, ...] = ()
    """The largest first."""
    calls: float | None = None
    """Calls a result; `None` where there is none."""
    evaluators: Mapping[str, EvaluatorTotals] = {}
    tools: tuple[ToolTotal, ...] = ()
    """The one called most first; none where nobody counted them."""


class Grouping:
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
        """Take back a row that another one replaces."""
        self._verdicts[row.verdict] -= 1
        self._problems.subtract(set(row.problems))
        self._calls -= row.calls

    def groups(self) -> tuple[Group, ...]:
        """Failures by rule and tool, the largest group first."""
        found = [Group(code, tool, count) for (code, tool), count in self._problems.items() if count > 0]
        return tuple(sorted(found, key=lambda group: (-group.cases, group.code, group.tool)))

    def counts(self, totals: Totals, evaluators: Mapping[str, EvaluatorTotals]) -> RunCounts:
        """What the rows come to, given what else is known."""
        verdicts = self._verdicts
        results = Totals(verdicts["passed"], verdicts["failed"], verdicts["not_measured"], verdicts["error"])
        number = results.passed + results.failed + results.not_measured + results.error
        calls = self._calls / number if number else None
        return RunCounts(totals=totals, results=results, groups=self.groups(), calls=calls, evaluators=evaluators)
