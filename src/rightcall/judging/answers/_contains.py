"""Does the agent's answer, or a part of it, contain a text or match a pattern?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging.core import TEXT, Shorthand
from rightcall.limits import Limits
from rightcall.matching.matchers import compile_value
from rightcall.values.results import Difference, value_text

from ._answers import AnswerCriteria, AnswerEvaluator
from ._exact_match import TextConfig
from ._parts import lines_of, part_of, plain_text


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
    """Whether the answer, or a part of it, contains a text: 1.0 if it does, else 0.0; of several turns, the mean.

    Case does not count unless `case_sensitive` is set. An answer that is not a text is searched in what Python
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
        """Return nothing: a text that is not found has no path."""
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
        raise CriteriaError(f"criteria of {evaluator!r}: {where}: a text is expected, not {shown(value)}")
    return value
