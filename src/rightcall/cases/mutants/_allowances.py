"""What a case says explicitly that it allows, so that a fault which does just that is not a gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.judging import StepGroup
from rightcall.values.trajectory import Trajectory

from ._changes import renamed, repeated, with_args
from ._operators import UNKNOWN_TOOL, Mutant

_MANY = 60
"""More calls of one tool than a case that bounds their number would allow."""
_FREE_ORDER = ("ANY_ORDER", "UNORDERED", "SUBSET")


class Allowances(msgspec.Struct, frozen=True):
    """The words of a case about tools: which may be left out, repeated, called in any order, or are ignored."""

    any_order: bool = False
    together: tuple[frozenset[str], ...] = ()
    optional: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    ignored: tuple[Set[str], ...] = ()
    named: Set[str] | None = None
    """The tools that steps name, where the case says that others do not matter."""

    @classmethod
    def of(cls, case: Case) -> Allowances:
        """Return what the expected calls of a case allow."""
        found = _Words()
        ignored, any_order = [], False
        named: Set[str] | None = None
        for check in case.checks:
            criteria = check.criteria
            if getattr(criteria, "ignore_tools", ()):
                ignored.append(criteria.ignored)
            if check.evaluator.type_id != "tool-trajectory":
                continue
            config = check.evaluator.config
            any_order |= (criteria.match_type or config.match_type) in _FREE_ORDER
            if (criteria.extra or config.extra) in ("allow", "others"):
                named = check.evaluator.plan(criteria).names
            for steps in criteria.expected_turns or (criteria.expected or (),):
                found.read(steps)
        return cls(
            any_order=any_order,
            together=tuple(found.together),
            optional=frozenset(found.optional),
            repeated=frozenset(found.repeated),
            ignored=tuple(ignored),
            named=named,
        )


class _Words:
    """The names of tools below the words of steps."""

    def __init__(self) -> None:
        self.together: list[frozenset[str]] = []
        self.optional: set[str] = set()
        self.repeated: set[str] = set()

    def read(self, steps: Sequence[Any]) -> None:
        for step in steps:
            if not isinstance(step, StepGroup):
                continue
            names = _names(step)
            if step.word in ("any_order", "at_once"):
                self.together.append(names)
            elif step.word in ("optional", "one_of"):
                self.optional |= names
            elif step.word == "repeat":
                self.repeated |= names
            self.read(step.items)


def _names(step: Any) -> frozenset[str]:
    if not isinstance(step, StepGroup):
        return frozenset({step.name})
    return frozenset().union(*[_names(item) for item in step.items])


class Asking:
    """Finds out why a fault is let pass, by what a case says and by asking about other trajectories."""

    def __init__(self, said: Allowances, original: Trajectory, notices: Callable[[Trajectory], bool]) -> None:
        self._said = said
        self._original = original
        self._notices = notices
        self._closed: dict[int, bool] = {}
        self._misses: dict[tuple[int, str | int], bool] = {}

    def reason(self, mutant: Mutant) -> str:
        """Return why a fault that was let pass is none, or an empty text."""
        if mutant.tool and any([mutant.tool in ignored for ignored in self._said.ignored]):
            return "the case ignores the tool"
        if self._said.named is not None and any([tool not in self._said.named for tool in _tools(mutant)]):
            return "the case says that other tools do not matter"
        ask: Callable[[Mutant], str] = getattr(self, f"_{mutant.operator.replace('-', '_')}", lambda _: "")
        return ask(mutant)

    def _drop(self, mutant: Mutant) -> str:
        if mutant.tool in self._said.optional | self._said.repeated or self._is_closed(mutant):
            return "the case says that it may be left out"
        return ""

    def _repeat(self, mutant: Mutant) -> str:
        if mutant.tool in self._said.repeated:
            return "the case says that it may be repeated"
        # A case that would notice many calls bounds their number, and two are within the bounds.
        if mutant.position is not None and self._notices(repeated(self._original, mutant.position, _MANY)):
            return "the case says that it may be repeated"
        return ""

    def _swap(self, mutant: Mutant) -> str:
        calls, position = self._original.calls, mutant.position or 0
        one, two = calls[position], calls[position + 1]
        if one.group is not None and one.group == two.group:
            return "the calls were asked for at once"
        if any([first <= position and position + 1 < end for first, end in self._original.unordered]):
            return "their order was not recorded"
        both = {one.name, two.name}
        if self._said.any_order or any([both <= names for names in self._said.together]):
            return "the case says that the order is free"
        return ""

    def _other_tool(self, mutant: Mutant) -> str:
        return "the case says that the other tool will do" if self._is_closed(mutant) else ""

    def _other_case(self, mutant: Mutant) -> str:
        # A call that only the other path has must be one that the case names, or it is let pass with any other.
        own = set(self._original.names)
        calls = mutant.trajectory.calls
        foreign = [position for position, call in enumerate(calls) if call.name not in own] or range(len(calls))
        if all([self._notices(renamed(mutant.trajectory, position, UNKNOWN_TOOL)) for position in foreign]):
            return "the case allows this path, too"
        return ""

    def _argument(self, mutant: Mutant) -> str:
        # Asked by taking the argument away: a case that misses it looks at it, and accepts other values on purpose.
        position, key = mutant.position or 0, mutant.path[0]
        if (position, key) not in self._misses:
            args = self._original.calls[position].args or {}
            left = {other: value for other, value in args.items() if other != key}
            self._misses[position, key] = self._notices(with_args(self._original, position, left))
        return "the case lets the value vary" if self._misses[position, key] else ""

    def _argument_added(self, mutant: Mutant) -> str:
        return "arguments that the case does not name are allowed"

    def _is_closed(self, mutant: Mutant) -> bool:
        """Whether no unknown tool may be called in this place: then what may be called there is written."""
        if mutant.position is None:
            return False
        if mutant.position not in self._closed:
            asked = renamed(self._original, mutant.position, UNKNOWN_TOOL)
            self._closed[mutant.position] = self._notices(asked)
        return self._closed[mutant.position]


def _tools(mutant: Mutant) -> list[str]:
    """Return the tools that a fault is about."""
    return [tool for tool in (mutant.tool, mutant.after) if tool]
