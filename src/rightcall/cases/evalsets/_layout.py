"""Write values as readable YAML or JSON, in the style of the file they are put into."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z_$](?:[\w ./()'$-]*[\w.)'$])?", re.ASCII)
# What YAML 1.1 takes for true and false is quoted, though 1.2 does not: editors may still go by it.
_OTHER_MEANING = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)
_UNPRINTABLE = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def dump_yaml(value: Any) -> str:
    """A JSON value as YAML 1.2."""
    return "\n".join(block_lines(value, 0)) + "\n"


def block_lines(value: Any, level: int) -> Iterator[str]:
    """The lines of a value that stands on its own, `level` deep, without the indentation of what is around it."""
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
    """Whether a value is better told over several lines: cases always, and whatever does not fit on one."""
    if not isinstance(value, (dict, list)) or not value:
        return False
    return _depth(value) > (1 if level < 4 else 2) or len(flow_text(value)) > _WIDTH - 2 * level


def _is_pair(value: Any) -> bool:
    """Whether a value is an object with one key, such as a call: a name and its arguments."""
    return isinstance(value, dict) and len(value) == 1


def _depth(value: Any) -> int:
    """How many objects and lists that are not empty stand inside each other."""
    if not isinstance(value, (dict, list)) or not value:
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value))


def flow_text(value: Any) -> str:
    """A value on one line."""
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
