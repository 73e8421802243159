"""The bounds of a turn's score, where the trace leaves open which calls were made in it or in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rightcall.judging.core import Selection
from rightcall.limits import Limits
from rightcall.matching.alignment import Row, maximum_pairing, related_subsequence
from rightcall.matching.matchers import ExpectedCalls, Relation, relate

from ._matching import ALLOWS_EXTRAS, IN_SEQUENCE, Judged, MatchType
from ._sequences import covers_all, is_surely_exact, least_in_order, may_be_exact

_BELOW_ONE = math.nextafter(1.0, 0.0)


def bound_turn(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """Whether the calls surely follow the rule, and whether they may.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    turn = _Turn(expected, selection, match_type, limits)
    return Judged(float(turn.surely_passes()), float(turn.may_pass()))


def bound_grade(expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> Judged:
    """The bounds of the share of calls that are as they should be.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    turn = _Turn(expected, selection, match_type, limits)
    if turn.surely_passes():
        return Judged(1.0, 1.0)
    low, high = turn.shares()
    # A share of 1.0 means that the turn passes; a bound is no promise of that.
    return Judged(min(low, _BELOW_ONE), high if turn.may_pass() else min(high, _BELOW_ONE))


class _Turn:
    """A turn whose calls, or their order, are not all known."""

    def __init__(self, expected: ExpectedCalls, selection: Selection, match_type: MatchType, limits: Limits) -> None:
        self._wanted, self._match_type, self._limits = len(expected), match_type, limits
        self._all, self._sure = selection, selection.sure()
        self._made, self._made_surely = len(selection.calls), len(self._sure.calls)
        self._of_all: Relation = relate(expected, selection.calls, limits)
        self._of_sure = self._of_all if self._sure is selection else relate(expected, self._sure.calls, limits)
        self._missing = selection.doubts is not None and selection.doubts.missing
        self._whole = self._made == self._made_surely and not self._missing

    def surely_passes(self) -> bool:
        if self._match_type == "EXACT":
            return self._whole and is_surely_exact(self._of_all.sure, self._all)
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
        """The least and the greatest share of calls that are as they should be."""
        before = self._most(self._sure, self._of_sure.possible)
        most = self._wanted if self._missing else self._most(self._all, self._of_all.possible)
        # Each call more that is as it should be is a call more that was made.
        made = self._made_surely + max(0, most - before)
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
    return min(1.0, count / total) if total else 1.0


def _pairs(rows: Sequence[Row]) -> int:
    return len(rows) - maximum_pairing(rows).count(-1)
