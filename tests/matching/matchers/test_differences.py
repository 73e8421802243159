"""Where a value is not what was expected: every leaf, and nothing else."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import ToolCall
from rightcall.matching.matchers import ArgsPolicy, CallPattern, OutputPattern, compile_value, value_differences

VALUES = st.recursive(
    st.sampled_from([0, 1, True, "x", None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


def told(expected: Any, actual: Any) -> list[tuple[str, str | None, str | None]]:
    return [(each.path, each.expected, each.actual) for each in value_differences(expected, actual)]


@given(expected=VALUES, actual=VALUES)
def test_there_are_differences_exactly_where_a_value_does_not_match(expected: Any, actual: Any) -> None:
    assert bool(told(expected, actual)) is not compile_value(expected).matches(actual)
    assert bool(told({"$allOf": [expected]}, actual)) is not compile_value(expected).matches(actual)


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [
        (1, True, [("$", "1", "true")]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("$.b", "2", "3")]),
        ({"a": 1}, {"a": 1, "b": 3}, [("$.b", None, "3")]),
        ({"a": 1, "b": 3}, {"a": 1}, [("$.b", "3", None)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [("$.a.b[1]", "2", "3")]),
        ([1, 2], [2, 1], [("$[0]", "1", "2"), ("$[1]", "2", "1")]),
        ([1, 2], [1], [("$", "[1, 2]", "[1]")]),
        ([1], {"a": 1}, [("$", "[1]", '{"a": 1}')]),
        ({"not plain": 1}, {}, [('$["not plain"]', "1", None)]),
        ({"a": {"$gt": 5}, "b": 1}, {"a": 4, "b": 1}, [("$.a", '{"$gt": 5}', "4")]),
        ({"a": {"$gt": 5}}, {}, [("$.a", '{"$gt": 5}', None)]),
        ({"a": {"$absent": True}}, {}, []),
        ({"a": {"$absent": True}}, {"a": 4}, [("$.a", '{"$absent": true}', "4")]),
        ({"$gt": 5}, {"a": 4}, [("$", '{"$gt": 5}', '{"a": 4}')]),
    ],
)
def test_a_difference_has_the_place_and_both_values(expected: Any, actual: Any, differences: list[Any]) -> None:
    assert told(expected, actual) == differences


def test_no_more_than_twenty_places_are_told() -> None:
    wanted, found = {f"k{number}": number for number in range(30)}, {f"k{number}": "x" for number in range(30)}

    assert len(told(wanted, found)) == 20
    assert len(CallPattern("t", wanted).differences_from(ToolCall("t", found))) == 20


@pytest.mark.parametrize(
    ("policy", "paths"),
    [
        ("exact", ["$.both", "$.wanted", "$.found"]),
        ("subset", ["$.both", "$.wanted"]),
        ("superset", ["$.both", "$.found"]),
        ("ignore", []),
    ],
)
def test_a_policy_forgives_arguments_that_are_on_one_side_only(policy: ArgsPolicy, paths: list[str]) -> None:
    pattern = CallPattern("t", {"both": 1, "same": 1, "wanted": 1}, policy)

    found = pattern.differences_from(ToolCall("t", {"both": 2, "same": 1, "found": 1}))

    assert [each.path for each in found] == paths


def test_a_matcher_of_all_arguments_differs_as_a_whole() -> None:
    [difference] = CallPattern("t", {"$not": {"a": 1}}).differences_from(ToolCall("t", {"a": 1}))

    assert (difference.path, difference.actual) == ("$", '{"a": 1}')


def test_differences_from_strings_and_numbers_are_those_that_a_walk_finds() -> None:
    random = Random(7)
    flat: tuple[Any, ...] = (0, 1, 2, True, False, "", "1", "Zürich ☂", 'a "b"\n', "x" * 200, "x" * 150 + "y")
    given: tuple[Any, ...] = (*flat, None, 1.0, float("nan"), [], [1], {}, {"n": {"to": [1, True]}})
    policies: tuple[ArgsPolicy, ...] = ("exact", "subset", "superset", "ignore")
    keys = [*"abcdefghijklmnopqrstuvwx", "with space", "ü", "$n", "a.b", "k" * 70]
    for _ in range(2_000):
        most = random.choice((3, len(keys)))
        expected = {key: random.choice(flat) for key in random.sample(keys, random.randint(1, most)) if key != "$n"}
        actual = {key: random.choice(given) for key in random.sample(keys, random.randint(0, most))}
        walked = value_differences(expected, actual)

        for policy in policies:
            direct, general = CallPattern("a", expected, policy), CallPattern("a", expected, policy)
            general.walks = True
            call = ToolCall("a", actual, None)
            assert direct.differences_from(call) == general.differences_from(call)
        assert CallPattern("a", expected, "exact").differences_from(ToolCall("a", actual, None)) == walked
        output = OutputPattern("a", expected).differences_from(ToolCall("a", {}, actual))
        assert output == walked
