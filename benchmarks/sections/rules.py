"""Whether ten rules take a few milliseconds for a thousand calls, and no more for each call of ten thousand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from time import process_time
from typing import TYPE_CHECKING, Any

from benchmarks.figures import Figure
from benchmarks.rounds import Pace
from benchmarks.table import Line, seconds, under
from benchmarks.workers import Workers

if TYPE_CHECKING:
    from rightcall import Trajectory

_LIMIT = 0.01
_GROWTH = 11.0
_NAMES = (
    *("pay", "confirm", "quote", "edit", "test", "commit", "refund", "cancel"),
    *("audit", "exchange", "return", "search", "book", "tool_a", "login", "log"),
)
_RULES: list[dict[str, Any]] = [
    {"call": "pay", "only_after": "confirm"},
    {"call": "pay", "only_after": "confirm", "same": "id"},
    {"call": "pay", "only_after": "confirm", "since": "quote"},
    {"call": "edit", "followed_by": "test", "before": "commit"},
    {"call": "refund", "never_after": "cancel", "same": "id"},
    {"call": "pay", "only_with": "audit"},
    {"call": "exchange", "never_with": "return", "same": "id"},
    {"call": "search", "at_most": 2, "before": "book"},
    {"call": "tool_*", "always": {"id": {"$gte": 0}}},
    {"first": "login"},
]


def rules(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """CPU time of one evaluation of ten rules over calls with times that overlap."""
    del workers
    yield partial(_ten_rules, pace)


def _ten_rules(pace: Pace) -> Iterator[Line]:
    short, long = [_least_seconds(size, pace) for size in (1_000, 10_000)]
    yield under("ten rules, 1,000 calls", False, short, _LIMIT)
    times = f"≤ {_GROWTH:g} ×"
    yield Line("ten rules, 10,000 calls: 1,000", "unread", seconds(long), seconds(short), long / short, times, _GROWTH)


def _least_seconds(size: int, pace: Pace) -> float:
    from rightcall.judging import CallRules

    evaluator, made = CallRules(), _run(size)
    criteria = evaluator.criteria({"rules": _RULES})
    times = []
    for _ in range(pace.rounds):
        began = process_time()
        result = evaluator.evaluate(made, criteria)
        times.append(process_time() - began)
        assert result.score is not None
    return min(times)


def _run(size: int) -> Trajectory:
    from rightcall import ToolCall, Trajectory

    random, now, calls = Random(size), 0, []
    for _ in range(size):
        now += random.randrange(1, 5)
        name, args = random.choice(_NAMES), {"id": random.randrange(size)}
        calls.append(ToolCall(name=name, args=args, output=None, start_ns=now, end_ns=now + random.randrange(1, 9)))
    return Trajectory(calls=tuple(calls))
