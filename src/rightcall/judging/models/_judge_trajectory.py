"""Does a judge hold what the agent did to be right?"""

from __future__ import annotations

from typing import Any

from pydantic import StrictStr, field_validator

from rightcall.judging.core import Execution, Shorthand

from . import Block, JudgeError, Question, Rubric, calls_of
from ._judging import JudgeConfig, JudgeCriteria, JudgeEvaluator


class JudgeTrajectoryConfig(JudgeConfig):
    """How a judge of trajectories is asked."""

    name: StrictStr = "LlmJudgeTrajectory"


class JudgeTrajectoryCriteria(JudgeCriteria):
    """What the agent should do, in words; what the case says under `expected_behavior`, if it is empty."""

    expected_agent_behavior: StrictStr = ""

    @field_validator("expected_agent_behavior", mode="before")
    @classmethod
    def _may_be_null(cls, value: Any) -> Any:
        return "" if value is None else value


class LlmJudgeTrajectory(JudgeEvaluator[JudgeTrajectoryConfig, JudgeTrajectoryCriteria]):
    """What a language model says of the calls of a run: its score divided by 100, or the share of rubrics that is met.

    It is shown the input, the expected behaviour, every call with its arguments, output, error and the calls it ran
    together with, and the final answer. Nothing expected, neither behaviour nor rubrics nor a prompt, is an error.
    No calls are judged like any others, but a trace without tool data is not measured.
    """

    type_id = "llm-judge-trajectory"
    shorthand = Shorthand("llm-judge-trajectory", "expected_agent_behavior", schema={"type": ["string", "null"]})
    config_type = JudgeTrajectoryConfig
    criteria_type = JudgeTrajectoryCriteria
    task = (
        "Judge whether the agent did what it should. The block input has what it was given, expected_behavior what it "
        "should do, calls the tools it called, in order, and output its final answer. Judge the path: whether the "
        "right tools were called, with the right arguments, in a sensible order, and whether errors were dealt with. "
        "A call that nothing asked for, or that is missing, counts against it."
    )

    def question(
        self, execution: Execution, criteria: JudgeTrajectoryCriteria, rubrics: tuple[Rubric, ...]
    ) -> Question:
        """Everything that is known of the run."""
        expected = criteria.expected_agent_behavior or execution.expected_behavior
        if not (expected or rubrics or self.config.prompt):
            reason = "nothing says what is expected: give expected_behavior, rubrics or a prompt"
            raise JudgeError("RC601", reason)
        blocks = [Block("input", execution.input)]
        blocks += [Block("expected_behavior", expected)] if expected else []
        blocks += [Block("calls", calls_of(execution.trajectory), lines=True), Block("output", execution.output)]
        return Question(task=self.asked(), blocks=tuple(blocks), rubrics=rubrics, calls=len(execution.calls))
