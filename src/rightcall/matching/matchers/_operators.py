"""The `$` matchers of JSON and YAML expectations: one entry each in a table."""

from __future__ import annotations

from typing import Any

from rightcall.errors import ExpectationError, nearest, shown
from rightcall.limits import Budget

from ._equality import equal
from ._expectations import TEXT, Compiler, Expectation, holds_foreign, is_matcher, literal_of
from ._operand import AllOf, AnyOf, Build, Matcher, Operand, SpendingMatcher, is_whole
from ._scalars import SCALAR_MATCHERS


def compile_matcher(value: dict[str, Any], where: str, compiler: Compiler) -> Expectation:
    """The matcher that an object with a `$` key stands for.

    Raises:
        ExpectationError: the key is unknown, has companions it does not take, or its operand is wrong.
    """
    name = next(key for key in value if key.startswith("$"))
    if name not in _BUILDERS:
        hint = nearest(name, MATCHERS)
        known = "" if hint.startswith("known") else f" Known: {', '.join(MATCHERS)}."
        raise ExpectationError(
            f"{where}: unknown matcher {shown(name)}; {hint}{known} To expect the object itself, write "
            '{"$literal": …}'
        )
    companions = {key: item for key, item in value.items() if key != name}
    if not companions.keys() <= _COMPANIONS.get(name, frozenset()):
        beside = ", ".join(sorted(repr(key) for key in companions))
        raise ExpectationError(f"{where}: {name} stands alone in its object, but {beside:.200} stands beside it")
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
    return AnyOf(operand.expectations(), operand.compiler.limits)


def _all_of(operand: Operand) -> Expectation:
    return AllOf(operand.expectations(), operand.compiler.limits)


def _not(operand: Operand) -> Matcher:
    refused = operand.expectation()
    return Matcher(lambda actual: not refused.matches(actual), cost=refused.cost)


def _contains(operand: Operand) -> Expectation:
    wanted = operand.expectation()

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


def _length(operand: Operand) -> Matcher:
    if not is_matcher(operand.value) and not (is_whole(operand.value) and operand.value >= 0):
        raise operand.wrong("a whole number or a matcher", operand.value)
    wanted = operand.expectation()
    return Matcher(
        lambda actual: isinstance(actual, (str, list, dict)) and wanted.matches(len(actual)), cost=wanted.cost
    )


def _subset(operand: Operand) -> Expectation:
    if not isinstance(operand.value, (dict, list)):
        raise operand.wrong("an object or a list", operand.value)
    return operand.compiler.compile_open(operand.value, operand.where)


def _unordered(operand: Operand) -> Expectation:
    from ._unordered import unordered_test

    limits = operand.compiler.limits
    return SpendingMatcher(unordered_test(operand.expectations(), limits), limits)


def _schema(operand: Operand) -> Expectation:
    from ._schema import compile_schema

    return SpendingMatcher(compile_schema(operand), operand.compiler.limits)


_BUILDERS: dict[str, Build] = {
    "$any": _any,
    **SCALAR_MATCHERS,
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
}
_COMPANIONS: dict[str, frozenset[str]] = {"$approx": frozenset({"abs", "rel"})}
MATCHERS = tuple(_BUILDERS)
