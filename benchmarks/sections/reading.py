"""Scoring recorded traces: against decoding the same bytes, and against a limit of memory."""

import sys
from collections.abc import Iterator
from functools import partial
from statistics import median

from benchmarks.environments import python_of
from benchmarks.figures import Figure
from benchmarks.processes import cost
from benchmarks.rounds import Pace
from benchmarks.table import Line, within
from benchmarks.traces import otlp_lines
from benchmarks.workers import Workers

_MOST_MEGABYTES = 300
_DECODE = "import sys, orjson\nfor line in open(sys.argv[1], 'rb'): orjson.loads(line)"


def reading(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """OTLP lines of content-bearing traces, scored by one expectation in one process."""
    del workers
    for megabytes in (50, 200):
        yield partial(_lines, megabytes, pace.slow_rounds)


def _lines(megabytes: int, rounds: int) -> Iterator[Line]:
    traces, few = str(otlp_lines(megabytes)), str(otlp_lines(1))
    decode = [str(python_of("orjson")), "-c", _DECODE]
    score = [sys.executable, "-m", "rightcall", "score", "--expect", "never: [no_such_tool]"]
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(cost([*score, traces]))
        theirs.append(cost([*decode, traces]).seconds - cost([*decode, few]).seconds)
    started = cost([*score, few]).seconds
    seconds = median([each.seconds for each in ours]) - started
    yield within(f"scoring {megabytes} MB of OTLP lines: orjson.loads", False, seconds, median(theirs), 2.5)
    peak = max(each.megabytes for each in ours)
    limit = f"{_MOST_MEGABYTES} MB"
    yield Line("  peak memory", "unread", f"{peak:.0f} MB", limit, peak / _MOST_MEGABYTES, f"≤ {limit}", 1.0)
