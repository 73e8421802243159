"""Which keywords each draft of JSON Schema has."""

from __future__ import annotations

from ._operand import is_number
from ._schema_combining import (
    all_of,
    any_of,
    definitions,
    disallow,
    dynamic_reference,
    if_then,
    one_of,
    properties_draft3,
    reference,
    refuses,
)
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
from ._schema_nodes import Keyword
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
