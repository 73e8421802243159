"""What the evaluators of the agent's answer have in common: the answer of the run, or those of its turns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Set
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from rightcall.judging.core import Config, Criteria, Evaluator, Listed, Measurement, Selection
from rightcall.matching.matchers import is_literal
from rightcall.values.results import (
    AnswersJustification,
    ComparedAnswer,
    Difference,
    Finding,
    Justification,
    value_text,
)

_MOST_FINDINGS = 40


class AnswerCriteria(Criteria):
    """The expected answer of the run or, in `expected_turns`, of each turn: null where a turn expects nothing."""

    expectation_key: ClassVar[str]
    """The key that has the expected answer of the run."""
    expected_turns: Listed[tuple[Any, ...] | None] = None

    def check(self) -> None:
        if (self.expectation_key in self.model_fields_set) == (self.expected_turns is not None):
            raise ValueError(
                f"give {self.expectation_key!r} for the answer of the run or 'expected_turns' for those of its turns, "
                "one of the two"
            )
        if self.expected_turns is not None and all(each is None for each in self.expected_turns):
            raise ValueError("expected_turns expects nothing of any turn")


class ExpectedAnswer(Protocol):
    """One expected answer, compiled. Nothing in it raises for a JSON value."""

    @property
    def expected(self) -> Any:
        """The expectation, as it was written."""

    def score(self, actual: Any) -> float:
        """How good an answer is, from 0.0 to 1.0."""

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Where an answer differs, if that can be said by paths."""

    def reasons(self, actual: Any) -> list[str]:
        """Why an answer has not the full score: ends of the sentence that begins with 'the final output'."""


class Expected(msgspec.Struct, frozen=True):
    """An expected answer, its turn, and its place in the criteria."""

    answer: ExpectedAnswer
    path: str
    turn: int | None = None
    last: bool = True
    """Whether it is the answer of the last turn, which is the answer of the run."""

    def actual(self, selection: Selection) -> Any:
        """The answer that was given; `None` where it was not recorded."""
        if self.turn is None or not selection.turn_outputs:
            return selection.output if self.last else None
        return selection.turn_outputs[self.turn] if self.turn < len(selection.turn_outputs) else None


class AnswerPlan(msgspec.Struct, frozen=True):
    """The expected answers, compiled."""

    answers: tuple[Expected, ...]
    names: Set[str] = frozenset()
    size: int = 1
    spends: bool = False


ConfigT = TypeVar("ConfigT", bound=Config)
CriteriaT = TypeVar("CriteriaT", bound=AnswerCriteria)


class AnswerEvaluator(Evaluator[ConfigT, CriteriaT, AnswerPlan]):
    """Judges the answer of a run, or of each turn something is expected of: then the score is the mean of theirs.

    An answer that was not recorded, or is null, is not measured: nothing recorded is not a wrong answer.
    """

    reads_calls = False
    justification_type = AnswersJustification

    @abstractmethod
    def expect(self, value: Any, where: str) -> ExpectedAnswer:
        """One expected answer, compiled. Raises `CriteriaError`."""

    def compile(self, criteria: CriteriaT) -> AnswerPlan:
        turns = criteria.expected_turns
        if turns is None:
            key = criteria.expectation_key
            return _plan([Expected(self.expect(getattr(criteria, key), key), key)])
        expected = [(turn, f"expected_turns[{turn}]", value) for turn, value in enumerate(turns) if value is not None]
        last = len(turns) - 1
        return _plan([Expected(self.expect(value, path), path, turn, turn == last) for turn, path, value in expected])

    def measure(self, selection: Selection, plan: AnswerPlan) -> Measurement:
        scored = [_scored(each, selection) for each in plan.answers]
        account = AnswersAccount(scored, self.config.threshold)
        low = _mean([0.0 if each.score is None else each.score for each in scored])
        high = _mean([1.0 if each.score is None else each.score for each in scored])
        return Measurement(low, high, account)


def _plan(answers: list[Expected]) -> AnswerPlan:
    return AnswerPlan(tuple(answers), spends=not all([is_literal(each.answer.expected) for each in answers]))


class Scored(msgspec.Struct, frozen=True):
    """An expected answer, the actual one, and its score, where there is one."""

    expected: Expected
    actual: Any
    score: float | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the answer differs."""
        return () if self.score is None else self.expected.answer.differences(self.actual)

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the answer."""
        path, turn = self.expected.path, self.expected.turn
        subject = "the final output" if turn is None else f"turn {turn + 1}: the output"
        if self.score is None:
            yield Finding("RC301", f"{subject} was not recorded", path=path)
            return
        for reason in self.expected.answer.reasons(self.actual)[:3]:
            yield Finding("RC108", f"{subject} {reason}", path=path)


class AnswersAccount(msgspec.Struct, frozen=True):
    """The expected and the actual answers."""

    scored: list[Scored]
    threshold: float

    def justify(self) -> Justification:
        """The answers, shortened, their scores, and where they differ."""
        return AnswersJustification(
            answers=[
                ComparedAnswer(
                    value_text(each.expected.answer.expected),
                    value_text(each.actual),
                    each.score,
                    each.expected.turn,
                    each.differences,
                )
                for each in self.scored[:_MOST_FINDINGS]
            ]
        )

    def find(self) -> tuple[Finding, ...]:
        """Return what is wrong with each answer that does not reach the threshold, or was not recorded."""
        low = [each for each in self.scored if each.score is None or each.score < self.threshold]
        return tuple([finding for each in low for finding in each.findings()][:_MOST_FINDINGS])


def _scored(expected: Expected, selection: Selection) -> Scored:
    actual = expected.actual(selection)
    return Scored(expected, actual, None if actual is None else expected.answer.score(actual))


def _mean(scores: list[float]) -> float:
    return scores[0] if len(scores) == 1 else float(sum(map(Fraction, scores)) / len(scores))
