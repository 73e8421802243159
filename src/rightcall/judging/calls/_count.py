"""Was each tool called as often as it should be?"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import shown
from rightcall.judging.core import (
    CallScope,
    Criteria,
    Evaluator,
    Made,
    Measurement,
    NotEmpty,
    Selection,
    Shorthand,
    ToolCallConfig,
    ToolName,
)
from rightcall.matching.matchers import NamePattern, named_tools
from rightcall.values.results import CountCheck, Finding, Justification, ToolCallCountEvaluatorJustification

_OPERATORS: dict[str, Callable[[float, int], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_SCORES = ("0.0", "1.0")
_FEW = 8
_MOST_FINDINGS = 30
_MOST = 1_000_000_000
_WRITTEN = lazy_pattern(r"\s*([^\s\d]*)\s*(\d{1,9})\s*")
_RANGE = lazy_pattern(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*")

Condition: TypeAlias = tuple[str, int]
"""An operator and a number."""


def _bounds(value: Any) -> tuple[Condition, ...] | Condition:
    """Return a condition, or several that all have to hold: those of a range such as `1..2`, or of a list."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "=", _whole(value)
    if isinstance(value, (list, tuple)) and value and all(map(_is_condition, value)):
        return tuple([condition for each in value for condition in _range(each) or (_bound(each),)])
    return _range(value) or _bound(value)


def _range(value: Any) -> tuple[Condition, ...]:
    """The conditions of a range such as `1..2`; nothing if it is not one."""
    written = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if written is None:
        return ()
    least, most = int(written[1]), int(written[2])
    if least > most:
        raise ValueError(f"the range {shown(value)} is empty: {least} is more than {most}")
    return (("=", least),) if least == most else ((">=", least), ("<=", most))


def _is_condition(value: Any) -> bool:
    """Return whether a value is a whole condition, and not the operator or the number of one."""
    return isinstance(value, (list, tuple)) or (isinstance(value, str) and any(map(str.isdigit, value)))


def _bound(value: Any) -> Condition:
    """An operator and a number, written as a pair, or as text such as `<= 2`."""
    if isinstance(value, str) and (written := _WRITTEN.fullmatch(value)):
        value = (written[1] or "=", int(written[2]))
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(
            f'a count is a number, text such as "<= 2" or "1..2", a pair such as ["<=", 2], or a list of these, '
            f"not {shown(value)}"
        )
    symbol, number = value
    if not isinstance(symbol, str) or symbol not in _OPERATORS:
        raise ValueError(f"unknown operator {shown(symbol)}; {_nearest_operator(symbol)}")
    return symbol, _whole(number)


def _nearest_operator(symbol: object) -> str:
    turned = symbol[::-1] if isinstance(symbol, str) else ""
    return f"did you mean {turned!r}?" if turned in _OPERATORS else f"known: {', '.join(_OPERATORS)}"


def _whole(number: Any) -> int:
    whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
    if not whole or isinstance(number, bool) or not 0 <= number <= _MOST:
        raise ValueError(f"a count is a whole number and not negative, at most {_MOST:,}, not {shown(number)}")
    return int(number)


Bound: TypeAlias = Annotated[tuple[Condition, ...] | Condition, Made(_bounds)]


class ToolCallCountEvaluationCriteria(Criteria):
    """For each tool, an operator and a number, or several that all have to hold: `{"search": ("<=", 2)}`."""

    names_tools: ClassVar[str | None] = "tool_calls_count"
    takes_ids: ClassVar[bool] = False
    tool_calls_count: NotEmpty[dict[ToolName, Bound]]


class ToolCallCountEvaluatorConfig(ToolCallConfig):
    """`strict`: the score is 1.0 if every count holds, else 0.0."""

    name: str = "ToolCallCountEvaluator"
    strict: bool = False


Check: TypeAlias = tuple[str, str, Callable[[float, int], bool], int]
"""A tool, the operator, the function behind it, and the number."""


class CountPlan(msgspec.Struct, frozen=True):
    """Each tool with its operator, the function behind it, and its number; several of them for a range."""

    spends: ClassVar[bool] = False
    bounds: list[Check]
    names: Set[str]
    size: int
    """How many tools are named."""
    starred: Mapping[str, NamePattern] = {}
    """The names that have a `*` in them, which stands for any characters."""
    is_small: bool = False
    """Whether it has so few names, and no `*`, that counting them one by one is fastest."""

    @property
    def by_tool(self) -> list[tuple[str, list[Check]]]:
        """The conditions of each tool, all of which have to hold."""
        return [(name, list(checks)) for name, checks in groupby(self.bounds, key=itemgetter(0))]

    def counter(self, names: Sequence[str]) -> Callable[[str], int]:
        """Return a function that says how often a tool was called, given the names of calls."""
        counted = Counter(names)
        if not self.starred:
            return counted.__getitem__

        def count(name: str) -> int:
            pattern = self.starred.get(name)
            if pattern is None:
                return counted[name]
            return sum([times for called, times in counted.items() if pattern.matches(called)])

        return count


class ToolCallCountEvaluator(Evaluator[ToolCallCountEvaluatorConfig, ToolCallCountEvaluationCriteria, CountPlan]):
    """The share of tools that were called as often as they should be.

    A tool that was not called counts 0, so `= 0` holds when nothing was called; tools that are not named are
    ignored. Strict, the score is 1.0 if all counts hold, else 0.0. An empty expectation is an error.
    """

    type_id = "tool-call-count"
    takes_wildcards = True
    shorthand = Shorthand(
        "counts",
        "tool_calls_count",
        schema={"type": "object", "additionalProperties": {"type": ["integer", "string", "array"]}},
    )
    justification_type = ToolCallCountEvaluatorJustification
    config_type = ToolCallCountEvaluatorConfig
    criteria_type = ToolCallCountEvaluationCriteria

    def compile(self, criteria: ToolCallCountEvaluationCriteria) -> CountPlan:
        counts = criteria.tool_calls_count
        bounds = [
            (name, symbol, _OPERATORS[symbol], number)
            for name, bound in counts.items()
            for symbol, number in (bound if isinstance(bound[0], tuple) else (bound,))
        ]
        starred = {name: NamePattern.of(name) for name in counts if "*" in name}
        is_small = len(bounds) <= _FEW and not starred
        return CountPlan(bounds, named_tools(counts) if starred else counts.keys(), len(counts), starred, is_small)

    def scope(self, criteria: ToolCallCountEvaluationCriteria) -> CallScope | None:
        return None if self.plan(criteria).starred else CallScope(frozenset(criteria.tool_calls_count))

    def tools_to_miss(self, criteria: ToolCallCountEvaluationCriteria) -> list[str]:
        needed = {name for name, _, holds, number in self.plan(criteria).bounds if not holds(0, number)}
        return [name for name in criteria.tool_calls_count if name not in needed]

    def measure(self, selection: Selection, plan: CountPlan) -> Measurement:
        count = selection.names.count if plan.is_small else plan.counter(selection.names)
        if plan.size == len(plan.bounds):
            holding = sum([holds(count(name), number) for name, _, holds, number in plan.bounds])
        else:
            holding = sum([_hold(checks, count(name)) for name, checks in plan.by_tool])
        score = self._share(holding, plan)
        return Measurement(score, score, CountAccount(count, plan))

    def bound(self, selection: Selection, plan: CountPlan) -> Measurement:
        most, least = plan.counter(selection.names), plan.counter(selection.sure().names)
        missing = selection.doubts is not None and selection.doubts.missing
        holding = [
            _hold_between(checks, least(name), math.inf if missing else most(name)) for name, checks in plan.by_tool
        ]
        low, high = self._share(holding.count(True), plan), self._share(len(holding) - holding.count(False), plan)
        return Measurement(low, high, CountAccount(least, plan))

    def _share(self, holding: int, plan: CountPlan) -> float:
        return float(holding == plan.size) if self.config.strict else holding / plan.size


def _hold(checks: Sequence[Check], count: float) -> bool:
    return all([holds(count, number) for _, _, holds, number in checks])


def _hold_between(checks: Sequence[Check], least: int, most: float) -> bool | None:
    """Return whether all conditions hold for every number of calls between two; `None` if they do for some of them."""
    # A comparison only changes its answer next to its number.
    edges = [near for _, _, _, number in checks for near in range(number - 1, number + 2)]
    tried = {_hold(checks, count) for count in (least, most, *edges) if least <= count <= most}
    return None if len(tried) == 2 else tried.pop()


class CountAccount(msgspec.Struct, frozen=True):
    """How often each tool was called, and how often it should have been."""

    spends: ClassVar[bool] = False
    count: Callable[[str], int]
    plan: CountPlan

    def justify(self) -> Justification:
        """Return the count of each tool, as text and as data."""
        count, plan = self.count, self.plan
        checks: list[CountCheck] = []
        explained: dict[str, str] = {}
        # One loop for both: the strings are not read from the checks again.
        for name, symbol, holds, number in plan.bounds:
            actual = count(name)
            held = holds(actual, number)
            checks.append(CountCheck(name, symbol, number, actual, held))
            explained[name] = f"Actual: {actual}, Expected: {number}, Score: {_SCORES[held]}"
        if plan.size < len(checks):
            by_tool = groupby(checks, key=attrgetter("tool"))
            explained |= {tool: _explained(of_tool) for tool, (*of_tool,) in by_tool if len(of_tool) > 1}
        return ToolCallCountEvaluatorJustification(explained_tool_calls_count=explained, checks=checks)

    def find(self) -> tuple[Finding, ...]:
        """Return findings for counts that do not hold."""
        wrong = [
            (name, actual, symbol, number)
            for name, symbol, holds, number in self.plan.bounds
            if not holds(actual := self.count(name), number)
        ]
        findings = []
        for name, actual, symbol, number in wrong[:_MOST_FINDINGS]:
            wanted = number if symbol in ("=", "==") else f"{symbol} {number}"
            message = f"`{name}` was called {actual} {'time' if actual == 1 else 'times'}, expected {wanted}"
            findings.append(Finding("RC105", message, path=f"tool_calls_count.{name}"))
        if len(wrong) > len(findings):
            findings.append(Finding("RC105", f"… and {len(wrong) - len(findings):,} more"))
        return tuple(findings)


def _explained(checks: Sequence[CountCheck]) -> str:
    """The text of several conditions for one tool, all of which have to hold."""
    wanted = " and ".join([f"{check.operator} {check.expected}" for check in checks])
    return f"Actual: {checks[0].actual}, Expected: {wanted}, Score: {_SCORES[all([check.holds for check in checks])]}"
