"""The rules of trajectory matching, for one turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from rightcall.alignment import Row, related_subsequence
from rightcall.limits import Limits
from rightcall.matchers import CallPattern, relate
from rightcall.trajectory import ToolCall

from ._comparing import Comparison, compare_calls
from ._pairs import pair
from ._selection import Selection

MatchType: TypeAlias = Literal["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]
Bounds: TypeAlias = tuple[float, float]
"""The score with what the trace recorded, and with the most favourable of what it did not."""

ALLOWS_EXTRAS: frozenset[MatchType] = frozenset({"IN_ORDER", "ANY_ORDER"})
_IN_SEQUENCE: frozenset[MatchType] = frozenset({"EXACT", "IN_ORDER"})


def match_turn(patterns: Sequence[CallPattern], selection: Selection, match_type: MatchType, limits: Limits) -> Bounds:
    """1.0 where the calls follow the rule, else 0.0.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if match_type in _IN_SEQUENCE:
        follows = _follows_exactly if match_type == "EXACT" else _follows_in_order
        if selection.free:
            low, high = _arrangements(patterns, selection, limits)
            return float(follows(patterns, low.calls) is True), float(follows(patterns, high.calls) is not False)
        holds = follows(patterns, selection.calls)
        return (0.0, 1.0) if holds is None else (float(holds), float(holds))
    expected, actual = len(patterns), len(selection.calls)
    if not _could_pass(match_type, expected, actual):
        return 0.0, 0.0
    paired = pair(patterns, selection, limits)
    needed = actual if match_type == "SUBSET" else expected
    return float(paired.low == needed), float(paired.high == needed)


def grade_turn(patterns: Sequence[CallPattern], selection: Selection, match_type: MatchType, limits: Limits) -> Bounds:
    """The share of calls that are as they should be; 1.0 exactly where `match_turn` says so.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    expected, actual = len(patterns), len(selection.calls)
    total = expected if match_type in ALLOWS_EXTRAS else actual if match_type == "SUBSET" else max(expected, actual)
    if total == 0:
        return 1.0, 1.0
    if match_type not in _IN_SEQUENCE:
        paired = pair(patterns, selection, limits)
        return paired.low / total, paired.high / total
    return (
        _longest_sequence(patterns, _arrangements(patterns, selection, limits)[0], "sure", limits) / total,
        _longest_sequence(patterns, _arrangements(patterns, selection, limits)[1], "possible", limits) / total,
    )


def compare_turn(
    patterns: Sequence[CallPattern], selection: Selection, match_type: MatchType, limits: Limits
) -> Comparison:
    """The alignment behind a score, ready to be told."""
    if match_type in _IN_SEQUENCE:
        selection = _arrangements(patterns, selection, limits)[0]
    return compare_calls(patterns, selection, limits)


def _arrangements(patterns: Sequence[CallPattern], selection: Selection, limits: Limits) -> tuple[Selection, Selection]:
    """The calls in the order that suits the expectation best: by what is sure, and by what is possible."""
    if not selection.free:
        return selection, selection
    relation = relate(patterns, selection.calls, limits)
    sure = selection.arranged(relation.sure, limits)
    return sure, sure if relation.is_certain else selection.arranged(relation.possible, limits)


def _longest_sequence(
    patterns: Sequence[CallPattern],
    selection: Selection,
    certainty: Literal["sure", "possible"],
    limits: Limits,
) -> int:
    rows: list[Row] = getattr(relate(patterns, selection.calls, limits), certainty)
    return len(related_subsequence(rows, len(selection.calls)))


def _could_pass(match_type: MatchType, expected: int, actual: int) -> bool:
    if match_type == "ANY_ORDER":
        return expected <= actual
    return expected == actual if match_type == "UNORDERED" else actual <= expected


def _follows_exactly(patterns: Sequence[CallPattern], calls: Sequence[ToolCall]) -> bool | None:
    if len(patterns) != len(calls):
        return False
    known = True
    for pattern, call in zip(patterns, calls, strict=True):
        if pattern.name != call.name:
            return False
        accepted = pattern.accepts(call)
        if accepted is False:
            return False
        known = known and accepted is True
    return True if known else None


def _follows_in_order(patterns: Sequence[CallPattern], calls: Sequence[ToolCall]) -> bool | None:
    if _is_subsequence(patterns, calls, unknown_counts=False):
        return True
    return None if _is_subsequence(patterns, calls, unknown_counts=True) else False


def _is_subsequence(patterns: Sequence[CallPattern], calls: Sequence[ToolCall], *, unknown_counts: bool) -> bool:
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
