"""JSON Schema as a matcher: without network, without patterns that hang, and within a budget.

jsonschema checks that a schema is one. It does not judge by it: its time is quadratic in `uniqueItems` and exponential
in nested references, it writes each value that is not valid into a message, and its patterns run on Python's `re`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rightcall.errors import ExpectationError, LimitError, missing_package, shown
from rightcall.limits import Budget, Limits

from ._operand import Operand, SpendingTest
from ._regex import compile_regex
from ._schema_keywords import KEYWORDS, LATE, TYPES
from ._schema_nodes import ANYTHING, NOTHING, Node, Visit, anything

_NEW = ("draft2019-09", "draft2020-12")
"""Drafts in which other keywords count beside a `$ref`, and that have `unevaluated…`."""


def compile_schema(operand: Operand) -> SpendingTest:
    """A test of whether a value is valid by a JSON Schema (draft 2020-12 unless `$schema` says otherwise).

    References are resolved inside the schema only; nothing is fetched. Patterns run on the linear engine.

    Raises:
        ExpectationError: the operand is not a JSON Schema, or one that refers to what is not in it.
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
    """Turns the schemas inside of one schema into nodes, each once."""

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
        """Schemas that something refers to: compiled in turn, because a chain of them may be long."""
        self._patterns: dict[str, Callable[[Any], bool]] = {}
        self._has_parts = False
        self._is_dynamic = False
        self.references = 0

    def compile(self, schema: Any) -> Node:
        """The node of the whole schema."""
        from referencing import Registry

        if isinstance(schema, bool):
            return ANYTHING if schema else NOTHING
        self._check(schema)
        resource = self.specification.create_resource(schema)
        base = resource.id() or ""
        registry: Any = Registry().with_resource(base, resource)
        # Anchors and ids are looked for once. Not in draft 3, where referencing stumbles over an `extends`.
        registry = registry if self.name == "draft-03" else registry.crawl()
        root = self._nodes[id(schema)] = Node()
        self._waiting.append((root, schema, registry.resolver(base)))
        while self._waiting:
            node, contents, resolver = self._waiting.pop()
            if node is not root:
                self._check(contents)  # a reference may lead to where no keyword expects a schema
            self._fill(node, contents, resolver)
        if self._is_dynamic and self._has_parts:
            raise ExpectationError(
                f"{self.where}: $dynamicRef and $recursiveRef are for schemas of one part; leave out the inner $id"
            )
        return root

    def node(self, contents: Any, resolver: Any) -> Node:
        """The node of a schema that a keyword has in it."""
        if isinstance(contents, bool):
            return ANYTHING if contents else NOTHING
        if (node := self._nodes.get(id(contents))) is None:
            node = self._nodes[id(contents)] = Node()
            if self._is_part(contents):
                resolver = resolver.in_subresource(self.specification.create_resource(contents))
            self._fill(node, contents, resolver)
        return node

    def target(self, reference: str, resolver: Any, *, is_dynamic: bool) -> Node:
        """The node of a schema that is referred to."""
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
        """The test of a regular expression, compiled once."""
        if pattern not in self._patterns:
            self._patterns[pattern] = compile_regex(pattern, self.where, self._limits).test
        return self._patterns[pattern]

    def _is_part(self, contents: dict[str, Any]) -> bool:
        """Return whether an inner schema has an id of its own, which its references are relative to."""
        import jsonschema

        if jsonschema.validators.validator_for(contents, default=self._draft) is not self._draft:
            raise ExpectationError(f"{self.where}: a part of the JSON Schema is of another draft than the whole")
        is_part = self.specification.create_resource(contents).id() is not None
        self._has_parts = self._has_parts or is_part
        return is_part

    def _check(self, schema: Any) -> None:
        """Refuse what is not a schema. Patterns are checked by the engine that will run them."""
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
    """The place of one schema: its base is what its references are relative to."""

    def __init__(self, compiler: _Compiler, resolver: Any) -> None:
        self._compiler, self._resolver = compiler, resolver
        self.where = compiler.where
        self.types: Mapping[str, Callable[[Any], bool]] = TYPES[compiler.name]
        self.counts_contained = compiler.name in _NEW
        self.budget = compiler.budget
        self.pattern = compiler.pattern

    def node(self, part: Any) -> Node:
        """A schema inside of this one."""
        return self._compiler.node(part, self._resolver)

    def reference(self, target: str, *, is_dynamic: bool = False) -> Node:
        """The schema that is referred to."""
        return self._compiler.target(target, self._resolver, is_dynamic=is_dynamic)
