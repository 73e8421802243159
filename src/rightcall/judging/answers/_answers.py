"""What the evaluators of the agent's answer have in common: the answer of the run, or those of its turns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Set
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import msgspec

from rightcall.errors import shown
from rightcall.judging.core import After, Config, Criteria, Evaluator, Listed, Measurement, Selection
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


def _turn(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is not None and value not in ("any", "last") and not is_number:
        raise ValueError(f"a turn is 'any', 'last' or a number from 0, not {shown(value)}")
    return value


class AnswerCriteria(Criteria):
    """The expected answer of the run or, in `expected_turns`, of each turn: null where a turn expects nothing."""

    expectation_key: ClassVar[str]
    """The key that has the expected answer of the run."""
    expected_turns: Listed[tuple[Any, ...] | None] = None
    turn: Annotated[Any, After(_turn)] = None
    """The turn whose answer is meant: a number from 0, `last` or `any`. The last one's is the answer of the run."""

    def check(self) -> None:
        if (self.expectation_key in self.model_fields_set) == (self.expected_turns is not None):
            raise ValueError(
                f"give {self.expectation_key!r} for the answer of the run or 'expected_turns' for those of its turns, "
                "one of the two"
            )
        if self.expected_turns is not None and all(each is None for each in self.expected_turns):
            raise ValueError("expected_turns expects nothing of any turn")
        if self.expected_turns is not None and self.turn is not None:
            raise ValueError(
                "'turn' chooses the answer of one turn, and 'expected_turns' is about all of them; give one"
            )


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
    anywhere: bool = False
    """Whether the answer of any turn will do."""

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
            key, turn = criteria.expectation_key, criteria.turn
            number = turn if isinstance(turn, int) else None
            answer = self.expect(getattr(criteria, key), key)
            return _plan([Expected(answer, key, number, last=number is None, anywhere=turn == "any")])
        expected = [(turn, f"expected_turns[{turn}]", value) for turn, value in enumerate(turns) if value is not None]
        last = len(turns) - 1
        return _plan([Expected(self.expect(value, path), path, turn, turn == last) for turn, path, value in expected])

    def measure(self, selection: Selection, plan: AnswerPlan) -> Measurement:
        threshold = self.config.threshold
        scored = [
            _best(each, selection, threshold) if each.anywhere else _scored(each, selection) for each in plan.answers
        ]
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
    turns: int = 0
    """How many turns were tried, where the answer of any will do."""

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the answer differs."""
        return () if self.score is None else self.expected.answer.differences(self.actual)

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the answer."""
        path, turn = self.expected.path, self.expected.turn
        subject = "the final output" if turn is None else f"turn {turn + 1}: the output"
        if self.score is None:
            unknown = f"{subject} was" if not self.expected.anywhere else "the outputs of some turns were"
            yield Finding("RC301", f"{unknown} not recorded", path=path)
            return
        if self.expected.anywhere and self.turns > 1:
            subject = f"the outputs of {self.turns} turns are not as expected; {subject}"
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


def _best(expected: Expected, selection: Selection, threshold: float) -> Scored:
    """The answer of any turn that has the highest score. Without one that suffices, an unknown answer may be better."""
    outputs = selection.turn_outputs or (selection.output,)
    tried = [_scored(msgspec.structs.replace(expected, turn=turn), selection) for turn in range(len(outputs))]
    tried = tried if selection.turn_outputs else [_scored(expected, selection)]
    known = [each for each in tried if each.score is not None]
    best = max(known, key=lambda each: each.score or 0.0, default=tried[-1])
    is_open = len(known) < len(tried) or _has_other_turns(selection)
    score = None if is_open and (best.score is None or best.score < threshold) else best.score
    return msgspec.structs.replace(best, score=score, turns=len(tried))


def _has_other_turns(selection: Selection) -> bool:
    """Whether the run had turns whose answers are not known."""
    trajectory = selection.trajectory
    if selection.turn_outputs or trajectory is None:
        return False
    return len(trajectory.turn_inputs) > 1 or any([(call.turn or 0) > 0 for call in trajectory.calls])


def _mean(scores: list[float]) -> float:
    return scores[0] if len(scores) == 1 else float(sum(map(Fraction, scores)) / len(scores))
