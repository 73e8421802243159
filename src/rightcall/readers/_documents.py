"""Items of a source: spans, log records and messages, one document at a time."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from typing import IO, Any

from rightcall.decoding import decode_json, decode_json_sequence
from rightcall.errors import InputError, MissingExtraError
from rightcall.limits import Limits

from ._containers import items_of
from ._otlp import decode_request
from ._protobuf import looks_like_framed_protobuf, looks_like_protobuf, protobuf_items
from ._span import Item
from ._warnings import Warnings

LOOKED_FOR = (
    "looked for OTLP (JSON, protobuf), OpenTelemetry SDK spans, Zipkin, Jaeger, Tempo, Phoenix, MLflow, "
    "OpenAI Agents, and logs of messages"
)
"""What a source can be, for the message of one that is none of it."""

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OTLP_MARK = b'"resourceSpans"'
_HEAD = 256


def items_in(
    stream: IO[bytes], name: str, limits: Limits, warnings: Warnings, input_format: str | None
) -> Iterator[Item]:
    """The items of a stream of bytes, whose format is told from the bytes themselves.

    Raises:
        InputError: the bytes are in no format known, or exceed the limits.
        MissingExtraError: the format needs a package that is not installed.
    """
    head = _peek(stream)
    if head.startswith(b"PAR1"):
        return _parquet_items(_whole(stream, name, limits), name)
    if looks_like_protobuf(head) or looks_like_framed_protobuf(head):
        return protobuf_items(_whole(stream, name, limits), name)
    if head.startswith(_UTF16):
        text = _whole(stream, name, limits).decode("utf-16", "replace")
        stream = io.BytesIO(text.encode("utf-8", "replace"))
    if b"context.span_id" in head.split(b"\n")[0] and not head.lstrip().startswith((b"{", b"[")):
        return _csv_items(_whole(stream, name, limits))
    return _json_items(stream, name, limits, warnings, input_format)


def _json_items(
    stream: IO[bytes], name: str, limits: Limits, warnings: Warnings, input_format: str | None
) -> Iterator[Item]:
    first = _line(stream, name, 1, limits).removeprefix(codecs.BOM_UTF8)
    number = 1
    while first and not first.strip():
        number += 1
        first = _line(stream, name, number, limits)
    if not first:
        raise InputError(f"{name}: the file is empty; a trace or a log of messages was looked for")
    try:
        begun = list(_line_items(first, limits, input_format))
    except InputError as problem:
        yield from _sequence_items(first, stream, name, limits, warnings, input_format, problem)
        return
    yield from begun
    yield from _lines_items(stream, name, number + 1, limits, warnings, input_format)


def _lines_items(
    stream: IO[bytes], name: str, number: int, limits: Limits, warnings: Warnings, input_format: str | None
) -> Iterator[Item]:
    while line := _line(stream, name, number, limits):
        if line.strip():
            try:
                yield from _line_items(line, limits, input_format)
            except InputError as problem:
                warnings.add("dropped lines", f"{name}: line {number} was left out: {problem}")
        number += 1


def _line_items(line: bytes, limits: Limits, input_format: str | None) -> Iterator[Item]:
    # What is skipped while decoding is not checked for being UTF-8; all of it has to be.
    if _OTLP_MARK in line[:_HEAD] and input_format in (None, "otlp") and (line.isascii() or _is_utf8(line)):
        spans = decode_request(line)
        if spans is not None:
            return iter(spans)
    return items_of(decode_json(line, limits), input_format)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sequence_items(
    first: bytes,
    stream: IO[bytes],
    name: str,
    limits: Limits,
    warnings: Warnings,
    input_format: str | None,
    problem: InputError,
) -> Iterator[Item]:
    """A document over several lines, several such documents, or lines of which the first is broken."""
    rest = _whole(stream, name, limits, already=len(first))
    whole = first + rest
    try:
        yield from _line_items(whole, limits, input_format)
        return
    except InputError as problem_of_all:
        problem = problem_of_all
    count = 0
    try:
        for _, document in decode_json_sequence(whole.decode("utf-8", "replace"), limits):
            count += 1
            yield from items_of(document, input_format)
    except InputError as problem_of_next:
        problem = problem if not count else problem_of_next
        if count:
            warnings.add("dropped text", f"{name}: what follows document {count} was left out: {problem}")
            return
        yield from _lines_after_broken(rest, name, limits, warnings, input_format, problem)


def _lines_after_broken(
    rest: bytes, name: str, limits: Limits, warnings: Warnings, input_format: str | None, problem: InputError
) -> Iterator[Item]:
    lines = rest.split(b"\n")
    if not any(_is_document(line, limits) for line in lines[:3]):
        raise InputError(f"{name}: {problem}; {LOOKED_FOR}")
    warnings.add("dropped lines", f"{name}: line 1 was left out: {problem}")
    yield from _lines_items(io.BytesIO(rest), name, 2, limits, warnings, input_format)


def _is_document(line: bytes, limits: Limits) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        return bool(decode_json(line, limits))
    except InputError:
        return False


def _csv_items(data: bytes) -> Iterator[Item]:
    csv.field_size_limit(1 << 27)
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    for row in rows:
        yield from items_of({key: value for key, value in row.items() if isinstance(key, str)}, "dataframe")


def _parquet_items(data: bytes, name: str) -> Iterator[Item]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(f"{name} is a parquet file; to read it: pip install 'rightcall[parquet]'") from None
    try:
        rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    except (pyarrow.ArrowException, OSError) as problem:
        raise InputError(f"{name}: damaged parquet data: {problem}") from None
    for row in rows:
        yield from items_of(row, "dataframe")


def _peek(stream: Any) -> bytes:
    head: bytes = stream.peek(_HEAD * 4) if hasattr(stream, "peek") else stream.getvalue()
    return head[: _HEAD * 16]


def _line(stream: IO[bytes], name: str, number: int, limits: Limits) -> bytes:
    line = stream.readline(limits.text_bytes + 1)
    if len(line) > limits.text_bytes:
        raise InputError(f"{name}: line {number} exceeds the limit of {limits.text_bytes:,} bytes")
    return line


def _whole(stream: IO[bytes], name: str, limits: Limits, already: int = 0) -> bytes:
    data = stream.read(limits.text_bytes + 1 - already)
    if len(data) + already > limits.text_bytes:
        raise InputError(f"{name}: a document of more than the limit of {limits.text_bytes:,} bytes")
    return data
