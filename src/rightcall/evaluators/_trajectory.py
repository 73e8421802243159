"""Did the agent take the expected path?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import msgspec
from pydantic import BeforeValidator, StrictBool, model_validator

from rightcall.errors import nearest
from rightcall.limits import Limits
from rightcall.matchers import ArgsPolicy, CallPattern
from rightcall.results import Finding, Justification, Told, ToolTrajectoryEvaluatorJustification, TurnScore

from ._comparing import Comparison, too_long_to_align
from ._evaluator import Evaluator, Measurement
from ._matching import ALLOWS_EXTRAS, Bounds, MatchType, compare_turn, grade_turn, match_turn
from ._models import Call, Config, Criteria
from ._selection import Selection
from ._telling import Rule, Subject, find

_MATCH_TYPES: tuple[str, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
_POLICIES: tuple[str, ...] = ("exact", "subset", "superset", "ignore")


def _match_type(value: Any) -> Any:
    written = str(value).upper().replace("-", "_").replace(" ", "_") if isinstance(value, str) else value
    if written not in _MATCH_TYPES:
        raise ValueError(f"unknown match type {value!r:.40}; {nearest(str(written), _MATCH_TYPES)}")
    return written


def _policy(value: Any) -> Any:
    written = value.lower() if isinstance(value, str) else value
    if written not in _POLICIES:
        raise ValueError(f"unknown argument policy {value!r:.40}; {nearest(str(written), _POLICIES)}")
    return written


Match: TypeAlias = Annotated[MatchType, BeforeValidator(_match_type)]
Policy: TypeAlias = Annotated[ArgsPolicy, BeforeValidator(_policy)]
Calls: TypeAlias = tuple[Call, ...]


class ToolTrajectoryEvaluationCriteria(Criteria):
    """The expected calls of the run, or those of each turn; nothing expected means that nothing may be called.

    `match_type` and `args_match` override the configuration.
    """

    expected: Calls | None = None
    expected_turns: tuple[Calls, ...] | None = None
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
    default_evaluation_criteria: ToolTrajectoryEvaluationCriteria | None = None


class TrajectoryPlan(msgspec.Struct, frozen=True):
    """The expected calls of each turn, compiled, and the rule they are held to."""

    turns: list[list[CallPattern]]
    by_turn: bool
    match_type: MatchType
    args_match: ArgsPolicy
    names: Collection[str]

    def expected_in(self, turns: int) -> list[list[CallPattern]]:
        """The expected calls of so many turns: nothing in those beyond the expected ones."""
        return [*self.turns, *([] for _ in range(turns - len(self.turns)))]


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
            _patterns(calls, policy, f"expected_turns[{turn}]" if by_turn else "expected", self.limits)
            for turn, calls in enumerate(turns)
        ]
        names = {pattern.name for patterns in compiled for pattern in patterns}
        return TrajectoryPlan(compiled, by_turn, criteria.match_type or self.config.match_type, policy, names)

    def measure(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        if plan.by_turn:
            return self._measure_turns(selection, plan)
        return self._measured([selection], plan)

    def _measure_turns(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        if selection.calls and len(plan.turns) > 1 and any(call.turn is None for call in selection.calls):
            unknown = Finding("RC301", "the trace does not say which turn each call belongs to")
            return Measurement(0.0, 1.0, Told(None, (unknown,)))
        return self._measured(_by_turn(selection, plan), plan)

    def _measured(self, turns: list[Selection], plan: TrajectoryPlan) -> Measurement:
        expected = plan.expected_in(len(turns))
        bounds = [self._bounds(patterns, turn, plan) for patterns, turn in zip(expected, turns, strict=True)]
        low, high = bounds[0] if len(bounds) == 1 else _mean(bounds)
        longest = max([max(len(patterns), len(turn.calls)) for patterns, turn in zip(expected, turns, strict=True)])
        warnings = too_long_to_align(longest, longest, self.limits)
        account = Told() if warnings else TrajectoryAccount(turns, plan, bounds, self.limits)
        return Measurement(low, high, account, warnings)

    def _bounds(self, patterns: Sequence[CallPattern], selection: Selection, plan: TrajectoryPlan) -> Bounds:
        judge = grade_turn if self.config.partial_credit else match_turn
        return judge(patterns, selection, plan.match_type, self.limits)


class TrajectoryAccount(msgspec.Struct, frozen=True, dict=True):
    """How each turn lines up with what was expected of it."""

    turns: list[Selection]
    plan: TrajectoryPlan
    bounds: list[Bounds]
    limits: Limits

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """The alignment of each turn."""
        expected = self.plan.expected_in(len(self.turns))
        return [
            compare_turn(patterns, turn, self.plan.match_type, self.limits)
            for patterns, turn in zip(expected, self.turns, strict=True)
        ]

    def justify(self) -> Justification:
        """The rule that was applied, and how each turn fared under it."""
        scores = [
            TurnScore(turn, low, comparison.alignment())
            for turn, ((low, _), comparison) in enumerate(zip(self.bounds, self.comparisons, strict=True))
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
        found: list[Finding] = []
        for turn, comparison in enumerate(self.comparisons):
            path, prefix = (f"expected_turns[{turn}]", f"turn {turn + 1}: ") if self.plan.by_turn else ("expected", "")
            found.extend(find(comparison, rule, Subject(path, prefix=prefix)))
        return tuple(found)


def _mean(bounds: Sequence[Bounds]) -> Bounds:
    low, high = (sum(ends) / len(bounds) for ends in zip(*bounds, strict=True))
    return low, high


def _patterns(calls: Calls, policy: ArgsPolicy, where: str, limits: Limits) -> list[CallPattern]:
    return [
        CallPattern(call.name, call.args, policy, where=f"{where}[{index}].args", limits=limits)
        for index, call in enumerate(calls)
    ]


def _by_turn(selection: Selection, plan: TrajectoryPlan) -> list[Selection]:
    """The selected calls of each expected turn, and of turns beyond them where those may hold no calls."""
    indices: list[list[int]] = [[] for _ in plan.turns]
    for index, call in enumerate(selection.calls):
        turn = call.turn or 0
        if turn >= len(indices):
            if plan.match_type in ALLOWS_EXTRAS:
                continue
            indices.extend([] for _ in range(turn + 1 - len(indices)))
        indices[turn].append(index)
    return [selection.at(turn) for turn in indices]
