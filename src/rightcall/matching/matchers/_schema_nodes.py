"""A compiled JSON Schema: what is asked of a value, keyword by keyword, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from rightcall.errors import LimitError
from rightcall.limits import Budget


class Evaluated:
    """The keys of an object, or the places of a list, that some keyword has looked at successfully."""

    __slots__ = ("items", "keys")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.items: set[int] = set()

    def add(self, other: Evaluated) -> None:
        """Take over what another one has."""
        self.keys |= other.keys
        self.items |= other.items


class Visit:
    """One value on its way through a schema."""

    __slots__ = ("budget", "known")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.known: dict[tuple[Node, bool], dict[int, _Answer | None]] = {}
        """What was found out, by schema and value; nothing where that is being found out."""


Check: TypeAlias = Callable[[Any, Visit, Evaluated | None], bool]
"""One keyword: whether a value is valid by it. What it looked at is noted where a caller asks for that."""

_Answer: TypeAlias = tuple[bool, Evaluated | None]


class Node:
    """One schema: the checks of its keywords, those of `unevaluated…` last."""

    __slots__ = ("checks", "late", "refers")

    def __init__(self, checks: Iterable[Check] = ()) -> None:
        self.checks: list[Check] = list(checks)
        self.late: list[Check] = []
        self.refers = False
        """Whether a reference is in it, at any depth, so that answers are worth remembering."""

    def accepts(self, value: Any, visit: Visit, evaluated: Evaluated | None = None) -> bool:
        """Whether a value is valid. One pass, however deep `unevaluated…` is nested: each passes on what it saw."""
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
        """The same, where the answer may be no without all being lost: then nothing is noted."""
        if evaluated is None:
            return self.accepts(value, visit)
        own = Evaluated()
        if not self.accepts(value, visit, own):
            return False
        visit.budget.spend(len(own.keys) + len(own.items))
        evaluated.add(own)
        return True

    def recall(self, value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
        """The same for a reference, answered once for each value: two references to two to two … are two each.

        Raises:
            LimitError: the schema refers to itself for the same value, without end.
        """
        if not self.refers:
            return self.accepts(value, visit, evaluated)
        # Without memory, a schema of n references to two references each would take 2^n steps.
        answers = visit.known.setdefault((self, evaluated is not None), {})
        # Every value is part of the actual one, which lives as long as the visit: its id stays its own.
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
    """Where a keyword is compiled: what it may ask of its surroundings."""

    where: str
    types: Mapping[str, Callable[[Any], bool]]
    """The types of the draft."""
    counts_contained: bool
    """Whether the draft has `minContains` and `maxContains`."""
    budget: Budget

    def node(self, part: Any) -> Node:
        """A schema inside of this one."""

    def pattern(self, pattern: str) -> Callable[[Any], bool]:
        """The test of a regular expression, by the linear engine. Raises `ExpectationError`."""

    def reference(self, target: str, *, is_dynamic: bool = False) -> Node:
        """The schema that is referred to. Raises `ExpectationError`."""


Keyword: TypeAlias = Callable[[Any, dict[str, Any], Site], Check]
"""From what is written for a keyword, and the schema that has it, to a check."""


def anything(value: Any, visit: Visit, evaluated: Evaluated | None) -> bool:
    """The check of a keyword that says nothing about values."""
    return True


ANYTHING = Node()
NOTHING = Node([lambda value, visit, evaluated: False])
