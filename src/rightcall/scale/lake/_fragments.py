"""Fragments of the input, each scored by one task into one file; spans are first sorted into files of whole runs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import TYPE_CHECKING, Any, Literal, Protocol
from zlib import crc32

import msgspec
import pyarrow as pa
from pyarrow import fs, parquet

from rightcall.cases.verdicts import CASE_ATTRIBUTE
from rightcall.errors import ConfigurationError, InputError, StoreError, missing_package
from rightcall.files import keep_file
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import (
    Beginnings,
    Grouping,
    Reading,
    UnorderedSpans,
    check_grouping,
    group_columns,
    known_columns,
    table_groups,
    table_outline,
    table_spans,
)
from rightcall.scale.columns import SCORES, Plan
from rightcall.values.decoding import dump_json
from rightcall.values.trajectory import Trajectory
from rightcall.version import __version__

from ._files import Place, place, reason

if TYPE_CHECKING:
    import pyarrow as pa


FORMAT = 1
"""The version of the format of files of scores. A file of another version is scored again."""

Kind = Literal["rows", "lines", "traces", "spans"]
"""Row groups of a table of trajectories, a range of bytes of a file of trajectories as JSON lines, a whole file of
traces in any format, or a bucket of tables of spans."""

_LONGEST_STEM = 60
_DIGEST = 12
NAME = re.compile(rf".+-\d{{9,}}-[0-9a-f]{{{_DIGEST}}}\.parquet", re.ASCII)
"""The pattern of names of files of scores."""
KEY = b"rightcall.scores"
"""The key of a file's schema metadata that has the fingerprint."""
SUMMARY = "_summary.json"
PATHS = "_paths.json"
_LOCK = "_lock"
_ROOM = "_spans"
_GROUP = 65_536
"""Rows in a row group. It is fixed, so that the same rows give the same bytes, however they were batched."""
_ATTEMPTS, _PAUSE = 40, 0.05
"""Attempts to lock a folder, and seconds between them: in all, longer than workers outlive a killed command."""
_PART = re.compile(
    rf"\.(?:{NAME.pattern}|{re.escape(SUMMARY)}|{re.escape(PATHS)}|_{NAME.pattern}\.paths)\.\d+\.part", re.ASCII
)
# EFBIG, ENOSPC and, on Linux, EDQUOT: what a user can do something about.
_FULL = (27, 28, 122)
RUN = "rightcall.run"
"""The column with the run of a row."""

_HELD_BYTES = 32 << 20
_SMALLEST_PIECE = 128 << 10
"""Bytes that are written to each bucket at a time, on average: each write opens and closes a file."""
_ROWS = 4_096


class Fragment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the input. A worker needs nothing else, apart from the plan."""

    kind: Kind
    path: str
    """The address of the file; for a bucket, that of the first table of spans."""
    stamp: str
    """The size and modification time of the file; for a bucket, a digest of those of all its tables."""
    begin: int = 0
    """The first row group, byte or bucket."""
    end: int = 0
    """The row group or byte after the last; for a bucket, how many buckets there are."""
    skipped: int = 0
    """Rows at the beginning of the row group that belong to another fragment."""
    rows: int | None = None
    """How many rows there are; None if that is unknown before they are read."""
    first_row: int = 0
    """The index of its first row in the file, to name rows that have no id."""
    size: int = 0
    """About how many bytes are read, to show progress."""
    constants: tuple[tuple[str, str | None], ...] = ()
    """Columns with one value for all rows, from the names of the file's folders or the log of its Delta table."""
    named: tuple[tuple[str, str | int | None], ...] = ()
    """Columns that are taken from the name of the file, and override those of its rows (`--join file=`)."""
    reading: Reading = Reading()
    tables: tuple[str, ...] = ()
    """For a bucket, the addresses of all tables of spans."""
    bucket: SpanBucket | None = None
    """The bucket itself, once spans have been sorted into it."""
    plan: str = ""
    """The digest of the plan to score it with."""
    counts_paths: bool = False
    """Whether the paths of its rows are counted, too. That does not change the scores."""

    @property
    def part(self) -> str:
        """Describe which part of its file it is; empty if it is the whole file."""
        if self.kind == "rows":
            rows = "" if self.rows is None else f", rows {self.first_row + 1:,} to {self.first_row + self.rows:,}"
            groups = f"{self.begin + 1}" if self.end == self.begin + 1 else f"{self.begin + 1} to {self.end}"
            return f"row group {groups}{rows}"
        if self.kind == "lines" and self.end:
            return f"bytes {self.begin:,} to {self.end:,}"
        return f"bucket {self.begin + 1} of {self.end} of all tables of spans" if self.kind == "spans" else ""

    def __str__(self) -> str:
        return f"{self.path} ({self.part})" if self.part else self.path

    @property
    def file(self) -> str:
        """The name of its file of scores: the same in every run, and different for every part and path."""
        stem = re.sub(r"[^A-Za-z0-9.-]+", "_", re.split(r"[/\\]", self.path)[-1].partition(".")[0]).strip("._-")
        place = dump_json([self.kind, self.path, self.begin, self.end, self.skipped])
        first = self.first_row if self.kind == "rows" else self.begin
        return f"{stem[:_LONGEST_STEM] or 'scores'}-{first:09}-{_digest(place)}.parquet"

    @property
    def paths_file(self) -> str:
        """The name of the file with its path counts. Parquet readers ignore files that begin with `_`."""
        return f"_{self.file}.paths"

    @property
    def fingerprint(self) -> str:
        """A digest of all that its scores depend on: the plan, the file, the part of it, and how it is read."""
        what = [self.kind, self.path, self.stamp, self.begin, self.end, self.skipped, self.rows, self.first_row]
        how = [dict(self.constants), dict(self.named), msgspec.to_builtins(self.reading)]
        return sha256(dump_json([FORMAT, __version__, self.plan, what, how]).encode()).hexdigest()


def plan_digest(plan: Plan) -> str:
    """Return a digest of a plan and the code that it names. Where the plan's file is does not matter."""
    chosen = [plan.case_globs, plan.tags, None if plan.case_ids is None else sorted(plan.case_ids), plan.join]
    digest = sha256(plan.text + dump_json([plan.is_eval_set, *chosen]).encode())
    for file in plan.code_files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]


class Output:
    """A folder of scores, on this machine or in an object store."""

    def __init__(self, address: str) -> None:
        self.place: Place = place(address)

    def make(self) -> None:
        """Create the folder if it does not exist. Raises `StoreError`."""
        with self._telling():
            self.place.system.create_dir(self.place.path, recursive=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other commands, if it is on this machine. Object stores have no locks.

        Raises:
            StoreError: another command has locked it.
        """
        if not self.place.is_local:
            yield
            return
        import fcntl  # not on Windows, where no command gets this far

        with self._telling():
            descriptor = os.open(os.path.join(self.place.path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    # The workers of a killed command keep the lock until they notice that it is gone.
                    sleep(_PAUSE if attempt < _ATTEMPTS - 1 else 0)
            else:
                raise StoreError(f"{self.place.address}: another command is writing scores to this folder")
            yield
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """Return the names of all files in the folder. Raises `StoreError`."""
        with self._telling():
            found = self.place.system.get_file_info(fs.FileSelector(self.place.path, allow_not_found=True))
        return sorted([info.base_name for info in found if info.type == fs.FileType.File])

    def fingerprint(self, name: str) -> tuple[str, int] | None:
        """Return the fingerprint of a file of scores and its number of rows; None for any other file."""
        where = self.place.below(name)
        try:
            with where.system.open_input_file(where.path) as file:
                metadata = parquet.read_metadata(file)
        except (pa.ArrowException, OSError):
            return None
        value = (metadata.metadata or {}).get(KEY)
        return None if value is None else (value.decode(errors="replace"), metadata.num_rows)

    def mine(self, names: Iterable[str]) -> list[str]:
        """Return those names that are names of files of scores."""
        return [name for name in names if NAME.fullmatch(name)]

    def write(self, name: str, fingerprint: str, batches: Iterable[pa.RecordBatch]) -> int:
        """Write a file of scores, and return its number of rows. The same rows give the same bytes.

        Raises:
            StoreError: it cannot be written.
        """
        schema = SCORES.with_metadata({KEY: fingerprint.encode()})
        if self.place.is_local:
            return self._write_here(name, schema, batches)
        # An object appears when its upload is complete, never in part. So it needs no temporary name and no rename,
        # which object stores do not have (https://arrow.apache.org/docs/python/filesystems.html).
        sink = pa.BufferOutputStream()
        rows = _write_table(sink, schema, batches)
        self.put(name, sink.getvalue())
        return rows

    def put(self, name: str, data: Any) -> None:
        """Write a file atomically. Raises `StoreError`."""
        where = self.place.below(name)
        with self._telling():
            if self.place.is_local:
                part = self._part(name)
                try:
                    with open(part, "wb") as file:
                        file.write(data)
                    keep_file(Path(part), Path(where.path))
                finally:
                    with suppress(FileNotFoundError):
                        os.remove(part)
                return
            with where.system.open_output_stream(where.path) as stream:
                stream.write(data)

    def content(self, name: str) -> bytes:
        """Return the content of a file. Raises `StoreError`."""
        where = self.place.below(name)
        with self._telling(), where.system.open_input_stream(where.path) as stream:
            content: bytes = stream.read()
        return content

    def remove(self, name: str) -> None:
        """Remove a file if it exists. Raises `StoreError`."""
        where = self.place.below(name)
        with self._telling(), suppress(FileNotFoundError):
            where.system.delete_file(where.path)

    def clean(self) -> None:
        """Remove temporary files of commands that were killed. Raises `StoreError`."""
        for name in self.names() if self.place.is_local else ():
            if _PART.fullmatch(name):
                self.remove(name)
        if self.place.is_local:
            shutil.rmtree(os.path.join(self.place.path, _ROOM), ignore_errors=True)

    @contextmanager
    def room(self) -> Iterator[str]:
        """Yield a temporary folder on this machine, readable by its owner alone, and remove it afterwards.

        It is inside the folder of scores, where `clean` finds it if the command is killed; if the scores go to an
        object store, it is the system's temporary folder.
        """
        if not self.place.is_local:
            with TemporaryDirectory() as folder:
                yield folder
            return
        folder = os.path.join(self.place.path, _ROOM)
        with self._telling():
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder, 0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write_here(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
        part = self._part(name)
        try:
            with self._telling():
                rows = _write_table(part, schema, batches)
                keep_file(Path(part), Path(self.place.path, name))
            return rows
        finally:
            with suppress(FileNotFoundError):
                os.remove(part)

    def _part(self, name: str) -> str:
        """Return a temporary path that Parquet readers ignore and no other process uses."""
        return os.path.join(self.place.path, f".{name}.{os.getpid()}.part")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except (OSError, pa.ArrowException) as problem:
            remedy = "; make room, then give the same command again" if getattr(problem, "errno", 0) in _FULL else ""
            raise StoreError(f"{self.place.address}: {reason(problem)}{remedy}") from None


def _write_table(sink: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write row groups of a fixed size, so that the bytes do not depend on the size of the batches."""
    total, waiting, count = 0, [], 0
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            total, count = total + batch.num_rows, count + batch.num_rows
            waiting.append(batch)
            if count >= _GROUP:
                table = pa.Table.from_batches(waiting, SCORES)
                writer.write_table(table.slice(0, _GROUP).cast(schema), row_group_size=_GROUP)
                waiting = table.slice(_GROUP).to_batches()
                count -= _GROUP
        if waiting or not total:
            writer.write_table(pa.Table.from_batches(waiting, SCORES).cast(schema), row_group_size=_GROUP)
    return total


class Spilling:
    """Sorts rows into the files of buckets; all rows of a run go to the same file.

    A file is a sequence of Arrow streams, each with its own schema, because tables may have different columns. Files
    are opened, appended to and closed again, because there may be more than a process may have open.
    """

    def __init__(self, folder: str, count: int) -> None:
        self._paths = [os.path.join(folder, f"bucket-{number:05}.arrows") for number in range(count)]
        self._most = max(_HELD_BYTES, count * _SMALLEST_PIECE)
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0
        for path in self._paths:
            _write(path, b"", "wb")

    def add(self, batch: pa.RecordBatch, runs: list[str]) -> None:
        """Add rows, each with the name of its run.

        Raises:
            InputError: a file cannot be written.
        """
        import pyarrow as pa

        self._waiting.append(batch.append_column(RUN, pa.array(runs, pa.string())))
        self._size += batch.nbytes
        if self._size >= self._most:
            self._write()

    def finish(self) -> list[str]:
        """Write what is still in memory, and return the files."""
        self._write()
        return self._paths

    def _write(self) -> None:
        import pyarrow as pa

        waiting, self._waiting, self._size = self._waiting, [], 0
        for _, batches in groupby(waiting, lambda batch: batch.schema):
            self._write_table(pa.Table.from_batches(batches))

    def _write_table(self, table: pa.Table) -> None:
        import pyarrow as pa

        count = len(self._paths)
        # Not `hash`, which differs in every process (PYTHONHASHSEED): a run must always go to the same bucket.
        numbers = [crc32(run.encode("utf-8", "replace")) % count for run in table.column(RUN).to_pylist()]
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        table = table.combine_chunks().take(pa.array(order, pa.int64()))
        first = 0
        for number, rows in groupby(order, numbers.__getitem__):
            size = len(list(rows))
            _write(self._paths[number], _stream(table.slice(first, size)), "ab")
            first += size


def spilled(path: str, runs: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows in the file of a bucket, or only those of these runs.

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
    # LZ4 is the cheapest codec, and each piece is soon removed; some builds of Arrow do not have it.
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
        """Its name in messages."""

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows, with these columns only."""


class ParquetSpans:
    """A Parquet file of spans, on this machine or in a file system of Arrow."""

    def __init__(self, path: str, filesystem: Any = None) -> None:
        self.name = path
        self._filesystem = filesystem
        with self._opened() as file:
            self.schema: pa.Schema = file.schema_arrow
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
            self.size = sum(group.total_byte_size for group in groups)
            """Its uncompressed size in bytes."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows, with these columns only.

        Raises:
            InputError: the file is damaged, its columns have changed, or it no longer exists.
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
    """A union-find of traces that share a conversation or session. The smallest trace id represents all of them."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._above: dict[str, str] = {}

    def add(self, groups: Iterable[tuple[str, str]]) -> None:
        """Add traces, each with the id of a conversation or session."""
        for trace, group in groups:
            first = self._first.setdefault(group, trace)
            if first != trace:
                self._unite(self.top(first), self.top(trace))

    def top(self, trace: str) -> str:
        """Return the trace that represents this one and all that are united with it."""
        above = self._above
        while (higher := above.get(trace)) is not None:
            highest = above.get(higher)
            if highest is None:
                return higher
            above[trace] = trace = highest  # path halving, so that later walks are short
        return trace

    def _unite(self, one: str, other: str) -> None:
        if one != other:
            self._above[max(one, other)] = min(one, other)


_BUCKET_BYTES = 32 << 20
_MOST_BUCKETS = 1_024


class SpanBucket(msgspec.Struct, frozen=True):
    """All spans of some runs, in one file. It can be sent to another process of the same machine."""

    number: int
    path: str
    grouping: Grouping
    metadata_attributes: tuple[str, ...]
    limits: Limits
    begun: Beginnings = frozenset()
    """The root spans of agent runs, over all buckets: a run without calls counts if its root span is one of them."""

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the trajectories of its runs, in order of their start.

        Raises:
            InputError: its file cannot be read.
        """
        return self._scattered(spilled(self.path)).trajectories(self.begun)

    def begun_as(self, wanted: Beginnings) -> Beginnings:
        """Return those of the wanted root spans with which a run of an agent or a model begins here."""
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
    """Return the number of buckets for spans of this uncompressed size in bytes."""
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
    """Sort the spans of tables into `count` buckets, each a file in the folder.

    The content of a bucket depends on the spans and the count alone, and the trajectories of all buckets together do
    not depend on the count either. The tables are read twice, unless every trace is a run: first the columns that say
    which traces belong together, then all. Only some batches of rows are in memory at a time.

    Raises:
        ConfigurationError: the grouping is `file`, which tables do not have, or the count is less than 1.
        InputError: a table has no spans or cannot be read, or the folder cannot be written.
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
    """Return those of the given root spans with which a run of an agent or a model begins.

    One such run is enough for each, so the first bucket usually answers for all. Further buckets are read only for
    root spans that are still undecided.
    """
    begun: Beginnings = frozenset()
    for bucket in buckets:
        if begun == roots:
            break
        begun |= bucket.begun_as(roots - begun)
    return begun
