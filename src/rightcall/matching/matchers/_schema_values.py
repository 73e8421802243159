"""Keywords of JSON Schema about one value: its type, its size, the values it may have."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from rightcall.errors import ExpectationError, shown

from ._equality import canonical
from ._operand import is_number, is_whole
from ._schema_nodes import Check, Evaluated, Keyword, Site, Visit


def asserts(applies: Callable[[Any], bool], holds: Callable[[Any, Any], bool]) -> Keyword:
    """A keyword that compares values of one type with its operand, and accepts all others."""

    def build(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
        return lambda value, visit, evaluated: not applies(value) or holds(value, wanted)

    return build


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_list(value: Any) -> bool:
    """Return whether a value is a list."""
    return isinstance(value, list)


def is_object(value: Any) -> bool:
    """Return whether a value is an object."""
    return isinstance(value, dict)


def at_most(value: Any, most: Any) -> bool:
    """Return whether a value has no more parts than this."""
    return bool(len(value) <= most)


def at_least(value: Any, least: Any) -> bool:
    """Return whether a value has no fewer parts than this."""
    return bool(len(value) >= least)


def is_multiple(value: Any, of: Any) -> bool:
    """Return whether a number is a whole multiple of another."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if not isinstance(of, float):
        return not value % of
    try:
        quotient = value / of
        return bool(int(quotient) == quotient)
    except OverflowError:  # no float is that large: the decimals as they are written, exactly
        return (Fraction(str(value)) / Fraction(str(of))).denominator == 1


def is_at_most(value: Any, most: Any) -> bool:
    """Return whether a number is not above another. NaN, which is in no order, is neither above nor below any."""
    return not value > most


def is_at_least(value: Any, least: Any) -> bool:
    """Return whether a number is not below another."""
    return not value < least


def is_below(value: Any, bound: Any) -> bool:
    """Return whether a number neither is another nor is above it."""
    return not value >= bound


def is_above(value: Any, bound: Any) -> bool:
    """Return whether a number neither is another nor is below it."""
    return not value <= bound


def bound_draft4(exclusive: str, holds: Callable[[Any, Any], bool], strictly: Callable[[Any, Any], bool]) -> Keyword:
    """A bound of drafts 3 and 4, where another keyword says whether it is itself excluded."""

    def build(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
        inside = strictly if schema.get(exclusive) else holds
        return lambda value, visit, evaluated: not is_number(value) or inside(value, wanted)

    return build


def of_type(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`type`: one of several types; in draft 3 also what a schema accepts."""
    kinds = site.types
    names = [wanted] if isinstance(wanted, (str, dict)) else wanted
    # In draft 3 a type may be a schema.
    nodes = [site.node(name) for name in names if isinstance(name, (dict, bool))]
    for name in names:
        if isinstance(name, str) and name not in kinds:
            raise ExpectationError(f"{site.where}: a JSON Schema has no type {shown(name)}")
    tests = [kinds[name] for name in names if isinstance(name, str)]
    if len(tests) == 1 and not nodes:
        [test] = tests
        return lambda value, visit, evaluated: test(value)
    return lambda value, visit, evaluated: (
        any(test(value) for test in tests) or any(node.accepts(value, visit) for node in nodes)
    )


def enum(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`enum`: one of several values."""
    texts = {canonical(each, site.budget) for each in wanted}
    return lambda value, visit, evaluated: canonical(value, visit.budget) in texts


def const(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`const`: one value."""
    return enum([wanted], schema, site)


def unique_items(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`uniqueItems`: no two items are equal. In time linear in the list."""

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not wanted or not isinstance(value, list):
            return True
        seen: set[str] = set()
        for item in value:
            text = canonical(item, visit.budget)
            if text in seen:
                return False
            seen.add(text)
        return True

    return check


def pattern(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`pattern`: a text with a match, by the linear engine."""
    test = site.pattern(wanted)
    return lambda value, visit, evaluated: not isinstance(value, str) or test(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": is_text,
    "number": is_number,
    "integer": is_whole,
    "boolean": lambda value: isinstance(value, bool),
    "array": is_list,
    "object": is_object,
    "null": lambda value: value is None,
}
TYPES: dict[str, dict[str, Callable[[Any], bool]]] = {
    "draft-03": {**_TYPES, "integer": _is_int, "any": lambda value: True},
    "draft-04": {**_TYPES, "integer": _is_int},
    **dict.fromkeys(("draft-06", "draft-07", "draft2019-09", "draft2020-12"), _TYPES),
}
"""The types of each draft: since draft 6, `2.0` is an integer."""
