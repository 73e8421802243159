"""What loading a large eval set costs, over decoding the file alone."""

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
from benchmarks.table import Line, number, seconds, within
from benchmarks.workers import Workers

_MANY = 10_000
_MOST = 25.0
_MEGABYTES = 150.0
_MADE = """
import json, sys
def different(n):
    calls = [
        {"name": "search_flights", "args": {"to": f"city {n}", "people": n % 7}},
        {"name": "book_hotel", "args": {"nights": n % 5 + 1}},
    ]
    return {"calls": calls, "never": ["delete_user"], "counts": {"charge_card": 1}}
def equal(n):
    return {"order": ["search_flights", "book_hotel", "charge_card"], "counts": {"charge_card": 1}}
expect = {"different": different, "equal": equal}[sys.argv[1]]
cases = [{"id": f"case-{n}", "input": f"a trip to city {n}", "expect": expect(n)} for n in range(int(sys.argv[2]))]
json.dump({"cases": cases}, open(sys.argv[3], "w"))
"""
# Both in one process, one after the other: what else runs on the machine hits both.
_LOADED = """
import json, sys, time
from rightcall import load_eval_set
def seconds(load):
    start = time.process_time()
    load()
    return time.process_time() - start
load_eval_set(sys.argv[2])
rounds = int(sys.argv[3])
def decoded():
    with open(sys.argv[1]) as file:
        json.load(file)
print(json.dumps([(seconds(lambda: load_eval_set(sys.argv[1])), seconds(decoded)) for _ in range(rounds)]))
"""
_ONCE = "import sys; from rightcall import load_eval_set; load_eval_set(sys.argv[1])"


def eval_sets(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """CPU time of an eval set of 10,000 cases, and of ten times as many; peak of memory."""
    del workers
    for kind in ("different", "equal"):
        yield partial(_loading, kind, pace.rounds)


def _loading(kind: str, rounds: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        few, many, more = [_made(kind, size, Path(folder)) for size in (100, _MANY, 10 * _MANY)]
        ours, bare = _times(many, few, rounds)
        yield within(f"JSON eval set of {_MANY:,} cases with {kind} expectations: json.load", False, ours, bare, _MOST)
        held = cost([sys.executable, "-c", _ONCE, many]).megabytes
        limit = f"{_MEGABYTES:.0f} MB"
        yield Line("its peak of memory", "–", f"{held:.0f} MB", limit, held / _MEGABYTES, f"≤ {limit}", 1.0)
        large, _ = _times(more, few, 1)
        yield Line("100,000 cases: 10,000", "–", seconds(large), seconds(ours), large / ours, f"≤ {number(12)} ×", 12.0)


def _made(kind: str, size: int, folder: Path) -> str:
    path = str(folder / f"{kind}-{size}.json")
    cost([sys.executable, "-c", _MADE, kind, str(size), path])
    return path


def _times(path: str, first: str, rounds: int) -> tuple[float, float]:
    printed = cost([sys.executable, "-c", _LOADED, path, first, str(rounds)]).output
    both = json.loads(printed)
    return median(ours for ours, _ in both), median(bare for _, bare in both)
