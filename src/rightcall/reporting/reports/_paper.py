"""Text on a screen of a given width: measured, wrapped, cut, and without control characters."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from rightcall.values.results import SIGNS

Part = str | tuple[str, str]
"""A piece of a line: a text, or a text and its style."""
Line = tuple[Part, ...]
_LONG = 100_000
NARROWEST = 30
"""Columns that a text has at least, however narrow the paper is."""
_PLAIN = str.maketrans({"…": "...", "≠": "!=", "−": "-", "–": "-", "→": "->"})
_KEPT = frozenset("\n\t")
# Unicode categories that a terminal acts on or does not show: control, format and surrogate characters, and line and
# paragraph separators. Bidirectional overrides are format characters ("Trojan Source", CVE-2021-42574).
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class Paper(msgspec.Struct, frozen=True, kw_only=True):
    """The medium of a report: its width in columns, whether it is ASCII only, whether values are shown in full."""

    width: int = 80
    plain: bool = False
    full: bool = False

    def text(self, raw: str) -> str:
        """Return a text from a trace on one line, without control characters."""
        return printable(raw, plain=self.plain, one_line=True)

    def sign(self, kind: str) -> str:
        """Return the sign of a verdict or of a kind of step."""
        sign = SIGNS[kind]
        return sign.ascii if self.plain else sign.symbol

    def glyph(self, pair: tuple[str, str]) -> str:
        """Return the first of two signs, or the second, which is ASCII."""
        return pair[self.plain]

    @property
    def value_width(self) -> int:
        """The number of characters of a value worth formatting, before it is cut to fit."""
        return sys.maxsize if self.full else self.width * 2

    def pieces(self, raw: str, width: int, lines: int = 1, hanging: int = 0) -> list[str]:
        """Return a text on at most `lines` lines; on as many as it needs if values are shown in full."""
        if self.full:
            return list(wrap(self.text(raw), width, hanging))
        room = width * lines
        if len(raw) > 4 * room:  # its middle will be cut out; a text of a gigabyte need not be measured for that
            raw = raw[: 2 * room] + raw[-2 * room :]
        text = self.text(raw)
        pieces = [text]
        # Lines break at spaces, so some room at their ends is lost; how much is known when it is.
        for lost in range(0, width, 4):
            pieces = list(wrap(fit(text, room - lost, plain=self.plain), width, hanging))
            if len(pieces) <= lines:
                break
        return pieces

    def paragraphs(self, raw: str, width: int, lines: int = 1) -> list[str]:
        """Return a text of several lines: lines are kept if values are shown in full, and joined if not."""
        if not self.full:
            return self.pieces(" ".join(raw.split()) if len(raw) < _LONG else raw, width, lines)
        return [piece for line in raw.splitlines() or [""] for piece in self.pieces(line, width)]


def line_length(line: Line) -> int:
    """Return the number of columns that a line takes."""
    return sum(cell_count(part if isinstance(part, str) else part[0]) for part in line)


def printable(text: str, *, plain: bool = False, one_line: bool = False) -> str:
    """Return a text with escapes for characters that would move, hide or reverse the text around them.

    Newlines and tabs stay, unless `one_line` is set. A `plain` text is ASCII. A printable text comes back unchanged,
    so calling this twice is safe.
    """
    if not text.isprintable():
        text = "".join(map(_visible, text))
        if one_line:
            text = text.replace("\n", "\\n").replace("\t", "\\t")
    if not plain or text.isascii():
        return text
    return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode()


def cell_count(text: str) -> int:
    """Return the number of terminal columns that a printable text takes: two for wide characters.

    A combining accent counts as one column, although it takes none: a trace may pile a thousand on one letter.
    """
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def beginning(text: str, width: int) -> str:
    """Return as much of the beginning of a text as fits `width` columns."""
    if text.isascii():
        return text[:width]
    used = 0
    for position, character in enumerate(text):
        used += _cells_of(character)
        if used > width:
            return text[:position]
    return text


def fit(text: str, width: int, *, plain: bool = False) -> str:
    """Return a printable text, cut in the middle to `width` columns."""
    if cell_count(text) <= width:
        return text
    gap = "..." if plain else "…"
    head = max(0, width - len(gap)) * 2 // 3
    begin = beginning(text, head)
    left = width - len(gap) - cell_count(begin)
    return begin + gap + beginning(text[::-1], max(0, left))[::-1]


def wrap(text: str, width: int, hanging: int = 0) -> Iterator[str]:
    """Yield a printable text in pieces of `width` columns, broken after a space if one is near.

    Pieces after the first are `hanging` columns narrower, because they are indented.
    """
    begin, room = 0, max(2, width)
    while len(piece := beginning(text[begin : begin + room + 1], room)) < len(text) - begin:
        space = piece.rfind(" ") + 1
        end = begin + (space if space > len(piece) // 2 else len(piece))
        yield text[begin:end].rstrip(" ")
        begin, room = end, max(2, width - hanging)
    yield text[begin:]


# Cached, because a text repeats its characters and the lookup is a call into the Unicode database for each.
@lru_cache(maxsize=4096)
def _cells_of(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _visible(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"\\u{ord(character):04x}"
