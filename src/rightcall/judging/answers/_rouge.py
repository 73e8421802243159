"""How many words two texts have in common: ROUGE-1."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

import msgspec

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
    """What two lists of words have in common."""
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
