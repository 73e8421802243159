"""Running an agent over an eval set: what each case costs, what waiting together saves, what is kept in memory."""

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic

from benchmarks.figures import Figure
from benchmarks.processes import cost
from benchmarks.rounds import Pace
from benchmarks.table import Line, faster, under
from benchmarks.workers import Workers

_AGENT = '''
import asyncio

from rightcall.running.tracing import tool


@tool
def search(query: str) -> dict:
    return {"found": [query]}


@tool
def price(item: str) -> int:
    return len(item)


def answer(query: str) -> str:
    """Four calls, and nothing else."""
    search(query)
    price("P001")
    price("P002")
    search("more")
    return "done"


async def wait(query: str) -> str:
    await asyncio.sleep(0.05)
    return "done"
'''
_CALLS = "[search, price, price, search]"
_FEW, _MANY = 200, 1_200
_WAITING = 1_000


def runner(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """`rightcall run` as whole processes, the workers' time with the parent's."""
    del workers
    yield partial(_overhead, pace.slow_rounds)
    yield _together
    yield partial(_memory, pace.slow_rounds)


def _overhead(rounds: int) -> Iterator[Line]:
    """CPU time per case above that of reading the case: more cases less fewer, and the same for `check`."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = _evalset(folder, _FEW, _CALLS), _evalset(folder, _MANY, _CALLS)
        spent = [
            cost([*_run(folder, "answer"), many]).seconds
            - cost([*_run(folder, "answer"), few]).seconds
            - cost([*_rightcall(), "check", many]).seconds
            + cost([*_rightcall(), "check", few]).seconds
            for _ in range(max(3, rounds))
        ]
    yield under("a case of four calls, worker and parent", None, median(spent) / (_MANY - _FEW), 0.001)


def _together() -> Iterator[Line]:
    """Wall time, because waiting takes no other."""
    with tempfile.TemporaryDirectory() as folder:
        evalset = _evalset(folder, _WAITING, "[]")
        command = [*_run(folder, "wait", "2"), evalset]
        together = _wall([*command, "--concurrency", "50"])
        apart = _wall([*command, "--concurrency", "1", "--workers", "1"])
    yield faster(f"{_WAITING:,} cases that wait 50 ms, 50 at once: one after another", False, together, apart, 30)


def _memory(rounds: int) -> Iterator[Line]:
    """Peak memory of twenty times as many results of the same cases."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*_run(folder, "answer"), _evalset(folder, _FEW, _CALLS), "--repeat"]
        once = median([cost([*command, "1"]).megabytes for _ in range(max(3, rounds))])
        often = cost([*command, "20"]).megabytes
    yield Line(
        "  peak memory, 4,000 results: 200", "–", f"{often:.0f} MB", f"{once:.0f} MB", often / once, "≤ 1.1 ×", 1.1
    )


def _rightcall() -> list[str]:
    return [sys.executable, "-m", "rightcall"]


def _run(folder: str, entry: str, workers: str = "1") -> list[str]:
    agent = Path(folder) / "agent.py"
    agent.write_text(_AGENT)
    return [*_rightcall(), "run", "--workers", workers, "--runs", str(Path(folder) / "runs"), f"{agent}:{entry}"]


def _evalset(folder: str, cases: int, calls: str) -> str:
    path = Path(folder) / f"cases-{cases}.yaml"
    lines = [f"  - {{id: c{n}, input: {{query: q{n}}}, expect: {{calls: {calls}}}}}\n" for n in range(cases)]
    path.write_text("cases:\n" + "".join(lines))
    return str(path)


def _wall(command: list[str]) -> float:
    began = monotonic()
    cost(command)
    return monotonic() - began
