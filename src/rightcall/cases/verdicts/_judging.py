"""What all evaluators of a case say of one trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from rightcall.cases.evalsets import Case, Check
from rightcall.values.results import (
    CaseResult,
    Cause,
    EvaluationResult,
    Finding,
    Outcome,
    PlacedFinding,
    Written,
    gravest,
    gravity,
)
from rightcall.values.trajectory import Trajectory

_CODES: dict[Cause, str] = {
    "raised": "RC501",
    "timed_out": "RC502",
    "died": "RC503",
    "memory": "RC504",
    "output": "RC505",
    "mock": "RC506",
    "read": "RC507",
}
_MOST_WRITTEN = 200


def judge(case: Case, trajectory: Trajectory) -> CaseResult:
    """The result of a case: every expectation of it, held against one trajectory.

    Where evaluators of it have to wait, so does this; `Judging` has many cases waited for at once.
    """
    if not case.checks:
        return unjudged(case, "RC302", "nothing is expected of this case", trajectory)
    if waits(case):
        from ._waiting import Judging

        with Judging() as judging:
            return judging.submit(case, trajectory).result()
    return judged(case, trajectory, [check.evaluator.evaluate(trajectory, check.criteria) for check in case.checks])


def waits(case: Case) -> bool:
    """Whether an evaluator of a case may have to wait."""
    return any([check.evaluator.waits for check in case.checks])


def judged(case: Case, trajectory: Trajectory, results: Sequence[EvaluationResult]) -> CaseResult:
    """The result of a case, made of what its evaluators say, in the order of its checks."""
    return CaseResult(
        case_id=case.id,
        verdict=gravest(result.verdict for result in results),
        score=weighted(case.checks, [result.score for result in results]),
        source=case.source,
        trajectory=trajectory,
        results=tuple(results),
        findings=tuple(_placed(case.checks, results)),
        written=tuple(_written(case.checks, results)),
        warnings=trajectory.warnings,
    )


def judge_run(case: Case, outcome: Outcome, trajectory: Trajectory | None, repeat: int = 0) -> CaseResult:
    """The result of a case that an agent was run for: judged if the agent came to an end, else an error."""
    if outcome.error is not None or trajectory is None:
        result = broken(case, outcome, trajectory)
    else:
        result = judge(case, trajectory)
    return msgspec.structs.replace(result, repeat=repeat, outcome=outcome)


def unjudged(case: Case, code: str, reason: str, trajectory: Trajectory | None = None) -> CaseResult:
    """The result of a case that there is nothing to judge by."""
    finding = PlacedFinding("", Finding(code, reason), case.source)
    return CaseResult(
        case_id=case.id,
        verdict="not_measured",
        score=None,
        source=case.source,
        trajectory=trajectory,
        findings=(finding,),
        warnings=trajectory.warnings if trajectory is not None else (),
    )


def broken(case: Case, outcome: Outcome, trajectory: Trajectory | None = None) -> CaseResult:
    """The result of a case whose agent came to no end that could be judged: an error, whatever it did until then."""
    finding = Finding(_CODES[outcome.cause], outcome.error or "")
    return CaseResult(
        case_id=case.id,
        verdict="error",
        score=None,
        source=case.source,
        trajectory=trajectory,
        findings=(PlacedFinding("", finding, case.source),),
        warnings=trajectory.warnings if trajectory is not None else (),
    )


def weighted(checks: Sequence[Check], scores: Sequence[float | None]) -> float | None:
    """The weighted mean of the scores, or the plain one where no weight counts; none where one of them is none."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    if known.count(known[0]) == len(known):
        return known[0]
    weights = [Fraction(check.weight) for check in checks]
    if not any(weights):
        weights = [Fraction(1)] * len(checks)
    total = sum(Fraction(score) * weight for score, weight in zip(known, weights, strict=True))
    return float(total / sum(weights))


def _placed(checks: Sequence[Check], results: Sequence[EvaluationResult]) -> Iterator[PlacedFinding]:
    """The findings of what did not pass, each with the place in the file of what it is about.

    What the verdict comes from is first: reports that show one finding show that one.
    """
    judged = sorted(zip(checks, results, strict=True), key=lambda pair: gravity(pair[1].verdict))
    for check, result in judged:
        if not result.passed:
            for finding in result.findings:
                yield PlacedFinding(check.key, finding, check.source(finding.path))


def _written(checks: Sequence[Check], results: Sequence[EvaluationResult]) -> Iterator[Written]:
    """Where each call is written that an expectation lists which did not pass."""
    for check, result in zip(checks, results, strict=True):
        if not result.passed:
            for path, calls in check.lists():
                places = [check.source(f"{path}[{index}]") for index in range(min(len(calls), _MOST_WRITTEN))]
                yield Written(check.key, path, tuple(places))
