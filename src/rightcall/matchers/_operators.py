"""The `$` matchers of JSON and YAML expectations: one entry each in a table."""

from __future__ import annotations

from typing import Any

from rightcall.alignment import maximum_pairing
from rightcall.errors import ExpectationError, nearest, shown

from ._equality import equal
from ._expectations import Compiler, Expectation, is_matcher
from ._operand import Build, Matcher, Operand, is_whole
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


def _literal(operand: Operand) -> Matcher:
    return Matcher(lambda actual: equal(operand.value, actual))


def _any_of(operand: Operand) -> Matcher:
    options = operand.expectations()
    absence = any(option.matches_absence() for option in options)
    return Matcher(lambda actual: any(option.matches(actual) for option in options), absence=absence)


def _all_of(operand: Operand) -> Matcher:
    parts = operand.expectations()
    absence = bool(parts) and all(part.matches_absence() for part in parts)
    return Matcher(lambda actual: all(part.matches(actual) for part in parts), absence=absence)


def _not(operand: Operand) -> Matcher:
    refused = operand.expectation()
    return Matcher(lambda actual: not refused.matches(actual))


def _contains(operand: Operand) -> Matcher:
    wanted = operand.expectation()

    def test(actual: Any) -> bool:
        if isinstance(actual, list):
            return any(wanted.matches(item) for item in actual)
        return isinstance(operand.value, str) and isinstance(actual, (str, dict)) and operand.value in actual

    return Matcher(test)


def _length(operand: Operand) -> Matcher:
    if not is_matcher(operand.value) and not (is_whole(operand.value) and operand.value >= 0):
        raise operand.wrong("a whole number or a matcher", operand.value)
    wanted = operand.expectation()
    return Matcher(lambda actual: isinstance(actual, (str, list, dict)) and wanted.matches(len(actual)))


def _subset(operand: Operand) -> Matcher:
    if not isinstance(operand.value, (dict, list)):
        raise operand.wrong("an object or a list", operand.value)
    return Matcher(operand.compiler.compile_open(operand.value, operand.where).matches)


def _unordered(operand: Operand) -> Matcher:
    items = operand.expectations()

    def test(actual: Any) -> bool:
        if not isinstance(actual, list) or len(actual) != len(items):
            return False
        rows = [_row(item, actual) for item in items]
        return -1 not in maximum_pairing(rows)

    return Matcher(test)


def _row(item: Expectation, actual: list[Any]) -> list[int]:
    """The positions in a list that satisfy one expectation."""
    return [position for position, value in enumerate(actual) if item.matches(value)]


def _schema(operand: Operand) -> Matcher:
    from ._schema import compile_schema

    return Matcher(compile_schema(operand))


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
