"""The keywords of JSON Schema, by name, and those that combine schemas."""

from __future__ import annotations

from typing import Any

from ._operand import is_number
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
from ._schema_values import (
    asserts,
    at_least,
    at_most,
    bound_draft4,
    const,
    enum,
    is_above,
    is_at_least,
    is_at_most,
    is_below,
    is_list,
    is_multiple,
    is_object,
    is_text,
    of_type,
    pattern,
    unique_items,
)


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
    "maxLength": asserts(is_text, at_most),
    "minLength": asserts(is_text, at_least),
    "maxItems": asserts(is_list, at_most),
    "minItems": asserts(is_list, at_least),
    "uniqueItems": unique_items,
    "patternProperties": pattern_properties,
    "additionalProperties": additional_properties,
    "definitions": definitions,
}
_LEGACY: dict[str, Keyword] = {
    "items": legacy_items,
    "additionalItems": additional_items,
    "dependencies": dependencies,
}
_OLD_BOUNDS: dict[str, Keyword] = {
    "maximum": bound_draft4("exclusiveMaximum", is_at_most, is_below),
    "minimum": bound_draft4("exclusiveMinimum", is_at_least, is_above),
}
_SINCE_4: dict[str, Keyword] = {
    "multipleOf": asserts(is_number, is_multiple),
    "maxProperties": asserts(is_object, at_most),
    "minProperties": asserts(is_object, at_least),
    "required": required,
    "properties": properties,
    "allOf": all_of,
    "anyOf": any_of,
    "oneOf": one_of,
    "not": refuses,
}
_SINCE_6: dict[str, Keyword] = {
    **_SINCE_4,
    "maximum": asserts(is_number, is_at_most),
    "minimum": asserts(is_number, is_at_least),
    "exclusiveMaximum": asserts(is_number, is_below),
    "exclusiveMinimum": asserts(is_number, is_above),
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
LATE: dict[str, Keyword] = {
    "unevaluatedItems": unevaluated_items,
    "unevaluatedProperties": unevaluated_properties,
}
"""Keywords that are checked after all others of their schema, by the drafts that have them."""

_DRAFT3: dict[str, Keyword] = {
    "divisibleBy": asserts(is_number, is_multiple),
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
