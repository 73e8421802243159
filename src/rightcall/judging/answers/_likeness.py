"""How alike two JSON values are, value by value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rightcall.errors import LimitError
from rightcall.limits import Limits
from rightcall.matching.alignment import best_assignment
from rightcall.matching.matchers import equal

_ABSENT = object()
_AT_ONCE = 64
"""The distance of texts is computed for so many characters at a time."""
_STEPS_OF_PAIRING = 2
"""What a step of pairing items costs, in comparisons. Lists of 290 items take at most two seconds."""


class Likeness:
    """Compares values; with `any_order`, items of lists are paired so that they are most alike, wherever they stand.

    All comparisons of one object together have the room of `limits.comparisons`.
    """

    def __init__(self, limits: Limits, *, any_order: bool = False) -> None:
        self._limits = limits
        self._any_order = any_order
        self._room = limits.comparisons

    def of(self, expected: Any, actual: Any) -> float:
        """The mean over the values inside the expected one; 1.0 where there are none.

        Raises:
            LimitError: it would take too long.
        """
        scores = self._scores(expected, actual)
        return float(sum(map(Fraction, scores)) / len(scores)) if scores else 1.0

    def _scores(self, expected: Any, actual: Any) -> list[float]:
        """The score of each value inside the expected one that is neither an object nor a list."""
        if isinstance(expected, dict):
            given = actual if isinstance(actual, dict) else {}
            return [score for key, item in expected.items() for score in self._scores(item, given.get(key, _ABSENT))]
        if isinstance(expected, list):
            items = actual if isinstance(actual, list) else []
            if self._any_order and items and not equal(expected, items):
                return self._paired(expected, items)
            partners = [items[index] if index < len(items) else _ABSENT for index in range(len(expected))]
            return [score for pair in zip(expected, partners, strict=True) for score in self._scores(*pair)]
        return [self._leaf(expected, actual)]

    def _paired(self, expected: Sequence[Any], items: Sequence[Any]) -> list[float]:
        """The scores of items, each beside the one of the other list that makes the sum of all greatest."""
        smaller = min(len(expected), len(items))
        self._spend(_STEPS_OF_PAIRING * len(expected) * len(items) * smaller, "lists", len(expected), len(items))
        scores = [[self._scores(item, other) for other in items] for item in expected]
        choice = best_assignment([[sum(each) for each in row] for row in scores])
        found: list[float] = []
        for index, column in enumerate(choice):
            found += scores[index][column] if column >= 0 else self._scores(expected[index], _ABSENT)
        return found

    def _leaf(self, expected: Any, actual: Any) -> float:
        if _is_number(expected) and _is_number(actual):
            return _closeness(expected, actual)
        if isinstance(expected, str) and isinstance(actual, str):
            self._spend(len(expected) * len(actual) // _AT_ONCE, "texts", len(expected), len(actual))
            return _likeness(expected, actual)
        return float(actual is not _ABSENT and equal(expected, actual))

    def _spend(self, steps: int, what: str, one: int, other: int) -> None:
        self._room -= steps + 1
        if self._room < 0:
            raise LimitError(f"{what} of {one:,} and {other:,} are too long to be compared")


def _closeness(expected: float, actual: float) -> float:
    if equal(expected, actual):
        return 1.0
    if abs(expected) <= 1e-12:
        return float(abs(actual) <= 1e-12)
    try:
        similarity = 1.0 - abs(expected - actual) / abs(expected)
    except OverflowError:  # an integer that no floating-point number can hold, beside one that is not an integer
        return 0.0
    return max(0.0, similarity) if similarity == similarity else 0.0


def _likeness(expected: str, actual: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(expected, actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
