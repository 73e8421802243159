"""The gate of recorded traces: one look, at all traces of each case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rightcall.cases.evalsets import quarantined_cases
from rightcall.reporting.changes import Base, gate_base, one_look
from rightcall.reporting.store import GateRecord, case_digest
from rightcall.scale.request import Request
from rightcall.values.results import CaseRepeats

from .._gate import gate_plan
from .._options import runs_folder


class ScoreGate:
    """What a gate asks of recorded traces. The base is found before any trace is read.

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
        """Return what the gate says of all traces."""
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
        """Return the cases of the eval set that `--case` and `--tag` leave out."""
        chosen = {case.id for case in self._cases}
        is_part = self._options["cases"] or self._options["tags"] or self._options["failed"]
        return frozenset(self._base.sides if is_part and self._base is not None else ()) - chosen
