"""Whether the cost of one call stays the same from 100 calls to 10,000."""

from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure
from benchmarks.rounds import Pace, cpu_seconds
from benchmarks.table import Line, seconds
from benchmarks.tasks import Question, as_expected
from benchmarks.workers import Workers

_LENGTHS = (100, 10_000)
_FLAT = 1.3
_QUESTIONS: tuple[tuple[Question, str], ...] = (("count", ""), ("match", "EXACT"), ("match", "IN_ORDER"))


def growth(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The cost per call at 10,000 calls over that at 100; at 10 the cost of any evaluation still shows."""
    for question, mode in _QUESTIONS:
        for read in (False, True):
            yield partial(_flat, workers, pace, question, mode, read)


def _flat(workers: Workers, pace: Pace, question: Question, mode: str, read: bool) -> Iterator[Line]:
    costs = _cost_per_call(workers, pace, question, mode, read)
    yield Line(
        f"{mode or question} per call, 10,000 calls: 100",
        "read" if read else "unread",
        seconds(costs[10_000]),
        seconds(costs[100]),
        costs[10_000] / costs[100],
        f"≤ {_FLAT} ×",
        _FLAT,
    )


def _cost_per_call(workers: Workers, pace: Pace, question: Question, mode: str, read: bool) -> dict[int, float]:
    tasks = [as_expected(length).asking(question, mode) for length in _LENGTHS]
    contenders = [workers["ours"].prepare(task.reading() if read else task) for task in tasks]
    times = cpu_seconds(contenders, pace.rounds)
    return {length: time / length for length, time in zip(_LENGTHS, times, strict=True)}
