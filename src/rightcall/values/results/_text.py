"""Values and calls as short text for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_WIDTH = 120
_VALUE_WIDTH = 40

json_text = json.JSONEncoder(ensure_ascii=False, default=repr).encode
"""A value as JSON for people; a Python object that decides is shown by its repr."""


def value_text(value: Any, width: int = _WIDTH) -> str:
    """A value as JSON, cut in the middle to `width` characters."""
    if isinstance(value, str) and len(value) > width:
        value = _cut(value, width)
    return _cut(json_text(value), width)


def call_text(
    name: str, args: Mapping[str, Any] | None = None, width: int = _WIDTH, value_width: int = _VALUE_WIDTH
) -> str:
    """A call as a person would write it: `search(query="laptop", limit=5)`. Without arguments, the name alone."""
    if args is None:
        return _cut(name, width)
    written = ", ".join(f"{key}={value_text(value, value_width)}" for key, value in args.items())
    return _cut(f"{name}({written})", width)


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def ordinal_text(number: int) -> str:
    """A place in a list, from 1: `1st`, `2nd`, `11th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def figure_text(value: float) -> str:
    """A figure such as a count, a share or a number of seconds: whole ones with commas, others to six digits."""
    return f"{value:,.0f}" if value == int(value) or value >= 100_000 else f"{value:,.6g}"
