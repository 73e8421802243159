"""A first look over a large file: which traces lie within one block of it, and which go on in another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import IO

import msgspec

from ._identity import span_id

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

    What a run is known by are its traces, and its conversations and sessions.
    """

    start: int
    end: int
    line: int
    """The number of its first line."""
    whole: frozenset[str]
    """What no other block mentions."""
    ended: frozenset[str]
    """What blocks before it mention, and none after it."""


class _Piece(msgspec.Struct):
    start: int
    line: int
    end: int = 0
    mentioned: set[str] = set()


def blocks_of(stream: IO[bytes], keys: frozenset[str], longest_line: int) -> list[Block]:
    """The blocks of a file, in order; `keys` are the attributes with the id of a conversation or session.

    There are none where a line is too long. Looking for all keys takes long: those are looked for that samples of the
    file have. A conversation named by another key only is in no block's `whole`, as if others went on with it.
    """
    pieces = _pieces(stream, keys, longest_line)
    last: dict[str, int] = {}
    first: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        for name in piece.mentioned:
            first.setdefault(name, number)
            last[name] = number
    return [
        Block(
            piece.start,
            piece.end,
            piece.line,
            frozenset([name for name in piece.mentioned if first[name] == number == last[name]]),
            frozenset([name for name in piece.mentioned if first[name] < number == last[name]]),
        )
        for number, piece in enumerate(pieces)
    ]


def _pieces(stream: IO[bytes], keys: frozenset[str], longest_line: int) -> list[_Piece]:
    pieces: list[_Piece] = []
    marks = _marks_in_samples(stream, keys)
    offset, line = 0, 1
    for chunk in _chunks(stream, longest_line):
        if len(chunk) > _CHUNK + longest_line:
            return []
        if not pieces or offset - pieces[-1].start >= _BLOCK:
            pieces.append(_Piece(offset, line))
        offset += len(chunk)
        line += chunk.count(b"\n")
        pieces[-1].end = offset
        pieces[-1].mentioned |= _mentioned(chunk, marks)
    return _with_whole_end(pieces)


def _marks_in_samples(stream: IO[bytes], keys: frozenset[str]) -> list[bytes]:
    size = stream.seek(0, os.SEEK_END)
    samples = []
    for number in range(_SAMPLES):
        stream.seek(size * number // _SAMPLES)
        samples.append(stream.read(_SAMPLE))
    stream.seek(0)
    marks = [f'"{key}"'.encode() for key in sorted(keys)]
    return [mark for mark in marks if any([mark in sample for sample in samples])]


def _with_whole_end(pieces: list[_Piece]) -> list[_Piece]:
    # A torn last line is told with the runs before it, so it should not be alone.
    if len(pieces) > 1 and pieces[-1].end - pieces[-1].start < _SMALLEST_BLOCK:
        last = pieces.pop()
        pieces[-1].end = last.end
        pieces[-1].mentioned |= last.mentioned
    return pieces


def _chunks(stream: IO[bytes], longest_line: int) -> Iterator[bytes]:
    """Whole lines, a few million bytes at a time; more only where a line is too long."""
    while chunk := stream.read(_CHUNK):
        yield chunk if chunk.endswith(b"\n") else chunk + stream.readline(longest_line + 1)


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
