"""Lists in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rightcall.limits import Budget, Limits
from rightcall.matching.alignment import maximum_pairing

from ._canonical import canonical
from ._expectations import Expectation, Literal, NanLiteral
from ._operand import SpendingTest

_TRIES = 2
"""Values that one small expectation is tried on in one step."""
_EDGES = 8
"""Pairs that one round of the pairing looks at in one step."""


def unordered_test(items: Sequence[Expectation], limits: Limits) -> SpendingTest:
    """A test of whether a list has exactly these items, in any order.

    Items without matchers are counted, not paired: whichever of several equal values one of them takes, the same
    values are left for the matchers.
    """
    # The expectation has as many values as the limits allow, so that counting them needs no other bound.
    ample = Budget(4 * limits.nodes)
    literals = Counter([canonical(item.value, ample) for item in items if isinstance(item, (Literal, NanLiteral))])
    matchers = [item for item in items if not isinstance(item, (Literal, NanLiteral))]
    cost = sum([item.cost for item in matchers])

    def test(actual: Any, budget: Budget) -> bool:
        if not isinstance(actual, list) or len(actual) != len(items):
            return False
        left = _left(actual, literals, budget) if literals else actual
        if left is None or not matchers:
            return left is not None
        budget.spend(cost * len(left) // _TRIES)
        rows = [[position for position, value in enumerate(left) if item.matches(value)] for item in matchers]
        edges = sum(map(len, rows))
        return -1 not in maximum_pairing(rows, each_round=lambda: budget.spend(edges // _EDGES))

    return test


def _left(actual: list[Any], wanted: Counter[str], budget: Budget) -> list[Any] | None:
    """The values of a list that are left when the wanted ones are taken; none where one of those is missing."""
    missing = wanted.copy()
    left = []
    for value in actual:
        key = canonical(value, budget)
        if missing[key] > 0:
            missing[key] -= 1
        else:
            left.append(value)
    return None if any(missing.values()) else left
