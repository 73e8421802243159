"""How similar an answer is to the expected one: long texts, against UiPath's evaluator of the same name."""

from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure
from benchmarks.rounds import Pace, cpu_seconds
from benchmarks.table import Line, faster
from benchmarks.tasks import two_texts
from benchmarks.workers import Workers


def similarity(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """Answers with one text of 4,000 characters each."""
    yield partial(_texts, workers, pace.slow_rounds)


def _texts(workers: Workers, rounds: int) -> Iterator[Line]:
    task = two_texts(4_000)
    contenders = [workers["ours"].prepare(each) for each in (task, task.reading())]
    unread, read, theirs = cpu_seconds([*contenders, workers["uipath"].prepare(task)], rounds)
    figure = "uipath: JSON similarity of texts of 4,000 characters"
    yield faster(figure, False, unread, theirs, 1_000)
    yield faster(figure, True, read, theirs, 1_000)
