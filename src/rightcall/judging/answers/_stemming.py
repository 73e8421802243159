"""English words reduced to their stems, by Porter's algorithm.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the departures of NLTK's stemmer, which
ROUGE scores are usually computed with: *skies* is *sky*, *dies* is *die*, *enjoy* keeps its *y*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

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
    """The stem of a word in lower case. What is not an English word comes out cut by the same rules."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_without_plural, _without_tense, _with_i, _simplified, _without_middle, _without_last, _tidied):
        word = step(word)
    return word


def _shape(word: str) -> str:
    """A word as vowels and consonants: `y` is a vowel after a consonant, and everything else but aeiou a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's *m*: how often vowels are followed by consonants."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Porter's *o*: it ends consonant, vowel, consonant, and not in w, x or y; or it is a vowel and a consonant."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


def _replaced(word: str, rules: Iterable[tuple[str, str]], holds: Callable[[str], bool]) -> str:
    """The word with the first of these suffixes it has replaced, if the condition holds for the stem before it."""
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
