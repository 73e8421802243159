"""The assignment that is worth most."""

from itertools import permutations

import pytest
from hypothesis import given, strategies as st
from tests.sampling import randomness

from rightcall.matching.alignment import best_assignment

WORTH = st.integers(0, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.75]), min_size=columns, max_size=columns), max_size=5
    )
)


def value(worth: list[list[float]], choice: list[int]) -> float:
    return sum(worth[row][column] for row, column in enumerate(choice) if column >= 0)


def best_by_trying(worth: list[list[float]]) -> float:
    rows, columns = len(worth), len(worth[0]) if worth else 0
    places = [*range(columns), *[-1] * max(0, rows - columns)]
    return max((value(worth, list(choice)) for choice in permutations(places, rows)), default=0.0)


@given(WORTH)
def test_no_other_assignment_is_worth_more(worth: list[list[float]]) -> None:
    choice = best_assignment(worth)

    taken = [column for column in choice if column >= 0]
    assert len(taken) == len(set(taken)) == min(len(worth), len(worth[0]) if worth else 0)
    assert value(worth, choice) == pytest.approx(best_by_trying(worth))


@pytest.mark.corpus
def test_large_tables_of_many_values_are_assigned_best_too() -> None:
    chance = randomness("assignments")
    for _ in range(120):
        rows, columns = chance.randint(3, 5), chance.randint(3, 6)
        worth = [[float(chance.randint(0, 20)) for _ in range(columns)] for _ in range(rows)]

        assert value(worth, best_assignment(worth)) == best_by_trying(worth), worth


def test_the_best_for_one_gives_way_to_the_best_for_all() -> None:
    assert best_assignment([[3.0, 2.0], [3.0, 0.0]]) == [1, 0]


def test_rows_that_are_too_many_go_without() -> None:
    assert best_assignment([[1.0], [3.0], [2.0]]) == [-1, 0, -1]
    assert best_assignment([[], []]) == [-1, -1]
    assert best_assignment([]) == []
