"""Examples and scorers, in the calling style of judgeval's documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.results import EvaluationResult, Verdict, worst

from ._execution_order import ExecutionOrderEvaluator


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """The actions an agent took and those it should have taken: lists of names."""

    actual_output: Any
    expected_output: Any
    input: Any = None
    name: str | None = None


class Scorer(Protocol):
    """Anything that scores an example."""

    def score(self, example: Example) -> EvaluationResult:
        """What the scorer says of an example."""


class ExecutionOrderScorer:
    """Scores the actions of an example: as a set, in order, or exactly. See `ExecutionOrderEvaluator`.

    Raises:
        ConfigurationError: the threshold is not between 0 and 1, or both flags are set.
    """

    def __init__(
        self,
        threshold: float = 1.0,
        should_exact_match: bool = False,
        should_consider_ordering: bool = False,
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        config = {
            "threshold": threshold,
            "should_exact_match": should_exact_match,
            "should_consider_ordering": should_consider_ordering,
        }
        self._evaluator = ExecutionOrderEvaluator("ExecutionOrder", config, limits=limits)

    def score(self, example: Example) -> EvaluationResult:
        """What the scorer says of an example.

        Raises:
            CriteriaError: the expected actions are not a list of names, or are empty where that has no score.
            InputError: the actual actions are not a list of names.
        """
        if isinstance(example.expected_output, (str, bytes)):
            raise CriteriaError("expected_output is a text; it should be a list of names")
        return self._evaluator.evaluate(example.actual_output, {"expected_output": example.expected_output})


class ExampleResult(msgspec.Struct, frozen=True):
    """What all scorers say of one example. It passes when every one of them passes."""

    example: Example
    results: tuple[EvaluationResult, ...]

    @property
    def verdict(self) -> Verdict:
        """The gravest verdict: a failure before an error, an error before what was not measured."""
        return worst(result.verdict for result in self.results)

    @property
    def success(self) -> bool:
        """Whether every scorer passed the example."""
        return self.verdict == "passed"

    @property
    def passed(self) -> bool:
        """The same as `success`, in Rightcall's own word."""
        return self.success

    @property
    def score(self) -> float | None:
        """The mean score; `None` where a scorer has none."""
        scores = [result.score for result in self.results if result.score is not None]
        return sum(scores) / len(scores) if len(scores) == len(self.results) else None


def run_evaluation(examples: Sequence[Example], scorers: Sequence[Scorer]) -> list[ExampleResult]:
    """The results of all scorers for each example, in order.

    Raises:
        CriteriaError: there is no scorer, or an example's expectation is wrong.
        InputError: an example's actions are not a list of names.
    """
    if not scorers:
        raise CriteriaError("no scorers were given; without one every example would pass")
    for example in examples if isinstance(examples, (list, tuple)) else (examples,):
        if not isinstance(example, Example):
            raise InputError(f"examples are a list of Example, not {shown(example)}")
    return [ExampleResult(example, tuple([scorer.score(example) for scorer in scorers])) for example in examples]
