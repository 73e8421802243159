"""What rows come to, each kind of outcome held once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from rightcall.evalsets import Check
from rightcall.results import CaseResult, EvaluationResult, Verdict, gravest
from rightcall.verdicts import weighted

from ._schema import SCORES

_MEASURES = SCORES.field("measures").type
_DIAGNOSES = SCORES.field("diagnoses").type

Cause = tuple[str, str]
"""The code of a finding, and the tool that it is about."""


class Measured(msgspec.Struct, frozen=True):
    """What one evaluator says of a row: its verdict and score and, where it did not pass, why."""

    evaluator: str
    verdict: Verdict
    score: float | None
    causes: tuple[Cause, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, result: EvaluationResult) -> Measured:
        """What counts of a result."""
        if result.passed:
            return cls(result.evaluator, result.verdict, result.score)
        causes = ordered([(finding.code, finding.tool) for finding in result.findings])
        return cls(result.evaluator, result.verdict, result.score, causes, result.error)


class Outcome(msgspec.Struct, frozen=True):
    """What a row comes to, all evaluators together."""

    verdict: Verdict
    score: float | None = None
    measured: tuple[Measured, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, checks: Sequence[Check], measured: Sequence[Measured]) -> Outcome:
        """The outcome of what each evaluator says, in the order of the checks."""
        verdict = gravest([each.verdict for each in measured])
        score = weighted(checks, [each.score for each in measured])
        return cls(verdict, score, tuple(measured), next((each.error for each in measured if each.error), None))

    @classmethod
    def of_result(cls, result: CaseResult) -> Outcome:
        """The outcome that the result of a case is."""
        measured = tuple([Measured.of(each) for each in result.results])
        error = next((each.error for each in measured if each.error), None)
        if not measured and result.findings:
            error = result.findings[0].finding.message
        return cls(result.verdict, result.score, measured, error)


def ordered(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Causes in the one order that does not depend on who found them when, each once."""
    return tuple(sorted(set(causes)))


class Outcomes:
    """The outcomes of a batch. Most rows come to what another row came to before them."""

    def __init__(self) -> None:
        self._numbers: dict[Outcome, int] = {}

    def number(self, outcome: Outcome) -> int:
        """The number of an outcome."""
        return self._numbers.setdefault(outcome, len(self._numbers))

    def columns(self, numbers: Sequence[int]) -> dict[str, pa.Array]:
        """What the outcomes with these numbers say, in the columns of `SCORES`."""
        held = list(self._numbers)
        rows = pa.array(numbers, pa.int32())
        distinct: dict[str, Any] = {
            "verdict": pa.array([each.verdict for each in held], pa.string()),
            "score": pa.array([each.score for each in held], pa.float64()),
            "measures": pa.array([_measures(each) for each in held], _MEASURES),
            "diagnoses": pa.array([_diagnoses(each) for each in held], _DIAGNOSES),
            "error": pa.array([each.error for each in held], pa.string()),
        }
        return {name: column.take(rows) for name, column in distinct.items()}


def _measures(outcome: Outcome) -> list[dict[str, Any]] | None:
    if not outcome.measured:
        return None
    return [{"evaluator": each.evaluator, "verdict": each.verdict, "score": each.score} for each in outcome.measured]


def _diagnoses(outcome: Outcome) -> list[dict[str, Any]] | None:
    if not outcome.measured:
        return None
    return [
        {"evaluator": each.evaluator, "code": code, "tool": tool or None}
        for each in outcome.measured
        for code, tool in each.causes
    ]
