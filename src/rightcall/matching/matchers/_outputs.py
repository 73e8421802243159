"""Does one call's output satisfy one expected output?"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import msgspec

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import decode_text
from rightcall.values.results import Difference, value_text
from rightcall.values.trajectory import ToolCall

from ._calls import NOT_LITERAL, Pattern
from ._differences import value_differences
from ._equality import freeze, is_delicate
from ._expectations import Compiler, admit_expected, is_any, is_literal, is_matcher


class OutputPattern(Pattern):
    """An expected output of a tool.

    Text that reads as a JSON object or list, or as a Python one, is read as that value, on both sides; other text
    is text. Matchers of text, such as `$regex`, see the text. An expected object with the key `content` also matches
    an output that is that content. A call that raised and left no output satisfies nothing.
    """

    __slots__ = ("_accepts_any_output", "_options", "_reading", "_value", "output")

    part = "output"

    def __init__(
        self, name: str, output: Any, *, text: bool = False, where: str = "output", limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.name = name
        self.output = admit_expected(output, limits, where)
        self.accepts_all = False
        self._accepts_any_output = is_any(self.output)
        self._reading = OutputReading("text" if text else "as is" if _sees_text(self.output) else "value", limits)
        values = _expected_values(self.output, self._reading)
        self._value = values[-1]
        self._options = [Compiler(limits).compile(value, where) for value in values]
        literal = len(values) == 1 and is_literal(values[0])
        self.index = (self._reading, (freeze(values[0]),)) if literal else None
        # An output that was not recorded is None, too.
        self.is_delicate = literal and (values[0] is None or is_delicate(values[0]))
        self.literal = values[0] if literal and not text else NOT_LITERAL
        self.spends = not all([is_literal(value) for value in values])

    def accepts(self, call: ToolCall) -> bool | None:
        output = call.output
        if output is None:
            if call.error is not None:
                return False
            if "output" in call.unrecorded:
                return True if self._accepts_any_output else None
        return self.accepts_part(output)

    def accepts_part(self, value: Any) -> bool:
        output = self._reading.of(value)
        for option in self._options:  # noqa: SIM110 - a loop costs half of what any() and a generator do
            if option.matches(output):
                return True
        return False

    def differences_from(self, call: ToolCall) -> tuple[Difference, ...]:
        if call.output is None and call.error is not None:
            return (Difference("$", value_text(self.output), None),)
        if "output" in call.unrecorded:
            return ()
        return value_differences(self._value, self._reading.of(call.output))


class OutputReading(msgspec.Struct, frozen=True):
    """How the output of a call is read before it is compared, and the key it has in an index.

    `value`: text that reads as an object or a list is that. `as is`: text stays text. `text`: everything is text, as
    a producer would have written it.
    """

    form: Literal["value", "as is", "text"]
    limits: Limits

    def of(self, output: Any) -> Any:
        """An output as it is compared."""
        if output.__class__ is str:
            return _as_value(output, self.limits) if self.form == "value" else output
        return json.dumps(output) if self.form == "text" else output

    def __call__(self, calls: Sequence[ToolCall]) -> list[Hashable | None]:
        return [self._key(call) for call in calls]

    def _key(self, call: ToolCall) -> Hashable | None:
        if call.output is None and call.error is not None:
            return ()  # a call that failed has no output: as text, `null` would be the output of one that gave None
        return None if "output" in call.unrecorded else (freeze(self.of(call.output)),)


def _expected_values(expected: Any, reading: OutputReading) -> list[Any]:
    """Return the values that an expected output may mean: itself and, where it is wrapped, its content."""
    if reading.form == "text":
        return [expected if isinstance(expected, str) or not is_literal(expected) else json.dumps(expected)]
    value = reading.of(expected)
    if reading.form == "value" and isinstance(value, dict) and "content" in value:
        return [value, reading.of(value["content"])]
    return [value]


def _sees_text(expected: Any) -> bool:
    """Return whether an expected output is a matcher of text, which a value would hide the text from."""
    if not is_matcher(expected):
        return False
    if expected.keys() & _OF_TEXT:
        return True
    inner = [expected[key] for key in expected.keys() & _OF_EXPECTATIONS]
    parts = [part for item in inner for part in (item if isinstance(item, list) else [item])]
    return any(_sees_text(part) for part in parts) or isinstance(expected.get("$literal"), str)


_OF_TEXT = {"$regex", "$startsWith", "$endsWith", "$ignoreCase"}
_OF_EXPECTATIONS = {"$not", "$allOf", "$anyOf", "$in"}


def _as_value(text: str, limits: Limits) -> Any:
    """A text as a value: an object or a list where it reads as one, else the text."""
    if not text.lstrip().startswith(("{", "[", "(")):
        return text
    try:
        value = decode_text(text, limits)
    except InputError:
        return text
    return value if isinstance(value, (dict, list)) else text
