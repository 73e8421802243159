"""Were the expected tools called in the expected order?"""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import repeat
from typing import TYPE_CHECKING, ClassVar

import msgspec

from rightcall.judging.core import (
    TEXT,
    Criteria,
    Evaluator,
    Measurement,
    NameScope,
    NotEmpty,
    Selection,
    Shorthand,
    ToolCallConfig,
    ToolName,
)
from rightcall.limits import Limits
from rightcall.matching import matchers
from rightcall.matching.alignment import Row, common_length, related_subsequence
from rightcall.values.results import Explained, Finding, Justification, ToolCallOrderEvaluatorJustification

from ._comparison import Comparison, ComparisonAccount, compare_calls, compare_names, too_long_to_align
from ._findings import Rule, Subject, find
from ._sequences import is_surely_exact, least_in_order, may_be_exact

if TYPE_CHECKING:
    from rightcall.matching.matchers import ExpectedCalls


class ToolCallOrderEvaluationCriteria(Criteria):
    """The names of the expected tools, in order; a tool expected twice is listed twice."""

    lists_calls: ClassVar[tuple[str, ...]] = ("tool_calls_order",)
    tool_calls_order: NotEmpty[tuple[ToolName, ...]]


class ToolCallOrderEvaluatorConfig(ToolCallConfig):
    """`strict`: the sequences must be equal, and the score is 1.0 or 0.0."""

    name: str = "ToolCallOrderEvaluator"
    strict: bool = False


class OrderPlan(msgspec.Struct, frozen=True):
    """Expected names, with a small number for each that rapidfuzz can compare."""

    spends: ClassVar[bool] = False
    expected: list[str]
    ids: dict[str, int]
    expected_ids: list[int]
    size: int
    patterns: ExpectedCalls | None = None
    """The names as patterns, where one of them has a `*` that stands for any characters."""

    @classmethod
    def of(cls, expected: Iterable[str], *, wildcards: bool = False) -> OrderPlan:
        """The plan of these names."""
        ids: dict[str, int] = {}
        names = list(expected)
        starred = wildcards and any(["*" in name for name in names])
        patterns = matchers.ExpectedCalls([matchers.call_pattern(name) for name in names]) if starred else None
        return cls(names, ids, [ids.setdefault(name, len(ids)) for name in names], len(names), patterns)

    @property
    def names(self) -> Set[str]:
        """The tools that are expected."""
        return self.ids.keys() if self.patterns is None else self.patterns.tools

    def rows(self, selection: Selection) -> list[Row]:
        """For each expected name, the places of the selected calls that have it, or fit it."""
        if self.patterns is None:
            return selection.rows_of(self.expected)
        return matchers.relate(self.patterns, selection.calls).sure

    def most_in_order(self, selection: Selection) -> int:
        """How many of the expected names were called in order."""
        if self.patterns is None:
            return common_length(self.expected_ids, self.numbered(selection.names))
        return len(related_subsequence(self.rows(selection), len(selection.calls)))

    def is_met_exactly(self, selection: Selection) -> bool:
        """Return whether the calls fit the expected names, one by one."""
        return len(selection.calls) == self.size == self.most_in_order(selection)

    def numbered(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of actual names; all that are not expected share one."""
        return list(map(self.ids.get, names, repeat(len(self.ids))))


class ToolCallOrderEvaluator(Evaluator[ToolCallOrderEvaluatorConfig, ToolCallOrderEvaluationCriteria, OrderPlan]):
    """The share of expected calls that happened in the expected order.

    The score is the length of a longest common subsequence of expected and actual names, divided by the number
    expected. Calls in between cost nothing; a name expected twice must be called twice; nothing called scores 0.0.
    Strict, the score is 1.0 if the sequences are equal, else 0.0. An empty expectation is an error, not a score.
    """

    type_id = "tool-call-order"
    takes_wildcards = True
    orders_calls = True
    shorthand = Shorthand("order", "tool_calls_order", schema={"type": "array", "items": TEXT, "minItems": 1})
    justification_type = ToolCallOrderEvaluatorJustification
    config_type = ToolCallOrderEvaluatorConfig
    criteria_type = ToolCallOrderEvaluationCriteria

    def compile(self, criteria: ToolCallOrderEvaluationCriteria) -> OrderPlan:
        return OrderPlan.of(criteria.tool_calls_order, wildcards=criteria.wildcards)

    def scope(self, criteria: ToolCallOrderEvaluationCriteria) -> NameScope | None:
        if self.plan(criteria).patterns is not None:
            return None
        strict = self.config.strict
        return NameScope(criteria.tool_calls_order, "equal" if strict else "share", extras=strict)

    def measure(self, selection: Selection, plan: OrderPlan) -> Measurement:
        score = self._score(selection, plan)
        # Arranging compares every range of calls with the expectation; most runs are in order as recorded.
        if score < 1.0 and selection.free:
            selection = selection.arranged(plan.rows(selection), self.limits)
            score = self._score(selection, plan)
        warnings = too_long_to_align(len(plan.expected), len(selection.names), self.limits)
        account = Explained() if warnings else OrderAccount(selection, plan, self.config.strict, self.limits)
        return Measurement(score, score, account, warnings)

    def estimate(self, selection: Selection, plan: OrderPlan) -> Measurement:
        low, high = names_bounds(plan, selection, self.limits, exact=self.config.strict)
        account = OrderAccount(selection.sure(), plan, self.config.strict, self.limits)
        return Measurement(low, high, account)

    def _score(self, selection: Selection, plan: OrderPlan) -> float:
        met = plan.expected == list(selection.names) if plan.patterns is None else plan.is_met_exactly(selection)
        if met:
            return 1.0
        return 0.0 if self.config.strict else plan.most_in_order(selection) / plan.size


def names_bounds(plan: OrderPlan, selection: Selection, limits: Limits, *, exact: bool) -> tuple[float, float]:
    """The bounds of the share of expected names that are in order or, exact, of 1.0 where the calls are just these."""
    sure = selection.sure()
    if exact:
        rows = plan.rows(selection)
        return float(is_surely_exact(rows, selection)), float(may_be_exact(rows, selection))
    surely = least_in_order(plan.rows(sure), sure) / plan.size
    if selection.doubts is not None and selection.doubts.missing:
        return surely, 1.0
    best = selection.arranged(plan.rows(selection), limits) if selection.loose else selection
    return surely, plan.most_in_order(best) / plan.size


class OrderAccount(ComparisonAccount):
    """How the expected names line up with the actual ones."""

    selection: Selection
    plan: OrderPlan
    strict: bool
    limits: Limits

    def compare(self) -> Comparison:
        """The alignment of the names."""
        if self.plan.patterns is not None:
            return compare_calls(self.plan.patterns, self.selection, self.limits)
        return compare_names(self.plan.expected, self.selection, self.limits)

    def justify(self) -> Justification:
        """The two sequences, what they have in common, and how they line up."""
        return ToolCallOrderEvaluatorJustification(
            actual_tool_calls_order=list(self.selection.names),
            expected_tool_calls_order=self.plan.expected,
            lcs=self.comparison.names_of("match"),
            alignment=self.comparison.alignment(),
        )

    def find(self) -> tuple[Finding, ...]:
        """Calls that are missing or out of order and, where the order is strict, those not expected."""
        return find(self.comparison, Rule(order=True, extras=self.strict), Subject("tool_calls_order"))
