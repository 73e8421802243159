"""Were the expected tools called in the expected order; the expected actions exactly, in order, or as a set?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

import msgspec

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging.core import (
    TEXT,
    Before,
    Config,
    Criteria,
    Evaluator,
    Measurement,
    NameScope,
    NotEmpty,
    Scoring,
    Selection,
    Shorthand,
    ToolCallConfig,
    ToolName,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching import matchers
from rightcall.matching.alignment import ExpectedNames, Row, common_length, related_subsequence
from rightcall.values.results import (
    EvaluationResult,
    ExecutionOrderJustification,
    Finding,
    Justification,
    ToolCallOrderEvaluatorJustification,
    Verdict,
    worst,
)

from ._comparison import (
    Comparison,
    ComparisonAccount,
    Rule,
    Subject,
    compare_calls,
    compare_names,
    find,
    is_surely_exact,
    least_in_order,
    may_be_exact,
    unexplained,
)

if TYPE_CHECKING:
    from rightcall.matching.matchers import ExpectedCalls


Mode = Literal["exact", "ordering", "set"]

_SCORING: dict[Mode, Scoring] = {"exact": "equal", "ordering": "share", "set": "in common"}


def _name_alone(value: Any) -> Any:
    """Refuse a call with arguments, and say where it can be written."""
    if isinstance(value, dict):
        hint = "to compare arguments as well, write calls: {expected: [...], match: in_order}"
        raise ValueError(f"the name of a tool is expected, not {shown(value)}; {hint}")
    return value


class ToolCallOrderEvaluationCriteria(Criteria):
    """The names of the expected tools, in order; a tool expected twice is listed twice."""

    lists_calls: ClassVar[tuple[str, ...]] = ("tool_calls_order",)
    takes_ids: ClassVar[bool] = False
    tool_calls_order: NotEmpty[tuple[Annotated[ToolName, Before(_name_alone)], ...]]


class ToolCallOrderEvaluatorConfig(ToolCallConfig):
    """`strict`: the sequences must be equal, and the score is 1.0 or 0.0."""

    name: str = "ToolCallOrderEvaluator"
    strict: bool = False


class OrderPlan(msgspec.Struct, frozen=True):
    """Expected names, compiled."""

    spends: ClassVar[bool] = False
    expected: list[str]
    names: Set[str]
    """The tools that are expected."""
    compared: ExpectedNames
    size: int
    patterns: ExpectedCalls | None = None
    """The names as patterns, if one of them has a `*`, which stands for any characters."""

    @classmethod
    def of(cls, expected: Iterable[str], *, wildcards: bool = False) -> OrderPlan:
        """The plan of these names."""
        names = list(expected)
        starred = wildcards and any(["*" in name for name in names])
        patterns = matchers.ExpectedCalls([matchers.call_pattern(name) for name in names]) if starred else None
        compared = ExpectedNames.of(names)
        tools = compared.known.keys() if patterns is None else patterns.tools
        return cls(names, tools, compared, len(names), patterns)

    def rows(self, selection: Selection) -> list[Row]:
        """Return, for each expected name, the positions of the selected calls that have it, or fit it."""
        if self.patterns is None:
            return selection.rows_of(self.expected)
        return matchers.relate(self.patterns, selection.calls).sure

    def most_in_order(self, selection: Selection) -> int:
        """Return how many of the expected names were called in order."""
        if self.patterns is None:
            return common_length(self.compared.text, self.compared.text_of(selection.names))
        return len(related_subsequence(self.rows(selection), len(selection.calls)))

    def is_met_exactly(self, selection: Selection) -> bool:
        """Return whether the calls fit the expected names, one by one."""
        return len(selection.calls) == self.size == self.most_in_order(selection)


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
        if (longest := max(plan.size, len(selection.names))) > self.limits.aligned_calls:
            return unexplained(score, score, longest, self.limits)
        return Measurement(score, score, OrderAccount(selection, plan, self.config.strict, self.limits))

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
    """Return bounds of the share of expected names that are in order; if `exact`, of 1.0 for exactly these calls."""
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

    @property
    def spends(self) -> bool:
        """Whether more than names is compared."""
        return self.plan.patterns is not None

    def compare(self) -> Comparison:
        """Align the names."""
        if self.plan.patterns is not None:
            return compare_calls(self.plan.patterns, self.selection, self.limits)
        return compare_names(self.plan.compared, self.selection, self.limits)

    def justify(self) -> Justification:
        """The two sequences, what they have in common, and how they line up."""
        return ToolCallOrderEvaluatorJustification(
            actual_tool_calls_order=list(self.selection.names),
            expected_tool_calls_order=self.plan.expected,
            lcs=self.comparison.in_common(),
            alignment=self.comparison.alignment(),
        )

    def find(self) -> tuple[Finding, ...]:
        """Return findings for calls that are missing or out of order and, if strict, for those not expected."""
        return find(self.comparison, Rule(order=True, extras=self.strict), Subject("tool_calls_order"))


class ExecutionOrderCriteria(Criteria):
    """The expected actions."""

    lists_calls: ClassVar[tuple[str, ...]] = ("expected_output",)
    takes_ids: ClassVar[bool] = False
    expected_output: tuple[ToolName, ...]


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
        if (longest := max(plan.size, len(selection.names))) > self.limits.aligned_calls:
            return unexplained(score, score, longest, self.limits)
        return Measurement(score, score, ExecutionOrderAccount(selection, plan, self.config.mode, self.limits))

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
            return plan.most_in_order(selection) / plan.size
        return (Counter(plan.expected) & Counter(selection.names)).total() / len(plan.expected)


class ExecutionOrderAccount(ComparisonAccount):
    """How the expected actions line up with those taken."""

    selection: Selection
    plan: OrderPlan
    mode: Mode
    limits: Limits

    def compare(self) -> Comparison:
        """Align the actions."""
        return compare_names(self.plan.compared, self.selection, self.limits)

    def justify(self) -> Justification:
        """The two sequences, what they have in common, and how they line up."""
        return ExecutionOrderJustification(
            mode=self.mode,
            actual_output=list(self.selection.names),
            expected_output=self.plan.expected,
            in_common=self.comparison.in_common(moved=self.mode == "set"),
            alignment=self.comparison.alignment(),
        )

    def find(self) -> tuple[Finding, ...]:
        """Return findings for missing actions and, by the mode, for those out of order or not expected."""
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
            raise CriteriaError("expected_output is a string; it should be a list of names")
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
        """The same as `success`, by the name that it has in other results."""
        return self.success

    @property
    def score(self) -> float | None:
        """The mean score; `None` if a scorer gave none."""
        scores = [result.score for result in self.results if result.score is not None]
        return sum(scores) / len(scores) if len(scores) == len(self.results) else None


def run_evaluation(examples: Sequence[Example], scorers: Sequence[Scorer]) -> list[ExampleResult]:
    """Return the results of all scorers for each example, in order.

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
