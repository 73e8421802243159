"""A run as one HTML file: what it costs to make, and how large it is."""

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from benchmarks.processes import cost
from benchmarks.rounds import Pace
from benchmarks.table import Line, under
from benchmarks.workers import Workers

_AGENT = '''
from rightcall.running.tracing import tool


@tool
def search(query: str, limit: int = 5) -> list:
    return [{"id": f"P{number:03}", "name": f"{query} {number}", "price": 9.5 * number} for number in range(limit)]


@tool
def details(product_id: str) -> dict:
    return {"id": product_id, "text": "What there is to say of it. " * 20}


@tool
def reserve(product_id: str) -> bool:
    return True


def answer(query: str) -> str:
    """Four calls, and nothing else."""
    found = search(query)
    details(found[0]["id"])
    details(found[1]["id"])
    reserve(found[1]["id"])
    return f"I reserved {found[1]['name']} for you."
'''
_CASES = 1_000
_RIGHT = "[search, {details: {product_id: P000}}, {details: {product_id: P001}}, {reserve: {product_id: P001}}]"
_WRONG = "[search, {details: {product_id: P001}}, {details: {product_id: P007}}, {book: {product_id: P001}}]"
_SECONDS, _MEGABYTES = 2.0, 5.0


def pages(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """`rightcall report RUN --format html=FILE` as a whole process, over runs of a thousand cases."""
    del workers
    yield partial(_report, "a tenth failed", 10, pace.slow_rounds)
    yield partial(_report, "all failed", 1, pace.slow_rounds)


def _report(what: str, every: int, rounds: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        command = [*_run(Path(folder), every), "--format", f"html={file}"]
        spent = median([cost(command).seconds for _ in range(max(3, rounds))])
        size = file.stat().st_size / 1e6
    yield under(f"one-file report of {_CASES:,} cases, {what}", None, spent, _SECONDS)
    limit = f"{_MEGABYTES:.0f} MB"
    yield Line("  size of the file", "–", f"{size:.2f} MB", limit, size / _MEGABYTES, f"≤ {limit}", 1.0)


def _run(folder: Path, every: int) -> list[str]:
    """The command that reports a run, which is made here, without what is to be written."""
    agent, evalset, runs = folder / "agent.py", folder / "cases.yaml", folder / "runs"
    agent.write_text(_AGENT)
    lines = [
        f"  - {{id: c{number}, input: {{query: q{number}}}, "
        f"expect: {{calls: {_RIGHT if number % every else _WRONG}, counts: {{search: 1}}}}}}\n"
        for number in range(_CASES)
    ]
    evalset.write_text("cases:\n" + "".join(lines))
    rightcall = [sys.executable, "-m", "rightcall"]
    cost([*rightcall, "run", "--workers", "2", "--runs", str(runs), f"{agent}:answer", str(evalset)], codes=(1,))
    return [*rightcall, "report", "last", "--runs", str(runs)]
