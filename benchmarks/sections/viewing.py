"""The web pages over runs: what a page of a large run costs, and whether many runs take more memory than few."""

import json
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

_MAKE = """
import sys
from pathlib import Path
from msgspec.structs import replace
from rightcall import Trajectory, load_eval_set
from rightcall.values.results import Aggregates, Tally, measures_of
from rightcall.reporting.store import create_run
from rightcall.cases.verdicts import judge

folder, runs, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
folder.mkdir(parents=True)
(folder / "shop.yaml").write_text(
    "cases: [{id: a, expect: {calls: [{search: {query: laptop}}, {reserve: {item: P001}}, pay], order: [search, pay]}}]"
)
[case] = load_eval_set(folder / "shop.yaml").cases
made = []
for item in ("P001", "P010"):
    named = [("search", {"query": "laptop"}), ("reserve", {"item": item}), ("pay", {})]
    calls = [
        {"name": name, "args": args, "output": {"ok": True}, "start_ns": place * 10**7, "end_ns": place * 10**7 + 10**6}
        for place, (name, args) in enumerate(named)
    ]
    made.append(judge(case, Trajectory.of(calls, input={"query": "laptop"}, output="done")))
for _ in range(runs):
    run = create_run(folder / "runs", agent="agent.py", evalset="shop.yaml", evalset_hash="0")
    journal, tally, aggregates = run.journal(), Tally(), Aggregates()
    for number in range(cases):
        result = replace(made[number % 4 == 0], case_id=f"case_{number}")
        journal.append(result, "digest")
        tally.add(result)
        aggregates.add(measures_of(result.results))
    journal.close()
    run.finish(tally.totals(), aggregates.by_evaluator(), 1.0, is_complete=True)
"""
_LOOK = """
import asyncio, json, sys
from pathlib import Path
from time import process_time
from rightcall.reporting.viewer import Hosts, Library, make_app

library = Library(Path(sys.argv[1]))
app = make_app(library, Hosts("127.0.0.1", 80))


def get(path, query=""):
    sent = []

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "root_path": "",
             "headers": [(b"host", b"127.0.0.1")]}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 200, sent
    return len(sent[1]["body"])


"""
_RUN_PAGE = """
page = f"/runs/{library.names()[0]}"
began = process_time()
get(page)
first, times = process_time() - began, []
for _ in range(int(sys.argv[2])):
    began = process_time()
    size = get(page)
    times.append(process_time() - began)
print(json.dumps({"first": first, "times": times, "size": size}))
"""
_ALL_LISTS = """
for number in range(-(-len(library.names()) // 50)):
    get("/", f"page={number + 1}")
"""
_CASES = 10_000
_RUNS = (10, 100, 1_000)
_LARGEST = 1_000_000


def viewer(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """Pages as the application makes them, without a network between."""
    del workers
    yield partial(_run_page, pace.rounds)
    yield partial(_memory, pace.slow_rounds)


def _run_page(rounds: int) -> Iterator[Line]:
    """The CPU time of a run's page, from the request to the last byte, and its size."""
    with tempfile.TemporaryDirectory() as folder:
        runs = _made(folder, 1, _CASES)
        told = json.loads(cost([sys.executable, "-c", _LOOK + _RUN_PAGE, runs, str(rounds)]).output)
    yield Line(f"page of a run of {_CASES:,} cases, first visit", "–", f"{told['first']:.2f} s", "")
    yield under("  after the first visit", None, median(told["times"]), 0.2)
    size = told["size"]
    yield Line("  its size", "–", f"{size / 1000:,.0f} kB", "1,000 kB", size / _LARGEST, "≤ 1,000 kB", 1.0)


def _memory(rounds: int) -> Iterator[Line]:
    """The peak of memory when every page of the list of runs has been looked at."""
    peaks = []
    for count in _RUNS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", _LOOK + _ALL_LISTS, _made(folder, count, 5)]
            peaks.append(median([cost(command).megabytes for _ in range(max(3, rounds))]))
    for count, peak in zip(_RUNS[1:], peaks[1:], strict=True):
        figure = f"  peak memory, {count:,} runs listed: {_RUNS[0]}"
        yield Line(figure, "–", f"{peak:.0f} MB", f"{peaks[0]:.0f} MB", peak / peaks[0], "≤ 1.1 ×", 1.1)


def _made(folder: str, runs: int, cases: int) -> str:
    """A folder with so many runs of so many cases each."""
    below = Path(folder) / "made"
    cost([sys.executable, "-c", _MAKE, str(below), str(runs), str(cases)])
    return str(below / "runs")
