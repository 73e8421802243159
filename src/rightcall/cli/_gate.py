"""The gate on the command line: its base, its rule, and what it prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from rightcall.cases.evalsets import Case, cases_with_tags, quarantined_cases
from rightcall.errors import StoreError
from rightcall.reporting.changes import Base, GatePlan, GateRule, gate, gate_base, gate_sides_in, one_look
from rightcall.reporting.reports import Report, gate_lines, gate_record
from rightcall.reporting.store import GateRecord, RunFolder, case_digest
from rightcall.scale.request import Request
from rightcall.values.results import CaseRepeats, count_text

from ._options import runs_folder
from ._output import Screen
from ._runs import name_of

_RULE = ("rule_out", "allow_drop", "confidence", "inconclusive")


def print_gate(
    before: RunFolder, after: RunFolder, options: Mapping[str, Any], called: tuple[str, str] | None = None
) -> int:
    """Print whether one run is worse than another, and return the exit code. Raises `StoreError`.

    The runs are named by their branches and ids, unless `called` has other names.
    """
    first, last = called or (name_of(before), name_of(after))
    found = gate(gate_sides_in(before), gate_sides_in(after), gate_rule(options))
    screen = Screen()
    screen.line(f"{first} → {last}   {count_text(len(found.cases), 'case')}")
    for line in gate_lines(found, first, screen.paper()):
        screen.line(*line)
    return found.exit_code


def gated_report(report: Report, run: RunFolder, base: str, runs: Path, options: Mapping[str, Any]) -> Report:
    """Return the report of a run with the decision of a gate against a base, by one look at all of its trials.

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
    # Repeats may have gaps in their numbers if traces say which repeat they are.
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
    changed = {"gate": gate_record(decision), "repeats": run.repeats(always=True), "notes": (*report.notes, *notes)}
    return replace(report, **changed)


def gate_rule(options: Mapping[str, Any]) -> GateRule:
    """Return the rule of the gate, from the options that were given."""
    return GateRule(**{name: options[name] for name in _RULE if options.get(name) is not None})


def gate_plan(
    options: Mapping[str, Any],
    base: Base | None,
    cases: Iterable[Case],
    questions: Mapping[str, str],
    others: frozenset[str],
    rounds_of: Mapping[str, int] | None = None,
) -> GatePlan:
    """Return the plan of a gate for a run.

    Args:
        options: Options of the gate, with `least` and `most` rounds and how many are `needed` of each case.
        base: What the run is compared with, if anything.
        cases: The cases of the run.
        questions: The digest of the question of each case that counts, without those in quarantine.
        others: Cases that were not selected. The base may have them; they are not missing.
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


class ScoreGate:
    """A gate on recorded traces. The base is found before any trace is read.

    Raises:
        RightcallError: the base cannot be read, or no case has a tag of `--must`.
        click.UsageError: the results are not kept, or there are no cases.
    """

    def __init__(self, request: Request, options: Mapping[str, Any]) -> None:
        self._cases = list(request.expected.cases)
        self._options = options
        self._base: Base | None = None
        self._needed = {case.id: case.min_repeat_pass for case in self._cases if case.min_repeat_pass is not None}
        if not options["keep"] or request.evalset is None:
            raise click.UsageError("a gate compares the cases of an eval set, and is kept: give --evalset and --keep")
        if options["fail_fast"]:
            raise click.UsageError("a gate looks at all traces, and --fail-fast stops before: give one of them")
        if options["gate"] is not None:
            self._base = gate_base(options["gate"], request.evalset, runs_folder(options["runs"]))
        self.record({})

    def record(self, repeats: Mapping[str, CaseRepeats]) -> GateRecord | None:
        """Return the decision of the gate on all traces; `None` if there is nothing to decide."""
        from rightcall.reporting.reports import gate_record

        quarantined = quarantined_cases(self._cases)
        repeats = {case_id: each for case_id, each in repeats.items() if case_id not in quarantined}
        rounds_of = {case_id: len(each.verdicts) for case_id, each in repeats.items()}
        most = max(rounds_of.values(), default=1)
        questions = {case.id: case_digest(case).partition("-")[0] for case in self._cases if case.id in repeats}
        options = {**self._options, "least": most, "most": most, "needed": self._needed}
        others = self._others() | frozenset(quarantined)
        plan = gate_plan(options, self._base, self._cases, questions, others, rounds_of)
        trials = [
            (each, place, verdict) for each, all_of in repeats.items() for place, verdict in enumerate(all_of.verdicts)
        ]
        decision = one_look(plan, trials)
        return gate_record(decision) if decision is not None else None

    def _others(self) -> frozenset[str]:
        """Return the cases of the base that are not selected, if options such as `--case` select some."""
        chosen = {case.id for case in self._cases}
        is_part = self._options["cases"] or self._options["tags"] or self._options["failed"]
        return frozenset(self._base.sides if is_part and self._base is not None else ()) - chosen
