"""`rightcall demo`: the example project, run as `rightcall run` would, and what Rightcall says of it, on one screen."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from textwrap import wrap
from typing import Any

import click

from rightcall.cases.evalsets import Case, load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import RightcallError, missing_package
from rightcall.reporting.reports import CaseBlock, concise_lines
from rightcall.reporting.store import open_run
from rightcall.running.project import load_configuration
from rightcall.values.results import CaseResult, EvaluationResult, call_text
from rightcall.values.trajectory import Trajectory

from ._init import AGENT_FILE, EXAMPLE_EVALSET, project_files
from ._output import Output, write_files
from ._terminal import Screen
from .run._request import RunRequest
from .run._run import Running

_QUESTIONS = {
    "calls": "the expected path?",
    "order": "in the right order?",
    "counts": "as often as they should be?",
    "args": "with the right arguments?",
    "outputs": "giving the right outputs?",
    "never": "nothing forbidden?",
    "output": "the right answer in the end?",
}
_FAILS_ON_PURPOSE = "reserve_two"
_COULD_NOT_MEASURE, _INTERRUPTED = 2, 130


@click.command(name="demo")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def command(folder: Path | None) -> int:
    """Run a small agent over its eval set, offline, and show the verdicts.

    The project is written to DIR, which must be empty or missing, else to a temporary folder.
    """
    _require_sdk()
    folder = _place(folder)
    write_files(folder, project_files())
    screen = Screen()
    screen.line("A shopping agent is run on four questions, offline; its rules stand in for a")
    screen.line("model. Does it make the right calls?\n")
    screen.line(("$ rightcall run", "bold"))
    with chdir(folder):
        code = _run()
        if code == _INTERRUPTED:
            return code
        is_as_meant = _tell(screen)
    if not is_as_meant:
        return _COULD_NOT_MEASURE
    _tell_next(screen, folder)
    return 0


def _require_sdk() -> None:
    try:
        is_there = find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise missing_package("the demo runs an agent, which needs opentelemetry-sdk")


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="rightcall-demo-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RightcallError(f"{folder} is not an empty folder; the demo overwrites nothing")
    return folder


def _run() -> int:
    """`rightcall run` in the project, with only the totals printed: what failed is explained below, at length."""
    configuration = load_configuration(Path.cwd(), lambda: ("agent", "evalset"))
    return Running(RunRequest(names=[], configuration=configuration, given=[]), _TotalsOnly()).run()


class _TotalsOnly(Output):
    """Prints nothing of single results."""

    def __init__(self) -> None:
        super().__init__({"formats": ["concise"]})

    def show(self, result: CaseResult) -> None:
        """Nothing."""


def _tell(screen: Screen) -> bool:
    """Print the outcome. Whether that is what the demo is meant to show, and no trouble of this machine."""
    cases = {case.id: case for case in load_eval_set(EXAMPLE_EVALSET).cases}
    found = {result.case_id: result for result in open_run("last").results()}
    results = [found[case_id] for case_id in cases]
    bad = [result for result in results if not result.passed]
    if [(result.case_id, result.verdict) for result in bad] != [(_FAILS_ON_PURPOSE, "failed")]:
        for line in [line for result in bad for line in concise_lines(CaseBlock(result))]:
            screen.line(line)
        return False
    _tell_verdicts(screen, results)
    _tell_path(screen, cases[_FAILS_ON_PURPOSE], bad[0])
    _tell_unrecorded(screen, cases[_FAILS_ON_PURPOSE], bad[0])
    return True


def _tell_verdicts(screen: Screen, results: list[CaseResult]) -> None:
    """Each expectation's question, score and verdict, case by case."""
    screen.line((f"\n    {'case':<13}what is asked                   score  verdict  expectation", "dim"))
    for result in results:
        case_id = result.case_id
        for one in result.results:
            screen.line(*_row(screen, case_id, one))
            case_id = ""
    screen.line()


def _row(screen: Screen, case_id: str, one: EvaluationResult) -> tuple[Any, ...]:
    mark, style = ("match", "green") if one.passed else ("failed", "red")
    score = f"{one.score:.2f}" if one.score is not None else "-"
    question = _QUESTIONS[one.evaluator]
    return (
        f"  {screen.mark(mark)} ",
        style,
    ), f"{case_id:<13}{question:<30} {score:>6}  {one.verdict:<8} {one.evaluator}"


def _tell_path(screen: Screen, case: Case, result: CaseResult) -> None:
    """Expected and actual calls side by side, and one sentence a problem."""
    [one], [check] = result.results, case.checks
    made = result.trajectory.calls if result.trajectory is not None else ()
    screen.line((f"    {case.id}: {case.input}", "bold"))
    screen.line((f"    {'expected':<37}  called", "dim"))
    for step in one.details.alignment.steps:
        expected, actual = _cell(step.expected, check.criteria.expected), _cell(step.actual, made)
        style = {"match": "green", "moved": "yellow"}.get(step.kind, "red")
        screen.line((f"  {screen.mark(step.kind)} ", style), f"{expected:<37}  {actual}".rstrip())
    for placed in result.findings:
        screen.line(f"\n    {placed.source}")
        first, *rest = wrap(placed.finding.message, 66)
        screen.line("    ", (placed.finding.code, "bold"), "  ", first)
        for line in rest:
            screen.line("           ", line)


def _cell(position: int | None, calls: Any) -> str:
    if position is None:
        return ""
    return f"{position + 1} {call_text(calls[position].name, calls[position].args, 35)}"


def _tell_unrecorded(screen: Screen, case: Case, result: CaseResult) -> None:
    """The same path from a trace that recorded names only."""
    names = [call.name for call in result.trajectory.calls] if result.trajectory is not None else []
    [one] = judge(case, Trajectory.of(names)).results
    screen.line(("\n    The same path, from a trace that recorded names only", "dim"))
    screen.line(f"  {screen.mark('not_measured')} {'':<13}{_QUESTIONS[one.evaluator]:<30} {'-':>6}  {one.verdict}")
    screen.line("    What was not recorded is not wrong, and not right either: there is no score.")


def _tell_next(screen: Screen, folder: Path) -> None:
    screen.line("\nThe project is in")
    screen.line(f"  {folder}")
    screen.line(f"where {EXAMPLE_EVALSET} says what is expected, {AGENT_FILE} has the mistake and")
    screen.line(".rightcall/runs the results. `rightcall explain RC104` says what the code means;")
    screen.line("in that folder `rightcall view` shows the run in the browser.")
    screen.line("\nNext, a project like it, to be fixed and changed:")
    if which("rightcall") is None and sys.prefix != sys.base_prefix:  # `make demo` does not activate the environment
        screen.line(f"  . {os.path.relpath(sys.prefix)}/bin/activate")
    name = "my-shop" if Path("shop").exists() else "shop"
    screen.line(f"  rightcall init {name} && cd {name} && rightcall run")
