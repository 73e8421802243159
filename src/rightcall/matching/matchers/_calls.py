"""Does one actual call satisfy one expected call?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.results import Difference
from rightcall.values.trajectory import ToolCall

from ._differences import argument_differences
from ._equality import freeze, is_delicate, same_kinds
from ._expectations import Compiler, Expectation, ObjectOf, admit_expected, is_any, is_literal, is_matcher

ArgsPolicy: TypeAlias = Literal["exact", "subset", "superset", "ignore"]
"""How the arguments of an expected call are compared with those of an actual one.

`subset`: every expected argument is there with an equal value, and there may be more. `exact`: the same keys, equal
values. `superset`: none that is not expected, though some may be left out. `ignore`: not at all.
"""

Args: TypeAlias = Mapping[str, Any]
ArgsTest: TypeAlias = Callable[[Args], bool]

Projection: TypeAlias = Callable[[Sequence[ToolCall]], list[Hashable | None]]
"""A part of each call as a key: the same for calls that Python calls equal in it, `None` where it is not there."""

NOT_LITERAL = object()
"""The key of an expectation that is not one JSON value. It equals nothing that was ever recorded."""

_EMPTY: dict[str, Any] = {}


class Pattern(ABC):
    """One expected call, ready to be compared with many actual ones."""

    __slots__ = ("accepts_all", "index", "is_delicate", "literal", "name", "spends")

    part: ClassVar[Literal["args", "output"]]
    """The part of a call that is compared."""

    name: str
    accepts_all: bool
    """Whether every call of this name satisfies it, whatever was recorded."""
    index: tuple[Projection, Hashable] | None
    """How to find its matches without trying every call, where that is possible."""
    literal: Any
    """The value that is expected; `NOT_LITERAL` where that is not one JSON value."""
    is_delicate: bool
    """Whether Python's `==` is not enough to tell that a call satisfies it."""
    spends: bool
    """Whether it may spend steps of a budget: it is more than a value that Python compares."""

    @abstractmethod
    def accepts(self, call: ToolCall) -> bool | None:
        """Return whether a call of this name satisfies the expectation; `None` where the trace does not tell."""

    @abstractmethod
    def accepts_part(self, value: Any) -> bool:
        """Return whether a call of this name satisfies the expectation whose part that is compared is this value."""

    @abstractmethod
    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        """Where a call of this name is not what was expected; nothing where the trace does not tell."""


class CallPattern(Pattern):
    """An expected call: a name, and arguments under a policy.

    An expected call without arguments expects none: under `subset` that is not a condition at all, under `exact` it
    is a call without arguments.
    """

    __slots__ = ("_test", "args", "policy")

    part = "args"

    def __init__(
        self,
        name: str,
        args: Any = None,
        policy: ArgsPolicy = "subset",
        *,
        where: str = "args",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.name = name
        self.args = admit_expected({} if args is None else args, limits, where)
        self.policy = policy
        self._test = _args_test(self.args, policy, Compiler(limits), where)
        self.accepts_all = self._test is _anything
        self.index = _index(self.args, policy)
        self.is_delicate = is_delicate(self.args)
        self.literal = self.args if isinstance(self.args, dict) and is_literal(self.args) else NOT_LITERAL
        self.spends = not self.accepts_all and not is_literal(self.args)

    def accepts(self, call: ToolCall) -> bool | None:
        args = call.args
        if args is not None:
            return self._test(args)
        if self.accepts_all:
            return True
        return None if "args" in call.unrecorded else self._test(_EMPTY)

    def accepts_part(self, value: Any) -> bool:
        return self._test(_EMPTY if value is None else value)

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        if "args" in call.unrecorded:
            return ()
        return argument_differences(self.args, call.args or _EMPTY, self.policy)


def _args_test(args: Any, policy: ArgsPolicy, compiler: Compiler, where: str) -> ArgsTest:
    if policy == "ignore" or (policy == "subset" and isinstance(args, dict) and not args):
        return _anything
    if is_matcher(args) or not isinstance(args, dict):
        return _anything if is_any(args) else compiler.compile(args, where).matches
    if policy == "superset":
        return _superset_test({key: compiler.compile(item, f"{where}.{key}") for key, item in args.items()})
    if is_literal(args):
        return _literal_test(args, policy)
    items = {key: compiler.compile(item, f"{where}.{key}") for key, item in args.items()}
    return ObjectOf(items, compiler.limits, open=policy == "subset").matches


def _anything(args: Args) -> bool:
    return True


def _literal_test(expected: dict[str, Any], policy: ArgsPolicy) -> ArgsTest:
    # Python's own comparison decides nearly everything; only booleans, 0 and 1 need a second look.
    items, exact = expected.items(), policy == "exact"
    delicate = [(key, value) for key, value in items if is_delicate(value)]
    if not delicate:
        return (lambda args: expected == args) if exact else (lambda args: items <= args.items())

    def test(args: Args) -> bool:
        if not (expected == args if exact else items <= args.items()):
            return False
        for key, value in delicate:  # noqa: SIM110 - faster than a generator
            if not same_kinds(value, args[key]):
                return False
        return True

    return test


def _superset_test(items: dict[str, Expectation]) -> ArgsTest:
    return lambda args: all(key in items and items[key].matches(value) for key, value in args.items())


def _index(args: Any, policy: ArgsPolicy) -> tuple[Projection, Hashable] | None:
    if policy not in ("exact", "subset") or not isinstance(args, dict) or not args or not is_literal(args):
        return None
    return (_ArgsOf(frozenset(args) if policy == "subset" else None), freeze(args))


class _ArgsOf(msgspec.Struct, frozen=True):
    """The arguments of these names, where a call has all of them; without names, everything a call was given."""

    keys: frozenset[str] | None

    def __call__(self, calls: Sequence[ToolCall]) -> list[Hashable | None]:
        keys = self.keys
        try:
            return [
                frozenset(call.args.items()) if keys is None or call.args.keys() == keys else self._key(call)  # type: ignore[union-attr]
                for call in calls
            ]
        except (AttributeError, TypeError):  # arguments that were not recorded, or have lists and objects in them
            return [self._key(call) for call in calls]

    def _key(self, call: ToolCall) -> Hashable | None:
        if call.args is None:
            return None
        if self.keys is None:
            return freeze(call.args)
        return freeze({key: call.args[key] for key in self.keys}) if call.args.keys() >= self.keys else None
