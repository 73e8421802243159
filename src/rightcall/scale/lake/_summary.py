"""The summary of any number of scores."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.values.results import EvaluatorTotals, Totals, group_words

BARS = 10


class RuleCount(msgspec.Struct, frozen=True):
    """How many rows broke one rule by one tool."""

    code: str
    tool: str
    rows: int

    @property
    def words(self) -> str:
        """What they have in common: `search: called out of order`."""
        told = group_words(self.code, self.tool)
        return f"{self.tool}: {told}" if self.tool else told


class ExampleRow(msgspec.Struct, frozen=True):
    """A row, and what is to be said of it."""

    id: str
    why: str


class Slow(msgspec.Struct, frozen=True):
    """A row, and how long its run took."""

    id: str
    seconds: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of scores. Rows that belong to no case are counted apart, and in no other figure but `rows`."""

    rows: int
    totals: Totals
    no_case: int = 0
    """Rows that belong to no case."""
    mean_score: float | None = None
    scores: tuple[int, ...] = (0,) * BARS
    """How many scores are below 0.1, from there to 0.2, and so on; the last has 1.0 too."""
    groups: tuple[RuleCount, ...] = ()
    """Failures by rule and tool, the largest first."""
    more_groups: int = 0
    """How many other groups there are."""
    evaluators: dict[str, EvaluatorTotals] = {}
    slowest: tuple[Slow, ...] = ()
    errors: tuple[ExampleRow, ...] = ()
    not_measured: tuple[ExampleRow, ...] = ()
    unmet: tuple[str, ...] = ()
    """Cases of the eval set that no row belongs to: the first of them."""
    unmet_cases: int = 0
    """How many these are."""
    failed_parts: int = 0
    """Parts and files of the input that could not be scored."""

    @property
    def pass_rate(self) -> float | None:
        """The share of rows that passed; none where no row belongs to a case."""
        judged = self.rows - self.no_case
        return self.totals.passed / judged if judged else None

    @property
    def exit_code(self) -> int:
        """1 where a row failed; 2 where something could not be measured, or there was nothing; 0 where all passed."""
        return self.totals.exit_code or (2 if self.unmet_cases or self.failed_parts else 0)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        fields = msgspec.to_builtins(self)
        groups = [{**msgspec.to_builtins(group), "words": group.words} for group in self.groups]
        return {"schema": 1, **fields, "pass_rate": self.pass_rate, "groups": groups}
