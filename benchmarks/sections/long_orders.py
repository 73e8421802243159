"""Order over long sequences that differ: against rapidfuzz's own path, UiPath, and limits."""

from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure
from benchmarks.rounds import Pace, cpu_seconds
from benchmarks.table import Line, faster, under, within
from benchmarks.tasks import random_names
from benchmarks.workers import Worker, Workers

_MEGABYTE = 1_000_000
_MOST_MEGABYTES = 200


def long_orders(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """1,000, 3,000 and 10,000 calls."""
    for length in (1_000, 3_000, 10_000):
        yield partial(_against_path, workers, pace, length)
    yield partial(_against_uipath, workers, pace, 3_000)


def hundred_thousand(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """100,000 calls, once: what takes seconds needs no repetition to be known."""
    del workers, pace
    for read in (False, True):
        yield partial(_limits, 100_000, read)


def _against_path(workers: Workers, pace: Pace, length: int) -> Iterator[Line]:
    ours, task = workers["ours"], random_names(length)
    contenders = [ours.prepare(task), ours.prepare(task.reading()), ours.prepare(task.asking("path"))]
    unread, read, path = cpu_seconds(contenders, pace.rounds)
    yield within(f"order of {length:,} calls: rapidfuzz's path", False, unread, path, 2)
    yield within(f"order of {length:,} calls: rapidfuzz's path", True, read, path, 2)


def _against_uipath(workers: Workers, pace: Pace, length: int) -> Iterator[Line]:
    ours, task = workers["ours"], random_names(length)
    contenders = [ours.prepare(task), ours.prepare(task.reading()), workers["uipath"].prepare(task)]
    unread, read, theirs = cpu_seconds(contenders, pace.slow_rounds)
    yield faster(f"order of {length:,} calls: uipath", False, unread, theirs, 5_000)
    yield faster(f"order of {length:,} calls: uipath", True, read, theirs, 5_000)


def _limits(length: int, read: bool) -> Iterator[Line]:
    task = random_names(length)
    # A process of its own, because its peak of memory never goes down again.
    with Worker("ours") as worker:
        contender = worker.prepare(task.reading() if read else task)
        ours, peak = contender.cpu_seconds(1), worker.peak_bytes() / _MEGABYTE
    yield under(f"order of {length:,} calls: time", read, ours, 10.0)
    yield Line(
        f"order of {length:,} calls: peak memory",
        "read" if read else "unread",
        f"{peak:.0f} MB",
        f"{_MOST_MEGABYTES} MB",
        peak / _MOST_MEGABYTES,
        f"≤ {_MOST_MEGABYTES} MB",
        1.0,
    )
