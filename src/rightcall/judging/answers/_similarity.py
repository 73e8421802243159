"""Similarity of the agent's answer to the expected one: value by value, or by common words (ROUGE-1).

Words are reduced to their stems by Porter's algorithm: M. F. Porter, "An algorithm for suffix stripping", Program
14(3), 1980, with the changes of NLTK's stemmer, which ROUGE scores are usually computed with: *skies* becomes *sky*,
*dies* becomes *die*, *enjoy* keeps its *y*.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

import msgspec

from rightcall.errors import CriteriaError, InputError, LimitError, shown
from rightcall.judging.core import TEXT, Config, Shorthand
from rightcall.limits import Limits
from rightcall.matching.alignment import best_assignment
from rightcall.matching.matchers import equal, value_differences
from rightcall.values.decoding import dump_json
from rightcall.values.results import Difference

from ._answers import AnswerCriteria, AnswerEvaluator, PartConfig, expected_part, lines_of, paired_lines, part_of

_ABSENT = object()
_AT_ONCE = 64
"""Characters that the computation of an edit distance handles at a time."""
_STEPS_OF_PAIRING = 2
"""The cost of a step of pairing items, in comparisons. Lists of 290 items take at most two seconds."""
# Ideographs, kana and Hangul syllables: each is a word of its own.
_ALONE = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
# Thai, Lao, Myanmar and Khmer are written without spaces: each letter begins a word, with the marks that follow it.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
# Google's `rouge_score`, which ADK uses, leaves words of up to three letters as they are (its `tokenize.py`).
_SHORTEST_STEMMED = 4


class Likeness:
    """Compare values; with `any_order`, items of lists are paired with those they are most similar to.

    All comparisons of one instance share the budget `limits.comparisons`.
    """

    def __init__(self, limits: Limits, *, any_order: bool = False) -> None:
        self._limits = limits
        self._any_order = any_order
        self._room = limits.comparisons

    def of(self, expected: Any, actual: Any) -> float:
        """Return the mean score of the leaf values of the expected value; 1.0 if it has none.

        Raises:
            LimitError: it would take too long.
        """
        scores = self._scores(expected, actual)
        # Exact arithmetic: rounding errors must not decide whether the mean reaches the threshold.
        return float(sum(map(Fraction, scores)) / len(scores)) if scores else 1.0

    def _scores(self, expected: Any, actual: Any) -> list[float]:
        """Return the score of each leaf value of the expected value."""
        if isinstance(expected, dict):
            given = actual if isinstance(actual, dict) else {}
            return [score for key, item in expected.items() for score in self._scores(item, given.get(key, _ABSENT))]
        if isinstance(expected, list):
            items = actual if isinstance(actual, list) else []
            # Equal lists need no pairing, which takes cubic time.
            if self._any_order and items and not equal(expected, items):
                return self._paired(expected, items)
            partners = [items[index] if index < len(items) else _ABSENT for index in range(len(expected))]
            return [score for pair in zip(expected, partners, strict=True) for score in self._scores(*pair)]
        return [self._leaf(expected, actual)]

    def _paired(self, expected: Sequence[Any], items: Sequence[Any]) -> list[float]:
        """Return the scores of items, paired so that their sum is highest."""
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
    # There is no relative difference to zero, so only zero is close to it.
    if abs(expected) <= 1e-12:
        return float(abs(actual) <= 1e-12)
    try:
        similarity = 1.0 - abs(expected - actual) / abs(expected)
    except OverflowError:  # an integer too large for a float, compared with a float
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
    """How the answer is compared. `lists`: item by item, or each item with the most similar one."""

    name: str = "JsonSimilarityEvaluator"
    lists: Literal["in_order", "any_order"] = "in_order"


class JsonSimilarityEvaluator(AnswerEvaluator[JsonSimilarityConfig, JsonSimilarityCriteria]):
    """How similar the answer is to the expected one, from 0.0 to 1.0: the mean over the expected leaf values.

    A number scores 1 - |expected - actual| / |expected|, a string 1 - edit distance / length of the longer, both at
    least 0; any other value 1 if it is equal and 0 if not. Additional keys and items cost nothing; missing ones score
    0. Items of lists are compared one by one or, with `lists: any_order`, in the pairs that give the highest score. An
    expected value with nothing inside, such as an empty object, is 1.0. Nothing expected is an error; nothing recorded
    is not measured.
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
        """Return the similarity; line by line, the mean over the lines."""
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
        """Return where the answer differs."""
        try:
            return value_differences(self.expected, part_of(actual, self.config.target_output_key, self.limits))
        except InputError:
            return ()

    def reasons(self, actual: Any) -> list[str]:
        """Return the similarity with the first differences."""
        try:
            part_of(actual, self.config.target_output_key, self.limits)
        except InputError as problem:
            return [f"has {problem}"]
        found = [each.clause("", "no") for each in self.differences(actual)[:3]]
        return [f"is similar to {self.score(actual):.4g}: {'; '.join(found)}"]

    def _likeness(self) -> Likeness:
        return Likeness(self.limits, any_order=self.config.lists == "any_order")


class Overlap(msgspec.Struct, frozen=True):
    """The number of words in the expected and the actual text, and in both; repeated words count repeatedly."""

    expected: int
    actual: int
    common: int

    @property
    def score(self) -> float:
        """The harmonic mean of precision and recall; 0.0 if neither text has words."""
        total = self.expected + self.actual
        return 2 * self.common / total if total else 0.0


def overlap(expected: list[str], actual: list[str]) -> Overlap:
    """Count the words that two lists have in common."""
    common = Counter(expected) & Counter(actual)
    return Overlap(len(expected), len(actual), common.total())


def words(text: str) -> list[str]:
    """Return the words of a string in lower case, without punctuation; longer ASCII words as their stems."""
    # NFKC unifies compatible characters, such as full-width forms and ligatures (Unicode Standard Annex 15).
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
    """How many of the answer's words are the expected ones: ROUGE-1 F, from 0.0 to 1.0; of several turns, the mean.

    Twice the number of words in common, divided by the number of words in both, where a word that occurs twice counts
    twice. English words are reduced to their stems. Two empty answers are equal, 1.0; one of them empty is 0.0. An
    answer that is not a string is compared as JSON. Nothing expected is an error; nothing recorded is not measured.
    """

    type_id = "response-match"
    shorthand = Shorthand("response-match", "expected", schema=TEXT)
    config_type = ResponseMatchConfig
    criteria_type = ResponseMatchCriteria

    def expect(self, value: Any, where: str) -> ExpectedResponse:
        if not isinstance(value, str):
            raise CriteriaError(f"criteria of {self.id!r}: {where}: a string is expected, not {shown(value)}")
        return ExpectedResponse(value, words(value))


class ExpectedResponse(msgspec.Struct, frozen=True):
    """An expected text, and its words."""

    expected: str
    words: list[str]

    def overlap(self, actual: Any) -> Overlap:
        """Count the words that an answer has in common with the expected one."""
        return overlap(self.words, words(_text(actual)))

    def score(self, actual: Any) -> float:
        """Return ROUGE-1 F."""
        if _text(actual).strip() == self.expected.strip():
            return 1.0  # ROUGE is 0.0 without words, but two empty strings are equal
        return self.overlap(actual).score

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Return nothing: words have no paths."""
        return ()

    def reasons(self, actual: Any) -> list[str]:
        """Return the score, and the counts behind it."""
        found = self.overlap(actual)
        return [
            f"has {found.common} of {found.expected} expected words, among {found.actual} "
            f"(ROUGE-1 {self.score(actual):.4g})"
        ]


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else dump_json(answer)


_IRREGULAR = {
    **{form: stem for stem, form in (("sky", "skies"), ("die", "dying"), ("lie", "lying"), ("tie", "tying"))},
    **{f"{word}s": word for word in ("inning", "outing", "canning")},
    **{word: word for word in ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")},
}
_PLURALS = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_DOUBLE_SUFFIXES = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_MIDDLE_SUFFIXES = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_LAST_SUFFIXES = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment"),
        *("ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    )
)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word in lower case. Words that are not English are cut by the same rules."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_without_plural, _without_tense, _with_i, _simplified, _without_middle, _without_last, _tidied):
        word = step(word)
    return word


def _shape(word: str) -> str:
    """Return a word as `v` and `c`: aeiou are vowels, `y` after a consonant too, everything else is a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return Porter's *m*, the number of times that a consonant follows a vowel."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Return Porter's *o*: whether a word ends in consonant, vowel, and consonant other than w, x, y; or is `vc`."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


def _replaced(word: str, rules: Iterable[tuple[str, str]], holds: Callable[[str], bool]) -> str:
    """Replace the first of these suffixes that the word has, if the condition holds for the stem before it."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            before = word[: len(word) - len(suffix)]
            return before + replacement if holds(before) else word
    return word


def _without_plural(word: str) -> str:
    if len(word) == 4 and word.endswith("ies"):
        return word[:-1]
    return _replaced(word, _PLURALS, lambda _: True)


def _without_tense(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        before = word[: -len(suffix)]
        if word.endswith(suffix) and "v" in _shape(before):
            return _restored(before)
    return word


def _restored(word: str) -> str:
    """Return a word without *ed* or *ing*, with the letter that they changed restored."""
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c"):
        return word if word[-1] in "lsz" else word[:-1]
    return f"{word}e" if _measure(word) == 1 and _is_short(word) else word


def _with_i(word: str) -> str:
    return _replaced(word, (("y", "i"),), lambda before: len(before) > 1 and _shape(before).endswith("c"))


def _simplified(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _simplified(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _DOUBLE_SUFFIXES, lambda before: _measure(before) > 0)


def _without_middle(word: str) -> str:
    return _replaced(word, _MIDDLE_SUFFIXES, lambda before: _measure(before) > 0)


def _without_last(word: str) -> str:
    ends_in_ion = word.endswith("ion")
    return _replaced(
        word,
        _LAST_SUFFIXES,
        lambda before: _measure(before) > 1 and (not ends_in_ion or before.endswith(("s", "t"))),
    )


def _tidied(word: str) -> str:
    if word.endswith("e"):
        before = word[:-1]
        if _measure(before) > 1 or (_measure(before) == 1 and not _is_short(before)):
            word = before
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
