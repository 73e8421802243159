"""Runs on disk, as reports are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rightcall.cases.evalsets import Case
from rightcall.errors import StoreError
from rightcall.reporting.changes import CaseSide, Comparison, GateSide, compare, redacted_comparison, sides_of
from rightcall.reporting.reports import Report, redacted_report
from rightcall.reporting.store import RunFolder, list_runs, open_run
from rightcall.values.results import Aggregates, Tally, Totals, Verdict, measures_of

from ._options import runs_folder
from ._terminal import print_error


def opened(name: str, runs: str | None) -> RunFolder:
    """Return a run by its folder, id, branch or `last`, and warn if it is not complete. Raises `StoreError`."""
    run = open_run(name, runs_folder(runs))
    if run.header.finished is None:
        print_error(f"run {run.short_id} is not complete; its results so far are shown")
    return run


def report_of(run: RunFolder, *, redacts: bool = True) -> Report:
    """What reports of a run are made of, without secrets if it `redacts`. A run that was killed is counted now.

    Raises:
        StoreError: its journal cannot be read, or another program has changed it.
    """
    run.check()
    header = run.header
    totals, evaluators = header.totals, header.evaluators
    if totals is None or header.finished is None:
        tally, aggregates = Tally(run.needed), Aggregates()
        for result in run.results():
            tally.add(result)
            aggregates.add(measures_of(result.results))
        totals, evaluators = tally.totals(), aggregates.by_evaluator()
    report = Report(
        results=run.results,
        totals=totals,
        evaluators=evaluators,
        overall=header.overall,
        subject=header.evalset,
        seconds=header.seconds or 0.0,
        run_id=run.short_id,
        agent=header.agent,
        facts=header.known(),
        notes=_notes(run),
    )
    return redacted_report(report) if redacts else report


def _notes(run: RunFolder) -> tuple[str, ...]:
    if run.header.finished is None:
        return ("this run is not complete; its results so far are shown",)
    sample = run.header.sample
    return () if sample is None else (sample.note(sum(1 for _ in run.entries())),)


def last_run_of(evalset: str, runs: Path, *, is_recorded: bool = False) -> RunFolder:
    """The newest run of an eval set by an agent or, if it `is_recorded`, of recorded traces. Raises `StoreError`."""
    meant = Path(evalset).resolve()
    for folder in reversed(list_runs(runs)):
        run = open_run(str(folder))
        if bool(run.header.agent) != is_recorded and Path(run.header.evalset).resolve() == meant:
            return run
    raise StoreError(f"{runs}: no run of {evalset} yet, so none failed")


def failed_in(run: RunFolder, cases: Sequence[Case]) -> list[Case]:
    """Those of the cases that did not pass in a run, or that it did not get round to.

    Raises:
        StoreError: there are none, or the run cannot be read.
    """
    results = list(run.results())
    bad = {result.case_id for result in results if not result.passed}
    if run.header.finished is None:  # what a run did not get round to did not pass either
        bad |= {case.id for case in cases} - {result.case_id for result in results}
    chosen = [case for case in cases if case.id in bad]
    if not chosen:
        raise StoreError(f"no case of the last run ({run.short_id}) that is meant failed; leave --failed out")
    return chosen


def sides_in(run: RunFolder) -> dict[str, CaseSide]:
    """What a run has of each of its cases. Raises `StoreError`."""
    return sides_of(run.results(), run.needed)


def gate_sides_in(run: RunFolder) -> dict[str, GateSide]:
    """The trials of each case of a run, with the digest of its question. Raises `StoreError`."""
    run.check()
    verdicts: dict[str, list[Verdict]] = {}
    questions: dict[str, str] = {}
    for trial in run.trials():
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
        questions[trial.case_id] = trial.question
    return {case_id: GateSide(Totals.of(found), questions[case_id]) for case_id, found in verdicts.items()}


def compared(before: Mapping[str, CaseSide], after: Mapping[str, CaseSide], *, redacts: bool) -> Comparison:
    """Return what changed between two runs, without secrets if it `redacts`."""
    comparison = compare(before, after)
    return redacted_comparison(comparison) if redacts else comparison


def name_of(run: RunFolder) -> str:
    """What a run is called beside others: its branch, if it has one, and its id."""
    return f"{run.header.branch} {run.short_id}" if run.header.branch else run.short_id
