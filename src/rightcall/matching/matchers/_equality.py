"""Equality of JSON values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


def equal(expected: Any, actual: Any) -> bool:
    """Whether two JSON values are the same.

    Numbers by value (`1` is `1.0`), but `true` is not `1`; text exactly; lists in order; objects by key,
    whatever the order of their keys; NaN is NaN.
    """
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _equal_objects(expected, actual)
    if isinstance(expected, list):
        return isinstance(actual, list) and _equal_lists(expected, actual)
    if expected != expected:
        return bool(actual != actual)
    return bool(expected == actual)


def same_kinds(expected: Any, actual: Any) -> bool:
    """Whether two values that Python calls equal are equal as JSON too: `True == 1` in Python."""
    if expected.__class__ is bool or actual.__class__ is bool:
        return expected is actual
    if isinstance(expected, dict):
        return all(same_kinds(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return all(map(same_kinds, expected, actual))
    return True


def is_delicate(value: Any) -> bool:
    """Whether Python's `==` alone cannot be trusted with a value: it holds a boolean, a 0 or a 1."""
    if isinstance(value, dict):
        return any(map(is_delicate, value.values()))
    if isinstance(value, list):
        return any(map(is_delicate, value))
    return isinstance(value, (bool, int, float)) and value in (0, 1)


def holds_nan(value: Any) -> bool:
    """Whether a NaN is anywhere in a value: it equals nothing in Python, itself included."""
    if isinstance(value, dict):
        return any(map(holds_nan, value.values()))
    if isinstance(value, list):
        return any(map(holds_nan, value))
    return isinstance(value, float) and value != value


def freeze(value: Any) -> Hashable:
    """A hashable twin of a JSON value. Values that Python calls equal have equal twins."""
    if isinstance(value, dict):
        try:
            return frozenset(value.items())
        except TypeError:
            return frozenset((key, freeze(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(freeze, value))
    return value  # type: ignore[no-any-return]


def _equal_objects(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    return len(expected) == len(actual) and all(
        key in actual and equal(value, actual[key]) for key, value in expected.items()
    )


def _equal_lists(expected: list[Any], actual: list[Any]) -> bool:
    return len(expected) == len(actual) and all(map(equal, expected, actual))
