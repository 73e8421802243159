"""Sources that are not JSON: logs of Inspect in a zip archive, and tables as CSV."""

from __future__ import annotations

import codecs
import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading.formats import is_table_header, row_items
from rightcall.reading.messages import CONVERSATION_COLUMNS
from rightcall.reading.runs import Warnings
from rightcall.reading.spans import Item
from rightcall.values.decoding import decode_json

_SAMPLES = "samples/"
_MARKS = frozenset({"header.json", "_journal/start.json"})
_NOTHING = msgspec.Raw(b"null")
_ATTACHED = b"attachment://"
# By default, csv refuses cells beyond 128 KiB, and a cell with a model's messages is often longer.
_LONGEST_CELL = 1 << 27
_SEPARATORS = (",", "\t", ";")
"""ClickHouse uses tabs; spreadsheets use semicolons where the comma is the decimal point."""


class _Sample(msgspec.Struct):
    """The members of a sample that are read. They stay undecoded until needed: events repeat messages many times."""

    id: Any
    epoch: Any
    messages: msgspec.Raw
    target: msgspec.Raw = _NOTHING
    scores: msgspec.Raw = _NOTHING
    uuid: Any = None
    events: msgspec.Raw = _NOTHING
    attachments: msgspec.Raw = _NOTHING


_decode = msgspec.json.Decoder(_Sample).decode


def samples_in(stream: IO[bytes], name: str, limits: Limits, warnings: Warnings) -> Iterator[Any]:
    """Yield the samples of an archive, one at a time. A sample that cannot be read is left out, with a warning.

    Raises:
        InputError: the archive is damaged, is not a log of Inspect, or is larger than the limits allow.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            found = [member for member in members if member.filename.startswith(_SAMPLES) and not member.is_dir()]
            if not found and not any([member.filename in _MARKS for member in members]):
                raise InputError(f"{name}: a zip archive that is not a log of Inspect: there is no {_SAMPLES} in it")
            if sum([member.file_size for member in found]) > limits.archive_bytes:
                raise InputError(f"{name}: more than the limit of {limits.archive_bytes:,} bytes, unpacked")
            for member in found:
                yield from _sample(archive, member, name, limits, warnings)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as problem:
        raise InputError(f"{name}: damaged zip data: {problem}") from None


def _sample(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, limits: Limits, warnings: Warnings
) -> Iterator[Any]:
    with archive.open(member) as held:
        data = held.read(limits.text_bytes + 1)
    try:
        if len(data) > limits.text_bytes:
            raise InputError(f"it exceeds the limit of {limits.text_bytes:,} bytes")
        yield _decoded(data, limits)
    except InputError as problem:
        warnings.add("dropped samples", f"{name}: {member.filename[:80]!r} was left out: {problem}")


def _decoded(data: bytes, limits: Limits) -> Any:
    try:
        sample = _decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return decode_json(data, limits)
    messages = decode_json(bytes(sample.messages), limits)
    found = {"id": sample.id, "epoch": sample.epoch, "target": None, "messages": messages, "uuid": sample.uuid}
    found["scores"] = decode_json(bytes(sample.scores), limits)
    if not messages:
        found["events"] = decode_json(bytes(sample.events), limits)
    if _ATTACHED in bytes(sample.messages) or not messages:
        found["attachments"] = decode_json(bytes(sample.attachments), limits)
    return found


def is_table(head: bytes) -> bool:
    """Whether a file begins with the names of the columns of a table of spans or conversations."""
    return _separator(head) != ""


def csv_items(data: bytes, input_format: str | None) -> Iterator[Item]:
    """Yield the spans, or the rows, of a table. Raises `InputError` if it cannot be split into cells."""
    usual = csv.field_size_limit(_LONGEST_CELL)  # a setting of the whole process, so it is restored below
    try:
        text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
        rows = list(csv.DictReader(text, delimiter=_separator(data) or ","))
    except csv.Error as problem:
        raise InputError(f"not a table of spans: {problem}") from None
    finally:
        csv.field_size_limit(usual)
    for row in rows:
        yield from row_items({key: value for key, value in row.items() if isinstance(key, str)}, input_format)


def _separator(head: bytes) -> str:
    """Return the separator of a table's cells, if the first line has known columns; otherwise an empty text."""
    if head.lstrip()[:1] in (b"{", b"["):
        return ""
    line = head.removeprefix(codecs.BOM_UTF8).split(b"\n", 1)[0].decode("utf-8", "replace")
    for separator in _SEPARATORS:
        try:
            names = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            continue
        if "context.span_id" in names or is_table_header(names) or not CONVERSATION_COLUMNS.isdisjoint(names):
            return separator
    return ""
