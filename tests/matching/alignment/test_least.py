"""How much of an expectation is met whatever the order of calls was."""

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from rightcall.matching.alignment import fits_every_order, least_common, least_met

WIDTH = 4
rows = st.lists(st.sets(st.integers(0, WIDTH - 1)).map(sorted), max_size=4)


def met_in(order: tuple[int, ...], table: list[list[int]]) -> int:
    """How many rows, from the first on, are met one after the other."""
    met = 0
    for column in order:
        met += met < len(table) and column in table[met]
    return met


@given(rows)
def test_the_least_that_is_met_is_that_of_the_worst_order(table: list[list[int]]) -> None:
    worst = min([met_in(order, table) for order in permutations(range(WIDTH))])

    assert least_met(table, WIDTH, [], [(0, WIDTH)]) == worst


@pytest.mark.parametrize(
    ("table", "met"),
    [([[0, 1, 2, 3]] * 2, 2), ([[0, 1, 2, 3]] * 4, 4), ([[0, 1, 2], [0, 1, 2, 3]], 2), ([[0], [1]], 1)],
)
def test_rows_that_any_call_meets_are_met_in_any_order(table: list[list[int]], met: int) -> None:
    assert least_met(table, WIDTH, [], [(0, WIDTH)]) == met


@given(st.lists(st.sets(st.integers(0, 2)).map(sorted), min_size=3, max_size=3))
def test_rows_fit_every_order_where_no_order_breaks_one(table: list[list[int]]) -> None:
    fits = all(
        [all(column in row for column, row in zip(order, table, strict=True)) for order in permutations(range(3))]
    )

    assert fits_every_order(table, [], [(0, 3)]) == fits


@pytest.mark.parametrize(
    ("table", "met"), [([[0, 1], [2]], 2), ([[0], [1]], 1), ([[2], [0, 1]], 1), ([[0, 1], [1], [3]], 2), ([[]], 0)]
)
def test_a_chain_takes_one_call_of_those_whose_order_is_open(table: list[list[int]], met: int) -> None:
    assert least_common(table, WIDTH, [(0, 2)]) == met
