"""How many words does the agent's answer have in common with the expected one?"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from rightcall.errors import CriteriaError, shown
from rightcall.judging.core import TEXT, Config, Shorthand
from rightcall.values.decoding import dump_json
from rightcall.values.results import Difference

from ._answers import AnswerCriteria, AnswerEvaluator
from ._rouge import Overlap, overlap, words


class ResponseMatchCriteria(AnswerCriteria):
    """The expected answer, as text."""

    expectation_key: ClassVar[str] = "expected"
    expected: Any = None


class ResponseMatchConfig(Config):
    """How the words of the answer are judged."""

    name: str = "ResponseMatch"


class ResponseMatch(AnswerEvaluator[ResponseMatchConfig, ResponseMatchCriteria]):
    """How much the answer's words are the expected ones: ROUGE-1 F, from 0.0 to 1.0; of several turns, the mean.

    Twice the number of words in common, divided by the number of words in both, where a word that occurs twice counts
    twice. English words are reduced to their stems. Two empty answers are equal, 1.0; one of them empty is 0.0. An
    answer that is not a text is compared as JSON. Nothing expected is an error; nothing recorded is not measured.
    """

    type_id = "response-match"
    shorthand = Shorthand("response-match", "expected", schema=TEXT)
    config_type = ResponseMatchConfig
    criteria_type = ResponseMatchCriteria

    def expect(self, value: Any, where: str) -> ExpectedResponse:
        if not isinstance(value, str):
            raise CriteriaError(f"criteria of {self.id!r}: {where}: a text is expected, not {shown(value)}")
        return ExpectedResponse(value, words(value))


class ExpectedResponse(msgspec.Struct, frozen=True):
    """An expected text, and its words."""

    expected: str
    words: list[str]

    def overlap(self, actual: Any) -> Overlap:
        """What the words of an answer have in common with the expected ones."""
        return overlap(self.words, words(_text(actual)))

    def score(self, actual: Any) -> float:
        """ROUGE-1 F."""
        if _text(actual).strip() == self.expected.strip():
            return 1.0  # ROUGE is 0.0 where there are no words, though two empty texts are the same text
        return self.overlap(actual).score

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Words have no paths."""
        return ()

    def reasons(self, actual: Any) -> list[str]:
        """The score, and what it was counted from."""
        found = self.overlap(actual)
        return [
            f"has {found.common} of {found.expected} expected words, among {found.actual} "
            f"(ROUGE-1 {self.score(actual):.4g})"
        ]


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else dump_json(answer)
