"""How fast paths are counted, and how often drift is told: a million rows, and simulated runs.

    python -m benchmarks.paths --rows 1000000
    python -m benchmarks.paths --simulate 300

The first counts the paths of a table of trajectories and, in the same process, what that takes at least: the names
encoded by `dictionary_encode`, and a bare loop that puts the calls of each row into a `Counter`. The second compares
two sets of runs of one simulated agent, which loops now and then, by `rightcall paths --against`. Both end with 1 where
a promise is broken: more than twice the time of the bare loop or 400 MB of memory, a line in more than 6 % of the
comparisons without a change, or five points more at 5,000 runs each that are found in fewer than 90 %.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from rightcall.reporting.paths import Drift, PathCounts, drift, overview
from rightcall.scale.lake import count_paths

_MOST_TIME = 2.0
_MOST_MEMORY = 400
_MOST_ALARMS = 0.06
_LEAST_FOUND = 0.90
_BATCH = 16_384
_PATHS = 6_000
_TOOLS = tuple([f"tool_{number}" for number in range(20)])


class Row(NamedTuple):
    """One line of the table of drift: how many runs on each side, and how many points more call another tool."""

    runs: int
    points: int


ROWS = (Row(1_000, 0), Row(5_000, 0), Row(1_000, 5), Row(5_000, 5), Row(5_000, 2))


def write_table(path: Path, rows: int) -> None:
    """Write so many trajectories, of which a few paths are common and thousands rare."""
    chance = random.Random(1)
    routes = [[_tool(chance) for _ in range(chance.randrange(4, 16))] for _ in range(_PATHS)]
    weights = [1 / (place + 1) for place in range(_PATHS)]
    calls = pa.list_(pa.struct([("name", pa.string())]))
    held = pa.array([[{"name": name} for name in route] for route in routes], calls)
    with parquet.ParquetWriter(path, pa.schema([("id", pa.string()), ("calls", calls)])) as writer:
        for first in range(0, rows, 100_000):
            drawn = chance.choices(range(_PATHS), weights, k=min(100_000, rows - first))
            ids = pa.array([f"run-{first + number}" for number in range(len(drawn))])
            writer.write_table(pa.table({"id": ids, "calls": held.take(pa.array(drawn, pa.int32()))}))


def bare(path: Path) -> Counter[tuple[int, ...]]:
    """Count the paths of a table with nothing around it: the least that it takes."""
    found: Counter[tuple[int, ...]] = Counter()
    for batch in parquet.ParquetFile(path).iter_batches(_BATCH, columns=["calls"], use_threads=False):
        calls = batch.column("calls")
        numbers = calls.values.field("name").dictionary_encode().indices.to_pylist()
        found.update([tuple(numbers[begin:end]) for begin, end in pairwise(calls.offsets.to_pylist())])
    return found


def measure(rows: int, rounds: int) -> list[str]:
    """Print the times of both, in turns, and return the promises that are broken."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.parquet"
        write_table(path, rows)
        pairs = [(_seconds(lambda: _ours(path)), _seconds(lambda: bare(path))) for _ in range(rounds)]
    ours, least = [sorted(times)[rounds // 2] for times in zip(*pairs, strict=True)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{rows:,} rows: {ours:.2f} s, bare {least:.2f} s, ratio {ours / least:.2f}, {memory:,} MB")
    broken = [f"{ours / least:.2f} × the bare loop, and at most {_MOST_TIME}"] if ours > _MOST_TIME * least else []
    return broken + ([f"{memory:,} MB, and at most {_MOST_MEMORY}"] if memory > _MOST_MEMORY else [])


def simulate(row: Row, times: int) -> tuple[float, float]:
    """Return in which share of comparisons there is a line, and in which the change is among them."""
    chance = random.Random(str(row))
    lines = found = 0
    for _ in range(times):
        told = drift(_agent(chance, row.runs, 0), _agent(chance, row.runs, row.points))
        lines += bool(told.count)
        found += _is_found(told)
    return lines / times, found / times


def _is_found(told: Drift) -> bool:
    return any("escalate" in each.feature.steps for each in told.shifts)


def _agent(chance: random.Random, runs: int, points: int) -> PathCounts:
    """Runs of an agent that searches, checks and books; some loop, some stop early, and 20 % (or more) escalate."""
    counts = PathCounts()
    for _ in range(runs):
        route = ["search"] * _times(chance) + ["details"] * (chance.random() < 0.6) + ["check"]
        if chance.random() < 0.85:
            route += ["reserve"] * (1 + (chance.random() < 0.05))
        if chance.random() < 0.2 + points / 100:
            route.append("escalate")
        route += ["mail"] * (chance.random() < 0.3)
        counts.add_route(tuple(route), (0, 0, 1))
    return counts


def _times(chance: random.Random) -> int:
    """How often a run searches: once or twice, and a few runs dozens of times."""
    return chance.randrange(10, 60) if chance.random() < 0.02 else 1 + (chance.random() < 0.3)


def _tool(chance: random.Random) -> str:
    return _TOOLS[min(len(_TOOLS) - 1, int(chance.expovariate(0.2)))]


def _ours(path: Path) -> None:
    counts = PathCounts()
    count_paths([str(path)], counts)
    overview(counts)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def drift_table(times: int, chosen: Sequence[int] | None) -> Iterator[str]:
    """Print the table of drift, and yield the promises that are broken."""
    print("| runs on each side | change | with a line | change found |")
    print("| ---: | ---: | ---: | ---: |")
    for number, row in enumerate(ROWS, start=1):
        if chosen and number not in chosen:
            continue
        lines, found = simulate(row, times)
        change = f"+{row.points} points" if row.points else "none"
        print(f"| {row.runs:,} | {change} | {lines:.1%} | {f'{found:.1%}' if row.points else ''} |", flush=True)
        if not row.points and lines > _MOST_ALARMS:
            yield f"row {number}: a line in {lines:.1%}, and at most {_MOST_ALARMS:.0%} are promised"
        if row == Row(5_000, 5) and found < _LEAST_FOUND:
            yield f"row {number}: found in {found:.1%}, and at least {_LEAST_FOUND:.0%} are promised"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; return 1 where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paths", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, metavar="N", help="count the paths of a table of so many rows")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is measured")
    parser.add_argument("--simulate", type=int, metavar="N", help="compare simulated runs so many times a row")
    parser.add_argument("--row", type=int, action="append", help="only this row of the simulation; repeatable")
    asked = parser.parse_args(arguments)
    broken = measure(asked.rows, asked.rounds) if asked.rows else []
    broken += list(drift_table(asked.simulate, asked.row)) if asked.simulate else []
    for problem in broken:
        print(problem, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
