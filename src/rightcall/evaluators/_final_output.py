"""Did the agent give back the expected answer?"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import msgspec

from rightcall.matchers import Expectation, compile_value, value_differences
from rightcall.results import FinalOutputJustification, Finding, Justification, value_text

from ._criteria import Config, Criteria
from ._evaluator import Evaluator, Measurement
from ._selection import Selection


class FinalOutputCriteria(Criteria):
    """The expected answer, with any matchers in it."""

    output: Any


class FinalOutputConfig(Config):
    """How the final answer is judged."""

    name: str = "FinalOutput"


class OutputPlan(msgspec.Struct, frozen=True):
    """The expected answer, compiled."""

    output: Any
    expectation: Expectation
    names: Set[str] = frozenset()
    size: int = 1


class FinalOutput(Evaluator[FinalOutputConfig, FinalOutputCriteria, OutputPlan]):
    """Whether the agent's final answer is the expected one: 1.0 if it is, else 0.0.

    Answers are compared as JSON values, with any matchers in the expected one. A trace that recorded no answer, or
    null, is not measured: nothing recorded is not a wrong answer.
    """

    type_id = "final-output"
    reads_calls = False
    config_type = FinalOutputConfig
    criteria_type = FinalOutputCriteria

    def compile(self, criteria: FinalOutputCriteria) -> OutputPlan:
        return OutputPlan(criteria.output, compile_value(criteria.output, self.limits, where="output"))

    def measure(self, selection: Selection, plan: OutputPlan) -> Measurement:
        account = OutputAccount(selection.output, plan)
        if selection.output is None:
            return Measurement(0.0, 1.0, account)
        score = float(plan.expectation.matches(selection.output))
        return Measurement(score, score, account)


class OutputAccount(msgspec.Struct, frozen=True):
    """The expected and the actual answer."""

    actual: Any
    plan: OutputPlan

    def justify(self) -> Justification:
        """The two answers, shortened, and where they differ."""
        differences = () if self.actual is None else value_differences(self.plan.output, self.actual)
        return FinalOutputJustification(
            expected=value_text(self.plan.output), actual=value_text(self.actual), differences=differences
        )

    def find(self) -> tuple[Finding, ...]:
        """Where the answer differs, or that there is none."""
        if self.actual is None:
            return (Finding("RC301", "the final output was not recorded", path="output"),)
        differences = value_differences(self.plan.output, self.actual)
        return tuple([Finding("RC108", f"the final output differs: {each}", path="output") for each in differences[:3]])
