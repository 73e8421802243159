"""Calls whose order nobody knows."""

from itertools import permutations, product

import pytest
from hypothesis import given, strategies as st

from rightcall import LimitError
from rightcall.alignment import arrange, related_subsequence

WIDTH = 5
relation = st.lists(st.sets(st.integers(0, WIDTH - 1)).map(sorted), max_size=5)
blocks = st.sampled_from([(), ((0, 2),), ((1, 4),), ((0, 2), (2, 5)), ((0, 5),), ((3, 5),)])


def met(table: list[list[int]], order: tuple[int, ...] | list[int]) -> int:
    """How many rows can be met one after the other, with the columns in this order."""
    places = {column: place for place, column in enumerate(order)}
    return len(related_subsequence([sorted(places[column] for column in row) for row in table], WIDTH))


def orders(free: tuple[tuple[int, int], ...]) -> list[tuple[int, ...]]:
    """Every order of the columns in which each block keeps its place."""
    pieces: list[list[tuple[int, ...]]] = []
    position = 0
    for first, end in free:
        pieces += [[(column,)] for column in range(position, first)]
        pieces.append(list(permutations(range(first, end))))
        position = end
    pieces += [[(column,)] for column in range(position, WIDTH)]
    return [tuple(column for piece in chosen for column in piece) for chosen in product(*pieces)]


@given(relation, blocks)
def test_no_order_meets_more_rows(table: list[list[int]], free: tuple[tuple[int, int], ...]) -> None:
    order = arrange(table, WIDTH, free, budget=1_000_000)

    assert tuple(order) in orders(free)
    assert met(table, order) == max(met(table, other) for other in orders(free))


def test_more_work_than_the_budget_allows_is_refused() -> None:
    table = [[column for column in range(40) if column % 3 == row % 3] for row in range(60)]

    with pytest.raises(LimitError, match="order is unknown"):
        arrange(table, 40, [(0, 20), (20, 40)], budget=100)
