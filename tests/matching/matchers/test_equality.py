"""Equality of JSON values."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall.errors import LimitError
from rightcall.limits import Budget
from rightcall.matching.matchers import compile_value, equal, freeze
from rightcall.matching.matchers._equality import canonical as written

NAN = float("nan")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, NAN, float("inf")])
    | st.text(max_size=2)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner), max_leaves=6
)

TABLE: list[tuple[Any, Any, bool]] = [
    (1, 1.0, True),
    (1, True, False),
    (0, False, False),
    (0.0, -0.0, True),
    (1, "1", False),
    (NAN, NAN, True),
    (NAN, None, False),
    (2**53 + 1, float(2**53), False),
    (2**64, 2**64 + 1, False),
    ("a", "A", False),
    ("é", "e\u0301", False),
    ("\ud800", "\ud800", True),
    ([1, 2], [2, 1], False),
    ([1, [True]], [1, [1]], False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ({"a": None}, {}, False),
    ([], {}, False),
    ([], None, False),
    ("", None, False),
    ({"x": [{"y": True}]}, {"x": [{"y": 1}]}, False),
    ({"a": 2, "b": True}, {"a": 2, "b": 1}, False),
    ({"a": True, "b": 2}, {"a": 1, "b": 2}, False),
    ([2, True], [2, 1], False),
]


@pytest.mark.parametrize(("first", "second", "same"), TABLE, ids=[f"{a!r}-{b!r}" for a, b, _ in TABLE])
def test_equality_follows_the_table_both_ways(first: Any, second: Any, same: bool) -> None:
    assert equal(first, second) is same
    assert equal(second, first) is same
    assert compile_value(first).matches(second) is same
    assert compile_value(second).matches(first) is same


def canonical(value: Any) -> str:
    """An independent reading of equality: two values are equal when they are written the same way."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return "nan" if value != value else repr(float(value) + 0.0)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return "{" + ",".join(f"{key}:{canonical(value[key])}" for key in sorted(value)) + "}"


@given(values, values)
def test_the_compiled_comparison_agrees_with_an_independent_one(expected: Any, actual: Any) -> None:
    same = canonical(expected) == canonical(actual)

    assert equal(expected, actual) is same
    assert compile_value(expected).matches(actual) is same


@given(values)
def test_every_value_equals_itself(value: Any) -> None:
    assert compile_value(value).matches(json.loads(json.dumps(value)))


@given(values, values)
def test_equal_values_have_equal_keys(first: Any, second: Any) -> None:
    if equal(first, second) and "nan" not in canonical(first):
        assert freeze(first) == freeze(second)


@pytest.mark.parametrize("value", [[[]] * 200, [{}] * 200, [1] * 200, ["a"] * 200])
def test_each_value_inside_of_another_takes_a_step_to_write(value: Any) -> None:
    assert written(value, Budget(250))
    with pytest.raises(LimitError):
        written(value, Budget(150))
