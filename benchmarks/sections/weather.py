"""The weather sample through the command, as a whole process, with `uipath eval` on its own copy of it."""

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.environments import python_of, source_of
from benchmarks.figures import Figure
from benchmarks.processes import cost
from benchmarks.rounds import DisagreementError, Pace
from benchmarks.table import Line, within
from benchmarks.workers import Workers

_OURS = "examples/weather_tools"
_JUDGE = "TrajectoryEvaluator"
_CASES = 5


def weather(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """Five cases with evaluators of order, counts, arguments and outputs; the judge of UiPath's sample is left out."""
    del workers
    yield partial(_whole_command, pace.slow_rounds)


def _whole_command(rounds: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        sample = _their_sample(Path(folder))
        runs = str(Path(folder) / "runs")
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(_run_ours(runs))
            theirs.append(_run_theirs(sample))
    yield within("the weather sample, whole command: uipath eval", False, median(ours), median(theirs), 0.5)


def _run_ours(runs: str) -> float:
    files = [f"{_OURS}/main.py", f"{_OURS}/evaluations/eval-sets/default.json"]
    spent = cost([sys.executable, "-m", "rightcall", "run", *files, "--workers", "1", "--runs", runs])
    if f"{_CASES} passed in" not in spent.output:
        raise DisagreementError(f"our sample does not pass: {spent.output[-200:]}")
    return spent.seconds


def _run_theirs(sample: Path) -> float:
    command = [str(python_of("uipath")), "-c", "from uipath._cli import cli; cli()", "eval", "main"]
    found = sample / "results.json"
    options = ["--workers", "1", "--no-report", "--output-file", str(found)]
    spent = cost([*command, "evaluations/eval-sets/default.json", *options], folder=sample)
    scores = [each["result"]["score"] for case in _results(found) for each in case["evaluationRunResults"]]
    if len(_results(found)) != _CASES or set(scores) != {1.0}:
        raise DisagreementError(f"UiPath's sample does not pass: {spent.output[-200:]}")
    return spent.seconds


def _results(path: Path) -> list[dict[str, list[dict[str, dict[str, float]]]]]:
    return list(json.loads(path.read_text())["evaluationSetResults"])


def _their_sample(folder: Path) -> Path:
    """UiPath's own sample, from its source distribution, without the evaluator that asks a model."""
    with tarfile.open(source_of("uipath")) as source:
        source.extractall(folder, filter="data")
    [sample] = folder.glob("*/samples/weather_tools")
    path = sample / "evaluations" / "eval-sets" / "default.json"
    written = json.loads(path.read_text())
    written["evaluatorRefs"].remove(_JUDGE)
    for case in written["evaluations"]:
        case["evaluationCriterias"].pop(_JUDGE, None)
    path.write_text(json.dumps(written))
    return sample
