"""Did the agent stay within its time and its tokens?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rightcall.judging.core import NUMBER, WHOLE, Config, Criteria, Measurement, Selection, Shorthand
from rightcall.values.results import Finding, figure_text
from rightcall.values.trajectory import ToolCall, Usage

from ._budgets import BudgetEvaluator, BudgetPlan, Figure, Number, Spent, Whole, named

_SECOND = 1_000_000_000
_LONGEST = 10**24
_KEYS = ("total_tokens", "input_tokens", "output_tokens")


class SecondsCriteria(Criteria):
    """How many seconds it may take."""

    at_most: Number


class LatencyConfig(Config):
    """How the time of a run is judged."""

    name: str = "Latency"


class Latency(BudgetEvaluator[LatencyConfig, SecondsCriteria]):
    """Whether the whole run took no longer than it may: 1.0 if so, else the seconds allowed divided by those taken.

    A run takes from the beginning of its first span to the end of its last; the turns of a conversation are added up.
    Where that was not recorded, it took no less time than its calls: it fails if they took too long, and is else not
    measured. The criteria that choose calls do not matter. Nothing called may take time, too.
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
        told = f"the run took {figure_text(low)} s, at most {figure_text(criteria.at_most)} s allowed"
        unknown = "how long the run took was not recorded"
        return Spent([Figure("at_most", "seconds", criteria.at_most, low, high, told, unknown)])


class CallLatencyConfig(Config):
    """How the time of calls is judged."""

    name: str = "CallLatency"


class CallLatency(BudgetEvaluator[CallLatencyConfig, SecondsCriteria]):
    """Whether no call took longer than it may: 1.0 if so, else the seconds allowed divided by those of the slowest.

    Nothing called is 1.0. A call whose beginning or end was not recorded may have taken any time.
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
        told = f"the slowest call took {figure_text(low)} s, at most {figure_text(criteria.at_most)} s allowed"
        figure = Figure(
            "at_most", "seconds", criteria.at_most, low, high, told, "how long every call took was not recorded"
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
    """Whether models used no more tokens than they may: 1.0 if so, else allowed / used, the lowest of several.

    Tokens are those of all calls of models in the run, as their spans tell them. Where one of them does not say, the
    sum is not known, and what depends on it is not measured. Nothing called may use tokens, too.
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
    told = f"models used {low:,} {what}, at most {limit:,} allowed"
    return Figure(key, what, limit, low, high, told, f"how many {what} models used was not recorded")


def _slowest(times: list[float | None]) -> tuple[float, float]:
    """The seconds of the slowest call, at least and at most."""
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
    """The least time that the run can have taken: from the beginning of a call to the end of another."""
    starts = [call.start_ns for call in selection.calls if call.start_ns is not None]
    ends = [call.end_ns for call in selection.calls if call.end_ns is not None]
    return max(0.0, _in_seconds(max(ends) - min(starts))) if starts and ends else 0.0


def _in_seconds(nanoseconds: int) -> float:
    # Clocks of strangers give any integer, also those that no floating-point number can hold.
    return min(nanoseconds, _LONGEST) / _SECOND
