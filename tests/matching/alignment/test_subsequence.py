"""Longest common subsequences."""

import random
import sys
import tracemalloc
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, repeat

import pytest
from hypothesis import given, strategies as st

from rightcall.errors import LimitError
from rightcall.matching.alignment import (
    COMMON,
    UNKNOWN,
    ExpectedNames,
    _subsequence,
    common_length,
    common_subsequence,
    left_over,
    related_subsequence,
)

short = st.lists(st.integers(0, 3), max_size=12)


def brute_force(expected: Sequence[int], actual: Sequence[int]) -> int:
    """The length of a longest common subsequence, straight from its definition."""

    @cache
    def length(i: int, j: int) -> int:
        if i == len(expected) or j == len(actual):
            return 0
        if expected[i] == actual[j]:
            return 1 + length(i + 1, j + 1)
        return max(length(i + 1, j), length(i, j + 1))

    return length(0, 0)


def rows_of(expected: Sequence[int], actual: Sequence[int]) -> list[list[int]]:
    return [[column for column, value in enumerate(actual) if value == wanted] for wanted in expected]


def is_chain(pairs: list[tuple[int, int]]) -> bool:
    return all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))


@given(short, short)
def test_lengths_equal_brute_force(expected: list[int], actual: list[int]) -> None:
    assert common_length(expected, actual) == brute_force(expected, actual)


@given(short, short)
def test_the_first_lengths_of_a_process_equal_brute_force_too(expected: list[int], actual: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_subsequence, "_FIRST", repeat(True))
        assert common_length(expected, actual) == brute_force(expected, actual)


@given(short, short)
def test_a_path_is_common_increasing_and_as_long_as_any(expected: list[int], actual: list[int]) -> None:
    pairs = common_subsequence(expected, actual)

    assert is_chain(pairs)
    assert all(expected[i] == actual[j] for i, j in pairs)
    assert len(pairs) == brute_force(expected, actual)


@given(short, short)
def test_what_is_left_over_is_all_but_one_common_subsequence_in_which_unknown_names_have_no_part(
    expected: list[int], actual: list[int]
) -> None:
    names = ExpectedNames.of([str(each) for each in expected])
    wanted, made = names.text, names.text_of(map(str, actual))

    rest, found = left_over(wanted, made)

    assert rest.count(COMMON) == found.count(COMMON) == brute_force(expected, actual)
    assert [name for name, left in zip(wanted, rest, strict=True) if left == COMMON] == [
        name for name, left in zip(made, found, strict=True) if left == COMMON
    ]
    assert all(left in (name, COMMON) for name, left in zip(wanted + made, rest + found, strict=True))
    assert left_over(wanted, made.replace(UNKNOWN, "")) == (rest, found.replace(UNKNOWN, ""))


def test_what_is_left_over_of_very_long_texts_is_found_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ExpectedNames.of("abcab")
    texts = names.text, names.text_of("bxcab")
    monkeypatch.setattr(_subsequence, "_LARGEST_EDITS", 0)

    assert left_over(*texts) == (names.text_of("a") + COMMON * 4, COMMON + UNKNOWN + COMMON * 3)


def test_more_names_than_there_are_characters_are_too_many() -> None:
    with pytest.raises(LimitError, match="different names are too many to compare"):
        ExpectedNames.of(range(sys.maxunicode))  # type: ignore[arg-type]


@given(short, short)
def test_the_general_method_agrees_with_the_one_for_equal_values(expected: list[int], actual: list[int]) -> None:
    pairs = related_subsequence(rows_of(expected, actual), len(actual))

    assert is_chain(pairs)
    assert all(expected[i] == actual[j] for i, j in pairs)
    assert len(pairs) == brute_force(expected, actual)


@given(st.lists(st.sets(st.integers(0, 7)).map(sorted), max_size=8), st.sampled_from([1, 8, 20, 1_000]))
def test_any_relation_gets_a_longest_chain_however_small_the_tables_are(table: list[list[int]], largest: int) -> None:
    @cache
    def longest(row: int, first: int) -> int:
        if row == len(table):
            return 0
        options = [1 + longest(row + 1, column + 1) for column in table[row] if column >= first]
        return max([longest(row + 1, first), *options])

    pairs = related_subsequence(table, 8, largest_table=largest)

    assert is_chain(pairs)
    assert all(column in table[row] for row, column in pairs)
    assert len(pairs) == longest(0, 0)


@given(st.lists(st.sets(st.integers(0, 5), min_size=3).map(sorted), min_size=1, max_size=8))
def test_what_matches_one_to_one_at_either_end_is_paired_so(table: list[list[int]]) -> None:
    shorter = min(len(table), 6)
    head = next((place for place in range(shorter) if place not in table[place]), shorter)
    rest = shorter - head
    tail = next((back for back in range(rest) if 5 - back not in table[-1 - back]), rest)

    pairs = related_subsequence(table, 6)

    assert pairs[:head] == [(place, place) for place in range(head)]
    assert pairs[len(pairs) - tail :] == [(len(table) - back, 6 - back) for back in range(tail, 0, -1)]


@pytest.mark.parametrize("names", [4, 50, 5_000], ids=["few names", "some names", "all different"])
def test_halving_a_large_table_finds_a_path_of_the_same_length(names: int) -> None:
    generator = random.Random(7)
    expected = [generator.randrange(names) for _ in range(900)]
    actual = [generator.randrange(names) for _ in range(1_100)]

    pairs = related_subsequence(rows_of(expected, actual), len(actual), largest_table=5_000)

    assert is_chain(pairs)
    assert all(expected[i] == actual[j] for i, j in pairs)
    assert len(pairs) == common_length(expected, actual)


def test_thirty_thousand_calls_a_side_stay_within_memory() -> None:
    generator = random.Random(11)
    expected = [generator.randrange(4) for _ in range(30_000)]
    actual = [generator.randrange(4) for _ in range(30_000)]

    tracemalloc.start()
    pairs = common_subsequence(expected, actual)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(pairs) == common_length(expected, actual)
    assert peak < 100_000_000
