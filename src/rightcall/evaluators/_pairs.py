"""Expected calls in any order, each paired with an actual one: what args, output, precision and recall share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence, Set
from typing import Any, ClassVar

import msgspec

from rightcall.alignment import Row, maximum_pairing, only_pairing
from rightcall.limits import Limits
from rightcall.matchers import ArgsPolicy, CallPattern, ExpectedCalls, Pattern, Relation, relate
from rightcall.results import Finding, Justification, Told

from ._comparing import Comparison, ComparisonAccount, compare_calls, too_long_to_align
from ._criteria import ExpectedCall
from ._evaluator import ConfigT, CriteriaT, Evaluator, Measurement
from ._selection import Selection
from ._telling import Rule, Subject, find


def call_patterns(calls: Sequence[ExpectedCall], policy: ArgsPolicy, where: str, limits: Limits) -> list[CallPattern]:
    """Expected calls, each compiled under an argument policy. Raises `ExpectationError`."""
    return [
        CallPattern(call.name, call.args, policy, where=f"{where}[{index}].args", limits=limits)
        for index, call in enumerate(calls)
    ]


def share(pairs: int, expected: int, *, strict: bool) -> float:
    """Pairs divided by calls expected; strict, 1.0 if all are paired, else 0.0."""
    return float(pairs == expected) if strict else pairs / expected


class PatternPlan(msgspec.Struct, frozen=True):
    """Expected calls, compiled."""

    expected: ExpectedCalls
    names: Set[str]
    size: int
    spends: bool

    @classmethod
    def of(cls, patterns: Sequence[Pattern]) -> PatternPlan:
        """The plan of these patterns."""
        expected = ExpectedCalls(patterns)
        return cls(expected, expected.name_set, len(patterns), expected.spends)


class Paired(msgspec.Struct, frozen=True):
    """How many expected calls can be paired: at least, and at most if the trace had recorded everything."""

    low: int
    high: int
    relation: Relation | None
    """What the pairing was made from; `None` where the calls simply are the expected ones, in order."""


class PairingEvaluator(Evaluator[ConfigT, CriteriaT, PatternPlan]):
    """An evaluator whose score follows from how many expected calls can be paired with actual ones."""

    subject: ClassVar[Subject]
    extra_calls_cost: ClassVar[bool] = False
    """Whether unexpected calls lower the score."""

    def rule(self, actual: int) -> Rule:
        """What counts as wrong where so many calls were made."""
        return Rule()

    @abstractmethod
    def score(self, pairs: int, expected: int, actual: int) -> float:
        """The score of so many pairs among so many expected and actual calls. It never falls as pairs grow."""

    @abstractmethod
    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        """The details of a result."""

    def measure(self, selection: Selection, plan: PatternPlan) -> Measurement:
        paired = pair(plan.expected, selection, self.limits)
        expected, actual = plan.size, len(selection.calls)
        low = self.score(paired.low, expected, actual)
        high = low if paired.low == paired.high else self.score(paired.high, expected, actual)
        warnings = too_long_to_align(expected, actual, self.limits)
        account = Told() if warnings else PairingAccount(self, selection, plan, paired)
        return Measurement(low, high, account, warnings)

    def bounds_of_incomplete(
        self, selection: Selection, plan: PatternPlan, measured: Measurement
    ) -> tuple[float, float]:
        return 0.0 if self.extra_calls_cost else measured.low, 1.0


class PairingAccount(ComparisonAccount):
    """Which expected call was paired with which actual one."""

    evaluator: PairingEvaluator[Any, Any]
    selection: Selection
    plan: PatternPlan
    paired: Paired

    def compare(self) -> Comparison:
        """The alignment of the calls."""
        relation = self.paired.relation
        return compare_calls(
            self.plan.expected, self.selection, self.evaluator.limits, relation, as_expected=relation is None
        )

    def justify(self) -> Justification:
        """The evaluator's own details."""
        expected, actual = self.plan.size, len(self.selection.calls)
        return self.evaluator.justify(self.comparison, self.paired.low, expected, actual)

    def find(self) -> tuple[Finding, ...]:
        """What is wrong by the evaluator's rule."""
        rule = self.evaluator.rule(len(self.selection.calls))
        return find(self.comparison, rule, self.evaluator.subject)


def pair(expected: ExpectedCalls, selection: Selection, limits: Limits) -> Paired:
    """The size of a maximum pairing of expected with selected calls.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if expected.is_beginning_of(selection.calls, selection.names):
        return Paired(len(expected), len(expected), None)
    relation = relate(expected, selection.calls, limits)
    low = _size(relation.sure)
    return Paired(low, low if relation.is_certain else _size(relation.possible), relation)


def _size(rows: Sequence[Row]) -> int:
    if (pairs := only_pairing(rows)) is not None:
        return len(pairs)
    return len(rows) - maximum_pairing(rows).count(-1)
