"""One call of a decorated function: the stub that may answer it, and the span that records it.

Arguments and outputs are recorded as span attributes: as JSON if possible, else as a short string.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Set
from functools import cache
from typing import Any

from rightcall.limits import DEFAULT_LIMITS

from ._capture import ToolAnswer, dispatching, is_traced, tool_observer, tool_stub
from ._tool_marks import Binding, Marks

Recorded = str | bool | int | float

_LONGEST_REPR = 1_000
_WORD = 2**63
"""Integers of OTLP are 64 bit and signed (`int64_value` of AnyValue); larger ones are written as JSON."""
_PLACEHOLDERS = frozenset(
    {
        "<not specified>",
        "<not serializable>",
        "N/A",
        "<elided>",
        "__REDACTED__",
        "<truncated due to size exceeding limit>",
        "[This value has been dropped because this span's size exceeds the 1MB size limit.]",
        "[This value has been dropped because this span's size exceeds the 5MB size limit.]",
    }
)
"""Strings that ADK and other instrumentations record instead of a value, which readers treat as "not recorded"."""


class Call:
    """A call that is captured, mocked or observed."""

    __slots__ = ("_arguments", "_entered", "_is_mine", "_marks", "_misfit", "_observer", "_span")

    def __init__(self, marks: Marks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._marks = marks
        self._misfit: TypeError | None = None
        try:
            named = marks.binding.named(args, kwargs)
        except TypeError as problem:
            # Not raised here: the function raises it itself, with Python's own message.
            self._misfit, named = problem, dict(kwargs)
        self._arguments = arguments_text(named)
        # If a framework dispatches this tool, it has already asked the stub, and reports the result itself.
        self._is_mine = marks.may_be_mocked and marks.tool not in dispatching.get()
        self._observer = tool_observer.get() if self._is_mine else None
        self._span: Any = None
        self._entered: Any = None
        if marks.opens_span and is_traced():
            self._open()

    def answer(self) -> ToolAnswer | None:
        """Return the stub's answer; None if the function has to run.

        Raises:
            TypeError: the function does not accept these arguments, so a stub must not answer either.
        """
        asked = tool_stub.get() if self._is_mine else None
        if asked is None:
            return None
        if self._misfit is not None:
            raise self._misfit
        answer = asked(self._marks.tool, self._plain_arguments())
        if answer is not None:
            self._observer = None
        return answer

    def enter(self) -> None:
        """Make the span the current one, so that new spans are its children."""
        if self._span is not None:
            self._entered = _spans().enter(self._span)

    def leave(self) -> None:
        """Make the previous span current again."""
        if self._entered is not None:
            _spans().leave(self._entered)
            self._entered = None

    def returned(self, value: Any) -> None:
        """End the call with this output."""
        if self._observer is not None:
            self._observer(self._marks.tool, self._plain_arguments(), ToolAnswer(value))
        if self._span is not None:
            self._record("output.value", output_attribute(value))
            self._span.end()

    def returned_many(self, values: list[Any], is_cut: bool) -> None:
        """End the call of a generator that yielded these values; with too many of them, no output is recorded."""
        if not is_cut or self._observer is not None:
            self.returned(values)
        elif self._span is not None:
            self._leave_out("output.value", f"more than {DEFAULT_LIMITS.recorded_items:,} values were yielded")
            self._span.end()

    def raised(self, error: BaseException) -> None:
        """End the call with this exception. A cancelled call has no outcome to report to an observer."""
        if self._observer is not None and self._misfit is None and isinstance(error, Exception):
            self._observer(self._marks.tool, self._plain_arguments(), ToolAnswer(error=error))
        if self._span is not None:
            _spans().record_error(self._span, error)
            self._span.end()

    def keeps(self, count: int) -> bool:
        """Whether to keep one more value that a generator yields, after `count` of them."""
        return count < DEFAULT_LIMITS.recorded_items or self._observer is not None

    def _plain_arguments(self) -> dict[str, Any]:
        return decoded_arguments(self._arguments)

    def _open(self) -> None:
        attributes: dict[str, Recorded] = {}
        if self._marks.is_tool:
            attributes["tool.name"] = self._marks.tool
        is_large = _is_too_large(self._arguments)
        if not is_large:
            attributes["input.value"] = self._arguments
        self._span = _spans().open_span(self._marks.span, attributes)
        if is_large and self._span is not None:
            self._leave_out("input.value", f"{len(self._arguments):,} characters")

    def _record(self, key: str, recorded: Recorded) -> None:
        if _is_too_large(recorded):
            self._leave_out(key, f"{len(str(recorded)):,} characters")
        else:
            self._span.set_attribute(key, recorded)

    def _leave_out(self, key: str, why: str) -> None:
        # A truncated value would be compared with the expected one, and differ: a wrong verdict. A value that is
        # marked as left out makes the comparison `not_measured` instead.
        self._span.set_attribute(f"rightcall.left_out.{key}", why)


def _is_too_large(recorded: Recorded) -> bool:
    return isinstance(recorded, str) and len(recorded) > DEFAULT_LIMITS.recorded_bytes


@cache
def _spans() -> Any:
    # Imported with the first span: OpenTelemetry may not be installed, and mocks work without it.
    from . import _tool_spans as spans

    return spans


def arguments_text(named: Mapping[str, Any]) -> str:
    """Return arguments as a JSON object. Values that are not JSON become plain data if possible, else their `repr`."""
    try:
        return _encode(named)
    except (TypeError, ValueError, RecursionError):
        return json.dumps({key: _as_json(value) for key, value in named.items()})


def decoded_arguments(text: str) -> dict[str, Any]:
    """Return the plain values of arguments that `arguments_text` wrote."""
    from rightcall.values.decoding import decode_json

    decoded: dict[str, Any] = decode_json(text)
    return decoded


def as_arguments(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return named arguments as the plain JSON values that stubs and observers get."""
    return decoded_arguments(arguments_text(named))


def plain_value(value: Any) -> Any:
    """Return a value as plain JSON: the data of a known kind of object, else its `repr`."""
    return _as_json(value)


def plain_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, as the plain JSON values that stubs and observers get.

    Raises:
        TypeError: the function cannot be called with them.
    """
    return decoded_arguments(arguments_text(Binding(function).named(args, kwargs)))


def output_attribute(value: Any) -> Recorded:
    """Return an output as a span attribute from which readers get the same value back.

    Text, numbers and booleans are kept; lists and objects become JSON. Readers unwrap an object whose only key is
    `content`, which UiPath's tools write. So values that would be misread are wrapped in such an object: null, an
    object with `content` and other keys, and strings that a framework writes for "no value".
    """
    if value.__class__ is str:
        return value if _is_plain_text(value) else f'{{"content": {json.dumps(value)}}}'
    if value.__class__ is bool or (value.__class__ is int and -_WORD <= value < _WORD):
        return value
    if value.__class__ is float and math.isfinite(value):
        return value
    text = _text(value)
    return text if text[0] in "{[" and not _is_misread(text) else f'{{"content": {text}}}'


def short_text(value: object) -> str:
    """Return the `repr` of anything, truncated, even if `__repr__` fails."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr that fails must not make a tool fail
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_REPR else f"{text[: _LONGEST_REPR - 1]}…"


def _text(value: Any) -> str:
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(short_text(value))


def _as_json(value: Any) -> Any:
    try:
        return json.loads(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return short_text(value)


def _as_data(value: Any) -> Any:
    """Return plain data for an object that is not JSON, else its `repr`."""
    try:
        found = _content_of(value)
    except Exception:  # noqa: BLE001 - foreign code must not make a tool fail because it is recorded
        found = None
    return short_text(value) if found is None else found


def _content_of(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value, key=repr)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in kind.__dataclass_fields__}
    if hasattr(kind, "__struct_fields__"):
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    if hasattr(kind, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(kind, "__members__"):
        return value.value
    if hasattr(kind, "isoformat"):
        return value.isoformat()
    return str(value) if kind.__module__.partition(".")[0] in ("uuid", "decimal", "pathlib", "fractions") else None


def _is_plain_text(text: str) -> bool:
    if text in _PLACEHOLDERS:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which no exporter can write
        return False
    return True


def _is_misread(text: str) -> bool:
    """Whether readers would take an object for its `content`: it has that key and others."""
    if '"content"' not in text:
        return False
    value = json.loads(text)
    return isinstance(value, dict) and "content" in value and len(value) > 1


_encode = json.JSONEncoder(default=_as_data).encode
