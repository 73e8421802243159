"""Expected values, compiled once for fast comparison, and the moment of a call that some of them depend on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from rightcall.errors import ExpectationError, InputError
from rightcall.limits import DEFAULT_LIMITS, Limits, spend
from rightcall.values.decoding import admit
from rightcall.values.trajectory import ToolCall, Trajectory

from ._equality import equal, holds_nan, is_delicate, same_kinds

SOURCES = frozenset({"$from"})
"""Matchers that check where a value comes from."""
NAMES = frozenset({"$bind", "$ref"})
"""Matchers that name a value, or refer to it by name."""
BEYOND = SOURCES | NAMES
"""Matchers that depend on more than the value itself. They are allowed only where the compiler says so."""

_FEW = 32
"""Up to this many steps, an expectation leaves spending to its caller."""
_NODES = 16
"""Values to compare per step of the budget with Python's `==`. Our own code compares a quarter of that."""
TEXT = 4096
"""Characters of a string to compare or search per step of the budget."""


class CallMoment(msgspec.Struct, frozen=True):
    """One call of a run, by its position in the trajectory.

    `surely` says how to count what was not recorded: as a mismatch, or otherwise as a match. A matcher is tried both
    ways, and if the answers differ, it is unknown whether the call satisfies it.
    """

    trajectory: Trajectory
    position: int
    surely: bool = False

    def turned(self) -> CallMoment:
        """Return the moment with `surely` inverted, for use inside a negation."""
        return CallMoment(self.trajectory, self.position, not self.surely)


MomentOf: TypeAlias = Callable[[int], CallMoment | None]
"""Returns the moment of a call, given its index among the compared calls; `None` if it is not known."""


class Expectation(ABC):
    """An expectation about one value. Immutable, and safe to share between threads."""

    __slots__ = ()

    cost: int = 1
    """The steps that a matcher spends per try if it tries this in a loop.

    Any further cost of a try, because the actual value or the expectation is large, is spent by the expectation
    itself, from the budget of the evaluation.
    """
    needs_moment: bool = False
    """Whether the answer depends on the moment of the call: then only the result of `at` has a working `matches`."""

    @abstractmethod
    def matches(self, actual: Any) -> bool:
        """Return whether `actual` is as expected."""

    def matches_each(self, column: Column) -> list[bool]:
        """Return `matches` for each value of a column. The steps spent are the same."""
        return list(map(self.matches, column.values))

    def matches_absence(self) -> bool:
        """Return whether a missing value is as expected."""
        return False

    def at(self, moment: CallMoment) -> Expectation:
        """Return the expectation for a call at this moment."""
        return self


class Literal(Expectation):
    """Exactly this JSON value."""

    __slots__ = ("cost", "delicate", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.delicate = is_delicate(value)
        self.cost = 1 + size_of(value) // (_NODES // 4 if self.delicate else _NODES)

    def matches(self, actual: Any) -> bool:
        # Python compares whole values in C. A second look is needed only for 1, 1.0 and True, which it calls equal.
        return bool(self.value == actual) and (not self.delicate or same_kinds(self.value, actual))


class NanLiteral(Expectation):
    """Exactly this JSON value, which contains a NaN."""

    __slots__ = ("cost", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.cost = 1 + size_of(value) // (_NODES // 4)

    def matches(self, actual: Any) -> bool:
        return equal(self.value, actual)


class Foreign(Expectation):
    """Whatever a Python object's own `__eq__` accepts."""

    __slots__ = ("_decider",)

    def __init__(self, decider: object) -> None:
        self._decider = decider

    def matches(self, actual: Any) -> bool:
        return bool(self._decider == actual)


class Several(Expectation):
    """An expectation made of others, each of which is tried at most once. With many parts, it spends their cost."""

    __slots__ = ("_limits", "_steps", "cost")

    def __init__(self, parts: Iterable[Expectation], limits: Limits) -> None:
        steps = 1 + sum([part.cost for part in parts])
        # Spending takes longer than comparing a few values, so small expectations leave it to the loop around them.
        self._steps = steps if steps > _FEW else 0
        self.cost = 1 if self._steps else steps
        self._limits = limits


class ObjectOf(Several):
    """An object with these keys, each with its own expectation; with `open`, it may have more."""

    __slots__ = ("_items", "_open")

    def __init__(self, items: dict[str, Expectation], limits: Limits = DEFAULT_LIMITS, *, open: bool = False) -> None:
        super().__init__(items.values(), limits)
        self._items = items
        self._open = open

    def matches(self, actual: Any) -> bool:
        if self._steps:
            spend(self._steps, self._limits)
        if not isinstance(actual, dict) or not (self._open or self._items.keys() >= actual.keys()):
            return False
        return all(
            item.matches(actual[key]) if key in actual else item.matches_absence() for key, item in self._items.items()
        )

    def matches_each(self, column: Column) -> list[bool]:
        parts = [part for key in self._items if (part := column.at(key)) is not None]
        if not self._open or not parts or len(parts) < len(self._items):
            return super().matches_each(column)
        if self._steps:
            spend(self._steps * len(column.values), self._limits)
        first, *others = self._items.values()
        flags = first.matches_each(parts[0])
        # As `all` does: a value that one expectation refuses is not tried on the next.
        for item, part in zip(others, parts[1:], strict=True):
            for place in [place for place, holds in enumerate(flags) if holds]:
                flags[place] = item.matches(part.values[place])
        return flags


class ListOf(Several):
    """A list of the same length, each value with its own expectation."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Expectation], limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(items, limits)
        self._items = items

    def matches(self, actual: Any) -> bool:
        if self._steps:
            spend(self._steps, self._limits)
        if not isinstance(actual, list) or len(actual) != len(self._items):
            return False
        return all(item.matches(value) for item, value in zip(self._items, actual, strict=True))


class Contextual(Expectation):
    """An expectation with parts that depend on the moment of a call. It is built again for each moment.

    So matchers do not have to pass a moment along, and expectations that need none are not slowed down.
    """

    __slots__ = ("_build", "_negates", "_parts")

    needs_moment = True

    def __init__(self, parts: Sequence[Expectation], build: Build, negates: bool) -> None:
        self._parts = parts
        self._build = build
        self._negates = negates

    def matches(self, actual: Any) -> bool:
        raise TypeError("this expectation depends on the moment of a call")

    def at(self, moment: CallMoment) -> Expectation:
        inner = moment.turned() if self._negates else moment
        return self._build([part.at(inner) for part in self._parts])


Build: TypeAlias = Callable[[list[Expectation]], Expectation]
"""Builds an expectation from its parts. It must be monotonic: if a part accepts more, so does it, unless it negates."""


def made_of(parts: list[Expectation], build: Build, *, negates: bool = False) -> Expectation:
    """Build an expectation from its parts, now or, if one of them depends on the moment, for each moment."""
    return Contextual(parts, build, negates) if any([part.needs_moment for part in parts]) else build(parts)


def decided(expectation: Expectation, actual: Any, moment: CallMoment) -> bool | None:
    """Return whether a value of a call at a moment is as expected; `None` if the trace did not record enough."""
    surely, possibly = (moment, moment.turned()) if moment.surely else (moment.turned(), moment)
    if not expectation.at(possibly).matches(actual):
        return False
    return True if expectation.at(surely).matches(actual) else None


def object_of(items: dict[str, Expectation], limits: Limits = DEFAULT_LIMITS, *, open: bool = False) -> Expectation:
    """Return the expectation of an object with these keys; with `open`, it may have more."""
    keys = tuple(items)
    return made_of(list(items.values()), lambda parts: ObjectOf(dict(zip(keys, parts, strict=True)), limits, open=open))


def compile_value(value: Any, limits: Limits = DEFAULT_LIMITS, *, where: str = "$") -> Expectation:
    """Compile a value, with the `$` matchers and foreign objects in it, to an expectation.

    Raises:
        ExpectationError: naming the path of an unknown matcher or a wrong operand, or what is too deep.
    """
    return Compiler(limits).compile(admit_expected(value, limits, where), where)


def admit_expected(value: Any, limits: Limits, where: str) -> Any:
    """Return a plain copy of an expected value, keeping objects that compare by their own `__eq__`.

    Raises:
        ExpectationError: too deep, endless, or an object whose keys are not text.
    """
    try:
        return admit(value, limits, where=where, foreign=True)
    except InputError as problem:
        raise ExpectationError(str(problem)) from None


class Compiler:
    """Compile plain expected values, with matchers in them, to expectations."""

    def __init__(self, limits: Limits, allows: Container[str] = ()) -> None:
        self.limits = limits
        self.allows = allows
        """Which of `$from`, `$bind` and `$ref` are allowed here."""

    def compile(self, value: Any, where: str) -> Expectation:
        """Compile a value whose objects must have exactly the expected keys."""
        return self._compile(value, where, open=False)

    def compile_open(self, value: Any, where: str) -> Expectation:
        """Compile a value whose objects, at every depth, may have more keys."""
        return self._compile(value, where, open=True)

    def _compile(self, value: Any, where: str, *, open: bool) -> Expectation:
        if not _needs_walk(value, open):
            return literal_of(value)
        if isinstance(value, list):
            items = [self._compile(item, f"{where}[{n}]", open=open) for n, item in enumerate(value)]
            return made_of(items, lambda parts: ListOf(parts, self.limits))
        if not isinstance(value, dict):
            return Foreign(value)
        if is_matcher(value):
            # Imported here because `_operators` imports this module, and most expectations have no matcher.
            from ._operators import compile_matcher

            return compile_matcher(value, where, self)
        fields = {key: self._compile(item, f"{where}.{key}", open=open) for key, item in value.items()}
        return object_of(fields, self.limits, open=open)


def literal_of(value: Any) -> Literal | NanLiteral:
    """Return the expectation of exactly this JSON value."""
    return NanLiteral(value) if holds_nan(value) else Literal(value)


def is_matcher(value: Any) -> bool:
    """Return whether an expected object is a matcher: one of its keys begins with `$`."""
    if not isinstance(value, dict):
        return False
    for key in value:  # noqa: SIM110 - a loop costs half of what any() and a generator do
        if key[:1] == "$":
            return True
    return False


def is_any(value: Any) -> bool:
    """Return whether an expected value is `{"$any": true}`, without calling `__eq__` of foreign objects."""
    return isinstance(value, dict) and value.keys() == {"$any"} and value["$any"] is True


def is_literal(value: Any) -> bool:
    """Return whether an expected value contains no matcher, no foreign object and no NaN."""
    return not _needs_walk(value, open=False) and not holds_nan(value)


def _needs_walk(value: Any, open: bool) -> bool:
    if isinstance(value, dict):
        return open or any(key.startswith("$") or _needs_walk(item, open) for key, item in value.items())
    if isinstance(value, list):
        return any(_needs_walk(item, open) for item in value)
    return not isinstance(value, (str, int, float, bool, type(None)))


def holds_foreign(value: Any) -> bool:
    """Return whether a value contains an object that is not JSON."""
    if isinstance(value, dict):
        return any(map(holds_foreign, value.values()))
    if isinstance(value, list):
        return any(map(holds_foreign, value))
    return not isinstance(value, (str, int, float, bool, type(None)))


def size_of(value: Any) -> int:
    """Return how many values a JSON value contains, itself included. A long string counts as several."""
    if isinstance(value, dict):
        return 1 + sum(map(size_of, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(size_of, value))
    return 1 + len(value) // TEXT if isinstance(value, str) else 1


class Reading(Protocol):
    """How an output is read before it is compared. Equal readings read it in the same way."""

    def of(self, output: Any) -> Any:
        """Return an output in the form in which it is compared."""

    def __hash__(self) -> int: ...


class Column:
    """Values on which many expectations are tried, one expectation after the other.

    What expectations need from the values is extracted once: trying 2,000 bounds on as many calls takes 0.05 µs a try,
    instead of 0.9 µs if each try starts from the call.
    """

    __slots__ = ("_at", "_texts", "values")

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._at: dict[str, Column | None] = {}
        self._texts: tuple[list[Any], int] | None = None

    def at(self, key: str) -> Column | None:
        """Return the values at a key; `None` unless every value is an object that has it."""
        if key not in self._at:
            whole = all([isinstance(value, dict) and key in value for value in self.values])
            self._at[key] = Column([value[key] for value in self.values]) if whole else None
        return self._at[key]

    def texts(self, prepared: Callable[[str], str]) -> tuple[list[Any], int]:
        """Return the values with strings prepared for a search, and the length of the longest text.

        The result is cached, so `prepared` has to be the same function each time.
        """
        if self._texts is None:
            texts = [prepared(value) if isinstance(value, str) else value for value in self.values]
            self._texts = texts, max([len(text) for text in texts if isinstance(text, str)], default=0)
        return self._texts


class CallColumns:
    """The parts of many calls of one tool, read once for all expectations that are tried on them."""

    __slots__ = ("_args", "_calls", "_outputs")

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._calls = calls
        self._args: Column | None = None
        self._outputs: dict[Reading, Column | None] = {}

    @property
    def args(self) -> Column | None:
        """The arguments; `None` if those of any call are missing, so that its answer may be unknown."""
        if self._args is None and not any([call.args is None for call in self._calls]):
            self._args = Column([call.args for call in self._calls])
        return self._args

    def outputs(self, reading: Reading) -> Column | None:
        """Return the outputs in this reading; `None` if any call has none, so that its answer may be unknown."""
        if reading not in self._outputs:
            outputs = [call.output for call in self._calls]
            whole = not any([output is None for output in outputs])
            self._outputs[reading] = Column(list(map(reading.of, outputs))) if whole else None
        return self._outputs[reading]
