"""What a gate compares with: a run, the newest finished run of a branch, or a baseline file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from rightcall.errors import StoreError
from rightcall.reporting.store import RunFolder, list_runs, open_run, read_baseline
from rightcall.values.results import Totals, Verdict

from ._gate import GateSide


class Base(msgspec.Struct, frozen=True):
    """What a run is compared with."""

    name: str
    """What people call it: its branch and its id, or its file."""
    kept: str
    """What finds it again when the run is resumed, though its branch has newer runs by then."""
    sides: Mapping[str, GateSide]


def gate_base(name: str, evalset: str, runs: Path) -> Base:
    """Find what a run is compared with.

    Args:
        name: A baseline file, a branch, or a run as `open_run` takes it.
        evalset: The eval set. Of a branch, the newest finished run of it is meant.
        runs: The folder of all runs.

    Raises:
        StoreError: there is none, it cannot be read, or it is not finished.
    """
    if Path(name).is_file():
        baseline = read_baseline(Path(name))
        return Base(name, name, {each: GateSide(case.trials, case.question) for each, case in baseline.cases.items()})
    run = _of_branch(name, evalset, runs) or open_run(name, runs)
    if run.header.finished is None:
        raise StoreError(f"run {run.short_id} is not complete, so nothing is compared with it; resume it first")
    if run.header.sample is not None:
        raise StoreError(f"run {run.short_id} keeps only examples of its results, so its trials cannot be counted")
    called = f"{run.header.branch} {run.short_id}" if run.header.branch else run.short_id
    return Base(called, run.folder.name, gate_sides_in(run))


def gate_sides_in(run: RunFolder) -> dict[str, GateSide]:
    """Return the trials of each case of a run, with the digest of its question. Raises `StoreError`.

    Cases in quarantine count in nothing, and are not among them.
    """
    run.check()
    verdicts: dict[str, list[Verdict]] = {}
    questions: dict[str, str] = {}
    quarantined = run.quarantined
    for trial in [trial for trial in run.trials() if trial.case_id not in quarantined]:
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
        questions[trial.case_id] = trial.question
    return {case_id: GateSide(Totals.of(found), questions[case_id]) for case_id, found in verdicts.items()}


def _of_branch(name: str, evalset: str, runs: Path) -> RunFolder | None:
    meant = Path(evalset).resolve()
    for folder in reversed(list_runs(runs)):
        run = open_run(str(folder))
        header = run.header
        if header.branch == name and header.finished is not None and Path(header.evalset).resolve() == meant:
            return run
    return None
