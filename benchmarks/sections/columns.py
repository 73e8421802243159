"""Scoring tables of trajectories: against a bare loop over the same data, in bounded memory, in linear time."""

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from statistics import median

from benchmarks.figures import Figure
from benchmarks.processes import Cost, cost
from benchmarks.rounds import DisagreementError, Pace
from benchmarks.table import Line, faster, seconds, within
from benchmarks.tables import TOOLS, args_table, names_table
from benchmarks.workers import Workers

_MILLION = 1_000_000
_FEW = 1_000
_MOST_MEGABYTES = 400
_BATCHES = """
import sys, pyarrow.parquet as pq
batches = pq.ParquetFile(sys.argv[1]).iter_batches(32768, columns=["id", "calls"])
"""
_LOOP_OVER_NAMES = f"""{_BATCHES}
from rapidfuzz.distance import LCSseq
expected, scores = sys.argv[2].split(), []
for batch in batches:
    for names in batch.column("calls").to_pylist():
        scores.append(LCSseq.similarity(expected, names) / len(expected))
print(len(scores), sum(score == 1.0 for score in scores))
"""
_LOOP_OVER_CALLS = f"""{_BATCHES}
print(sum(len(batch.column("calls").to_pylist()) for batch in batches))
"""
_KERNEL = f"""{_BATCHES}
from time import process_time
from rightcall.scale.columns import Plan, score_batch
plan, spent = Plan.of_expectation(sys.argv[2]), 0.0
score_batch(next(pq.ParquetFile(sys.argv[1]).iter_batches(100, columns=["id", "calls"])), plan)
for batch in batches:
    begun = process_time()
    score_batch(batch, plan)
    spent += process_time() - begun
print(spent)
"""
_RIGHTCALL = f"""{_BATCHES}
from rightcall.scale.columns import Plan, score_batch
plan, rows, passed = Plan.of_expectation(sys.argv[2]), 0, 0
for batch in batches:
    scores = score_batch(batch, plan)
    rows, passed = rows + scores.num_rows, passed + scores.column("verdict").to_pylist().count("passed")
print(rows, passed)
"""


def columns(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """A million trajectories of ten calls in Parquet, in one process, and with two workers."""
    del workers
    rounds = pace.slow_rounds
    yield partial(_names, 5, rounds)
    yield partial(_names, 10, rounds)
    yield partial(_args, False, rounds)
    yield partial(_args, True, rounds)
    yield partial(_growth, rounds)
    yield partial(_two_workers, rounds)


def columns_10m(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """Ten times as many rows as a million, which takes minutes."""
    del workers, pace
    yield partial(_decade, _MILLION, 1)


def _names(expected: int, rounds: int) -> Iterator[Line]:
    table, few = names_table(_MILLION), names_table(_FEW)
    wanted = TOOLS[:expected]
    ours = [_above(_RIGHTCALL, table, few, f"order: [{', '.join(wanted)}]") for _ in range(rounds)]
    bare = [_above(_LOOP_OVER_NAMES, table, few, " ".join(wanted)) for _ in range(rounds)]
    if ours[0][0].output != bare[0][0].output:
        raise DisagreementError(f"{ours[0][0].output} and {bare[0][0].output}")
    name = f"order of {expected} names in {_MILLION:,} rows of ten: to_pylist and rapidfuzz"
    yield within(name, True, median(each for _, each in ours), median(each for _, each in bare), 1.3)
    yield _peak([each for each, _ in ours])


def _args(distinct: bool, rounds: int) -> Iterator[Line]:
    table, few = args_table(_MILLION, distinct=distinct), args_table(_FEW, distinct=distinct)
    wanted = ", ".join(f"{{name: {tool}, args: {{query: a}}}}" for tool in TOOLS[:3])
    ours = [_above(_RIGHTCALL, table, few, f"args: [{wanted}]") for _ in range(rounds)]
    bare = [_above(_LOOP_OVER_CALLS, table, few) for _ in range(rounds)]
    texts = "every text another" if distinct else "15 texts"
    name = f"arguments of 3 calls in {_MILLION:,} rows of ten, {texts}: to_pylist"
    yield within(name, True, median(each for _, each in ours), median(each for _, each in bare), 1.5)
    yield _peak([each for each, _ in ours])


def _growth(rounds: int) -> Iterator[Line]:
    yield from _decade(_MILLION // 10, rounds)


def _decade(rows: int, rounds: int) -> Iterator[Line]:
    """How much longer the kernel takes for ten times as many rows: neither less than 8 nor more than 12 times."""
    wanted = f"order: [{', '.join(TOOLS[:10])}]"
    pairs = [[_in_kernel(names_table(count), wanted) for count in (rows, 10 * rows)] for _ in range(rounds)]
    less, more = [median(each) for each in zip(*pairs, strict=True)]
    name = f"kernel's time for {10 * rows:,} rows: {rows:,}"
    yield Line(name, "read", seconds(more), seconds(less), more / less, "≤ 12 ×", 12.0)
    yield Line("  and no less than", "read", seconds(more), seconds(less), more / less, "≥ 8 ×", 8.0, "at least")


def _in_kernel(table: str, wanted: str) -> float:
    return float(cost([sys.executable, "-c", _KERNEL, table, wanted]).output)


def _two_workers(rounds: int) -> Iterator[Line]:
    """By the clock, because two workers spend no less CPU time than one."""
    table = args_table(_MILLION, distinct=True)
    one, two = [median(_command(table, workers).elapsed for _ in range(rounds)) for workers in (1, 2)]
    yield faster(f"{_MILLION:,} rows into files with two workers: one, by the clock", True, two, one, 1.7)


def _command(table: str, workers: int) -> Cost:
    wanted = ", ".join(f"{{name: {tool}, args: {{query: a}}}}" for tool in TOOLS[:3])
    with tempfile.TemporaryDirectory() as out:
        shared = ["--workers", str(workers), "--out", out, "--expect", f"args: [{wanted}]"]
        return cost([sys.executable, "-m", "rightcall", "score", table, *shared], codes=(0, 1))


def _above(script: str, table: str, few: str, *arguments: str) -> tuple[Cost, float]:
    """What a script costs, and its CPU time above that of a table of a few rows."""
    command = [sys.executable, "-c", script]
    whole = cost([*command, table, *arguments])
    return whole, whole.seconds - cost([*command, few, *arguments]).seconds


def _peak(spent: list[Cost]) -> Line:
    peak, limit = max(each.megabytes for each in spent), f"{_MOST_MEGABYTES} MB"
    return Line("  peak memory", "read", f"{peak:.0f} MB", limit, peak / _MOST_MEGABYTES, f"≤ {limit}", 1.0)
