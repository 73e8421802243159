"""JSON that people write, with the line and column of every part, found when one is asked for."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import DocumentError
from rightcall.limits import Limits

if TYPE_CHECKING:
    from array import array

Path: TypeAlias = tuple[str | int, ...]
"""The place of a value in a document: the keys and indices that lead to it."""
_SPACE = lazy_pattern(r"[ \t\n\r]*")
_COLON = lazy_pattern(r"[ \t\n\r]*:[ \t\n\r]*")
_COMMA = lazy_pattern(r"[ \t\n\r]*(,?)[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Position(msgspec.Struct, frozen=True):
    """A place in a text, counted from 1."""

    line: int
    column: int


class Document(NamedTuple):
    """A value, and where each part of it was written: keys of objects, and items of lists."""

    value: Any
    position: Callable[[Path], Position]
    """Returns where a part was written or, if that is not known, the nearest part around it."""


class TooDeepError(DocumentError):
    """A JSON text is nested deeper than the limit."""


def decode_located_json(text: str, limits: Limits) -> Document:
    """Decode a JSON document with its positions. Duplicate keys are refused.

    Raises:
        DocumentError: the text is not JSON, names a key twice, or is too deep (`TooDeepError`).
    """
    try:
        value = _STRICT.decode(text)
        is_right = _is_within(value, limits.depth)
    except (ValueError, RecursionError):
        is_right = False
    return Document(value if is_right else _Scanner(text, limits).value(), _Places(text).position)


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made


# It says that something is wrong, but not what and where. `_Scanner` does, and takes thirty times as long.
_STRICT = json.JSONDecoder(object_pairs_hook=_object_of)


def _is_within(value: Any, depth: int) -> bool:
    """Return whether no value is nested deeper than this."""
    level = [value]
    for _ in range(depth):
        held = [each.values() if type(each) is dict else each for each in level if type(each) in (dict, list)]
        if not held:
            return True
        level = [each for values in held for each in values]
    return not any([each for each in level if type(each) in (dict, list)])


class _Places:
    """Finds where the parts of a JSON text are written, when one is asked for.

    Few ever are: those with mistakes, and those of findings. To note all of them took a quarter of the time of loading
    an eval set of 10,000 cases, and more memory than everything else.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._containers: dict[int, _Container] = {}

    def position(self, path: Path) -> Position:
        """Return where a part was written or, if there is no such part, the nearest one around it."""
        at = place = _after_space(self._text, 0)
        for step in path:
            found = self._container(place).member(step) if self._text[place] in "{[" else None
            if found is None:
                break
            at, place = found
        line = bisect_right(self._lines, at)
        return Position(line, at - self._lines[line - 1] + 1)

    def _container(self, place: int) -> _Container:
        if place not in self._containers:
            self._containers[place] = _Container(self._text, place)
        return self._containers[place]

    @cached_property
    def _lines(self) -> array[int]:
        """Where each line begins."""
        from array import array

        lines = array("Q", [0])
        lines.extend(found.end() for found in re.finditer("\n", self._text))
        return lines


class _Container:
    """An object or list in a text that is JSON. Its members are found one after the other, as far as is needed."""

    __slots__ = ("_is_object", "_members", "_next", "_text")

    def __init__(self, text: str, place: int) -> None:
        self._text, self._is_object = text, text[place] == "{"
        self._members: dict[str | int, tuple[int, int]] = {}
        first = _after_space(text, place + 1)
        self._next = -1 if text[first] in "}]" else first

    def member(self, step: str | int) -> tuple[int, int] | None:
        """Return where a member is written, and where its value is; nothing if there is none."""
        while step not in self._members and self._next >= 0:
            self._read(self._next)
        return self._members.get(step)

    def _read(self, at: int) -> None:
        """Note the member at a place, and the place of the next one."""
        step: str | int = len(self._members)
        place = at
        if self._is_object:
            step, end = _DECODER.raw_decode(self._text, at)
            place = _COLON.match(self._text, end).end()  # type: ignore[union-attr]
        self._members[step] = at, place
        comma = _COMMA.match(self._text, _DECODER.raw_decode(self._text, place)[1])
        self._next = comma.end() if comma and comma[1] else -1


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


class _Scanner:
    """One walk through a JSON text that is not right, to the first mistake in it."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits

    def value(self) -> Any:
        """Return the value, if nothing is wrong. Raises `DocumentError`."""
        value, end = self._value(self._skip(0), 0)
        if self._skip(end) != len(self._text):
            raise self._problem("there is more text after the end of the document", self._skip(end))
        return value

    def _value(self, start: int, depth: int) -> tuple[Any, int]:
        if depth > self._limits.depth:
            problem = self._problem(f"nested deeper than the limit of {self._limits.depth} levels", start)
            raise TooDeepError(str(problem), problem.line, problem.column)
        opener = self._text[start : start + 1]
        if opener == "{":
            return self._object(start + 1, depth + 1)
        if opener == "[":
            return self._list(start + 1, depth + 1)
        return self._scalar(start)

    def _object(self, start: int, depth: int) -> tuple[dict[str, Any], int]:
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
                # RFC 8259, section 4, leaves open which of two values counts; what people write twice is a mistake.
                raise self._problem(f"the key {key[:40]!r} occurs twice in one object", at)
            place = self._expect(":", self._skip(place))
            value[key], place = self._value(self._skip(place), depth)
            place, done = self._next(place, "}")
            if done:
                return value, place

    def _list(self, start: int, depth: int) -> tuple[list[Any], int]:
        value: list[Any] = []
        place = self._skip(start)
        if self._text[place : place + 1] == "]":
            return value, place + 1
        while True:
            item, place = self._value(place, depth)
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
        return _after_space(self._text, place)

    def _problem(self, message: str, offset: int) -> DocumentError:
        before = self._text[:offset]
        return DocumentError(message, before.count("\n") + 1, len(before) - before.rfind("\n"))
