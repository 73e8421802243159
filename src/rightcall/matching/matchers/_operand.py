"""Operands of `$` matchers, and the matchers made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rightcall.errors import ExpectationError, shown
from rightcall.limits import Budget, Limits, current_budget, spend

from ._columns import Column
from ._expectations import Compiler, Expectation, Several

Test = Callable[[Any], bool]
ColumnTest = Callable[[Column], list[bool]]
SpendingTest = Callable[[Any, Budget], bool]


class Operand(msgspec.Struct, frozen=True):
    """The operand of a matcher: the value, its companion keys, and its place."""

    value: Any
    where: str
    compiler: Compiler
    companions: dict[str, Any] = {}

    def wrong(self, wanted: str, found: Any) -> ExpectationError:
        """The error for an operand that is not what the matcher takes."""
        return ExpectationError(f"{self.where} takes {wanted}, not {shown(found)}")

    def text(self) -> str:
        """The operand as a text."""
        if not isinstance(self.value, str):
            raise self.wrong("a text", self.value)
        return self.value

    def flag(self) -> bool:
        """The operand as true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false", self.value)
        return self.value

    def expectation(self) -> Expectation:
        """The operand as an expectation of its own."""
        return self.compiler.compile(self.value, self.where)

    def expectations(self) -> list[Expectation]:
        """The operand as a list of expectations."""
        if not isinstance(self.value, list):
            raise self.wrong("a list", self.value)
        return [self.compiler.compile(item, f"{self.where}[{n}]") for n, item in enumerate(self.value)]


class Matcher(Expectation):
    """One `$` matcher: a test of the actual value, whose work does not depend on how large that is."""

    __slots__ = ("_absence", "_each", "_test", "cost")

    def __init__(self, test: Test, *, absence: bool = False, cost: int = 1, each: ColumnTest | None = None) -> None:
        self._test = test
        self._each = each
        self._absence = absence
        self.cost = cost

    def matches(self, actual: Any) -> bool:
        return self._test(actual)

    def matches_each(self, column: Column) -> list[bool]:
        return list(map(self._test, column.values)) if self._each is None else self._each(column)

    def matches_absence(self) -> bool:
        return self._absence


class SpendingMatcher(Expectation):
    """A `$` matcher whose work depends on the size of the actual value: it spends steps of the evaluation's budget.

    Outside of an evaluation, the outermost one has a budget of its own.
    """

    __slots__ = ("_limits", "_test")

    def __init__(self, test: SpendingTest, limits: Limits) -> None:
        self._test = test
        self._limits = limits

    def matches(self, actual: Any) -> bool:
        budget = current_budget()
        if budget is not None:
            return self._test(actual, budget)
        with Budget(self._limits.steps) as own:
            return self._test(actual, own)


class Combination(Several):
    """Several expectations of one value, put together by `any` or by `all`."""

    __slots__ = ("_decide", "_parts")

    def __init__(self, decide: Callable[[Iterable[bool]], bool], parts: list[Expectation], limits: Limits) -> None:
        super().__init__(parts, limits)
        self._decide = decide
        self._parts = parts

    def matches(self, actual: Any) -> bool:
        if self._steps:
            spend(self._steps, self._limits)
        return self._decide(part.matches(actual) for part in self._parts)

    def matches_absence(self) -> bool:
        # `all` of nothing is true, but a matcher without parts says nothing about a key that is missing.
        return bool(self._parts) and self._decide(part.matches_absence() for part in self._parts)


Build = Callable[[Operand], Expectation]


def is_number(value: Any) -> bool:
    """Return whether a value is a JSON number; true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Return whether a value is a number without a fraction: `2` and `2.0` are, NaN and infinity are not."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


JSON_TYPES: dict[str, Test] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": is_whole,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
"""The types of JSON Schema (draft 2020-12, validation, section 6.1.1), for `$type` and for `$schema`."""
