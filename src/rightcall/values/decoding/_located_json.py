"""JSON documents with the line and column of everything in them."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import DocumentError
from rightcall.limits import Limits

Path: TypeAlias = tuple[str | int, ...]
"""The place of a value in a document: the keys and indices that lead to it."""
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Position(msgspec.Struct, frozen=True):
    """A place in a text, counted from 1."""

    line: int
    column: int


class Document(msgspec.Struct, frozen=True):
    """A value and where each part of it was written: keys of objects, and items of lists."""

    value: Any
    positions: dict[Path, Position]

    def position(self, path: Path) -> Position:
        """Return where a part was written or, if that is not known, the nearest part around it."""
        while path not in self.positions and path:
            path = path[:-1]
        return self.positions.get(path, Position(1, 1))


def decode_located_json(text: str, limits: Limits) -> Document:
    """Decode a JSON document with its positions. Duplicate keys are refused.

    Raises:
        DocumentError: the text is not JSON, names a key twice, or is too deep.
    """
    return _Scanner(text, limits).document()


class _Scanner:
    """One walk through one JSON text."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._positions: dict[Path, Position] = {}

    def document(self) -> Document:
        start = self._skip(0)
        value, end = self._value(start, ())
        if self._skip(end) != len(self._text):
            raise self._problem("the document goes on after its end", self._skip(end))
        return Document(value, {(): self._at(start), **self._positions})

    def _value(self, start: int, path: Path) -> tuple[Any, int]:
        if len(path) > self._limits.depth:
            raise self._problem(f"nested deeper than the limit of {self._limits.depth} levels", start)
        opener = self._text[start : start + 1]
        if opener == "{":
            return self._object(start + 1, path)
        if opener == "[":
            return self._list(start + 1, path)
        return self._scalar(start)

    def _object(self, start: int, path: Path) -> tuple[dict[str, Any], int]:
        value: dict[str, Any] = {}
        place = self._skip(start)
        if self._text[place : place + 1] == "}":
            return value, place + 1
        while True:
            at = place
            if self._text[at : at + 1] != '"':
                raise self._problem("a key in double quotes is expected", at)
            key, place = self._scalar(at)
            if key in value:
                raise self._problem(f"the key {key[:40]!r} occurs twice in one object", at)
            self._positions[*path, key] = self._at(at)
            place = self._expect(":", self._skip(place))
            value[key], place = self._value(self._skip(place), (*path, key))
            place, done = self._next(place, "}")
            if done:
                return value, place

    def _list(self, start: int, path: Path) -> tuple[list[Any], int]:
        value: list[Any] = []
        place = self._skip(start)
        if self._text[place : place + 1] == "]":
            return value, place + 1
        while True:
            self._positions[*path, len(value)] = self._at(place)
            item, place = self._value(place, (*path, len(value)))
            value.append(item)
            place, done = self._next(place, "]")
            if done:
                return value, place

    def _scalar(self, start: int) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self._text, start)
        except ValueError:
            what = "a text that does not end, or has an escape that JSON does not know"
            raise self._problem(
                what if self._text[start : start + 1] == '"' else "a value is expected", start
            ) from None

    def _next(self, place: int, closer: str) -> tuple[int, bool]:
        place = self._skip(place)
        if self._text[place : place + 1] == closer:
            return place + 1, True
        return self._skip(self._expect(",", place)), False

    def _expect(self, mark: str, place: int) -> int:
        if self._text[place : place + 1] != mark:
            raise self._problem(f"{mark!r} is expected", place)
        return place + 1

    def _skip(self, place: int) -> int:
        found = _SPACE.match(self._text, place)
        return found.end() if found else place

    def _at(self, offset: int) -> Position:
        # By bisection: counting newlines from the beginning for every value would take quadratic time.
        line = bisect_right(self._lines, offset)
        return Position(line, offset - self._lines[line - 1] + 1)

    def _problem(self, message: str, offset: int) -> DocumentError:
        position = self._at(min(offset, len(self._text)))
        return DocumentError(message, position.line, position.column)
