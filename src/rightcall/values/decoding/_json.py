"""JSON text in and out, without losing or inventing a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._values import admit, check_shape

_BEGINNING = re.compile(r"[^\s,]")
_FLOAT = "$float"
_LITERAL = "$literal"
# Made once, and held here: an agent that puts something else in the place of `json.dumps` must not be asked.
_ENCODE = json.JSONEncoder(allow_nan=False).encode
_MARKS: tuple[Any, ...] = (f'"{_FLOAT}"', f'"{_LITERAL}"')
_MARKS_IN_BYTES: tuple[Any, ...] = tuple([mark.encode() for mark in _MARKS])
# Python warns of escapes it does not know and keeps their backslash; doubling it says the same without a warning.
_UNKNOWN_ESCAPE = re.compile(r"""\\(\\|(?![\n\\'"abfnrtvxuUN0-7]))""")


def decode_json(text: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode a JSON text.

    Also read, because producers write them: `NaN`, `Infinity` and lone surrogates. Integers keep all their
    digits. Of a key that occurs twice in one object the last value counts, as in every common decoder.

    Raises:
        InputError: the text is not JSON, or larger or deeper than the limits allow.
    """
    if len(text) > limits.text_bytes:
        raise InputError(f"a text of {len(text):,} bytes exceeds the limit of {limits.text_bytes:,}")
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = _decode_tolerantly(text)
    if len(text) > limits.depth:  # a shorter one has no room to be too deep
        check_shape(value, _most_nodes(text), limits)
    return value


def decode_json_sequence(text: str, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON texts written one after the other, each with its position.

    Raises:
        InputError: what follows the values so far is not JSON, or exceeds the limits.
    """
    decoder, start = json.JSONDecoder(), 0
    while (found := _BEGINNING.search(text, start)) is not None:
        begin = found.start()
        try:
            value, start = decoder.raw_decode(text, begin)
        except RecursionError:
            raise InputError(f"JSON nested too deeply to be read, at character {begin:,}") from None
        except ValueError as problem:
            raise InputError(f"not JSON: {problem}") from None
        check_shape(value, limits.nodes, limits)
        yield begin, value


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """Return valid JSON for a plain value; `load_json` turns it back into the same value.

    JSON has no NaN and no infinity: they are written as `{"$float": "nan"}`. An object that looks like such
    a mark is written inside `{"$literal": …}`. Lone surrogates are written as escapes.
    """
    # Hardly any value needs marks, and walking it takes ten times as long as writing it.
    encode = _ENCODE if indent is None else json.JSONEncoder(allow_nan=False, indent=indent).encode
    try:
        text = encode(value)
    except ValueError:
        return encode(_mark_floats(value))
    return encode(_mark_floats(value)) if any([mark in text for mark in _MARKS]) else text


def load_json(text: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode what `dump_json` wrote.

    Raises:
        InputError: the text is not JSON.
    """
    value = decode_json(text, limits)
    marks = _MARKS if isinstance(text, str) else _MARKS_IN_BYTES
    # A mark with escapes in it is not ours: `dump_json` writes marks without them.
    return _unmark_floats(value) if any([mark in text for mark in marks]) else value


def decode_text(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode a text as JSON, else as a Python literal such as `{'city': 'Paris'}`.

    Tuples become lists. Nothing is executed.

    Raises:
        InputError: the text is neither, or exceeds the limits.
    """
    try:
        return decode_json(text, limits)
    except InputError as problem:
        return _decode_literal(text, limits, problem)


def _decode_tolerantly(text: str | bytes) -> Any:
    # The standard decoder is slower, but takes NaN, infinities and lone surrogates.
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("JSON nested too deeply to be read") from None
    except ValueError as problem:
        raise InputError(f"not JSON: {problem}") from None


def _most_nodes(text: str | bytes) -> int:
    """Return an upper bound of the values in a text, cheaply: each but the first follows a bracket or a comma."""
    if isinstance(text, bytes):
        return 1 + text.count(b"[") + text.count(b"{") + text.count(b",")
    return 1 + text.count("[") + text.count("{") + text.count(",")


def _mark_floats(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if isinstance(value, dict):
        marked = {key: _mark_floats(item) for key, item in value.items()}
        return {_LITERAL: marked} if _looks_marked(value) else marked
    if isinstance(value, (list, tuple)):
        return [_mark_floats(item) for item in value]
    return value


def _unmark_floats(value: Any) -> Any:
    if isinstance(value, dict):
        if _looks_marked(value):
            return _unmark(value)
        return {key: _unmark_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmark_floats(item) for item in value]
    return value


def _looks_marked(value: dict[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)) in (_FLOAT, _LITERAL)


def _unmark(value: dict[str, Any]) -> Any:
    [(key, item)] = value.items()
    if key == _FLOAT and item in ("nan", "inf", "-inf"):
        return float(item)
    if key == _LITERAL and isinstance(item, dict):
        return {inner: _unmark_floats(held) for inner, held in item.items()}
    raise InputError(f"{key} has the value {shown(item)}, which Rightcall never writes")


def _decode_literal(text: str, limits: Limits, problem: InputError) -> Any:
    if len(text) > limits.literal_bytes:
        raise problem
    from ast import literal_eval

    try:
        value = literal_eval(_UNKNOWN_ESCAPE.sub(r"\\\\", text.strip()))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise InputError("neither JSON nor a Python literal") from None
    return admit(value, limits)
