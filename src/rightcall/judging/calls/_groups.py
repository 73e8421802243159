"""Compile expected calls in groups for the search, and score a turn by the reading that fits best."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from rightcall.errors import LimitError
from rightcall.judging.core import ExpectedCall, Selection
from rightcall.limits import Limits
from rightcall.matching.alignment import (
    AnyOrder,
    AtOnce,
    InOrder,
    OneCall,
    OneOf,
    Perhaps,
    Reader,
    Repeat,
    SearchBudget,
    StepNode,
    StepReading,
)
from rightcall.matching.matchers import (
    ArgsPolicy,
    Assignment,
    ExpectedCalls,
    NamesIn,
    Pattern,
    Relation,
    assignments,
    call_pattern,
    check_names,
    close_names,
    names_in,
    relate,
)
from rightcall.values.trajectory import Batches, Clock

from ._match_types import ALLOWS_EXTRAS, IN_SEQUENCE, Judged, MatchType
from ._steps import StepGroup

Extra: TypeAlias = Literal["allow", "forbid", "others"]
"""Calls that no step takes: allowed, forbidden, or allowed if they are of tools that no step names."""
Credit: TypeAlias = bool | Literal["f1"]


class GroupPlace(msgspec.Struct, frozen=True):
    """A group of the expectation: its word, where it is written, and which of the calls are in it."""

    word: str
    path: str
    first: int
    end: int
    """The numbers of its calls: the first, and one past the last."""
    parts: tuple[int, ...]
    """The number of the first call of each of its items."""
    at_least: int = 1
    at_most: int | None = None


class GroupedCalls(ExpectedCalls):
    """Expected calls with the groups they are in."""

    __slots__ = ("_make", "around", "bound", "groups", "has_batches", "paths", "reader")

    def __init__(self, steps: _Compiling, tree: StepNode) -> None:
        super().__init__(steps.patterns)
        self._make = tuple(steps.make)
        self.bound = tuple(steps.bound)
        """The names of values in the arguments of each call."""
        self.paths = tuple(steps.paths)
        """Where each call is written, such as `expected[1].any_order[0]`."""
        self.around = tuple(steps.around)
        """For each call the groups around it, by number, the outermost first."""
        self.groups = tuple(steps.groups)
        self.has_batches = any([group.word == "at_once" for group in self.groups])
        self.reader = Reader(tree)

    def closed(self, assignment: Assignment) -> ExpectedCalls:
        """Return the calls with a value in place of each name in their arguments."""
        makers = zip(self.patterns, self.bound, self._make, strict=True)
        return ExpectedCalls([make(assignment) if bound else pattern for pattern, bound, make in makers])


def grouped_calls(
    steps: Sequence[object],
    match_type: MatchType,
    policy: ArgsPolicy,
    where: str,
    limits: Limits,
    *,
    wildcards: bool = True,
) -> GroupedCalls:
    """Compile expected steps.

    Raises:
        ExpectationError: a part of an expected call is invalid, or a name is not bound exactly once.
    """
    compiling = _Compiling(policy, limits, wildcards=wildcards)
    items = [compiling.node(step, f"{where}[{index}]", None) for index, step in enumerate(steps)]
    compiling.check_names()
    if match_type == "SUBSET":
        items = [Perhaps(item) for item in items]
    return GroupedCalls(compiling, InOrder(tuple(items)) if match_type in IN_SEQUENCE else AnyOrder(tuple(items)))


def names_of(pattern: Pattern, where: str = "args") -> NamesIn:
    """Return the names of values in the arguments of an expected call. Raises `ExpectationError`."""
    return names_in(getattr(pattern, "args", None), where) if pattern.spends else NamesIn()


class _Compiling:
    """Steps while they are compiled to a tree of call numbers, with a pattern for each number."""

    def __init__(self, policy: ArgsPolicy, limits: Limits, *, wildcards: bool = True) -> None:
        self._policy = policy
        self._limits = limits
        self._wildcards = wildcards
        self._open: list[int] = []
        self.patterns: list[Pattern] = []
        self.make: list[Callable[[Assignment], Pattern]] = []
        self.bound: list[NamesIn] = []
        self.paths: list[str] = []
        self.around: list[tuple[int, ...]] = []
        self.groups: list[GroupPlace] = []

    def node(self, step: object, path: str, agent: str | None) -> StepNode:
        if isinstance(step, StepGroup):
            return self._group(step, path, agent)
        if not isinstance(step, ExpectedCall):
            raise TypeError(f"a step is a call or a group, not {step!r}")
        self.patterns.append(self._pattern(step, path, agent))
        # The names of the pattern, whose arguments are known to be values that can be traversed.
        self.bound.append(names_of(self.patterns[-1], f"{path}.args"))
        self.make.append(partial(self._pattern, step, path, agent))
        self.paths.append(path)
        self.around.append(tuple(self._open))
        return OneCall(len(self.patterns) - 1)

    def _group(self, step: StepGroup, path: str, agent: str | None) -> StepNode:
        number, first = len(self.groups), len(self.patterns)
        self.groups.append(GroupPlace(step.word, path, first, first, (), step.at_least, step.at_most))
        self._open.append(number)
        inside = path if step.is_list else f"{path}.{step.word}"
        alone = step.word in ("optional", "repeat")
        items, parts = [], []
        for index, item in enumerate(step.items):
            parts.append(len(self.patterns))
            items.append(self.node(item, inside if alone else f"{inside}[{index}]", step.agent or agent))
        self._open.pop()
        end = len(self.patterns)
        self.groups[number] = msgspec.structs.replace(self.groups[number], end=end, parts=tuple(parts))
        return _node(step, tuple(items))

    def check_names(self) -> None:
        """Check that every name of a value is bound once and used. Raises `ExpectationError`."""
        repeats = [any([self.groups[number].word == "repeat" for number in around]) for around in self.around]
        check_names(list(zip([f"{path}.args" for path in self.paths], self.bound, repeats, strict=True)))

    def _pattern(
        self, call: ExpectedCall, path: str, agent: str | None, assignment: Assignment | None = None
    ) -> Pattern:
        return call_pattern(
            call.name,
            call.args if assignment is None else close_names(call.args, assignment),
            self._policy,
            wildcards=self._wildcards,
            names=True,
            where=path,
            limits=self._limits,
            **{"agent": agent, **call.parts},
        )


def _node(step: StepGroup, items: tuple[StepNode, ...]) -> StepNode:
    if step.word == "optional":
        return Perhaps(items[0])
    if step.word == "repeat":
        return Repeat(items[0], step.at_least, step.at_most)
    if step.word == "any_order":
        return AnyOrder(items)
    if step.word == "at_once":
        return AtOnce(items)
    return OneOf(items) if step.word == "one_of" else InOrder(items)


NOTHING = GroupedCalls(_Compiling("subset", Limits()), InOrder(()))
"""Nothing expected: every call is extra."""


class ReadingRule(msgspec.Struct, frozen=True):
    """How a reading is scored."""

    extra: Extra
    credit: Credit
    names: Set[str]
    """The tools that some step names."""

    @classmethod
    def of(cls, extra: Extra | None, credit: Credit, match_type: MatchType, names: Set[str]) -> ReadingRule:
        """Return the rule of a match type, unless `extra` says what to do with extra calls."""
        return cls(extra or ("allow" if match_type in ALLOWS_EXTRAS else "forbid"), credit, names)

    @property
    def allows_extras(self) -> bool:
        """Whether calls that no step takes cost nothing."""
        return self.extra == "allow"

    def narrowed(self, selection: Selection) -> Selection:
        """Return the selected calls that count: with `others`, only those of tools that a step names."""
        if self.extra != "others":
            return selection
        kept = [index for index, name in enumerate(selection.names) if name in self.names]
        return selection if len(kept) == len(selection.names) else selection.only(kept)

    def score(self, reading: StepReading) -> float:
        """Return the score of a reading: a share if that earns credit, else 1.0 if it is met and 0.0 if not."""
        matched, missing, extra = reading.matched, reading.missing, reading.extra
        if reading.is_met:
            return 1.0
        if not self.credit or not matched:
            return 0.0
        return f1_of(reading) if self.credit == "f1" else matched / (matched + max(missing, extra))


def f1_of(reading: StepReading) -> float:
    """Twice the pairs, divided by the steps and the calls that count."""
    over = 2 * reading.matched
    return over / (over + reading.missing + reading.extra) if over else float(reading.is_met)


class ReadTurn(msgspec.Struct, frozen=True):
    """The score of a turn, and its best reading by sure matches."""

    judged: Judged
    expected: GroupedCalls
    patterns: Sequence[Pattern]
    """The expected calls, with values for the names in them."""
    selection: Selection
    """The calls that count."""
    relation: Relation
    sure: StepReading


def read_turn(
    expected: ExpectedCalls, selection: Selection, rule: ReadingRule, limits: Limits, budget: SearchBudget
) -> ReadTurn:
    """Score a turn by its best reading, with bounds if the trace did not record enough.

    If names stand for values, the best choice of values counts.

    Raises:
        LimitError: more comparisons than the limits allow, or the search for the best reading takes too long.
    """
    grouped = expected if isinstance(expected, GroupedCalls) else NOTHING
    counted = rule.narrowed(selection)
    batches = _batches(counted) if grouped.has_batches else Batches((), ())
    read = [
        _read_closed(grouped, closed, counted, batches, rule, limits, budget)
        for closed in _closed(grouped, counted, limits)
    ]
    sure = max(read, key=lambda each: _rank(each.sure, rule, counted))
    possible = max([each.possible for each in read], key=lambda each: _rank(each, rule, counted))
    certain = all([each.sure is each.possible for each in read])
    score = rule.score(sure.sure)
    judged = Judged(score, score) if certain else _bounds(sure.sure, possible, rule, is_flat=not grouped.groups)
    return ReadTurn(judged, grouped, sure.patterns, counted, sure.relation, sure.sure)


class _Read(msgspec.Struct, frozen=True):
    """The readings for one choice of values."""

    patterns: Sequence[Pattern]
    relation: Relation
    sure: StepReading
    possible: StepReading


def _closed(expected: GroupedCalls, selection: Selection, limits: Limits) -> list[ExpectedCalls]:
    if not any(expected.bound):
        return [expected]
    steps = list(zip(expected.patterns, expected.bound, strict=True))
    return [expected.closed(each) for each in assignments(steps, selection.calls, limits, selection.moment)]


def _read_closed(
    expected: GroupedCalls,
    closed: ExpectedCalls,
    selection: Selection,
    batches: Batches,
    rule: ReadingRule,
    limits: Limits,
    budget: SearchBudget,
) -> _Read:
    relation = relate(closed, selection.calls, limits, selection.moment)
    sure = _read(expected, relation.sure, selection, batches.sure, rule, budget)
    if relation.is_certain and batches.sure == batches.possible:
        return _Read(closed.patterns, relation, sure, sure)
    possible = _read(expected, relation.possible, selection, batches.possible, rule, budget)
    return _Read(closed.patterns, relation, sure, possible)


def _rank(reading: StepReading, rule: ReadingRule, selection: Selection) -> tuple[Fraction, int, int]:
    """Return the key that readings are ranked by: the ratio, then the pairs, then fewer steps."""
    size = reading.matched + reading.missing
    over, under = (reading.matched, size) if rule.allows_extras else (2 * reading.matched, size + len(selection.calls))
    return Fraction(over, under) if under else Fraction(1), reading.matched, -size


def _bounds(sure: StepReading, possible: StepReading, rule: ReadingRule, *, is_flat: bool) -> Judged:
    # What is sure allows no more pairs than what happened, and what is possible no fewer: if both readings have the
    # same figures, so has the one of what happened.
    is_same = (sure.matched, sure.missing, sure.extra) == (possible.matched, possible.missing, possible.extra)
    if is_flat or is_same or rule.credit is not True or rule.allows_extras:
        return Judged(rule.score(sure), rule.score(possible))
    # The reading with the best ratio of what is sure may have a higher share than the reading of what happened. These
    # two always enclose the share: it is between F1 / (2 - F1) and F1.
    return Judged(_least_share(sure), f1_of(possible))


def _least_share(reading: StepReading) -> float:
    """F1 / (2 - F1) of a reading, in whole numbers: a float's last digit would decide at a threshold."""
    matched = reading.matched
    return matched / (matched + reading.missing + reading.extra) if matched else float(reading.is_met)


def _read(
    expected: GroupedCalls,
    rows: Sequence[Sequence[int]],
    selection: Selection,
    batches: Sequence[tuple[int, int]],
    rule: ReadingRule,
    budget: SearchBudget,
) -> StepReading:
    try:
        return expected.reader.read(
            rows,
            len(selection.calls),
            extras=rule.allows_extras,
            budget=budget,
            batches=batches,
            free=selection.free,
        )
    except LimitError as problem:
        raise LimitError(f"{problem}: {_size_text(expected, selection)}") from None


def _batches(selection: Selection) -> Batches:
    if selection.trajectory is None:
        return Batches((), ((0, len(selection.calls)),))
    return Clock(selection.trajectory, selection.positions).batches()


def _size_text(expected: GroupedCalls, selection: Selection) -> str:
    """Describe the size of a search: `6 branches of 4 steps over 40 calls of 3 tools`."""
    made = f"{len(selection.calls):,} calls of {len(set(selection.names)):,} tools"
    sizes = [
        (len(group.parts), -(-(group.end - group.first) // len(group.parts)))
        for group in expected.groups
        if group.word in ("any_order", "at_once")
    ]
    branches, steps = max(sizes, default=(0, 0))
    return (
        f"{branches:,} branches of {steps:,} steps over {made}" if steps > 1 else f"{len(expected):,} steps over {made}"
    )


def bound_read_turn(
    expected: ExpectedCalls, selection: Selection, rule: ReadingRule, limits: Limits, budget: SearchBudget
) -> Judged:
    """Return bounds that surely hold if the trace leaves open which calls were made, or in which order.

    The lower one counts calls that were surely made, one of each range whose order is not known, and all others as
    extra. The upper one counts all calls that may have been made, in the best order, and none as extra.

    Raises:
        LimitError: more comparisons than the limits allow, or the search for the best reading takes too long.
    """
    grouped = expected if isinstance(expected, GroupedCalls) else NOTHING
    counted = rule.narrowed(selection)
    doubts = counted.doubts
    missing = doubts is not None and doubts.missing
    # A name may stand for any value here: that can only make the upper bound too high, and no such match is sure.
    relation = relate(grouped, counted.calls, limits, counted.moment)
    everything = ((0, len(counted.calls)),)
    loose = msgspec.structs.replace(counted, ranges=counted.loose)
    most = _read(grouped, relation.possible, loose, everything, msgspec.structs.replace(rule, extra="allow"), budget)
    high = 1.0 if missing else rule.score(most)
    if missing and not rule.allows_extras:
        return Judged(0.0, high)
    sure = _surely_in_order(counted)
    rows = [
        [] if bound else [call for call in row if call in sure]
        for row, bound in zip(relation.sure, grouped.bound, strict=True)
    ]
    ordered = msgspec.structs.replace(counted, ranges=())
    least = _read(grouped, rows, ordered, (), rule, budget)
    is_exact = rule.allows_extras or rule.credit is not True or not grouped.groups
    return Judged(rule.score(least) if is_exact else _least_share(least), high)


def _surely_in_order(selection: Selection) -> set[int]:
    """Return the positions of calls that were surely made, and surely in this order."""
    sure = set(range(len(selection.calls)))
    for first, end in selection.loose:
        sure.difference_update(range(first + 1, end))
    return sure - (selection.doubts.members if selection.doubts is not None else frozenset())
