"""Was each tool called as often as it should be?"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Set
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


def _bound(value: Any) -> tuple[str, int]:
    """An operator and a number, written as a pair, as text such as `<= 2`, or as a number alone."""
    if isinstance(value, str) and (written := _WRITTEN.fullmatch(value)):
        value = (written[1] or "=", int(written[2]))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = ("=", value)
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f'a count is a pair such as ("<=", 2), text such as "<= 2", or a number, not {shown(value)}')
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


Bound: TypeAlias = Annotated[tuple[str, int], Made(_bound)]


class ToolCallCountEvaluationCriteria(Criteria):
    """For each tool, an operator and a number: `{"search": ("<=", 2)}`."""

    names_tools: ClassVar[str | None] = "tool_calls_count"
    tool_calls_count: NotEmpty[dict[ToolName, Bound]]


class ToolCallCountEvaluatorConfig(ToolCallConfig):
    """`strict`: the score is 1.0 if every count holds, else 0.0."""

    name: str = "ToolCallCountEvaluator"
    strict: bool = False


Check: TypeAlias = tuple[str, str, Callable[[float, int], bool], int]
"""A tool, the operator, the function behind it, and the number."""


class CountPlan(msgspec.Struct, frozen=True):
    """Each tool with its operator, the function behind it, and its number."""

    spends: ClassVar[bool] = False
    bounds: list[Check]
    names: Set[str]
    size: int


class ToolCallCountEvaluator(Evaluator[ToolCallCountEvaluatorConfig, ToolCallCountEvaluationCriteria, CountPlan]):
    """The share of tools that were called as often as they should be.

    A tool that was not called counts 0, so `= 0` holds when nothing was called; tools that are not named are
    ignored. Strict, the score is 1.0 if all counts hold, else 0.0. An empty expectation is an error.
    """

    type_id = "tool-call-count"
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
        bounds = [(name, symbol, _OPERATORS[symbol], number) for name, (symbol, number) in counts.items()]
        return CountPlan(bounds, counts.keys(), len(bounds))

    def scope(self, criteria: ToolCallCountEvaluationCriteria) -> CallScope:
        return CallScope(frozenset(criteria.tool_calls_count))

    def tools_to_miss(self, criteria: ToolCallCountEvaluationCriteria) -> list[str]:
        return [name for name, _, holds, number in self.plan(criteria).bounds if holds(0, number)]

    def measure(self, selection: Selection, plan: CountPlan) -> Measurement:
        count = _counter(selection.names, plan)
        holding = sum([holds(count(name), number) for name, _, holds, number in plan.bounds])
        score = self._share(holding, plan)
        return Measurement(score, score, CountAccount(selection.names, plan))

    def bound(self, selection: Selection, plan: CountPlan) -> Measurement:
        holding = [_holds_between(check, *_least_and_most(selection, check[0])) for check in plan.bounds]
        low, high = self._share(holding.count(True), plan), self._share(len(holding) - holding.count(False), plan)
        return Measurement(low, high, CountAccount(selection.sure().names, plan))

    def _share(self, holding: int, plan: CountPlan) -> float:
        if self.config.strict:
            return float(holding == len(plan.bounds))
        return holding / len(plan.bounds)


def _least_and_most(selection: Selection, name: str) -> tuple[int, float]:
    """How often a tool was called at least, and at most."""
    doubts, most = selection.doubts, selection.names.count(name)
    if doubts is None:
        return most, most
    unsure = sum([selection.names[index] == name for index in doubts.members])
    return most - unsure, math.inf if doubts.missing else most


def _holds_between(check: Check, least: int, most: float) -> bool | None:
    """Return whether a count holds for every number of calls between two; `None` where it holds for some of them."""
    _, _, holds, number = check
    # A comparison changes its answer next to its number only.
    tried = {holds(count, number) for count in (least, most, *range(number - 1, number + 2)) if least <= count <= most}
    return None if len(tried) == 2 else tried.pop()


def _counter(names: tuple[str, ...], plan: CountPlan) -> Callable[[str], int]:
    """How often a name occurs. A few names are counted fastest one by one."""
    return names.count if len(plan.bounds) <= _FEW else Counter(names).__getitem__


class CountAccount(msgspec.Struct, frozen=True):
    """How often each tool was called, and how often it should have been."""

    names: tuple[str, ...]
    plan: CountPlan

    def checks(self) -> list[CountCheck]:
        """Each tool's count, checked."""
        count = _counter(self.names, self.plan)
        return [
            CountCheck(name, symbol, number, actual := count(name), holds(actual, number))
            for name, symbol, holds, number in self.plan.bounds
        ]

    def justify(self) -> Justification:
        """Each tool's count, as text and as a checkable twin."""
        checks = self.checks()
        explained = {
            check.tool: f"Actual: {check.actual}, Expected: {check.expected}, Score: {_SCORES[check.holds]}"
            for check in checks
        }
        return ToolCallCountEvaluatorJustification(explained_tool_calls_count=explained, checks=checks)

    def find(self) -> tuple[Finding, ...]:
        """The counts that do not hold."""
        wrong = [check for check in self.checks() if not check.holds]
        findings = [_finding(check) for check in wrong[:_MOST_FINDINGS]]
        if len(wrong) > len(findings):
            findings.append(Finding("RC105", f"… and {len(wrong) - len(findings):,} more"))
        return tuple(findings)


def _finding(check: CountCheck) -> Finding:
    symbol = "" if check.operator in ("=", "==") else f"{check.operator} "
    times = "time" if check.actual == 1 else "times"
    message = f"`{check.tool}` was called {check.actual} {times}, expected {symbol}{check.expected}"
    return Finding("RC105", message, path=f"tool_calls_count.{check.tool}")
