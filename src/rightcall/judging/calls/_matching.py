"""The rules of trajectory matching, for one turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from rightcall.judging.core import Selection
from rightcall.limits import Limits
from rightcall.matching.alignment import related_subsequence
from rightcall.matching.matchers import ExpectedCalls, Pattern, relate
from rightcall.values.trajectory import ToolCall

from ._comparing import Comparison, compare_calls
from ._pairs import pair

MatchType: TypeAlias = Literal["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]


class Judged(msgspec.Struct, frozen=True):
    """The score of a turn: with what the trace recorded, and with the most favourable of what it did not."""

    low: float
    high: float
    as_expected: bool = False
    """Whether the first calls simply are the expected ones, in order."""


_PASSED = Judged(1.0, 1.0, as_expected=True)
_FAILED = Judged(0.0, 0.0)

ALLOWS_EXTRAS: frozenset[MatchType] = frozenset({"IN_ORDER", "ANY_ORDER"})
IN_SEQUENCE: frozenset[MatchType] = frozenset({"EXACT", "IN_ORDER"})


def match_turn(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """1.0 where the calls follow the rule, else 0.0.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if match_type in IN_SEQUENCE:
        return _match_in_sequence(expected, selection, match_type, limits)
    if not _could_pass(match_type, len(expected), len(selection.calls)):
        return _FAILED
    paired = pair(expected, selection, limits)
    needed = len(selection.calls) if match_type == "SUBSET" else len(expected)
    return Judged(float(paired.low == needed), float(paired.high == needed), paired.relation is None)


def grade_turn(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """The share of calls that are as they should be; 1.0 exactly where `match_turn` says so.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    wanted, made = len(expected), len(selection.calls)
    total = wanted if match_type in ALLOWS_EXTRAS else made if match_type == "SUBSET" else max(wanted, made)
    if total == 0:
        return Judged(1.0, 1.0)
    if match_type not in IN_SEQUENCE:
        paired = pair(expected, selection, limits)
        return Judged(paired.low / total, paired.high / total, paired.relation is None)
    sure, possible = _arrangements(expected, selection, limits)
    relation = relate(expected, sure.calls, limits)
    low = len(related_subsequence(relation.sure, made))
    if relation.is_certain:
        return Judged(low / total, low / total)
    rows = relation.possible if possible is sure else relate(expected, possible.calls, limits).possible
    return Judged(low / total, len(related_subsequence(rows, made)) / total)


def compare_turn(
    expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits, judged: Judged
) -> Comparison:
    """The comparison behind the score of a turn."""
    if match_type in IN_SEQUENCE and selection.free:
        selection = _arrangements(expected, selection, limits)[0]
    return compare_calls(expected, selection, limits, as_expected=judged.as_expected)


def _match_in_sequence(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    exact = match_type == "EXACT"
    if exact and len(expected) != len(selection.calls):
        return _FAILED
    if expected.is_beginning_of(selection.calls, selection.names):
        return _PASSED
    follows = _follows_exactly if exact else _follows_in_order
    if selection.free:
        low, high = _arrangements(expected, selection, limits)
        surely = follows(expected.patterns, low.calls) is True
        return Judged(float(surely), float(surely or follows(expected.patterns, high.calls) is not False))
    holds = follows(expected.patterns, selection.calls)
    return Judged(float(holds is True), float(holds is not False))


def _arrangements(expected: ExpectedCalls, selection: Selection, limits: Limits) -> tuple[Selection, Selection]:
    """The calls in the order that suits the expectation best: by what is sure, and by what is possible."""
    if not selection.free:
        return selection, selection
    relation = relate(expected, selection.calls, limits)
    sure = selection.arranged(relation.sure, limits)
    return sure, sure if relation.is_certain else selection.arranged(relation.possible, limits)


def _could_pass(match_type: MatchType, expected: int, actual: int) -> bool:
    if match_type == "ANY_ORDER":
        return expected <= actual
    return expected == actual if match_type == "UNORDERED" else actual <= expected


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
