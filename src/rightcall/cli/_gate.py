"""The gate on the command line: what it compares with, what it asks, and what it prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightcall.cases.evalsets import Case, cases_with_tags
from rightcall.errors import StoreError
from rightcall.reporting.changes import Base, GatePlan, GateRule, gate, gate_base, gate_sides_in, one_look
from rightcall.reporting.reports import Report, gate_lines, gate_record
from rightcall.reporting.store import RunFolder
from rightcall.values.results import count_text

from ._runs import name_of
from ._terminal import Screen

_RULE = ("rule_out", "allow_drop", "confidence", "inconclusive")


def print_gate(
    before: RunFolder, after: RunFolder, options: Mapping[str, Any], called: tuple[str, str] | None = None
) -> int:
    """Print whether one run is worse than another, and return the exit code. Raises `StoreError`.

    The two are called by their branches and ids, unless they are `called` something else.
    """
    first, last = called or (name_of(before), name_of(after))
    said = gate(gate_sides_in(before), gate_sides_in(after), gate_rule(options))
    screen = Screen()
    screen.line(f"{first} → {last}   {count_text(len(said.cases), 'case')}")
    for line in gate_lines(said, first, screen.paper()):
        screen.line(*line)
    return said.exit_code


def gated_report(report: Report, run: RunFolder, base: str, runs: Path, options: Mapping[str, Any]) -> Report:
    """Return the report of a run with what a gate says of it against a base, by one look at all of its trials.

    Raises:
        StoreError: the base cannot be read, or the run is not complete.
    """
    if run.header.finished is None:
        raise StoreError(f"run {run.short_id} is not complete, so it is not compared; resume it first")
    found, sides = gate_base(base, run.header.evalset, runs), gate_sides_in(run)
    trials = [trial for trial in run.trials() if trial.case_id in sides]
    rounds = Counter([trial.case_id for trial in trials])
    quarantined = run.quarantined
    plan = GatePlan(
        rule=gate_rule(options),
        least=max(rounds.values(), default=1),
        most=max(rounds.values(), default=1),
        questions={case_id: side.question for case_id, side in sides.items()},
        base={case_id: side for case_id, side in found.sides.items() if case_id not in quarantined},
        base_name=found.name,
        rounds_of=rounds,
        needed=run.needed_of,
    )
    # Repeats may have gaps in their numbers, where traces say which repeat they are.
    numbered: Counter[str] = Counter()
    counted = []
    for trial in sorted(trials, key=lambda trial: trial.repeat):
        counted.append((trial.case_id, numbered[trial.case_id], trial.verdict))
        numbered[trial.case_id] += 1
    decision = one_look(plan, counted)
    if decision is None:
        raise StoreError(f"run {run.short_id} has no case that counts, so there is nothing to compare")
    earlier = run.header.gate
    notes = (f"note: the gate of this run said: {earlier.reason}",) if earlier is not None else ()
    said = {"gate": gate_record(decision), "repeats": run.repeats(always=True), "notes": (*report.notes, *notes)}
    return replace(report, **said)


def gate_rule(options: Mapping[str, Any]) -> GateRule:
    """Return what the gate asks, by the options that were given."""
    return GateRule(**{name: options[name] for name in _RULE if options.get(name) is not None})


def gate_plan(
    options: Mapping[str, Any],
    base: Base | None,
    cases: Iterable[Case],
    questions: Mapping[str, str],
    others: frozenset[str],
    rounds_of: Mapping[str, int] | None = None,
) -> GatePlan:
    """Return what is asked of a run.

    Args:
        options: Those of the gate, with `least` and `most` rounds and how many are `needed` of each case.
        base: What the run is compared with, if anything.
        cases: The cases of the run.
        questions: The digest of the question of each that counts: those in quarantine have none here.
        others: Cases of the eval set that were not chosen. The base may have them; they are not missing.
        rounds_of: The rounds of cases that have fewer than `most`.

    Raises:
        InputError: no case has a tag of `--must`.
    """
    return GatePlan(
        rule=gate_rule(options),
        least=options["least"],
        most=options["most"],
        questions=questions,
        base=None if base is None else {each: side for each, side in base.sides.items() if each not in others},
        base_name="" if base is None else base.name,
        min_rate=options["min_rate"],
        floor_inconclusive=options["inconclusive"] or "fail",
        must=cases_with_tags(cases, options["must"], "--must") & frozenset(questions),
        rounds_of=rounds_of or {},
        needed=options["needed"],
    )
