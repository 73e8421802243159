"""Does one call's output satisfy one expected output?"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from rightcall.decoding import decode_text
from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.results import Difference, value_text
from rightcall.trajectory import ToolCall

from ._calls import Projection
from ._differences import value_differences
from ._equality import freeze, is_delicate
from ._expectations import Compiler, Expectation, admit_expected, is_literal


class OutputPattern:
    """An expected output of a tool.

    Text that reads as a JSON object or list, or as a Python one, stands for that value, on both sides; other text
    is text. An expected object with the key `content` also matches an output that is that content. A call that
    raised and left no output satisfies nothing.
    """

    __slots__ = ("_options", "_text", "accepts_all", "index", "index_is_exact", "name", "output")

    def __init__(
        self,
        name: str,
        output: Any,
        *,
        text: bool = False,
        where: str = "output",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.name = name
        self.output = admit_expected(output, limits, where)
        self.accepts_all = self.output == {"$any": True}
        self._text = text
        values = [self.output] if text else _readings(self.output)
        self._options = _options(values, Compiler(limits), where)
        literal = len(values) == 1 and is_literal(values[0])
        self.index: tuple[Projection, Hashable] | None = (
            (_text_key if text else _value_key, (freeze(values[0]),)) if literal else None
        )
        self.index_is_exact = literal and not is_delicate(values[0])

    def accepts(self, call: ToolCall) -> bool | None:
        if "output" in call.unrecorded:
            if self.accepts_all:
                return True
            return None if call.error is None else False
        output = _as_text(call.output) if self._text else _as_value(call.output)
        return any(option.matches(output) for option in self._options)

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        if "output" in call.unrecorded:
            return () if call.error is None else (Difference("$", value_text(self.output), None),)
        if self._text:
            return value_differences(self.output, _as_text(call.output))
        return value_differences(_readings(self.output)[-1], _as_value(call.output))


def _readings(expected: Any) -> list[Any]:
    """What an expected output may stand for: itself as a value and, where it is wrapped, its content."""
    value = _as_value(expected)
    if isinstance(value, dict) and "content" in value:
        return [value, _as_value(value["content"])]
    return [value]


def _options(values: list[Any], compiler: Compiler, where: str) -> list[Expectation]:
    return [compiler.compile(value, where) for value in values]


def _as_value(output: Any) -> Any:
    """An output as a value: text that reads as an object or a list is that, anything else is what it is."""
    if not isinstance(output, str) or not output.lstrip().startswith(("{", "[", "(")):
        return output
    try:
        value = decode_text(output)
    except InputError:
        return output
    return value if isinstance(value, (dict, list)) else output


def _as_text(output: Any) -> str:
    """An output as the text a producer would have written."""
    import json

    return output if isinstance(output, str) else json.dumps(output)


def _value_key(call: ToolCall) -> Hashable | None:
    return None if "output" in call.unrecorded else (freeze(_as_value(call.output)),)


def _text_key(call: ToolCall) -> Hashable | None:
    return None if "output" in call.unrecorded else (_as_text(call.output),)
