"""Keywords of JSON Schema that combine schemas, and that refer to others."""

from __future__ import annotations

from typing import Any

from ._schema_containers import properties, required
from ._schema_nodes import Check, Evaluated, Site, Visit, anything
from ._schema_values import of_type


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
    """`$defs`: compiled here, so that a mistake in one is told whether it is used or not."""
    for part in wanted.values():
        site.node(part)
    return anything
