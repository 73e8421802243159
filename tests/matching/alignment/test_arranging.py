"""Calls whose order nobody knows."""

from itertools import permutations, product

import pytest
from hypothesis import given, strategies as st

from rightcall.errors import LimitError
from rightcall.matching.alignment import arrange, maximum_pairing, related_subsequence

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
    best = max(met(table, other) for other in orders(free))
    assert met(table, order) == best
    if best == len(table):  # where every row is met, no search is needed
        assert arrange(table, WIDTH, free, budget=0) == order


def test_more_work_than_the_budget_allows_is_refused() -> None:
    table = [[column for column in range(40) if column % 3 == row % 3] for row in range(60)]

    with pytest.raises(LimitError, match="order is unknown"):
        arrange(table, 40, [(0, 20), (20, 40)], budget=100)


def test_the_work_is_counted_before_it_begins_and_while_it_is_done() -> None:
    nothing: list[list[int]] = [[]] * 10
    assert arrange(nothing, 10, [(2, 5)], budget=80) == list(range(10))
    with pytest.raises(LimitError):
        arrange(nothing, 10, [(2, 5)], budget=79)
    # 5 rows by 2 segments are 10 steps; each row that a segment looks at is one, and each that it tries is as many as
    # have been tried with it.
    some = [[0, 1], [0], [], [1], [2]]
    steps = cost(some, [(0, 2)])
    assert arrange(some, 3, [(0, 2)], budget=steps) == [1, 0, 2]
    with pytest.raises(LimitError):
        arrange(some, 3, [(0, 2)], budget=steps - 1)


def cost(table: list[list[int]], free: list[tuple[int, int]]) -> int:
    """The steps that are counted, by the letter of the method: the best pairings are found by trying."""
    segments, total = [*free, (2, 3)], 0
    for first, end in segments:
        inside = [[column for column in row if first <= column < end] for row in table]
        most = len(pairable(inside))
        for start in range(len(table)) if most else ():
            held: list[list[int]] = []
            for row in inside[start:]:
                total += 1
                if not row:
                    continue
                total += len(held) + 1
                if len(pairable([*held, row])) > len(held):
                    held.append(row)
                if len(held) == most:
                    break
    return total + len(table) * len(segments)


def pairable(rows: list[list[int]]) -> list[int]:
    return [column for column in maximum_pairing(rows) if column >= 0]
