"""Where an actual value is not what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.errors import LimitError
from rightcall.limits import DEFAULT_LIMITS, Budget, current_budget, spend
from rightcall.values.results import Difference, text_pair, value_text

from ._equality import equal
from ._expectations import BEYOND, Compiler, Expectation, decided, is_literal, is_matcher, size_of
from ._moments import CallMoment

_MOST = 20
_COMPILING = 20
"""Steps that compiling one value of an expectation takes: a JSON Schema is checked by the schema of schemas."""
_PLAIN_KEY = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,60}")


def argument_differences(
    expected: Any, actual: Mapping[str, Any], policy: str, moment: CallMoment | None = None
) -> tuple[Difference, ...]:
    """Where a call's arguments differ from the expected ones, under an argument policy; at most 20 places.

    What depends on the moment of the call differs if it surely does.
    Where finding the places takes too many steps, the arguments differ as a whole.
    """
    if policy == "ignore":
        return ()
    if is_matcher(expected) or not isinstance(expected, dict):
        return value_differences(expected, dict(actual), moment)
    # A policy forgives keys at the top only: inside an argument, values are compared whole.
    forgiven = {"subset": actual.keys() - expected.keys(), "superset": expected.keys() - actual.keys()}
    keys = [key for key in (*expected, *actual) if key not in forgiven.get(policy, ())]
    found = (step for key in dict.fromkeys(keys) for step in _at_key(expected, actual, key, "$", moment))
    return _within_budget(found, expected, actual)


def value_differences(expected: Any, actual: Any, moment: CallMoment | None = None) -> tuple[Difference, ...]:
    """Where a value differs from the expected one, leaf by leaf; at most 20 places.

    Where finding the places takes too many steps, the value differs as a whole.
    """
    return _within_budget(_walk(expected, actual, "$", moment), expected, actual)


def _within_budget(found: Iterator[Difference], expected: Any, actual: Any) -> tuple[Difference, ...]:
    if current_budget() is None:
        with Budget():
            return _within_budget(found, expected, actual)
    try:
        return tuple(islice(found, _MOST))
    except LimitError:
        # The verdict is settled by now: an explanation that is too expensive is shorter, and is not an error.
        return (Difference("$", *text_pair(expected, actual)),)


def _walk(expected: Any, actual: Any, path: str, moment: CallMoment | None) -> Iterator[Difference]:
    spend(1)
    if isinstance(expected, dict) and isinstance(actual, dict) and not is_matcher(expected):
        for key in dict.fromkeys((*expected, *actual)):
            yield from _at_key(expected, actual, key, path, moment)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
            yield from _walk(wanted, found, f"{path}[{index}]", moment)
    elif not _is_met(expected, actual, moment):
        yield Difference(path, *text_pair(expected, actual))


def _is_met(expected: Any, actual: Any, moment: CallMoment | None) -> bool:
    if is_literal(expected):
        return equal(expected, actual)
    compiled = _compiled(expected)
    if not compiled.needs_moment:
        return compiled.matches(actual)
    return moment is None or decided(compiled, actual, moment) is not False


def _compiled(expected: Any) -> Expectation:
    spend(_COMPILING * size_of(expected))
    # The expectation was checked when it was compiled, so everything in it is allowed there.
    return Compiler(DEFAULT_LIMITS, BEYOND).compile(expected, "$")


def _at_key(
    expected: Mapping[str, Any], actual: Mapping[str, Any], key: str, path: str, moment: CallMoment | None
) -> Iterator[Difference]:
    path = f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{value_text(key)}]"
    if key not in expected:
        yield Difference(path, None, value_text(actual[key]))
    elif key in actual:
        yield from _walk(expected[key], actual[key], path, moment)
    elif is_literal(expected[key]) or not _compiled(expected[key]).matches_absence():
        yield Difference(path, value_text(expected[key]), None)
