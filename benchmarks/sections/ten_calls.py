"""Ten calls, against each peer: once all as expected, once with faults."""

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.figures import Figure
from benchmarks.rounds import Pace, cpu_seconds
from benchmarks.table import Line, faster, within
from benchmarks.tasks import Question, Task, as_expected, ten_with_faults
from benchmarks.workers import Workers

_INPUTS = {"as expected": as_expected(10), "faults": ten_with_faults()}
_QUESTIONS: tuple[Question, ...] = ("order", "count", "args", "output")

_READ_BESIDE_ADK = {"as expected": 2, "faults": 4}

Judge = Callable[[str, bool, float, float, float], Line]


def uipath(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The four tool-call evaluators, one by one, and all four from spans."""
    for question in _QUESTIONS:
        for label, task in _INPUTS.items():
            figure, read = f"uipath: {question}, {label}", 6 if (question, label) == ("args", "faults") else 5
            yield partial(_unread_and_read, workers, pace, figure, task.asking(question), faster, (10, read))
    for label, task in _INPUTS.items():
        asked = 6 if label == "faults" else 8
        yield partial(_one, workers, pace, f"uipath: all four from spans, {label}", task.asking("all"), asked)


def google_adk(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The trajectory match. ADK makes no details, so reading ours may cost as much again, or explaining faults more."""
    for mode in ("EXACT", "IN_ORDER", "ANY_ORDER"):
        for label, task in _INPUTS.items():
            figure, asked = f"google-adk: {mode}, {label}", task.asking("match", mode)
            yield partial(_unread_and_read, workers, pace, figure, asked, within, (1, _READ_BESIDE_ADK[label]))


def agentevals(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The trajectory match in three modes."""
    for mode in ("EXACT", "UNORDERED", "ANY_ORDER"):
        for label, task in _INPUTS.items():
            asked = task.asking("match", mode).reading()
            times = 40 if mode == "EXACT" else 30
            yield partial(_one, workers, pace, f"agentevals: {mode}, {label}", asked, times)


def deepeval(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """Tool correctness in its three modes."""
    questions: tuple[tuple[Question, str], ...] = (("match", "EXACT"), ("order", ""), ("args", ""))
    for question, mode in questions:
        for label, task in _INPUTS.items():
            asked = task.asking(question, mode).reading()
            yield partial(_one, workers, pace, f"deepeval: {mode or question}, {label}", asked, 30)


def _one(workers: Workers, pace: Pace, figure: str, task: Task, times: float) -> Iterator[Line]:
    peer = figure.partition(":")[0]
    contenders = [workers["ours"].prepare(task), workers[peer].prepare(task)]
    ours, theirs = cpu_seconds(contenders, pace.rounds)
    yield faster(figure, task.read, ours, theirs, times)


def _unread_and_read(
    workers: Workers, pace: Pace, figure: str, task: Task, judge: Judge, times: tuple[float, float]
) -> Iterator[Line]:
    peer = figure.partition(":")[0]
    ours = workers["ours"]
    contenders = [ours.prepare(task), ours.prepare(task.reading()), workers[peer].prepare(task)]
    unread, read, theirs = cpu_seconds(contenders, pace.rounds)
    yield judge(figure, False, unread, theirs, times[0])
    yield judge(figure, True, read, theirs, times[1])
