"""Warnings of one reading, held to a number a reader can bear."""

from __future__ import annotations

_MOST = 20


class Warnings:
    """Short sentences about what could not be read. Of each kind the first twenty are kept, the rest counted."""

    __slots__ = ("_counts", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._counts: dict[str, int] = {}

    def add(self, kind: str, text: str) -> None:
        """Note a warning of a kind; the same sentence again is not kept twice."""
        count = self._counts.get(kind, 0)
        if count < _MOST and text in self._texts:
            return
        self._counts[kind] = count + 1
        if count < _MOST:
            self._texts.append(text)

    def texts(self) -> tuple[str, ...]:
        """The sentences, and for each kind how many more there were."""
        if not self._counts:
            return ()
        more = [f"and {count - _MOST:,} more about {kind}" for kind, count in self._counts.items() if count > _MOST]
        return (*self._texts, *more)
