"""Expected values, compiled once into something that can be asked quickly, also of many calls side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rightcall.errors import ExpectationError, InputError
from rightcall.limits import DEFAULT_LIMITS, Limits, spend
from rightcall.values.decoding import admit
from rightcall.values.trajectory import ToolCall

from ._equality import equal, holds_nan, is_delicate, same_kinds

if TYPE_CHECKING:
    from ._moments import CallMoment


SOURCES = frozenset({"$from"})
"""Matchers that ask where a value comes from."""
NAMES = frozenset({"$bind", "$ref"})
"""Matchers that give a value a name, and that stand for the value of that name."""
BEYOND = SOURCES | NAMES
"""Matchers that look at more than one value: they stand only where a compiler allows them."""

_FEW = 32
"""Steps up to which an expectation leaves spending to its caller, which may try it often."""
_NODES = 16
"""Values that Python compares by itself in one step, and that our own code compares in four."""
TEXT = 4096
"""Characters of a text that are compared or searched in one step."""


class Expectation(ABC):
    """An expectation of one value. Immutable, and safe to share between threads."""

    __slots__ = ()

    cost: int = 1
    """The steps that a matcher which tries this in a loop spends for each try.

    What a try costs beyond that, because the actual value or the expectation itself is large, is spent by the
    expectation, from the budget of the evaluation.
    """
    needs_moment: bool = False
    """Whether the answer depends on what had happened in the run: only what `at` returns can be asked."""

    @abstractmethod
    def matches(self, actual: Any) -> bool:
        """Return whether `actual` is what was expected."""

    def matches_each(self, column: Column) -> list[bool]:
        """Return `matches` of each value of a column. What is spent in all is the same."""
        return list(map(self.matches, column.values))

    def matches_absence(self) -> bool:
        """Return whether it is right that there is no value at all."""
        return False

    def at(self, moment: CallMoment) -> Expectation:
        """The expectation for a call at this moment."""
        return self


class Literal(Expectation):
    """Exactly this JSON value."""

    __slots__ = ("cost", "delicate", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.delicate = is_delicate(value)
        self.cost = 1 + size_of(value) // (_NODES // 4 if self.delicate else _NODES)

    def matches(self, actual: Any) -> bool:
        # Python compares whole values in C; only where 1, 1.0 and True are in them does it need help.
        return bool(self.value == actual) and (not self.delicate or same_kinds(self.value, actual))


class NanLiteral(Expectation):
    """Exactly this JSON value, which holds a NaN."""

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
    """An expectation made of others, each of which is tried at most once. If they are many, it spends for them."""

    __slots__ = ("_limits", "_steps", "cost")

    def __init__(self, parts: Iterable[Expectation], limits: Limits) -> None:
        steps = 1 + sum([part.cost for part in parts])
        # Spending costs more than comparing a few values, so small expectations leave it to the loop around them.
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
        # As `all` does: what one expectation refuses is not tried on the next.
        for item, part in zip(others, parts[1:], strict=True):
            for place in [place for place, holds in enumerate(flags) if holds]:
                flags[place] = item.matches(part.values[place])
        return flags


class ListOf(Several):
    """A list of as many values, each with its own expectation."""

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
    """An expectation with others in it that depend on the moment of a call: it is made again for each moment.

    So no matcher has to hand a moment along, and expectations that need none are as they were.
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
"""Makes an expectation of its parts. It accepts no less where a part accepts more, unless it negates."""


def made_of(parts: list[Expectation], build: Build, *, negates: bool = False) -> Expectation:
    """The expectation of these parts, made now or, where one of them needs it, for each moment."""
    return Contextual(parts, build, negates) if any([part.needs_moment for part in parts]) else build(parts)


def decided(expectation: Expectation, actual: Any, moment: CallMoment) -> bool | None:
    """Return whether a value of a call at a moment is what was expected; `None` where the trace does not say."""
    surely, possibly = (moment, moment.turned()) if moment.surely else (moment.turned(), moment)
    if not expectation.at(possibly).matches(actual):
        return False
    return True if expectation.at(surely).matches(actual) else None


def object_of(items: dict[str, Expectation], limits: Limits = DEFAULT_LIMITS, *, open: bool = False) -> Expectation:
    """The expectation of an object with these keys; with `open`, it may have more."""
    keys = tuple(items)
    return made_of(list(items.values()), lambda parts: ObjectOf(dict(zip(keys, parts, strict=True)), limits, open=open))


def compile_value(value: Any, limits: Limits = DEFAULT_LIMITS, *, where: str = "$") -> Expectation:
    """Compile a value, with the `$` matchers and foreign objects in it, to an expectation.

    Raises:
        ExpectationError: naming the path of an unknown matcher or a wrong operand, or what is too deep.
    """
    return Compiler(limits).compile(admit_expected(value, limits, where), where)


def admit_expected(value: Any, limits: Limits, where: str) -> Any:
    """A plain copy of an expected value that keeps the objects whose `__eq__` decides.

    Raises:
        ExpectationError: too deep, endless, or an object whose keys are not text.
    """
    try:
        return admit(value, limits, where=where, foreign=True)
    except InputError as problem:
        raise ExpectationError(str(problem)) from None


class Compiler:
    """Turns plain expected values into expectations, matchers included."""

    def __init__(self, limits: Limits, allows: Container[str] = ()) -> None:
        self.limits = limits
        self.allows = allows
        """The matchers that may stand here of those that look beyond the value: `$from`, `$bind`, `$ref`."""

    def compile(self, value: Any, where: str) -> Expectation:
        """The expectation of a value whose objects must have exactly the expected keys."""
        return self._compile(value, where, open=False)

    def compile_open(self, value: Any, where: str) -> Expectation:
        """The expectation of a value whose objects, at every depth, may have more keys."""
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
            # Here, because `_operators` imports this module, and most expectations have no matcher.
            from ._operators import compile_matcher

            return compile_matcher(value, where, self)
        fields = {key: self._compile(item, f"{where}.{key}", open=open) for key, item in value.items()}
        return object_of(fields, self.limits, open=open)


def literal_of(value: Any) -> Literal | NanLiteral:
    """The expectation of exactly this JSON value."""
    return NanLiteral(value) if holds_nan(value) else Literal(value)


def is_matcher(value: Any) -> bool:
    """Return whether an expected object is written as a matcher: one of its keys begins with `$`."""
    if not isinstance(value, dict):
        return False
    for key in value:  # noqa: SIM110 - a loop costs half of what any() and a generator do
        if key[:1] == "$":
            return True
    return False


def is_any(value: Any) -> bool:
    """Return whether an expected value is `{"$any": true}`. Objects whose `__eq__` decides are not asked."""
    return isinstance(value, dict) and value.keys() == {"$any"} and value["$any"] is True


def is_literal(value: Any) -> bool:
    """Return whether an expected value has neither a matcher, a foreign object nor a NaN in it."""
    return not _needs_walk(value, open=False) and not holds_nan(value)


def _needs_walk(value: Any, open: bool) -> bool:
    if isinstance(value, dict):
        return open or any(key.startswith("$") or _needs_walk(item, open) for key, item in value.items())
    if isinstance(value, list):
        return any(_needs_walk(item, open) for item in value)
    return not isinstance(value, (str, int, float, bool, type(None)))


def holds_foreign(value: Any) -> bool:
    """Return whether an object that is not a JSON value is anywhere in a value."""
    if isinstance(value, dict):
        return any(map(holds_foreign, value.values()))
    if isinstance(value, list):
        return any(map(holds_foreign, value))
    return not isinstance(value, (str, int, float, bool, type(None)))


def size_of(value: Any) -> int:
    """How large a JSON value is: how many values it has in it, long texts counted as several."""
    if isinstance(value, dict):
        return 1 + sum(map(size_of, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(size_of, value))
    return 1 + len(value) // TEXT if isinstance(value, str) else 1


class Reading(Protocol):
    """How an output is read before it is compared. Two that are equal read it in the same way."""

    def of(self, output: Any) -> Any:
        """An output as it is compared."""

    def __hash__(self) -> int: ...


class Column:
    """Values that many expectations are tried on, one expectation after the other.

    What they ask of the values is found once: trying 2,000 bounds on as many calls takes 0.05 µs a try so, and 0.9 µs
    where each try starts from the call.
    """

    __slots__ = ("_at", "_texts", "values")

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._at: dict[str, Column | None] = {}
        self._texts: tuple[list[Any], int] | None = None

    def at(self, key: str) -> Column | None:
        """The values at a key; `None` where not every value is an object that has it."""
        if key not in self._at:
            whole = all([isinstance(value, dict) and key in value for value in self.values])
            self._at[key] = Column([value[key] for value in self.values]) if whole else None
        return self._at[key]

    def texts(self, prepared: Callable[[str], str]) -> tuple[list[Any], int]:
        """The values with the texts among them prepared for a search, all in one way, and the length of the longest."""
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
        """The arguments; `None` where those of a call are not recorded, so that its answer may not be known."""
        if self._args is None and not any([call.args is None for call in self._calls]):
            self._args = Column([call.args for call in self._calls])
        return self._args

    def outputs(self, reading: Reading) -> Column | None:
        """The outputs, read in this way; `None` where a call has none, so that its answer may not be known."""
        if reading not in self._outputs:
            outputs = [call.output for call in self._calls]
            whole = not any([output is None for output in outputs])
            self._outputs[reading] = Column(list(map(reading.of, outputs))) if whole else None
        return self._outputs[reading]
