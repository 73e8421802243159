"""Expected calls in any order, each paired with an actual one: what args, output, precision and recall share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence, Set
from itertools import product
from typing import Any, ClassVar

import msgspec

from rightcall.judging.core import (
    CallScope,
    ConfigT,
    CriteriaT,
    Doubts,
    Evaluator,
    ExpectedCall,
    Measurement,
    Selection,
)
from rightcall.limits import Limits
from rightcall.matching.alignment import Row, maximum_pairing, only_pairing
from rightcall.matching.matchers import ArgsPolicy, ExpectedCalls, Pattern, Relation, call_pattern, relate
from rightcall.values.results import Explained, Finding, Justification

from ._comparison import Comparison, ComparisonAccount, compare_calls, too_long_to_align
from ._findings import Rule, Subject, find
from ._sequences import without

_MOST_KINDS = 6
"""Kinds of calls that may not be meant, up to which every choice among them is looked at."""
_WITHOUT_END = 10**15


def call_patterns(
    calls: Sequence[ExpectedCall],
    policy: ArgsPolicy,
    where: str,
    limits: Limits,
    *,
    wildcards: bool = False,
    names: bool = False,
) -> list[Pattern]:
    """Expected calls, each compiled under an argument policy; with `names`, they may bind names to values.

    Raises:
        ExpectationError: a part of one is not what it should be.
    """
    compiled: list[Pattern] = []
    for index, call in enumerate(calls):
        place, parts = f"{where}[{index}]", call.parts
        pattern = call_pattern(
            call.name, call.args, policy, wildcards=wildcards, names=names, where=place, limits=limits, **parts
        )
        compiled.append(pattern)
    return compiled


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
        return cls(expected, expected.tools, len(patterns), expected.spends)

    def scope(self, *, others: bool = False, finds_calls: bool = False) -> CallScope | None:
        """Return the scope of a verdict that follows from which calls satisfy which patterns, in any order.

        None where these depend on more than the name and one part of a call.
        """
        if self.expected.special:
            return None
        patterns = tuple(self.expected.patterns)
        return CallScope(self.expected.name_set, patterns, others=others, finds_calls=finds_calls)


class Paired(msgspec.Struct, frozen=True):
    """How many expected calls can be paired: at least, and at most if the trace had recorded everything."""

    low: int
    high: int
    relation: Relation | None
    """What the pairing was made from; `None` where the calls simply are the expected ones, in order."""


class PairingEvaluator(Evaluator[ConfigT, CriteriaT, PatternPlan]):
    """An evaluator whose score follows from how many expected calls can be paired with actual ones."""

    subject: ClassVar[Subject]
    counts_calls: ClassVar[bool] = False
    """Whether the score falls as calls grow that pair with nothing."""

    def rule(self, actual: int) -> Rule:
        """Return which differences are findings given the number of calls."""
        return Rule()

    @abstractmethod
    def score(self, pairs: int, expected: int, actual: int) -> float:
        """The score of a number of pairs among expected and actual calls. It never falls as pairs grow."""

    @abstractmethod
    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        """The details of a result."""

    def measure(self, selection: Selection, plan: PatternPlan) -> Measurement:
        paired = pair(plan.expected, selection, self.limits)
        expected, actual = plan.size, len(selection.calls)
        low = self.score(paired.low, expected, actual)
        high = low if paired.low == paired.high else self.score(paired.high, expected, actual)
        warnings = too_long_to_align(expected, actual, self.limits)
        account = Explained() if warnings else PairingAccount(self, selection, plan, paired)
        return Measurement(low, high, account, warnings)

    def bound(self, selection: Selection, plan: PatternPlan) -> Measurement:
        if plan.expected.numbers_calls:
            return super().bound(selection, plan)
        relation = relate(plan.expected, selection.calls, self.limits, selection.moment)
        doubts = selection.doubts or Doubts()
        surely = len(selection.calls) - len(doubts.members)
        paired = Paired(
            _size(without(relation.sure, doubts.members)), _size(without(relation.possible, doubts.members)), relation
        )
        # Calls that may have been made raise the score if they pair, one pair a call.
        more = plan.size - paired.high if doubts.missing else _size(relation.possible) - paired.high
        low = self._least(relation.sure, doubts, paired.low, plan.size, surely)
        high = max([self.score(paired.high + more, plan.size, surely + more) for more in (0, more)])
        warnings = too_long_to_align(plan.size, len(selection.calls), self.limits)
        account = Explained() if warnings else PairingAccount(self, selection, plan, paired)
        return Measurement(low, high, account, warnings)

    def _least(self, rows: list[Row], doubts: Doubts, pairs: int, expected: int, surely: int) -> float:
        """The score if those calls were made besides the sure ones that lower it most."""
        if not self.counts_calls:
            return self.score(pairs, expected, surely)
        kinds = _kinds(rows, doubts.members)
        if doubts.missing or len(kinds) > _MOST_KINDS:
            return min(
                self.score(pairs, expected, surely),
                self.score(pairs, expected, _WITHOUT_END if doubts.missing else surely + len(doubts.members)),
            )
        # Of calls that satisfy the same expectations, the score is lowest with none of them or with all.
        scores = []
        for chosen in product((False, True), repeat=len(kinds)):
            left_out = frozenset().union(*[kind for kind, taken in zip(kinds, chosen, strict=True) if not taken])
            made = surely + len(doubts.members) - len(left_out)
            scores.append(self.score(_size(without(rows, left_out)), expected, made))
        return min(scores)


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
        """Return the findings by the evaluator's rule."""
        rule = self.evaluator.rule(len(self.selection.calls))
        return find(self.comparison, rule, self.evaluator.subject)


def pair(expected: ExpectedCalls, selection: Selection, limits: Limits) -> Paired:
    """The size of a maximum pairing of expected with selected calls.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if expected.is_beginning_of(selection.calls, selection.names):
        return Paired(len(expected), len(expected), None)
    return pair_by_relation(expected, selection, limits)


def pair_by_relation(expected: ExpectedCalls, selection: Selection, limits: Limits) -> Paired:
    """The same where the calls are known not to begin with the expected ones.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    relation = relate(expected, selection.calls, limits, selection.moment)
    low = _size(relation.sure, relation.only)
    return Paired(low, low if relation.is_certain else _size(relation.possible), relation)


def _kinds(rows: Sequence[Row], members: frozenset[int]) -> list[frozenset[int]]:
    """Calls that may not be meant, those together that satisfy the same expectations."""
    met_by: dict[int, list[int]] = {column: [] for column in members}
    for number, row in enumerate(rows):
        for column in row:
            if column in met_by:
                met_by[column].append(number)
    kinds: dict[tuple[int, ...], list[int]] = {}
    for column, numbers in met_by.items():
        kinds.setdefault(tuple(numbers), []).append(column)
    return [frozenset(columns) for columns in kinds.values()]


def _size(rows: Sequence[Row], only: list[int] | None = None) -> int:
    """The number of pairs that can be made, given the only pairing, if it is known."""
    return len(rows) - (only or only_pairing(rows) or maximum_pairing(rows)).count(-1)
