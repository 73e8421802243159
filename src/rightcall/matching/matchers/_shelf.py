"""Values that an agent has seen, found again quickly by an index, and paths into them: `$.flights[*].id`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from rightcall.errors import ExpectationError, InputError, shown
from rightcall.limits import Budget, Limits, current_budget, spend
from rightcall.values.decoding import decode_json, decode_text
from rightcall.values.results import value_text

from ._equality import canonical
from ._operand import is_number

_WORD = re.compile(r"[^\W_]+")
_REST_OF_WORD = re.compile(r"[^\W_]*")
_BETWEEN = "\x00"
"""Stands between texts that are searched together."""
_SCANS = 24
"""Searches through all texts, from which on an index of their words is cheaper."""
_INDEXED = 8_000_000
"""Characters of texts whose words are indexed; more would take too much memory."""
_FIRST = 8
"""Words of a text by which it is looked up in the index."""
_READ, _SCANNED, _TRIED, _LISTED = 256, 2048, 16, 16
"""How much is done in one step: characters decoded, characters searched, places tried, and characters whose words are
listed. One value is indexed in one step."""
_MOST_SHOWN = 3
KeyT = TypeVar("KeyT", str, str | bytes)
_STEP = re.compile(
    r"""\.\.(?P<below>[^.\[\]*\s"']+)
    | \.(?P<key>[^.\[\]*\s"']+)
    | \[\s*"(?P<double>[^"]*)"\s*\] | \[\s*'(?P<single>[^']*)'\s*\]
    | \[\s*(?P<index>[0-9]{1,9})\s*\]
    | (?P<every>\[\s*\*\s*\] | \.\*)""",
    re.VERBOSE,
)
Step: TypeAlias = tuple[Literal["key", "index", "every", "below"], Any]


class Shelf:
    """Values with a number for each, ascending, of where it was seen: in a call or an input.

    With a path, what counts is the values at that path, whole. Without, it is every value inside and, for texts and
    numbers, every place in a text where they appear as a whole word.
    """

    def __init__(self, entries: Iterable[tuple[int, Any]], path: ValuePath | None = None) -> None:
        self._path = path
        self._equal: dict[str | bytes, list[int]] = {}
        self._texts: dict[str, list[int]] = {}
        self._values: dict[str | bytes, Any] = {}
        self._found: dict[str, list[int]] = {}
        self._words: dict[str, list[int]] | None = None
        self._scans = 0
        read: dict[str, Any] = {}
        for number, value in entries:
            self._put(number, _read(value, path is not None, read))
        self._joined = list(self._texts)
        self._size = sum(map(len, self._joined))

    def holders(self, value: Any) -> Iterator[list[int]]:
        """Where a value was seen, in ascending lists: first where it equals one, then where it appears as a word.

        Without a path, the value has none inside.
        """
        yield self._equal.get(_key(value), [])
        if self._path is None and (isinstance(value, str) or is_number(value)):
            for text in _as_words(value):
                yield self._standing(text)

    def sample(self, counts: Callable[[int], bool]) -> tuple[int, list[str]]:
        """How many different values were seen at places that count, and the first of them as text."""
        seen = [key for key, numbers in self._equal.items() if any(map(counts, numbers))]
        return len(seen), [value_text(self._values[key], 40) for key in seen[:_MOST_SHOWN]]

    def _put(self, number: int, value: Any) -> None:
        found = leaves_of(value) if self._path is None else self._path.values_in(value)
        spend(1 + len(found))
        for each in found:
            key = _key(each)
            self._values.setdefault(key, each)
            _note(self._equal, key, number)
        if self._path is None and (texts := [each for each in found if isinstance(each, str)]):
            _note(self._texts, texts[0] if len(texts) == 1 else _BETWEEN.join(texts), number)

    def _standing(self, needle: str) -> list[int]:
        """Where a text occurs as a whole word."""
        if needle not in self._found:
            self._found[needle] = self._search(needle)
        return self._found[needle]

    def _search(self, needle: str) -> list[int]:
        # Any word of it will do to narrow the search, and a text may have a million of them.
        words = [found[0] for found in islice(_WORD.finditer(needle), _FIRST)]
        places: Sequence[int] = range(len(self._joined))
        if self._words is None and self._scans >= _SCANS and self._size <= _INDEXED:
            self._words = self._listed()
        if self._words is not None and words:
            places = min([self._words.get(word, []) for word in words], key=len)
        self._scans += 1
        # Texts are joined, so a match that extends over two of them is in neither.
        apart = _BETWEEN in needle
        spend(1 + len(places) // _TRIED + len(needle) // _SCANNED)
        found: set[int] = set()
        for place in places:
            text = self._joined[place]
            if any([_stands_in(needle, each) for each in (text.split(_BETWEEN) if apart else [text])]):
                found.update(self._texts[text])
        return sorted(found)

    def _listed(self) -> dict[str, list[int]]:
        spend(self._size // _LISTED)
        listed: dict[str, list[int]] = {}
        for place, text in enumerate(self._joined):
            for word in set(_WORD.findall(text)):
                listed.setdefault(word, []).append(place)
        return listed


def leaves_of(value: Any) -> list[Any]:
    """The values inside of a value that have none inside themselves, in order; of a plain value, itself."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(reversed(each.values()))
        elif isinstance(each, (list, tuple)):
            waiting.extend(reversed(each))
        else:
            found.append(each)
    return found


def _stands_in(needle: str, text: str) -> bool:
    """Return whether a text has another in it with neither a letter nor a digit on either side."""
    spend(len(text) // _SCANNED)
    place, tries = text.find(needle), 0
    begins_word = needle[:1].isalnum()
    while place >= 0:
        end = place + len(needle)
        if not text[end : end + 1].isalnum() and not (place and text[place - 1].isalnum()):
            return True
        # A word that begins inside of another is not whole, so the rest of that need not be looked at.
        behind = _REST_OF_WORD.match(text, place).end() if begins_word else place + 1  # type: ignore[union-attr]
        place = text.find(needle, behind)
        tries += 1
        if tries % _TRIED == 0:
            spend(1)
    return False


def _as_words(value: Any) -> list[str]:
    """A text, or a number as it may be written; nothing for an empty text, which is everywhere."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, float) and value.is_integer():
        return [repr(value), str(int(value))]
    return [repr(value)]


def _key(value: Any) -> str | bytes:
    """A key that equal values share, and no others. A text is its own, which no other value's is."""
    if value.__class__ is str:
        return value
    if not isinstance(value, (dict, list)):
        return repr(int(value) if isinstance(value, float) and value.is_integer() else value).encode()
    return canonical(value, current_budget() or Budget()).encode(errors="surrogatepass")


def _note(index: dict[KeyT, list[int]], key: KeyT, number: int) -> None:
    numbers = index.setdefault(key, [])
    if not numbers or numbers[-1] != number:
        numbers.append(number)


def _read(value: Any, literals: bool, known: dict[str, Any]) -> Any:
    """A value; a text that reads as a JSON object or list as that, and with `literals` as a Python one, too."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", "("):
        return value
    if value not in known:
        known[value] = _decoded(value, literals)
    return known[value]


def _decoded(text: str, literals: bool) -> Any:
    spend(1 + len(text) // _READ)
    try:
        value = decode_json(text)
    except InputError:
        if not literals:
            return text
        # Python's own parser takes a microsecond for a character.
        spend(len(text) // 2)
        try:
            value = decode_text(text)
        except InputError:
            return text
    return value if isinstance(value, (dict, list)) else text


class ValuePath(msgspec.Struct, frozen=True):
    """A path to some of the values inside of a JSON value."""

    written: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, written: Any, where: str, limits: Limits) -> ValuePath:
        """The path that a text says.

        Raises:
            ExpectationError: it is not a path, or too long.
        """
        if not isinstance(written, str) or not written.startswith("$"):
            raise ExpectationError(f"{where} takes a path such as $.flights[*].id, not {shown(written)}")
        if len(written) > limits.pattern_length:
            raise ExpectationError(f"{where}: a path of {len(written):,} characters; at most {limits.pattern_length:,}")
        steps: list[Step] = []
        place = 1
        while place < len(written):
            found = _STEP.match(written, place)
            if found is None:
                raise ExpectationError(
                    f"{where}: {shown(written[place:])} in the path {shown(written)} is not a step; "
                    'a step is .key, ["key"], [0], [*], .* or ..key'
                )
            steps.append(_step(found))
            place = found.end()
        return cls(written, tuple(steps))

    def values_in(self, value: Any) -> list[Any]:
        """The values at this path, in the order of the document."""
        found = [value]
        for kind, wanted in self.steps:
            if kind == "below":
                found = list(_below(found, wanted))
            elif kind == "every":
                found = [item for each in found for item in _children(each)]
            elif kind == "key":
                found = [each[wanted] for each in found if isinstance(each, dict) and wanted in each]
            else:
                found = [each[wanted] for each in found if isinstance(each, list) and wanted < len(each)]
        return found


def _step(found: re.Match[str]) -> Step:
    if found["below"] is not None:
        return "below", found["below"]
    if found["index"] is not None:
        return "index", int(found["index"])
    if found["every"] is not None:
        return "every", None
    return "key", next(found[name] for name in ("key", "double", "single") if found[name] is not None)


def _below(starts: list[Any], key: Any) -> Iterator[Any]:
    """The values that have a key, anywhere inside. Each part is walked once, even where one start is inside another."""
    seen: set[int] = set()
    waiting = list(reversed(starts))
    while waiting:
        value = waiting.pop()
        if not isinstance(value, (dict, list)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict) and key in value:
            yield value[key]
        waiting.extend(reversed(_children(value)))


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
