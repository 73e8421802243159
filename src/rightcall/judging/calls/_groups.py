"""Expected calls with groups, compiled: a tree of numbers for the search, and a pattern for each number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from rightcall.judging.core import ExpectedCall
from rightcall.limits import Limits
from rightcall.matching.alignment import AnyOrder, AtOnce, InOrder, OneCall, OneOf, Perhaps, Reader, Repeat, StepNode
from rightcall.matching.matchers import (
    ArgsPolicy,
    Assignment,
    ExpectedCalls,
    NamesIn,
    Pattern,
    call_pattern,
    check_names,
    close_names,
    names_in,
)

from ._match_types import IN_SEQUENCE, MatchType
from ._steps import StepGroup


class GroupPlace(msgspec.Struct, frozen=True):
    """A group of the expectation: its word, where it is written, and which of the calls are in it."""

    word: str
    path: str
    first: int
    end: int
    """The numbers of its calls: the first, and one past the last."""
    parts: tuple[int, ...]
    """The number of the first call of each of its items."""
    at_least: int = 1
    at_most: int | None = None


class GroupedCalls(ExpectedCalls):
    """Expected calls with the groups they are in."""

    __slots__ = ("_make", "around", "bound", "groups", "has_batches", "paths", "reader")

    def __init__(self, steps: _Compiling, tree: StepNode) -> None:
        super().__init__(steps.patterns)
        self._make = tuple(steps.make)
        self.bound = tuple(steps.bound)
        """The names of values in the arguments of each call."""
        self.paths = tuple(steps.paths)
        """Where each call is written, such as `expected[1].any_order[0]`."""
        self.around = tuple(steps.around)
        """For each call the groups around it, by number, the outermost first."""
        self.groups = tuple(steps.groups)
        self.has_batches = any([group.word == "at_once" for group in self.groups])
        self.reader = Reader(tree)

    def closed(self, assignment: Assignment) -> ExpectedCalls:
        """The calls with a value for each name in their arguments."""
        makers = zip(self.patterns, self.bound, self._make, strict=True)
        return ExpectedCalls([make(assignment) if bound else pattern for pattern, bound, make in makers])


def grouped_calls(
    steps: Sequence[object],
    match_type: MatchType,
    policy: ArgsPolicy,
    where: str,
    limits: Limits,
    *,
    wildcards: bool = True,
) -> GroupedCalls:
    """Return expected steps, compiled.

    Raises:
        ExpectationError: a part of an expected call is not what it should be, or a name is not bound exactly once.
    """
    compiling = _Compiling(policy, limits, wildcards=wildcards)
    items = [compiling.node(step, f"{where}[{index}]", None) for index, step in enumerate(steps)]
    compiling.check_names()
    if match_type == "SUBSET":
        items = [Perhaps(item) for item in items]
    return GroupedCalls(compiling, InOrder(tuple(items)) if match_type in IN_SEQUENCE else AnyOrder(tuple(items)))


def names_of(pattern: Pattern, where: str = "args") -> NamesIn:
    """The names of values in the arguments of an expected call. Raises `ExpectationError`."""
    return names_in(getattr(pattern, "args", None), where) if pattern.spends else NamesIn()


class _Compiling:
    """Steps while they become a tree of numbers, and a pattern for each number."""

    def __init__(self, policy: ArgsPolicy, limits: Limits, *, wildcards: bool = True) -> None:
        self._policy = policy
        self._limits = limits
        self._wildcards = wildcards
        self._open: list[int] = []
        self.patterns: list[Pattern] = []
        self.make: list[Callable[[Assignment], Pattern]] = []
        self.bound: list[NamesIn] = []
        self.paths: list[str] = []
        self.around: list[tuple[int, ...]] = []
        self.groups: list[GroupPlace] = []

    def node(self, step: object, path: str, agent: str | None) -> StepNode:
        if isinstance(step, StepGroup):
            return self._group(step, path, agent)
        if not isinstance(step, ExpectedCall):
            raise TypeError(f"a step is a call or a group, not {step!r}")
        self.patterns.append(self._pattern(step, path, agent))
        # Those of the pattern, which are known to be values that can be walked through.
        self.bound.append(names_of(self.patterns[-1], f"{path}.args"))
        self.make.append(partial(self._pattern, step, path, agent))
        self.paths.append(path)
        self.around.append(tuple(self._open))
        return OneCall(len(self.patterns) - 1)

    def _group(self, step: StepGroup, path: str, agent: str | None) -> StepNode:
        number, first = len(self.groups), len(self.patterns)
        self.groups.append(GroupPlace(step.word, path, first, first, (), step.at_least, step.at_most))
        self._open.append(number)
        inside = path if step.is_list else f"{path}.{step.word}"
        alone = step.word in ("optional", "repeat")
        items, parts = [], []
        for index, item in enumerate(step.items):
            parts.append(len(self.patterns))
            items.append(self.node(item, inside if alone else f"{inside}[{index}]", step.agent or agent))
        self._open.pop()
        end = len(self.patterns)
        self.groups[number] = msgspec.structs.replace(self.groups[number], end=end, parts=tuple(parts))
        return _node(step, tuple(items))

    def check_names(self) -> None:
        """Check that every name of a value is bound once and used. Raises `ExpectationError`."""
        repeats = [any([self.groups[number].word == "repeat" for number in around]) for around in self.around]
        check_names(list(zip([f"{path}.args" for path in self.paths], self.bound, repeats, strict=True)))

    def _pattern(
        self, call: ExpectedCall, path: str, agent: str | None, assignment: Assignment | None = None
    ) -> Pattern:
        return call_pattern(
            call.name,
            call.args if assignment is None else close_names(call.args, assignment),
            self._policy,
            wildcards=self._wildcards,
            names=True,
            where=path,
            limits=self._limits,
            **{"agent": agent, **call.parts},
        )


def _node(step: StepGroup, items: tuple[StepNode, ...]) -> StepNode:
    if step.word == "optional":
        return Perhaps(items[0])
    if step.word == "repeat":
        return Repeat(items[0], step.at_least, step.at_most)
    if step.word == "any_order":
        return AnyOrder(items)
    if step.word == "at_once":
        return AtOnce(items)
    return OneOf(items) if step.word == "one_of" else InOrder(items)


NOTHING = GroupedCalls(_Compiling("subset", Limits()), InOrder(()))
"""Nothing expected: every call is extra."""
