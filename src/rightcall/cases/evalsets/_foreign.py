"""Objects in the files of other tools: asked for by key, checked, and told with their place when they are wrong."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from rightcall.errors import DocumentError, shown
from rightcall.values.decoding import Path

from ._pages import Page, camel

_SUSPICIOUS = 0.85
"""How similar an unknown key must be to a known one to be taken for it, misspelt."""

_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list", bool: "true or false"}


class Part:
    """An object of a file. Keys are given in snake_case, and may be written in camelCase.

    Raises:
        DocumentError: it is not an object.
    """

    def __init__(self, page: Page, value: Any, path: Path = ()) -> None:
        self.page = page
        self.path = path
        if not isinstance(value, dict):
            raise page.problem(f"an object is expected, not {shown(value)}", path)
        self.value: dict[str, Any] = value
        self._asked: set[str] = set()

    def place(self, *steps: str | int) -> Path:
        """The path of something inside it."""
        return (*self.path, *steps)

    def problem(self, message: str, *steps: str | int) -> DocumentError:
        """The exception that says what is wrong with something inside it."""
        return self.page.problem(message, self.place(*steps))

    def has(self, key: str) -> bool:
        """Whether there is such a key with a value other than null."""
        return self.any(key) is not None

    def any(self, key: str) -> Any:
        """The value of a key, null where it is missing."""
        self._asked.update((key, camel(key)))
        if key in self.value and camel(key) in self.value and camel(key) != key:
            raise self.problem(f"{key!r} is given twice, in snake_case and in camelCase", key)
        return self.value.get(key, self.value.get(camel(key)))

    def text(self, key: str, default: str | None = None) -> str:
        """The text of a key, which must be there unless there is a default."""
        return str(self._of(str, key, default))

    def object(self, key: str) -> Part | None:
        """The object of a key, if there is one."""
        return Part(self.page, self.any(key), self.place(key)) if self.has(key) else None

    def items(self, key: str, *, required: bool = False) -> list[Any]:
        """The list of a key, empty where it may be missing and is."""
        items: list[Any] = self._of(list, key, None if required else [])
        return items

    def objects(self, key: str, *, required: bool = False) -> list[Part]:
        """The objects in the list of a key."""
        items = self.items(key, required=required)
        return [Part(self.page, item, self.place(key, number)) for number, item in enumerate(items)]

    def rest(self, known: Iterable[str] = ()) -> dict[str, Any]:
        """Everything that nobody asked for.

        Other tools leave keys alone that they do not know, so these are kept, unless one is nearly the same as a key
        that is known and missing.

        Raises:
            DocumentError: a key is misspelt.
        """
        spellings = {*self._asked, *known, *map(camel, known)}
        absent = [key for key in spellings if key not in self.value]
        for key in self.value:
            close = get_close_matches(key, absent, n=1, cutoff=_SUSPICIOUS) if key not in spellings else []
            if close:
                raise self.problem(f"unknown key {key!r}; did you mean {close[0]!r}?", key)
        return {key: value for key, value in self.value.items() if key not in self._asked}

    def _of(self, kind: type, key: str, default: Any) -> Any:
        value = self.any(key)
        if value is None and default is None:
            self.rest()
            raise self.problem(f"{key!r} is missing")
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self.problem(f"{key}: {_KINDS[kind]} is expected, not {shown(value)}", key)
        return value
