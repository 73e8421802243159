"""Differences of values, with what differs inside of them marked."""

from __future__ import annotations

import msgspec

from rightcall.values.results import Difference

_MOST = 400


class Marked(msgspec.Struct, frozen=True):
    """A text whose middle part is what is meant."""

    before: str
    marked: str
    after: str = ""


class Change(msgspec.Struct, frozen=True):
    """Where two values differ, what stands there, and how that is said in a word or two; a side can be missing."""

    path: str
    word: str
    expected: Marked | None = None
    actual: Marked | None = None


def change_of(difference: Difference) -> Change:
    """A difference with its values marked where they part, from the first to the last character that differs.

    A matcher is not compared letter by letter: what is given does not satisfy it, and that is all.
    """
    path = difference.path.removeprefix("$.").removeprefix("$")[:_MOST]
    expected, actual = difference.expected, difference.actual
    if actual is None:
        return Change(path, "missing", Marked("", (expected or "")[:_MOST]))
    if expected is None:
        return Change(path, "not expected", None, Marked("", actual[:_MOST]))
    if expected.startswith('{"$'):
        word = "should not be there" if expected == '{"$absent": true}' else "does not satisfy"
        return Change(path, word, Marked("", expected[:_MOST]), Marked("", actual[:_MOST]))
    return Change(path, "", *marked_pair(expected[:_MOST], actual[:_MOST]))


def marked_pair(expected: str, actual: str) -> tuple[Marked, Marked]:
    """Two texts, each with its part marked that the other has not, between what they begin and end with alike."""
    shorter = min(len(expected), len(actual))
    same = next((place for place in range(shorter) if expected[place] != actual[place]), shorter)
    tail = 0
    while tail < shorter - same and expected[-1 - tail] == actual[-1 - tail]:
        tail += 1
    first, second = [
        Marked(text[:same], text[same : len(text) - tail], text[len(text) - tail :]) for text in (expected, actual)
    ]
    return first, second
