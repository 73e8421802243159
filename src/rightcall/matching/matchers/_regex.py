"""Regular expressions that cannot hang."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rightcall.errors import ExpectationError
from rightcall.limits import DEFAULT_LIMITS, Limits, spend

from ._columns import Column

_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL)
_WIDE = re.compile(r"\.|\[|\\[dDwWsSpP]")
_PLACES = 64
"""Places of a pattern that the engine follows through one character in one step, at its slowest."""
_CHARACTERS = 4096
"""Characters that it reads in one step, at its fastest."""


class Search:
    """A test of whether a text contains a match of a pattern."""

    __slots__ = ("_free", "_holds", "_limits", "_width")

    def __init__(self, holds: Callable[[Any], bool], pattern: str, limits: Limits) -> None:
        self._holds = holds
        self._limits = limits
        self._width = width = _width(pattern)
        self._free = min(_CHARACTERS, _PLACES * regex_cost(pattern) // width if width else _CHARACTERS)

    def test(self, actual: Any) -> bool:
        """Return whether a value is a text with a match in it."""
        if not isinstance(actual, str):
            return False
        if len(actual) > self._free:
            spend(len(actual) * self._width // _PLACES + len(actual) // _CHARACTERS, self._limits)
        return self._holds(_encodable(actual))

    def test_each(self, column: Column) -> list[bool]:
        """Return `test` of each value of a column."""
        texts, longest = column.texts(_encodable)
        # The engine takes texts only, and refuses every other value.
        return list(map(self._holds, texts)) if longest <= self._free else list(map(self.test, column.values))


def _encodable(text: str) -> str:
    # A lone surrogate has no UTF-8 form, which the engine needs.
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def compile_regex(pattern: str, where: str, limits: Limits = DEFAULT_LIMITS) -> Search:
    """A test of whether a text contains a match of `pattern`.

    It runs in time linear in the text, so no pattern can hang it. The price: no backreferences, no lookaround.

    Raises:
        ExpectationError: the pattern is malformed, too long, or asks for what a linear engine cannot do.
    """
    if len(pattern) > limits.pattern_length:
        raise ExpectationError(f"{where}: a pattern of {len(pattern):,} characters; at most {limits.pattern_length:,}")
    # pydantic-core carries Rust's regex crate; pydantic itself is not loaded for it.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except (SchemaError, UnicodeError) as problem:
        reason = str(problem).replace("SchemaError: ", "").strip().splitlines()
        raise ExpectationError(f"{where}: the pattern {pattern!r:.80} is not usable: {reason[-1]}") from None
    return Search(validator.isinstance_python, pattern, limits)


def regex_cost(pattern: str) -> int:
    """The steps that a search in a short text takes."""
    return 1 + _width(pattern) // 8


def _width(pattern: str) -> int:
    """About how many places of a pattern may be looked at for one character: the factor of the linear time.

    Places that only one text reaches are not counted, because the engine then looks at one of them. A set repeated
    5,000 times is 5,000 places, which may all be open at once: 35 µs for a character.
    """
    totals, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            totals.append(0)
        elif text == ")" and len(totals) > 1:
            last = totals.pop()
            totals[-1] += last
        elif token[1] is not None:
            times = max(int(token[2] or token[1]), int(token[1]), 1)
            totals[-1] += max(last, 1) * (times - 1)
            last = max(last, 1) * times
        else:
            last = 1 if _WIDE.match(text) else 0
            totals[-1] += last
    return sum(totals)
