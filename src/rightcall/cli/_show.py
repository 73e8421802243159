"""`rightcall show`: which calls are in these traces."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from rightcall.errors import RightcallError
from rightcall.reporting.reports import trajectory_lines
from rightcall.values.redaction import redacted_trajectory
from rightcall.values.trajectory import Trajectory

from ._errors import print_error
from ._options import STANDARD_INPUT, no_redact_option, reading_of, reading_options, trace_files
from ._shown_runs import json_line, run_named, show_run
from ._terminal import Screen

_EXIT_COULD_NOT_SHOW = 2


@click.command(name="show")
@click.argument("traces", nargs=-1, required=True)
@reading_options
@click.option("--together", is_flag=True, help="Read the files as one: log records beside their spans.")
@click.option("--full", is_flag=True, help="Show arguments and outputs whole.")
@click.option("--json", "as_json", is_flag=True, help="Write each trajectory as one line of JSON, with everything.")
@click.option("--case", "cases", multiple=True, metavar="GLOB", help="Of a run, only cases whose id matches.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@no_redact_option
def command(
    traces: tuple[str, ...],
    together: bool,
    full: bool,
    as_json: bool,
    cases: tuple[str, ...],
    runs: str | None,
    no_redact: bool,
    **options: Any,
) -> int:
    """Show which calls are in TRACES: the tree, the timing, and what was not recorded.

    TRACES are files with traces or logs of messages, in any format, or folders of them; - is standard input. A run of
    `rightcall run` can be shown as well, by its folder, the beginning of its id, a branch or `last`: each case, and
    what is wrong with it.
    """
    if together and STANDARD_INPUT in traces:
        raise click.UsageError("standard input is read by itself; with --together, give files")
    run = run_named(traces[0], runs, is_meant=bool(cases)) if len(traces) == 1 else None
    if run is not None:
        return show_run(run, cases, full=full, as_json=as_json, redacts=not no_redact)
    if cases:
        raise click.UsageError("--case chooses cases of one run; give its folder, the beginning of its id, or last")
    traces = tuple(trace_files(traces))
    show = _json_printer() if as_json else _tree_printer(full)
    sources = [(_name_of(traces), list(traces))] if together else [(_name_of((name,)), name) for name in traces]
    reading, failed = reading_of(options), False
    for name, source in sources:
        shown = 0
        try:
            for trajectory in reading.read(sys.stdin.buffer if source == STANDARD_INPUT else source):
                show(name, trajectory if no_redact else redacted_trajectory(trajectory))
                shown += 1
        except RightcallError as problem:
            print_error(problem)
            failed = True
            continue
        if not shown:
            print_error(f"{name}: no traces and no messages in it")
            failed = True
    return _EXIT_COULD_NOT_SHOW if failed else 0


def _name_of(traces: tuple[str, ...]) -> str:
    more = f" and {len(traces) - 1} more" if len(traces) > 1 else ""
    return "<stdin>" if traces == (STANDARD_INPUT,) else traces[0] + more


def _tree_printer(full: bool) -> Callable[[str, Trajectory], None]:
    screen = Screen()
    paper = screen.paper(full=full)
    count = 0

    def show(name: str, trajectory: Trajectory) -> None:
        nonlocal count
        if count:
            screen.line()
        count += 1
        for line in trajectory_lines(trajectory, name, paper):
            screen.line(*line)

    return show


def _json_printer() -> Callable[[str, Trajectory], None]:
    def show(name: str, trajectory: Trajectory) -> None:
        print(json_line("file", name, trajectory))

    return show
