"""Results of many cases: totals by verdict and by evaluator, repeats, and overall results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ._case_result import CaseResult, Source, Totals, worst
from ._result import EvaluationResult, Verdict
from ._signs import SIGNS

Measure = tuple[str, Verdict, float | None]
"""The id of an evaluator, its verdict and its score of one case."""
OTHER = "(other)"
"""The column of answers that are none of the classes."""


class EvaluatorTotals(msgspec.Struct, frozen=True):
    """The number of results of one evaluator, by verdict, and the mean of their scores."""

    passed: int = 0
    failed: int = 0
    not_measured: int = 0
    error: int = 0
    mean_score: float | None = None
    """`None` if no result has a score: what was not measured, or failed with an error, does not count as zero."""


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
        """Return the totals of each evaluator, by its id, in the order in which they were first seen."""
        return {evaluator: self._totals(evaluator, counts) for evaluator, counts in self._verdicts.items()}

    def _totals(self, evaluator: str, counts: Counter[Verdict]) -> EvaluatorTotals:
        total, count = self._scores.get(evaluator, (0.0, 0))
        mean = total / count if count else None
        return EvaluatorTotals(counts["passed"], counts["failed"], counts["not_measured"], counts["error"], mean)


def measures_of(results: Iterable[EvaluationResult]) -> tuple[Measure, ...]:
    """Return the evaluator, verdict and score of each result of a case."""
    return tuple([(result.evaluator, result.verdict, result.score) for result in results])


class Tally:
    """The verdicts of cases, each of which may have been run several times.

    A case passes if all its repeats pass or, with `needed`, if that many do. It fails if repeats in error or not
    measured could not have changed that. Other repeats never make up for an error, or for one that was not measured.
    """

    def __init__(self, needed: int | None = None) -> None:
        self._needed = needed
        self._verdicts: dict[str, list[Verdict]] = {}

    def add(self, result: CaseResult) -> None:
        """Count the result of one repeat."""
        self.count(result.case_id, result.verdict)

    def count(self, case_id: str, verdict: Verdict) -> None:
        """Count the verdict of one repeat."""
        self._verdicts.setdefault(case_id, []).append(verdict)

    def verdict(self, case_id: str) -> Verdict:
        """Return the verdict of a case so far."""
        verdicts = self._verdicts[case_id]
        needed = len(verdicts) if self._needed is None else self._needed
        could_pass = len(verdicts) - verdicts.count("failed") >= needed
        return worst([verdict for verdict in verdicts if verdict != "failed"]) if could_pass else "failed"

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each case so far."""
        return {case_id: self.verdict(case_id) for case_id in self._verdicts}

    def totals(self) -> Totals:
        """Return the number of cases by verdict."""
        return Totals.of([self.verdict(case_id) for case_id in self._verdicts])

    def shares(self) -> Iterator[tuple[str, int, int]]:
        """Yield each case with repeats that did not all pass: how many did, and of how many."""
        for case_id, verdicts in self._verdicts.items():
            passed = verdicts.count("passed")
            if len(verdicts) > 1 and passed < len(verdicts):
                yield case_id, passed, len(verdicts)


class ClassFigures(msgspec.Struct, frozen=True):
    """One class: how often it was expected and found, and its precision, recall and F1."""

    name: str
    expected: int
    found: int
    right: int
    precision: float
    recall: float
    f1: float


class Classification(msgspec.Struct, frozen=True):
    """Expected and actual classes of all cases.

    `matrix` has a row for each class that was expected and, in it, how often each class was found: the classes in
    order and, last, whatever is none of them.
    """

    classes: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]
    figures: tuple[ClassFigures, ...]
    accuracy: float
    cases: int
    left_out: int = 0
    """Cases that do not say which class is expected."""


class OverallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one evaluator for all cases together. Without a score if it was not measured, or in error."""

    evaluator: str
    verdict: Verdict
    score: float | None = None
    threshold: float = 1.0
    reason: str = ""
    """In one sentence, what the score is or why there is none."""
    source: Source
    classification: Classification | None = None
    details: Any = None
    """Additional data of a custom evaluator."""

    def __str__(self) -> str:
        return f"{self.evaluator}: {SIGNS[self.verdict].word}: {self.reason}"
