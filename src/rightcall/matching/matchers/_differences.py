"""Where an actual value is not what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

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
_LONGEST_NAME = 61
_ABSENT = object()
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
    if not isinstance(expected, dict) or is_matcher(expected):
        return value_differences(expected, dict(actual), moment)
    # A policy forgives keys at the top only: inside an argument, values are compared whole.
    keys: Iterable[str] = expected
    if policy != "subset":
        keys = {**expected, **actual}
        keys = keys if policy != "superset" else [key for key in keys if key in actual]
    return _differences(expected, actual, keys, moment)


def value_differences(expected: Any, actual: Any, moment: CallMoment | None = None) -> tuple[Difference, ...]:
    """Where a value differs from the expected one, leaf by leaf; at most 20 places.

    Where finding the places takes too many steps, the value differs as a whole.
    """
    return _differences(expected, actual, None, moment)


def _differences(
    expected: Any, actual: Any, keys: Iterable[str] | None, moment: CallMoment | None
) -> tuple[Difference, ...]:
    """The differences of two values or, with `keys`, those of two objects at these keys."""
    budget = current_budget()
    if budget is None:
        with Budget():
            return _differences(expected, actual, keys, moment)
    walk = _Walk(moment, budget, [])
    try:
        if keys is None:
            walk.value(expected, actual, "$")
        else:
            walk.keys(expected, actual, "$", keys)
    except LimitError:
        # The verdict is settled by now: an explanation that is too expensive is shorter, and is not an error.
        return (Difference("$", *text_pair(expected, actual)),)
    return tuple(walk.found)


class _Walk(msgspec.Struct, gc=False):
    """One walk along two values, which collects where they differ and ends when these are enough.

    A list that is filled takes half the time of generators in generators.
    """

    moment: CallMoment | None
    budget: Budget
    found: list[Difference]

    def value(self, expected: Any, actual: Any, path: str) -> None:
        """Add the differences of two values."""
        self.budget.spend(1)
        if isinstance(expected, dict) and isinstance(actual, dict) and not is_matcher(expected):
            self.keys(expected, actual, path, {**expected, **actual})
        elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            for index, (wanted, given) in enumerate(zip(expected, actual, strict=True)):
                if len(self.found) >= _MOST:
                    break
                self.value(wanted, given, f"{path}[{index}]")
        elif not _is_met(expected, actual, self.moment):
            self.found.append(Difference(path, *text_pair(expected, actual)))

    def keys(self, expected: Mapping[str, Any], actual: Mapping[str, Any], path: str, keys: Iterable[str]) -> None:
        """Add the differences of two objects at these keys."""
        found = self.found
        for key in keys:
            if len(found) >= _MOST:
                break
            wanted, given = expected.get(key, _ABSENT), actual.get(key, _ABSENT)
            if (kind := wanted.__class__) is given.__class__ and (kind is str or kind is int):
                self.budget.spend(1)
                if wanted != given:
                    found.append(Difference(_below(path, key), *text_pair(wanted, given)))
            elif wanted is _ABSENT:
                found.append(Difference(_below(path, key), None, value_text(given)))
            elif given is not _ABSENT:
                self.value(wanted, given, _below(path, key))
            elif is_literal(wanted) or not _compiled(wanted).matches_absence():
                found.append(Difference(_below(path, key), value_text(wanted), None))


def _below(path: str, key: str) -> str:
    """The path of a key."""
    # A name of Python's is plain, and asking for that takes a third of the time of the pattern.
    plain = len(key) <= _LONGEST_NAME and key.isascii() and key.isidentifier()
    return f"{path}.{key}" if plain or _PLAIN_KEY.fullmatch(key) else f"{path}[{value_text(key)}]"


def _is_met(expected: Any, actual: Any, moment: CallMoment | None) -> bool:
    kind = expected.__class__
    if kind is actual.__class__ and (kind is str or kind is int):
        return bool(expected == actual)
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
