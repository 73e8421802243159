"""Texts of strangers as they stand on a page: visible, and cut where they are long."""

from __future__ import annotations

import re
from unicodedata import category

import msgspec

from rightcall.reporting.reports import printable, seconds_text as told_seconds

_ACCENTS = frozenset({"Mn", "Me"})
_MOST_ACCENTS = 8
_PILE = re.compile(r"[^\w\s\x00-\x7f]{9}")
"""What a pile of accents is among: they are neither letters nor spaces. Almost no text has any of this."""
MOST_WHOLE = 200_000
"""How many characters of one text a page holds, folded away, beside those that are cut."""


class Shown(msgspec.Struct, frozen=True):
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


def shown_text(text: str, most: int = 2_000, *, whole: bool = False, one_line: bool = False) -> Shown:
    r"""A text of at most so many characters, cut in the middle, with escapes in place of what nobody would see.

    Control, bidirectional and zero-width characters become escapes such as `\u202e`. With `whole`, a text that is
    cut comes with all of it, up to 200,000 characters.
    """
    length = len(text)
    if length <= most:
        return Shown(visible(text, one_line=one_line), length=length)
    end = most // 3
    head, tail = [visible(part, one_line=one_line) for part in (text[: most - end], text[length - end :])]
    kept = visible(text, one_line=one_line) if whole and length <= MOST_WHOLE else ""
    return Shown(head, tail, length - most, length, kept)


def visible(text: str, *, one_line: bool = False) -> str:
    r"""A text with escapes in place of what nobody would see, or would see all over the lines around it.

    That is what `printable` escapes, and accents piled upon a letter after the eighth, as in `\u0301`.
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
    """A sentence in pieces, each with whether it stood in backticks; one that is not closed is a backtick."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def score_text(score: float | None) -> str:
    """A score with two digits, or a dash where there is none."""
    return f"{score:.2f}" if score is not None else "–"


def seconds_text(seconds: float | None) -> str:
    """A duration, or a dash where none is known."""
    return told_seconds(seconds) if seconds is not None else "–"


def percent(part: float, of: float) -> str:
    """A share in words: never 100 % where something is missing, nor 0 % where something is there."""
    if not of:
        return "–"
    share = 100 * part / of
    if 0 < share < 1:
        return "<1 %"
    return ">99 %" if 99 < share < 100 else f"{share:.0f} %"
