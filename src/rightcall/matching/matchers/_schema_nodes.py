"""A compiled JSON Schema: nodes that check a value within a budget, and the keywords for objects and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from rightcall.errors import LimitError
from rightcall.limits import Budget


class Evaluated:
    """The keys of an object, or the indices of a list, that a keyword has evaluated successfully."""

    __slots__ = ("items", "keys")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.items: set[int] = set()

    def add(self, other: Evaluated) -> None:
        """Add everything from another one."""
        self.keys |= other.keys
        self.items |= other.items


class Visit:
    """The state of validating one value."""

    __slots__ = ("budget", "known")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.known: dict[tuple[Node, bool], dict[int, _Answer | None]] = {}
        """Known answers by schema and value id; `None` while one is being computed."""


Check: TypeAlias = Callable[[Any, Visit, Evaluated | None], bool]
"""Returns whether a value is valid under one keyword. Records what it evaluated if `Evaluated` is given."""

_Answer: TypeAlias = tuple[bool, Evaluated | None]


class Node:
    """One compiled schema: the checks of its keywords, those of `unevaluated…` last."""

    __slots__ = ("checks", "late", "refers")

    def __init__(self, checks: Iterable[Check] = ()) -> None:
        self.checks: list[Check] = list(checks)
        self.late: list[Check] = []
        self.refers = False
        """Whether it contains a reference at any depth, so that answers are worth caching."""

    def accepts(self, value: Any, visit: Visit, evaluated: Evaluated | None = None) -> bool:
        """Return whether a value is valid. Nested `unevaluated…` take one pass: each records what it evaluated."""
        visit.budget.spend(1 + len(self.checks))
        if self.late:
            return self._accepts_late(value, visit, evaluated)
        for check in self.checks:  # noqa: SIM110 - a loop costs half of what all() and a generator do
            if not check(value, visit, evaluated):
                return False
        return True

    def _accepts_late(self, value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        own = Evaluated()
        for check in (*self.checks, *self.late):
            if not check(value, visit, own):
                return False
        if evaluated is not None:
            evaluated.add(own)
        return True

    def attempt(self, value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        """Return whether a value is valid, for keywords that go on if not: then nothing is recorded as evaluated."""
        if evaluated is None:
            return self.accepts(value, visit)
        own = Evaluated()
        if not self.accepts(value, visit, own):
            return False
        visit.budget.spend(len(own.keys) + len(own.items))
        evaluated.add(own)
        return True

    def recall(self, value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        """Return whether a value is valid, for references: answers are cached by value, or nested ones take 2^n steps.

        Raises:
            LimitError: the schema refers to itself for the same value, without end.
        """
        if not self.refers:
            return self.accepts(value, visit, evaluated)
        answers = visit.known.setdefault((self, evaluated is not None), {})
        # Every value is part of the actual one, which lives as long as the visit, so ids are not reused.
        if id(value) in answers:
            answer = answers[id(value)]
            if answer is None:
                raise LimitError("the JSON Schema refers to itself without end")
        else:
            answers[id(value)] = None
            own = None if evaluated is None else Evaluated()
            answer = answers[id(value)] = (self.accepts(value, visit, own), own)
        holds, seen = answer
        if holds and evaluated is not None and seen is not None:
            visit.budget.spend(len(seen.keys) + len(seen.items))
            evaluated.add(seen)
        return holds


class Site(Protocol):
    """The context in which a keyword is compiled."""

    where: str
    types: Mapping[str, Callable[[Any], bool]]
    """The types of the draft."""
    counts_contained: bool
    """Whether the draft has `minContains` and `maxContains`."""
    budget: Budget

    def node(self, part: Any) -> Node:
        """Return the node of a schema inside this one."""

    def pattern(self, pattern: str) -> Callable[[Any], bool]:
        """Return the test of a regular expression, by the linear engine. Raises `ExpectationError`."""

    def reference(self, target: str, *, is_dynamic: bool = False) -> Node:
        """Return the node of the schema that a reference points to. Raises `ExpectationError`."""


Keyword: TypeAlias = Callable[[Any, dict[str, Any], Site], Check]
"""Compiles the operand of a keyword, given the schema that contains it, to a check."""


def anything(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
    """Accept any value, for keywords that say nothing about values."""
    return True


ANYTHING = Node()
NOTHING = Node([lambda value, visit, evaluated: False])


def required(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`required`: an object has these keys."""

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        # Eight key lookups take about as long as one step.
        visit.budget.spend(len(wanted) // 8)
        return all(key in value for key in wanted)

    return check


def dependent_required(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`dependentRequired`: an object with one key must have certain others."""

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        visit.budget.spend(sum(map(len, wanted.values())) // 8 + len(wanted))
        return all(key not in value or all(each in value for each in needed) for key, needed in wanted.items())

    return check


def properties(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`properties`: each of these keys that is present has a valid value."""
    nodes = {key: site.node(part) for key, part in wanted.items()}

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        visit.budget.spend(len(nodes) // 4)
        for key, node in nodes.items():
            if key in value:
                if not node.accepts(value[key], visit):
                    return False
                if evaluated is not None:
                    evaluated.keys.add(key)
        return True

    return check


def pattern_properties(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`patternProperties`: each key that matches a pattern has a valid value."""
    rules = [(site.pattern(pattern), site.node(part)) for pattern, part in wanted.items()]

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        visit.budget.spend(len(rules) * len(value))
        for test, node in rules:
            for key, item in value.items():
                if test(key):
                    if not node.accepts(item, visit):
                        return False
                    if evaluated is not None:
                        evaluated.keys.add(key)
        return True

    return check


def additional_properties(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`additionalProperties`: each key that neither `properties` nor `patternProperties` names has a valid value."""
    node = site.node(wanted)
    # JSON Schema 2020-12, core, section 10.3.2.3: the adjacent keywords count, even if the value lacks their keys.
    named = schema.get("properties", {})
    tests = [site.pattern(pattern) for pattern in schema.get("patternProperties", {})]

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        visit.budget.spend((1 + len(tests)) * len(value))
        for key, item in value.items():
            if key not in named and not any(test(key) for test in tests):
                if not node.accepts(item, visit):
                    return False
                if evaluated is not None:
                    evaluated.keys.add(key)
        return True

    return check


def property_names(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`propertyNames`: each key is valid as a string."""
    node = site.node(wanted)

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        return not isinstance(value, dict) or all(node.accepts(key, visit) for key in value)

    return check


def dependent_schemas(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`dependentSchemas`: an object with a certain key is valid under a schema."""
    nodes = {key: site.node(part) for key, part in wanted.items()}

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        visit.budget.spend(len(nodes) // 4)
        for key, node in nodes.items():  # noqa: SIM110 - a generator would be one more frame of the recursion
            if key in value and not node.accepts(value, visit, evaluated):
                return False
        return True

    return check


def dependencies(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`dependencies` of drafts 3 to 7: what a key requires, as names or as a schema."""
    # Draft 3 also allows a single name. Draft 2019-09 split this into two keywords.
    names = {key: [each] if isinstance(each, str) else each for key, each in wanted.items()}
    listed = dependent_required({key: each for key, each in names.items() if isinstance(each, list)}, schema, site)
    parts = {key: each for key, each in names.items() if not isinstance(each, list)}
    schemas = dependent_schemas(parts, schema, site)
    return lambda value, visit, evaluated: listed(value, visit, evaluated) and schemas(value, visit, evaluated)


def unevaluated_properties(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`unevaluatedProperties`: each key that no other keyword has evaluated has a valid value."""
    node = site.node(wanted)

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, dict):
            return True
        visit.budget.spend(len(value))
        # JSON Schema 2020-12, core, section 11.3: what `allOf`, `$ref` and the like have evaluated counts, too.
        seen = evaluated.keys if evaluated is not None else set()
        for key, item in value.items():
            if key not in seen:
                if not node.accepts(item, visit):
                    return False
                seen.add(key)
        return True

    return check


def _each_from(node: Node, begin: int) -> Check:
    """Return a check of all items of a list from an index on."""

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, list):
            return True
        for place in range(begin, len(value)):
            if not node.accepts(value[place], visit):
                return False
        if evaluated is not None:
            visit.budget.spend(len(value))
            evaluated.items.update(range(begin, len(value)))
        return True

    return check


def prefix_items(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`prefixItems`: the first items, each with a schema of its own."""
    nodes = [site.node(part) for part in wanted]

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, list):
            return True
        if evaluated is not None:
            evaluated.items.update(range(min(len(nodes), len(value))))
        for node, item in zip(nodes, value, strict=False):  # noqa: SIM110 - as above
            if not node.accepts(item, visit):
                return False
        return True

    return check


def items(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`items` of draft 2020-12: all items after those of `prefixItems`."""
    # JSON Schema 2020-12, core, section 10.3.1.2: the list form of `items` became `prefixItems`.
    return _each_from(site.node(wanted), len(schema.get("prefixItems", [])))


def legacy_items(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`items` before draft 2020-12: a schema for all items, or a list of schemas for the first ones."""
    if isinstance(wanted, list):
        return prefix_items(wanted, schema, site)
    return _each_from(site.node(wanted), 0)


def additional_items(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`additionalItems`: all items after those that `items` lists."""
    node, items = site.node(wanted), schema.get("items")
    return _each_from(node, len(items)) if isinstance(items, list) else anything


def unevaluated_items(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`unevaluatedItems`: each item that no other keyword has evaluated is valid."""
    node = site.node(wanted)

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, list):
            return True
        visit.budget.spend(len(value))
        seen = evaluated.items if evaluated is not None else set()
        for place, item in enumerate(value):
            if place not in seen:
                if not node.accepts(item, visit):
                    return False
                seen.add(place)
        return True

    return check


def contains(wanted: Any, schema: dict[str, Any], site: Site) -> Check:
    """`contains`: the number of valid items is within `minContains` and `maxContains`."""
    node = site.node(wanted)
    # JSON Schema 2020-12, validation, sections 6.4.4 and 6.4.5; drafts before 2019-09 require one item, without bounds.
    least, most = (schema.get("minContains", 1), schema.get("maxContains")) if site.counts_contained else (1, None)

    def check(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        if not isinstance(value, list):
            return True
        found = [place for place, item in enumerate(value) if node.accepts(item, visit)]
        if evaluated is not None:
            evaluated.items.update(found)
        return len(found) >= least and (most is None or len(found) <= most)

    return check
