"""Runs on disk, as reports are made of them."""

from __future__ import annotations

from pathlib import Path

from rightcall.changes import Side, sides_of
from rightcall.reports import Report
from rightcall.results import Aggregates, Tally, measures_of
from rightcall.store import RUNS, Run, open_run

from ._complaints import complain


def opened(name: str, runs: str | None) -> Run:
    """A run by its folder, id, branch or `last`; one that did not come to its end is told. Raises `StoreError`."""
    run = open_run(name, Path(runs) if runs is not None else RUNS)
    if run.header.finished is None:
        complain(f"run {run.short_id} did not come to its end; what it has is shown")
    return run


def report_of(run: Run) -> Report:
    """What reports of a run are made of. A run that was killed is counted now.

    Raises:
        StoreError: its journal cannot be read.
    """
    header = run.header
    totals, evaluators = header.totals, header.evaluators
    if totals is None or header.finished is None:
        tally, aggregates = Tally(run.needed), Aggregates()
        for result in run.results():
            tally.add(result)
            aggregates.add(measures_of(result.results))
        totals, evaluators = tally.totals(), aggregates.by_evaluator()
    return Report(
        results=run.results,
        totals=totals,
        evaluators=evaluators,
        overall=header.overall,
        subject=header.evalset,
        seconds=header.seconds or 0.0,
        run_id=run.short_id,
        agent=header.agent,
    )


def sides_in(run: Run) -> dict[str, Side]:
    """What a run has of each of its cases. Raises `StoreError`."""
    return sides_of(run.results(), run.needed)


def name_of(run: Run) -> str:
    """What a run is called beside others: its branch, if it has one, and its id."""
    return f"{run.header.branch} {run.short_id}" if run.header.branch else run.short_id
