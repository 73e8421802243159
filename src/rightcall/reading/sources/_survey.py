"""A first look over a large file: which traces lie within one block of it, and which go on in another."""

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
_BLOCK = 1 << 24
_SMALLEST_BLOCK = 1 << 22
_SAMPLES = 32
_SAMPLE = 1 << 17
_TRACE_MARK = b'"trace'
_TRACE = re.compile(rb'(?:Id|_id)"\s*:\s*"([^"\\]{1,64})"')
_VALUE = re.compile(rb'\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*"([^"\\]*)"\s*\}')


class Block(msgspec.Struct, frozen=True):
    """Some of the lines of a file.

    Names are what a run is known by: its traces, and its conversations and sessions. A conversation whose key the
    survey did not look for is in no block's `whole`, as if other blocks went on with it.
    """

    start: int
    end: int
    line: int
    """The number of its first line."""
    whole: frozenset[str]
    """What no other block mentions."""
    ended: frozenset[str]
    """What blocks before it mention, and none after it."""


class Piece(msgspec.Struct):
    """Some of the lines of a file, and the names that are mentioned in them."""

    start: int
    end: int
    lines: int = 0
    mentioned: set[str] = set()


def blocks_of(pieces: Iterable[Piece]) -> tuple[Block, ...]:
    """The blocks that the pieces of a file make, in order."""
    held = _with_whole_end(list(pieces))
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, piece in enumerate(held):
        for name in piece.mentioned:
            first.setdefault(name, number)
            last[name] = number
    lines = list(accumulate([piece.lines for piece in held], initial=1))
    return tuple([_block(piece, lines[number], number, first, last) for number, piece in enumerate(held)])


def _block(piece: Piece, line: int, number: int, first: dict[str, int], last: dict[str, int]) -> Block:
    return Block(
        piece.start,
        piece.end,
        line,
        whole=frozenset([name for name in piece.mentioned if first[name] == number == last[name]]),
        ended=frozenset([name for name in piece.mentioned if first[name] < number == last[name]]),
    )


def pieces_of(stream: IO[bytes], start: int, end: int, marks: Iterable[bytes], longest_line: int) -> list[Piece]:
    """The pieces of a part of a file. Where one begins depends on the file alone, so that all parts make the same.

    Raises:
        LimitError: a line is too long.
    """
    pieces: list[Piece] = []
    stream.seek(start)
    boundary = 0
    while start < end:
        if start >= boundary:
            boundary = (start // _BLOCK + 1) * _BLOCK
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
    """Where so many parts of a file begin and end, all of them of whole pieces."""
    size = stream.seek(0, os.SEEK_END)
    most = -(-size // _BLOCK)
    starts = [_first_line(stream, most * number // count * _BLOCK) for number in range(count)]
    return [(start, end) for start, end in pairwise([*starts, size]) if start < end]


def _first_line(stream: IO[bytes], place: int) -> int:
    """Where the first line begins at or after a place."""
    if place:
        stream.seek(place - 1)
        stream.readline()
        place = stream.tell()
    return place


def marks_of(stream: IO[bytes], keys: Iterable[str]) -> tuple[bytes, ...]:
    """How those of the keys are written that samples of a file have; looking for all of them takes long."""
    size = stream.seek(0, os.SEEK_END)
    samples = []
    for number in range(_SAMPLES):
        stream.seek(size * number // _SAMPLES)
        samples.append(stream.read(_SAMPLE))
    marks = [f'"{key}"'.encode() for key in sorted(keys)]
    return tuple([mark for mark in marks if any([mark in sample for sample in samples])])


def _with_whole_end(pieces: list[Piece]) -> list[Piece]:
    # A torn last line is told with the runs before it, so it should not be alone.
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
    """The texts that a pattern has after each mark. Finding the marks first is three times as fast as searching."""
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
