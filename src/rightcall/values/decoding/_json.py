"""JSON text in and out, without losing or inventing a value; and Python values reduced to plain JSON types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, kind_of, shown
from rightcall.limits import DEFAULT_LIMITS, Limits

ValueT = TypeVar("ValueT")

_SCALARS = frozenset({str, float, bool, type(None)})


def admit(
    value: Any, limits: Limits = DEFAULT_LIMITS, *, where: str = "$", foreign: bool = False, opened: bool = False
) -> Any:
    """Return a copy of `value` made of plain JSON types only: dict, list, str, int, float, bool, None.

    Tuples become lists, subclasses their plain type. With `foreign`, objects that are not JSON are kept as they are,
    for expectations that compare by `__eq__`; a cycle or a depth beyond the limit is refused either way. With `opened`,
    pydantic models, dataclasses and structs, as SDKs return them, become objects of their fields.

    Raises:
        InputError: naming the path of what is not a JSON value, too deep, or too much.
    """
    if value.__class__ is dict and _is_flat(value, limits):
        return value.copy()
    return _Admission(limits, where, foreign, opened).plain(value)


def _is_flat(value: dict[Any, Any], limits: Limits) -> bool:
    """Return whether an object contains only plain scalars, as most arguments do, so that a copy of it is enough.

    Admitting such an object value by value takes four times as long.
    """
    for key, item in value.items():
        kind = item.__class__
        if key.__class__ is not str or (
            kind not in _SCALARS and (kind is not int or item.bit_length() > limits.integer_bits)
        ):
            return False
    return len(value) < limits.nodes and limits.depth > 0


def check_shape(value: Any, most_nodes: int, limits: Limits) -> None:
    """Refuse a decoded value that is deeper or has more values than the limits allow.

    `most_nodes` is an upper bound for the number of values: if it is small, the value is not walked.

    Raises:
        InputError: too deep, or too much.
    """
    if most_nodes <= limits.depth:
        return
    # Level by level and not recursively: a value can be deeper than Python's recursion limit.
    level, depth, seen = [value], 0, 0
    while level:
        seen += len(level)
        level = [outer for outer in level if outer.__class__ in (dict, list)]
        depth += bool(level)
        if depth > limits.depth or seen > limits.nodes:
            raise InputError(_too_deep(limits) if depth > limits.depth else _too_much(limits))
        level = [item for outer in level for item in (outer.values() if outer.__class__ is dict else outer)]


class _Admission:
    """A walk over one value, with the current path and the number of values seen."""

    def __init__(self, limits: Limits, root: str, foreign: bool, opened: bool) -> None:
        self._limits = limits
        self._foreign = foreign
        self._opened = opened
        self._path: list[str | int] = []
        self._root = root
        self._seen = 0

    def plain(self, value: Any) -> Any:
        self._seen += 1
        if self._seen > self._limits.nodes:
            raise InputError(f"{_too_much(self._limits)}, at {self._where()}")
        # One lookup is enough for nearly all values; the checks below are for containers and subclasses.
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is dict or isinstance(value, Mapping):
            return self._plain_object(value)
        if isinstance(value, (list, tuple)):
            return self._plain_list(value)
        return self._plain_scalar(value)

    def _plain_object(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        plain = {}
        self._enter()
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"the key {shown(key)} at {self._where()} is not text, as keys of JSON objects are")
            self._path[-1] = key
            plain[str.__str__(key)] = self.plain(item)
        self._path.pop()
        return plain

    def _plain_list(self, value: Sequence[Any]) -> list[Any]:
        plain = []
        self._enter()
        for index, item in enumerate(value):
            self._path[-1] = index
            plain.append(self.plain(item))
        self._path.pop()
        return plain

    def _plain_scalar(self, value: Any) -> Any:
        if isinstance(value, int):
            if value.bit_length() > self._limits.integer_bits:
                raise InputError(f"an integer of {value.bit_length():,} bits at {self._where()} is too large")
            return int(value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, float):
            return float(value)
        fields = _fields(value) if self._opened else None
        if fields is not None:
            return self._plain_object(fields)
        if self._foreign:
            return value
        raise InputError(f"{kind_of(value)} at {self._where()} is not a JSON value")

    def _enter(self) -> None:
        if len(self._path) >= self._limits.depth:
            raise InputError(f"{_too_deep(self._limits)} (or without end), at {self._where()}")
        self._path.append("")

    def _where(self) -> str:
        steps = [f"[{step}]" if isinstance(step, int) else f".{step[:40]}" for step in self._path[:10]]
        return self._root + "".join(steps) + ("…" if len(self._path) > len(steps) else "")


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the declared fields of a model, dataclass or struct; `None` for any other object."""
    kind = type(value)
    if hasattr(kind, "model_dump"):
        dumped = _dumped(value)
        return dumped if isinstance(dumped, dict) else None
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__struct_fields__", None)
    return {name: getattr(value, name, None) for name in names} if names else None


def _dumped(model: Any) -> Any:
    try:
        return model.model_dump(mode="json", warnings=False)
    except ValueError:  # part of it is not JSON: the caller keeps that part, or refuses it with its path
        return model.model_dump(warnings=False)


def _too_deep(limits: Limits) -> str:
    return f"nested deeper than the limit of {limits.depth} levels"


def _too_much(limits: Limits) -> str:
    return f"more than the limit of {limits.nodes:,} values"


_BEGINNING = lazy_pattern(r"[^\s,]")
# RFC 8259, section 6: JSON has no NaN and no infinities.
_FLOAT = "$float"
_LITERAL = "$literal"
# Bound at import: an agent in this process may later replace `json.dumps`.
_ENCODE = json.JSONEncoder(allow_nan=False).encode
_WRITE = msgspec.json.Encoder().encode
_PACK = msgspec.msgpack.Encoder().encode
# MessagePack, "float format family": 0xcb, then 64 bits of IEEE 754; an exponent of all ones is NaN or an infinity.
# A match inside a string only costs the slow path.
_NO_NUMBER = lazy_pattern(rb"\xcb[\x7f\xff][\xf0-\xff]")
_MARKS: tuple[Any, ...] = (f'"{_FLOAT}"', f'"{_LITERAL}"')
_MARKS_IN_BYTES: tuple[Any, ...] = tuple([mark.encode() for mark in _MARKS])
# Python warns about unknown escapes and keeps their backslash. Doubling it means the same, without the warning.
_UNKNOWN_ESCAPE = lazy_pattern(r"""\\(\\|(?![\n\\'"abfnrtvxuUN0-7]))""")


def decode_json(text: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode a JSON string.

    `NaN`, `Infinity` and lone surrogates are accepted, too, because producers write them. Integers keep all digits. If
    a key occurs twice in one object, the last value counts, as in every common decoder.

    Raises:
        InputError: the text is not JSON, or larger or deeper than the limits allow.
    """
    if len(text) > limits.text_bytes:
        raise InputError(f"a string of {len(text):,} bytes exceeds the limit of {limits.text_bytes:,}")
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = _decode_tolerantly(text)
    if len(text) > limits.depth:  # a shorter string cannot be too deep
        opened = _most_levels(text)
        if opened > limits.depth or len(text) > limits.nodes:
            check_shape(value, _most_nodes(text), limits)
    return value


def decode_json_sequence(text: str, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[int, Any]]:
    """Yield the values of concatenated JSON strings, each with its offset.

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
            raise InputError(not_json(problem)) from None
        check_shape(value, limits.nodes, limits)
        yield begin, value


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """Return valid JSON for a plain value; `load_json` turns it back into the same value.

    JSON has no NaN and no infinity: they are written as `{"$float": "nan"}`. An object that looks like such a mark is
    wrapped in `{"$literal": …}`. Lone surrogates are written as escapes.
    """
    # Hardly any value needs marks, and looking for them takes ten times as long as encoding.
    try:
        text = _ENCODE(value)
        if any([mark in text for mark in _MARKS]):
            text = _ENCODE(_mark_floats(value))
    except ValueError:
        text = _ENCODE(_mark_floats(value))
    if indent is None:
        return text
    try:
        # `json` falls back to pure Python for indentation, which takes ten times as long.
        return msgspec.json.format(text, indent=indent)
    except msgspec.DecodeError:  # msgspec refuses half of a surrogate pair, which JSON may have (RFC 8259, section 8.2)
        return json.dumps(json.loads(text), indent=indent)


def dump_line(value: Any) -> bytes:
    """Encode a value as `dump_json` does, but on one line, as UTF-8 without spaces, in a third of the time."""
    try:
        text, packed = _WRITE(value), _PACK(value)
    except (OverflowError, RecursionError, TypeError, UnicodeEncodeError):
        return dump_json(value).encode()
    # msgspec's JSON encoder writes null for NaN and infinities. MessagePack keeps them, so look for them there.
    is_lossy = _NO_NUMBER.search(packed) is not None or any([mark in text for mark in _MARKS_IN_BYTES])
    return dump_json(value).encode() if is_lossy else text


def load_json(text: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode what `dump_json` or `dump_line` wrote.

    Raises:
        InputError: the text is not JSON.
    """
    value = decode_json(text, limits)
    marks = _MARKS if isinstance(text, str) else _MARKS_IN_BYTES
    # A mark with escapes in it is not ours: `dump_json` writes marks without them.
    return _unmark_floats(value) if any([mark in text for mark in marks]) else value


def load_as(decoder: msgspec.json.Decoder[ValueT], text: bytes, limits: Limits = DEFAULT_LIMITS) -> ValueT:
    """Decode what `dump_json` or `dump_line` wrote, to the type of a decoder.

    Raises:
        InputError: the text is not JSON, or not of that type.
    """
    is_modest = len(text) <= limits.nodes and _most_levels(text) <= limits.depth
    if is_modest and not any([mark in text for mark in _MARKS_IN_BYTES]):
        try:
            return decoder.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # `load_json` accepts more, and has the better error message
    try:
        value: ValueT = msgspec.convert(load_json(text, limits), decoder.type)
    except msgspec.ValidationError as problem:
        raise InputError(str(problem)) from None
    return value


def decode_text(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Decode a string as JSON, else as a Python literal such as `{'city': 'Paris'}`.

    Tuples become lists. Nothing is executed.

    Raises:
        InputError: the text is neither, or exceeds the limits.
    """
    try:
        return decode_json(text, limits)
    except InputError as problem:
        return _decode_literal(text, limits, problem)


def not_json(problem: ValueError) -> str:
    """Return what is wrong with a text that is not JSON."""
    if isinstance(problem, json.JSONDecodeError):
        return f"not JSON (line {problem.lineno}, column {problem.colno}: {problem.msg[:1].lower()}{problem.msg[1:]})"
    return f"not JSON: {problem}"


def _decode_tolerantly(text: str | bytes) -> Any:
    # The standard decoder is slower, but takes NaN, infinities and lone surrogates.
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("JSON nested too deeply to be read") from None
    except ValueError as problem:
        raise InputError(not_json(problem)) from None


def _most_nodes(text: str | bytes) -> int:
    """Return a cheap upper bound for the number of values: each but the first follows a bracket or a comma."""
    commas = text.count(b",") if isinstance(text, bytes) else text.count(",")
    return 1 + _most_levels(text) + commas


def _most_levels(text: str | bytes) -> int:
    """Return an upper bound for the depth: each level begins with a bracket."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{")
    return text.count("[") + text.count("{")


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
        return {inner: _unmark_floats(part) for inner, part in item.items()}
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
