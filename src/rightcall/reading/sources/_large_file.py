"""Read a large file of OTLP lines block by block, with no more of it in memory than the unfinished runs need."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, pairwise
from typing import IO, Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, LimitError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.formats import OtlpRequest
from rightcall.reading.runs import Grouping, Kept, Run, SimpleRun, Warnings, keys_of, roots_of
from rightcall.reading.spans import OtherDocument, span_id
from rightcall.values.trajectory import Trajectory

from ._document_reader import DocumentReader, SourceItem, is_large, is_otlp_line
from ._run_collector import RunCollector

_CHUNK = 1 << 19
# 16 MiB: large enough that most traces end in the block in which they begin, small enough for the memory of a worker.
_BLOCK = 1 << 24
_SMALLEST_BLOCK = 1 << 22
# 32 samples of 128 KiB: 4 MiB of a file of any size. Missing a key costs memory, and does not change results.
_SAMPLES = 32
_SAMPLE = 1 << 17
_TRACE_MARK = b'"trace'
_TRACE = lazy_pattern(rb'(?:Id|_id)"\s*:\s*"([^"\\]{1,64})"')
_VALUE = lazy_pattern(rb'\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*"([^"\\]*)"\s*\}')


class FileBlock(msgspec.Struct, frozen=True):
    """Consecutive lines of a file.

    Names are ids of traces, conversations and sessions. A conversation whose key was not in the samples is in no
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

    Where a piece begins depends only on the file, so the number of parts makes no difference.

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
    """Split a file into parts of whole pieces, and return where each begins and ends."""
    size = stream.seek(0, os.SEEK_END)
    most = -(-size // _BLOCK)
    starts = [_first_line(stream, most * number // count * _BLOCK) for number in range(count)]
    return [(start, end) for start, end in pairwise([*starts, size]) if start < end]


def _first_line(stream: IO[bytes], place: int) -> int:
    """Return the offset of the first line that begins at or after an offset."""
    if place:
        stream.seek(place - 1)
        stream.readline()
        place = stream.tell()
    return place


def marks_of(stream: IO[bytes], keys: Iterable[str]) -> tuple[bytes, ...]:
    """Return the keys that occur in samples of a file, in quotes. Searching the file for all keys would be slow."""
    size = stream.seek(0, os.SEEK_END)
    samples = []
    for number in range(_SAMPLES):
        stream.seek(size * number // _SAMPLES)
        samples.append(stream.read(_SAMPLE))
    marks = [f'"{key}"'.encode() for key in sorted(keys)]
    return tuple([mark for mark in marks if any([mark in sample for sample in samples])])


def _with_whole_end(pieces: list[Piece]) -> list[Piece]:
    # The warning about a truncated last line goes to the runs of its block, so the last block must not be tiny.
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
    """Return the first group of a pattern wherever it matches right after a mark."""
    # `bytes.find` for the mark, then `match`, is three times as fast as `finditer` with the mark in the pattern.
    found: set[bytes] = set()
    length, last = len(mark), b""
    at = chunk.find(mark)
    while at >= 0:
        at += length
        # The spans of a trace are usually neighbours, so the same text often follows again.
        if not last or not chunk.startswith(last, at):
            match = pattern.match(chunk, at)
            if match is not None:
                last = match[0]
                found.add(match[1])
        at = chunk.find(mark, at)
    return found


class LeftLine(msgspec.Struct, frozen=True):
    """A line with traces that continue in other blocks."""

    start: int
    size: int
    number: int
    traces: frozenset[str] | None = None
    """The traces that continue elsewhere; None for all traces of the line."""


class WaitingRun(msgspec.Struct, frozen=True):
    """A run within a block without an agent. It counts if a run with an agent has the same roots."""

    roots: frozenset[tuple[str, str]]
    lines: list[LeftLine]


class LargeFile(msgspec.Struct, frozen=True):
    """A file of OTLP lines, one request a line, and how to read it.

    Each block can be read by itself, in any order and in any process. Runs that continue in other blocks are left to
    `SplitRuns`, which takes the blocks in order.
    """

    path: str
    blocks: tuple[FileBlock, ...]
    grouping: Grouping = "auto"
    kept: Kept = Kept()
    limits: Limits = DEFAULT_LIMITS

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the trajectories of all runs, in the order in which they end."""
        rest = SplitRuns(self)
        for block in self.blocks:
            reading = BlockReader(self, block)
            yield from reading.trajectories()
            yield from rest.after(block, reading.left, reading.waiting, reading.begun)
        yield from rest.trajectories()


def large_file(
    source: Any,
    grouping: Grouping,
    kept: Kept,
    limits: Limits = DEFAULT_LIMITS,
    *,
    parts: int = 1,
    each: Callable[..., Iterable[list[Piece]]] = map,
) -> LargeFile | None:
    """Return the file at a path, if it is large, not compressed, and consists of lines of OTLP; otherwise None.

    The first pass is done in `parts` parts; `each` maps a function over them: `map`, or that of a process pool.

    Raises:
        InputError: the file cannot be read.
    """
    if not is_large(source) or grouping == "file":
        return None
    path = os.fspath(source)
    try:
        with _opened(path) as stream:
            if not is_otlp_line(stream.readline(limits.text_bytes)):
                return None
            marks, places = marks_of(stream, keys_of(grouping)), parts_of(stream, parts)
        surveys = each(partial(_survey, path, marks, limits.text_bytes), places)
        blocks = blocks_of([piece for pieces in surveys for piece in pieces])
    except LimitError:
        return None  # the ordinary reader reports the line that is too long, with its number
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    return LargeFile(path, blocks, grouping, kept, limits)


def _survey(path: str, marks: tuple[bytes, ...], longest_line: int, place: tuple[int, int]) -> list[Piece]:
    with _opened(path) as stream:
        return pieces_of(stream, *place, marks, longest_line)


class BlockReader:
    """Reads one block: the runs within it, and the lines with parts of other runs."""

    def __init__(self, file: LargeFile, block: FileBlock) -> None:
        self.warnings = Warnings()
        self.left: list[LeftLine] = []
        """The lines with parts of other runs; filled by `trajectories`."""
        self.waiting: list[WaitingRun] = []
        """The runs that count only if runs with an agent have the same roots; filled by `trajectories`."""
        self.begun: set[tuple[str, str]] = set()
        """The roots of the runs within the block that have an agent; filled by `trajectories`."""
        self._file, self._block = file, block

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the trajectories of the runs within the block."""
        file, block = self._file, self._block
        if not block.whole:
            self.left = [LeftLine(start, len(line), number) for start, number, line in self._lines()]
            return iter(())
        # A block is in memory as a whole, so this budget is never spent.
        collector = RunCollector(file.grouping, file.kept, file.limits, held_bytes=block.end)
        lines = self._collect(collector)
        collector.warn_of_loose(file.path, self.warnings)
        whole = collector.part_with(block.whole)
        runs = collector.counted(whole)
        self.begun = collector.run_filter.begun
        self.waiting = _waiting(collector.run_filter.waiting, lines)
        self.left = _without(_traces_of([*runs, *collector.run_filter.waiting]), lines)
        return collector.trajectories_of(runs, self.warnings)

    def _collect(self, collector: RunCollector) -> list[LeftLine]:
        """Collect all lines, and return the traces of each."""
        documents = DocumentReader(self._file.path, self._file.limits, self.warnings, collector.budget)
        lines = []
        for start, number, line in self._lines():
            items = documents.items_in_line(line, number)
            collector.add(items)
            traces = frozenset([trace for item in items for trace in _traces_in(item)])
            lines.append(LeftLine(start, len(line), number, traces))
        return lines

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        start, number = self._block.start, self._block.line
        with _opened(self._file.path) as stream:
            stream.seek(start)
            while start < self._block.end and (line := stream.readline()):
                yield start, number, line
                start += len(line)
                number += 1


class SplitRuns:
    """The runs of a file that are spread over several of its blocks."""

    def __init__(self, file: LargeFile) -> None:
        self._file = file
        self._collector = RunCollector(file.grouping, file.kept, file.limits)
        self._warnings = Warnings()
        self._documents = DocumentReader(file.path, file.limits, self._warnings, self._collector.budget)
        self._ended: set[str] = set()
        self._waiting: list[WaitingRun] = []

    def after(
        self, block: FileBlock, left: list[LeftLine], waiting: list[WaitingRun], begun: set[tuple[str, str]]
    ) -> Iterator[Trajectory]:
        """Add the lines that a block left over, and yield the trajectories of the runs that end in it."""
        self._take(left)
        self._waiting += waiting
        self._collector.run_filter.begun |= begun
        self._ended |= block.ended
        self._ended |= block.whole & self._collector.names()
        ended = self._collector.counted(self._collector.part_with(self._ended))
        return self._collector.trajectories_of(ended, self._warnings)

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the trajectories of the runs unfinished after the last block, and of waiting runs that count."""
        for waiting in self._waiting:
            if self._collector.run_filter.count(waiting.roots):
                self._take(waiting.lines)
        return self._collector.remaining_trajectories(self._warnings)

    def _take(self, left: list[LeftLine]) -> None:
        if not left:
            return
        with _opened(self._file.path) as stream:
            for line in left:
                stream.seek(line.start)
                items = self._documents.items_in_line(stream.read(line.size), line.number)
                traces = line.traces
                self._collector.add([part for item in items for part in _of_traces(item, traces)])


def _traces_in(item: SourceItem) -> list[str]:
    if isinstance(item, OtlpRequest):
        return [span.trace_id for span in item.spans]
    return [] if isinstance(item, OtherDocument) else [item.trace_id]


def _of_traces(item: SourceItem, traces: frozenset[str] | None) -> Iterable[SourceItem]:
    """Return the part of an item that belongs to some traces; all of it for None."""
    if isinstance(item, OtlpRequest):
        kept = [span for span in item.spans if traces is None or span.trace_id in traces]
        return [item] if len(kept) == len(item.spans) else kept
    if isinstance(item, OtherDocument):
        return ()
    return [item] if traces is None or item.trace_id in traces else ()


def _traces_of(runs: list[Run]) -> set[str]:
    simple = {run.trace_id for run in runs if isinstance(run, SimpleRun)}
    return simple.union([span.trace_id for run in runs if not isinstance(run, SimpleRun) for span in run])


def _waiting(runs: list[Run], lines: list[LeftLine]) -> list[WaitingRun]:
    wanted = _traces_of(runs)
    by_trace: dict[str, list[LeftLine]] = {}
    for line in lines:
        for trace in wanted.intersection(line.traces or ()):
            by_trace.setdefault(trace, []).append(msgspec.structs.replace(line, traces=frozenset([trace])))
    return [
        WaitingRun(frozenset(roots_of(run)), [line for trace in _traces_of([run]) for line in by_trace[trace]])
        for run in runs
    ]


def _without(traces: set[str], lines: list[LeftLine]) -> list[LeftLine]:
    return [
        msgspec.structs.replace(line, traces=line.traces - traces)
        for line in lines
        if line.traces is not None and not line.traces <= traces
    ]


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "rb", buffering=1 << 20)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
