"""Judge a case: every expectation, checked against the trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rightcall._lazy import lazy_patterns_of
from rightcall.cases.evalsets import Case, Check
from rightcall.judging import Criteria
from rightcall.values.results import (
    CaseResult,
    Cause,
    EvaluationResult,
    ExpectationSources,
    Finding,
    Outcome,
    PlacedFinding,
    severity,
    worst,
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
    "model": "RC508",
}
_MOST_WRITTEN = 200
"""Places kept per list of expected calls. Reports show only the lines around the first mistakes."""


def judge(case: Case, trajectory: Trajectory) -> CaseResult:
    """Return the result of a case: every expectation of it, checked against one trajectory.

    It blocks while async evaluators wait. Use `JudgingExecutor` to judge many such cases at once.
    """
    if not case.checks:
        return not_measured_result(case, "RC302", "nothing is expected of this case", trajectory)
    if has_async_evaluators(case):
        from ._executor import JudgingExecutor

        with JudgingExecutor() as judging:
            return judging.submit(case, trajectory).result()
    return combine_results(
        case, trajectory, [check.evaluator.evaluate(trajectory, check.criteria) for check in case.checks]
    )


def has_async_evaluators(case: Case) -> bool:
    """Whether an evaluator of a case may have to wait, for a model for example."""
    return any([check.evaluator.waits for check in case.checks])


def combine_results(case: Case, trajectory: Trajectory, results: Sequence[EvaluationResult]) -> CaseResult:
    """Return the result of a case, given the results of its checks in their order."""
    return CaseResult(
        case_id=case.id,
        verdict=worst(result.verdict for result in results),
        score=weighted_score(case.checks, [result.score for result in results]),
        source=case.source,
        trajectory=trajectory,
        results=tuple(results),
        findings=tuple(_placed(case.checks, results)),
        written=tuple(_written(case.checks, results)),
        warnings=trajectory.warnings,
    )


def judge_outcome(case: Case, outcome: Outcome, trajectory: Trajectory | None, repeat: int = 0) -> CaseResult:
    """Return the result of a case that an agent was run for: an error if the agent did not finish."""
    if outcome.error is not None or trajectory is None:
        result = error_result(case, outcome, trajectory)
    else:
        result = judge(case, trajectory)
    return msgspec.structs.replace(result, repeat=repeat, outcome=outcome)


def not_measured_result(case: Case, code: str, reason: str, trajectory: Trajectory | None = None) -> CaseResult:
    """Return the result of a case that cannot be judged, because something is missing."""
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


def error_result(case: Case, outcome: Outcome, trajectory: Trajectory | None = None) -> CaseResult:
    """Return the result of a case whose agent did not finish: an error, whatever it did until then."""
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


def weighted_score(checks: Sequence[Check], scores: Sequence[float | None]) -> float | None:
    """Return the weighted mean of the scores, or the plain mean if all weights are 0. None if a score is None."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    if known.count(known[0]) == len(known):  # the common case, and exact without arithmetic
        return known[0]
    with lazy_patterns_of("fractions"):
        from fractions import Fraction  # with `decimal` and `numbers`, for cases whose scores differ

    # Exact, so that the order of the checks never decides whether a mean reaches a threshold.
    weights = [Fraction(check.weight) for check in checks]
    if not any(weights):
        weights = [Fraction(1)] * len(checks)
    total = sum(Fraction(score) * weight for score, weight in zip(known, weights, strict=True))
    return float(total / sum(weights))


def _placed(checks: Sequence[Check], results: Sequence[EvaluationResult]) -> Iterator[PlacedFinding]:
    """Yield the findings of checks that did not pass, each with its place in the file.

    The findings that decide the verdict come first, because some reports show only one.
    """
    # `sorted` is stable, so findings of equal gravity keep the order of the file.
    gravest_first = sorted(zip(checks, results, strict=True), key=lambda pair: severity(pair[1].verdict))
    for check, result in gravest_first:
        if not result.passed:
            for finding in result.findings:
                yield PlacedFinding(check.key, finding, check.source(finding.path))


def _written(checks: Sequence[Check], results: Sequence[EvaluationResult]) -> Iterator[ExpectationSources]:
    """Yield where the expected calls of checks that did not pass are written."""
    for check, result in zip(checks, results, strict=True):
        if not result.passed and isinstance(check.criteria, Criteria):
            for path, places in check.criteria.call_places():
                sources = [check.source(place) for place in places[:_MOST_WRITTEN]]
                yield ExpectationSources(check.key, path, tuple(sources))
