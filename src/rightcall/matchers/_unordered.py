"""Lists in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rightcall.alignment import maximum_pairing
from rightcall.limits import Budget

from ._canonical import canonical
from ._expectations import Expectation, Literal, NanLiteral
from ._operand import SpendingTest

_TRIES = 2
"""Values that one small expectation is tried on in one step."""
_EDGES = 8
"""Pairs that one round of the pairing looks at in one step."""


def unordered_test(items: Sequence[Expectation]) -> SpendingTest:
    """A test of whether a list has exactly these items, in any order.

    Items without matchers are counted, not paired: whichever of several equal values one of them takes, the same
    values are left for the matchers.
    """
    literals: list[Any] = [item.value for item in items if isinstance(item, (Literal, NanLiteral))]
    matchers = [item for item in items if not isinstance(item, (Literal, NanLiteral))]
    cost = sum([item.cost for item in matchers])
    counted = _Counted(literals)

    def test(actual: Any, budget: Budget) -> bool:
        if not isinstance(actual, list) or len(actual) != len(items):
            return False
        left = counted.left(actual, budget) if literals else actual
        if left is None or not matchers:
            return left is not None
        budget.spend(cost * len(left) // _TRIES)
        rows = [[position for position, value in enumerate(left) if item.matches(value)] for item in matchers]
        edges = sum(map(len, rows))
        return -1 not in maximum_pairing(rows, each_round=lambda: budget.spend(edges // _EDGES))

    return test


class _Counted:
    """How often each of some values is expected."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        self._wanted: Counter[str] | None = None

    def left(self, actual: list[Any], budget: Budget) -> list[Any] | None:
        """The values of a list that are left when the expected ones are taken; none where one is missing."""
        missing = self._counts(budget).copy()
        left = []
        for value in actual:
            key = canonical(value, budget)
            if missing.get(key, 0) > 0:
                missing[key] -= 1
            else:
                left.append(value)
        return left if len(left) + len(self._values) == len(actual) else None

    def _counts(self, budget: Budget) -> Counter[str]:
        # Counted when it is first needed, and then once: the same for every thread that may do so.
        if self._wanted is None:
            self._wanted = Counter([canonical(value, budget) for value in self._values])
        return self._wanted
