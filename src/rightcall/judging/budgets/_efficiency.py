"""Did the agent get there without detours: few steps, nothing twice without need, no loops?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, TypeAlias

from rightcall.judging.core import WHOLE, After, Bounds, Config, Listed, Measurement, Selection, Shorthand, tool_name
from rightcall.values.results import Finding

from ._budgets import AtMost, BudgetEvaluator, BudgetPlan, Figure, Spent, most_calls, named, number_of, pair_findings
from ._repeats import (
    Cycle,
    Repeats,
    cycles,
    has_unknown_places,
    most_alike,
    most_redundant,
    redundant_calls,
    surely_redundant,
)

_ALL = "*"
_MOST_NAMES = 5


def _tool_name_or_all(value: str) -> str:
    return value if value == _ALL else tool_name(value)


ToolNameOrAll: TypeAlias = Annotated[str, After(_tool_name_or_all)]


class StepCountConfig(Config):
    """How steps are counted."""

    name: str = "StepCount"


class StepCount(BudgetEvaluator[StepCountConfig, AtMost]):
    """Whether the agent made no more calls than it may: 1.0 if so, else the number allowed divided by that made.

    Every call counts, also one that failed, and the same call twice counts twice. Nothing called is 1.0.
    """

    type_id = "step-count"
    shorthand = Shorthand("steps", "at_most", schema=WHOLE)
    code = "RC115"
    config_type = StepCountConfig
    criteria_type = AtMost

    def bound(self, selection: Selection, plan: BudgetPlan) -> Measurement:
        return self.measure(selection, plan)

    def spent(self, selection: Selection, criteria: AtMost) -> Spent:
        low, high = len(selection.sure().calls), most_calls(selection)
        told = f"{_calls(low)} made, at most {criteria.at_most:,} allowed"
        unknown = "how many calls were made was not recorded"
        return Spent([Figure("at_most", "calls", criteria.at_most, low, high, told, unknown)])


class RedundantCallsCriteria(AtMost):
    """How many redundant calls there may be, and which tools change nothing; `*` means all tools."""

    read_only: Listed[tuple[ToolNameOrAll, ...]] = ()


class RedundantCallsConfig(Config):
    """How redundant calls are counted."""

    name: str = "RedundantCalls"


class RedundantCalls(BudgetEvaluator[RedundantCallsConfig, RedundantCallsCriteria]):
    """Whether the agent asked again what it knew: 1.0 if no more often than it may, else allowed / actual.

    A call is redundant if the same agent made the same call before, in the same turn: the same tool with equal
    arguments; and nothing changed since. Something changed if the earlier call failed, if the two returned different
    things, or if any call is between them whose tool is not in `read_only`. Of three equal calls in a row, two are
    redundant. Nothing called is 1.0.
    """

    type_id = "redundant-calls"
    shorthand = Shorthand("redundant", "at_most", schema=WHOLE)
    code = "RC111"
    config_type = RedundantCallsConfig
    criteria_type = RedundantCallsCriteria

    def spent(self, selection: Selection, criteria: RedundantCallsCriteria) -> Spent:
        found, high = self._repeats(selection, criteria)
        low = len(found.sure)
        told = f"{_calls(low)} redundant, at most {criteria.at_most:,} allowed"
        unknown = "whether calls that were made again are redundant depends on what was not recorded of them"
        figure = Figure("at_most", "redundant calls", criteria.at_most, low, high, told, unknown)
        return Spent([figure], lambda: _repeated(selection, found))

    def _repeats(self, selection: Selection, criteria: RedundantCallsCriteria) -> tuple[Repeats, float]:
        """The redundant calls, and how many there are at the most."""
        if selection.doubts is not None:
            return Repeats([], []), math.inf if selection.doubts.missing else most_redundant(selection.calls)
        if has_unknown_places(selection.calls):
            return Repeats(surely_redundant(selection.calls), []), most_redundant(selection.calls)
        read_only = frozenset(selection.names if _ALL in criteria.read_only else criteria.read_only)
        found = redundant_calls(selection.calls, read_only)
        return found, len(found.sure) + len(found.undecided)


class LoopsConfig(Config):
    """How long a cycle may be for it to be looked for, in calls."""

    name: str = "Loops"
    longest_cycle: Annotated[int, Bounds(least=1, most=100)] = 10


class Loops(BudgetEvaluator[LoopsConfig, AtMost]):
    """Whether the agent went round in circles: 1.0 if it made no calls more often in a row than it may.

    What counts is how often the same call, or the same few calls one after the other, were made in a row: with the
    same tools, equal arguments and the same results, by the same agent in the same turn. Else the score is the number
    of times allowed divided by the highest of them. Calls that are made once count 1; nothing called is 0, and 1.0.
    """

    type_id = "loops"
    shorthand = Shorthand("loops", "at_most", schema=WHOLE)
    code = "RC112"
    config_type = LoopsConfig
    criteria_type = AtMost

    def spent(self, selection: Selection, criteria: AtMost) -> Spent:
        sure, low, high = self._cycles(selection)
        told = f"the same calls were made {low:,} times in a row, at most {criteria.at_most:,} allowed"
        unknown = "whether calls were made over and over depends on what was not recorded of them"
        figure = Figure("at_most", "times in a row", criteria.at_most, low, high, told, unknown)
        return Spent([figure], lambda: _circles(selection, sure, criteria.at_most))

    def _cycles(self, selection: Selection) -> tuple[list[Cycle], float, float]:
        """The cycles that there surely are, and how often the same calls were made in a row: at least, and at most."""
        least = min(1, len(selection.sure().calls))
        if selection.doubts is not None:
            return [], least, math.inf if selection.doubts.missing else most_alike(selection.calls)
        sure, possible = cycles(selection.calls, self.config.longest_cycle)
        low, high = (max([each.times for each in found], default=least) for found in (sure, possible))
        return sure, low, high


def _calls(count: int) -> str:
    return "1 call was" if count == 1 else f"{count:,} calls were"


def _repeated(selection: Selection, found: Repeats) -> Iterator[Finding]:
    yield from pair_findings(
        selection,
        found.sure,
        "RC111",
        lambda call, earlier: f"`{call}` was called again, though nothing had changed since {earlier}",
    )
    yield from pair_findings(
        selection,
        found.undecided,
        "RC301",
        lambda call, earlier: f"`{call}`: whether it only repeats {earlier} was not recorded",
    )


def _circles(selection: Selection, found: list[Cycle], limit: int) -> Iterator[Finding]:
    """The cycles that are too many, shorter ones first, and none inside a stretch that is reported already."""
    told: list[Cycle] = []
    for each in found:
        if each.times > max(limit, 1) and not any(each.first < other.end and other.first < each.end for other in told):
            told.append(each)
    for each in sorted(told, key=lambda cycle: cycle.first):
        names = [f"`{selection.names[each.first + step]}`" for step in range(each.period)]
        more = f" and {each.period - _MOST_NAMES} more" if each.period > _MOST_NAMES else ""
        place = f"from {number_of(selection, each.first)} on"
        message = (
            f"{', '.join(names[:_MOST_NAMES])}{more}: {each.times:,} times in a row {place}, with the same results"
        )
        yield Finding("RC112", message, actual=named(selection, each.first), path="at_most")
