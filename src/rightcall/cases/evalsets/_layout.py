"""Write values as readable YAML or JSON, in the style of the file they are put into."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WIDTH = 100
# Texts without quotes: fewer than the plain scalars of YAML 1.2 (section 7.3.3), none with `:` or `#` in them.
_PLAIN = re.compile(r"[A-Za-z_$](?:[\w ./()'$-]*[\w.)'$])?", re.ASCII)
# Words that YAML 1.1 reads as booleans are quoted, though 1.2 reads texts: many editors and tools still use 1.1.
_OTHER_MEANING = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)
# All but the printable characters of YAML 1.2 (section 5.1), minus tabs, line separators and the byte order mark.
_UNPRINTABLE = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def dump_yaml(value: Any) -> str:
    """Return a JSON value as YAML 1.2 that reads back as the same value."""
    return "\n".join(block_lines(value, 0)) + "\n"


def block_lines(value: Any, level: int) -> Iterator[str]:
    """Yield the lines of a value at a nesting level, without the indentation of its surroundings."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_text(key)}:", item, level)
    elif isinstance(value, list) and value:
        for item in value:
            first, *others = (
                block_lines(item, level + 1) if is_long(item, level) or _is_pair(item) else [flow_text(item)]
            )
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
    else:
        yield flow_text(value)


def _entry(key: str, item: Any, level: int) -> Iterator[str]:
    if not is_long(item, level):
        yield f"{key} {flow_text(item)}"
        return
    yield key
    yield from (f"  {line}" for line in block_lines(item, level + 1))


def is_long(value: Any, level: int) -> bool:
    """Whether a value takes several lines: the outer levels always do, and so does what does not fit on one line."""
    if not isinstance(value, (dict, list)) or not value:
        return False
    # Levels 0 to 3 are the set, its cases and their keys, where every nested value gets its own lines.
    return _depth(value) > (1 if level < 4 else 2) or len(flow_text(value)) > _WIDTH - 2 * level


def _is_pair(value: Any) -> bool:
    """Whether a value is an object with one key, such as a call: a name and its arguments."""
    return isinstance(value, dict) and len(value) == 1


def _depth(value: Any) -> int:
    """Return how deep objects and lists that are not empty are nested."""
    if not isinstance(value, (dict, list)) or not value:
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value))


def flow_text(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    return json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _OTHER_MEANING.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


_INDENT = re.compile(r"\n([ \t]+)\S")


class YamlStyle:
    """Writes YAML, in block style where a value is long."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        self.comma = ", "

    def inline(self, value: Any) -> str:
        """Return a value on one line."""
        return flow_text(value)

    def pair(self, key: str, value: Any) -> str:
        """Return a key and its value on one line."""
        return f"{flow_text(key)}: {flow_text(value)}"

    def value(self, value: Any, column: int, *, is_item: bool) -> list[str]:
        """Return the lines of a value after a colon or, for an item, after the dash in this column.

        The first line continues after the colon or dash; the others are whole lines.
        """
        level = column // 2 + 1
        if not is_long(value, level) and not (is_item and isinstance(value, dict) and len(value) == 1):
            return [f" {flow_text(value)}"]
        lines = [" " * (column + 2) + line for line in block_lines(value, level)]
        return [lines[0][column + 1 :], *lines[1:]] if is_item else ["", *lines]

    def entry(self, key: str | None, value: Any, column: int) -> list[str]:
        """Return the lines of a new key of an object, or of a new item of a list, in block style."""
        held: Any = [value] if key is None else {key: value}
        return [" " * column + line for line in block_lines(held, column // 2)]


class JsonStyle:
    """Writes JSON with the indentation, separators and escapes of a file."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        found = _INDENT.search(text)
        self._step = found[1] if found else None
        # A file with escapes and no other character was written with `ensure_ascii`, which is the default of json.dump.
        self._is_ascii = text.isascii() and "\\u" in text
        compact = self._step is None and '": ' not in text and '":' in text
        self.comma, self._colon = (",", ":") if compact else (", ", ": ")

    def inline(self, value: Any) -> str:
        """Return a value on one line."""
        return self._dumped(value, None)

    def pair(self, key: str, value: Any) -> str:
        """Return a key and its value on one line."""
        return f"{self._dumped(key, None)}{self._colon}{self._dumped(value, None)}"

    def value(self, value: Any, indent: str, *, long: bool) -> list[str]:
        """Return the lines of a value, all but the first indented.

        There are several if the file is indented and the value is long or replaces one with several lines.
        """
        line = self.inline(value)
        if self._step is None or not (isinstance(value, (dict, list)) and value) or not (long or len(line) > _WIDTH):
            return [line]
        first, *others = self._dumped(value, self._step).split("\n")
        return [first, *[indent + other for other in others]]

    def _dumped(self, value: Any, indent: str | None) -> str:
        separators = (self.comma, self._colon) if indent is None else (",", ": ")
        text = json.dumps(value, ensure_ascii=self._is_ascii, indent=indent, separators=separators)
        # Half of a surrogate pair can be escaped in JSON, but not encoded in UTF-8.
        return text if _is_encodable(text) else json.dumps(value, indent=indent, separators=separators)


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
