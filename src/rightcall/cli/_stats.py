"""`rightcall stats`: how steady the cases of a run are, and what that says about chance."""

from __future__ import annotations

import click

from rightcall.errors import InputError, nearest
from rightcall.reporting.changes import Steadiness, steadiness, steadiness_by
from rightcall.reporting.paths import CasePaths, case_paths
from rightcall.reporting.reports import parting_lines, plan_lines, steadiness_lines
from rightcall.reporting.store import RunFolder
from rightcall.values.redaction import redacted
from rightcall.values.results import count_text

from ._options import no_redact_option
from ._runs import opened
from ._terminal import Screen

_TRIES = 5


@click.command(name="stats")
@click.argument("run", metavar="RUN", default="last")
@click.option(
    "-k", "k", type=click.IntRange(min=1, max=1_000), help="Tries that all have to pass; by default 5, or fewer."
)
@click.option("--case", "case_id", metavar="ID", help="Say where the runs of this case part.")
@click.option("--by", metavar="KEY", help="Count what the traces call success: a key of metadata, such as reward.")
@click.option("--plan", is_flag=True, help="Say how many repeats it takes to notice a drop.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@no_redact_option
def command(
    run: str, k: int | None, case_id: str | None, by: str | None, plan: bool, runs: str | None, no_redact: bool
) -> int:
    """Say how steady the cases of a run are: rates, intervals, the chance that all of k tries pass.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`, the default. Repeats come from
    `rightcall run --repeat`, or from recorded traces that say which repeat they are. The exit code is 0.
    """
    found = opened(run, runs)
    found.check()
    screen = Screen()
    if case_id is not None:
        lines = parting_lines(_paths(found, case_id, redacts=not no_redact), screen.paper())
    else:
        counted = steadiness(found.trials()) if by is None else _counted_by(by, found)
        if plan:
            lines = plan_lines(counted, counted.most_trials)
        else:
            screen.line(_headline(found, counted))
            lines = steadiness_lines(counted, k or min(_TRIES, counted.most_trials), screen.paper(), run)
    for line in lines:
        screen.line(*line)
    return 0


def _counted_by(key: str, run: RunFolder) -> Steadiness:
    """Count by a key of the metadata of traces. Raises `InputError` where none of them has it."""
    counted = steadiness_by(key, run.results())
    if not any([case.measured.measured for case in counted.cases]):
        known = {name for result in run.results() if result.trajectory for name in result.trajectory.metadata}
        raise InputError(
            f"no trace of run {run.short_id} says {key!r:.80}, true or a number; {nearest(key, sorted(known))}"
        )
    return counted


def _headline(run: RunFolder, counted: Steadiness) -> str:
    trials = {len(case.verdicts) for case in counted.cases}
    each = f" × {min(trials)}" if len(trials) == 1 else f" × {min(trials)} to {max(trials)}" if trials else ""
    parts = [
        f"run {run.short_id}",
        count_text(len(counted.cases), "case") + each,
        run.header.agent or run.header.evalset,
    ]
    return "  ".join([part for part in parts if part])


def _paths(run: RunFolder, case_id: str, *, redacts: bool) -> CasePaths:
    results = [result for result in run.results() if result.case_id == case_id]
    if not results:
        known = tuple(dict.fromkeys([trial.case_id for trial in run.trials()]))
        raise InputError(f"run {run.short_id} has no case {case_id!r:.80}; {nearest(case_id, known)}")
    results.sort(key=lambda result: result.repeat)
    return case_paths(case_id, [redacted(result) for result in results] if redacts else results)
