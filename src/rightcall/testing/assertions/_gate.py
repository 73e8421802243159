"""Assert that an agent is not worse than it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from rightcall.cases.evalsets import load_eval_set_with_code, quarantined_cases
from rightcall.errors import CheckFailedError, CriteriaError, InputError, NotMeasuredError, nearest, shown
from rightcall.reporting.changes import Decision, GatePlan, GateRule, Rounds, gate_base
from rightcall.reporting.reports import gate_record
from rightcall.reporting.store import RUNS, GateRecord, case_digest
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseResult

from ._delivery import Problem, hide_internal_frames, raise_or_keep

_REMEDY = "load it with load_eval_set_with_code(…, trust=True)"


class GateOptions(TypedDict, total=False):
    """What a gate asks."""

    rule_out: float
    """The drop that `no worse` has to rule out; 0.10 by default."""
    allow_drop: float
    """A drop that may be proven and still passes; 0 by default."""
    confidence: float
    """1 minus the rate of false alarms; 0.95 by default."""
    inconclusive: Literal["pass", "fail"]
    """Whether an inconclusive result passes, the default; pytest then skips the test."""


class EvaluationGate(GateOptions, total=False):
    """What a gate of `evaluate` asks."""

    must: Sequence[str]
    """Tags of cases that have to pass every time, whatever the gate says."""
    min_rate: float | None
    """The pass rate that has to be reached, at the confidence; an inconclusive result fails by default."""


@hide_internal_frames
def gate(
    results: Sequence[CaseResult], base: str, *, runs: str | Path = RUNS, **rule: Unpack[GateOptions]
) -> GateRecord:
    """Compare results with a base, by trials, and raise if they are worse.

    An inconclusive result skips the test in pytest, so that it is seen; elsewhere it passes. With `inconclusive="fail"`
    it raises.

    Args:
        results: The results of one eval set, all repeats of each case, as `evaluate` returns them.
        base: A baseline file, a run, or a branch, of which the newest finished run of the eval set is meant.
        runs: The folder of all runs.
        rule: What the gate asks: `rule_out`, `allow_drop`, `confidence`, `inconclusive`.

    Returns:
        What the gate said.

    Raises:
        CheckFailedError: the results are worse, or a case that the base lacks failed.
        NotMeasuredError: trials without an answer decide, or an inconclusive result is to fail.
        RightcallError: the base cannot be read, or the results are not of one eval set.
    """
    __tracebackhide__ = True
    record = gate_record(_decision(results, base, Path(runs), gate_rule(rule)))
    problem = gate_problem(record, results)
    if problem is not None:
        raise_or_keep(problem)
    skip(inconclusive_text(record))
    return record


def _decision(results: Sequence[CaseResult], base: str, runs: Path, rule: GateRule) -> Decision:
    evalset, questions, quarantined = _questions(results)
    found = gate_base(base, evalset, runs)
    often: dict[str, int] = {}
    for result in [result for result in results if result.case_id not in quarantined]:
        often[result.case_id] = max(often.get(result.case_id, 0), result.repeat + 1)
    if not often:
        raise InputError("every case is in quarantine, so there is nothing to compare")
    most = max(often.values())
    plan = GatePlan(
        rule=rule,
        least=most,
        most=most,
        questions={case_id: questions[case_id] for case_id in often},
        base={case_id: side for case_id, side in found.sides.items() if case_id not in quarantined},
        base_name=found.name,
        rounds_of=often,
    )
    rounds = Rounds(plan)
    for result in results:
        rounds.take(result)
    if rounds.decision is None:
        raise InputError("repeats are missing; give all results that `evaluate` returned")
    return rounds.decision


def gate_rule(given: GateOptions) -> GateRule:
    """Return what a gate asks. Raises `CriteriaError`."""
    rule: dict[str, Any] = dict(given)
    for name in rule:
        if name not in GateRule.__struct_fields__:
            raise CriteriaError(f"a gate has no {name!r:.40}; {nearest(name, GateRule.__struct_fields__)}")
    inconclusive = rule.get("inconclusive", "pass")
    for name, share in [(name, share) for name, share in rule.items() if name != "inconclusive"]:
        check_share(name, share)
    if inconclusive not in ("pass", "fail"):
        raise CriteriaError(f"inconclusive is 'pass' or 'fail', not {shown(inconclusive)}")
    return GateRule(**rule)


def check_share(name: str, share: Any) -> None:
    """Refuse what is not a share; `None` is not given. Raises `CriteriaError`."""
    if share is None:
        return
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0.0 <= share <= 1.0:
        raise CriteriaError(f"{name} is a share from 0 to 1, not {shown(share)}")


def gate_problem(record: GateRecord, results: Sequence[CaseResult]) -> Problem | None:
    """Return the exception for a gate that does not pass; `None` where it passes."""
    if not record.exit_code:
        return None
    held = {*record.failed, *record.unmeasured, *[case.case_id for case in record.worse_cases]}
    about = tuple([result for result in results if result.case_id in held and not result.passed])
    kind = CheckFailedError if record.exit_code == 1 else NotMeasuredError
    return kind(redacted_text("\n".join(record.told) or record.reason), about)


def inconclusive_text(record: GateRecord) -> str:
    """Return what a gate says that could not tell, and passes; else nothing."""
    is_decided = record.exit_code or record.verdict != "inconclusive"
    return "" if is_decided else redacted_text("\n".join(record.told))


def skip(text: str) -> None:
    """Skip the test of pytest that runs now, so that the warning is seen; nothing where none does, or says nothing."""
    if text and "pytest" in sys.modules and "PYTEST_CURRENT_TEST" in os.environ:
        sys.modules["pytest"].skip(text)


def _questions(results: Sequence[CaseResult]) -> tuple[str, dict[str, str], frozenset[str]]:
    """Return the eval set of results, the digest of the question of each case, and the cases in quarantine."""
    files = {result.source.file for result in results}
    if len(files) != 1:
        raise InputError(f"a gate compares the results of one eval set, not of {len(files):,}")
    [file] = files
    eval_set = load_eval_set_with_code(file, remedy=_REMEDY)
    questions = {case.id: case_digest(case).partition("-")[0] for case in eval_set.cases}
    return file, questions, frozenset(quarantined_cases(eval_set.cases))
