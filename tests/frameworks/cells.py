"""The cells of the matrix: how the conversation was had, and how it is judged."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from tests.targets import end_marked, fresh_mark

from rightcall.cli.score import command as score

from .judging import Judged, judged

ROOT = Path(__file__).resolve().parents[2]
EVALS = Path(__file__).parent / "evals"
FORMS = ("plain", "turns", "whole")
"""What `drive.py` records: what the framework gives back, a trace for each turn, one trace."""
FILES = (*FORMS, "instrumented")
"""What it writes; `instrumented` is what the framework gave back while `turns` was recorded."""
SECONDS = 240


class CellFailedError(Exception):
    """A process of a cell could not do its work."""


def scored_log(recorded: Mapping[str, Path], folder: Path) -> Judged:
    """The log of messages after the last turn, scored as a conversation."""
    log = folder / "log.json"
    log.write_text(json.dumps(json.loads(recorded["plain"].read_text("utf-8"))[-1]["messages"]), "utf-8")
    return _scored(log, "conversation", folder)


def scored_turns(recorded: Mapping[str, Path], folder: Path) -> Judged:
    """A trace for each turn, scored as a conversation."""
    return _scored(recorded["turns"], "conversation", folder)


def scored_alone(recorded: Mapping[str, Path], folder: Path) -> Judged:
    """A trace for each turn, each scored by itself."""
    return _scored(recorded["turns"], "requests", folder, "--group-by", "trace")


def scored_whole(recorded: Mapping[str, Path], folder: Path) -> Judged:
    """One trace with all turns in it, scored as a conversation."""
    return _scored(recorded["whole"], "conversation", folder)


RECORDED: dict[str, Callable[[Mapping[str, Path], Path], Judged]] = {
    "recorded: message log": scored_log,
    "recorded: a trace a turn": scored_turns,
    "recorded: each trace alone": scored_alone,
    "recorded: one trace": scored_whole,
}
RUN = {"run": False, "run, instrumented": True}
"""The cells in which Rightcall runs the agent, and whether the agent is instrumented in them."""


def run(python: Path, agent: str, variables: Mapping[str, str], folder: Path) -> Judged:
    """The agent run by Rightcall in the environment of its framework."""
    report = folder / "report.json"
    evalset = EVALS / "conversation.yaml"
    options = ("--workers", "1", "--timeout", "120", "--runs", str(folder / "runs"), "--format", f"json={report}")
    carry_out([str(python), "-m", "rightcall", "run", agent, str(evalset), *options], variables, (0, 1, 2))
    if not report.exists():
        raise CellFailedError(f"rightcall run {agent}: no report was written")
    return judged(_cases(report))


def carry_out(command: Sequence[str], variables: Mapping[str, str], codes: Sequence[int] = (0,)) -> str:
    """What a command prints. It is ended with all that it started when its time is up.

    Raises:
        CellFailedError: it took too long, or ended with another exit code.
    """
    mark = fresh_mark()
    with subprocess.Popen(
        command,
        env={**os.environ, **variables, **mark, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        cwd=ROOT,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise CellFailedError(f"{' '.join(command)} took longer than {SECONDS} s") from None
        finally:
            process.kill()
            end_marked(mark)
    if process.returncode not in codes:
        raise CellFailedError(f"{' '.join(command)} ended with {process.returncode}:\n{printed[-2000:]}")
    return printed


def _scored(traces: Path, evalset: str, folder: Path, *options: str) -> Judged:
    return judged([case for tag in ("right", "wrong") for case in _scored_as(tag, traces, evalset, folder, options)])


def _scored_as(tag: str, traces: Path, evalset: str, folder: Path, options: Sequence[str]) -> list[Any]:
    report = folder / f"{traces.stem}-{evalset}-{tag}.report"
    chosen = ["--evalset", str(EVALS / f"{evalset}.yaml"), "--tag", tag, "--workers", "1", *options]
    done = CliRunner().invoke(score, [str(traces), *chosen, "--format", f"json={report}"], standalone_mode=False)
    if done.exception is not None:
        raise CellFailedError(f"rightcall score {traces.name} --evalset {evalset}: {done.exception!r}")
    return _cases(report)


def _cases(report: Path) -> list[Any]:
    cases: list[Any] = json.loads(report.read_text("utf-8"))["cases"]
    return cases
