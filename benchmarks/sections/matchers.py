"""Matchers tried on every call of a tool: 2,000 expected calls and as many actual ones."""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import rightcall
from benchmarks.figures import Figure
from benchmarks.rounds import DisagreementError, Pace
from benchmarks.table import Line, under
from benchmarks.workers import Workers

_SIZE = 2_000
_VERDICT, _FINDINGS = 1.5, 0.2
Calls = list[dict[str, Any]]


def matchers(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The verdict, and what the findings take beyond it. IN_ORDER is told at once, and its findings are not."""
    del workers
    bounds = _calls(lambda number: {"n": {"$gte": number}})
    numbers = _calls(lambda number: {"n": number})
    patterns = _calls(lambda number: {"q": {"$regex": f"^x{number}y"}})
    texts = _calls(lambda number: {"q": f"nothing {number}"})
    for what, mode, expected, actual, score in (
        ("bounds in reverse", "ANY_ORDER", bounds[::-1], numbers, 1.0),
        ("patterns that nothing fits", "ANY_ORDER", patterns, texts, 0.0),
        ("bounds in reverse", "IN_ORDER", bounds[::-1], numbers, 0.0),
    ):
        yield partial(_judged, what, mode, expected, actual, score, pace.slow_rounds)


def _calls(args: Callable[[int], dict[str, Any]]) -> Calls:
    return [{"name": "tool", "args": args(number)} for number in range(_SIZE)]


def _judged(what: str, mode: str, expected: Calls, actual: Calls, score: float, rounds: int) -> Iterator[Line]:
    evaluator = rightcall.ToolTrajectoryEvaluator(id="match", config={"match_type": mode})
    criteria = evaluator.criteria({"expected": expected})
    trajectory = rightcall.Trajectory.of(actual)
    times: list[tuple[float, float]] = []
    for _ in range(max(3, rounds)):
        begun = process_time()
        result = evaluator.evaluate(trajectory, criteria)
        judged = process_time()
        result.findings  # noqa: B018 - reading them is what is measured
        times.append((judged - begun, process_time() - judged))
        if result.score != score:
            raise DisagreementError(f"{what}, {mode}: {result.score} and {score}")
    verdict, findings = (median(each) for each in zip(*times, strict=True))
    name = f"{_SIZE:,} {what}, {_SIZE:,} calls, {mode}"
    if mode == "IN_ORDER":
        yield under(f"{name}: verdict and findings", None, verdict + findings, _VERDICT + _FINDINGS)
        return
    yield under(f"{name}: verdict", None, verdict, _VERDICT)
    yield under("  findings beyond that", None, findings, _FINDINGS)
