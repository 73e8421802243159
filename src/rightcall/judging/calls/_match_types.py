"""The match types of trajectories: the score of one turn, and its bounds if the trace leaves calls open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from rightcall.judging.core import Selection
from rightcall.limits import Limits
from rightcall.matching.alignment import Row, maximum_pairing, related_subsequence
from rightcall.matching.matchers import ExpectedCalls, Pattern, Relation, relate
from rightcall.values.trajectory import ToolCall

from ._comparison import Comparison, compare_calls, covers_all, is_surely_exact, least_in_order, may_be_exact
from ._pairs import pair, pair_by_relation

MatchType: TypeAlias = Literal["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]


class Judged(msgspec.Struct, frozen=True):
    """The score of a turn: by what the trace recorded, and at best, given what it did not record."""

    low: float
    high: float
    as_expected: bool = False
    """Whether the first calls simply are the expected ones, in order."""
    relation: Relation | None = None
    """Which calls satisfy which expected ones, if that was computed: the findings need it again."""


_PASSED = Judged(1.0, 1.0, as_expected=True)
_FAILED = Judged(0.0, 0.0)

_MOST_NAMES = 16
"""The most names that are counted before calls are compared; counting more of them would take longer."""
ALLOWS_EXTRAS: frozenset[MatchType] = frozenset({"IN_ORDER", "ANY_ORDER"})
IN_SEQUENCE: frozenset[MatchType] = frozenset({"EXACT", "IN_ORDER"})


def match_turn(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """Return 1.0 if the calls follow the match type, else 0.0.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if match_type in IN_SEQUENCE:
        return _match_in_sequence(expected, selection, match_type, limits)
    wanted, made = len(expected.names), len(selection.names)
    if not _has_room(match_type, wanted, made):
        return _FAILED
    if expected.is_beginning_of(selection.calls, selection.names):
        return _PASSED
    if not _has_enough(match_type, expected, selection.names):
        return _FAILED
    paired = pair_by_relation(expected, selection, limits)
    needed = made if match_type == "SUBSET" else wanted
    return Judged(float(paired.low == needed), float(paired.high == needed), relation=paired.relation)


def grade_turn(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """Return the share of calls that are as expected; 1.0 exactly if `match_turn` returns 1.0.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    wanted, made = len(expected), len(selection.calls)
    total = wanted if match_type in ALLOWS_EXTRAS else made if match_type == "SUBSET" else max(wanted, made)
    if total == 0:
        return Judged(1.0, 1.0)
    if match_type not in IN_SEQUENCE:
        paired = pair(expected, selection, limits)
        return Judged(paired.low / total, paired.high / total, paired.relation is None, paired.relation)
    sure, possible = _arrangements(expected, selection, limits)
    relation = relate(expected, sure.calls, limits, sure.moment)
    low = len(related_subsequence(relation.sure, made))
    kept = None if selection.free else relation
    if relation.is_certain:
        return Judged(low / total, low / total, relation=kept)
    rows = relation.possible if possible is sure else relate(expected, possible.calls, limits, possible.moment).possible
    return Judged(low / total, len(related_subsequence(rows, made)) / total, relation=kept)


def relation_of_turn(
    expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits
) -> Relation | None:
    """Return the relation that the comparison of a turn is made from; `None` if it is made from something else."""
    if (match_type in IN_SEQUENCE and selection.free) or expected.is_beginning_of(selection.calls, selection.names):
        return None
    return relate(expected, selection.calls, limits)


def compare_turn(
    expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits, judged: Judged
) -> Comparison:
    """The comparison behind the score of a turn."""
    if match_type in IN_SEQUENCE and selection.free:
        selection = _arrangements(expected, selection, limits)[0]
    return compare_calls(expected, selection, limits, judged.relation, judged.as_expected)


def _match_in_sequence(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    exact = match_type == "EXACT"
    if exact and len(expected.names) != len(selection.names):
        return _FAILED
    if expected.is_beginning_of(selection.calls, selection.names):
        return _PASSED
    if not selection.free and not _has_names(expected.names, selection.names, exact=exact):
        return _FAILED
    follows = _follows_exactly if exact else _follows_in_order
    if selection.free:
        low, high = _arrangements(expected, selection, limits)
        surely = follows(expected.patterns, low.calls) is True
        return Judged(float(surely), float(surely or follows(expected.patterns, high.calls) is not False))
    holds = follows(expected.patterns, selection.calls)
    return Judged(float(holds is True), float(holds is not False))


def _arrangements(expected: ExpectedCalls, selection: Selection, limits: Limits) -> tuple[Selection, Selection]:
    """Return the calls in the order that fits the expectation best, by sure matches and by possible ones."""
    if not selection.free:
        return selection, selection
    relation = relate(expected, selection.calls, limits, selection.moment)
    sure = selection.arranged(relation.sure, limits)
    return sure, sure if relation.is_certain else selection.arranged(relation.possible, limits)


def _has_room(match_type: MatchType, expected: int, actual: int) -> bool:
    if match_type == "ANY_ORDER":
        return expected <= actual
    return expected == actual if match_type == "UNORDERED" else actual <= expected


def _has_enough(match_type: MatchType, expected: ExpectedCalls, names: tuple[str, ...]) -> bool:
    """Return whether each name was called often enough, and not too often: otherwise nothing has to be paired.

    Every expected call is paired with one of its own name, so one name with too few calls, or too many, decides. For
    ten calls with faults that takes 1 µs, and finding out which call satisfies which 8 µs.
    """
    if len(expected.name_counts) > _MOST_NAMES:
        return True
    for name, times in expected.name_counts.items():
        called = names.count(name)
        if called > times if match_type == "SUBSET" else called < times:
            return False
    return True


def _has_names(expected: tuple[str, ...], actual: tuple[str, ...], *, exact: bool) -> bool:
    """Return whether the names alone follow the match type, in a fifth of the time of comparing calls."""
    if exact:
        return expected == actual
    left = iter(actual)
    for name in expected:  # noqa: SIM110 - faster than a generator
        if name not in left:
            return False
    return True


def _follows_exactly(patterns: Sequence[Pattern], calls: Sequence[ToolCall]) -> bool | None:
    known = True
    for pattern, call in zip(patterns, calls, strict=True):
        if pattern.name != call.name:
            return False
        accepted = pattern.accepts(call)
        if accepted is False:
            return False
        known = known and accepted is True
    return True if known else None


def _follows_in_order(patterns: Sequence[Pattern], calls: Sequence[ToolCall]) -> bool | None:
    if _is_subsequence(patterns, calls, unknown_counts=False):
        return True
    return None if _is_subsequence(patterns, calls, unknown_counts=True) else False


def _is_subsequence(patterns: Sequence[Pattern], calls: Sequence[ToolCall], *, unknown_counts: bool) -> bool:
    waiting = iter(patterns)
    pattern = next(waiting, None)
    for call in calls:
        if pattern is None:
            return True
        if pattern.name == call.name:
            accepted = pattern.accepts(call)
            if accepted or (accepted is None and unknown_counts):
                pattern = next(waiting, None)
    return pattern is None


_BELOW_ONE = math.nextafter(1.0, 0.0)


def bound_turn(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """Return whether the calls surely follow the match type, and whether they may.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    turn = _Turn(expected, selection, match_type, limits)
    return Judged(float(turn.surely_passes()), float(turn.may_pass()))


def bound_grade(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """Return the bounds of the share of calls that are as expected.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    turn = _Turn(expected, selection, match_type, limits)
    if turn.surely_passes():
        return Judged(1.0, 1.0)
    low, high = turn.shares()
    # A share of 1.0 means that the turn passes; a bound does not promise that.
    return Judged(min(low, _BELOW_ONE), high if turn.may_pass() else min(high, _BELOW_ONE))


class _Turn:
    """A turn whose calls, or their order, are not all known."""

    def __init__(self, expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> None:
        self._wanted, self._match_type, self._limits = len(expected), match_type, limits
        self._all, self._sure = selection, selection.sure()
        self._made, self._made_surely = len(selection.calls), len(self._sure.calls)
        self._of_all: Relation = relate(expected, selection.calls, limits, selection.moment)
        self._of_sure = (
            self._of_all if self._sure is selection else relate(expected, self._sure.calls, limits, self._sure.moment)
        )
        self._missing = selection.doubts is not None and selection.doubts.missing
        self._whole = self._made == self._made_surely and not self._missing

    def surely_passes(self) -> bool:
        if self._match_type == "EXACT":
            return is_surely_exact(self._of_all.sure, self._all)
        if self._match_type == "SUBSET":
            return not self._missing and _pairs(self._of_all.sure) == self._made
        if self._match_type == "UNORDERED" and not (self._whole and self._wanted == self._made):
            return False
        return self._least() == self._wanted

    def may_pass(self) -> bool:
        if self._match_type == "EXACT":
            return may_be_exact(self._of_all.possible, self._all)
        if self._match_type == "UNORDERED":
            return covers_all(self._of_all.possible, self._all)
        if self._match_type == "SUBSET":
            return _pairs(self._of_sure.possible) == self._made_surely
        return self._missing or self._most(self._all, self._of_all.possible) == self._wanted

    def shares(self) -> tuple[float, float]:
        """Return the lowest and the highest possible share of calls that are as expected."""
        before = self._most(self._sure, self._of_sure.possible)
        most = self._wanted if self._missing else self._most(self._all, self._of_all.possible)
        # Each additional call that is as expected is also an additional call that was made.
        made = self._made_surely + most - before
        least, fewest = self._least(), math.inf if self._missing else self._made
        return _share(least, self._total(fewest)), _share(most, self._total(made))

    def _total(self, made: float) -> float:
        if self._match_type in ALLOWS_EXTRAS:
            return self._wanted
        return made if self._match_type == "SUBSET" else max(self._wanted, made)

    def _least(self) -> int:
        if self._match_type in IN_SEQUENCE:
            return least_in_order(self._of_sure.sure, self._sure)
        return _pairs(self._of_sure.sure)

    def _most(self, selection: Selection, rows: Sequence[Row]) -> int:
        if self._match_type not in IN_SEQUENCE:
            return _pairs(rows)
        if not selection.loose:
            return len(related_subsequence(rows, len(selection.calls)))
        return selection.most_in_order(rows, self._limits)


def _share(count: int, total: float) -> float:
    return count / total if total else 1.0


def _pairs(rows: Sequence[Row]) -> int:
    return len(rows) - maximum_pairing(rows).count(-1)
