"""The `$` matchers of numbers and texts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ._equality import equal
from ._expectations import TEXT
from ._operand import Build, Matcher, Operand, Test, is_number, is_whole
from ._regex import compile_regex, regex_cost


def _regex(operand: Operand) -> Matcher:
    pattern = operand.text()
    return Matcher(compile_regex(pattern, operand.where, operand.compiler.limits), cost=regex_cost(pattern))


def _approx(operand: Operand) -> Matcher:
    target = operand.value
    if not is_number(target):
        raise operand.wrong("a number", target)
    for name, tolerance in operand.companions.items():
        if not is_number(tolerance) or not tolerance >= 0:
            raise operand.wrong(f"a {name!r} that is a number and not negative", tolerance)
    tolerances = operand.companions or {"abs": 1e-12, "rel": 1e-6}
    try:
        margin = max(tolerances.get("abs", 0), tolerances.get("rel", 0) * abs(target))
    except OverflowError:
        raise operand.wrong("a number that a float can hold", target) from None
    if not math.isfinite(target):
        return Matcher(lambda actual: equal(target, actual))
    return Matcher(lambda actual: is_number(actual) and _is_near(actual, target, margin))


def _is_near(actual: float, target: float, margin: float) -> bool:
    # 21.5 - 21.4 is a little more than 0.1 in binary; of floats, the last bits are forgiven.
    inexact = margin > 0 and (isinstance(actual, float) or isinstance(target, float))
    try:
        return actual == target or abs(actual - target) <= margin + (2 * math.ulp(target) if inexact else 0)
    except OverflowError:  # an integer beyond what a float can hold is near to no float
        return False


def _comparison(holds: Callable[[Any, Any], bool]) -> Build:
    def build(operand: Operand) -> Matcher:
        bound = operand.value
        if is_number(bound):
            return Matcher(lambda actual: is_number(actual) and holds(actual, bound))
        if isinstance(bound, str):
            return Matcher(lambda actual: isinstance(actual, str) and holds(actual, bound), cost=1 + len(bound) // TEXT)
        raise operand.wrong("a number or a text", bound)

    return build


def _text_test(holds: Callable[[str, str], bool]) -> Build:
    def build(operand: Operand) -> Matcher:
        wanted = operand.text()
        cost = 1 + len(wanted) // TEXT
        return Matcher(lambda actual: isinstance(actual, str) and holds(actual, wanted), cost=cost)

    return build


def _ignore_case(operand: Operand) -> Matcher:
    folded = operand.text().casefold()
    size = len(folded)
    # Folding never makes a text shorter, so what is longer than this is not folded: however long it is.
    return Matcher(
        lambda actual: isinstance(actual, str) and len(actual) <= size and actual.casefold() == folded,
        cost=1 + size // TEXT,
    )


def _type(operand: Operand) -> Matcher:
    names = operand.value if isinstance(operand.value, list) else [operand.value]
    for name in names:
        if not isinstance(name, str) or name not in _TYPES:
            raise operand.wrong(f"one of {', '.join(_TYPES)}", name)
    tests = [_TYPES[name] for name in dict.fromkeys(names)]
    return Matcher(lambda actual: any(test(actual) for test in tests))


_TYPES: dict[str, Test] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": is_whole,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}

SCALAR_MATCHERS: dict[str, Build] = {
    "$regex": _regex,
    "$approx": _approx,
    "$gt": _comparison(operator.gt),
    "$gte": _comparison(operator.ge),
    "$lt": _comparison(operator.lt),
    "$lte": _comparison(operator.le),
    "$startsWith": _text_test(str.startswith),
    "$endsWith": _text_test(str.endswith),
    "$ignoreCase": _ignore_case,
    "$type": _type,
}
