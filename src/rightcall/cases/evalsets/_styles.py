"""New values in the hand of the file they are put into."""

from __future__ import annotations

import json
import re
from typing import Any

from ._yaml import block_lines, flow_text, is_long

_WIDTH = 100
_INDENT = re.compile(r"\n([ \t]+)\S")


class YamlStyle:
    """YAML, by indentation where a value is long."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        self.comma = ", "

    def inline(self, value: Any) -> str:
        """A value on one line."""
        return flow_text(value)

    def pair(self, key: str, value: Any) -> str:
        """A key and its value on one line."""
        return f"{flow_text(key)}: {flow_text(value)}"

    def value(self, value: Any, column: int, *, is_item: bool) -> list[str]:
        """The lines of a value after a colon or, for an item, after a dash, which stands in this column.

        The first goes on where the colon or the dash ends; the others are whole lines.
        """
        level = column // 2 + 1
        if not is_long(value, level) and not (is_item and isinstance(value, dict) and len(value) == 1):
            return [f" {flow_text(value)}"]
        lines = [" " * (column + 2) + line for line in block_lines(value, level)]
        return [lines[0][column + 1 :], *lines[1:]] if is_item else ["", *lines]

    def entry(self, key: str | None, value: Any, column: int) -> list[str]:
        """The lines of a new key, or of a new item, of an object or a list by indentation."""
        held: Any = [value] if key is None else {key: value}
        return [" " * column + line for line in block_lines(held, column // 2)]


class JsonStyle:
    """JSON, on several lines where the file has it so."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        found = _INDENT.search(text)
        self._step = found[1] if found else None
        self._is_ascii = text.isascii() and "\\u" in text
        compact = self._step is None and '": ' not in text and '":' in text
        self.comma, self._colon = (",", ":") if compact else (", ", ": ")

    def inline(self, value: Any) -> str:
        """A value on one line."""
        return self._dumped(value, None)

    def pair(self, key: str, value: Any) -> str:
        """A key and its value on one line."""
        return f"{self._dumped(key, None)}{self._colon}{self._dumped(value, None)}"

    def value(self, value: Any, indent: str, *, long: bool) -> list[str]:
        """The lines of a value, the second and the following ones indented.

        There are several where the file has such and the value is long, or takes the place of one with several.
        """
        line = self.inline(value)
        if self._step is None or not (isinstance(value, (dict, list)) and value) or not (long or len(line) > _WIDTH):
            return [line]
        first, *others = self._dumped(value, self._step).split("\n")
        return [first, *[indent + other for other in others]]

    def _dumped(self, value: Any, indent: str | None) -> str:
        separators = (self.comma, self._colon) if indent is None else (",", ": ")
        text = json.dumps(value, ensure_ascii=self._is_ascii, indent=indent, separators=separators)
        # Half of a surrogate pair can be escaped, but not encoded.
        return text if _is_encodable(text) else json.dumps(value, indent=indent, separators=separators)


def newline_of(text: str) -> str:
    """What ends the lines of a text."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
