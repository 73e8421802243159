"""Did the agent take the expected path?"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec.structs import replace

from rightcall.errors import nearest, shown
from rightcall.judging.core import (
    CALLS,
    Call,
    CallScope,
    Config,
    Criteria,
    Evaluator,
    Listed,
    Made,
    Measurement,
    NameScope,
    Policy,
    Scope,
    Scoring,
    Selection,
    Shorthand,
    read_calls,
)
from rightcall.limits import Limits
from rightcall.matching.matchers import ExpectedCalls
from rightcall.values.results import Explained, Finding, Justification, ToolTrajectoryEvaluatorJustification, TurnScore

from ._comparison import Comparison, too_long_to_align
from ._findings import MOST_FINDINGS, Rule, Subject, find
from ._match_types import (
    ALLOWS_EXTRAS,
    IN_SEQUENCE,
    Judged,
    MatchType,
    bound_grade,
    bound_turn,
    compare_turn,
    grade_turn,
    match_turn,
)
from ._pairs import call_patterns
from ._turns import TrajectoryPlan, Turn, by_turn, has_unknown_turns, in_every_turn, mean, with_doubtful_calls

_MATCH_TYPES: tuple[str, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
_SCORING: dict[MatchType, Scoring] = {"EXACT": "equal", "IN_ORDER": "in order"}
"""The formulas of names for match types that have one."""


def _match_type(value: Any) -> Any:
    written = value.upper().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    if written not in _MATCH_TYPES:
        raise ValueError(f"unknown match type {shown(value)}; {nearest(written, _MATCH_TYPES)}")
    return written


Match: TypeAlias = Annotated[MatchType, Made(_match_type)]
Calls: TypeAlias = Listed[tuple[Call, ...]]


class ToolTrajectoryEvaluationCriteria(Criteria):
    """The expected calls of the run, or those of each turn; nothing expected means that nothing may be called.

    `match_type` and `args_match` override the configuration.
    """

    lists_calls: ClassVar[tuple[str, ...]] = ("expected", "expected_turns")
    expected: Listed[tuple[Call, ...] | None] = None
    expected_turns: Listed[tuple[Calls, ...] | None] = None
    match_type: Match | None = None
    args_match: Policy | None = None

    def check(self) -> None:
        if (self.expected is None) == (self.expected_turns is None):
            raise ValueError("give 'expected' for the whole run or 'expected_turns' for each turn, one of the two")
        if self.expected_turns == ():
            raise ValueError("expected_turns is empty; a conversation has at least one turn")
        if self.expected_turns is not None and self.turn is not None:
            raise ValueError(
                "'turn' chooses the calls of one turn, and 'expected_turns' is about all of them; give one"
            )


class ToolTrajectoryEvaluatorConfig(Config):
    """Which rule is applied, how arguments are compared, and whether part of a path earns part of the score."""

    name: str = "ToolTrajectoryEvaluator"
    match_type: Match = "EXACT"
    args_match: Policy = "subset"
    partial_credit: bool = False


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
    orders_calls = True
    empty_turn: ClassVar[Any] = []
    shorthand = Shorthand(
        "calls",
        "expected",
        read_calls,
        CALLS,
        config=lambda match, args: {"match_type": match, "args_match": args},
    )
    justification_type = ToolTrajectoryEvaluatorJustification
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

    def tools_to_miss(self, criteria: ToolTrajectoryEvaluationCriteria) -> list[str]:
        # Of the calls of a subset, none has to be made.
        plan = self.plan(criteria)
        return sorted(plan.names) if plan.match_type == "SUBSET" else []

    def scope(self, criteria: ToolTrajectoryEvaluationCriteria) -> Scope | None:
        plan = self.plan(criteria)
        if plan.by_turn:
            return None
        [expected] = plan.turns
        scoring = _SCORING.get(plan.match_type)
        if scoring is not None and expected.names_only and not self.config.partial_credit:
            return NameScope(expected.names, scoring, extras=scoring == "equal")
        return CallScope(
            expected.name_set,
            tuple(expected.patterns),
            others=plan.match_type not in ALLOWS_EXTRAS,
            order=plan.match_type in IN_SEQUENCE,
        )

    def measure(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        if plan.by_turn and has_unknown_turns(selection, plan):
            return self._measure_unknown_turns(selection, plan)
        turns = by_turn(selection, plan) if plan.by_turn else [Turn(0, plan.turns[0], selection)]
        judge = grade_turn if self.config.partial_credit else match_turn
        judged = [judge(turn.expected, turn.selection, plan.match_type, self.limits) for turn in turns]
        return self._together(turns, judged, plan)

    def bound(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        # Every turn in every order would be too many.
        unknown = plan.by_turn and has_unknown_turns(selection, plan)
        return self.estimate(selection, plan) if unknown else super().bound(selection, plan)

    def estimate(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        if plan.by_turn and has_unknown_turns(selection, plan):
            return self._measure_unknown_turns(selection, plan)
        turns = by_turn(selection, plan) if plan.by_turn else [Turn(0, plan.turns[0], selection)]
        judge = bound_grade if self.config.partial_credit else bound_turn
        judged = [judge(turn.expected, turn.selection, plan.match_type, self.limits) for turn in turns]
        return self._together(turns, judged, plan)

    def _measure_unknown_turns(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        """The bounds over all turns that calls may belong to whose turn was not recorded."""
        worlds = in_every_turn(selection, plan)
        if worlds is not None:
            measured = [self.measure(world, plan) for world in worlds]
            low, high = min([each.low for each in measured]), max([each.high for each in measured])
        else:
            low, high = self._bound_unknown_turns(selection, plan)
        unknown = Finding("RC301", "the trace does not say which turn each call belongs to")
        return Measurement(low, high, Explained(None, (unknown,)))

    def _bound_unknown_turns(self, selection: Selection, plan: TrajectoryPlan) -> tuple[float, float]:
        """Bounds that surely hold: a call without a turn may be in each of them, or beyond."""
        judge = bound_grade if self.config.partial_credit else bound_turn
        turns = with_doubtful_calls(selection, plan)
        judged = [judge(turn.expected, turn.selection, plan.match_type, self.limits) for turn in turns]
        beyond = 0 if plan.match_type in ALLOWS_EXTRAS else sum([call.turn is None for call in selection.calls])
        return mean([*[each.low for each in judged], *[0.0] * beyond]), mean([each.high for each in judged])

    def _together(self, turns: list[Turn], judged: list[Judged], plan: TrajectoryPlan) -> Measurement:
        low, high = judged[0].low, judged[0].high
        if len(turns) > 1:
            low, high = mean([each.low for each in judged]), mean([each.high for each in judged])
        warnings = too_long_to_align(plan.size, max([len(turn.selection.calls) for turn in turns]), self.limits)
        account = Explained() if warnings else TrajectoryAccount(turns, plan, judged, self.limits)
        return Measurement(low, high, account, warnings)


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
        """Return the findings by the match type, turn by turn."""
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
