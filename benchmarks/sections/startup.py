"""What starting Rightcall costs above starting Python."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.environments import ROOT
from benchmarks.figures import Figure
from benchmarks.processes import beside_yardstick, cost
from benchmarks.rounds import Pace
from benchmarks.table import Line, under
from benchmarks.workers import Workers

_FIRST_EVALUATION = """
import rightcall
trajectory = rightcall.Trajectory.of(["search", "read", "answer"])
evaluator = rightcall.ToolCallOrderEvaluator(id="order", config={"strict": False})
criteria = evaluator.criteria({"tool_calls_order": ["search", "answer", "read"]})
assert 0.6 < evaluator.evaluate(trajectory, criteria).score < 0.7
"""
_PYTEST = """
import os, pytest, sys, tempfile
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
with tempfile.TemporaryDirectory() as folder:
    ended = pytest.main(["-q", "-c", os.devnull, "--rootdir", folder, folder, *sys.argv[1:]])
sys.exit(ended != pytest.ExitCode.NO_TESTS_COLLECTED)
"""
_LOADED = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


_TRIP = ["docs/examples/trip.json"]


def startup(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """CPU time of fresh processes above bare Python, and what an import loads."""
    del workers
    commands = (
        ("import rightcall", 0.05, [sys.executable, "-c", "import rightcall"]),
        ("rightcall --help", 0.08, [*_command(), "--help"]),
        ("import and first evaluation", 0.30, [sys.executable, "-c", _FIRST_EVALUATION]),
    )
    for name, limit, command in commands:
        bare = [sys.executable, "-c", "pass"]
        yield partial(_above, f"{name}, above bare Python", limit, command, bare, pace.startup_rounds)
    for name, limit, arguments, code in (
        ("rightcall score FILE", 0.15, ["score", *_TRIP, "--evalset", "docs/examples/trip.yaml"], 1),
        ("rightcall score --help", 0.07, ["score", "--help"], 0),
        ("rightcall show FILE", 0.10, ["show", *_TRIP], 0),
    ):
        yield partial(_scaled, name, limit, [*_command(), *arguments], code, pace.startup_rounds)
    # A module without hooks for comparison: `-p` with whatever name makes pytest look through all installed packages,
    # which it does anyway where plugins are found by themselves.
    pytest = [sys.executable, "-c", _PYTEST, "-p", "no:cacheprovider", "-p"]
    plugin, other = [*pytest, "rightcall.testing.pytest_plugin"], [*pytest, "keyword"]
    yield partial(_above, "pytest with the plugin, above an empty one", 0.01, plugin, other, 3 * pace.startup_rounds)
    yield _third_party


def _above(figure: str, limit: float, command: list[str], bare: list[str], rounds: int) -> Iterator[Line]:
    cost(command)  # The first start compiles bytecode and fills the disk's cache.
    above = [cost(command).seconds - cost(bare).seconds for _ in range(rounds)]
    yield under(figure, None, max(0.0, median(above)), limit)


def _scaled(name: str, limit: float, command: list[str], code: int, rounds: int) -> Iterator[Line]:
    yield beside_yardstick(name, limit, command, code, rounds)


def _command() -> list[str]:
    script = Path(sys.executable).with_name("rightcall")
    return [str(script)] if script.exists() else [sys.executable, "-m", "rightcall"]


def _third_party() -> Iterator[Line]:
    own = _modules("import rightcall; ") - _modules("") - sys.stdlib_module_names - {"rightcall"}
    names = ", ".join(sorted(own)) or "none"
    yield Line("third-party modules loaded by import rightcall", "–", names, "none", float(len(own)), "≤ 0", 0.0)


def _modules(before: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", before + _LOADED], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return set(json.loads(done.stdout))
