"""Does one call's output satisfy one expected output?"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any

from rightcall.decoding import decode_text
from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.results import Difference, value_text
from rightcall.trajectory import ToolCall

from ._calls import NOT_LITERAL, Pattern
from ._differences import value_differences
from ._equality import freeze, is_delicate
from ._expectations import Compiler, Expectation, admit_expected, is_literal


class OutputPattern(Pattern):
    """An expected output of a tool.

    Text that reads as a JSON object or list, or as a Python one, stands for that value, on both sides; other text
    is text. An expected object with the key `content` also matches an output that is that content. A call that
    raised and left no output satisfies nothing.
    """

    __slots__ = ("_accepts_any_output", "_limits", "_options", "_text", "_value", "output")

    part = "output"

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
        self.accepts_all = False
        self._accepts_any_output = self.output == {"$any": True}
        self._text = text
        self._limits = limits
        values = [_as_text(self.output)] if text else _readings(self.output, limits)
        self._value = values[-1]
        self._options = _options(values, Compiler(limits), where)
        literal = len(values) == 1 and is_literal(values[0])
        self.index = (_text_keys if text else _value_keys, (freeze(values[0]),)) if literal else None
        # An output that was not recorded is None, too.
        self.is_confusable = literal and (values[0] is None or is_delicate(values[0]))
        self.literal = values[0] if literal and not text else NOT_LITERAL

    def accepts(self, call: ToolCall) -> bool | None:
        output = call.output
        if output is None:
            if call.error is not None:
                return False
            if "output" in call.unrecorded:
                return True if self._accepts_any_output else None
        if self._text:
            output = _as_text(output)
        elif output.__class__ is str:
            output = _as_value(output, self._limits)
        for option in self._options:  # noqa: SIM110 - a loop costs half of what any() and a generator do
            if option.matches(output):
                return True
        return False

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        if call.output is None and call.error is not None:
            return (Difference("$", value_text(self.output), None),)
        if "output" in call.unrecorded:
            return ()
        output = _as_text(call.output) if self._text else _as_value(call.output, self._limits)
        return value_differences(self._value, output)


def _readings(expected: Any, limits: Limits) -> list[Any]:
    """What an expected output may stand for: itself as a value and, where it is wrapped, its content."""
    value = _as_value(expected, limits)
    if isinstance(value, dict) and "content" in value:
        return [value, _as_value(value["content"], limits)]
    return [value]


def _options(values: list[Any], compiler: Compiler, where: str) -> list[Expectation]:
    return [compiler.compile(value, where) for value in values]


def _as_value(output: Any, limits: Limits = DEFAULT_LIMITS) -> Any:
    """An output as a value: text that reads as an object or a list is that, anything else is what it is."""
    if not isinstance(output, str) or not output.lstrip().startswith(("{", "[", "(")):
        return output
    try:
        value = decode_text(output, limits)
    except InputError:
        return output
    return value if isinstance(value, (dict, list)) else output


def _as_text(output: Any) -> Any:
    """An output as the text a producer would have written; a matcher is left as it is."""
    if isinstance(output, str) or not is_literal(output):
        return output
    return json.dumps(output)


def _value_keys(calls: Sequence[ToolCall]) -> list[Hashable | None]:
    return [None if "output" in call.unrecorded else (freeze(_as_value(call.output)),) for call in calls]


def _text_keys(calls: Sequence[ToolCall]) -> list[Hashable | None]:
    return [None if "output" in call.unrecorded else (_as_text(call.output),) for call in calls]
