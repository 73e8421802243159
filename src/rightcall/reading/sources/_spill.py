"""Spans beyond what memory should hold: put aside in temporary files, those of one trace in one file."""

from __future__ import annotations

import struct
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO

from rightcall.reading.formats import span_in
from rightcall.reading.spans import PackedSpan, Span

_PARTS = 64
_SIZES = struct.Struct(">II")


class Budget:
    """How many bytes of spans are held in memory, and whether that is enough."""

    __slots__ = ("held", "most")

    def __init__(self, most: int) -> None:
        self.held, self.most = 0, most

    @property
    def is_spent(self) -> bool:
        """Whether more spans should be put aside rather than held."""
        return self.held > self.most


class Spill:
    """Packed spans in temporary files, that are gone when it is closed."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        # Trajectories that nobody asks for leave nobody to close the files.
        weakref.finalize(self, self._closing.close)
        self._parts: dict[int, IO[bytes]] = {}

    def add(self, span: PackedSpan) -> None:
        """Put a span aside."""
        part = part_of_trace(span.trace_id)
        stream = self._parts.get(part)
        if stream is None:
            stream = tempfile.TemporaryFile(prefix="rightcall-")  # noqa: SIM115 (closed with all the others)
            self._parts[part] = self._closing.enter_context(stream)
        scope = span.scope.encode("utf-8", "surrogatepass")
        stream.write(_SIZES.pack(len(scope), len(span.raw)))
        stream.write(scope)
        stream.write(span.raw)

    def spans(self) -> Iterator[tuple[int, Iterable[Span]]]:
        """The spans put aside, one part after the other; each part is read while it is the current one."""
        for part in range(_PARTS):
            stream = self._parts.pop(part, None)
            yield part, _spans_in(stream) if stream else ()
            if stream:
                stream.close()

    def close(self) -> None:
        """Remove the files."""
        self._closing.close()


def part_of_trace(trace_id: str) -> int:
    """The part in which a trace's spans are put aside."""
    return hash(trace_id) % _PARTS


def _spans_in(stream: IO[bytes]) -> Iterator[Span]:
    stream.seek(0)
    while sizes := stream.read(_SIZES.size):
        scope_size, raw_size = _SIZES.unpack(sizes)
        scope = stream.read(scope_size).decode("utf-8", "surrogatepass")
        yield span_in(stream.read(raw_size), scope)
