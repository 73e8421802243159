"""Values, calls and differences as short text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import shown

_WIDTH = 120
_VALUE_WIDTH = 40
_WINDOW = 120
_LONGEST_TYPE = 120
_ERROR_WIDTH = 80
# A class of errors has two capitals, as `NotFound`, or ends as most do: `Note: …` begins with a word.
_TYPE = lazy_pattern(r"(?:\w+\.)*(\w*(?:Error|Exception)|[A-Z]\w*[a-z][A-Z]\w*)(?=[:(]|$)")
_encoded = json.JSONEncoder(ensure_ascii=False, default=repr).encode


def json_text(value: Any) -> str:
    """Return a value as JSON for people; Python objects in an expectation are shown by their repr."""
    # Most values are strings and whole numbers, for which the encoder takes five times as long.
    if value.__class__ is str:
        return encode_basestring(value)
    return repr(value) if value.__class__ is int else _encoded(value)


def value_text(value: Any, width: int = _WIDTH) -> str:
    """Return a value as JSON, cut in the middle to `width` characters."""
    # Cut before it is encoded: a value may be megabytes long, and all but a hundred characters of it are dropped.
    if isinstance(value, str) and len(value) > width:
        value = _cut(value, width)
    return _cut(json_text(value), width)


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun: `1 case`, `1,200 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def call_text(
    name: str, args: Mapping[str, Any] | None = None, width: int = _WIDTH, value_width: int = _VALUE_WIDTH
) -> str:
    """Write a call as a person would: `search(query="laptop", limit=5)`. Without arguments, the name alone."""
    if args is None:
        return _cut(name, width)
    written = ", ".join(f"{key}={value_text(value, value_width)}" for key, value in args.items())
    return _cut(f"{name}({written})", width)


def error_type(error: str) -> str:
    """Return the type that the text of an error begins with: `KeyError` of `KeyError: 'O-404'`; empty for none."""
    found = _TYPE.match(error[:_LONGEST_TYPE])
    return found[1] if found else ""


def end_text(error: str | None) -> str:
    """Say how a call ended, without its message: `raised TimeoutError`, `failed` or `succeeded`."""
    if error is None:
        return "succeeded"
    kind = error_type(error)
    return f"raised {kind}" if kind else "failed"


def failure_text(error: str) -> str:
    """Say that a call failed: `raised TimeoutError (no answer)`, or `failed ('late')` if the type is not known."""
    kind = error_type(error)
    if not kind:
        return f"failed ({shown(error)})"
    rest = error.partition(kind)[2][:_WIDTH]
    message = " ".join(rest.removeprefix(":").removeprefix("(").removesuffix(")").split())
    return f"raised {kind} ({_cut(message, _ERROR_WIDTH)})" if message else f"raised {kind}"


def order_phrase(
    place: tuple[int, int],
    in_place: Iterable[tuple[int, int]],
    name: Callable[[int, int], str],
    *,
    expectation: bool = False,
) -> str:
    """Say on which side of an in-order call an out-of-order call was made: `before the 2nd weather`.

    Args:
        place: The position of the call among the expected calls, and among the actual ones.
        in_place: The same pair for each call that is in order.
        name: Returns the name of one of these, given its pair.
        expectation: Whether to add what was expected: `before weather, expected after it`.
    """
    wrong = wrong_side(place, in_place)
    if wrong is None:
        return "at another place than expected" if expectation else "at another place"
    side, right_side = ("before", "after") if place[1] < wrong[1] else ("after", "before")
    wanted = f", expected {right_side} it" if expectation else ""
    return f"{side} {name(*wrong)}{wanted}"


def wrong_side(place: tuple[int, int], in_place: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first in-order call that a call should have come after, or before, as the same kind of pair."""
    expected, actual = place
    for other_expected, other_actual in in_place:
        if (other_expected < expected) != (other_actual < actual):
            return other_expected, other_actual
    return None


def nth_text(name: str, number: int, count: int) -> str:
    """Name one of several calls of a tool: `the 2nd weather`; only the name if there is just one."""
    return f"the {ordinal_text(number)} {name}" if count > 1 else name


def ordinal_text(number: int) -> str:
    """Write a position in a list, from 1: `1st`, `2nd`, `11th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def figure_text(value: float) -> str:
    """Write a count, a share or a number of seconds: whole numbers with commas, others with six digits."""
    return f"{value:,.0f}" if value == int(value) or value >= 100_000 else f"{value:,.6g}"


class Difference(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One difference of two values, as JSON text; a side that has no value is `None`."""

    path: str
    expected: str | None = None
    actual: str | None = None

    @property
    def name(self) -> str:
        """What differs, as people write it: `city`, `stops[0].city`; nothing for the whole value."""
        return self.path.removeprefix("$.").removeprefix("$")

    def clause(self, having: str, lacking: str, whole: str | None = None) -> str:
        """Return the end of a sentence: `with city "Rome", expected "Oslo"`, `without city, expected "Oslo"`.

        Args:
            having: The word before what is there.
            lacking: The word before what is missing.
            whole: The word before a value that differs as a whole; as `having` by default.
        """
        if self.actual is None:
            return " ".join(filter(None, (lacking, self.name or "value"))) + f", expected {self.expected}"
        word = having if self.name or whole is None else whole
        wanted = f"expected {self.expected}"
        if self.expected is None or self.expected == '{"$absent": true}':
            wanted = "which is not expected"
        return " ".join(filter(None, (word, self.name, f"{self.actual}, {wanted}")))

    def __str__(self) -> str:
        if self.actual is None:
            return f"{self.path}: {self.expected} is missing"
        if self.expected is None:
            return f"{self.path}: {self.actual} is not expected"
        if not self.expected.startswith('{"$'):
            return f"{self.path}: {self.expected} ≠ {self.actual}"
        if self.expected == '{"$absent": true}':
            return f"{self.path}: {self.actual} should not be there"
        return f"{self.path}: {self.actual} does not satisfy {self.expected}"


def difference_of(path: str, expected: Any, actual: Any) -> Difference:
    """Return the difference of two values as JSON text, each cut to a window around the first difference."""
    kind = expected.__class__
    # Nearly all pairs are two strings or two whole numbers: two function calls less.
    if kind is str is actual.__class__:
        first, second = encode_basestring(expected), encode_basestring(actual)
    elif kind is int is actual.__class__:
        first, second = repr(expected), repr(actual)
    else:
        first, second = json_text(expected), json_text(actual)
    if len(first) > _WINDOW or len(second) > _WINDOW:
        start = _first_difference(first, second)
        first, second = _window(first, start), _window(second, start)
    return Difference(path, first, second)


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    # Two thirds for the beginning: both ends of a path or an id matter, the beginning more.
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def _first_difference(first: str, second: str) -> int:
    """Return where two strings begin to differ, by bisection: strings may be megabytes long."""
    same, end = 0, min(len(first), len(second))
    while same < end:
        middle = (same + end + 1) // 2
        if first[same:middle] == second[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same


def _window(text: str, center: int) -> str:
    if len(text) <= _WINDOW:
        return text
    first = max(0, min(center - _WINDOW // 2, len(text) - _WINDOW))
    last = first + _WINDOW
    return ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
