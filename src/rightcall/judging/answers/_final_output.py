"""Did the agent return the expected answer?"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from rightcall.judging.core import Config, Measurement, Selection, Shorthand
from rightcall.matching.matchers import Expectation, compile_value, value_differences
from rightcall.values.results import (
    AnswersJustification,
    Difference,
    FinalOutputJustification,
    Justification,
    value_text,
)

from ._answers import AnswerCriteria, AnswerEvaluator, AnswerPlan, AnswersAccount


class FinalOutputCriteria(AnswerCriteria):
    """The expected answer, with any matchers in it."""

    expectation_key: ClassVar[str] = "output"
    output: Any = None


class FinalOutputConfig(Config):
    """How the final answer is judged."""

    name: str = "FinalOutput"


class FinalOutput(AnswerEvaluator[FinalOutputConfig, FinalOutputCriteria]):
    """Whether the agent's final answer is the expected one: 1.0 if it is, else 0.0; of several turns, the mean.

    Answers are compared as JSON values, with any matchers in the expected one. A trace that recorded no answer, or
    null, is not measured: nothing recorded is not a wrong answer.
    """

    type_id = "final-output"
    shorthand = Shorthand("output", "output")
    justification_type = FinalOutputJustification | AnswersJustification
    config_type = FinalOutputConfig
    criteria_type = FinalOutputCriteria

    def expect(self, value: Any, where: str) -> ExpectedValue:
        return ExpectedValue(value, compile_value(value, self.limits, where=where))

    def measure(self, selection: Selection, plan: AnswerPlan) -> Measurement:
        measured = super().measure(selection, plan)
        account = measured.account
        if plan.answers[0].turn is not None or plan.answers[0].anywhere or not isinstance(account, AnswersAccount):
            return measured
        return msgspec.structs.replace(measured, account=FinalOutputAccount(account.scored, account.threshold))


class ExpectedValue(msgspec.Struct, frozen=True):
    """A value that an answer should equal, or match."""

    expected: Any
    expectation: Expectation

    def score(self, actual: Any) -> float:
        """1.0 or 0.0."""
        return float(self.expectation.matches(actual))

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Where the answer differs."""
        return value_differences(self.expected, actual)

    def reasons(self, actual: Any) -> list[str]:
        """Each difference."""
        return [each.clause("has", "has no", "is") for each in self.differences(actual)]


class FinalOutputAccount(AnswersAccount, frozen=True):
    """The expected and the actual answer of a run."""

    def justify(self) -> Justification:
        """The two answers, shortened, and where they differ."""
        [answer] = self.scored
        return FinalOutputJustification(
            expected=value_text(answer.expected.answer.expected),
            actual=value_text(answer.actual),
            differences=answer.differences,
        )
