"""Maximum pairing."""

import random
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from rightcall.matching.alignment import MarkedRow, maximum_pairing, only_pairing

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

    assert only_pairing(table) == ([row[0] if row else -1 for row in table] if decided else None)


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


def by_one_path_after_the_other(table: list[list[int]]) -> int:
    """The size of the largest pairing, by Kuhn's method."""
    owner: dict[int, int] = {}

    def pairs(row: int, seen: set[int]) -> bool:
        for column in table[row]:
            if column not in seen:
                seen.add(column)
                if column not in owner or pairs(owner[column], seen):
                    owner[column] = row
                    return True
        return False

    return sum([pairs(row, set()) for row in range(len(table))])


def _many_long_rows(shape: str, chance: random.Random) -> list[list[int]]:
    """A hundred rows with more than 4,096 positions in all."""
    size = 100
    if shape == "stairs":
        return [list(range(size - row)) for row in range(size)]
    if shape == "upper stairs":
        return [list(range(row // 2, size)) for row in range(size)]
    few = chance.sample(range(size), 60)
    return [sorted(chance.sample(few if row % 2 else range(size), chance.randint(30, 59))) for row in range(size)]


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("shape", ["stairs", "upper stairs", "random", "other random"])
def test_many_long_rows_are_paired_as_well(shape: str, marked: bool) -> None:
    chance = random.Random(shape)
    table = _many_long_rows(shape, chance)
    rows = [MarkedRow([column in row for column in range(100)]) for row in table] if marked else table
    seed = [(row, table[row][-1]) for row in chance.sample(range(100), 1)]

    choice = maximum_pairing(rows, seed)

    taken = [column for column in choice if column >= 0]
    assert len(taken) == len(set(taken)) == by_one_path_after_the_other(table)
    assert all(column in row for row, column in zip(table, choice, strict=True) if column >= 0)
    assert all(choice[row] >= 0 and column in taken for row, column in seed)


def test_of_many_long_rows_one_goes_without_though_positions_are_left_that_it_cannot_take() -> None:
    rounds = list[int]()
    rows = [list(range(100)) for _ in range(101)] + [list(range(102))]

    choice = maximum_pairing(rows, each_round=lambda: rounds.append(1))

    assert (choice.count(-1), len(rounds)) == (1, 0)


def test_a_row_made_of_flags_has_the_positions_and_their_bits() -> None:
    row = MarkedRow([True, False, True, True, False])

    assert row == [0, 2, 3]
    assert row.bits == 0b1101
    assert (MarkedRow([]), MarkedRow([]).bits) == ([], 0)
