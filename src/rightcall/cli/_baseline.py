"""`rightcall baseline`: the trials of runs in a file, for a gate to compare with."""

from __future__ import annotations

import click

from rightcall.reporting.store import open_run, pooled
from rightcall.values.results import count_text

from ._options import runs_folder
from ._output import new_file
from ._terminal import Screen


@click.command(name="baseline")
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@click.option("--to", "path", required=True, metavar="FILE", help="The file, such as evals/shop.baseline.json.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
def command(names: tuple[str, ...], path: str, runs: str | None) -> int:
    """Pool the trials of finished runs into a file, which `--gate FILE` compares with.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. The file has a line for each case,
    and no times: keep it in the repository, beside the eval set.
    """
    found = {run.folder: run for run in [open_run(name, runs_folder(runs)) for name in names]}
    baseline = pooled(list(found.values()))
    with new_file(path) as file:
        file.write(baseline.text())
    trials = sum([case.passed + case.failed + case.error + case.not_measured for case in baseline.cases.values()])
    cases = count_text(len(baseline.cases), "case")
    Screen().line(f"{path}: {cases}, {count_text(trials, 'trial')} of {count_text(len(found), 'run')}")
    return 0
