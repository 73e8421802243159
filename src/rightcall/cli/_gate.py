"""The gate on the command line: a run compared with a base, by trials."""

from __future__ import annotations

from typing import Any

from rightcall.reporting.changes import GateRule, GateSide, gate
from rightcall.reporting.reports import gate_lines
from rightcall.reporting.store import RunFolder
from rightcall.values.results import Totals, Verdict, count_text

from ._runs import name_of
from ._terminal import Screen


def print_gate(before: RunFolder, after: RunFolder, options: dict[str, Any]) -> int:
    """Print whether one run is worse than another, and return the exit code. Raises `StoreError`."""
    said = gate(gate_sides_in(before), gate_sides_in(after), gate_rule(options))
    screen = Screen()
    screen.line(f"{name_of(before)} → {name_of(after)}   {count_text(len(said.cases), 'case')}")
    for line in gate_lines(said, name_of(before), screen.paper()):
        screen.line(*line)
    return said.exit_code


def gate_rule(options: dict[str, Any]) -> GateRule:
    """Return what the gate asks, by the options that were given."""
    return GateRule(**{name: value for name, value in options.items() if value is not None})


def gate_sides_in(run: RunFolder) -> dict[str, GateSide]:
    """The trials of each case of a run, with the digest of its question. Raises `StoreError`."""
    run.check()
    verdicts: dict[str, list[Verdict]] = {}
    questions: dict[str, str] = {}
    for trial in run.trials():
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
        questions[trial.case_id] = trial.question
    return {case_id: GateSide(Totals.of(found), questions[case_id]) for case_id, found in verdicts.items()}
