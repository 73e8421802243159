"""What each evaluator says over all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from ._result import EvaluationResult, Verdict

Measure = tuple[str, Verdict, float | None]
"""The id of an evaluator, its verdict and its score of one case."""


class EvaluatorTotals(msgspec.Struct, frozen=True):
    """How many results of one evaluator there were, by verdict, and the mean of the scores among them."""

    passed: int = 0
    failed: int = 0
    not_measured: int = 0
    error: int = 0
    mean_score: float | None = None
    """None where no result has a score: what was not measured, or broke, is no zero."""


class Aggregates:
    """Results of evaluators, counted by their ids."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Counter[Verdict]] = {}
        self._scores: dict[str, tuple[float, int]] = {}

    def add(self, measures: Iterable[Measure]) -> None:
        """Count the results of one case."""
        for evaluator, verdict, score in measures:
            self._verdicts.setdefault(evaluator, Counter())[verdict] += 1
            if score is not None:
                total, count = self._scores.get(evaluator, (0.0, 0))
                self._scores[evaluator] = total + score, count + 1

    def by_evaluator(self) -> dict[str, EvaluatorTotals]:
        """The totals of each evaluator, by its id, in the order in which they were first seen."""
        return {evaluator: self._totals(evaluator, counts) for evaluator, counts in self._verdicts.items()}

    def _totals(self, evaluator: str, counts: Counter[Verdict]) -> EvaluatorTotals:
        total, count = self._scores.get(evaluator, (0.0, 0))
        mean = total / count if count else None
        return EvaluatorTotals(counts["passed"], counts["failed"], counts["not_measured"], counts["error"], mean)


def measures_of(results: Iterable[EvaluationResult]) -> tuple[Measure, ...]:
    """What counts of the results of one case."""
    return tuple([(result.evaluator, result.verdict, result.score) for result in results])
