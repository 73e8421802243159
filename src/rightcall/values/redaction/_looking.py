"""A quick look at a text: which kinds of secrets could be in it at all."""

from __future__ import annotations

import re

import msgspec

from ._names import MARKS
from ._shapes import SHAPES, Shape

_IN_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-") | frozenset(
    range(128, 256)
)
_SPACED = bytes([code if code in _IN_WORDS else 32 for code in range(256)])
_LONG = 16
_CUT = "…".encode()
_WORD = re.compile(r"[\w.~-]+")


def shapes_in(text: str) -> tuple[list[Shape], list[str]]:
    """The shapes, and the marks of names, that could be in a text: every one that is, and perhaps more.

    A document says the same words over and over. So each of its words is looked at once, and the marks of tokens are
    looked for in long words only; searching the whole text for each of them takes eight times as long.
    """
    words = set(text.encode("utf-8", "surrogatepass").translate(_SPACED).split())
    every = b" ".join(words)
    long = every if _CUT in every else b" ".join([word for word in words if len(word) >= _LONG])
    folded = every.lower()
    found = [shape for mark, shape in _TOKENS if mark in long] if long else []
    found += [shape for mark, shape in _EXACT if mark in every]
    found += [shape for mark, shape in _FOLDED if mark in folded]
    if "@" in text and "://" in text:
        found += _ADDRESSES
    return found, [name for name, mark in _NAMES if mark in folded]


def is_suspect(text: str) -> bool:
    """Whether there may be a secret in a text: wrong only in suspecting too much."""
    shapes, names = shapes_in(text)
    return bool(shapes or names)


def _word_of(mark: str) -> bytes:
    """The part of a mark that is found in one word."""
    words = _WORD.findall(mark)
    return max(words, key=len).encode() if words else b""


def _marks(*, is_token: bool, is_folded: bool) -> list[tuple[bytes, Shape]]:
    """What each shape of a kind is looked for by. A shape of several marks becomes as many, of one each."""
    meant = [shape for shape in SHAPES if (shape.is_token, shape.is_folded) == (is_token, is_folded)]
    each = [(mark, msgspec.structs.replace(shape, marks=(mark,))) for shape in meant for mark in shape.marks]
    return [(_word_of(mark), shape) for mark, shape in each if _word_of(mark)]


_TOKENS = _marks(is_token=True, is_folded=False)
_EXACT = _marks(is_token=False, is_folded=False)
_FOLDED = _marks(is_token=False, is_folded=True)
_ADDRESSES = [shape for shape in SHAPES if not all(map(_word_of, shape.marks))]
_NAMES = [(mark, mark.encode()) for mark in MARKS]
