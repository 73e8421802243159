"""The `$` matchers: a builder for each, and the table of all of them."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from unicodedata import normalize

from rightcall.errors import ExpectationError, nearest, shown
from rightcall.limits import Budget, Limits
from rightcall.matching.alignment import maximum_pairing

from ._equality import canonical, equal
from ._expectations import (
    TEXT,
    Compiler,
    Expectation,
    Literal,
    NanLiteral,
    holds_foreign,
    is_matcher,
    literal_of,
    made_of,
)
from ._operand import (
    JSON_TYPES,
    Build,
    Combination,
    Matcher,
    Operand,
    SpendingMatcher,
    SpendingTest,
    is_number,
    is_whole,
)
from ._regex import compile_regex, regex_cost

_NUMBERS = frozenset({int, float})
_TRIES = 2
"""Values that one small expectation is tried on in one step."""
_FOLDED = 16
"""Characters that are normalized in one step."""
_EDGES = 8
"""Pairs that one round of the pairing looks at in one step."""


def _regex(operand: Operand) -> Matcher:
    pattern = operand.text()
    search = compile_regex(pattern, operand.where, operand.compiler.limits)
    return Matcher(search.test, cost=regex_cost(pattern), each=search.test_each)


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
            return Matcher(
                lambda actual: is_number(actual) and holds(actual, bound),
                each=lambda column: [
                    holds(value, bound) if value.__class__ in _NUMBERS else is_number(value) and holds(value, bound)
                    for value in column.values
                ],
            )
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


def _same_words(operand: Operand) -> Expectation:
    wanted = _letters_and_digits(operand.text())
    if not wanted:
        raise operand.wrong("a text with a letter or a digit in it", operand.value)

    def test(actual: Any, budget: Budget) -> bool:
        if not isinstance(actual, str):
            return False
        budget.spend(1 + len(actual) // _FOLDED)
        return _letters_and_digits(actual) == wanted

    return SpendingMatcher(test, operand.compiler.limits)


def _letters_and_digits(text: str) -> str:
    # Folding may undo the normal form: it takes "ﬀ" apart where that was composed, and once more puts it right.
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return "".join(filter(str.isalnum, folded))


def _type(operand: Operand) -> Matcher:
    names = operand.value if isinstance(operand.value, list) else [operand.value]
    for name in names:
        if not isinstance(name, str) or name not in JSON_TYPES:
            raise operand.wrong(f"one of {', '.join(JSON_TYPES)}", name)
    tests = [JSON_TYPES[name] for name in dict.fromkeys(names)]
    return Matcher(lambda actual: any(test(actual) for test in tests))


def _unordered_test(items: Sequence[Expectation], limits: Limits) -> SpendingTest:
    """A test of whether a list has exactly these items, in any order.

    Items without matchers are counted, not paired: whichever of several equal values one of them takes, the same
    values are left for the matchers.
    """
    # The expectation has as many values as the limits allow, so that counting them needs no other bound.
    ample = Budget(4 * limits.nodes)
    literals = Counter([canonical(item.value, ample) for item in items if isinstance(item, (Literal, NanLiteral))])
    matchers = [item for item in items if not isinstance(item, (Literal, NanLiteral))]
    cost = sum([item.cost for item in matchers])

    def test(actual: Any, budget: Budget) -> bool:
        if not isinstance(actual, list) or len(actual) != len(items):
            return False
        left = _left(actual, literals, budget) if literals else actual
        if left is None or not matchers:
            return left is not None
        budget.spend(cost * len(left) // _TRIES)
        rows = [[position for position, value in enumerate(left) if item.matches(value)] for item in matchers]
        edges = sum(map(len, rows))
        return -1 not in maximum_pairing(rows, each_round=lambda: budget.spend(edges // _EDGES))

    return test


def _left(actual: list[Any], wanted: Counter[str], budget: Budget) -> list[Any] | None:
    """The values of a list that are left when the wanted ones are taken; none where one of those is missing."""
    missing = wanted.copy()
    left = []
    for value in actual:
        key = canonical(value, budget)
        if missing[key] > 0:
            missing[key] -= 1
        else:
            left.append(value)
    return None if any(missing.values()) else left


def compile_matcher(value: dict[str, Any], where: str, compiler: Compiler) -> Expectation:
    """Compile an object with a `$` key to its matcher.

    Raises:
        ExpectationError: the key is unknown, has companions it does not take, or its operand is wrong.
    """
    name = next(key for key in value if key.startswith("$"))
    if name not in _BUILDERS:
        hint = nearest(name, MATCHERS)
        stop = "" if hint.endswith("?") else "."
        raise ExpectationError(
            f'{where}: unknown matcher {shown(name)}; {hint}{stop} To expect the object itself, write {{"$literal": …}}'
        )
    companions = {key: item for key, item in value.items() if key != name}
    if not companions.keys() <= _COMPANIONS.get(name, frozenset()):
        beside = ", ".join(sorted(repr(key) for key in companions))
        raise ExpectationError(f"{where}: {name} must be the only key of its object, but {beside:.200} is there, too")
    if name in _BEYOND and name not in compiler.allows:
        raise ExpectationError(f"{where}: {name} does not belong here; it belongs {_BEYOND[name]}")
    return _BUILDERS[name](Operand(value[name], f"{where}.{name}", compiler, companions))


def _any(operand: Operand) -> Matcher:
    if operand.value is not True:
        raise operand.wrong("true", operand.value)
    return Matcher(lambda actual: True)


def _present(operand: Operand) -> Matcher:
    return _presence(operand.flag())


def _absent(operand: Operand) -> Matcher:
    return _presence(not operand.flag())


def _presence(present: bool) -> Matcher:
    return Matcher(lambda actual: present, absence=not present)


def _literal(operand: Operand) -> Expectation:
    if holds_foreign(operand.value):
        return Matcher(lambda actual: equal(operand.value, actual))
    return literal_of(operand.value)


def _any_of(operand: Operand) -> Expectation:
    return made_of(operand.expectations(), lambda parts: Combination(any, parts, operand.compiler.limits))


def _all_of(operand: Operand) -> Expectation:
    return made_of(operand.expectations(), lambda parts: Combination(all, parts, operand.compiler.limits))


def _not(operand: Operand) -> Expectation:
    return made_of([operand.expectation()], _denied, negates=True)


def _denied(parts: list[Expectation]) -> Expectation:
    [refused] = parts
    return Matcher(lambda actual: not refused.matches(actual), cost=refused.cost)


def _contains(operand: Operand) -> Expectation:
    return made_of([operand.expectation()], lambda parts: _containing(parts[0], operand))


def _containing(wanted: Expectation, operand: Operand) -> Expectation:
    def test(actual: Any, budget: Budget) -> bool:
        if isinstance(actual, list):
            budget.spend(1 + len(actual) * wanted.cost // 2)
            return any(wanted.matches(item) for item in actual)
        if not isinstance(operand.value, str):
            return False
        if isinstance(actual, str):
            budget.spend(1 + len(actual) // TEXT)
            return operand.value in actual
        return isinstance(actual, dict) and operand.value in actual

    return SpendingMatcher(test, operand.compiler.limits)


def _length(operand: Operand) -> Expectation:
    if not is_matcher(operand.value) and not (is_whole(operand.value) and operand.value >= 0):
        raise operand.wrong("a whole number or a matcher", operand.value)
    return made_of([operand.expectation()], _of_length)


def _of_length(parts: list[Expectation]) -> Expectation:
    [wanted] = parts
    return Matcher(
        lambda actual: isinstance(actual, (str, list, dict)) and wanted.matches(len(actual)), cost=wanted.cost
    )


def _subset(operand: Operand) -> Expectation:
    if not isinstance(operand.value, (dict, list)):
        raise operand.wrong("an object or a list", operand.value)
    return operand.compiler.compile_open(operand.value, operand.where)


def _unordered(operand: Operand) -> Expectation:
    limits = operand.compiler.limits
    return made_of(operand.expectations(), lambda items: SpendingMatcher(_unordered_test(items, limits), limits))


def _schema(operand: Operand) -> Expectation:
    from ._schema import compile_schema

    return SpendingMatcher(compile_schema(operand), operand.compiler.limits)


def _from(operand: Operand) -> Expectation:
    from ._sources import FromSource, source_of

    return FromSource(source_of(operand))


def _named(operand: Operand) -> Matcher:
    # What a name stands for is not known yet: where it is, its value stands in the place of this.
    if not operand.text():
        raise operand.wrong("a name", operand.value)
    return Matcher(lambda actual: True)


_BUILDERS: dict[str, Build] = {
    "$any": _any,
    "$regex": _regex,
    "$approx": _approx,
    "$gt": _comparison(operator.gt),
    "$gte": _comparison(operator.ge),
    "$lt": _comparison(operator.lt),
    "$lte": _comparison(operator.le),
    "$startsWith": _text_test(str.startswith),
    "$endsWith": _text_test(str.endswith),
    "$ignoreCase": _ignore_case,
    "$sameWords": _same_words,
    "$type": _type,
    "$in": _any_of,
    "$contains": _contains,
    "$length": _length,
    "$subset": _subset,
    "$unordered": _unordered,
    "$not": _not,
    "$allOf": _all_of,
    "$anyOf": _any_of,
    "$schema": _schema,
    "$present": _present,
    "$absent": _absent,
    "$literal": _literal,
    "$from": _from,
    "$bind": _named,
    "$ref": _named,
}
_BEYOND: dict[str, str] = {
    "$from": "in the arguments of an expected or forbidden call, which the agent may have from earlier ones",
    "$bind": "in the arguments of a call under 'calls'",
    "$ref": "in the arguments of a call under 'calls'",
}
"""Matchers that look at more than one value, and where they may stand."""
_COMPANIONS: dict[str, frozenset[str]] = {"$approx": frozenset({"abs", "rel"})}
MATCHERS = tuple(_BUILDERS)
