"""`rightcall diff`: what changed between runs."""

from __future__ import annotations

import click

from rightcall.reporting.reports import comparison_lines, verdict_lines

from ._options import no_redact_option
from ._stored import compared, name_of, opened, sides_in
from ._terminal import Screen


@click.command(name="diff")
@click.argument("names", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@click.option("--fail-on-flip", is_flag=True, help="Exit with 1 if a case passed in the first run and not in the last.")
@no_redact_option
def command(names: tuple[str, ...], runs: str | None, fail_on_flip: bool, no_redact: bool) -> int:
    """Say what changed between runs: verdicts that flipped, paths that differ.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. A difference is not a failure: the
    exit code is 0.
    """
    if len(names) < 2:
        raise click.UsageError("give two runs, or more")
    found = [opened(name, runs) for name in names]
    sides = [sides_in(run) for run in found]
    called = [name_of(run) for run in found]
    screen = Screen()
    comparison = compared(sides[0], sides[-1], redacts=not no_redact)
    if len(found) == 2:
        lines = comparison_lines(comparison, screen.paper(), (called[0], called[1]))
    else:
        lines = verdict_lines(sides, called, screen.paper())
    for line in lines:
        screen.line(*line)
    worse = [change for change in comparison.cases if change.kind == "worse"]
    if not fail_on_flip or not worse:
        return 0
    return 1 if any(change.after is not None and change.after.verdict == "failed" for change in worse) else 2
