"""Compare one expected call with one actual call, by its arguments or its output, and list the differences."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, LimitError
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits, current_budget, spend
from rightcall.values.decoding import decode_text
from rightcall.values.results import Difference, difference_of, value_text
from rightcall.values.trajectory import ToolCall

from ._equality import equal, flat_traits, freeze, is_delicate, same_kinds
from ._expectations import (
    BEYOND,
    CallColumns,
    CallMoment,
    Compiler,
    Expectation,
    admit_expected,
    decided,
    is_any,
    is_literal,
    is_matcher,
    made_of,
    object_of,
    size_of,
)
from ._names import ArgsPolicy

Args: TypeAlias = Mapping[str, Any]
ArgsTest: TypeAlias = Callable[[Args], Any]
"""Returns whether arguments are as expected; `None` if that depends on the moment of the call."""
OutputTest: TypeAlias = Callable[[Any], bool]

Projection: TypeAlias = Callable[[Sequence[ToolCall]], list[Hashable | None]]
"""Returns an index key for a part of each call: equal for parts that are `==` in Python, `None` if it is missing."""

NOT_LITERAL = object()
"""Stands for an expectation that is not a single JSON value. It equals no recorded value."""

_EMPTY: dict[str, Any] = {}
_MOST = 20
_COMPILING = 20
"""Steps to spend for compiling one expected value: a JSON Schema is validated against its meta-schema."""
_LONGEST_NAME = 61
_ABSENT = object()
_PLAIN_KEY = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,60}")


class Pattern(ABC):
    """One expected call, prepared for comparison with many actual calls."""

    __slots__ = (
        "accepts_all",
        "index",
        "is_delicate",
        "is_equality",
        "is_plain",
        "literal",
        "name",
        "needs_moment",
        "spends",
        "test",
    )

    part: ClassVar[Literal["args", "output"]]
    """The part of a call that is compared."""

    name: str
    accepts_all: bool
    """Whether every call of this name satisfies it, even if nothing else was recorded."""
    index: tuple[Projection, Hashable] | None
    """The projection and key by which an index finds its matches; `None` if every call has to be tried."""
    test: Callable[[Any], Any]
    """Whether a part that was recorded is as expected; `None` where that depends on the moment of the call."""
    literal: Any
    """The expected value; `NOT_LITERAL` if it is not a single JSON value."""
    is_delicate: bool
    """Whether Python's `==` is not enough: in JSON, `true` is not `1`."""
    is_equality: bool
    """Whether a part, once it is read, is as expected exactly if Python calls it equal to `literal`."""
    reading: OutputReading | None = None
    """How a part that is a string is read before it is compared."""
    spends: bool
    """Whether comparing may spend steps of a budget, because there are matchers in it."""
    is_plain: bool
    """Whether only the exact name and one part of a call are compared, and not its moment in the run."""
    needs_moment: bool
    """Whether the answer depends on what happened in the run before the call."""
    nth: int | None = None
    """Which call of this name is meant: 1 for the first, -1 for the last; `None` for any."""

    walks: bool = True
    """Whether finding differences may take many steps; not if only strings and numbers are expected, under keys."""

    takes_every_name: bool = False
    """Whether it is about calls of every tool: its name is `*`."""

    def takes(self, name: str) -> bool:
        """Return whether the expected name fits a tool name."""
        return name == self.name

    @abstractmethod
    def accepts(self, call: ToolCall) -> bool | None:
        """Return whether a call of this name satisfies the expectation; `None` if the trace did not record enough."""

    def accepts_at(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        """Return `accepts` for a call at a moment. Without one, what depends on the moment is unknown."""
        return self.accepts(call)

    def accepts_each(self, columns: CallColumns) -> list[bool] | None:
        """Return `accepts` for each of many calls of this name; `None` if they have to be tried one by one."""
        return None

    @abstractmethod
    def accepts_part(self, value: Any) -> bool:
        """Return whether a call of this name satisfies the expectation if the compared part has this value."""

    @abstractmethod
    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        """Return where a call of this name differs from the expectation; empty if that was not recorded."""

    def unknown_parts(self, call: ToolCall, moment: CallMoment | None) -> tuple[str, ...]:
        """Return the parts of a call at a moment of which the trace did not record enough."""
        return (self.part,) if self.accepts_at(call, moment) is None else ()

    def differences_at(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        """Return `differences_from` for a call at a moment."""
        return self.differences_from(call)


class CallPattern(Pattern):
    """An expected call: a name, and arguments under a policy.

    An expected call without arguments has the empty object as arguments: under `subset` that accepts any call, under
    `exact` only a call without arguments.
    """

    __slots__ = ("_contextual", "_flat", "args", "policy", "walks")

    part = "args"

    def __init__(
        self,
        name: str,
        args: Any = None,
        policy: ArgsPolicy = "subset",
        *,
        where: str = "args",
        limits: Limits = DEFAULT_LIMITS,
        allows: Container[str] = (),
    ) -> None:
        self.name = name
        self.args = {} if args is None else admit_expected(args, limits, where)
        self.policy = policy
        is_dict = self.args.__class__ is dict
        traits = flat_traits(self.args) if is_dict else None
        is_plain, self.is_delicate = traits or (is_literal(self.args), is_delicate(self.args))
        self.walks = traits is None
        self._flat: _FlatObject | None = None
        test = _plain_test(self.args, policy, self.is_delicate) if traits else None
        if test is None:
            test = _args_test(self.args, policy, Compiler(limits, allows), where, is_plain)
        self._contextual = test if isinstance(test, Expectation) else None
        self.test = _unknown if isinstance(test, Expectation) else test
        self.accepts_all = self.test is _anything
        is_indexed = is_plain and is_dict and self.args and policy in ("exact", "subset")
        self.index = _index(self.args, policy) if is_indexed else None
        self.literal = self.args if is_plain and is_dict else NOT_LITERAL
        self.is_equality = policy == "exact" and self.literal is not NOT_LITERAL and not self.is_delicate
        self.spends = not self.accepts_all and not is_plain
        self.needs_moment = self._contextual is not None
        self.is_plain = not self.needs_moment

    def accepts(self, call: ToolCall) -> bool | None:
        args = call.args
        if args is not None:
            return self.test(args)  # type: ignore[no-any-return]
        if self.accepts_all:
            return True
        return None if "args" in call.unrecorded else self.test(_EMPTY)

    def accepts_at(self, call: ToolCall, moment: CallMoment | None) -> bool | None:
        if self._contextual is None or moment is None or (call.args is None and "args" in call.unrecorded):
            return self.accepts(call)
        return decided(self._contextual, call.args or _EMPTY, moment)

    def accepts_each(self, columns: CallColumns) -> list[bool] | None:
        expectation = getattr(self.test, "__self__", None)
        column = columns.args
        if column is None or not isinstance(expectation, Expectation):
            return None
        return expectation.matches_each(column)

    def accepts_part(self, value: Any) -> bool:
        return self.test(_EMPTY if value is None else value)  # type: ignore[no-any-return]

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        return self.differences_at(call, None)

    def differences_at(self, call: ToolCall, moment: CallMoment | None) -> tuple[Difference, ...]:
        if "args" in call.unrecorded or self.policy == "ignore":
            return ()
        expected, actual = self.args, call.args or _EMPTY
        if not self.walks:
            self._flat = self._flat or _FlatObject(expected, self.policy)
            return self._flat.differences(actual)
        if not isinstance(expected, dict) or is_matcher(expected):
            return value_differences(expected, dict(actual), moment)
        # A policy applies to top-level keys only: inside an argument, values are compared whole.
        keys: Iterable[str] = expected
        if self.policy != "subset" and expected.keys() != actual.keys():
            keys = {**expected, **actual}
            keys = keys if self.policy != "superset" else [key for key in keys if key in actual]
        return _differences(expected, actual, keys, moment)


def _plain_test(args: dict[str, Any], policy: ArgsPolicy, needs_care: bool) -> ArgsTest | Expectation | None:
    """Return the test of arguments that are strings and numbers, without a compiler; `None` if it takes one."""
    if policy == "ignore" or (policy == "subset" and not args):
        return _anything
    return None if policy == "superset" else _literal_test(args, policy, needs_care)


def _args_test(args: Any, policy: ArgsPolicy, compiler: Compiler, where: str, is_plain: bool) -> ArgsTest | Expectation:
    """Return a test of arguments, or an expectation if the answer depends on the moment of the call."""
    if policy == "ignore" or (policy == "subset" and isinstance(args, dict) and not args):
        return _anything
    if is_matcher(args) or not isinstance(args, dict):
        return _anything if is_any(args) else _asked(compiler.compile(args, where))
    if policy != "superset" and is_plain:
        return _literal_test(args, policy, is_delicate(args))
    items = {key: compiler.compile(item, f"{where}.{key}") for key, item in args.items()}
    if policy == "superset":
        return _asked(made_of(list(items.values()), lambda parts: SupersetOf(dict(zip(items, parts, strict=True)))))
    return _asked(object_of(items, compiler.limits, open=policy == "subset"))


def _asked(expectation: Expectation) -> ArgsTest | Expectation:
    return expectation if expectation.needs_moment else expectation.matches


def _anything(args: Args) -> bool:
    return True


def _unknown(args: Args) -> None:
    return None


def _literal_test(expected: dict[str, Any], policy: ArgsPolicy, needs_care: bool) -> ArgsTest:
    # Python's `==` is enough for nearly everything; only booleans, 0 and 1 need a second look.
    if policy == "exact" and not needs_care:
        return lambda args: expected == args
    items, size, may_have_more = expected.items(), len(expected), policy == "subset"
    delicate = [(key, value) for key, value in items if is_delicate(value)] if needs_care else ()

    def test(args: Args) -> bool:
        if expected != args and not (may_have_more and len(args) > size and items <= args.items()):
            return False
        for key, value in delicate:
            given = args[key]
            if not (value.__class__ is given.__class__ is int or same_kinds(value, given)):
                return False
        return True

    return test


class SupersetOf(Expectation):
    """An object with no keys other than these, some of which may be missing."""

    __slots__ = ("_items",)

    def __init__(self, items: dict[str, Expectation]) -> None:
        self._items = items

    def matches(self, actual: Any) -> bool:
        items = self._items
        return all(key in items and items[key].matches(value) for key, value in actual.items())


def _index(args: dict[str, Any], policy: ArgsPolicy) -> tuple[Projection, Hashable]:
    return (_ArgsOf(frozenset(args) if policy == "subset" else None), freeze(args))


class _ArgsOf(msgspec.Struct, frozen=True):
    """Project calls to the arguments of these names, if a call has all of them; without names, to all arguments."""

    keys: frozenset[str] | None

    def __call__(self, calls: Sequence[ToolCall]) -> list[Hashable | None]:
        keys = self.keys
        try:
            return [
                frozenset(call.args.items()) if keys is None or call.args.keys() == keys else self._key(call)  # type: ignore[union-attr]
                for call in calls
            ]
        except (AttributeError, TypeError):  # arguments that were not recorded, or contain lists or objects
            return [self._key(call) for call in calls]

    def _key(self, call: ToolCall) -> Hashable | None:
        if call.args is None:
            return None
        if self.keys is None:
            return freeze(call.args)
        return freeze({key: call.args[key] for key in self.keys}) if call.args.keys() >= self.keys else None


class OutputPattern(Pattern):
    """An expected output of a tool.

    Text that parses as an object or list, in JSON or Python, is compared as that value, on both sides; other text is
    compared as text. Matchers of text, such as `$regex`, see the text. An expected object with the key `content` also
    matches an output that equals that content. A call that raised and has no output satisfies nothing.
    """

    __slots__ = ("_accepts_any_output", "_flat", "_options", "_value", "output", "reading", "walks")

    part = "output"
    reading: OutputReading

    def __init__(
        self, name: str, output: Any, *, text: bool = False, where: str = "output", limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.name = name
        self.output = admit_expected(output, limits, where)
        self.accepts_all = False
        self._accepts_any_output = is_any(self.output)
        self.reading = OutputReading("text" if text else "as is" if _sees_text(self.output) else "value", limits)
        values = _expected_values(self.output, self.reading)
        self._value = values[-1]
        self._options = [Compiler(limits).compile(value, where) for value in values]
        literal = len(values) == 1 and is_literal(values[0])
        self.index = (self.reading, (freeze(values[0]),)) if literal else None
        # None is delicate because it also stands for an output that was not recorded.
        self.is_delicate = literal and (values[0] is None or is_delicate(values[0]))
        self.literal = values[0] if literal and not text else NOT_LITERAL
        self.is_equality = self.literal is not NOT_LITERAL and not self.is_delicate
        self.test = _output_test(self._options, self.reading, self.literal, self.is_delicate)
        self.spends = not all([is_literal(value) for value in values])
        self.walks = self.spends or self._value.__class__ is not dict or flat_traits(self._value) is None
        self._flat: _FlatObject | None = None
        self.needs_moment = False
        self.is_plain = True

    def accepts(self, call: ToolCall) -> bool | None:
        output = call.output
        if output is None:
            if call.error is not None:
                return False
            if "output" in call.unrecorded:
                return True if self._accepts_any_output else None
        return self.test(output)  # type: ignore[no-any-return]

    def accepts_each(self, columns: CallColumns) -> list[bool] | None:
        column = columns.outputs(self.reading)
        return None if column is None or len(self._options) > 1 else self._options[0].matches_each(column)

    def accepts_part(self, value: Any) -> bool:
        return self.test(value)  # type: ignore[no-any-return]

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        if call.output is None and call.error is not None:
            return (Difference("$", value_text(self.output), None),)
        if "output" in call.unrecorded:
            return ()
        expected, actual = self._value, self.reading.of(call.output)
        if self.walks:
            return value_differences(expected, actual)
        if not isinstance(actual, dict):
            return (difference_of("$", expected, actual),)
        self._flat = self._flat or _FlatObject(expected, "exact")
        return self._flat.differences(actual)


def _output_test(options: Sequence[Expectation], reading: OutputReading, literal: Any, needs_care: bool) -> OutputTest:
    """A test of outputs: one value that Python compares, or any of several expectations."""

    def is_the_value(output: Any) -> bool:
        # What is no string is compared as it is.
        value = reading.of(output) if output.__class__ is str else output
        return bool(literal == value) and (not needs_care or same_kinds(literal, value))

    def is_one_of_them(output: Any) -> bool:
        value = reading.of(output)
        for option in options:  # noqa: SIM110 - a loop costs half of what any() and a generator do
            if option.matches(value):
                return True
        return False

    return is_one_of_them if literal is NOT_LITERAL else is_the_value


class OutputReading(msgspec.Struct, frozen=True):
    """How the output of a call is read before it is compared, and its key in an index.

    `value`: text that parses as an object or list becomes that value. `as is`: text stays text. `text`: every value
    becomes text, encoded as JSON.
    """

    form: Literal["value", "as is", "text"]
    limits: Limits

    def of(self, output: Any) -> Any:
        """Return an output in the form in which it is compared."""
        if output.__class__ is str:
            return _as_value(output, self.limits) if self.form == "value" else output
        return json.dumps(output) if self.form == "text" else output

    def __call__(self, calls: Sequence[ToolCall]) -> list[Hashable | None]:
        return [self._key(call) for call in calls]

    def _key(self, call: ToolCall) -> Hashable | None:
        if call.output is None and call.error is not None:
            return ()  # a failed call has no output, unlike a call that returned None, whose text is `null`
        return None if "output" in call.unrecorded else (freeze(self.of(call.output)),)


def _expected_values(expected: Any, reading: OutputReading) -> list[Any]:
    """Return the values that an expected output may mean: itself and, if it is wrapped, its content."""
    if reading.form == "text":
        return [expected if isinstance(expected, str) or not is_literal(expected) else json.dumps(expected)]
    value = reading.of(expected)
    if reading.form == "value" and isinstance(value, dict) and "content" in value:
        return [value, reading.of(value["content"])]
    return [value]


def _sees_text(expected: Any) -> bool:
    """Return whether an expected output is a matcher of text, which must see the text and not a parsed value."""
    if not is_matcher(expected):
        return False
    if expected.keys() & _OF_TEXT:
        return True
    inner = [expected[key] for key in expected.keys() & _OF_EXPECTATIONS]
    parts = [part for item in inner for part in (item if isinstance(item, list) else [item])]
    return any(_sees_text(part) for part in parts) or isinstance(expected.get("$literal"), str)


_OF_TEXT = {"$regex", "$startsWith", "$endsWith", "$ignoreCase", "$sameWords"}
_OF_EXPECTATIONS = {"$not", "$allOf", "$anyOf", "$in"}


def _as_value(text: str, limits: Limits) -> Any:
    """Parse a string as an object or a list; return other text as it is."""
    if not text.lstrip().startswith(("{", "[", "(")):
        return text
    try:
        value = decode_text(text, limits)
    except InputError:
        return text
    return value if isinstance(value, (dict, list)) else text


def value_differences(expected: Any, actual: Any, moment: CallMoment | None = None) -> tuple[Difference, ...]:
    """Return where a value differs from the expected one, leaf by leaf; at most 20 places.

    If finding the places takes too many steps, the value as a whole is the difference.
    """
    return _differences(expected, actual, None, moment)


def _differences(
    expected: Any, actual: Any, keys: Iterable[str] | None, moment: CallMoment | None
) -> tuple[Difference, ...]:
    """Return the differences of two values or, with `keys`, of two objects at these keys; at most 20 places.

    What depends on the moment of the call is a difference only if it surely differs. If finding the places takes too
    many steps, the values as a whole are the difference.
    """
    budget = current_budget()
    if budget is None:
        with Budget():
            return _differences(expected, actual, keys, moment)
    walk = _Walk(moment, budget, [])
    try:
        if keys is None:
            walk.value(expected, actual, "$")
        else:
            walk.keys(expected, actual, "$", keys)
    except LimitError:
        # The verdict is already known, so an explanation that is too expensive is shortened, not an error.
        return (difference_of("$", expected, actual),)
    return tuple(walk.found)


class _FlatObject:
    """An expected object of strings and numbers under keys, with the path of each.

    Its differences are those that `_differences` finds. Nothing below its keys has to be walked, so they take no
    budget, and less than half of the time.
    """

    __slots__ = ("_items", "_may_have_more", "_may_lack", "_value")

    def __init__(self, value: Mapping[str, Any], policy: ArgsPolicy) -> None:
        self._value = value
        self._items = [(key, item, _below("$", key)) for key, item in value.items()]
        self._may_lack = policy == "superset"
        self._may_have_more = policy == "subset"

    def differences(self, actual: Mapping[str, Any]) -> tuple[Difference, ...]:
        """Return where an object differs."""
        found: list[Difference] = []
        lacking = 0
        for key, wanted, path in self._items:
            given = actual.get(key, _ABSENT)
            if (kind := wanted.__class__) is given.__class__ and (kind is str or kind is int):
                if wanted == given:
                    continue
                found.append(difference_of(path, wanted, given))
            elif given is _ABSENT:
                lacking += 1
                if not self._may_lack:
                    found.append(Difference(path, value_text(wanted), None))
            elif not equal(wanted, given):
                found.append(difference_of(path, wanted, given))
            if len(found) >= _MOST:
                return tuple(found)
        if not self._may_have_more and len(actual) > len(self._items) - lacking:
            more = islice([key for key in actual if key not in self._value], _MOST - len(found))
            found += [Difference(_below("$", key), None, value_text(actual[key])) for key in more]
        return tuple(found)


class _Walk(msgspec.Struct, gc=False):
    """A walk along two values that collects a limited number of differences.

    Filling a list takes half the time of nested generators.
    """

    moment: CallMoment | None
    budget: Budget
    found: list[Difference]

    def value(self, expected: Any, actual: Any, path: str) -> None:
        """Add the differences of two values."""
        self.budget.spend(1)
        if isinstance(expected, dict) and isinstance(actual, dict) and not is_matcher(expected):
            self.keys(expected, actual, path, {**expected, **actual})
        elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            for index, (wanted, given) in enumerate(zip(expected, actual, strict=True)):
                if len(self.found) >= _MOST:
                    break
                self.value(wanted, given, f"{path}[{index}]")
        elif not _is_met(expected, actual, self.moment):
            self.found.append(difference_of(path, expected, actual))

    def keys(self, expected: Mapping[str, Any], actual: Mapping[str, Any], path: str, keys: Iterable[str]) -> None:
        """Add the differences of two objects at these keys."""
        found, plain = self.found, 0
        for key in keys:
            if len(found) >= _MOST:
                break
            wanted, given = expected.get(key, _ABSENT), actual.get(key, _ABSENT)
            if (kind := wanted.__class__) is given.__class__ and (kind is str or kind is int):
                plain += 1
                if wanted != given:
                    found.append(difference_of(_below(path, key), wanted, given))
            elif wanted is _ABSENT:
                found.append(Difference(_below(path, key), None, value_text(given)))
            elif given is not _ABSENT:
                self.value(wanted, given, _below(path, key))
            elif is_literal(wanted) or not _compiled(wanted).matches_absence():
                found.append(Difference(_below(path, key), value_text(wanted), None))
        # A step for each text and number, all at once: a call for each of them costs more than the comparison.
        self.budget.spend(plain)


def _below(path: str, key: str) -> str:
    """Return the path of a key below a path."""
    # Python identifiers are plain, and `isidentifier` takes a third of the time of the pattern.
    if key.isidentifier() and key.isascii() and len(key) <= _LONGEST_NAME:
        return f"{path}.{key}"
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{value_text(key)}]"


def _is_met(expected: Any, actual: Any, moment: CallMoment | None) -> bool:
    kind = expected.__class__
    if kind is actual.__class__ and (kind is str or kind is int):
        return bool(expected == actual)
    if is_literal(expected):
        return equal(expected, actual)
    compiled = _compiled(expected)
    if not compiled.needs_moment:
        return compiled.matches(actual)
    return moment is None or decided(compiled, actual, moment) is not False


def _compiled(expected: Any) -> Expectation:
    spend(_COMPILING * size_of(expected))
    # The expectation was checked when it was compiled, so everything in it is allowed there.
    return Compiler(DEFAULT_LIMITS, BEYOND).compile(expected, "$")
