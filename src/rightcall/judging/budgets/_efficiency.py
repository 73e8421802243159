"""Evaluators of efficiency: steps, repeated calls, loops, retries, errors, time and tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, TypeAlias

from rightcall.errors import pattern_problem
from rightcall.judging.core import (
    NUMBER,
    WHOLE,
    After,
    Bounds,
    Config,
    Criteria,
    Measurement,
    Selection,
    Shorthand,
    Threshold,
    ToolName,
)
from rightcall.values.results import Finding, end_text, error_type, figure_text
from rightcall.values.trajectory import ToolCall, Usage, has_failed

from ._budgets import (
    AtMost,
    BudgetEvaluator,
    BudgetPlan,
    Cycle,
    Figure,
    Number,
    Repeats,
    Spent,
    Whole,
    cycles,
    has_unknown_places,
    most_alike,
    most_calls,
    most_redundant,
    most_retries,
    named,
    number_of,
    pair_findings,
    redundant_calls,
    retries,
    surely_redundant,
)

_ALL = "*"
_MOST_NAMES = 5
_LONGEST_ERROR = 200
_SECOND = 1_000_000_000
_LONGEST = 10**24
_KEYS = ("total_tokens", "input_tokens", "output_tokens")


def _exact_or_all(name: str) -> str:
    if name != _ALL and (problem := pattern_problem(name)):
        raise ValueError(problem)
    return name


ToolNameOrAll: TypeAlias = Annotated[ToolName, After(_exact_or_all)]


class StepCountConfig(Config):
    """How steps are counted."""

    name: str = "StepCount"


class StepCount(BudgetEvaluator[StepCountConfig, AtMost]):
    """Whether the agent made no more calls than allowed: 1.0 if so, else allowed / actual.

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
        text = f"{_calls(low)} made, at most {criteria.at_most:,} allowed"
        unknown = "how many calls were made was not recorded"
        return Spent([Figure("at_most", "calls", criteria.at_most, low, high, text, unknown)])


class RedundantCallsCriteria(AtMost):
    """How many redundant calls there may be, and which tools change nothing; `*` means all tools."""

    read_only: tuple[ToolNameOrAll, ...] = ()


class RedundantCallsConfig(Config):
    """How redundant calls are counted."""

    name: str = "RedundantCalls"


class RedundantCalls(BudgetEvaluator[RedundantCallsConfig, RedundantCallsCriteria]):
    """Whether the agent repeated calls needlessly: 1.0 if no more often than allowed, else allowed / actual.

    A call is redundant if the same agent made the same call earlier in the same turn, with equal arguments, and nothing
    changed since. Something changed if the earlier call failed, if the two returned different results, or if any call
    between them is of a tool that is not in `read_only`. Of three equal calls in a row, two are redundant. Nothing
    called is 1.0.
    """

    type_id = "redundant-calls"
    shorthand = Shorthand("redundant", "at_most", schema=WHOLE)
    code = "RC111"
    config_type = RedundantCallsConfig
    criteria_type = RedundantCallsCriteria

    def spent(self, selection: Selection, criteria: RedundantCallsCriteria) -> Spent:
        found, high = self._repeats(selection, criteria)
        low = len(found.sure)
        text = f"{_calls(low)} redundant, at most {criteria.at_most:,} allowed"
        unknown = "whether calls that were made again are redundant depends on what was not recorded of them"
        figure = Figure("at_most", "redundant calls", criteria.at_most, low, high, text, unknown)
        return Spent([figure], lambda: _repeated(selection, found))

    def _repeats(self, selection: Selection, criteria: RedundantCallsCriteria) -> tuple[Repeats, float]:
        """Return the redundant calls, and the highest possible number of them."""
        if selection.doubts is not None:
            return Repeats([], []), math.inf if selection.doubts.missing else most_redundant(selection.calls)
        if has_unknown_places(selection.calls):
            return Repeats(surely_redundant(selection.calls), []), most_redundant(selection.calls)
        read_only = frozenset(selection.names if _ALL in criteria.read_only else criteria.read_only)
        found = redundant_calls(selection.calls, read_only)
        return found, len(found.sure) + len(found.undecided)


class LoopsConfig(Config):
    """The longest cycle to look for, in calls."""

    name: str = "Loops"
    longest_cycle: Annotated[int, Bounds(least=1, most=100)] = 10


class Loops(BudgetEvaluator[LoopsConfig, AtMost]):
    """Whether the agent repeated the same calls in a row: 1.0 if no more often than allowed, else allowed / actual.

    This counts how often the same call, or the same sequence of calls, was made in a row: with the same tools, equal
    arguments and the same results, by the same agent in the same turn. The highest of these numbers is compared with
    the limit. Calls that are made once count 1; nothing called counts 0, which scores 1.0.
    """

    type_id = "loops"
    shorthand = Shorthand("loops", "at_most", schema=WHOLE)
    code = "RC112"
    config_type = LoopsConfig
    criteria_type = AtMost

    def spent(self, selection: Selection, criteria: AtMost) -> Spent:
        sure, low, high = self._cycles(selection)
        text = f"the same calls were made {low:,} times in a row, at most {criteria.at_most:,} allowed"
        unknown = "whether calls were made over and over depends on what was not recorded of them"
        figure = Figure("at_most", "times in a row", criteria.at_most, low, high, text, unknown)
        return Spent([figure], lambda: _circles(selection, sure, criteria.at_most))

    def _cycles(self, selection: Selection) -> tuple[list[Cycle], float, float]:
        """Return the certain cycles, and the lowest and highest number of times that the same calls came in a row."""
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
    """Yield findings for cycles that exceed the limit, shorter periods first, without overlaps."""
    reported: list[Cycle] = []
    for each in found:
        if each.times > max(limit, 1) and not any(
            each.first < other.end and other.first < each.end for other in reported
        ):
            reported.append(each)
    for each in sorted(reported, key=lambda cycle: cycle.first):
        names = [f"`{selection.names[each.first + step]}`" for step in range(each.period)]
        more = f" and {each.period - _MOST_NAMES} more" if each.period > _MOST_NAMES else ""
        place = f"from {number_of(selection, each.first)} on"
        message = (
            f"{', '.join(names[:_MOST_NAMES])}{more}: {each.times:,} times in a row {place}, with the same results"
        )
        yield Finding("RC112", message, actual=named(selection, each.first), path="at_most")


class RetriesConfig(Config):
    """How retries are counted."""

    name: str = "Retries"


class Retries(BudgetEvaluator[RetriesConfig, AtMost]):
    """Whether the agent retried after errors no more often than allowed: 1.0 if so, else allowed / actual.

    A call is a retry if its tool had failed when the same agent last called it in the same turn, whatever the
    arguments, and whatever else was called in between. Nothing called, and nothing failed, is 1.0.
    """

    type_id = "retries"
    shorthand = Shorthand("retries", "at_most", schema=WHOLE)
    code = "RC113"
    config_type = RetriesConfig
    criteria_type = AtMost

    def spent(self, selection: Selection, criteria: AtMost) -> Spent:
        found, high = _retries(selection)
        low = len(found.sure)
        text = f"{low:,} {'retry' if low == 1 else 'retries'} after errors, at most {criteria.at_most:,} allowed"
        unknown = "whether calls are retries depends on what was not recorded, or on results that only read like errors"
        figure = Figure("at_most", "retries", criteria.at_most, low, high, text, unknown)
        return Spent([figure], lambda: _tried_again(selection, found))


class ToolErrorRateCriteria(Criteria):
    """The share of calls that may fail, from 0 to 1."""

    at_most: Threshold


class ToolErrorRateConfig(Config):
    """How errors are counted."""

    name: str = "ToolErrorRate"


class ToolErrorRate(BudgetEvaluator[ToolErrorRateConfig, ToolErrorRateCriteria]):
    """Whether no larger share of calls failed than allowed: 1.0 if so, else allowed / actual.

    The share is the number of failed calls divided by the number of all calls; a call that fails twice counts twice.
    Nothing called is a share of 0, which scores 1.0.
    """

    type_id = "tool-error-rate"
    shorthand = Shorthand("error_rate", "at_most", schema={"type": "number", "minimum": 0, "maximum": 1})
    code = "RC114"
    config_type = ToolErrorRateConfig
    criteria_type = ToolErrorRateCriteria

    def bound(self, selection: Selection, plan: BudgetPlan) -> Measurement:
        return self.measure(selection, plan)

    def spent(self, selection: Selection, criteria: ToolErrorRateCriteria) -> Spent:
        outcomes = [has_failed(call) for call in selection.calls]
        low, high = _share_of_failures(selection, outcomes)
        made = f"{outcomes.count(True):,} of {len(outcomes):,} calls failed ({low:.4g})"
        text = f"{made}, at most {criteria.at_most:.4g} allowed"
        unknown = "whether calls failed was not recorded, or their results only read like errors"
        figure = Figure("at_most", "share of calls that failed", criteria.at_most, low, high, text, unknown)
        return Spent([figure], lambda: _failures(selection, outcomes))


def _retries(selection: Selection) -> tuple[Repeats, float]:
    """Return the certain retries, and the highest possible number of retries."""
    calls, doubts = selection.calls, selection.doubts
    if doubts is not None:
        # Additional calls never reduce the number of retries, but another order may.
        sure = Repeats([], []) if doubts.unordered else retries(selection.sure().calls)
        return Repeats(sure.sure, []), math.inf if doubts.missing else most_retries(calls)
    found = retries(calls)
    return found, most_retries(calls) if has_unknown_places(calls) else len(found.sure) + len(found.undecided)


def _share_of_failures(selection: Selection, outcomes: list[bool | None]) -> tuple[float, float]:
    """Return the lowest and the highest possible share of failed calls."""
    doubts = selection.doubts
    if doubts is not None and doubts.missing:
        return 0.0, 1.0
    members = doubts.members if doubts is not None else frozenset()
    sure = [outcome for index, outcome in enumerate(outcomes) if index not in members]
    unsure = [outcomes[index] for index in members]
    well, badly = (len(unsure) - unsure.count(which) for which in (True, False))
    failed, perhaps = sure.count(True), sure.count(None)
    # The share is lowest with all uncertain calls that may have succeeded, and highest with all that may have failed.
    low, high = failed / max(1, len(sure) + well), (failed + perhaps + badly) / max(1, len(sure) + badly)
    return low, high


def _tried_again(selection: Selection, found: Repeats) -> Iterator[Finding]:
    yield from pair_findings(
        selection, found.sure, "RC113", lambda call, earlier: f"`{call}` is a retry of {earlier}, which failed"
    )
    yield from pair_findings(
        selection,
        found.undecided,
        "RC301",
        lambda call, earlier: f"`{call}`: whether {earlier} failed before was not recorded",
    )


def _failures(selection: Selection, outcomes: list[bool | None]) -> Iterator[Finding]:
    for index, failed in enumerate(outcomes):
        call = named(selection, index)
        if failed:
            error = (selection.calls[index].error or "")[:_LONGEST_ERROR]
            verb = "raised " if error_type(error) else "failed: "
            message, how = f"`{call.text}` {verb}{error}", end_text(error)
            yield Finding("RC114", message, actual=call, path="at_most", ended=how)
        elif failed is None:
            yield Finding("RC301", f"`{call.text}`: whether it failed was not recorded", actual=call, path="at_most")


class SecondsCriteria(Criteria):
    """How many seconds it may take."""

    at_most: Number


class LatencyConfig(Config):
    """How the time of a run is judged."""

    name: str = "Latency"


class Latency(BudgetEvaluator[LatencyConfig, SecondsCriteria]):
    """Whether the whole run took no longer than allowed: 1.0 if so, else the seconds allowed divided by those taken.

    A run takes from the start of its first span to the end of its last; the turns of a conversation are added up. If
    that was not recorded, it took at least as long as its calls: it fails if they took too long, and otherwise is not
    measured. Criteria that select calls are ignored. A run with nothing called may take time, too.
    """

    type_id = "latency"
    shorthand = Shorthand("seconds", "at_most", schema=NUMBER)
    code = "RC115"
    reads_calls = False
    config_type = LatencyConfig
    criteria_type = SecondsCriteria

    def spent(self, selection: Selection, criteria: SecondsCriteria) -> Spent:
        usage = selection.usage or Usage()
        low, high = _extent(selection), math.inf
        if usage.duration_ns is not None:
            low = high = _in_seconds(usage.duration_ns)
        text = f"the run took {figure_text(low)} s, at most {figure_text(criteria.at_most)} s allowed"
        unknown = "how long the run took was not recorded"
        return Spent([Figure("at_most", "seconds", criteria.at_most, low, high, text, unknown)])


class CallLatencyConfig(Config):
    """How the time of calls is judged."""

    name: str = "CallLatency"


class CallLatency(BudgetEvaluator[CallLatencyConfig, SecondsCriteria]):
    """Whether no call took longer than allowed: 1.0 if so, else the seconds allowed divided by those of the slowest.

    Nothing called is 1.0. A call whose start or end was not recorded may have taken any time.
    """

    type_id = "call-latency"
    shorthand = Shorthand("call_seconds", "at_most", schema=NUMBER)
    code = "RC115"
    config_type = CallLatencyConfig
    criteria_type = SecondsCriteria

    def bound(self, selection: Selection, plan: BudgetPlan) -> Measurement:
        return self.measure(selection, plan)

    def spent(self, selection: Selection, criteria: SecondsCriteria) -> Spent:
        times = [_seconds(call) for call in selection.calls]
        low, high = _slowest([_seconds(call) for call in selection.sure().calls])[0], _slowest(times)[1]
        if selection.doubts is not None and selection.doubts.missing:
            high = math.inf
        text = f"the slowest call took {figure_text(low)} s, at most {figure_text(criteria.at_most)} s allowed"
        figure = Figure(
            "at_most", "seconds", criteria.at_most, low, high, text, "how long every call took was not recorded"
        )
        return Spent([figure], lambda: _slow(selection, times, criteria.at_most))


class TokenUsageCriteria(Criteria):
    """How many tokens models may read and write: together, or each."""

    total_tokens: Whole | None = None
    input_tokens: Whole | None = None
    output_tokens: Whole | None = None

    def check(self) -> None:
        if all(getattr(self, key) is None for key in _KEYS):
            raise ValueError("give 'total_tokens', 'input_tokens' or 'output_tokens'")


class TokenUsageConfig(Config):
    """How tokens are judged."""

    name: str = "TokenUsage"


class TokenUsage(BudgetEvaluator[TokenUsageConfig, TokenUsageCriteria]):
    """Whether models used no more tokens than allowed: 1.0 if so, else allowed / used, the lowest of several.

    The tokens are those of all model calls in the run, as recorded in their spans. If one of them lacks a number, the
    sum is unknown, and what depends on it is not measured. A run with nothing called may use tokens, too.
    """

    type_id = "token-usage"
    shorthand = Shorthand("tokens", "total_tokens", schema=WHOLE)
    code = "RC115"
    reads_calls = False
    config_type = TokenUsageConfig
    criteria_type = TokenUsageCriteria

    def spent(self, selection: Selection, criteria: TokenUsageCriteria) -> Spent:
        usage = selection.usage or Usage()
        limits = [(key, limit) for key in _KEYS if (limit := getattr(criteria, key)) is not None]
        return Spent([_tokens(key, limit, usage) for key, limit in limits])


def _tokens(key: str, limit: int, usage: Usage) -> Figure:
    used = getattr(usage, key)
    low, high = (used, used) if used is not None else (0, math.inf)
    if used is None and key == "total_tokens":
        low = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    what = key.replace("_", " ")
    text = f"models used {low:,} {what}, at most {limit:,} allowed"
    return Figure(key, what, limit, low, high, text, f"how many {what} models used was not recorded")


def _slowest(times: list[float | None]) -> tuple[float, float]:
    """Return the seconds of the slowest call, at least and at most."""
    known = max([seconds for seconds in times if seconds is not None], default=0.0)
    return known, math.inf if None in times else known


def _slow(selection: Selection, times: list[float | None], limit: float) -> Iterator[Finding]:
    for index, seconds in enumerate(times):
        call = named(selection, index)
        if seconds is None:
            message = f"`{call.text}`: how long it took was not recorded"
            yield Finding("RC301", message, actual=call, path="at_most")
        elif seconds > limit:
            yield Finding("RC115", f"`{call.text}` took {figure_text(seconds)} s", actual=call, path="at_most")


def _seconds(call: ToolCall) -> float | None:
    if call.start_ns is None or call.end_ns is None or call.end_ns < call.start_ns:
        return None
    return _in_seconds(call.end_ns - call.start_ns)


def _extent(selection: Selection) -> float:
    """Return the least time that the run can have taken: from the first start to the last end of its calls."""
    starts = [call.start_ns for call in selection.calls if call.start_ns is not None]
    ends = [call.end_ns for call in selection.calls if call.end_ns is not None]
    return max(0.0, _in_seconds(max(ends) - min(starts))) if starts and ends else 0.0


def _in_seconds(nanoseconds: int) -> float:
    # Recorded times can be any integer, also one too large for a float.
    return min(nanoseconds, _LONGEST) / _SECOND
