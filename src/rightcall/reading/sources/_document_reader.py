"""Open a source and decode its bytes into spans, log records and messages, document by document or line by line."""

from __future__ import annotations

import codecs
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from rightcall.errors import DocumentError, InputError, UnknownFormatError, missing_package
from rightcall.limits import Limits
from rightcall.reading import formats, messages
from rightcall.reading.formats import (
    OtlpRequest,
    decode_request,
    looks_like_protobuf,
    protobuf_items,
    split_request,
)
from rightcall.reading.runs import Warnings
from rightcall.reading.spans import UNREADABLE, Item, OtherDocument, Span
from rightcall.values.decoding import decode_json, decode_json_sequence, decode_yaml, dump_json

if TYPE_CHECKING:
    import zipfile

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
# One MiB: about a thousand system calls per GB.
_CHUNK = 1 << 20
# 32 MiB, two blocks of a large file: below that, there is nothing to gain from the second pass over it.
_LARGE = 1 << 25
_SERVERS = ("http://", "https://")
_SAMPLES = "samples/"
_MARKS = frozenset({"header.json", "_journal/start.json"})
_NOTHING = msgspec.Raw(b"null")
_ATTACHED = b"attachment://"
# By default, csv refuses cells beyond 128 KiB, and a cell with a model's messages is often longer.
_LONGEST_CELL = 1 << 27
_SEPARATORS = (",", "\t", ";")
"""ClickHouse uses tabs; spreadsheets use semicolons where the comma is the decimal point."""


def check_size(name: str, size: int, max_size: int | None) -> None:
    """Refuse a source of more bytes than the limit. Raises `InputError`."""
    if max_size is not None and size > max_size:
        raise InputError(f"{name}: more than the limit of {max_size:,} bytes (max_size)")


def is_large(source: Any) -> bool:
    """Whether a source is a file so large that it is read block by block, if it consists of lines of OTLP."""
    if not isinstance(source, (str, os.PathLike)):
        return False
    try:
        return os.path.isfile(source) and os.path.getsize(source) >= _LARGE
    except OSError:
        return False  # the file is gone: opening it reports that


def check_not_server(source: str) -> None:
    """Refuse the address of a server, and say what to do instead. Raises `InputError`."""
    if source.startswith(_SERVERS) and not os.path.exists(source):
        from rightcall.values.redaction import redacted_address

        raise InputError(
            f"{redacted_address(source)}: this is the address of a server, and Rightcall reads files and standard "
            "input; save its answer first, or pipe it in: curl … | rightcall show -"
        ) from None


def bounded(stream: Any, name: str, max_size: int | None) -> IO[bytes]:
    """Return a stream that raises `InputError` as soon as it has more bytes than the limit."""
    limited: IO[bytes] = stream if max_size is None else io.BufferedReader(_Raw(stream, name, max_size), _CHUNK)
    return limited


@contextmanager
def opened(source: Any, max_size: int | None) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a source: its name and its bytes, decompressed if they are gzip or zstd.

    Raises:
        InputError: the file does not exist, is a folder, or cannot be read.
        MissingExtraError: it is zstd, and `zstandard` is not installed.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield "<bytes>", _unpacked(io.BytesIO(bytes(source)), "<bytes>", max_size)
        return
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        raise InputError(f"{source[:40]!r}… is not a path; to read JSON text, give it as bytes or decoded")
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            stream = path.open("rb", buffering=_CHUNK)
        except OSError as problem:
            check_not_server(os.fspath(source))
            raise InputError(f"{path}: {problem.strerror or problem}") from None
        except ValueError as problem:
            check_not_server(os.fspath(source))
            raise InputError(f"{str(path)!r:.200}: {problem}") from None
        with stream:
            yield str(source), _unpacked(stream, str(source), max_size)
        return
    name = str(getattr(source, "name", "<file>"))
    yield name, _unpacked(_binary(source), name, max_size)


def _binary(source: Any) -> IO[bytes]:
    if isinstance(source, io.TextIOBase):
        inner = getattr(source, "buffer", None)
        if hasattr(inner, "peek"):
            return inner  # type: ignore[return-value]
        return io.BytesIO(source.read().encode("utf-8", "surrogatepass"))
    return io.BufferedReader(_Raw(source))


def _unpacked(stream: Any, name: str, max_size: int | None) -> IO[bytes]:
    start = stream.peek(4)[:4] if hasattr(stream, "peek") else stream.getvalue()[:4]
    if start.startswith(_GZIP):
        return io.BufferedReader(_Inflating(stream, name, max_size), _CHUNK)
    is_packed = start == _ZSTD
    source: Any = _zstd(stream, name) if is_packed else stream
    is_limited = is_packed or max_size is not None
    unpacked: IO[bytes] = io.BufferedReader(_Raw(source, name, max_size), _CHUNK) if is_limited else source
    return unpacked


def _zstd(stream: IO[bytes], name: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise missing_package(f"{name} is compressed with zstd, and reading it needs zstandard", "zstd") from None
    # 128 MiB is the window of `zstd --long`, the largest that the command `zstd` accepts without an option (RFC 8878,
    # section 3.1.1.1.2, lets a decoder refuse more). So a small file cannot claim gigabytes of memory.
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(stream, read_across_frames=True)


class _Raw(io.RawIOBase):
    """A raw stream over anything with a `read` method, limited to a size."""

    def __init__(self, inner: Any, name: str = "", max_size: int | None = None) -> None:
        self._inner, self._name, self._max_size, self._seen = inner, name, max_size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._more(len(buffer))
        if isinstance(data, str):
            raise InputError(f"{self._name or 'the file'} was opened as text; open it with mode 'rb'")
        self._seen += len(data)
        check_size(self._name, self._seen, self._max_size)
        buffer[: len(data)] = data
        return len(data)

    def _more(self, size: int) -> Any:
        try:
            return self._inner.read(size) or b""
        except InputError:
            raise
        except (OSError, EOFError, ValueError, zlib.error) as problem:
            raise InputError(f"{self._name}: cannot be read: {problem}") from None
        except Exception as problem:
            # zstandard's error derives directly from Exception, and zstandard is imported only for zstd data.
            if type(problem).__name__ == "ZstdError":
                raise InputError(f"{self._name}: damaged zstd data: {problem}") from None
            raise


class _Inflating(_Raw):
    """A gzip stream, decompressed piece by piece. A damaged or truncated one yields what it can, then raises."""

    def __init__(self, inner: Any, name: str, max_size: int | None) -> None:
        super().__init__(inner, name, max_size)
        # 31 = 16 + 15 bits: gzip's header and checksum, with the largest window (zlib's manual, inflateInit2).
        self._inflater = zlib.decompressobj(wbits=31)
        self._waiting = b""

    def _more(self, size: int) -> bytes:
        while True:
            packed = self._waiting or self._inner.read(_CHUNK)
            if not packed:
                return self._end()
            # A gzip file is a series of members (RFC 1952, section 2.2); GNU gzip allows zeros after the last one.
            if self._inflater.eof:
                self._inflater = zlib.decompressobj(wbits=31)
            try:
                data = self._inflater.decompress(packed, size)
            except zlib.error as problem:
                raise InputError(f"{self._name}: damaged gzip data after {self._seen:,} bytes: {problem}") from None
            self._waiting = self._inflater.unconsumed_tail or self._inflater.unused_data.lstrip(b"\0")
            if data:
                return data

    def _end(self) -> bytes:
        if not self._inflater.eof:
            raise InputError(f"{self._name}: the gzip data ends early, after {self._seen:,} bytes")
        return b""


LOOKED_FOR = (
    "looked for OTLP (JSON, protobuf), OpenTelemetry SDK spans, Zipkin, Jaeger, Tempo, Phoenix, MLflow, Langfuse, "
    "LangSmith, OpenAI Agents, rows of spans, logs of messages, and transcripts of agents and benchmarks"
)
"""The known formats, for the error about a source in none of them."""

SourceItem = Item | OtlpRequest
"""What a document consists of; an OTLP request is passed on as a whole."""
_SENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:(?:data|event|id|retry):|: ?\w)")
"""How a text of server-sent events begins."""
_YAML = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:---[ \t]*\r?\n)?(?:- "?[\w$]+"?:|"?[\w$]+"?:[ \t]*\r?\n[ \t]*(?:- |[ \t]"?[\w$]))'
)
"""How YAML begins that a program wrote: with a list of objects, or with a key that a list or an object is below.

Plain text often begins like a key with a value, and reading it as YAML takes seconds.
"""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OTLP_MARK = b'"resourceSpans"'
_HEAD = 256
_OPEN = (b"{", b"[", b",")
"""How a line ends that is only the beginning of a document."""


class Budget(msgspec.Struct):
    """What spans in memory may take."""

    left: int
    """How many bytes more; below zero, further spans are written to files instead of kept in memory."""


class DocumentReader(msgspec.Struct, eq=False):
    """Decodes one source. Its format is detected from the bytes themselves."""

    _name: str
    _limits: Limits
    _warnings: Warnings
    _budget: Budget
    _input_format: str | None = None

    def batches(self, stream: Any) -> Iterator[Iterable[SourceItem]]:
        """Yield the items in a stream of bytes, those of one document or line together.

        Raises:
            InputError: the bytes are of an unknown format, or exceed the limits.
            MissingExtraError: the format needs a package that is not installed.
        """
        head = (stream.peek(_HEAD * 4) if hasattr(stream, "peek") else stream.getvalue())[: _HEAD * 16]
        if not head.startswith((b"{", b"[")):
            others = self._other_batches(stream, head)
            if others is not None:
                yield from others
                return
            stream = self._json_in(stream, head)
        number, first = 1, self._line(stream, 1).removeprefix(codecs.BOM_UTF8)
        while first and not first.strip():
            number += 1
            first = self._line(stream, number)
        if not first:
            raise InputError(f"{self._name}: the file is empty")
        # If the first line is a document, lines are read one by one; otherwise it begins a document of several lines.
        try:
            begun = None if first.rstrip().endswith(_OPEN) else self._document_items(first)
        except InputError:
            begun = None
        if begun is not None:
            yield begun
            yield from self._line_batches(stream, number + 1)
            return
        rest = self._rest(stream, already=len(first))
        try:
            yield self._document_items(first + rest)
            return
        except InputError as problem_of_all:
            problem = problem_of_all
        yield from self._batches_over_lines(first, rest, problem)

    def _other_batches(self, stream: Any, head: bytes) -> Iterator[Iterable[SourceItem]] | None:
        """Return the items of a source by how it begins; None if that shows nothing but JSON."""
        if head.startswith(b"PAR1"):
            self._warnings.recognised.formats.setdefault("Parquet")
            return self._parquet_batches(self._rest(stream))
        if head.startswith(_ZIP):
            held = stream if stream.seekable() else io.BytesIO(self._rest(stream))
            samples = samples_in(held, self._name, self._limits, self._warnings)
            return ([OtherDocument(sample)] for sample in samples)
        if looks_like_protobuf(head):
            self._warnings.recognised.formats.setdefault("OTLP protobuf")
            return iter([protobuf_items(self._rest(stream), self._name)])
        if not head.startswith(_UTF16) and _separator(head):
            self._warnings.recognised.formats.setdefault("rows, as CSV")
            return iter([self._warned(csv_items(self._rest(stream), self._input_format))])
        return None

    def _json_in(self, stream: Any, head: bytes) -> Any:
        """Return the JSON in a string of UTF-16, in the data of server-sent events, or in YAML; else the stream."""
        if head.startswith(_UTF16):
            return io.BytesIO(self._rest(stream).decode("utf-16", "replace").encode("utf-8", "replace"))
        if not _SENT.match(head) and not _YAML.match(head):
            return stream
        data = self._rest(stream)
        text = data.decode("utf-8", "replace")
        sent = messages.sent_events(text)
        return io.BytesIO("\n".join(sent).encode() if sent else self._of_yaml(text) or data)

    def _of_yaml(self, text: str) -> bytes | None:
        """Return a YAML document as JSON; None if it is not YAML, or neither a list nor an object."""
        try:
            document = decode_yaml(text.removeprefix("\ufeff"), self._limits)
        except DocumentError:
            return None
        return dump_json(document).encode() if isinstance(document, (dict, list)) else None

    def _parquet_batches(self, data: bytes) -> Iterator[Iterable[SourceItem]]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            problem = f"{self._name} is a Parquet file, and reading it needs pyarrow"
            raise missing_package(problem, "arrow") from None
        from rightcall.reading.tables import table_items

        try:
            table = parquet.ParquetFile(io.BytesIO(data))
            for items in table_items(table, self._name, self._limits):
                yield self._warned(items)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:  # of names that are not UTF-8
            raise InputError(f"{self._name}: damaged parquet data: {problem}") from None

    def _warned(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, with a warning about each cell of a row that could not be read."""
        for item in items:
            if isinstance(item, Span) and UNREADABLE in item.attributes:
                self._warnings.add("dropped cells", f"{self._name}: {item.attributes.get(UNREADABLE)}")
            yield item

    def _line_batches(self, stream: IO[bytes], number: int) -> Iterator[Iterable[SourceItem]]:
        while line := self._line(stream, number):
            yield self.items_in_line(line, number)
            number += 1

    def items_in_line(self, line: bytes, number: int) -> list[SourceItem]:
        """Return the items of one line among others. A broken line has none, and adds a warning."""
        if line.isspace():
            return []
        try:
            return self._document_items(line)
        except InputError as problem:
            self._warnings.add("dropped lines", f"{self._name}: line {number} was left out: {problem}")
            return []

    def _document_items(self, text: bytes) -> list[SourceItem]:
        if _OTLP_MARK in text[:_HEAD] and self._input_format in (None, "otlp"):
            is_spent = self._budget.left < 0
            packed = split_request(text) if is_spent else None
            request = None if is_spent else decode_request(text)
            if packed is not None or request is not None:
                self._budget.left -= len(text)
                self._warnings.recognised.formats.setdefault("otlp")
                return [request] if request is not None else [*(packed or ())]
        return self._items(decode_json(text, self._limits))

    def _items(self, document: Any) -> list[SourceItem]:
        recognised = self._warnings.recognised
        if recognised.is_shown and (name := formats.format_of(document, self._input_format)):
            recognised.formats.setdefault(name)
        return list(self._warned(formats.items_of(document, self._input_format)))

    def _batches_over_lines(self, first: bytes, rest: bytes, problem: InputError) -> Iterator[Iterable[SourceItem]]:
        """Yield the items of several documents over several lines, or of the lines after a broken first one.

        `problem` is what is wrong with them as one document.
        """
        count = 0
        try:
            for _, document in decode_json_sequence((first + rest).decode("utf-8", "replace"), self._limits):
                count += 1
                yield self._items(document)
        except InputError as problem_of_next:
            if not count:
                yield from self._batches_after_broken_line(rest, problem)
                return
            left_out = f"{self._name}: what follows document {count} was left out: {problem_of_next}"
            self._warnings.add("dropped text", left_out)

    def _batches_after_broken_line(self, rest: bytes, problem: InputError) -> Iterator[Iterable[SourceItem]]:
        if not any([self._is_document(line) for line in rest.split(b"\n", 3)[:3]]):
            raise UnknownFormatError(f"{self._name}: {problem}", LOOKED_FOR)
        self._warnings.add("dropped lines", f"{self._name}: line 1 was left out: {problem}")
        yield from self._line_batches(io.BytesIO(rest), 2)

    def _is_document(self, line: bytes) -> bool:
        if not line.lstrip().startswith(b"{"):
            return False
        try:
            return bool(decode_json(line, self._limits))
        except InputError:
            return False

    def _line(self, stream: IO[bytes], number: int) -> bytes:
        most = self._limits.text_bytes
        line = stream.readline(most + 1)
        if len(line) > most:
            raise InputError(f"{self._name}: line {number} exceeds the limit of {most:,} bytes")
        return line

    def _rest(self, stream: IO[bytes], already: int = 0) -> bytes:
        most = self._limits.text_bytes
        data = stream.read(most + 1 - already)
        if len(data) + already > most:
            raise InputError(f"{self._name}: a document of more than the limit of {most:,} bytes")
        return data


def is_otlp_line(line: bytes) -> bool:
    """Whether a line is a whole OTLP request in its usual spelling."""
    return _OTLP_MARK in line[:_HEAD] and line.endswith(b"\n") and decode_request(line) is not None


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
    import zipfile  # here and below, on demand: most traces are JSON

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


def csv_items(data: bytes, input_format: str | None) -> Iterator[Item]:
    """Yield the spans, or the rows, of a table. Raises `InputError` if it cannot be split into cells."""
    import csv

    usual = csv.field_size_limit(_LONGEST_CELL)  # a setting of the whole process, so it is restored below
    try:
        text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
        rows = list(csv.DictReader(text, delimiter=_separator(data) or ","))
    except csv.Error as problem:
        raise InputError(f"not a table of spans: {problem}") from None
    finally:
        csv.field_size_limit(usual)
    for row in rows:
        yield from formats.row_items({key: value for key, value in row.items() if isinstance(key, str)}, input_format)


def _separator(head: bytes) -> str:
    """Return the separator of a table's cells, if the first line has known columns; otherwise an empty string."""
    if head.lstrip()[:1] in (b"{", b"["):
        return ""
    import csv

    line = head.removeprefix(codecs.BOM_UTF8).split(b"\n", 1)[0].decode("utf-8", "replace")
    for separator in _SEPARATORS:
        try:
            names = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            continue
        if (
            "context.span_id" in names
            or formats.is_table_header(names)
            or not messages.CONVERSATION_COLUMNS.isdisjoint(names)
        ):
            return separator
    return ""
