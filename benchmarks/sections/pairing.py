"""Calls of one tool that have to be paired by their arguments."""

from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure
from benchmarks.rounds import Pace, cpu_seconds
from benchmarks.table import Line, number, seconds, under, within
from benchmarks.tasks import as_expected, one_tool_mismatched, one_tool_reversed
from benchmarks.workers import Worker, Workers

# Twice the calls may need twice the room and a little for longer numbers; the square would be four times.
_LINEAR = 2.2


def pairing(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """Arguments over 1,000 calls in reverse and all mismatched, and a match in any order."""
    ours = workers["ours"]
    yield partial(_reversed_args, ours, pace)
    yield partial(_mismatched_args, ours, pace)
    for read in (False, True):
        yield partial(_any_order, ours, pace, read)


def _reversed_args(ours: Worker, pace: Pace) -> Iterator[Line]:
    task = one_tool_reversed(1_000)
    unread, read = cpu_seconds([ours.prepare(task), ours.prepare(task.reading())], pace.rounds)
    yield under("args of 1,000 calls of one tool, in reverse", False, unread, 0.020)
    yield under("args of 1,000 calls of one tool, in reverse", True, read, 0.020)


def _mismatched_args(ours: Worker, pace: Pace) -> Iterator[Line]:
    task, twice = one_tool_mismatched(1_000), one_tool_mismatched(2_000).reading()
    contenders = [ours.prepare(task), ours.prepare(task.reading()), ours.prepare(twice)]
    unread, read, read_twice = cpu_seconds(contenders, pace.rounds)
    size, size_twice = (contender.details_size() for contender in contenders[1:])
    yield under("args of 1,000 calls, all mismatched", False, unread, 0.100)
    yield under("args of 1,000 calls, all mismatched", True, read, 0.100)
    figure = "  time at 2,000 over time at 1,000"
    yield Line(figure, "read", seconds(read_twice), seconds(read), read_twice / read)
    yield Line(
        "  size of the result at 2,000 over 1,000",
        "read",
        f"{number(size_twice)} chars",
        f"{number(size)} chars",
        size_twice / size,
        f"≤ {_LINEAR} ×",
        _LINEAR,
    )


def _any_order(ours: Worker, pace: Pace, read: bool) -> Iterator[Line]:
    tasks = (
        one_tool_reversed(1_000).asking("match", "ANY_ORDER"),
        as_expected(1_000, tools=1).asking("match", "EXACT"),
    )
    contenders = [ours.prepare(task.reading() if read else task) for task in tasks]
    any_order, exact = cpu_seconds(contenders, pace.rounds)
    yield within("ANY_ORDER of 1,000 in reverse: EXACT in order", read, any_order, exact, 10)
