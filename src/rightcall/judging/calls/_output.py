"""Did the expected tools return the expected outputs?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from rightcall.judging.core import (
    CallScope,
    Criteria,
    NotEmpty,
    Shorthand,
    ToolCallConfig,
    ToolName,
    UserModel,
    read_outputs,
)
from rightcall.matching.matchers import OutputPattern, Pattern, call_pattern
from rightcall.values.results import Justification, ToolCallOutputEvaluatorJustification

from ._comparison import Comparison
from ._findings import Subject
from ._pairs import PairingEvaluator, PatternPlan, share


class ExpectedOutput(UserModel):
    """One expected output: the tool's name and what it should return, with any matchers in it."""

    name: ToolName
    output: Any
    id: str | None = None
    """The id of the tool, for comparing tools by id, as UiPath does."""
    nth: int | None = None
    """Which call of the tool is meant: 1 for the first, -1 for the last."""


class ToolCallOutputEvaluationCriteria(Criteria):
    """The expected outputs, in any order."""

    lists_calls: ClassVar[tuple[str, ...]] = ("tool_outputs",)
    tool_outputs: NotEmpty[tuple[ExpectedOutput, ...]]


class ToolCallOutputEvaluatorConfig(ToolCallConfig):
    """`compare: text`: outputs are compared as text, to the letter. `strict`: the score is 1.0 or 0.0."""

    name: str = "ToolCallOutputEvaluator"
    strict: bool = False
    compare: Literal["value", "text"] = "value"


class ToolCallOutputEvaluator(PairingEvaluator[ToolCallOutputEvaluatorConfig, ToolCallOutputEvaluationCriteria]):
    """The share of expected outputs that the expected tools returned.

    Expected outputs and actual calls are paired, as many as can be; the score is pairs divided by outputs expected.
    Outputs are compared as values: text that reads as an object or a list, in JSON or in Python, is read as one.
    Order does not count; the same output expected twice must be given twice; nothing called scores 0.0. Strict, the
    score is 1.0 if every expected output is paired, else 0.0. An empty expectation is an error.
    """

    subject = Subject("tool_outputs", "RC106", "returned", "", "no", "its output was not recorded")
    type_id = "tool-call-output"
    takes_wildcards = True
    shorthand = Shorthand("outputs", "tool_outputs", read_outputs, {"type": ["array", "object"]})
    justification_type = ToolCallOutputEvaluatorJustification
    config_type = ToolCallOutputEvaluatorConfig
    criteria_type = ToolCallOutputEvaluationCriteria

    def compile(self, criteria: ToolCallOutputEvaluationCriteria) -> PatternPlan:
        text = self.config.compare == "text"
        patterns = [
            self._pattern(expected, f"tool_outputs[{index}]", text=text, wildcards=criteria.wildcards)
            for index, expected in enumerate(criteria.tool_outputs)
        ]
        return PatternPlan.of(patterns)

    def _pattern(self, expected: ExpectedOutput, where: str, *, text: bool, wildcards: bool) -> Pattern:
        if expected.nth is None and not (wildcards and "*" in expected.name):
            place = f"{where}.output"
            return OutputPattern(expected.name, expected.output, text=text, where=place, limits=self.limits)
        return call_pattern(
            expected.name,
            output=expected.output,
            nth=expected.nth,
            as_text=text,
            wildcards=wildcards,
            where=where,
            limits=self.limits,
        )

    def scope(self, criteria: ToolCallOutputEvaluationCriteria) -> CallScope | None:
        return self.plan(criteria).scope()

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return share(pairs, expected, strict=self.config.strict)

    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        explained, left_out = comparison.explained()
        return ToolCallOutputEvaluatorJustification(
            explained_tool_calls_outputs=explained, alignment=comparison.alignment(), left_out=left_out
        )
