"""The results of rows: verdict, score and measures, and the causes of what did not pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import msgspec
import pyarrow as pa

from rightcall.cases.evalsets import Check
from rightcall.cases.verdicts import weighted_score
from rightcall.values.results import CaseResult, EvaluationResult, Verdict, worst

from ._conform import SCORES

_MEASURES = SCORES.field("measures").type
_DIAGNOSES = SCORES.field("diagnoses").type

_NARROW = 256
"""Numbers that a byte can hold."""

Cause = tuple[str, str]
"""The code of a finding, and the tool that it is about."""


class Measured(msgspec.Struct, frozen=True):
    """What one evaluator says of a row."""

    evaluator: str
    verdict: Verdict
    score: float | None
    error: str | None = None

    @classmethod
    def of(cls, result: EvaluationResult) -> Measured:
        """What counts of a result."""
        return cls(result.evaluator, result.verdict, result.score, result.error)


class Outcome(msgspec.Struct, frozen=True):
    """The result of a row, of all evaluators together. There are few different ones."""

    verdict: Verdict
    score: float | None = None
    measured: tuple[Measured, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, checks: Sequence[Check], measured: Sequence[Measured]) -> Outcome:
        """The outcome of what each evaluator says, in the order of the checks."""
        verdict = worst([each.verdict for each in measured])
        score = weighted_score(checks, [each.score for each in measured])
        return cls(verdict, score, tuple(measured), next((each.error for each in measured if each.error), None))

    @classmethod
    def of_result(cls, result: CaseResult) -> Outcome:
        """The outcome that the result of a case is."""
        measured = tuple([Measured.of(each) for each in result.results])
        error = next((each.error for each in measured if each.error), None)
        if not measured and result.findings:
            error = result.findings[0].finding.message
        return cls(result.verdict, result.score, measured, error)


def causes_of(result: EvaluationResult) -> list[Cause]:
    """Why a result did not pass, each cause once, by code and tool."""
    if result.passed:
        return []
    return sorted({(finding.code, finding.tool) for finding in result.findings})


Causes = Sequence[int]
"""Numbers of causes, in order: bytes where they are small, which is where there is no end of rows to be told of."""

Scored = tuple[int, Causes]
"""The number of what is said of a row, and those of the causes."""

NOT_SCORED: Scored = (-1, b"")
"""Stands for a row that is to be judged in the ordinary way."""


class Outcomes:
    """The outcomes and causes that occur in a batch, a number for each."""

    def __init__(self) -> None:
        self._outcomes: dict[Outcome, int] = {}
        self._causes: list[tuple[str, Cause]] = []

    def number(self, outcome: Outcome) -> int:
        """The number of an outcome."""
        return self._outcomes.setdefault(outcome, len(self._outcomes))

    def add(self, evaluator: str, causes: Sequence[Cause]) -> range:
        """Numbers for causes that an evaluator may name, one after the other."""
        first = len(self._causes)
        self._causes += [(evaluator, cause) for cause in causes]
        return range(first, len(self._causes))

    def causes(self, result: EvaluationResult) -> Causes:
        """Numbers for the causes of a result."""
        return packed(self.add(result.evaluator, causes_of(result)))

    def columns(self, numbers: Sequence[int], causes: Sequence[Causes]) -> dict[str, pa.Array]:
        """What rows with these outcomes and causes say in the columns of `SCORES`."""
        held = list(self._outcomes)
        rows = pa.array(numbers, pa.int32())
        distinct: dict[str, Any] = {
            "verdict": pa.array([each.verdict for each in held], pa.string()),
            "score": pa.array([each.score for each in held], pa.float64()),
            "measures": pa.array([_measures(each) for each in held], _MEASURES),
            "error": pa.array([each.error for each in held], pa.string()),
        }
        columns = {name: column.take(rows) for name, column in distinct.items()}
        return {**columns, "diagnoses": self._diagnoses(causes, columns["measures"])}

    def _diagnoses(self, causes: Sequence[Causes], measures: pa.Array) -> pa.Array:
        """The causes of each row; null where nothing was measured."""
        held = [
            {"evaluator": evaluator, "code": code, "tool": tool or None} for evaluator, (code, tool) in self._causes
        ]
        flat = pa.array(held, _DIAGNOSES.value_type).take(self._flat(causes))
        offsets = pa.array(accumulate(map(len, causes), initial=0), pa.int32())
        return pa.ListArray.from_arrays(offsets, flat, _DIAGNOSES, mask=measures.is_null())

    def _flat(self, causes: Sequence[Causes]) -> pa.Array:
        if len(self._causes) > _NARROW:
            return pa.array(chain.from_iterable(causes), pa.int32())
        # Numbers below 256 are a byte each, so that no Python integer is made for them.
        joined = b"".join(map(bytes, causes))
        return pa.Array.from_buffers(pa.uint8(), len(joined), [None, pa.py_buffer(joined)])


def packed(numbers: Sequence[int]) -> Causes:
    """Numbers of causes in the form that is held."""
    return bytes(numbers) if not numbers or max(numbers) < _NARROW else tuple(numbers)


def _measures(outcome: Outcome) -> list[dict[str, Any]] | None:
    if not outcome.measured:
        return None
    return [{"evaluator": each.evaluator, "verdict": each.verdict, "score": each.score} for each in outcome.measured]
