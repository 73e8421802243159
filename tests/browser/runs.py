"""Runs to look at: real ones of the examples and of a new project, a large one, and one that takes its time."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.hostile.results import write_run
from tests.processes import rightcall

from rightcall import CaseResult, ToolCall, Trajectory, judge, load_eval_set
from rightcall.cases.verdicts import error_result
from rightcall.reporting.store import RunFolder, list_runs, open_run
from rightcall.values.results import Outcome

EXAMPLES = Path(__file__).parents[2] / "examples"
LARGE = 10_000
SLOW_AGENT = """
import time
from pathlib import Path
from rightcall import tool

@tool
def look(question: str) -> str:
    while not Path(question).exists():
        time.sleep(0.02)
    return question

def answer(question: str) -> str:
    return look(question)
"""
_SHOP = """
cases:
  - id: shop
    input: Reserve a laptop
    expect:
      calls:
        - search_products: {query: laptop}
        - check_inventory: {product_id: P001}
        - reserve_item: {product_id: P001, quantity: 2}
      order: [search_products, reserve_item]
"""
_MILLISECOND = 1_000_000


def made_once(shared: Path, make: Callable[[Path], object]) -> Path:
    """A folder with what `make` puts into it; all test processes have the same, and one of them makes it."""
    shared.mkdir(exist_ok=True)
    with open(shared / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            make(shared)
            (shared / "made").touch()
    return shared


def write_example_runs(folder: Path) -> None:
    """The runs of the examples; then a new project's: one fixed, and two as `rightcall init` leaves it."""
    runs = f"--runs={folder / 'runs'}"
    project, shop, weather = folder / "shop", EXAMPLES / "shopping_agent", EXAMPLES / "weather_tools"
    with ThreadPoolExecutor() as pool:
        waiting: list[Future[Any]] = [
            pool.submit(_ran, weather, "main.py", "evaluations/eval-sets/default.json", runs),
            pool.submit(_ran, shop, "agent.py:answer", "evals/conversations.yaml", runs),
            pool.submit(_ran, shop, "agent.py:answer", "evals/shop.yaml", runs),
            pool.submit(rightcall, "init", str(project)),
        ]
    for each in waiting:
        each.result()
    agent = project / "shop_agent.py"
    written = agent.read_text(encoding="utf-8")
    agent.write_text(written.replace("quantity = 1  #", "quantity = _wanted(text)  #"), encoding="utf-8")
    _ran(project, "--workers=1", runs)
    agent.write_text(written, encoding="utf-8")
    for _ in range(2):
        _ran(project, "--workers=1", runs)


def project_runs(folder: Path) -> list[RunFolder]:
    """The runs of the new project among the example runs: the fixed one, then the two that fail."""
    return [open_run(str(each)) for each in list_runs(folder / "runs")[-3:]]


def write_large_run(folder: Path) -> None:
    """A run of 10,000 cases: of every ten seven pass, two fail in two ways, and one is an error."""
    write_run(folder / "runs", _large_results(folder), "evals/shop.yaml")


@contextmanager
def slow_run(folder: Path, count: int) -> Iterator[tuple[Path, list[Path]]]:
    """A run that goes on while it is looked at: its runs' folder, and files of which each lets one case end."""
    gates = [folder / f"gate{number}" for number in range(count)]
    cases = [
        f"  - {{id: case{number}, input: '{gate}', expect: {{calls: [look]}}}}" for number, gate in enumerate(gates)
    ]
    (folder / "slow.yaml").write_text("\n".join(["cases:", *cases]), encoding="utf-8")
    (folder / "agent.py").write_text(SLOW_AGENT, encoding="utf-8")
    command = [sys.executable, "-m", "rightcall", "run", "agent.py:answer", "slow.yaml", "--workers=1", "--runs=runs"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield folder / "runs", gates
        finally:
            process.terminate()
            process.wait(30)


def _ran(folder: Path, *arguments: str) -> None:
    done = rightcall("run", *arguments, cwd=folder, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode in (0, 1), done.stderr


def _large_results(folder: Path) -> Iterator[CaseResult]:
    (folder / "shop.yaml").write_text(_SHOP, encoding="utf-8")
    [case] = load_eval_set(os.path.relpath(folder / "shop.yaml")).cases
    right = _path("search_products", "check_inventory", "reserve_item")
    outcome = Outcome(seconds=0.8, cause="raised", error="the agent raised KeyError: 'P009'")
    passed = replace(judge(case, right), outcome=Outcome(seconds=0.4))
    missing = replace(judge(case, _path("search_products", "check_inventory")), outcome=Outcome(seconds=0.3))
    other = replace(judge(case, _path(*right.names, quantity=1)), outcome=Outcome(seconds=0.5))
    wrong = replace(error_result(case, outcome, _path("search_products")), outcome=outcome)
    kinds = (passed, passed, missing, passed, passed, other, passed, passed, wrong, passed)
    for number in range(LARGE):
        yield replace(kinds[number % 10], case_id=f"case_{number:05}")


def _path(*names: str, quantity: int = 2) -> Trajectory:
    """Calls as they should be, but for the quantity, one after the other."""
    args: dict[str, dict[str, object]] = {
        "search_products": {"query": "laptop"},
        "check_inventory": {"product_id": "P001"},
        "reserve_item": {"product_id": "P001", "quantity": quantity},
    }
    calls = [
        ToolCall(
            name, args[name], {"ok": True}, start_ns=at * 100 * _MILLISECOND, end_ns=(at * 100 + 80) * _MILLISECOND
        )
        for at, name in enumerate(names)
    ]
    return Trajectory(calls=tuple(calls), input="Reserve a laptop", output="I reserved 2 × Pro Laptop for you.")
