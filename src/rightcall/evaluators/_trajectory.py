"""Did the agent take the expected path?"""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec.structs import replace
from pydantic import BeforeValidator, StrictBool, model_validator

from rightcall.errors import nearest, shown
from rightcall.limits import Limits
from rightcall.matchers import ArgsPolicy, ExpectedCalls
from rightcall.results import Finding, Justification, Told, ToolTrajectoryEvaluatorJustification, TurnScore

from ._comparing import Comparison, too_long_to_align
from ._criteria import Call, Config, Criteria, Listed, Policy
from ._evaluator import Evaluator, Measurement
from ._matching import ALLOWS_EXTRAS, Judged, MatchType, compare_turn, grade_turn, match_turn
from ._pairs import call_patterns
from ._selection import Selection
from ._telling import MOST_FINDINGS, Rule, Subject, find

_MATCH_TYPES: tuple[str, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")


def _match_type(value: Any) -> Any:
    written = value.upper().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    if written not in _MATCH_TYPES:
        raise ValueError(f"unknown match type {shown(value)}; {nearest(written, _MATCH_TYPES)}")
    return written


Match: TypeAlias = Annotated[MatchType, BeforeValidator(_match_type)]
Calls: TypeAlias = Listed[tuple[Call, ...]]


class ToolTrajectoryEvaluationCriteria(Criteria):
    """The expected calls of the run, or those of each turn; nothing expected means that nothing may be called.

    `match_type` and `args_match` override the configuration.
    """

    expected: Listed[tuple[Call, ...] | None] = None
    expected_turns: Listed[tuple[Calls, ...] | None] = None
    match_type: Match | None = None
    args_match: Policy | None = None

    @model_validator(mode="after")
    def _has_one_expectation(self) -> ToolTrajectoryEvaluationCriteria:
        if (self.expected is None) == (self.expected_turns is None):
            raise ValueError("give 'expected' for the whole run or 'expected_turns' for each turn, one of the two")
        if self.expected_turns == ():
            raise ValueError("expected_turns is empty; a conversation has at least one turn")
        return self


class ToolTrajectoryEvaluatorConfig(Config):
    """Which rule is applied, how arguments are compared, and whether part of a path earns part of the score."""

    name: str = "ToolTrajectoryEvaluator"
    match_type: Match = "EXACT"
    args_match: Policy = "subset"
    partial_credit: StrictBool = False


class TrajectoryPlan(msgspec.Struct, frozen=True):
    """The expected calls of each turn, compiled, and the rule they are held to."""

    turns: list[ExpectedCalls]
    by_turn: bool
    match_type: MatchType
    args_match: ArgsPolicy
    names: Set[str]
    size: int
    """How many calls are expected in all turns."""
    spends: bool


class ToolTrajectoryEvaluator(
    Evaluator[ToolTrajectoryEvaluatorConfig, ToolTrajectoryEvaluationCriteria, TrajectoryPlan]
):
    """Whether the agent took the expected path: 1.0 or 0.0 for each turn, and their mean.

    EXACT: as many calls, each as expected. IN_ORDER: the expected calls in this order, others in between allowed.
    ANY_ORDER: every expected call paired with one of its own, others allowed. UNORDERED: the same calls, in any
    order. SUBSET: nothing but expected calls. Nothing expected: EXACT, UNORDERED and SUBSET pass when nothing was
    called, the others always. The same call expected twice must be made twice.

    With `partial_credit` a turn scores the share of its calls that are as they should be: in order for EXACT and
    IN_ORDER, in any order for the others. It is 1.0 exactly when the turn would pass without partial credit.
    """

    type_id = "tool-trajectory"
    config_type = ToolTrajectoryEvaluatorConfig
    criteria_type = ToolTrajectoryEvaluationCriteria

    def compile(self, criteria: ToolTrajectoryEvaluationCriteria) -> TrajectoryPlan:
        policy = criteria.args_match or self.config.args_match
        by_turn = criteria.expected_turns is not None
        turns = criteria.expected_turns if criteria.expected_turns is not None else (criteria.expected or (),)
        compiled = [
            ExpectedCalls(
                call_patterns(calls, policy, f"expected_turns[{turn}]" if by_turn else "expected", self.limits)
            )
            for turn, calls in enumerate(turns)
        ]
        names = frozenset(name for turn in compiled for name in turn.names)
        match_type = criteria.match_type or self.config.match_type
        spends = any([turn.spends for turn in compiled])
        return TrajectoryPlan(compiled, by_turn, match_type, policy, names, sum(map(len, compiled)), spends)

    def measure(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        if not plan.by_turn:
            return self._measure_turns([Turn(0, plan.turns[0], selection)], plan)
        if _has_unknown_turns(selection, plan):
            unknown = Finding("RC301", "the trace does not say which turn each call belongs to")
            return Measurement(0.0, 1.0, Told(None, (unknown,)))
        return self._measure_turns(_by_turn(selection, plan), plan)

    def bounds_of_incomplete(
        self, selection: Selection, plan: TrajectoryPlan, measured: Measurement
    ) -> tuple[float, float]:
        if plan.match_type in ALLOWS_EXTRAS:
            return measured.low, 1.0
        if self.config.partial_credit or (plan.by_turn and _has_unknown_turns(selection, plan)):
            return 0.0, 1.0
        turns = _by_turn(selection, plan) if plan.by_turn else [Turn(0, plan.turns[0], selection)]
        # Under each of these rules every call that was made is one of those expected.
        fitting = [match_turn(turn.expected, turn.selection, "SUBSET", self.limits).high for turn in turns]
        return 0.0, _mean(fitting)

    def _measure_turns(self, turns: list[Turn], plan: TrajectoryPlan) -> Measurement:
        judge = grade_turn if self.config.partial_credit else match_turn
        judged = [judge(turn.expected, turn.selection, plan.match_type, self.limits) for turn in turns]
        low, high = judged[0].low, judged[0].high
        if len(turns) > 1:
            low, high = _mean([each.low for each in judged]), _mean([each.high for each in judged])
        warnings = too_long_to_align(plan.size, max([len(turn.selection.calls) for turn in turns]), self.limits)
        account = Told() if warnings else TrajectoryAccount(turns, plan, judged, self.limits)
        return Measurement(low, high, account, warnings)


class Turn(msgspec.Struct, frozen=True):
    """One turn of a conversation: what was expected of it, and the calls made in it."""

    number: int
    expected: ExpectedCalls
    selection: Selection


class TrajectoryAccount(msgspec.Struct):
    """How each turn lines up with what was expected of it."""

    turns: list[Turn]
    plan: TrajectoryPlan
    judged: list[Judged]
    limits: Limits
    made: list[Comparison] | None = None

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparison of each turn, made now or before."""
        if self.made is None:
            self.made = [
                compare_turn(turn.expected, turn.selection, self.plan.match_type, self._limits(), judged)
                for turn, judged in zip(self.turns, self.judged, strict=True)
            ]
        return self.made

    def _limits(self) -> Limits:
        """The limits of one turn: all turns together have the room of one result."""
        room = self.limits.explanation_bytes // len(self.turns)
        return self.limits if len(self.turns) == 1 else replace(self.limits, explanation_bytes=room)

    def justify(self) -> Justification:
        """The rule that was applied, and how each turn fared under it."""
        scores = [
            TurnScore(turn.number, judged.low, comparison.alignment())
            for turn, judged, comparison in zip(self.turns, self.judged, self.comparisons, strict=True)
        ]
        return ToolTrajectoryEvaluatorJustification(
            match_type=self.plan.match_type, args_match=self.plan.args_match, turns=scores
        )

    def find(self) -> tuple[Finding, ...]:
        """What is wrong by the match type, turn by turn."""
        match_type = self.plan.match_type
        rule = Rule(
            order=match_type in ("EXACT", "IN_ORDER"),
            extras=match_type not in ALLOWS_EXTRAS,
            missing=match_type != "SUBSET",
        )
        subjects = [self._subject(turn.number) for turn in self.turns]
        pairs = zip(self.comparisons, subjects, strict=True)
        found = [finding for comparison, subject in pairs for finding in find(comparison, rule, subject)]
        more = len(found) - MOST_FINDINGS
        return (*found[:MOST_FINDINGS], Finding(found[-1].code, f"… and {more:,} more")) if more > 0 else tuple(found)

    def _subject(self, turn: int) -> Subject:
        if not self.plan.by_turn:
            return Subject("expected")
        return Subject(f"expected_turns[{turn}]", prefix=f"turn {turn + 1}: ")


def _has_unknown_turns(selection: Selection, plan: TrajectoryPlan) -> bool:
    """Whether it matters that some calls have no turn: with one turn expected, and none recorded, all are its calls."""
    unknown = [call.turn is None for call in selection.calls]
    return any(unknown) and not (len(plan.turns) == 1 and all(unknown))


def _mean(scores: list[float]) -> float:
    # Exactly: three times 0.7 makes a mean of 0.7, and not a little less.
    return float(sum(map(Fraction, scores)) / len(scores))


def _by_turn(selection: Selection, plan: TrajectoryPlan) -> list[Turn]:
    """The expected turns and, where extra calls are not allowed, those beyond them in which calls were made."""
    indices: dict[int, list[int]] = {number: [] for number in range(len(plan.turns))}
    for index, call in enumerate(selection.calls):
        indices.setdefault(call.turn or 0, []).append(index)
    turns = [Turn(number, calls, selection.only(indices[number])) for number, calls in enumerate(plan.turns)]
    if plan.match_type not in ALLOWS_EXTRAS:
        beyond = sorted(indices.keys() - range(len(plan.turns)))
        turns += [Turn(number, ExpectedCalls([]), selection.only(indices[number])) for number in beyond]
    return turns
