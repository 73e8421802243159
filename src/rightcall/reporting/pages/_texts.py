"""Text from outside on a page: made visible, cut where it is long, and marked where it differs."""

from __future__ import annotations

import re
from unicodedata import category

import msgspec

from rightcall.reporting.reports import printable, seconds_text as told_seconds
from rightcall.values.results import Difference

_ACCENTS = frozenset({"Mn", "Me"})
# Far more than any script needs: Vietnamese puts two on a letter.
_MOST_ACCENTS = 8
_PILE = re.compile(r"[^\w\s\x00-\x7f]{9}")
"""Nine characters in a row that may be a pile of accents: neither letters nor spaces. Almost no text has any."""
MOST_WHOLE = 200_000
"""The longest text that a page holds whole, folded away, next to its shortened form."""
_MOST_MARKED = 400


class ShownText(msgspec.Struct, frozen=True):
    """A text, or its beginning and its end with a number of characters left out between them.

    `whole` is all of it, for what is folded away; empty where nothing was left out or it is too long for a page.
    """

    head: str
    tail: str = ""
    left_out: int = 0
    length: int = 0
    whole: str = ""

    def __str__(self) -> str:
        return f"{self.head} … {self.left_out:,} characters … {self.tail}" if self.left_out else self.head


def shown_text(text: str, most: int = 2_000, *, whole: bool = False, one_line: bool = False) -> ShownText:
    r"""Return a text of at most `most` characters, cut in the middle, with escapes for invisible characters.

    Control, bidirectional and zero-width characters become escapes such as `\u202e`. With `whole`, a text that is
    cut comes with all of it, up to 200,000 characters.
    """
    length = len(text)
    if length <= most:
        return ShownText(visible(text, one_line=one_line), length=length)
    end = most // 3
    head, tail = [visible(part, one_line=one_line) for part in (text[: most - end], text[length - end :])]
    kept = visible(text, one_line=one_line) if whole and length <= MOST_WHOLE else ""
    return ShownText(head, tail, length - most, length, kept)


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return a text with escapes for characters that are invisible or would cover the lines around them.

    These are the characters that `printable` escapes, and every accent on a letter after the eighth (`\u0301`).
    """
    text = printable(text, one_line=one_line)
    if text.isascii() or not _PILE.search(text):
        return text
    calm: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if category(character) in _ACCENTS else 0
        calm.append(character if marks <= _MOST_ACCENTS else f"\\u{ord(character):04x}")
    return "".join(calm)


def pieces(text: str) -> list[tuple[str, bool]]:
    """Split a sentence at its backticks, and mark the parts inside them; a backtick without a partner is kept."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def score_text(score: float | None) -> str:
    """Return a score with two digits, or a dash if there is none."""
    return f"{score:.2f}" if score is not None else "–"


def seconds_text(seconds: float | None) -> str:
    """Return a duration, or a dash if it is not known."""
    return told_seconds(seconds) if seconds is not None else "–"


def percent(part: float, of: float) -> str:
    """Return a share in percent: never 100 % if something is missing, never 0 % if something is there."""
    if not of:
        return "–"
    share = 100 * part / of
    if 0 < share < 1:
        return "<1 %"
    return ">99 %" if 99 < share < 100 else f"{share:.0f} %"


class Marked(msgspec.Struct, frozen=True):
    """A text with one part marked."""

    before: str
    marked: str
    after: str = ""


class Change(msgspec.Struct, frozen=True):
    """One difference: its path, a word for it, and the two values; a side can be missing."""

    path: str
    word: str
    expected: Marked | None = None
    actual: Marked | None = None


def change_of(difference: Difference) -> Change:
    """Return a difference with its values marked from the first to the last character that differs.

    A matcher is not compared letter by letter: what is given does not satisfy it, and that is all.
    """
    path = difference.path.removeprefix("$.").removeprefix("$")[:_MOST_MARKED]
    expected, actual = difference.expected, difference.actual
    if actual is None:
        return Change(path, "missing", Marked("", (expected or "")[:_MOST_MARKED]))
    if expected is None:
        return Change(path, "not expected", None, Marked("", actual[:_MOST_MARKED]))
    if expected.startswith('{"$'):
        word = "should not be there" if expected == '{"$absent": true}' else "does not satisfy"
        return Change(path, word, Marked("", expected[:_MOST_MARKED]), Marked("", actual[:_MOST_MARKED]))
    return Change(path, "", *marked_pair(expected[:_MOST_MARKED], actual[:_MOST_MARKED]))


def marked_pair(expected: str, actual: str) -> tuple[Marked, Marked]:
    """Return two texts, each with the part marked that differs, between their common beginning and end."""
    shorter = min(len(expected), len(actual))
    same = next((place for place in range(shorter) if expected[place] != actual[place]), shorter)
    tail = 0
    while tail < shorter - same and expected[-1 - tail] == actual[-1 - tail]:
        tail += 1
    first, second = [
        Marked(text[:same], text[same : len(text) - tail], text[len(text) - tail :]) for text in (expected, actual)
    ]
    return first, second
