"""The two judges: of what the agent did, and of its answer."""

from __future__ import annotations

from typing import Annotated, Any

from rightcall.errors import InputError, shown
from rightcall.judging.answers import Target, expected_part, part_of
from rightcall.judging.core import After, Before, Execution, Listed, NoPlan, Shorthand
from rightcall.values.decoding import admit
from rightcall.values.results import EvaluationResult, Finding

from . import JudgeError, Question, QuestionBlock, Rubric, calls_of
from ._judge import JudgeConfig, JudgeCriteria, JudgeEvaluator


class JudgeTrajectoryConfig(JudgeConfig):
    """How a judge of trajectories is asked."""

    name: str = "LlmJudgeTrajectory"


class JudgeTrajectoryCriteria(JudgeCriteria):
    """The expected behaviour in words; that of the case under `expected_behavior`, if it is empty."""

    expected_agent_behavior: Annotated[str, Before(lambda value: "" if value is None else value)] = ""


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
        blocks = [QuestionBlock("input", execution.input)]
        blocks += [QuestionBlock("expected_behavior", expected)] if expected else []
        blocks += [
            QuestionBlock("calls", calls_of(execution.trajectory), lines=True),
            QuestionBlock("output", execution.output),
        ]
        return Question(task=self.asked(), blocks=tuple(blocks), rubrics=rubrics, calls=len(execution.calls))


def _is_some_key(value: Target) -> Target:
    if not value:
        raise ValueError(f"a key is expected, not {shown(value)}")
    return value


class JudgeOutputConfig(JudgeConfig):
    """How a judge of answers is asked, and which part of the answer it is shown."""

    name: str = "LlmJudgeOutput"
    target_output_key: Annotated[Target, After(_is_some_key)] = "*"


class JudgeOutputCriteria(JudgeCriteria):
    """The expected answer, or rubrics that it is to meet. In `expected_turns`, what is expected of each turn."""

    expected_output: Any = None
    expected_turns: Listed[tuple[Any, ...] | None] = None

    def check(self) -> None:
        if self.expected_turns is not None and self.expected_output is not None:
            raise ValueError("give 'expected_output' for the answer of the run or 'expected_turns', one of the two")
        try:
            admit([self.expected_output, list(self.expected_turns or ())])
        except InputError as problem:
            raise ValueError(f"expected_output: {problem}") from None


class LlmJudgeOutput(JudgeEvaluator[JudgeOutputConfig, JudgeOutputCriteria]):
    """What a language model says of the final answer: its score divided by 100, or the share of rubrics that is met.

    It is shown the input, the expected answer if there is one, and the answer; with `expected_turns`, the lists of
    them, turn by turn. Nothing expected, neither an answer nor
    rubrics nor a prompt, is an error; no answer, or null, is not measured; an answer without the part that is judged
    is 0.0.
    """

    type_id = "llm-judge-output"
    shorthand = Shorthand("llm-judge-output", "expected_output")
    reads_calls = False
    config_type = JudgeOutputConfig
    criteria_type = JudgeOutputCriteria
    task = (
        "Judge the final answer of the agent. The block input has what it was given, expected_output the answer that "
        "was expected, if any, and output the answer it gave. Judge the meaning: other words, another order or another "
        "form are fine, but every fact counts, and so does one that is missing, wrong or made up."
    )

    def compile(self, criteria: JudgeOutputCriteria) -> NoPlan:
        """Nothing but a look at whether the part that is judged is there."""
        if criteria.expected_output is not None:
            self._expected(criteria)
        return NoPlan()

    async def assess(self, execution: Execution, criteria: JudgeOutputCriteria) -> EvaluationResult:
        """Ask the judge, unless the answer was not recorded."""
        if execution.output is None:
            return self.unmeasured(execution, "the final output was not recorded")
        if criteria.expected_turns is not None:
            return await super().assess(execution, criteria)
        try:
            part_of(execution.output, self.config.target_output_key, self.limits)
        except InputError as problem:
            finding = Finding("RC110", f"the final output has not the part that is judged: {problem}")
            return self.scored(execution, 0.0, findings=(finding,))
        return await super().assess(execution, criteria)

    def question(self, execution: Execution, criteria: JudgeOutputCriteria, rubrics: tuple[Rubric, ...]) -> Question:
        """The input, and both answers."""
        expected, output = self._expected(criteria), execution.output
        if criteria.expected_turns is not None:
            expected, output = list(criteria.expected_turns), list(execution.trajectory.turn_outputs) or [output]
        else:
            output = part_of(output, self.config.target_output_key, self.limits)
        if expected is None and not rubrics and not self.config.prompt:
            raise JudgeError("RC601", "nothing says what is expected: give expected_output, rubrics or a prompt")
        blocks = [QuestionBlock("input", execution.input)]
        blocks += [QuestionBlock("expected_output", expected)] if expected is not None else []
        return Question(task=self.asked(), blocks=(*blocks, QuestionBlock("output", output)), rubrics=rubrics)

    def _expected(self, criteria: JudgeOutputCriteria) -> Any:
        if criteria.expected_output is None:
            return None
        return expected_part(criteria.expected_output, self.config.target_output_key, "expected_output", self.limits)
