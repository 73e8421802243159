"""Spans that are put aside in temporary files, because holding them takes too much memory."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO

from rightcall.reading.formats import span_in
from rightcall.reading.spans import PackedSpan, Span

_PARTS = 64
# A part is read into memory whole, so 64 parts bring a file of some GB down to tens of MB, and stay well below the
# usual limit of 256 open files (macOS).
# Two lengths before each span: reading one back needs no search for its end.
_SIZES = struct.Struct(">II")


class Spill:
    """Undecoded spans in temporary files, those of one trace in one file. Closing it removes the files."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        # `read` returns an iterator, and a caller may drop it half way: then nothing else closes the files.
        weakref.finalize(self, self._closing.close)
        self._parts: dict[int, IO[bytes]] = {}

    def add(self, span: PackedSpan) -> None:
        """Write a span to the file of its trace."""
        part = part_of_trace(span.trace_id)
        stream = self._parts.get(part)
        if stream is None:
            import tempfile

            stream = tempfile.TemporaryFile(prefix="rightcall-")  # noqa: SIM115 (closed with all the others)
            self._parts[part] = self._closing.enter_context(stream)
        scope = span.scope.encode("utf-8", "surrogatepass")
        stream.write(_SIZES.pack(len(scope), len(span.raw)))
        stream.write(scope)
        stream.write(span.raw)

    def spans(self) -> Iterator[tuple[int, Iterable[Span]]]:
        """Yield the spans in the files, one part after the other. Read each part before asking for the next."""
        for part in range(_PARTS):
            stream = self._parts.pop(part, None)
            yield part, _spans_in(stream) if stream else ()
            if stream:
                stream.close()

    def close(self) -> None:
        """Remove the files."""
        self._closing.close()


def part_of_trace(trace_id: str) -> int:
    """The number of the file that holds a trace."""
    # Hashes of strings differ between processes, which is fine: the files never outlive this one, and a hostile trace
    # cannot be made to fill a single part.
    return hash(trace_id) % _PARTS


def _spans_in(stream: IO[bytes]) -> Iterator[Span]:
    stream.seek(0)
    while sizes := stream.read(_SIZES.size):
        scope_size, raw_size = _SIZES.unpack(sizes)
        scope = stream.read(scope_size).decode("utf-8", "surrogatepass")
        yield span_in(stream.read(raw_size), scope)
