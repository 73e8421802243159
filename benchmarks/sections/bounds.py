"""Whether expectations that others could make dear stay within their budget."""

from collections.abc import Iterator
from functools import partial
from statistics import median
from time import process_time
from typing import Any

from benchmarks.figures import Figure
from benchmarks.rounds import Pace
from benchmarks.table import Line, under
from benchmarks.workers import Workers

_LIMIT = 1.0
"""Seconds in which there is a verdict, or RC401."""


def bounds(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """CPU time of one evaluation with its findings, whatever the verdict is."""
    del workers
    for name, expected, actual in _cases():
        yield partial(_bounded, pace, name, expected, actual)


def _bounded(pace: Pace, name: str, expected: Any, actual: Any) -> Iterator[Line]:
    from rightcall import Trajectory
    from rightcall.judging import EVALUATORS

    evaluator = EVALUATORS["final-output"]()
    criteria = evaluator.criteria({"output": expected})
    trajectory = Trajectory.of([], output=actual)
    times, verdict = [], ""
    for _ in range(pace.slow_rounds):
        began = process_time()
        result = evaluator.evaluate(trajectory, criteria)
        verdict = result.error[:5] if result.error else result.verdict
        assert result.passed or result.findings
        times.append(process_time() - began)
    yield under(f"{name}: {verdict}", True, median(times), _LIMIT)


def _cases() -> Iterator[tuple[str, Any, Any]]:
    for size in (500, 1_000, 2_000, 10_000, 100_000):
        yield f"uniqueItems of {size:,} rows", {"$schema": {"uniqueItems": True}}, _rows(size)
    tree = {"allOf": [{"properties": {"c": {"$ref": "#"}}}], "unevaluatedProperties": False}
    for levels in (10, 14, 18, 30):
        yield f"unevaluatedProperties, {levels} levels", {"$schema": tree}, _nested(levels)
    for power in (14, 24):
        yield f"2^{power} references", {"$schema": _bomb(power)}, 1
    slow = {"$ref": "#/default", "default": {"patternProperties": {"(a+)+$": {}}}}
    yield "a pattern that backtracks", {"$schema": slow}, {"a" * 34 + "!": 1}
    for size in (1_000, 2_000, 4_000):
        yield f"$unordered, {size:,} matchers", {"$unordered": [{"$gte": each} for each in range(size)]}, [*range(size)]
    yield "$unordered, 20,000 numbers", {"$unordered": [*range(20_000)]}, [*range(20_000)][::-1]
    yield "nested $contains", {"$contains": {"$contains": {"$gt": 1}}}, [[1] * 1_500] * 1_500
    yield "a wide $regex", {"$regex": "[ab]*a[ab]{900}c"}, "ab" * 500_000


def _rows(size: int) -> list[Any]:
    return [{"i": number} for number in range(size)]


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"c": value}
    return value


def _bomb(power: int) -> dict[str, Any]:
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(power)}
    return {"$ref": "#/$defs/d0", "$defs": {**doubling, f"d{power}": {"type": "integer"}}}
