"""How similar is the agent's answer to the expected one, value by value?"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import msgspec

from rightcall.errors import InputError, LimitError
from rightcall.judging.core import Shorthand
from rightcall.limits import Limits
from rightcall.matching.alignment import best_assignment
from rightcall.matching.matchers import equal, value_differences
from rightcall.values.results import Difference

from ._answers import AnswerCriteria, AnswerEvaluator
from ._parts import PartConfig, expected_part, lines_of, paired_lines, part_of

_ABSENT = object()
_AT_ONCE = 64
"""The distance of texts is computed for so many characters at a time."""
_STEPS_OF_PAIRING = 2
"""What a step of pairing items costs, in comparisons. Lists of 290 items take at most two seconds."""


class Likeness:
    """Compares values; with `any_order`, items of lists are paired so that they are most alike, wherever they are.

    All comparisons of one object together have the room of `limits.comparisons`.
    """

    def __init__(self, limits: Limits, *, any_order: bool = False) -> None:
        self._limits = limits
        self._any_order = any_order
        self._room = limits.comparisons

    def of(self, expected: Any, actual: Any) -> float:
        """The mean over the values inside the expected one; 1.0 where there are none.

        Raises:
            LimitError: it would take too long.
        """
        scores = self._scores(expected, actual)
        # Exact: the rounding of many small scores must not decide whether their mean reaches the threshold.
        return float(sum(map(Fraction, scores)) / len(scores)) if scores else 1.0

    def _scores(self, expected: Any, actual: Any) -> list[float]:
        """The score of each value inside the expected one that is neither an object nor a list."""
        if isinstance(expected, dict):
            given = actual if isinstance(actual, dict) else {}
            return [score for key, item in expected.items() for score in self._scores(item, given.get(key, _ABSENT))]
        if isinstance(expected, list):
            items = actual if isinstance(actual, list) else []
            # Equal lists need no pairing, which takes the cube of their length.
            if self._any_order and items and not equal(expected, items):
                return self._paired(expected, items)
            partners = [items[index] if index < len(items) else _ABSENT for index in range(len(expected))]
            return [score for pair in zip(expected, partners, strict=True) for score in self._scores(*pair)]
        return [self._leaf(expected, actual)]

    def _paired(self, expected: Sequence[Any], items: Sequence[Any]) -> list[float]:
        """The scores of items, each beside the one of the other list that makes the sum of all greatest."""
        smaller = min(len(expected), len(items))
        self._spend(_STEPS_OF_PAIRING * len(expected) * len(items) * smaller, "lists", len(expected), len(items))
        scores = [[self._scores(item, other) for other in items] for item in expected]
        # The Hungarian algorithm: pairing items greedily would depend on the order of the expected list.
        choice = best_assignment([[sum(each) for each in row] for row in scores])
        found: list[float] = []
        for index, column in enumerate(choice):
            found += scores[index][column] if column >= 0 else self._scores(expected[index], _ABSENT)
        return found

    def _leaf(self, expected: Any, actual: Any) -> float:
        if _is_number(expected) and _is_number(actual):
            return _closeness(expected, actual)
        if isinstance(expected, str) and isinstance(actual, str):
            self._spend(len(expected) * len(actual) // _AT_ONCE, "texts", len(expected), len(actual))
            return _likeness(expected, actual)
        return float(actual is not _ABSENT and equal(expected, actual))

    def _spend(self, steps: int, what: str, one: int, other: int) -> None:
        self._room -= steps + 1
        if self._room < 0:
            raise LimitError(f"{what} of {one:,} and {other:,} are too long to be compared")


def _closeness(expected: float, actual: float) -> float:
    if equal(expected, actual):
        return 1.0
    # A relative difference to zero has no meaning, so near zero only zero is close.
    if abs(expected) <= 1e-12:
        return float(abs(actual) <= 1e-12)
    try:
        similarity = 1.0 - abs(expected - actual) / abs(expected)
    except OverflowError:  # an integer that no floating-point number can hold, beside one that is not an integer
        return 0.0
    # Infinity minus infinity is NaN, the one value that differs from itself (IEEE 754, section 5.11).
    return max(0.0, similarity) if similarity == similarity else 0.0


def _likeness(expected: str, actual: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(expected, actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


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
        found = [each.clause("", "no") for each in self.differences(actual)[:3]]
        return [f"is similar to {self.score(actual):.4g}: {'; '.join(found)}"]

    def _likeness(self) -> Likeness:
        return Likeness(self.limits, any_order=self.config.lists == "any_order")
