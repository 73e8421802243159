"""How similar is the agent's answer to the expected one, value by value?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import msgspec

from rightcall.errors import InputError, LimitError
from rightcall.limits import Limits
from rightcall.matchers import equal, value_differences
from rightcall.results import Difference

from ._answers import AnswerCriteria, AnswerEvaluator
from ._parts import PartConfig, expected_part, lines_of, paired_lines, part_of

_ABSENT = object()


class JsonSimilarityCriteria(AnswerCriteria):
    """The expected answer, without matchers."""

    expectation_key: ClassVar[str] = "expected_output"
    expected_output: Any = None


class JsonSimilarityConfig(PartConfig):
    """How the answer is compared."""

    name: str = "JsonSimilarityEvaluator"


class JsonSimilarityEvaluator(AnswerEvaluator[JsonSimilarityConfig, JsonSimilarityCriteria]):
    """How similar the answer is to the expected one, from 0.0 to 1.0: the mean over the expected values inside it.

    A number scores 1 - |expected - actual| / |expected|, a text 1 - edit distance / length of the longer, both not
    less than 0; anything else 1 where it is equal and 0 where it is not. Keys and items that were not expected cost
    nothing; those that are missing score 0. Nothing inside, as in an empty object, is 1.0. Nothing expected is an
    error; nothing recorded is not measured.
    """

    type_id = "json-similarity"
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
            return _similarity(self.expected, part, self.limits)
        lines = paired_lines(*[lines_of(each, self.config.line_delimiter) for each in (self.expected, part)])
        return sum(_similarity(*line, self.limits) for line in lines) / len(lines) if lines else 1.0

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


def _similarity(expected: Any, actual: Any, limits: Limits) -> float:
    scores = [_leaf(*pair, limits) for pair in _leaves(expected, actual)]
    return float(sum(map(Fraction, scores)) / len(scores)) if scores else 1.0


def _leaves(expected: Any, actual: Any) -> Iterator[tuple[Any, Any]]:
    """Each value inside the expected one that is neither an object nor a list, and its actual counterpart."""
    if isinstance(expected, dict):
        given = actual if isinstance(actual, dict) else {}
        for key, item in expected.items():
            yield from _leaves(item, given.get(key, _ABSENT))
    elif isinstance(expected, list):
        items = actual if isinstance(actual, list) else []
        for index, item in enumerate(expected):
            yield from _leaves(item, items[index] if index < len(items) else _ABSENT)
    else:
        yield expected, actual


def _leaf(expected: Any, actual: Any, limits: Limits) -> float:
    if _is_number(expected) and _is_number(actual):
        return _closeness(expected, actual)
    if isinstance(expected, str) and isinstance(actual, str):
        return _likeness(expected, actual, limits)
    return float(actual is not _ABSENT and equal(expected, actual))


def _closeness(expected: float, actual: float) -> float:
    if equal(expected, actual):
        return 1.0
    if abs(expected) <= 1e-12:
        return float(abs(actual) <= 1e-12)
    try:
        similarity = 1.0 - abs(expected - actual) / abs(expected)
    except OverflowError:  # an integer that no floating-point number can hold, beside one that is not an integer
        return 0.0
    return max(0.0, similarity) if similarity == similarity else 0.0


def _likeness(expected: str, actual: str, limits: Limits) -> float:
    from rapidfuzz.distance import Levenshtein

    # The distance is computed for 64 characters at a time.
    if len(expected) * len(actual) > 64 * limits.comparisons:
        raise LimitError(f"texts of {len(expected):,} and {len(actual):,} characters are too long to be compared")
    return Levenshtein.normalized_similarity(expected, actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
