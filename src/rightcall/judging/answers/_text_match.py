"""Is the agent's answer the expected one, does it contain a string, or match a pattern?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging.core import TEXT, Shorthand
from rightcall.limits import Limits
from rightcall.matching.matchers import Expectation, compile_value, value_differences
from rightcall.values.results import Difference, value_text

from ._answers import (
    AnswerCriteria,
    AnswerEvaluator,
    PartConfig,
    Target,
    expected_part,
    lines_of,
    paired_lines,
    part_of,
    plain_text,
)


class TextConfig(PartConfig):
    """How text is compared. `negated` turns the score round: the answer must not be this one.

    Case does not count, unless `case_sensitive` is true or `ignore_case` false.
    """

    case_sensitive: bool = False
    ignore_case: bool | None = None
    negated: bool = False

    def check(self) -> None:
        if "case_sensitive" in self.model_fields_set and self.ignore_case == self.case_sensitive:
            raise ValueError("'case_sensitive' and 'ignore_case' say the opposite of each other; give one of them")

    @property
    def folds_case(self) -> bool:
        """Whether upper and lower case are the same."""
        return not self.case_sensitive if self.ignore_case is None else self.ignore_case


class ExactMatchCriteria(AnswerCriteria):
    """The expected answer, with any matchers in it."""

    expectation_key: ClassVar[str] = "expected_output"
    expected_output: Any = None


class ExactMatchConfig(TextConfig):
    """How the answer is compared."""

    name: str = "ExactMatchEvaluator"


class ExactMatchEvaluator(AnswerEvaluator[ExactMatchConfig, ExactMatchCriteria]):
    """Whether the answer, or a part of it, is the expected one: 1.0 if it is, else 0.0; of several turns, the mean.

    Values are compared as JSON, with any matchers in the expected one. Where either is a string, both are compared as
    strings, without regard to case by default. An answer without the part that is asked for scores 0.0,
    negated or not. Nothing expected is an error; nothing recorded is not measured.
    """

    type_id = "exact-match"
    shorthand = Shorthand("exact-match", "expected_output")
    config_type = ExactMatchConfig
    criteria_type = ExactMatchCriteria

    def expect(self, value: Any, where: str) -> ExactAnswer:
        part = expected_part(value, self.config.target_output_key, where, self.limits)
        return ExactAnswer(part, compile_value(part, self.limits, where=where), self.config, self.limits)


class ExactAnswer(msgspec.Struct, frozen=True):
    """The expected part of an answer, and how it is compared."""

    expected: Any
    expectation: Expectation
    config: ExactMatchConfig
    limits: Limits

    def score(self, actual: Any) -> float:
        """1.0 or 0.0 or, line by line, the share of lines that are equal."""
        try:
            part = part_of(actual, self._target, self.limits)
        except InputError:
            return 0.0
        if not self.config.line_by_line_evaluator or isinstance(self._target, tuple):
            return self._verdict(self.expectation.matches(part) or self._same_text(self.expected, part))
        lines = paired_lines(*[lines_of(each, self.config.line_delimiter) for each in (self.expected, part)])
        scores = [self._verdict(_folded(*line, self.config)) for line in lines]
        return sum(scores) / len(scores) if scores else self._verdict(True)

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Where the answer differs from the expected one, if it should equal it."""
        try:
            part = part_of(actual, self._target, self.limits)
        except InputError:
            return ()
        return () if self.config.negated else value_differences(self.expected, part)

    def reasons(self, actual: Any) -> list[str]:
        """Return each difference, or that there is none."""
        try:
            part_of(actual, self._target, self.limits)
        except InputError as problem:
            return [f"has {problem}"]
        if self.config.negated:
            return ["is what it must not be"]
        return [each.clause("has", "has no", "is") for each in self.differences(actual)]

    @property
    def _target(self) -> Target:
        return self.config.target_output_key

    def _same_text(self, expected: Any, actual: Any) -> bool:
        if not isinstance(expected, str) and not isinstance(actual, str):
            return False
        return _folded(plain_text(expected), plain_text(actual), self.config)

    def _verdict(self, same: bool) -> float:
        return float(same != self.config.negated)


def _folded(expected: str, actual: str, config: ExactMatchConfig) -> bool:
    return expected.lower() == actual.lower() if config.folds_case else expected == actual


class ContainsCriteria(AnswerCriteria):
    """The text to be found in the answer."""

    expectation_key: ClassVar[str] = "search_text"
    search_text: Any = None


class ContainsConfig(TextConfig):
    """How the text is searched."""

    name: str = "ContainsEvaluator"


class RegexMatchCriteria(AnswerCriteria):
    """The pattern to be found in the answer."""

    expectation_key: ClassVar[str] = "pattern"
    pattern: Any = None


class RegexMatchConfig(TextConfig):
    """How the pattern is searched."""

    name: str = "RegexMatch"
    case_sensitive: bool = True


class ContainsEvaluator(AnswerEvaluator[ContainsConfig, ContainsCriteria]):
    """Whether the answer, or a part of it, contains a string: 1.0 if it does, else 0.0; of several turns, the mean.

    Case does not count unless `case_sensitive` is set. An answer that is not a string is searched in what Python
    prints of it. An answer without the part that is asked for scores 0.0, negated or not. The empty text is in every
    answer. Nothing expected is an error; nothing recorded is not measured.
    """

    type_id = "contains"
    shorthand = Shorthand("contains", "search_text", schema=TEXT)
    config_type = ContainsConfig
    criteria_type = ContainsCriteria

    def expect(self, value: Any, where: str) -> SearchedAnswer:
        wanted = _text(value, self.id, where)
        folded = wanted.lower() if self.config.folds_case else wanted
        test = (lambda text: folded in text.lower()) if self.config.folds_case else (lambda text: folded in text)
        return SearchedAnswer(wanted, f"contain {value_text(wanted)}", test, self.config, self.limits)


class RegexMatch(AnswerEvaluator[RegexMatchConfig, RegexMatchCriteria]):
    """Whether a pattern is found in the answer, or a part of it: 1.0 if it is, else 0.0; of several turns, the mean.

    The pattern is that of the matcher `$regex`, found anywhere unless it is anchored, and case counts unless
    `ignore_case` is set. An answer without the part that is asked for scores 0.0, negated or not. Nothing expected is
    an error; nothing recorded is not measured.
    """

    type_id = "regex-match"
    shorthand = Shorthand("regex-match", "pattern", schema=TEXT)
    config_type = RegexMatchConfig
    criteria_type = RegexMatchCriteria

    def expect(self, value: Any, where: str) -> SearchedAnswer:
        written = _text(value, self.id, where)
        pattern = f"(?i){written}" if self.config.folds_case else written
        test = compile_value({"$regex": pattern}, self.limits, where=where).matches
        return SearchedAnswer(written, f"match {value_text(written)}", test, self.config, self.limits)


class SearchedAnswer(msgspec.Struct, frozen=True):
    """A search in an answer."""

    expected: str
    wanted: str
    """What the answer should do, as a verb: `contain "laptop"`."""
    test: Callable[[str], bool]
    config: TextConfig
    limits: Limits

    def score(self, actual: Any) -> float:
        """1.0 or 0.0 or, line by line, the share of lines in which it is found."""
        try:
            part = part_of(actual, self.config.target_output_key, self.limits)
        except InputError:
            return 0.0
        texts = [plain_text(part)]
        if self.config.line_by_line_evaluator and isinstance(self.config.target_output_key, str):
            texts = lines_of(part, self.config.line_delimiter) or texts
        return sum(self.test(text) != self.config.negated for text in texts) / len(texts)

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Return nothing: a string that is not found has no path."""
        return ()

    def reasons(self, actual: Any) -> list[str]:
        """Return what the answer should contain, or should not."""
        try:
            part = part_of(actual, self.config.target_output_key, self.limits)
        except InputError as problem:
            return [f"has {problem}"]
        verb = "must not" if self.config.negated else "should"
        return [f"{verb} {self.wanted}: {value_text(part)}"]


def _text(value: Any, evaluator: str, where: str) -> str:
    if not isinstance(value, str):
        raise CriteriaError(f"criteria of {evaluator!r}: {where}: a string is expected, not {shown(value)}")
    return value
