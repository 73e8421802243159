"""The first pass over a large file: which traces are within one block, and which continue in another.

Nothing is decoded: trace ids and conversation ids are found as bytes. A mention that is missed costs memory, never a
result, because a trace that no block claims is read with those that are spread over several.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import IO

import msgspec

from rightcall.errors import LimitError
from rightcall.reading.spans import span_id

_CHUNK = 1 << 19
# 16 MiB: large enough that most traces end in the block they begin in, small enough that a worker holds one block.
_BLOCK = 1 << 24
_SMALLEST_BLOCK = 1 << 22
# 32 samples of 128 KiB: 4 MiB of a file of any size. A key that they miss costs memory, not results.
_SAMPLES = 32
_SAMPLE = 1 << 17
_TRACE_MARK = b'"trace'
_TRACE = re.compile(rb'(?:Id|_id)"\s*:\s*"([^"\\]{1,64})"')
_VALUE = re.compile(rb'\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*"([^"\\]*)"\s*\}')


class FileBlock(msgspec.Struct, frozen=True):
    """Consecutive lines of a file.

    Names are ids of traces, conversations and sessions. A conversation whose key the survey did not look for is in no
    block's `whole`, as if it continued in other blocks.
    """

    start: int
    end: int
    line: int
    """The number of its first line."""
    whole: frozenset[str]
    """Names that no other block mentions."""
    ended: frozenset[str]
    """Names that earlier blocks mention, and no later one."""


class Piece(msgspec.Struct):
    """Consecutive lines of a file, and the names mentioned in them."""

    start: int
    end: int
    lines: int = 0
    mentioned: set[str] = set()


def blocks_of(pieces: Iterable[Piece]) -> tuple[FileBlock, ...]:
    """Turn the pieces of a file into blocks, in order."""
    held = _with_whole_end(list(pieces))
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, piece in enumerate(held):
        for name in piece.mentioned:
            first.setdefault(name, number)
            last[name] = number
    lines = list(accumulate([piece.lines for piece in held], initial=1))
    return tuple([_block(piece, lines[number], number, first, last) for number, piece in enumerate(held)])


def _block(piece: Piece, line: int, number: int, first: dict[str, int], last: dict[str, int]) -> FileBlock:
    return FileBlock(
        piece.start,
        piece.end,
        line,
        whole=frozenset([name for name in piece.mentioned if first[name] == number == last[name]]),
        ended=frozenset([name for name in piece.mentioned if first[name] < number == last[name]]),
    )


def pieces_of(stream: IO[bytes], start: int, end: int, marks: Iterable[bytes], longest_line: int) -> list[Piece]:
    """Return the pieces of a part of a file.

    Where a piece begins depends on the file alone, so the number of parts makes no difference.

    Raises:
        LimitError: a line is too long.
    """
    pieces: list[Piece] = []
    stream.seek(start)
    boundary = 0
    while start < end:
        if start >= boundary:
            boundary = (start // _BLOCK + 1) * _BLOCK  # a multiple of the size, whatever part this is
            pieces.append(Piece(start, start))
        chunk = _chunk(stream, min(_CHUNK, boundary - start), longest_line)
        if not chunk:
            break  # the file has become shorter
        start += len(chunk)
        piece = pieces[-1]
        piece.end = start
        piece.lines += chunk.count(b"\n")
        piece.mentioned |= _mentioned(chunk, marks)
    return pieces


def parts_of(stream: IO[bytes], count: int) -> list[tuple[int, int]]:
    """Split a file into parts of whole pieces: where each begins and ends."""
    size = stream.seek(0, os.SEEK_END)
    most = -(-size // _BLOCK)
    starts = [_first_line(stream, most * number // count * _BLOCK) for number in range(count)]
    return [(start, end) for start, end in pairwise([*starts, size]) if start < end]


def _first_line(stream: IO[bytes], place: int) -> int:
    """The offset of the first line that begins at or after an offset."""
    if place:
        stream.seek(place - 1)
        stream.readline()
        place = stream.tell()
    return place


def marks_of(stream: IO[bytes], keys: Iterable[str]) -> tuple[bytes, ...]:
    """Return the keys that occur in samples of a file, as they are written; searching for all of them is slow."""
    size = stream.seek(0, os.SEEK_END)
    samples = []
    for number in range(_SAMPLES):
        stream.seek(size * number // _SAMPLES)
        samples.append(stream.read(_SAMPLE))
    marks = [f'"{key}"'.encode() for key in sorted(keys)]
    return tuple([mark for mark in marks if any([mark in sample for sample in samples])])


def _with_whole_end(pieces: list[Piece]) -> list[Piece]:
    # The warning about a truncated last line goes to the runs of its block, so the block must have some.
    if len(pieces) > 1 and pieces[-1].end - pieces[-1].start < _SMALLEST_BLOCK:
        last = pieces.pop()
        pieces[-1].end = last.end
        pieces[-1].lines += last.lines
        pieces[-1].mentioned |= last.mentioned
    return pieces


def _chunk(stream: IO[bytes], size: int, longest_line: int) -> bytes:
    chunk = stream.read(size)
    if not chunk or chunk.endswith(b"\n"):
        return chunk
    end = stream.readline(longest_line + 1)
    if len(end) > longest_line:
        raise LimitError(f"a line of more than {longest_line:,} bytes")
    return chunk + end


def _mentioned(chunk: bytes, marks: Iterable[bytes]) -> set[str]:
    traces = {span_id(trace.decode("utf-8", "replace")) or "" for trace in _texts(chunk, _TRACE_MARK, _TRACE)}
    values = [value.decode("utf-8", "replace") for mark in marks for value in _texts(chunk, mark, _VALUE)]
    return traces.union(values)


def _texts(chunk: bytes, mark: bytes, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return what a pattern matches right after each mark."""
    # `bytes.find` for the mark and `match` after it: three times as fast as `pattern.finditer` with the mark in front.
    found: set[bytes] = set()
    length, last = len(mark), b""
    at = chunk.find(mark)
    while at >= 0:
        at += length
        # The spans of a trace are neighbours: most often it is the same text again.
        if not last or not chunk.startswith(last, at):
            match = pattern.match(chunk, at)
            if match is not None:
                last = match[0]
                found.add(match[1])
        at = chunk.find(mark, at)
    return found
