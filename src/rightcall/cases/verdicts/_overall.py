"""What all cases together come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rightcall.cases.evalsets import Case, OverallCheck
from rightcall.judging import Row
from rightcall.values.results import CaseResult, OverallResult


class Overall:
    """Judges all cases together, one result after the other; of each it keeps only what counts."""

    def __init__(self, checks: Sequence[OverallCheck] = ()) -> None:
        self._checks = checks
        self._tallies = [check.evaluator.tally() for check in checks]

    def see(self, case: Case, result: CaseResult) -> tuple[Any, ...]:
        """What counts of a result, for each evaluator. It can be seen in one process, and added in another."""
        if not self._checks:
            return ()
        row = row_of(case, result)
        return tuple([check.evaluator.see(row) for check in self._checks])

    def add(self, seen: Sequence[Any]) -> None:
        """Take what was seen of a result."""
        for tally, each in zip(self._tallies, seen, strict=False):
            tally.add(each)

    def results(self) -> tuple[OverallResult, ...]:
        """What each evaluator says of all that was added."""
        return tuple(
            [_result(check, tally.conclude()) for check, tally in zip(self._checks, self._tallies, strict=True)]
        )


def row_of(case: Case, result: CaseResult) -> Row:
    """What is known of one result when all are looked at together."""
    trajectory, outcome = result.trajectory, result.outcome
    has_ended = outcome is None or not outcome.cause
    return Row(
        case_id=result.case_id,
        repeat=result.repeat,
        verdict=result.verdict,
        score=result.score,
        scores={one.evaluator: one.score for one in result.results},
        is_measured=has_ended and trajectory is not None and trajectory.output is not None,
        output=trajectory.output if trajectory is not None else None,
        tools=trajectory.names if trajectory is not None else (),
        seconds=outcome.seconds if outcome is not None else None,
        metadata=case.metadata,
    )


def exit_code(cases: int, overall: Sequence[OverallResult]) -> int:
    """The exit code of a run, given that of its cases: 1 where anything failed, 2 where something was not measured."""
    verdicts = {each.verdict for each in overall}
    if cases == 1 or "failed" in verdicts:
        return 1
    return 2 if verdicts - {"passed"} else cases


def _result(check: OverallCheck, found: Any) -> OverallResult:
    threshold = check.evaluator.threshold
    if found.score is None:
        verdict: Any = "error" if found.is_error else "not_measured"
    else:
        verdict = "passed" if found.score >= threshold else "failed"
    return OverallResult(
        evaluator=check.evaluator.id,
        verdict=verdict,
        score=found.score,
        threshold=threshold,
        reason=found.reason,
        source=check.source,
        classification=found.classification,
        details=found.details,
    )
