"""The keywords of JSON Schema, by name: those of one value, and those that combine schemas."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from rightcall.errors import ExpectationError, shown

from ._equality import canonical
from ._operand import JSON_TYPES, Test, is_number
from ._schema_containers import (
    additional_items,
    additional_properties,
    contains,
    dependencies,
    dependent_required,
    dependent_schemas,
    items,
    legacy_items,
    pattern_properties,
    prefix_items,
    properties,
    property_names,
    required,
    unevaluated_items,
    unevaluated_properties,
)
from ._schema_nodes import Check, Evaluated, Keyword, Site, Visit, anything


def asserts(kind: str, holds: Callable[[Any, Any], bool]) -> Keyword:
    """A keyword that compares values of one type with its operand, and accepts all others."""
    applies = JSON_TYPES[kind]

    def build(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
        return lambda value, visit, evaluated: not applies(value) or holds(value, wanted)

    return build


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
        # As the test suite of JSON Schema has it: by division of floats, so 0.0075 is a multiple of 0.0001.
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


TYPES: dict[str, dict[str, Test]] = {
    "draft-03": {**JSON_TYPES, "integer": _is_int, "any": lambda value: True},
    "draft-04": {**JSON_TYPES, "integer": _is_int},
    **dict.fromkeys(("draft-06", "draft-07", "draft2019-09", "draft2020-12"), JSON_TYPES),
}
"""The types of each draft: since draft 6, `2.0` is an integer."""


def all_of(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`allOf`; `extends` of draft 3, which may also be one schema."""
    nodes = [site.node(part) for part in ([wanted] if isinstance(wanted, dict) else wanted)]

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        for node in nodes:  # noqa: SIM110 - a generator would be one more frame of the recursion
            if not node.accepts(value, visit, evaluated):
                return False
        return True

    return check


def any_of(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`anyOf`."""
    nodes = [site.node(part) for part in wanted]

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        found = False
        for node in nodes:
            found = node.attempt(value, visit, evaluated) or found
            if found and evaluated is None:  # otherwise each that holds has to note what it looked at
                return True
        return found

    return check


def one_of(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`oneOf`."""
    nodes = [site.node(part) for part in wanted]

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        holding = 0
        for node in nodes:
            holding += node.attempt(value, visit, evaluated)
            if holding > 1:
                return False
        return holding == 1

    return check


def refuses(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`not`."""
    node = site.node(wanted)
    return lambda value, visit, evaluated: not node.accepts(value, visit)


def disallow(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`disallow` of draft 3: none of these types."""
    refused = of_type(wanted, schema, site)
    return lambda value, visit, evaluated: not refused(value, visit, None)


def if_then(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`if`, with `then` and `else`."""
    condition = site.node(wanted)
    then, otherwise = site.node(schema.get("then", True)), site.node(schema.get("else", True))

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        # JSON Schema 2020-12, core, section 10.2.2.1: a condition that holds counts as having looked at what it names.
        chosen = then if condition.attempt(value, visit, evaluated) else otherwise
        return chosen.accepts(value, visit, evaluated)

    return check


def properties_draft3(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`properties` of draft 3, each of which says itself whether it is required."""
    each = properties(wanted, schema, site)
    needed = required([key for key, part in wanted.items() if part.get("required")], schema, site)
    return lambda value, visit, evaluated: each(value, visit, evaluated) and needed(value, visit, evaluated)


def reference(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`$ref`."""
    return site.reference(wanted).recall


def dynamic_reference(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`$dynamicRef` and `$recursiveRef`."""
    return site.reference(wanted, is_dynamic=True).recall


def definitions(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`$defs`: compiled here, so that a mistake in one is reported whether it is used or not."""
    for part in wanted.values():
        site.node(part)
    return anything


_COMMON: dict[str, Keyword] = {
    "$ref": reference,
    "type": of_type,
    "enum": enum,
    "pattern": pattern,
    "maxLength": asserts("string", at_most),
    "minLength": asserts("string", at_least),
    "maxItems": asserts("array", at_most),
    "minItems": asserts("array", at_least),
    "uniqueItems": unique_items,
    "patternProperties": pattern_properties,
    "additionalProperties": additional_properties,
    "definitions": definitions,
}
_LEGACY: dict[str, Keyword] = {"items": legacy_items, "additionalItems": additional_items, "dependencies": dependencies}
_OLD_BOUNDS: dict[str, Keyword] = {
    "maximum": bound_draft4("exclusiveMaximum", is_at_most, is_below),
    "minimum": bound_draft4("exclusiveMinimum", is_at_least, is_above),
}
_SINCE_4: dict[str, Keyword] = {
    "multipleOf": asserts("number", is_multiple),
    "maxProperties": asserts("object", at_most),
    "minProperties": asserts("object", at_least),
    "required": required,
    "properties": properties,
    "allOf": all_of,
    "anyOf": any_of,
    "oneOf": one_of,
    "not": refuses,
}
_SINCE_6: dict[str, Keyword] = {
    **_SINCE_4,
    "maximum": asserts("number", is_at_most),
    "minimum": asserts("number", is_at_least),
    "exclusiveMaximum": asserts("number", is_below),
    "exclusiveMinimum": asserts("number", is_above),
    "const": const,
    "contains": contains,
    "propertyNames": property_names,
}
_SINCE_7: dict[str, Keyword] = {**_SINCE_6, "if": if_then}
_SINCE_2019: dict[str, Keyword] = {
    **_SINCE_7,
    "dependentRequired": dependent_required,
    "dependentSchemas": dependent_schemas,
    "$defs": definitions,
}
LATE: dict[str, Keyword] = {"unevaluatedItems": unevaluated_items, "unevaluatedProperties": unevaluated_properties}
"""Keywords that are checked after all others of their schema, by the drafts that have them."""

_DRAFT3: dict[str, Keyword] = {
    "divisibleBy": asserts("number", is_multiple),
    "disallow": disallow,
    "extends": all_of,
    "properties": properties_draft3,
}

KEYWORDS: dict[str, dict[str, Keyword]] = {
    "draft-03": {**_COMMON, **_LEGACY, **_OLD_BOUNDS, **_DRAFT3},
    "draft-04": {**_COMMON, **_LEGACY, **_SINCE_4, **_OLD_BOUNDS},
    "draft-06": {**_COMMON, **_LEGACY, **_SINCE_6},
    "draft-07": {**_COMMON, **_LEGACY, **_SINCE_7},
    "draft2019-09": {
        **_COMMON,
        **_SINCE_2019,
        "items": legacy_items,
        "additionalItems": additional_items,
        "$recursiveRef": dynamic_reference,
    },
    "draft2020-12": {
        **_COMMON,
        **_SINCE_2019,
        "items": items,
        "prefixItems": prefix_items,
        "$dynamicRef": dynamic_reference,
    },
}
"""The keywords of each draft; what is not among them says nothing of a value."""
