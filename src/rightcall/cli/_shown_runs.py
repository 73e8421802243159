"""A run's cases as `rightcall show` shows traces, each after its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from rightcall.errors import StoreError, shown
from rightcall.reporting.reports import Paper, diagnosis, escape_commands_in_json, headline, trajectory_lines
from rightcall.reporting.store import RUNS, RunFolder, open_run
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult
from rightcall.values.trajectory import Trajectory

from ._terminal import Screen


def run_named(name: str, runs: str | None, *, is_meant: bool) -> RunFolder | None:
    """The run that a name stands for; none where it is the name of something else.

    A file is no run, and neither is a folder, unless it is a run's own. A name of nothing on the disk is a run's if
    there is such a run.

    Raises:
        StoreError: it is meant to be a run, and there is none, or it cannot be read.
    """
    path = Path(name)
    if name == "-" or (path.exists() and not (path / "run.json").is_file()):
        return None
    try:
        return open_run(name, RUNS if runs is None else Path(runs))
    except StoreError:
        if is_meant or runs is not None or path.exists():
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


def json_line(key: str, name: str, trajectory: Trajectory) -> str:
    """A trajectory with everything as one line of JSON, and what it is known by."""
    document = msgspec.to_builtins(trajectory)
    for call in document["calls"]:
        call["unrecorded"].sort()
    return escape_commands_in_json(dump_json({key: name, **document}))


def _show(screen: Screen, paper: Paper, result: CaseResult, run: RunFolder) -> None:
    for line in (headline(result, paper), *diagnosis(result, paper)):
        screen.line(*line)
    screen.line()
    if result.trajectory is None:
        screen.line("no calls were recorded")
        return
    for line in trajectory_lines(result.trajectory, f"{result.case_id}, run {run.short_id}", paper):
        screen.line(*line)
