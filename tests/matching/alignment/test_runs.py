"""Longest increasing runs."""

from itertools import combinations
from random import Random

from hypothesis import given, strategies as st

from rightcall.matching.alignment import longest_run
from rightcall.matching.alignment._subsequence import _longest_of_runs


@given(st.permutations(range(8)).flatmap(lambda values: st.integers(0, 8).map(lambda size: values[:size])))
def test_a_run_increases_and_is_as_long_as_any(values: list[int]) -> None:
    run = longest_run(values)

    assert sorted(run) == [value for value in values if value in run]
    longest = max(
        size
        for size in range(len(values) + 1)
        for chosen in combinations(values, size)
        if list(chosen) == sorted(chosen)
    )
    assert len(run) == longest


def test_of_two_longest_runs_the_one_that_starts_earlier_is_taken() -> None:
    assert longest_run([0, 2, 1]) == {0, 2}


def test_what_is_negative_is_no_member() -> None:
    assert longest_run([-1, 3, -1, 4, 2]) == {3, 4}


def test_a_run_of_values_that_are_nearly_in_order_is_the_one_that_patience_sorting_finds() -> None:
    random = Random(3)
    quick = 0
    for _ in range(8_000):
        values = list(range(random.randint(0, 12)))
        for _ in range(random.randint(0, 3) if len(values) > 1 else 0):
            here, there = random.randrange(len(values)), random.randrange(len(values))
            values.insert(there, values.pop(here))
        values = [-1 if random.random() < 0.2 else value for value in values]

        assert longest_run(values) == _longest_of_runs(values), values
        quick += sorted(values) != values
    assert quick > 4_000
