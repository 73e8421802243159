"""Did the agent take the expected path, in each turn of the conversation?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from itertools import product
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec.structs import replace

from rightcall.errors import nearest, shown
from rightcall.judging.core import (
    CALLS,
    CallScope,
    Config,
    Criteria,
    Doubts,
    Evaluator,
    ExpectedCall,
    Made,
    Measurement,
    NameScope,
    Policy,
    Scope,
    Scoring,
    Selection,
    Shorthand,
    spanning,
)
from rightcall.limits import Limits
from rightcall.matching.alignment import SearchBudget
from rightcall.matching.matchers import ArgsPolicy, ExpectedCalls, Pattern, named_tools, tool_names
from rightcall.values.results import (
    Alignment,
    Explained,
    Finding,
    Justification,
    ToolTrajectoryEvaluatorJustification,
    TurnScore,
)

from ._comparison import MOST_FINDINGS, Comparison, Rule, Subject, align_directly, find, unexplained
from ._group_comparison import GroupedComparison, compare_reading, find_in_groups
from ._groups import (
    Credit,
    Extra,
    GroupedCalls,
    ReadingRule,
    ReadTurn,
    bound_read_turn,
    grouped_calls,
    names_of,
    read_turn,
)
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
    relation_of_turn,
)
from ._pairs import call_patterns
from ._steps import WrittenStep, names_to_miss, placed_calls, read_steps

_MOST_WORLDS = 256
"""The most choices of turns, for calls without one, that are all judged."""
_MATCH_TYPES: tuple[str, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
_EXTRAS: tuple[str, ...] = ("allow", "forbid", "others")
_SCORING: dict[MatchType, Scoring] = {"EXACT": "equal", "IN_ORDER": "in order"}
"""The scoring of names for match types that have one."""


class TrajectoryPlan(msgspec.Struct, frozen=True):
    """The compiled expected calls of each turn, and the rule that they are judged by."""

    turns: list[ExpectedCalls]
    by_turn: bool
    match_type: MatchType
    args_match: ArgsPolicy
    names: Set[str]
    size: int
    """How many calls are expected in all turns."""
    spends: bool
    reads: ReadingRule | None = None
    """How the best reading is scored, if the expected calls have groups; `None` if they are a plain list."""

    @property
    def allows_extras(self) -> bool:
        """Whether calls that are not expected are allowed."""
        return self.match_type in ALLOWS_EXTRAS if self.reads is None else self.reads.allows_extras


class Turn(msgspec.Struct, frozen=True):
    """One turn of a conversation: what was expected of it, and the calls made in it."""

    number: int
    expected: ExpectedCalls
    selection: Selection


def has_unknown_turns(selection: Selection, plan: TrajectoryPlan) -> bool:
    """Return whether calls without a turn matter: not if only one turn is expected, and the trace has no turns."""
    unknown = [call.turn is None for call in selection.calls]
    inputs = selection.trajectory.turn_inputs if selection.trajectory is not None else ()
    if max(len(plan.turns), len(selection.turn_outputs), len(inputs)) > 1:
        return any(unknown)
    return any(unknown) and not all([call.turn is None and "turn" not in call.unrecorded for call in selection.calls])


def by_turn(selection: Selection, plan: TrajectoryPlan) -> list[Turn]:
    """Return the expected turns and, if extra calls are not allowed, the turns beyond them in which calls were made."""
    return _turns(selection, plan, [call.turn or 0 for call in selection.calls])


def in_every_turn(selection: Selection, plan: TrajectoryPlan) -> Iterator[Selection] | None:
    """Return the selection with every choice of turns for calls without one; `None` if there are too many choices."""
    unknown = [index for index, call in enumerate(selection.calls) if call.turn is None]
    known = [call.turn for call in selection.calls if call.turn is not None]
    # A call may also belong to a turn that nothing is known about, and each of them to another.
    last = max([len(plan.turns) - 1, *known])
    choices = 1 + last + (1 if plan.allows_extras else len(unknown))
    if selection.doubts is not None or choices ** min(len(unknown), 30) > _MOST_WORLDS:
        return None
    return (_placed(selection, unknown, turns) for turns in product(range(choices), repeat=len(unknown)))


def with_doubtful_calls(selection: Selection, plan: TrajectoryPlan) -> list[Turn]:
    """Return the turns, each with all calls that may have been made in it."""
    turns = []
    for number, expected in enumerate(plan.turns):
        indices = [index for index, call in enumerate(selection.calls) if call.turn is None or call.turn == number]
        part = selection.only(indices)
        unknown = [place for place, call in enumerate(part.calls) if call.turn is None]
        doubts = part.doubts or Doubts()
        members = doubts.members.union(unknown)
        turns.append(
            Turn(
                number,
                expected,
                msgspec.structs.replace(part, doubts=msgspec.structs.replace(doubts, members=members)),
            )
        )
    return [*turns, *_beyond(selection, plan, [call.turn for call in selection.calls])]


def mean(scores: Sequence[float]) -> float:
    """Return the mean of scores."""
    # Exact: the mean of three times 0.7 is 0.7, and not a little less.
    return float(sum(map(Fraction, scores)) / len(scores))


def _placed(selection: Selection, unknown: Sequence[int], turns: Sequence[int]) -> Selection:
    calls = list(selection.calls)
    for index, turn in zip(unknown, turns, strict=True):
        calls[index] = msgspec.structs.replace(calls[index], turn=turn, unrecorded=calls[index].unrecorded - {"turn"})
    return msgspec.structs.replace(selection, calls=calls)


def _turns(selection: Selection, plan: TrajectoryPlan, numbers: Sequence[int]) -> list[Turn]:
    indices: dict[int, list[int]] = {number: [] for number in range(len(plan.turns))}
    for index, number in enumerate(numbers):
        indices.setdefault(number, []).append(index)
    turns = [Turn(number, calls, selection.only(indices[number])) for number, calls in enumerate(plan.turns)]
    return [*turns, *_beyond(selection, plan, numbers)]


def _beyond(selection: Selection, plan: TrajectoryPlan, numbers: Sequence[int | None]) -> list[Turn]:
    """Return the turns beyond the expected ones in which calls were made, if extra calls are not allowed."""
    if plan.allows_extras:
        return []
    indices: dict[int, list[int]] = {}
    for index, number in enumerate(numbers):
        if number is not None and number >= len(plan.turns):
            indices.setdefault(number, []).append(index)
    return [Turn(number, ExpectedCalls([]), selection.only(indices[number])) for number in sorted(indices)]


def _match_type(value: Any) -> Any:
    written = value.upper().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    if written not in _MATCH_TYPES:
        raise ValueError(f"unknown match type {shown(value)}; {nearest(written, _MATCH_TYPES)}")
    return written


def _extra(value: Any) -> Any:
    if value not in _EXTRAS:
        raise ValueError(f"extra calls are 'allow', 'forbid' or 'others', not {shown(value)}")
    return value


def _credit(value: Any) -> Any:
    if isinstance(value, bool) or value == "f1":
        return value
    raise ValueError(f"true or false is expected, or 'f1', not {shown(value)}")


Match: TypeAlias = Annotated[MatchType, Made(_match_type)]
Steps: TypeAlias = tuple[WrittenStep, ...]


class ToolTrajectoryEvaluationCriteria(Criteria):
    """The expected calls of the run, or those of each turn; nothing expected means that nothing may be called.

    A step is a call, or a group of steps. `match_type`, `args_match` and `extra` override the configuration.
    """

    lists_calls: ClassVar[tuple[str, ...]] = ("expected", "expected_turns")
    expected: tuple[WrittenStep, ...] | None = None
    expected_turns: tuple[Steps, ...] | None = None
    match_type: Match | None = None
    args_match: Policy | None = None
    extra: Annotated[Extra, Made(_extra)] | None = None
    """Calls that no step takes: `allow`, `forbid`, or `others`: only those of tools that no step names are allowed."""

    def check(self) -> None:
        if (self.expected is None) == (self.expected_turns is None):
            raise ValueError("give either 'expected' for the whole run or 'expected_turns' for each turn")
        if self.expected_turns == ():
            raise ValueError("expected_turns is empty; a conversation has at least one turn")
        if self.expected_turns is not None and self.turn is not None:
            raise ValueError(
                "'turn' chooses the calls of one turn, and 'expected_turns' is about all of them; give one"
            )

    def call_lists(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the calls in each list of steps that is not empty, with groups flattened."""
        return ((path, [call for _, call in placed_calls(steps, path)]) for path, steps in super().call_lists())

    def call_places(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the paths of the calls in each list; for calls in groups they contain the words around them."""
        return ((path, [place for place, _ in placed_calls(steps, path)]) for path, steps in super().call_lists())


class ToolTrajectoryEvaluatorConfig(Config):
    """Which rule is applied, how arguments are compared, and whether part of a path earns part of the score."""

    name: str = "ToolTrajectoryEvaluator"
    match_type: Match = "EXACT"
    args_match: Policy = "subset"
    partial_credit: Annotated[Credit, Made(_credit)] = False
    extra: Annotated[Extra, Made(_extra)] | None = None
    """What to do with calls that no step takes; by default the match type decides."""


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

    If steps are grouped, the reading that fits the calls best counts, of all choices and pairings that the groups
    allow. With m pairs, x steps missing and u forbidden extra calls it scores m / (m + max(x, u)), and with
    `partial_credit: f1` 2m / (2m + x + u).
    """

    type_id = "tool-trajectory"
    orders_calls = True
    takes_wildcards = True
    empty_turn: ClassVar[Any] = []
    compiled_late: ClassVar[str | None] = "expected"
    shorthand = Shorthand(
        "calls",
        "expected",
        read_steps,
        CALLS,
        config=lambda match, args: {"match_type": match, "args_match": args},
    )
    justification_type = ToolTrajectoryEvaluatorJustification
    config_type = ToolTrajectoryEvaluatorConfig
    criteria_type = ToolTrajectoryEvaluationCriteria

    def compile(self, criteria: ToolTrajectoryEvaluationCriteria) -> TrajectoryPlan:
        policy = criteria.args_match or self.config.args_match
        by_turn = criteria.expected_turns is not None
        turns: Sequence[Any] = criteria.expected_turns or (criteria.expected or (),)
        places = [f"expected_turns[{turn}]" for turn in range(len(turns))] if by_turn else ["expected"]
        match_type = criteria.match_type or self.config.match_type
        written = list(zip(turns, places, strict=True))
        if self._is_plain(criteria, turns, match_type):
            compiled = [ExpectedCalls(self._patterns(calls, policy, where, criteria)) for calls, where in written]
            named = any([turn.spends and any(map(names_of, turn.patterns)) for turn in compiled])
            if not named and not any([turn.special for turn in compiled]):
                return self._plan(compiled, by_turn, match_type, policy, None)
        grouped = [
            grouped_calls(steps, match_type, policy, where, self.limits, wildcards=criteria.wildcards)
            for steps, where in written
        ]
        names = tool_names([name for turn in grouped for name in turn.names])
        extra = criteria.extra or self.config.extra
        rule = ReadingRule.of(extra, self.config.partial_credit, match_type, names)
        return self._plan(grouped, by_turn, match_type, policy, rule)

    def _patterns(
        self, calls: Sequence[ExpectedCall], policy: ArgsPolicy, where: str, criteria: ToolTrajectoryEvaluationCriteria
    ) -> list[Pattern]:
        return call_patterns(calls, policy, where, self.limits, wildcards=criteria.wildcards, names=True)

    def _is_plain(
        self, criteria: ToolTrajectoryEvaluationCriteria, turns: Sequence[Any], match_type: MatchType
    ) -> bool:
        """Return whether only lists of calls are expected, so that no reading has to be searched for."""
        extra = criteria.extra or self.config.extra
        usual = "allow" if match_type in ALLOWS_EXTRAS else "forbid"
        if self.config.partial_credit == "f1" or (extra is not None and extra != usual):
            return False
        return all([isinstance(step, ExpectedCall) for steps in turns for step in steps])

    def _plan(
        self,
        turns: Sequence[ExpectedCalls],
        by_turn: bool,
        match_type: MatchType,
        policy: ArgsPolicy,
        reads: ReadingRule | None,
    ) -> TrajectoryPlan:
        names = named_tools([name for turn in turns for name in turn.names])
        spends = any([turn.spends for turn in turns])
        return TrajectoryPlan(list(turns), by_turn, match_type, policy, names, sum(map(len, turns)), spends, reads)

    def tools_to_miss(self, criteria: ToolTrajectoryEvaluationCriteria) -> list[str]:
        turns = criteria.expected_turns if criteria.expected_turns is not None else (criteria.expected or (),)
        is_subset = (criteria.match_type or self.config.match_type) == "SUBSET"  # of its calls, none has to be made
        named = [each for steps in turns for each in names_to_miss(steps, may_miss=is_subset)]
        needed = {name for name, may_miss in named if not may_miss}
        return [name for name in dict.fromkeys([name for name, _ in named]) if name not in needed]

    def without_effect(self, criteria: ToolTrajectoryEvaluationCriteria) -> list[tuple[str, str]]:
        plan = self.plan(criteria)
        if plan.reads is None or not plan.reads.allows_extras:
            return []
        return [
            (
                f"{group.path}.at_most",
                f"'at_most' has no effect where extra calls of `{turn.names[group.first]}` are allowed; "
                "did you mean 'extra: others'?",
            )
            for turn in plan.turns
            if isinstance(turn, GroupedCalls)
            for group in turn.groups
            if group.at_most is not None
        ]

    def scope(self, criteria: ToolTrajectoryEvaluationCriteria) -> Scope | None:
        plan = self.plan(criteria)
        if plan.by_turn or plan.reads is not None:
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
        if plan.reads is not None:
            return self._measure_readings(selection, plan, SearchBudget(self.limits.alignment_steps))
        if plan.by_turn and has_unknown_turns(selection, plan):
            return self._measure_unknown_turns(selection, plan)
        judge = grade_turn if self.config.partial_credit else match_turn
        if not plan.by_turn:
            only = judge(plan.turns[0], selection, plan.match_type, self.limits)
            return self._together([Turn(0, plan.turns[0], selection)], [only], plan)
        turns = by_turn(selection, plan)
        judged = [judge(turn.expected, turn.selection, plan.match_type, self.limits) for turn in turns]
        return self._together(turns, judged, plan)

    def _measure_readings(self, selection: Selection, plan: TrajectoryPlan, budget: SearchBudget) -> Measurement:
        """Measure by the best reading of each turn."""
        if plan.reads is None or (plan.by_turn and has_unknown_turns(selection, plan)):
            return self._measure_unknown_turns(selection, plan)
        turns = by_turn(selection, plan) if plan.by_turn else [Turn(0, plan.turns[0], selection)]
        read = [read_turn(turn.expected, turn.selection, plan.reads, self.limits, budget) for turn in turns]
        return self._together(turns, [each.judged for each in read], plan, read)

    def bound(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        # Trying every choice of turns in every order would take too long.
        unknown = plan.by_turn and has_unknown_turns(selection, plan)
        if unknown or plan.reads is None:
            return self.estimate(selection, plan) if unknown else super().bound(selection, plan)
        worlds = selection.worlds()
        if worlds is None:
            return self.estimate(selection, plan)
        # All worlds share the budget of one search.
        budget = SearchBudget(self.limits.alignment_steps)
        return spanning([self._measure_readings(world, plan, budget) for world in worlds])

    def estimate(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        if plan.by_turn and has_unknown_turns(selection, plan):
            return self._measure_unknown_turns(selection, plan)
        turns = by_turn(selection, plan) if plan.by_turn else [Turn(0, plan.turns[0], selection)]
        return self._together(turns, self._bounds(turns, plan), plan)

    def _bounds(self, turns: Sequence[Turn], plan: TrajectoryPlan) -> list[Judged]:
        """Return bounds of each turn that surely hold."""
        if (rule := plan.reads) is not None:
            budget = SearchBudget(self.limits.alignment_steps)
            return [bound_read_turn(turn.expected, turn.selection, rule, self.limits, budget) for turn in turns]
        judge = bound_grade if self.config.partial_credit else bound_turn
        return [judge(turn.expected, turn.selection, plan.match_type, self.limits) for turn in turns]

    def _measure_unknown_turns(self, selection: Selection, plan: TrajectoryPlan) -> Measurement:
        """Return the bounds over all turns that calls without a recorded turn may belong to."""
        worlds = in_every_turn(selection, plan)
        if worlds is not None:
            budget = SearchBudget(self.limits.alignment_steps)
            measured = [
                self.measure(world, plan) if plan.reads is None else self._measure_readings(world, plan, budget)
                for world in worlds
            ]
            low, high = min([each.low for each in measured]), max([each.high for each in measured])
        else:
            low, high = self._bound_unknown_turns(selection, plan)
        unknown = Finding("RC301", "the trace does not say which turn each call belongs to")
        return Measurement(low, high, Explained(None, (unknown,)))

    def _bound_unknown_turns(self, selection: Selection, plan: TrajectoryPlan) -> tuple[float, float]:
        """Return bounds that surely hold: a call without a turn may be in any of them, or beyond."""
        judged = self._bounds(with_doubtful_calls(selection, plan), plan)
        beyond = 0 if plan.allows_extras else sum([call.turn is None for call in selection.calls])
        return mean([*[each.low for each in judged], *[0.0] * beyond]), mean([each.high for each in judged])

    def _together(
        self, turns: list[Turn], judged: list[Judged], plan: TrajectoryPlan, read: Sequence[ReadTurn] = ()
    ) -> Measurement:
        low, high, longest = judged[0].low, judged[0].high, len(turns[0].selection.calls)
        if len(turns) > 1:
            low, high = mean([each.low for each in judged]), mean([each.high for each in judged])
            longest = max([len(turn.selection.calls) for turn in turns])
        most = self.limits.aligned_calls
        if plan.size > most or longest > most:
            return unexplained(low, high, max(plan.size, longest), self.limits)
        if plan.reads is not None and not read:
            warning = "there are too many ways to fill in what was not recorded to give details of one"
            return Measurement(low, high, Explained(), (warning,))
        account = TrajectoryAccount(turns, plan, judged, self.limits, read)
        return Measurement(low, high, account)


class TrajectoryAccount(msgspec.Struct):
    """How each turn lines up with what was expected of it."""

    turns: list[Turn]
    plan: TrajectoryPlan
    judged: list[Judged]
    limits: Limits
    read: Sequence[ReadTurn] = ()
    """The readings of the turns, if expected calls have groups."""
    made: list[Comparison] | None = None

    @property
    def spends(self) -> bool:
        """Whether there may be differences that take many steps to find."""
        if len(self.turns) > 1 or self.read:
            return True
        return not self.judged[0].as_expected and self.turns[0].expected.walks

    def compared(self) -> list[Comparison]:
        """Return the comparison of each turn, made on first use."""
        if self.made is not None:
            return self.made
        limits, match_type = self._limits(), self.plan.match_type
        made: list[Comparison] = []
        for place, turn in enumerate(self.turns):
            if self.read:
                made.append(compare_reading(self.read[place], match_type, limits))
            else:
                made.append(compare_turn(turn.expected, turn.selection, match_type, limits, self.judged[place]))
        self.made = made
        return made

    def _limits(self) -> Limits:
        """Return the limits of one turn: all turns together have the room of one result."""
        if len(self.turns) == 1:
            return self.limits
        return replace(self.limits, explanation_bytes=self.limits.explanation_bytes // len(self.turns))

    def justify(self) -> Justification:
        """Return the rule that was applied, and the result of each turn."""
        scores: list[TurnScore] = []
        for place, turn in enumerate(self.turns):
            alignment = self._aligned(place) or self.compared()[place].alignment()
            scores.append(TurnScore(turn.number, self.judged[place].low, alignment))
        return ToolTrajectoryEvaluatorJustification(
            match_type=self.plan.match_type, args_match=self.plan.args_match, turns=scores
        )

    def _aligned(self, place: int) -> Alignment | None:
        """Return the alignment of a turn that takes no comparison; `None` if it takes one."""
        turn, judged = self.turns[place], self.judged[place]
        if judged.as_expected or self.read or self.made is not None:
            return None
        expected, selection = turn.expected, turn.selection
        if len(selection.calls) > expected.few or expected.names_only:
            return None
        relation = judged.relation
        if relation is None:
            relation = relation_of_turn(expected, selection, self.plan.match_type, self.limits)
            if relation is None:
                return None
            # Findings that are read after the details need the relation, too.
            self.judged[place] = Judged(judged.low, judged.high, False, relation)
        return align_directly(expected, selection, self._limits(), relation)

    def find(self) -> tuple[Finding, ...]:
        """Return the findings by the match type, turn by turn."""
        match_type = self.plan.match_type
        # Where there are groups, they say what is in order, and what may be left out.
        grouped = self.plan.reads is not None
        rule = Rule(
            order=grouped or match_type in ("EXACT", "IN_ORDER"),
            extras=not self.plan.allows_extras,
            missing=grouped or match_type != "SUBSET",
        )
        subjects = [self._subject(turn.number) for turn in self.turns]
        pairs = zip(self.compared(), subjects, strict=True)
        found = [finding for comparison, subject in pairs for finding in self._found(comparison, rule, subject)]
        more = len(found) - MOST_FINDINGS
        return (*found[:MOST_FINDINGS], Finding(found[-1].code, f"… and {more:,} more")) if more > 0 else tuple(found)

    def _found(self, comparison: Comparison, rule: Rule, subject: Subject) -> tuple[Finding, ...]:
        if isinstance(comparison, GroupedComparison):
            return find_in_groups(comparison, rule, subject)
        return find(comparison, rule, subject)

    def _subject(self, turn: int) -> Subject:
        if not self.plan.by_turn:
            return Subject("expected")
        return Subject(f"expected_turns[{turn}]", prefix=f"turn {turn + 1}: ")
