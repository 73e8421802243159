"""How many words does the agent's answer have in common with the expected one (ROUGE-1)?"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from rightcall.errors import CriteriaError, shown
from rightcall.judging.core import TEXT, Config, Shorthand
from rightcall.values.decoding import dump_json
from rightcall.values.results import Difference

from ._answers import AnswerCriteria, AnswerEvaluator
from ._stemming import stem

# Ideographs, kana and Hangul syllables: each is a word of its own.
_ALONE = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
# Thai, Lao, Myanmar and Khmer are written without spaces: each letter begins a word, the marks on it belong to it.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_SHORTEST_STEMMED = 4


class Overlap(msgspec.Struct, frozen=True):
    """How many words the expected and the actual text have, and how many in common, each as often as in both."""

    expected: int
    actual: int
    common: int

    @property
    def score(self) -> float:
        """The harmonic mean of precision and recall; 0.0 where neither text has words."""
        total = self.expected + self.actual
        return 2 * self.common / total if total else 0.0


def overlap(expected: list[str], actual: list[str]) -> Overlap:
    """Count the words that two lists have in common."""
    common = Counter(expected) & Counter(actual)
    return Overlap(len(expected), len(actual), common.total())


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation; English ones of four letters and more as their stems."""
    return [_reduced(word) for word in _spaced(unicodedata.normalize("NFKC", text).lower()).split()]


def _reduced(word: str) -> str:
    return stem(word) if len(word) >= _SHORTEST_STEMMED and word.isascii() else word


def _spaced(text: str) -> str:
    if text.isascii():
        return re.sub("[^a-z0-9]", " ", text)
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for letter in text:
        if _ALONE.match(letter):
            yield f" {letter} "
        elif unicodedata.category(letter).startswith("M"):
            yield letter
        elif _UNSPACED.match(letter):
            yield f" {letter}"
        else:
            yield letter if letter.isalnum() else " "


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
        """Count the words that an answer has in common with the expected one."""
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
