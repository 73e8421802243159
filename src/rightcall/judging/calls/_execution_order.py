"""Were the expected actions taken: exactly, in order, or as a set? For trajectories, and for plain lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol

import msgspec

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging.core import (
    Config,
    Criteria,
    Evaluator,
    Listed,
    Measurement,
    NameScope,
    Scoring,
    Selection,
    ToolName,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.alignment import common_length
from rightcall.values.results import (
    EvaluationResult,
    ExecutionOrderJustification,
    Explained,
    Finding,
    Justification,
    Verdict,
    worst,
)

from ._comparison import Comparison, ComparisonAccount, compare_names, too_long_to_align
from ._findings import Rule, Subject, find
from ._lines import Kind
from ._order import OrderPlan, names_bounds

Mode = Literal["exact", "ordering", "set"]

_IN_COMMON: dict[Mode, tuple[Kind, ...]] = {"exact": ("match",), "ordering": ("match",), "set": ("match", "moved")}
_SCORING: dict[Mode, Scoring] = {"exact": "equal", "ordering": "share", "set": "in common"}


class ExecutionOrderCriteria(Criteria):
    """The expected actions."""

    lists_calls: ClassVar[tuple[str, ...]] = ("expected_output",)
    expected_output: Listed[tuple[ToolName, ...]]


class ExecutionOrderConfig(Config):
    """Which of the three modes applies; neither flag is the set mode, and both at once are a mistake."""

    name: str = "ExecutionOrder"
    should_exact_match: bool = False
    should_consider_ordering: bool = False

    def check(self) -> None:
        if self.should_exact_match and self.should_consider_ordering:
            raise ValueError("should_exact_match and should_consider_ordering exclude each other; set one of them")

    @property
    def mode(self) -> Mode:
        """The mode that the flags select."""
        return "exact" if self.should_exact_match else "ordering" if self.should_consider_ordering else "set"


class ExecutionOrderEvaluator(Evaluator[ExecutionOrderConfig, ExecutionOrderCriteria, OrderPlan]):
    """The share of expected actions that were taken.

    Exact: 1.0 if the two lists are equal, else 0.0. Ordering: length of a longest common subsequence divided by
    actions expected. Set, the default: actions in common divided by actions expected, each counted as often as it
    occurs. Nothing taken is 0.0. Nothing expected is an error, but in the exact mode, where it means nothing taken.
    """

    type_id = "execution-order"
    orders_calls = True
    justification_type = ExecutionOrderJustification
    config_type = ExecutionOrderConfig
    criteria_type = ExecutionOrderCriteria

    def compile(self, criteria: ExecutionOrderCriteria) -> OrderPlan:
        if not criteria.expected_output and self.config.mode != "exact":
            raise CriteriaError(f"criteria of {self.id!r}: expected_output is empty; expect at least one action")
        return OrderPlan.of(criteria.expected_output)

    def scope(self, criteria: ExecutionOrderCriteria) -> NameScope:
        mode = self.config.mode
        return NameScope(criteria.expected_output, _SCORING[mode], order=mode != "set", extras=mode == "exact")

    def measure(self, selection: Selection, plan: OrderPlan) -> Measurement:
        if selection.free and self.config.mode != "set":
            selection = selection.arranged_by_name(plan.expected, self.limits)
        score = self._score(selection, plan)
        warnings = too_long_to_align(len(plan.expected), len(selection.names), self.limits)
        account = Explained() if warnings else ExecutionOrderAccount(selection, plan, self.config.mode, self.limits)
        return Measurement(score, score, account, warnings)

    def estimate(self, selection: Selection, plan: OrderPlan) -> Measurement:
        sure = selection.sure()
        if self.config.mode == "set":
            missing = selection.doubts is not None and selection.doubts.missing
            low, high = self._score(sure, plan), 1.0 if missing else self._score(selection, plan)
        else:
            low, high = names_bounds(plan, selection, self.limits, exact=self.config.mode == "exact")
        return Measurement(low, high, ExecutionOrderAccount(sure, plan, self.config.mode, self.limits))

    def _score(self, selection: Selection, plan: OrderPlan) -> float:
        if self.config.mode == "exact":
            return float(plan.expected == list(selection.names))
        if self.config.mode == "ordering":
            return common_length(plan.expected_ids, plan.numbered(selection.names)) / len(plan.expected)
        return (Counter(plan.expected) & Counter(selection.names)).total() / len(plan.expected)


class ExecutionOrderAccount(ComparisonAccount):
    """How the expected actions line up with those taken."""

    selection: Selection
    plan: OrderPlan
    mode: Mode
    limits: Limits

    def compare(self) -> Comparison:
        """The alignment of the actions."""
        return compare_names(self.plan.expected, self.selection, self.limits)

    def justify(self) -> Justification:
        """The two sequences, what they have in common, and how they line up."""
        return ExecutionOrderJustification(
            mode=self.mode,
            actual_output=list(self.selection.names),
            expected_output=self.plan.expected,
            in_common=self.comparison.names_of(*_IN_COMMON[self.mode]),
            alignment=self.comparison.alignment(),
        )

    def find(self) -> tuple[Finding, ...]:
        """Actions that are missing and, by the mode, those out of order or taken without being expected."""
        rule = Rule(order=self.mode != "set", extras=self.mode == "exact")
        return find(self.comparison, rule, Subject("expected_output"))


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """The actions an agent took and those it should have taken: lists of names."""

    actual_output: Any
    expected_output: Any
    input: Any = None
    name: str | None = None


class Scorer(Protocol):
    """Anything that scores an example."""

    def score(self, example: Example) -> EvaluationResult:
        """Return the score of an example."""


class ExecutionOrderScorer:
    """Scores the actions of an example: as a set, in order, or exactly. See `ExecutionOrderEvaluator`.

    Raises:
        ConfigurationError: the threshold is not between 0 and 1, or both flags are set.
    """

    def __init__(
        self,
        threshold: float = 1.0,
        should_exact_match: bool = False,
        should_consider_ordering: bool = False,
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        config = {
            "threshold": threshold,
            "should_exact_match": should_exact_match,
            "should_consider_ordering": should_consider_ordering,
        }
        self._evaluator = ExecutionOrderEvaluator("ExecutionOrder", config, limits=limits)

    def score(self, example: Example) -> EvaluationResult:
        """Return the score of an example.

        Raises:
            CriteriaError: the expected actions are not a list of names, or are empty where that has no score.
            InputError: the actual actions are not a list of names.
        """
        if isinstance(example.expected_output, (str, bytes)):
            raise CriteriaError("expected_output is a text; it should be a list of names")
        return self._evaluator.evaluate(example.actual_output, {"expected_output": example.expected_output})


class ExampleResult(msgspec.Struct, frozen=True):
    """The scores of one example. It passes when every one of them passes."""

    example: Example
    results: tuple[EvaluationResult, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict: a failure before an error, an error before what was not measured."""
        return worst(result.verdict for result in self.results)

    @property
    def success(self) -> bool:
        """Whether every scorer passed the example."""
        return self.verdict == "passed"

    @property
    def passed(self) -> bool:
        """The same as `success`, in Rightcall's own word."""
        return self.success

    @property
    def score(self) -> float | None:
        """The mean score; `None` where a scorer has none."""
        scores = [result.score for result in self.results if result.score is not None]
        return sum(scores) / len(scores) if len(scores) == len(self.results) else None


def run_evaluation(examples: Sequence[Example], scorers: Sequence[Scorer]) -> list[ExampleResult]:
    """The results of all scorers for each example, in order.

    Raises:
        CriteriaError: there is no scorer, or an example's expectation is wrong.
        InputError: an example's actions are not a list of names.
    """
    if not scorers:
        raise CriteriaError("no scorers were given; without one every example would pass")
    for example in examples if isinstance(examples, (list, tuple)) else (examples,):
        if not isinstance(example, Example):
            raise InputError(f"examples are a list of Example, not {shown(example)}")
    return [ExampleResult(example, tuple([scorer.score(example) for scorer in scorers])) for example in examples]
