"""A run's cases as `rightcall show` shows traces, each after its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rightcall.errors import StoreError, shown
from rightcall.reporting.reports import Paper, diagnosis, headline, trajectory_lines
from rightcall.reporting.store import RunFolder, open_run
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult

from .._stored import runs_folder
from .._terminal import Screen
from ._traces import json_line


def run_named(name: str, runs: str | None, *, is_meant: bool) -> RunFolder | None:
    """Return the run of a name; none if there is no such run, and it may be the name of something else.

    Raises:
        StoreError: it is meant to be a run, and there is none, or it cannot be read.
    """
    try:
        return open_run(name, runs_folder(runs))
    except StoreError:
        if is_meant or runs is not None or Path(name).exists():
            raise
        return None


def show_run(run: RunFolder, globs: Sequence[str], *, full: bool, as_json: bool, redacts: bool) -> int:
    """Show the cases of a run whose ids match one of the globs, or all of them; without secrets if it `redacts`.

    Raises:
        StoreError: there is no such case, or the run cannot be read.
    """
    screen = Screen()
    paper = screen.paper(full=full)
    count = 0
    for result in run.results():
        if globs and not any(fnmatchcase(result.case_id, glob) or result.case_id == glob for glob in globs):
            continue
        if redacts:
            result = redacted(result)
        if as_json:
            if result.trajectory is not None:
                print(json_line("case_id", result.case_id, result.trajectory))
        else:
            if count:
                screen.line()
            _show(screen, paper, result, run)
        count += 1
    if not count:
        wanted = f"no case {shown(globs[0])}" if globs else "no cases"
        raise StoreError(f"{wanted} in the run {run.short_id} of {run.header.evalset}")
    return 0


def _show(screen: Screen, paper: Paper, result: CaseResult, run: RunFolder) -> None:
    for line in (headline(result, paper), *diagnosis(result, paper)):
        screen.line(*line)
    screen.line()
    if result.trajectory is None:
        screen.line("no calls were recorded")
        return
    for line in trajectory_lines(result.trajectory, f"{result.case_id}, run {run.short_id}", paper):
        screen.line(*line)
