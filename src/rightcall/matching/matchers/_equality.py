"""Equality of JSON values, and hashable keys that equal values share."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from rightcall.limits import Budget


def equal(expected: Any, actual: Any) -> bool:
    """Return whether two JSON values are equal.

    Numbers are compared by value (`1` equals `1.0`), but `true` does not equal `1`; text exactly; lists in order;
    objects by key, in any order; NaN equals NaN.
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
    """Return whether two values that are `==` in Python are also equal as JSON, where `True` is not `1`."""
    kind = expected.__class__
    if kind is bool or actual.__class__ is bool:
        return expected is actual
    if kind is int or kind is str:
        return True
    if isinstance(expected, dict):
        for key, value in expected.items():  # noqa: SIM110 - faster than a generator
            if not same_kinds(value, actual[key]):
                return False
        return True
    if isinstance(expected, list):
        return all(map(same_kinds, expected, actual))
    return True


def is_delicate(value: Any) -> bool:
    """Return whether a value contains a boolean, a 0 or a 1, for which Python's `==` alone is not enough."""
    if isinstance(value, dict):
        return any(map(is_delicate, value.values()))
    if isinstance(value, list):
        return any(map(is_delicate, value))
    return isinstance(value, (bool, int, float)) and value in (0, 1)


def flat_traits(value: dict[str, Any]) -> tuple[bool, bool] | None:
    """Return whether an object of strings and numbers is a literal, and whether it is delicate; `None` for others.

    One loop instead of three walks: most expected arguments are such objects.
    """
    delicate = False
    for key, item in value.items():
        kind = item.__class__
        if kind is int or kind is bool:
            delicate = delicate or item in _DELICATE
        elif kind is not str:
            return None
        if key[:1] == "$":
            return None
    return True, delicate


_DELICATE = frozenset({0, 1})


def holds_nan(value: Any) -> bool:
    """Return whether a value contains a NaN, which in Python does not even equal itself."""
    if isinstance(value, dict):
        return any(map(holds_nan, value.values()))
    if isinstance(value, list):
        return any(map(holds_nan, value))
    return isinstance(value, float) and value != value


def freeze(value: Any) -> Hashable:
    """Return a hashable equivalent of a JSON value. Values that are `==` in Python have equal ones."""
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


# Python hashes strings with a secret per process, but not numbers and tuples: an agent could choose thousands of values
# with the same hash, and a set of them would take quadratic time. So values become strings.
_written = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_CHARACTERS = 512
"""Characters of a string to copy per step of the budget."""
_CALL = 2
"""Steps to spend for encoding a value of any size."""


def canonical(value: Any, budget: Budget) -> str:
    """Return a JSON value as a string that all values equal to it share: `1` and `1.0`, but not `true`.

    Raises:
        LimitError: the value is larger than the rest of the budget allows.
    """
    budget.spend(_CALL)
    return _written(_plain(value, budget))


def _plain(value: Any, budget: Budget) -> Any:
    """Return the value with whole numbers as integers, so that `1.0` is written as `1`."""
    kind = value.__class__
    if kind is str:
        budget.spend(1 + len(value) // _CHARACTERS)
        return value
    if kind is list:
        budget.spend(1)
        return [_plain(item, budget) for item in value]
    if kind is dict:
        budget.spend(1 + len(value))
        return {key: _plain(item, budget) for key, item in value.items()}
    budget.spend(1)
    return int(value) if kind is float and value.is_integer() else value
