"""`rightcall diff`: what changed between runs."""

from __future__ import annotations

from typing import Any

import click

from rightcall.reporting.changes import GateRule, gate
from rightcall.reporting.reports import comparison_lines, gate_lines, verdict_lines
from rightcall.reporting.store import RunFolder
from rightcall.values.results import count_text

from ._gate_options import gate_options, gate_rule
from ._options import no_redact_option
from ._stored import compared, gate_sides_in, name_of, opened, sides_in
from ._terminal import Screen


@click.command(name="diff")
@click.argument("names", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@click.option("--fail-on-flip", is_flag=True, help="Exit with 1 if a case passed in the first run and not in the last.")
@click.option("--gate", "is_gate", is_flag=True, help="Say whether the last run is worse, or whether it is chance.")
@gate_options
@no_redact_option
def command(
    names: tuple[str, ...], runs: str | None, fail_on_flip: bool, is_gate: bool, no_redact: bool, **rule: Any
) -> int:
    """Say what changed between runs: verdicts that flipped, paths that differ.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. A difference is not a failure: the
    exit code is 0. With --gate it is 1 where the last run is worse, and 2 where that cannot be told.
    """
    if len(names) < 2:
        raise click.UsageError("give two runs, or more")
    found = [opened(name, runs) for name in names]
    if is_gate:
        if fail_on_flip or len(found) > 2:
            raise click.UsageError("--gate compares two runs, and decides instead of --fail-on-flip")
        return _gate(found[0], found[1], gate_rule(rule))
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


def _gate(before: RunFolder, after: RunFolder, rule: GateRule) -> int:
    said = gate(gate_sides_in(before), gate_sides_in(after), rule)
    screen = Screen()
    screen.line(f"{name_of(before)} → {name_of(after)}   {count_text(len(said.cases), 'case')}")
    for line in gate_lines(said, name_of(before), screen.paper()):
        screen.line(*line)
    return said.exit_code
