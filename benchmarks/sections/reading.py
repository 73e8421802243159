"""Scoring recorded traces: against decoding the same bytes, against a limit of memory, and with two workers."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

from benchmarks.environments import python_of
from benchmarks.figures import Figure
from benchmarks.processes import Cost, cost
from benchmarks.rounds import DisagreementError, Pace
from benchmarks.table import Line, faster, number, seconds, within
from benchmarks.traces import Layout, TraceFile, eval_set_of_halves, long_lines, otlp_lines, thin_lines
from benchmarks.workers import Workers

_MOST_MEGABYTES = 300
_DECODE = "import sys, orjson\nfor line in open(sys.argv[1], 'rb'): orjson.loads(line)"
_RIGHTCALL = [sys.executable, "-m", "rightcall", "score"]
_PASSING = ["--expect", "never: [no_such_tool]"]
_FAILING = ["--expect", "calls: [no_such_tool, another, a_third]"]
_SOME_FAILED = (0, 1)
_WORKERS_ROUNDS = 5
_LAYOUTS: dict[Layout, str] = {"windows": "spans shuffled in windows", "spread": "spans all over the file"}


def reading(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """OTLP lines of content-bearing traces, scored by one expectation in one process."""
    del workers
    for megabytes in (50, 200):
        yield from _of_size(megabytes, pace.slow_rounds)
        yield partial(_half_failing, megabytes, pace.slow_rounds)
    yield partial(_all_failing, 50, pace.slow_rounds)
    yield partial(_thin, 50, pace.slow_rounds)
    yield partial(_long, 50, pace.slow_rounds)
    yield partial(_two_workers, 200)


def reading_1gb(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The same with a gigabyte, which takes minutes."""
    del workers
    yield from _of_size(1_000, pace.slow_rounds)
    yield partial(_two_workers, 1_000)


def _of_size(megabytes: int, rounds: int) -> Iterator[Figure]:
    yield partial(_against_decoding, megabytes, rounds)
    for layout in _LAYOUTS:
        yield partial(_memory_when_shuffled, megabytes, layout)


def _against_decoding(megabytes: int, rounds: int) -> Iterator[Line]:
    traces, few = otlp_lines(megabytes), otlp_lines(1)
    decode = [str(python_of("orjson")), "-c", _DECODE]
    whole, ours, by_default, theirs = [], [], [], []
    for _ in range(rounds):
        whole.append(_score(traces))
        ours.append(whole[-1].seconds - _score(few).seconds)
        by_default.append(_score(traces, workers=None).elapsed)
        theirs.append(cost([*decode, traces.path]).seconds - cost([*decode, few.path]).seconds)
    figure = f"scoring {megabytes:,} MB of OTLP lines, {number(traces.bytes_per_call / 1_000)} kB a call"
    yield within(f"{figure}: orjson.loads", False, median(ours), median(theirs), 2.5)
    yield within("  as many workers as cores, by the clock", False, median(by_default), median(theirs), 2.5)
    yield _peak(whole)


def _half_failing(megabytes: int, rounds: int) -> Iterator[Line]:
    """Two cases a recording, of which one expects a call less than was made; what fails has to be explained."""
    asked = ["--evalset", eval_set_of_halves()]
    traces, few = otlp_lines(megabytes, "halves"), otlp_lines(1, "halves")
    found = cost([*_RIGHTCALL, "--workers", "1", *asked, few.path], codes=_SOME_FAILED).output
    if f"{few.passing:,} passed" not in found:
        raise DisagreementError(f"{few.passing} of {few.runs} should pass, but: {found[-200:]}")
    figure = f"scoring {megabytes:,} MB of OTLP lines, half of the traces failing: orjson.loads"
    yield within(figure, False, *_both(traces, few, asked, rounds), 3)


def _all_failing(megabytes: int, rounds: int) -> Iterator[Line]:
    figure = f"scoring {megabytes:,} MB of OTLP lines, all traces failing: orjson.loads"
    ours, theirs = _both(otlp_lines(megabytes), otlp_lines(1), _FAILING, rounds)
    yield Line(figure, "unread", seconds(ours), seconds(theirs), ours / theirs)


def _thin(megabytes: int, rounds: int) -> Iterator[Line]:
    traces, few = thin_lines(megabytes), thin_lines(1)
    figure = f"scoring {megabytes:,} MB of tool calls alone, {number(traces.bytes_per_call / 1_000)} kB a call"
    yield within(f"{figure}: orjson.loads", False, *_both(traces, few, _PASSING, rounds), 4)


def _long(megabytes: int, rounds: int) -> Iterator[Line]:
    """Whether the time of a run grows with its bytes: a model of n steps is shown n² messages."""
    ours, theirs = _both(long_lines(megabytes), long_lines(1), _PASSING, rounds)
    figure = f"scoring {megabytes:,} MB of runs with 200 steps, each prompt with all before: orjson.loads"
    yield Line(figure, "unread", seconds(ours), seconds(theirs), ours / theirs)


def _both(traces: TraceFile, few: TraceFile, asked: Sequence[str], rounds: int) -> tuple[float, float]:
    """The median CPU time of our command and of decoding the same lines, each less that of a few lines."""
    decode = [str(python_of("orjson")), "-c", _DECODE]
    ours, theirs = [], []
    for _ in range(rounds):
        spent = [
            cost([*_RIGHTCALL, "--workers", "1", *asked, each.path], codes=_SOME_FAILED).seconds
            for each in (traces, few)
        ]
        ours.append(spent[0] - spent[1])
        theirs.append(cost([*decode, traces.path]).seconds - cost([*decode, few.path]).seconds)
    return median(ours), median(theirs)


def _memory_when_shuffled(megabytes: int, layout: Layout) -> Iterator[Line]:
    traces = otlp_lines(megabytes, layout)
    spent = _score(traces)
    yield Line(f"scoring {megabytes:,} MB, {_LAYOUTS[layout]}", "unread", seconds(spent.seconds), "")
    yield _peak([spent])


def _two_workers(megabytes: int) -> Iterator[Line]:
    """By the clock, because two workers spend no less CPU time than one."""
    traces = otlp_lines(megabytes)
    one, two = [], []
    for _ in range(_WORKERS_ROUNDS):
        one.append(_score(traces).elapsed)
        two.append(_score(traces, workers=2).elapsed)
    figure = f"scoring {megabytes:,} MB with two workers: one, by the clock"
    yield faster(figure, False, median(two), median(one), 1.7)


def _score(traces: TraceFile, workers: int | None = 1) -> Cost:
    shared = ["--workers", str(workers)] if workers else []
    spent = cost([*_RIGHTCALL, *_PASSING, *shared, traces.path])
    if f"{traces.runs:,} passed in" not in spent.output:
        raise DisagreementError(f"{traces.path} has {traces.runs:,} runs, but: {spent.output[-200:]}")
    return spent


def _peak(spent: list[Cost]) -> Line:
    peak, limit = max(each.megabytes for each in spent), f"{_MOST_MEGABYTES} MB"
    return Line("  peak memory", "unread", f"{peak:.0f} MB", limit, peak / _MOST_MEGABYTES, f"≤ {limit}", 1.0)
