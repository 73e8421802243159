"""JSON Schema as a matcher: no network, no patterns that hang, and bounded work.

jsonschema is used to check that a schema is valid, not to validate values: its time is quadratic in `uniqueItems` and
exponential in nested references, it formats every invalid value into a message, and its patterns run on Python's `re`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from rightcall.errors import ExpectationError, LimitError, missing_package, shown
from rightcall.limits import Budget, Limits

from ._equality import canonical
from ._operators import JSON_TYPES, Operand, SpendingTest, Test, compile_regex, is_number
from ._schema_nodes import (
    ANYTHING,
    NOTHING,
    Check,
    Evaluated,
    Keyword,
    Node,
    Site,
    Visit,
    additional_items,
    additional_properties,
    anything,
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

_NEW = ("draft2019-09", "draft2020-12")
"""Drafts in which keywords next to a `$ref` count, and that have `unevaluatedItems` and `unevaluatedProperties`."""


def compile_schema(operand: Operand) -> SpendingTest:
    """Return a test of whether a value is valid under a JSON Schema (draft 2020-12 unless `$schema` says otherwise).

    References are resolved inside the schema only; nothing is fetched. Patterns run on the linear engine.

    Raises:
        ExpectationError: the operand is not a JSON Schema, or refers to something outside of it.
        MissingExtraError: the package jsonschema is not installed.
    """
    try:
        import jsonschema
    except ImportError:
        raise missing_package(f"{operand.where} needs jsonschema") from None
    schema = operand.value
    if not isinstance(schema, (dict, bool)):
        raise operand.wrong("a JSON Schema", schema)
    try:
        draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    except TypeError:  # the name of the draft is a list or an object
        raise operand.wrong("a JSON Schema", schema) from None
    compiler = _Compiler(draft, operand.where, operand.compiler.limits)
    try:
        root = compiler.compile(schema)
    except RecursionError:
        raise ExpectationError(f"{operand.where} is a JSON Schema that is nested too deeply") from None
    return _test(root)


def _test(root: Node) -> SpendingTest:
    def test(actual: Any, budget: Budget) -> bool:
        try:
            return root.accepts(actual, Visit(budget))
        except RecursionError:
            raise LimitError("the JSON Schema and the value are nested too deeply together") from None

    return test


class _Compiler:
    """Compile a schema and all schemas inside it to nodes, each once."""

    def __init__(self, draft: Any, where: str, limits: Limits) -> None:
        from referencing.jsonschema import specification_with

        self._draft = draft
        self.specification = specification_with(draft.ID_OF(draft.META_SCHEMA))
        self.name: str = self.specification.name
        self.where = where
        self.budget = Budget(4 * limits.nodes)
        self._limits = limits
        self._nodes: dict[int, Node] = {}
        self._waiting: list[tuple[Node, dict[str, Any], Any]] = []
        """Targets of references, to be compiled in a loop: a chain of them may be too long to recurse."""
        self._patterns: dict[str, Callable[[Any], bool]] = {}
        self._has_parts = False
        self._is_dynamic = False
        self.references = 0

    def compile(self, schema: Any) -> Node:
        """Compile the whole schema."""
        from referencing import Registry

        if isinstance(schema, bool):
            return ANYTHING if schema else NOTHING
        self._check(schema)
        resource = self.specification.create_resource(schema)
        base = resource.id() or ""
        registry: Any = Registry().with_resource(base, resource)
        # Find anchors and ids once. Not in draft 3, where the referencing library fails on `extends`.
        registry = registry if self.name == "draft-03" else registry.crawl()
        root = self._nodes[id(schema)] = Node()
        self._waiting.append((root, schema, registry.resolver(base)))
        while self._waiting:
            node, contents, resolver = self._waiting.pop()
            if node is not root:
                self._check(contents)  # a reference may lead to a place that was not checked as a schema
            self._fill(node, contents, resolver)
        if self._is_dynamic and self._has_parts:
            raise ExpectationError(
                f"{self.where}: $dynamicRef and $recursiveRef are for schemas of one part; leave out the inner $id"
            )
        return root

    def node(self, contents: Any, resolver: Any) -> Node:
        """Return the node of a schema that is the operand of a keyword."""
        if isinstance(contents, bool):
            return ANYTHING if contents else NOTHING
        if (node := self._nodes.get(id(contents))) is None:
            node = self._nodes[id(contents)] = Node()
            if self._is_part(contents):
                resolver = resolver.in_subresource(self.specification.create_resource(contents))
            self._fill(node, contents, resolver)
        return node

    def target(self, reference: str, resolver: Any, *, is_dynamic: bool) -> Node:
        """Return the node of the schema that a reference points to."""
        from referencing.exceptions import Unresolvable

        self._is_dynamic = self._is_dynamic or is_dynamic
        self.references += 1
        try:
            found = resolver.lookup(reference)
        except (Unresolvable, AttributeError):  # the latter in draft 3, as above
            leads = "leads nowhere" if reference.startswith("#") else "leads outside the schema; nothing is fetched"
            raise ExpectationError(f"{self.where}: $ref {shown(reference)} {leads}") from None
        contents = found.contents
        if isinstance(contents, bool):
            return ANYTHING if contents else NOTHING
        if not isinstance(contents, dict):
            raise ExpectationError(f"{self.where}: $ref {shown(reference)} leads to {shown(contents)}, not a schema")
        if (node := self._nodes.get(id(contents))) is None:
            node = self._nodes[id(contents)] = Node()
            self._is_part(contents)
            self._waiting.append((node, contents, found.resolver))
        return node

    def pattern(self, pattern: str) -> Callable[[Any], bool]:
        """Return the test of a regular expression, compiled once."""
        if pattern not in self._patterns:
            self._patterns[pattern] = compile_regex(pattern, self.where, self._limits).test
        return self._patterns[pattern]

    def _is_part(self, contents: dict[str, Any]) -> bool:
        """Return whether an inner schema has an id of its own, to which its references are relative."""
        import jsonschema

        if jsonschema.validators.validator_for(contents, default=self._draft) is not self._draft:
            raise ExpectationError(f"{self.where}: a part of the JSON Schema is of another draft than the whole")
        is_part = self.specification.create_resource(contents).id() is not None
        self._has_parts = self._has_parts or is_part
        return is_part

    def _check(self, schema: Any) -> None:
        """Raise `ExpectationError` for an invalid schema. Patterns are checked by the engine that will run them."""
        import jsonschema

        try:
            self._draft.check_schema(schema, format_checker=None)
        except (TypeError, AttributeError):
            raise ExpectationError(f"{self.where} takes a JSON Schema, not {shown(schema)}") from None
        except jsonschema.SchemaError as problem:
            raise ExpectationError(f"{self.where} is not a JSON Schema: {problem.message:.200}") from None

    def _fill(self, node: Node, contents: dict[str, Any], resolver: Any) -> None:
        site = _Site(self, resolver)
        keywords, before = KEYWORDS[self.name], self.references
        # Before draft 2019-09 a reference replaces the whole schema, whatever is written beside it.
        if self.name not in _NEW and "$ref" in contents:
            contents = {"$ref": contents["$ref"]}
        checks = [keywords[key](wanted, contents, site) for key, wanted in contents.items() if key in keywords]
        node.checks = [check for check in checks if check is not anything]
        if self.name in _NEW:
            node.late = [LATE[key](contents[key], contents, site) for key in LATE if key in contents]
        node.refers = self.references > before


class _Site:
    """The place of one schema, with the base URI that its references are relative to."""

    def __init__(self, compiler: _Compiler, resolver: Any) -> None:
        self._compiler, self._resolver = compiler, resolver
        self.where = compiler.where
        self.types: Mapping[str, Callable[[Any], bool]] = TYPES[compiler.name]
        self.counts_contained = compiler.name in _NEW
        self.budget = compiler.budget
        self.pattern = compiler.pattern

    def node(self, part: Any) -> Node:
        """Return the node of a schema inside this one."""
        return self._compiler.node(part, self._resolver)

    def reference(self, target: str, *, is_dynamic: bool = False) -> Node:
        """Return the node of the schema that a reference points to."""
        return self._compiler.target(target, self._resolver, is_dynamic=is_dynamic)


def asserts(kind: str, holds: Callable[[Any, Any], bool]) -> Keyword:
    """Return a keyword that compares values of one type with its operand, and accepts all other types."""
    applies = JSON_TYPES[kind]

    def build(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
        return lambda value, visit, evaluated: not applies(value) or holds(value, wanted)

    return build


def at_most(value: Any, most: Any) -> bool:
    """Return whether a string, list or object is no longer than `most`."""
    return bool(len(value) <= most)


def at_least(value: Any, least: Any) -> bool:
    """Return whether a string, list or object is no shorter than `least`."""
    return bool(len(value) >= least)


def is_multiple(value: Any, of: Any) -> bool:
    """Return whether a number is a whole multiple of another."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if not isinstance(of, float):
        return not value % of
    try:
        # The JSON Schema test suite requires division of floats, by which 0.0075 is a multiple of 0.0001.
        quotient = value / of
        return bool(int(quotient) == quotient)
    except OverflowError:  # too large for a float: compare the written decimals exactly
        return (Fraction(str(value)) / Fraction(str(of))).denominator == 1


def is_at_most(value: Any, most: Any) -> bool:
    """Return whether a number is not greater than another. NaN is neither greater nor less than any."""
    return not value > most


def is_at_least(value: Any, least: Any) -> bool:
    """Return whether a number is not less than another."""
    return not value < least


def is_below(value: Any, bound: Any) -> bool:
    """Return whether a number is neither equal to nor greater than another."""
    return not value >= bound


def is_above(value: Any, bound: Any) -> bool:
    """Return whether a number is neither equal to nor less than another."""
    return not value <= bound


def bound_draft4(exclusive: str, holds: Callable[[Any, Any], bool], strictly: Callable[[Any, Any], bool]) -> Keyword:
    """Return a bound of drafts 3 and 4, where another keyword says whether the bound itself is excluded."""

    def build(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
        inside = strictly if schema.get(exclusive) else holds
        return lambda value, visit, evaluated: not is_number(value) or inside(value, wanted)

    return build


def of_type(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`type`: one of several types; in draft 3, a type may also be a schema."""
    kinds = site.types
    names = [wanted] if isinstance(wanted, (str, dict)) else wanted
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
    """`pattern`: a string with a match, by the linear engine."""
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
            if found and evaluated is None:  # otherwise, every schema that holds has to record what it evaluated
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
        # JSON Schema 2020-12, core, section 10.2.2.1: what a condition that holds has evaluated counts as evaluated.
        chosen = then if condition.attempt(value, visit, evaluated) else otherwise
        return chosen.accepts(value, visit, evaluated)

    return check


def properties_draft3(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`properties` of draft 3, in which each property says whether it is required."""
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
    """`$defs`: compiled here, so that a mistake is reported even if the definition is not used."""
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
"""Keywords that are checked after all others of their schema, in drafts that have them."""

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
"""The keywords of each draft. Others are ignored."""
