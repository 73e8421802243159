"""How many of the calls were right, and how many of the right calls were made?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from rightcall.judging.core import Before, Call, CallScope, Config, Criteria, Listed, NotEmpty, Policy
from rightcall.values.results import Justification, PairingJustification

from ._comparison import Comparison
from ._findings import Rule, Subject
from ._pairs import PairingEvaluator, PatternPlan, call_patterns


class ExpectedCallsCriteria(Criteria):
    """The expected calls, in any order."""

    lists_calls: ClassVar[tuple[str, ...]] = ("expected",)
    expected: Listed[tuple[Call, ...]]
    args_match: Policy | None = None


class RecallCriteria(ExpectedCallsCriteria):
    """The expected calls, in any order; at least one."""

    expected: NotEmpty[tuple[Call, ...]]


class QualityConfig(Config):
    """How arguments are compared."""

    args_match: Policy = "subset"


class QualityEvaluator(PairingEvaluator[QualityConfig, ExpectedCallsCriteria]):
    """The base of precision, recall and F1: a largest pairing of expected with actual calls."""

    subject = Subject("expected")
    takes_wildcards = True
    justification_type = PairingJustification
    config_type = QualityConfig
    criteria_type = ExpectedCallsCriteria

    def compile(self, criteria: ExpectedCallsCriteria) -> PatternPlan:
        policy = criteria.args_match or self.config.args_match
        calls = call_patterns(criteria.expected, policy, "expected", self.limits, wildcards=criteria.wildcards)
        return PatternPlan.of(calls)

    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        return PairingJustification(expected=expected, actual=actual, paired=pairs, alignment=comparison.alignment())


class ToolPrecision(QualityEvaluator):
    """The share of actual calls that were expected: pairs divided by calls made.

    Nothing expected and nothing called is 1.0; one of the two empty is 0.0. A call made twice but expected once
    counts once.
    """

    type_id = "tool-precision"
    counts_calls = True

    def rule(self, actual: int) -> Rule:
        return Rule(extras=True, missing=actual == 0)

    def scope(self, criteria: ExpectedCallsCriteria) -> CallScope | None:
        return self.plan(criteria).scope(others=True)

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return pairs / actual if actual else float(expected == 0)


class ToolRecall(QualityEvaluator):
    """The share of expected calls that were made: pairs divided by calls expected.

    Nothing called is 0.0; a call expected twice must be made twice. Nothing expected is an error.
    """

    type_id = "tool-recall"
    criteria_type = RecallCriteria

    def scope(self, criteria: ExpectedCallsCriteria) -> CallScope | None:
        return self.plan(criteria).scope()

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return pairs / expected


class ToolF1(QualityEvaluator):
    """The harmonic mean of precision and recall: twice the pairs divided by calls expected plus calls made.

    Nothing expected and nothing called is 1.0; one of the two empty is 0.0.
    """

    type_id = "tool-f1"
    counts_calls = True

    def rule(self, actual: int) -> Rule:
        return Rule(extras=True)

    def scope(self, criteria: ExpectedCallsCriteria) -> CallScope | None:
        return self.plan(criteria).scope(others=True)

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return 2 * pairs / (expected + actual) if expected + actual else 1.0


def _one_call(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise ValueError(f"exactly one call is expected, not {len(value)}")
        return value
    return (value,)


class SingleToolUseCriteria(ExpectedCallsCriteria):
    """The one expected call."""

    expected: Annotated[tuple[Call, ...], Before(_one_call)]


class SingleToolUse(QualityEvaluator):
    """Whether one tool was used: 1.0 if a call like the expected one was made, else 0.0.

    Other calls, and more calls of the tool, cost nothing.
    """

    type_id = "single-tool-use"
    criteria_type = SingleToolUseCriteria

    def scope(self, criteria: ExpectedCallsCriteria) -> CallScope | None:
        return self.plan(criteria).scope()

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return float(pairs > 0)
