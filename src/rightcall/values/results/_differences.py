"""One place where an actual value is not the expected one."""

from __future__ import annotations

from typing import Any

import msgspec

from ._text import json_text

_WINDOW = 60


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where two values differ, and what stands there as JSON text; `None` where nothing does."""

    path: str
    expected: str | None = None
    actual: str | None = None

    def __str__(self) -> str:
        if self.actual is None:
            return f"{self.path}: {self.expected} is missing"
        if self.expected is None:
            return f"{self.path}: {self.actual} is not expected"
        if self.expected == '{"$absent": true}':
            return f"{self.path}: {self.actual} should not be there"
        if self.expected.startswith('{"$'):
            return f"{self.path}: {self.actual} does not satisfy {self.expected}"
        return f"{self.path}: {self.expected} ≠ {self.actual}"


def text_pair(expected: Any, actual: Any) -> tuple[str, str]:
    """Two different values as JSON text, each cut to a window around the first difference."""
    first, second = json_text(expected), json_text(actual)
    if max(len(first), len(second)) <= 2 * _WINDOW:
        return first, second
    start = _first_difference(first, second)
    return _window(first, start), _window(second, start)


def _first_difference(first: str, second: str) -> int:
    """Where two texts part, by halving: texts may be megabytes long."""
    same, end = 0, min(len(first), len(second))
    while same < end:
        middle = (same + end + 1) // 2
        if first[same:middle] == second[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same


def _window(text: str, center: int) -> str:
    if len(text) <= 2 * _WINDOW:
        return text
    first = max(0, min(center - _WINDOW, len(text) - 2 * _WINDOW))
    last = first + 2 * _WINDOW
    return ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
