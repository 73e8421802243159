"""Trajectories as JSON lines: objects with the names of `TRAJECTORIES`, in which JSON text may be the value itself."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any

import msgspec
import pyarrow as pa

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.reading import bounded
from rightcall.scale.columns import CALL, TRAJECTORIES, json_text
from rightcall.values.decoding import decode_json

from ._fragments import Fragment

_LONGEST = DEFAULT_LIMITS.text_bytes
_CHUNK = 1 << 20
_NAMES = ("id", "trace_id", "case_id")
_KINDS: dict[str, type[Any]] = {"string": str, "int64": int, "bool": bool}
_MOST = 1 << 63
_VALUES = ("args", "output", "input", "metadata")
_PACKED = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_ROWS = pa.schema([field.with_nullable(True) for field in TRAJECTORIES])
"""As `TRAJECTORIES`, but a line that cannot be read is a row without calls."""


class Rows(msgspec.Struct, frozen=True):
    """A batch of rows, and what is wrong with those of them that could not be read, by their number in it."""

    batch: pa.RecordBatch
    problems: Mapping[int, str] = {}


def unpacked(stream: Any, name: str = "", max_size: int | None = None) -> IO[bytes]:
    """The bytes of a stream at its beginning, unpacked if they are gzip or zstd, and then no more than `max_size`."""
    buffered = io.BufferedReader(stream, _CHUNK)
    head = buffered.peek(4)[:4]
    for magic, codec in _PACKED:
        if head.startswith(magic):
            return bounded(io.BufferedReader(pa.CompressedInputStream(buffered, codec), _CHUNK), name, max_size)
    return buffered


def line_batches(stream: Any, fragment: Fragment, most: int) -> Iterator[Rows]:
    """The lines that begin in the range of a fragment, as rows, so many in a batch. Empty ones are none."""
    rows: list[dict[str, Any]] = []
    problems: dict[int, str] = {}
    plain = unpacked(stream, fragment.path, fragment.reading.max_size)
    for begin, line in _lines(plain, fragment.begin, fragment.end):
        row, problem = line_row(line)
        if problem:
            problems[len(rows)] = problem
        row["id"] = row.get("id") or row.get("trace_id") or f"{fragment.path}@{begin}"
        rows.append(row)
        if len(rows) == most:
            yield Rows(pa.RecordBatch.from_pylist(rows, schema=_ROWS), problems)
            rows, problems = [], {}
    if rows:
        yield Rows(pa.RecordBatch.from_pylist(rows, schema=_ROWS), problems)


def rows_of(lines: Iterable[bytes]) -> Rows:
    """Lines as rows, of which those have no id that say none. Empty lines are none."""
    rows: list[dict[str, Any]] = []
    problems: dict[int, str] = {}
    for line in lines:
        if not line.strip():
            continue
        row, problem = line_row(line)
        if problem:
            problems[len(rows)] = problem
        rows.append(row)
    return Rows(pa.RecordBatch.from_pylist(rows, schema=_ROWS), problems)


def line_row(line: bytes) -> tuple[dict[str, Any], str]:
    """A line as a row of `TRAJECTORIES`; and what is wrong with it, if then the row has nothing but its ids."""
    named: dict[str, Any] = {}
    try:
        if len(line) > _LONGEST:
            raise InputError(f"the line exceeds the limit of {_LONGEST:,} bytes")
        document = decode_json(line)
        if not isinstance(document, dict):
            raise InputError(f"the line is {shown(document)}; it should be an object with calls")
        named = _fields(document, _OF_NAMES)
        return {**_fields(document, _OF_ROWS), "calls": _calls(document.get("calls"))}, ""
    except InputError as problem:
        return named, str(problem)


def _calls(calls: Any) -> list[dict[str, Any]] | None:
    if calls is not None and not isinstance(calls, list):
        raise InputError(f"calls is {shown(calls)}; it should be a list")
    return None if calls is None else [_call(call, number) for number, call in enumerate(calls, start=1)]


def _lines(stream: IO[bytes], begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in a range, each with where; of one that is too long, more than the limit allows."""
    if begin:
        # A line belongs to the range in which it begins. One byte earlier, because a line that begins exactly at
        # `begin` would else be taken for the end of the line before.
        stream.seek(begin - 1)
        place = begin - 1 + len(stream.readline())
    else:
        place = 0
    while place < end or not end:
        line = stream.readline(_LONGEST + 1)
        if not line:
            return
        length = len(line)
        # The rest of a line that is too long is passed over in pieces: it may be larger than memory.
        while len(line) > _LONGEST and not line.endswith(b"\n"):
            rest = stream.readline(_CHUNK)
            length += len(rest)
            if not rest or rest.endswith(b"\n"):
                break
        if not line.isspace():
            yield place, line
        place += length


def _call(call: Any, number: int) -> dict[str, Any]:
    if isinstance(call, str):
        return {"name": _text(call)}
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise InputError(f"call {number}: {shown(call)} has no name")
    try:
        return _fields(call, _OF_CALLS)
    except InputError as problem:
        raise InputError(f"call {number}: {problem}") from None


def _fields(document: Mapping[str, Any], known: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """The fields of an object that there are columns for, as these hold them."""
    return {name: known[name](value) for name, value in document.items() if name in known and value is not None}


def _text(text: str) -> str:
    """Text that a column can hold; lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _json(value: Any) -> str:
    return _text(value) if isinstance(value, str) else json_text(value)


def _with_text(call: Any) -> Any:
    """A withheld call whose arguments are text, as the column has them."""
    return {**call, "args": _json(call["args"])} if isinstance(call, Mapping) and call.get("args") is not None else call


def _converter(field: Any) -> Callable[[Any], Any]:
    """What makes of a value of JSON what a column holds, or raises `InputError`."""
    if field.name in _VALUES:
        return _json
    kind = _KINDS.get(str(field.type))

    def converted(value: Any) -> Any:
        # `type() is`, not `isinstance`: a bool is an int in Python, and not in a column.
        if type(value) is kind and (kind is not int or -_MOST <= value < _MOST):
            return _text(value) if kind is str else value
        if field.name in _NAMES and type(value) is int:
            return str(value)
        if field.name in ("turn_inputs", "turn_outputs") and isinstance(value, list):
            return [_json(each) for each in value]
        if field.name == "withheld" and isinstance(value, list):
            value = [_with_text(each) for each in value]
        try:
            return pa.scalar(value, field.type).as_py()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise InputError(f"{field.name} is {shown(value)}; it should be {field.type}") from None

    return converted


_OF_CALLS = {field.name: _converter(field) for field in CALL}
_OF_ROWS = {field.name: _converter(field) for field in TRAJECTORIES if field.name != "calls"}
_OF_NAMES = {name: _OF_ROWS[name] for name in _NAMES}
