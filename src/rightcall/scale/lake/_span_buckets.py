"""Spans scattered over tables, put into files that hold whole runs and can be read one by one."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Protocol
from zlib import crc32

import msgspec

from rightcall.cases.verdicts import CASE_ATTRIBUTE
from rightcall.errors import ConfigurationError, InputError, missing_package
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import (
    Beginnings,
    Grouping,
    UnorderedSpans,
    check_grouping,
    group_columns,
    known_columns,
    table_groups,
    table_outline,
    table_spans,
)
from rightcall.values.trajectory import Trajectory

if TYPE_CHECKING:
    import pyarrow as pa

RUN = "rightcall.run"
"""The column that says which run a row belongs to."""

_HELD_BYTES = 32 << 20
_SMALLEST_PIECE = 128 << 10
"""Bytes that each bucket gets at a time, on average: a file is opened and closed for each piece."""
_ROWS = 4_096


class Spilling:
    """Rows on their way to the files of their buckets; those of one run are in one file.

    A file holds one stream of Arrow after the other, each with a schema of its own: files are opened to be added to
    and closed again, so that there may be many, and tables need not be alike.
    """

    def __init__(self, folder: str, count: int) -> None:
        self._paths = [os.path.join(folder, f"bucket-{number:05}.arrows") for number in range(count)]
        self._most = max(_HELD_BYTES, count * _SMALLEST_PIECE)
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        for path in self._paths:
            _write(path, b"", "wb")

    def add(self, batch: pa.RecordBatch, runs: list[str]) -> None:
        """Take in rows, each with the name of its run.

        Raises:
            InputError: a file cannot be written.
        """
        import pyarrow as pa

        self._held.append(batch.append_column(RUN, pa.array(runs, pa.string())))
        self._size += batch.nbytes
        if self._size >= self._most:
            self._write()

    def finish(self) -> list[str]:
        """The files, with everything in them."""
        self._write()
        return self._paths

    def _write(self) -> None:
        import pyarrow as pa

        held, self._held, self._size = self._held, [], 0
        for _, batches in groupby(held, lambda batch: batch.schema):
            self._write_table(pa.Table.from_batches(batches))

    def _write_table(self, table: pa.Table) -> None:
        import pyarrow as pa

        count = len(self._paths)
        # Not `hash`, which is another one in every process (PYTHONHASHSEED): the same run is in the same bucket always.
        numbers = [crc32(run.encode("utf-8", "replace")) % count for run in table.column(RUN).to_pylist()]
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        table = table.combine_chunks().take(pa.array(order, pa.int64()))
        first = 0
        for number, rows in groupby(order, numbers.__getitem__):
            size = len(list(rows))
            _write(self._paths[number], _stream(table.slice(first, size)), "ab")
            first += size


def spilled(path: str, runs: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows in a file, or those of these runs.

    Raises:
        InputError: the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = None if runs is None else pa.array(sorted(runs), pa.string())
    try:
        with pa.OSFile(path) as file:
            while file.tell() < file.size():
                for batch in pa.ipc.open_stream(file):
                    yield batch if wanted is None else batch.filter(pc.is_in(batch.column(RUN), wanted))
    except (pa.ArrowException, OSError) as problem:
        raise InputError(f"{path}: {problem}") from None


def _stream(table: pa.Table) -> Any:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    # The cheapest codec there is, because each piece is read once and removed; a build of Arrow may come without it.
    packing = "lz4" if pa.Codec.is_available("lz4") else None
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _write(path: str, data: Any, mode: Literal["ab", "wb"]) -> None:
    try:
        with open(path, mode) as file:
            file.write(data)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None


class SpanTable(Protocol):
    """A table of spans that can be read more than once, some of its columns at a time."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its rows, with these of its columns."""


class ParquetSpans:
    """A Parquet file of spans, here or in a file system of Arrow."""

    def __init__(self, path: str, filesystem: Any = None) -> None:
        self.name = path
        self._filesystem = filesystem
        with self._opened() as file:
            self.schema: pa.Schema = file.schema_arrow
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            self.size = sum(group.total_byte_size for group in groups)
            """How many bytes it has unpacked."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Its rows, with these of its columns.

        Raises:
            InputError: the file is damaged, has got other columns, or is gone.
        """
        import pyarrow

        try:
            with self._opened() as file:
                if not file.schema_arrow.equals(self.schema):
                    raise InputError(f"{self.name}: it has changed while it was read")
                yield from file.iter_batches(batch_size=_ROWS, columns=list(columns))
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{self.name}: {problem}") from None

    def _opened(self) -> Any:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise missing_package(f"{self.name} is a Parquet file, and reading it needs pyarrow", "arrow") from None
        try:
            return parquet.ParquetFile(self.name, filesystem=self._filesystem, pre_buffer=False)
        except (pyarrow.ArrowException, OSError) as problem:
            raise InputError(f"{self.name}: {problem}") from None


class United:
    """Traces of one conversation or session. The smallest id among them stands for all, in whatever order they came."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._above: dict[str, str] = {}

    def add(self, groups: Iterable[tuple[str, str]]) -> None:
        """Take in traces, each with the id of a conversation or session."""
        for trace, group in groups:
            first = self._first.setdefault(group, trace)
            if first != trace:
                self._unite(self.top(first), self.top(trace))

    def top(self, trace: str) -> str:
        """The trace that stands for all that a trace is united with."""
        above = self._above
        while (higher := above.get(trace)) is not None:
            highest = above.get(higher)
            if highest is None:
                return higher
            above[trace] = trace = highest
        return trace

    def _unite(self, one: str, other: str) -> None:
        if one != other:
            self._above[max(one, other)] = min(one, other)


_BUCKET_BYTES = 32 << 20
_MOST_BUCKETS = 1_024


class SpanBucket(msgspec.Struct, frozen=True):
    """All spans of some runs, in a file of its own. It can be sent to another process of the same machine."""

    number: int
    path: str
    grouping: Grouping
    metadata_attributes: tuple[str, ...]
    limits: Limits
    begun: Beginnings = frozenset()
    """How runs of agents begin, in all buckets: a run that made no call counts if it begins like one of them."""

    def trajectories(self) -> Iterator[Trajectory]:
        """The trajectories of the runs in it, in the order in which they began.

        Raises:
            InputError: its file cannot be read.
        """
        return self._scattered(spilled(self.path)).trajectories(self.begun)

    def begun_as(self, wanted: Beginnings) -> Beginnings:
        """In which of these ways those of its runs begin that have an agent or a model at work."""
        runs: set[str] = set()
        for batch in spilled(self.path):
            names = batch.column(RUN).to_pylist()
            outline = table_outline(batch, known_columns(batch.schema, self.path), self.limits)
            runs.update([names[row] for row, root in outline.roots if root in wanted])
        return self._scattered(spilled(self.path, runs)).begun() & wanted

    def _scattered(self, batches: Iterable[pa.RecordBatch]) -> UnorderedSpans:
        spans = (
            span
            for batch in batches
            for span in table_spans(batch, known_columns(batch.schema, self.path), self.limits)
        )
        return UnorderedSpans(spans, self.grouping, self.metadata_attributes, self.limits)


def bucket_count(size: int) -> int:
    """How many buckets suit a number of bytes of spans, unpacked; it depends on nothing else."""
    return max(1, min(-(-size // _BUCKET_BYTES), _MOST_BUCKETS))


def span_buckets(
    tables: Sequence[SpanTable],
    folder: str,
    count: int,
    *,
    grouping: Grouping = "auto",
    metadata_attributes: tuple[str, ...] = (CASE_ATTRIBUTE,),
    limits: Limits = DEFAULT_LIMITS,
) -> list[SpanBucket]:
    """The spans of tables, sorted into as many buckets, each of them a file in the folder.

    What lies in a bucket depends on the spans and on the count alone; the trajectories of all buckets together do not
    even depend on the count. The tables are read twice: first for what says which traces belong together, where any
    may, and then whole. Not more than a few batches of rows are held at a time.

    Raises:
        ConfigurationError: the grouping is `file`, which tables do not have, or there are no buckets.
        InputError: a table is none of spans, or cannot be read; or the folder cannot be written.
        UnknownNameError: the grouping is unknown.
    """
    check_grouping(grouping)
    if count < 1:
        raise ConfigurationError(f"spans cannot be sorted into {count} buckets; give one or more")
    united = _united(tables, grouping, limits)
    spilling = Spilling(folder, count)
    roots: set[tuple[str, str]] = set()
    for table in tables:
        columns = known_columns(table.schema, table.name)
        for batch in table.batches(columns.needed):
            outline = table_outline(batch, columns, limits)
            spilling.add(batch, [united.top(trace) for trace in outline.traces])
            roots.update([root for _, root in outline.roots])
    paths = spilling.finish()
    buckets = [SpanBucket(at, path, grouping, metadata_attributes, limits) for at, path in enumerate(paths)]
    begun = _begun(buckets, frozenset(roots)) if grouping == "auto" else frozenset()
    return [msgspec.structs.replace(bucket, begun=begun) for bucket in buckets]


def _united(tables: Sequence[SpanTable], grouping: Grouping, limits: Limits) -> United:
    united = United()
    for table in tables:
        columns = known_columns(table.schema, table.name)
        needed = group_columns(columns, grouping)
        for batch in table.batches(needed) if needed else ():
            united.add(table_groups(batch, columns, grouping, limits))
    return united


def _begun(buckets: list[SpanBucket], roots: Beginnings) -> Beginnings:
    """In which of these ways runs begin that have an agent or a model at work.

    One such run is enough, so most often the first bucket tells all, and the others are looked at only for what no run
    of an agent was found to begin with.
    """
    begun: Beginnings = frozenset()
    for bucket in buckets:
        if begun == roots:
            break
        begun |= bucket.begun_as(roots - begun)
    return begun
