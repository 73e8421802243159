"""Were the expected tools called with the expected arguments?"""

from __future__ import annotations

from typing import ClassVar

from rightcall.judging.core import (
    SOME_CALLS,
    Call,
    CallScope,
    Criteria,
    NotEmpty,
    Shorthand,
    ToolCallConfig,
    read_calls,
)
from rightcall.matching.matchers import ArgsPolicy
from rightcall.values.results import Justification, ToolCallArgsEvaluatorJustification

from ._comparison import Comparison
from ._findings import Subject
from ._pairs import PairingEvaluator, PatternPlan, call_patterns, share


class ToolCallArgsEvaluationCriteria(Criteria):
    """The expected calls with their arguments, in any order."""

    lists_calls: ClassVar[tuple[str, ...]] = ("tool_calls",)
    tool_calls: NotEmpty[tuple[Call, ...]]


class ToolCallArgsEvaluatorConfig(ToolCallConfig):
    """`subset`: calls may have more arguments than expected. `strict`: the score is 1.0 or 0.0."""

    name: str = "ToolCallArgsEvaluator"
    strict: bool = False
    subset: bool = True


class ToolCallArgsEvaluator(PairingEvaluator[ToolCallArgsEvaluatorConfig, ToolCallArgsEvaluationCriteria]):
    """The share of expected calls that were made with the expected arguments.

    Expected and actual calls are paired, as many as can be; the score is pairs divided by calls expected. Order does
    not count, and neither do extra calls. The same call expected twice must be made twice; nothing called scores
    0.0. Strict, the score is 1.0 if every expected call is paired, else 0.0. An empty expectation is an error.
    """

    subject = Subject("tool_calls")
    type_id = "tool-call-args"
    takes_wildcards = True
    shorthand = Shorthand(
        "args",
        "tool_calls",
        read_calls,
        SOME_CALLS,
        config=lambda match, args: {"subset": str(args).lower() != "exact"},
    )
    justification_type = ToolCallArgsEvaluatorJustification
    config_type = ToolCallArgsEvaluatorConfig
    criteria_type = ToolCallArgsEvaluationCriteria

    def compile(self, criteria: ToolCallArgsEvaluationCriteria) -> PatternPlan:
        policy: ArgsPolicy = "subset" if self.config.subset else "exact"
        calls = call_patterns(criteria.tool_calls, policy, "tool_calls", self.limits, wildcards=criteria.wildcards)
        return PatternPlan.of(calls)

    def scope(self, criteria: ToolCallArgsEvaluationCriteria) -> CallScope | None:
        return self.plan(criteria).scope()

    def score(self, pairs: int, expected: int, actual: int) -> float:
        return share(pairs, expected, strict=self.config.strict)

    def justify(self, comparison: Comparison, pairs: int, expected: int, actual: int) -> Justification:
        explained, left_out = comparison.explained()
        return ToolCallArgsEvaluatorJustification(
            explained_tool_calls_args=explained, alignment=comparison.alignment(), left_out=left_out
        )
