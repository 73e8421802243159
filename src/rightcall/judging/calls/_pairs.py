"""Expected calls paired with actual ones in any order: arguments, outputs, precision and recall; forbidden calls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence, Set
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from rightcall.judging.core import (
    SOME_CALLS,
    Before,
    Call,
    CallScope,
    Config,
    ConfigT,
    Criteria,
    CriteriaT,
    Doubts,
    Evaluator,
    ExpectedCall,
    Measurement,
    NotEmpty,
    Policy,
    Selection,
    Shorthand,
    ToolCallConfig,
    ToolName,
    UserModel,
    read_calls,
    read_outputs,
)
from rightcall.limits import Limits
from rightcall.matching.alignment import Row, maximum_pairing, only_pairing
from rightcall.matching.matchers import (
    ArgsPolicy,
    ExpectedCalls,
    OutputPattern,
    Pattern,
    Relation,
    call_pattern,
    relate,
)
from rightcall.values.results import (
    Finding,
    ForbiddenToolsJustification,
    Justification,
    NamedCall,
    PairingJustification,
    ToolCallArgsEvaluatorJustification,
    ToolCallOutputEvaluatorJustification,
    call_text,
)

from ._comparison import Comparison, ComparisonAccount, Rule, Subject, compare_calls, find, unexplained, without

_MOST_KINDS = 6
"""The most kinds of doubtful calls for which every combination is tried."""
_WITHOUT_END = 10**15
_MOST_LISTED = 40


def call_patterns(
    calls: Sequence[ExpectedCall],
    policy: ArgsPolicy,
    where: str,
    limits: Limits,
    *,
    wildcards: bool = False,
    names: bool = False,
) -> list[Pattern]:
    """Compile expected calls under an argument policy; with `names`, they may bind names to values.

    Raises:
        ExpectationError: a part of a call is invalid.
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
    """Return pairs divided by calls expected; if `strict`, 1.0 if all are paired, else 0.0."""
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

        `None` if these depend on more than the name and one part of a call.
        """
        if self.expected.special:
            return None
        patterns = tuple(self.expected.patterns)
        return CallScope(self.expected.name_set, patterns, others=others, finds_calls=finds_calls)


class Paired(msgspec.Struct, frozen=True):
    """How many expected calls can be paired: for certain, and at most if the trace had recorded everything."""

    low: int
    high: int
    relation: Relation | None
    """What the pairing was made from; `None` if the first calls are the expected ones, in order."""


class PairingEvaluator(Evaluator[ConfigT, CriteriaT, PatternPlan]):
    """An evaluator whose score follows from how many expected calls can be paired with actual ones."""

    subject: ClassVar[Subject]
    counts_calls: ClassVar[bool] = False
    """Whether the score falls as the number of unpaired calls grows."""

    def rule(self, actual: int) -> Rule:
        """Return which differences are findings given the number of calls."""
        return Rule()

    @abstractmethod
    def score(self, pairs: int, expected: int, actual: int) -> float:
        """Return the score of a number of pairs among expected and actual calls. It never falls as pairs grow."""

    @abstractmethod
    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        """Return the details of a result."""

    def measure(self, selection: Selection, plan: PatternPlan) -> Measurement:
        paired = pair(plan.expected, selection, self.limits)
        expected, actual = plan.size, len(selection.calls)
        low = self.score(paired.low, expected, actual)
        high = low if paired.low == paired.high else self.score(paired.high, expected, actual)
        return self._measurement(low, high, selection, plan, paired)

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
        return self._measurement(low, high, selection, plan, paired)

    def _measurement(
        self, low: float, high: float, selection: Selection, plan: PatternPlan, paired: Paired
    ) -> Measurement:
        made, most = len(selection.calls), self.limits.aligned_calls
        if plan.size > most or made > most:
            return unexplained(low, high, max(plan.size, made), self.limits)
        return Measurement(low, high, PairingAccount(self, selection, plan, paired))

    def _least(self, rows: list[Row], doubts: Doubts, pairs: int, expected: int, surely: int) -> float:
        """Return the score if, besides the sure calls, the doubtful ones were made that lower it most."""
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

    @property
    def spends(self) -> bool:
        """Whether there may be differences that take many steps to find."""
        return self.paired.relation is not None and self.plan.expected.walks

    def compare(self) -> Comparison:
        """The alignment of the calls."""
        relation = self.paired.relation
        return compare_calls(self.plan.expected, self.selection, self.evaluator.limits, relation, relation is None)

    def justify(self) -> Justification:
        """The evaluator's own details."""
        expected, actual = self.plan.size, len(self.selection.calls)
        return self.evaluator.justify(self.comparison, self.paired.low, expected, actual)

    def find(self) -> tuple[Finding, ...]:
        """Return the findings by the evaluator's rule."""
        rule = self.evaluator.rule(len(self.selection.calls))
        return find(self.comparison, rule, self.evaluator.subject)


def pair(expected: ExpectedCalls, selection: Selection, limits: Limits) -> Paired:
    """Return the size of a maximum pairing of expected with selected calls.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if expected.is_beginning_of(selection.calls, selection.names):
        return Paired(len(expected), len(expected), None)
    return pair_by_relation(expected, selection, limits)


def pair_by_relation(expected: ExpectedCalls, selection: Selection, limits: Limits) -> Paired:
    """Do the same as `pair` for calls that are known not to begin with the expected ones.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    relation = relate(expected, selection.calls, limits, selection.moment)
    chosen = maximum_pairing(relation.sure) if relation.only is None else relation.only
    low = len(chosen) - chosen.count(-1)
    return Paired(low, low if relation.open is None else _size(relation.open), relation)


def _kinds(rows: Sequence[Row], members: frozenset[int]) -> list[frozenset[int]]:
    """Group doubtful calls by the expectations that they satisfy."""
    met_by: dict[int, list[int]] = {column: [] for column in members}
    for number, row in enumerate(rows):
        for column in row:
            if column in met_by:
                met_by[column].append(number)
    kinds: dict[tuple[int, ...], list[int]] = {}
    for column, numbers in met_by.items():
        kinds.setdefault(tuple(numbers), []).append(column)
    return [frozenset(columns) for columns in kinds.values()]


def _size(rows: Sequence[Row]) -> int:
    """Return the number of pairs that can be made."""
    return len(rows) - (only_pairing(rows) or maximum_pairing(rows)).count(-1)


class ToolCallArgsEvaluationCriteria(Criteria):
    """The expected calls with their arguments, in any order."""

    lists_calls: ClassVar[tuple[str, ...]] = ("tool_calls",)
    tool_calls: NotEmpty[tuple[Call, ...]]


class ToolCallArgsEvaluatorConfig(ToolCallConfig):
    """`subset`: calls may have more arguments than expected. `strict`: the score is 1.0 or 0.0."""

    name: str = "ToolCallArgsEvaluator"
    strict: bool = False
    subset: bool = True


class ToolCallArgsEvaluator(PairingEvaluator[ToolCallArgsEvaluatorConfig, ToolCallArgsEvaluationCriteria]):
    """The share of expected calls that were made with the expected arguments.

    Expected and actual calls are paired, as many as can be; the score is pairs divided by calls expected. Order does
    not count, and neither do extra calls. The same call expected twice must be made twice; nothing called scores
    0.0. Strict, the score is 1.0 if every expected call is paired, else 0.0. An empty expectation is an error.
    """

    subject = Subject("tool_calls")
    type_id = "tool-call-args"
    takes_wildcards = True
    shorthand = Shorthand(
        "args",
        "tool_calls",
        read_calls,
        SOME_CALLS,
        config=lambda match, args: {"subset": str(args).lower() != "exact"},
    )
    justification_type = ToolCallArgsEvaluatorJustification
    config_type = ToolCallArgsEvaluatorConfig
    criteria_type = ToolCallArgsEvaluationCriteria

    def compile(self, criteria: ToolCallArgsEvaluationCriteria) -> PatternPlan:
        policy: ArgsPolicy = "subset" if self.config.subset else "exact"
        calls = call_patterns(criteria.tool_calls, policy, "tool_calls", self.limits, wildcards=criteria.wildcards)
        return PatternPlan.of(calls)

    def scope(self, criteria: ToolCallArgsEvaluationCriteria) -> CallScope | None:
        return self.plan(criteria).scope()

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return share(pairs, expected, strict=self.config.strict)

    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        explained, left_out = comparison.explained()
        return ToolCallArgsEvaluatorJustification(
            explained_tool_calls_args=explained, alignment=comparison.alignment(), left_out=left_out
        )


class ExpectedOutput(UserModel):
    """One expected output: the tool's name and what it should return, with any matchers in it."""

    name: ToolName
    output: Any
    id: str | None = None
    """The id of the tool, for comparing tools by id, as UiPath does."""
    nth: int | None = None
    """Which call of the tool is meant: 1 for the first, -1 for the last."""


class ToolCallOutputEvaluationCriteria(Criteria):
    """The expected outputs, in any order."""

    lists_calls: ClassVar[tuple[str, ...]] = ("tool_outputs",)
    tool_outputs: NotEmpty[tuple[ExpectedOutput, ...]]


class ToolCallOutputEvaluatorConfig(ToolCallConfig):
    """`compare: text`: outputs are compared as text, to the letter. `strict`: the score is 1.0 or 0.0."""

    name: str = "ToolCallOutputEvaluator"
    strict: bool = False
    compare: Literal["value", "text"] = "value"


class ToolCallOutputEvaluator(PairingEvaluator[ToolCallOutputEvaluatorConfig, ToolCallOutputEvaluationCriteria]):
    """The share of expected outputs that the expected tools returned.

    Expected outputs and actual calls are paired, as many as can be; the score is pairs divided by outputs expected.
    Outputs are compared as values: text that reads as an object or a list, in JSON or in Python, is read as one.
    Order does not count; the same output expected twice must be given twice; nothing called scores 0.0. Strict, the
    score is 1.0 if every expected output is paired, else 0.0. An empty expectation is an error.
    """

    subject = Subject("tool_outputs", "RC106", "returned", "", "no")
    type_id = "tool-call-output"
    takes_wildcards = True
    shorthand = Shorthand("outputs", "tool_outputs", read_outputs, {"type": ["array", "object"]})
    justification_type = ToolCallOutputEvaluatorJustification
    config_type = ToolCallOutputEvaluatorConfig
    criteria_type = ToolCallOutputEvaluationCriteria

    def compile(self, criteria: ToolCallOutputEvaluationCriteria) -> PatternPlan:
        text = self.config.compare == "text"
        patterns = [
            self._pattern(expected, f"tool_outputs[{index}]", text=text, wildcards=criteria.wildcards)
            for index, expected in enumerate(criteria.tool_outputs)
        ]
        return PatternPlan.of(patterns)

    def _pattern(self, expected: ExpectedOutput, where: str, *, text: bool, wildcards: bool) -> Pattern:
        if expected.nth is None and not (wildcards and "*" in expected.name):
            place = f"{where}.output"
            return OutputPattern(expected.name, expected.output, text=text, where=place, limits=self.limits)
        return call_pattern(
            expected.name,
            output=expected.output,
            nth=expected.nth,
            as_text=text,
            wildcards=wildcards,
            where=where,
            limits=self.limits,
        )

    def scope(self, criteria: ToolCallOutputEvaluationCriteria) -> CallScope | None:
        return self.plan(criteria).scope()

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return share(pairs, expected, strict=self.config.strict)

    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        explained, left_out = comparison.explained()
        return ToolCallOutputEvaluatorJustification(
            explained_tool_calls_outputs=explained, alignment=comparison.alignment(), left_out=left_out
        )


class ExpectedCallsCriteria(Criteria):
    """The expected calls, in any order."""

    lists_calls: ClassVar[tuple[str, ...]] = ("expected",)
    expected: tuple[Call, ...]
    args_match: Policy | None = None


class RecallCriteria(ExpectedCallsCriteria):
    """The expected calls, in any order; at least one."""

    expected: NotEmpty[tuple[Call, ...]]


class QualityConfig(Config):
    """How arguments are compared."""

    args_match: Policy = "subset"


class QualityEvaluator(PairingEvaluator[QualityConfig, ExpectedCallsCriteria]):
    """The base of precision, recall and F1: a maximum pairing of expected with actual calls."""

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


class ForbiddenToolsCriteria(Criteria):
    """The calls that must never be made: names, or names with the arguments that make them forbidden."""

    names_tools: ClassVar[str | None] = "never"
    never: NotEmpty[tuple[Call, ...]]


class ForbiddenToolsConfig(Config):
    """How forbidden calls are judged."""

    name: str = "ForbiddenTools"


class ForbiddenTools(Evaluator[ForbiddenToolsConfig, ForbiddenToolsCriteria, PatternPlan]):
    """Whether no forbidden call was made: 1.0 if none was, else 0.0.

    A forbidden call with arguments is one that has them, with any others beside. Nothing called is 1.0; the same
    forbidden call made twice is as bad as once. Nothing forbidden is an error.
    """

    type_id = "forbidden-tools"
    forbidden = "never"
    takes_wildcards = True
    shorthand = Shorthand("never", "never", read_calls, SOME_CALLS)
    justification_type = ForbiddenToolsJustification
    config_type = ForbiddenToolsConfig
    criteria_type = ForbiddenToolsCriteria

    def compile(self, criteria: ForbiddenToolsCriteria) -> PatternPlan:
        calls = call_patterns(criteria.never, "subset", "never", self.limits, wildcards=criteria.wildcards)
        return PatternPlan.of(calls)

    def tools_to_miss(self, criteria: ForbiddenToolsCriteria) -> list[str]:
        return [call.name for call in criteria.never]

    def scope(self, criteria: ForbiddenToolsCriteria) -> CallScope | None:
        return self.plan(criteria).scope(finds_calls=True)

    def measure(self, selection: Selection, plan: PatternPlan) -> Measurement:
        return self.bound(selection, plan)

    def bound(self, selection: Selection, plan: PatternPlan) -> Measurement:
        if selection.doubts is not None and plan.expected.numbers_calls:
            return super().bound(selection, plan)
        relation = relate(plan.expected, selection.calls, self.limits, selection.moment)
        if selection.doubts is not None:
            relation = Relation(without(relation.sure, selection.doubts.members), relation.possible)
        surely, possibly = any(relation.sure), any(relation.possible)
        account = ForbiddenAccount(selection, plan, relation)
        possibly = possibly or (selection.doubts is not None and selection.doubts.missing)
        return Measurement(float(not possibly), float(not surely), account)


class ForbiddenAccount(msgspec.Struct, frozen=True):
    """Which forbidden calls were made."""

    selection: Selection
    plan: PatternPlan
    relation: Relation

    def made(self) -> list[NamedCall]:
        """Return the forbidden calls, in order."""
        return self._named(_columns(self.relation.sure))

    def undecided(self) -> list[NamedCall]:
        """Return the calls for which the trace leaves open whether they are forbidden ones."""
        return self._named(_columns(self.relation.possible) - _columns(self.relation.sure))

    def justify(self) -> Justification:
        """Return the forbidden tools, and the calls of them."""
        return ForbiddenToolsJustification(
            forbidden=[pattern.name for pattern in self.plan.expected.patterns[:_MOST_LISTED]],
            made=[call.text for call in self.made()[:_MOST_LISTED]],
        )

    def find(self) -> tuple[Finding, ...]:
        """Return a finding for each forbidden call, forty at most."""
        made = self.made()
        findings = [
            Finding("RC107", f"`{call.text}` was called, and must never be", actual=call, path=path)
            for call, path in zip(made[:_MOST_LISTED], self._paths(), strict=False)
        ]
        if len(made) > len(findings):
            findings.append(Finding("RC107", f"… and {len(made) - len(findings):,} more"))
        for call in self.undecided()[: max(0, _MOST_LISTED - len(findings))]:
            reason = f"`{call.text}`: whether it is one of the forbidden calls was not recorded"
            findings.append(Finding("RC301", reason, actual=call, path="never"))
        return tuple(findings)

    def _paths(self) -> list[str]:
        """Return, for each forbidden call that was made, the part of the criteria that forbids it."""
        first: dict[int, int] = {}
        for number, row in enumerate(self.relation.sure):
            for column in row:
                first.setdefault(column, number)
        return [f"never[{first[column]}]" for column in sorted(first)]

    def _named(self, columns: set[int]) -> list[NamedCall]:
        calls = self.selection.calls
        return [
            NamedCall(self.selection.position(index), call_text(calls[index].name, calls[index].args))
            for index in sorted(columns)
        ]


def _columns(rows: Sequence[Row]) -> set[int]:
    return {index for row in rows for index in row}
