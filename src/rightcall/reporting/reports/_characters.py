"""Text from strangers as characters on a screen: made harmless, measured, cut and broken into lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_PLAIN = str.maketrans({"…": "...", "≠": "!=", "−": "-", "–": "-", "→": "->"})
_KEPT = frozenset("\n\t")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, *, plain: bool = False, one_line: bool = False) -> str:
    """A text with escapes in place of what would move, hide or turn around what stands beside it.

    Newlines and tabs stay, unless it is to be `one_line`. A `plain` text is ASCII. What is printable already
    comes back unchanged, so it does no harm to ask twice.
    """
    if not text.isprintable():
        text = "".join(map(_visible, text))
        if one_line:
            text = text.replace("\n", "\\n").replace("\t", "\\t")
    if not plain or text.isascii():
        return text
    return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode()


def cell_count(text: str) -> int:
    """How many columns of a terminal a printable text takes up: two for wide characters.

    An accent of its own counts as one, although it takes up none: a stranger may pile a thousand on a letter.
    """
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def beginning(text: str, width: int) -> str:
    """As much of the beginning of a text as `width` columns hold."""
    if text.isascii():
        return text[:width]
    used = 0
    for position, character in enumerate(text):
        used += _cells_of(character)
        if used > width:
            return text[:position]
    return text


def fit(text: str, width: int, *, plain: bool = False) -> str:
    """A printable text, cut in the middle to `width` columns."""
    if cell_count(text) <= width:
        return text
    gap = "..." if plain else "…"
    head = max(0, width - len(gap)) * 2 // 3
    begin = beginning(text, head)
    left = width - len(gap) - cell_count(begin)
    return begin + gap + beginning(text[::-1], max(0, left))[::-1]


def wrap(text: str, width: int, hanging: int = 0) -> Iterator[str]:
    """A printable text in pieces of `width` columns, broken after a space where one is near.

    Pieces after the first are to hang by so many columns, and have as many less.
    """
    begin, room = 0, max(2, width)
    while len(piece := beginning(text[begin : begin + room + 1], room)) < len(text) - begin:
        space = piece.rfind(" ") + 1
        end = begin + (space if space > len(piece) // 2 else len(piece))
        yield text[begin:end].rstrip(" ")
        begin, room = end, max(2, width - hanging)
    yield text[begin:]


@lru_cache(maxsize=4096)
def _cells_of(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _visible(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"\\u{ord(character):04x}"
