"""Assert that an agent is not worse than it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rightcall.cases.evalsets import load_eval_set_with_code
from rightcall.errors import CheckFailedError, CriteriaError, InputError, NotMeasuredError, shown
from rightcall.reporting.changes import GatePlan, GateRule, Rounds, gate_base
from rightcall.reporting.reports import gate_record
from rightcall.reporting.store import RUNS, GateRecord, case_digest
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseResult

from ._delivery import Problem, hide_internal_frames, raise_or_keep

_REMEDY = "load it with load_eval_set_with_code(…, trust=True)"


@hide_internal_frames
def gate(
    results: Sequence[CaseResult],
    base: str,
    *,
    rule_out: float = 0.10,
    allow_drop: float = 0.0,
    confidence: float = 0.95,
    inconclusive: Literal["pass", "fail"] = "pass",
    runs: str | Path = RUNS,
) -> GateRecord:
    """Compare results with a base, by trials, and raise if they are worse.

    What cannot be told skips the test in pytest, so that it is seen; elsewhere it passes. With `inconclusive="fail"`
    it raises.

    Args:
        results: The results of one eval set, all repeats of each case, as `evaluate` returns them.
        base: A baseline file, a run, or a branch, of which the newest finished run of the eval set is meant.
        rule_out: The drop that `no worse` has to rule out.
        allow_drop: A drop that may be proven and still passes.
        confidence: 1 minus the rate of false alarms.
        inconclusive: Whether what cannot be told passes.
        runs: The folder of all runs.

    Returns:
        What the gate said.

    Raises:
        CheckFailedError: the results are worse, or a case that the base lacks failed.
        NotMeasuredError: trials without an answer decide, or what cannot be told is to fail.
        RightcallError: the base cannot be read, or the results are not of one eval set.
    """
    __tracebackhide__ = True
    rule = gate_rule(rule_out, allow_drop, confidence, inconclusive)
    evalset, questions = _questions(results)
    found = gate_base(base, evalset, Path(runs))
    trials: dict[str, int] = {}
    for result in results:
        trials[result.case_id] = max(trials.get(result.case_id, 0), result.repeat + 1)
    most = max(trials.values())
    asked = {case_id: questions[case_id] for case_id in trials}
    rounds = Rounds(
        GatePlan(
            rule=rule, least=most, most=most, questions=asked, base=found.sides, base_name=found.name, rounds_of=trials
        )
    )
    for result in results:
        rounds.add(result.case_id, result.repeat, result.verdict)
    if rounds.decision is None:
        raise InputError("repeats are missing: give all results that `evaluate` returned")
    said = gate_record(rounds.decision)
    problem = gate_problem(said, results)
    if problem is not None:
        raise_or_keep(problem)
    if text := untold(said):
        skip(text)
    return said


def gate_rule(rule_out: float, allow_drop: float, confidence: float, inconclusive: str) -> GateRule:
    """Return what a gate asks. Raises `CriteriaError`."""
    shares: Mapping[str, Any] = {"rule_out": rule_out, "allow_drop": allow_drop, "confidence": confidence}
    for name, share in shares.items():
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0.0 <= share <= 1.0:
            raise CriteriaError(f"{name} is a share from 0 to 1, not {shown(share)}")
    if inconclusive not in ("pass", "fail"):
        raise CriteriaError(f"inconclusive is 'pass' or 'fail', not {shown(inconclusive)}")
    kind: Literal["pass", "fail"] = "fail" if inconclusive == "fail" else "pass"
    return GateRule(rule_out=rule_out, allow_drop=allow_drop, confidence=confidence, inconclusive=kind)


def gate_problem(said: GateRecord, results: Sequence[CaseResult]) -> Problem | None:
    """Return the exception for what a gate said; `None` where it passes."""
    if not said.exit_code:
        return None
    held = {*said.failed, *said.unmeasured, *[case.case_id for case in said.worse_cases]}
    about = tuple([result for result in results if result.case_id in held and not result.passed])
    kind = CheckFailedError if said.exit_code == 1 else NotMeasuredError
    return kind(redacted_text("\n".join(said.told) or said.reason), about)


def untold(said: GateRecord) -> str:
    """Return what a gate says that could not tell, and passes; else nothing."""
    is_told = said.exit_code or said.verdict != "inconclusive"
    return "" if is_told else redacted_text("\n".join(said.told))


def skip(text: str) -> None:
    """Skip the test of pytest that runs now, so that the warning is seen; nothing where none does."""
    if "pytest" in sys.modules and "PYTEST_CURRENT_TEST" in os.environ:
        sys.modules["pytest"].skip(text)


def _questions(results: Sequence[CaseResult]) -> tuple[str, dict[str, str]]:
    files = {result.source.file for result in results}
    if len(files) != 1:
        raise InputError(f"a gate compares the results of one eval set, not of {len(files):,}")
    [file] = files
    eval_set = load_eval_set_with_code(file, remedy=_REMEDY)
    return file, {case.id: case_digest(case).partition("-")[0] for case in eval_set.cases}
