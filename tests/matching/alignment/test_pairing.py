"""Maximum pairing."""

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from rightcall.matching.alignment import maximum_pairing, only_pairing

rows = st.integers(0, 6).flatmap(
    lambda width: st.lists(st.sets(st.integers(0, max(0, width - 1))).map(sorted), max_size=6)
)


def brute_force(table: list[list[int]]) -> int:
    """The size of the largest pairing, by trying every way."""
    if not table:
        return 0
    first, rest = table[0], table[1:]
    best = brute_force(rest)
    for column in first:
        best = max(best, 1 + brute_force([[other for other in row if other != column] for row in rest]))
    return best


@given(rows)
def test_a_pairing_is_as_large_as_any(table: list[list[int]]) -> None:
    choice = maximum_pairing(table)

    assert len(choice) - choice.count(-1) == brute_force(table)


@given(rows)
def test_every_pair_is_allowed_and_no_position_is_taken_twice(table: list[list[int]]) -> None:
    choice = maximum_pairing(table)

    taken = [column for column in choice if column >= 0]
    assert len(taken) == len(set(taken))
    assert all(column in row for row, column in zip(table, choice, strict=True) if column >= 0)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_the_rows_never_costs_a_pair(order: tuple[int, ...]) -> None:
    table = [[0, 1, 2], [0, 1], [0]]

    assert -1 not in maximum_pairing([table[index] for index in order])


@given(rows, st.data())
def test_what_a_seed_pairs_stays_paired(table: list[list[int]], data: st.DataObject) -> None:
    allowed = [(row, column) for row, columns in enumerate(table) for column in columns]
    seed: list[tuple[int, int]] = []
    for row, column in data.draw(st.permutations(allowed))[: data.draw(st.integers(0, 4))]:
        if all(row != other and column != taken for other, taken in seed):
            seed.append((row, column))

    choice = maximum_pairing(table, seed)

    assert all(choice[row] >= 0 for row, _ in seed)
    assert {column for _, column in seed} <= set(choice)
    assert len(choice) - choice.count(-1) == brute_force(table)


@given(st.lists(st.sets(st.integers(0, 4), max_size=2).map(sorted), max_size=4))
def test_there_is_nothing_to_decide_where_no_row_has_a_choice_and_no_two_want_one_position(
    table: list[list[int]],
) -> None:
    wanted = [column for row in table for column in row]
    decided = max(map(len, table), default=0) <= 1 and len(set(wanted)) == len(wanted)

    assert only_pairing(table) == ({index: row[0] for index, row in enumerate(table) if row} if decided else None)


def test_a_seed_decides_which_of_two_rows_goes_without() -> None:
    assert maximum_pairing([[0], [0]]) == [0, -1]
    assert maximum_pairing([[0], [0]], [(1, 0)]) == [-1, 0]


def test_a_long_chain_of_exchanges_needs_no_recursion() -> None:
    size = 20_000
    table = [[index, index + 1] for index in range(size)] + [[0]]

    choice = maximum_pairing(table)

    assert -1 not in choice


def test_a_hundred_thousand_calls_that_share_one_row_are_paired_at_once() -> None:
    shared = list(range(100_000))

    assert maximum_pairing([shared] * 100_000) == shared


def test_a_row_that_found_its_way_taken_in_one_round_is_paired_in_the_next() -> None:
    assert maximum_pairing([[1, 2, 3], [0, 2], [1], [0]]) == [3, 2, 1, 0]


def test_a_row_takes_a_free_position_before_one_that_a_seed_gave_to_another() -> None:
    assert maximum_pairing([(0, 1), (0, 2)], [(0, 0)]) == [0, 2]
