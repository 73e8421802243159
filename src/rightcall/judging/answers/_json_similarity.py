"""How similar is the agent's answer to the expected one, value by value?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from rightcall.errors import InputError
from rightcall.judging.core import Shorthand
from rightcall.limits import Limits
from rightcall.matching.matchers import value_differences
from rightcall.values.results import Difference

from ._answers import AnswerCriteria, AnswerEvaluator
from ._likeness import Likeness
from ._parts import PartConfig, expected_part, lines_of, paired_lines, part_of


class JsonSimilarityCriteria(AnswerCriteria):
    """The expected answer, without matchers."""

    expectation_key: ClassVar[str] = "expected_output"
    expected_output: Any = None


class JsonSimilarityConfig(PartConfig):
    """How the answer is compared. `lists`: item by item, or each item with the one it is most like."""

    name: str = "JsonSimilarityEvaluator"
    lists: Literal["in_order", "any_order"] = "in_order"


class JsonSimilarityEvaluator(AnswerEvaluator[JsonSimilarityConfig, JsonSimilarityCriteria]):
    """How similar the answer is to the expected one, from 0.0 to 1.0: the mean over the expected values inside it.

    A number scores 1 - |expected - actual| / |expected|, a text 1 - edit distance / length of the longer, both not
    less than 0; anything else 1 where it is equal and 0 where it is not. Keys and items that were not expected cost
    nothing; those that are missing score 0. Items of lists are compared one by one or, with `lists: any_order`, in
    those pairs that make the score highest. Nothing inside, as in an empty object, is 1.0. Nothing expected is an
    error; nothing recorded is not measured.
    """

    type_id = "json-similarity"
    shorthand = Shorthand("json-similarity", "expected_output")
    config_type = JsonSimilarityConfig
    criteria_type = JsonSimilarityCriteria

    def expect(self, value: Any, where: str) -> SimilarAnswer:
        part = expected_part(value, self.config.target_output_key, where, self.limits)
        return SimilarAnswer(part, self.config, self.limits)


class SimilarAnswer(msgspec.Struct, frozen=True):
    """The expected part of an answer."""

    expected: Any
    config: JsonSimilarityConfig
    limits: Limits

    def score(self, actual: Any) -> float:
        """The similarity; line by line, the mean of that of the lines."""
        try:
            part = part_of(actual, self.config.target_output_key, self.limits)
        except InputError:
            return 0.0
        if not self.config.line_by_line_evaluator or isinstance(self.config.target_output_key, tuple):
            return self._likeness().of(self.expected, part)
        lines = paired_lines(*[lines_of(each, self.config.line_delimiter) for each in (self.expected, part)])
        likeness = self._likeness()
        return sum(likeness.of(*line) for line in lines) / len(lines) if lines else 1.0

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Where the answer differs."""
        try:
            return value_differences(self.expected, part_of(actual, self.config.target_output_key, self.limits))
        except InputError:
            return ()

    def reasons(self, actual: Any) -> list[str]:
        """The similarity, and each difference."""
        try:
            part_of(actual, self.config.target_output_key, self.limits)
        except InputError as problem:
            return [f"has {problem}"]
        found = [str(each) for each in self.differences(actual)[:3]]
        return [f"is similar to {self.score(actual):.4g}: {'; '.join(found)}"]

    def _likeness(self) -> Likeness:
        return Likeness(self.limits, any_order=self.config.lists == "any_order")
