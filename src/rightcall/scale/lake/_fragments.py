"""Parts of the input, each scored by one task into one file, and the folder of these files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any, Literal

import msgspec
import pyarrow as pa
from pyarrow import fs, parquet

from rightcall.errors import InputError, StoreError
from rightcall.files import keep_file
from rightcall.reading import Reading
from rightcall.scale.columns import SCORES, Plan
from rightcall.values.decoding import dump_json
from rightcall.version import __version__

from ._files import Place, place, reason
from ._span_buckets import SpanBucket

FORMAT = 1
"""The version of the files of scores. One of another version is scored again."""

Kind = Literal["rows", "lines", "traces", "spans"]
"""Row groups of a table of trajectories, a range of bytes of a file of trajectories as JSON lines, a whole file of
traces in any format, or a bucket of tables of spans."""

_LONGEST_STEM = 60
_DIGEST = 12
NAME = re.compile(rf".+-\d{{9,}}-[0-9a-f]{{{_DIGEST}}}\.parquet", re.ASCII)
"""What the names of files of scores look like."""
KEY = b"rightcall.scores"
"""Where the schema of a file of scores holds its fingerprint."""
SUMMARY = "_summary.json"
PATHS = "_paths.json"
_LOCK = "_lock"
_ROOM = "_spans"
_GROUP = 65_536
"""Rows in a row group. It is fixed, so that the same rows make the same bytes whatever batches they came in."""
_ATTEMPTS, _PAUSE = 40, 0.05
"""Two seconds in all: longer than the workers of a killed command take to end."""
_PART = re.compile(
    rf"\.(?:{NAME.pattern}|{re.escape(SUMMARY)}|{re.escape(PATHS)}|_{NAME.pattern}\.paths)\.\d+\.part", re.ASCII
)
# EFBIG, ENOSPC and, on Linux, EDQUOT: what a user can do something about.
_FULL = (27, 28, 122)


class Fragment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the input. With the plan, it is all that a worker has to know."""

    kind: Kind
    path: str
    """The address of the file; of a bucket, of the first table of spans."""
    stamp: str
    """What changes when the file changes: its size, and when that was."""
    begin: int = 0
    """The first row group, byte or bucket."""
    end: int = 0
    """The one after the last; of buckets, how many there are."""
    skipped: int = 0
    """Rows at the beginning of the row group that belong to another fragment."""
    rows: int | None = None
    """How many rows there are; none where that is not known before they are read."""
    first_row: int = 0
    """The number of its first row in the file, for rows that have no id."""
    size: int = 0
    """About how many bytes are read, to tell how much is left."""
    constants: tuple[tuple[str, str | None], ...] = ()
    """Columns that are in no file, but in the names of folders, and have one value in all rows."""
    named: tuple[tuple[str, str | int | None], ...] = ()
    """Columns that the name of the file has, in place of those of its rows."""
    reading: Reading = Reading()
    tables: tuple[str, ...] = ()
    """Of a bucket, the addresses of all tables of spans."""
    bucket: SpanBucket | None = None
    """The bucket itself, where its spans have been sorted into it."""
    plan: str = ""
    """The digest of the plan that it is to be scored by."""
    counts_paths: bool = False
    """Whether the paths of its rows are counted too. That changes nothing in the scores."""

    @property
    def part(self) -> str:
        """Which part of its file it is, in words; empty where it is all of it."""
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
        """The name of its file of scores: the same in every run, and another one for every other part and path."""
        stem = re.sub(r"[^A-Za-z0-9.-]+", "_", re.split(r"[/\\]", self.path)[-1].partition(".")[0]).strip("._-")
        place = dump_json([self.kind, self.path, self.begin, self.end, self.skipped])
        first = self.first_row if self.kind == "rows" else self.begin
        return f"{stem[:_LONGEST_STEM] or 'scores'}-{first:09}-{_digest(place)}.parquet"

    @property
    def paths_file(self) -> str:
        """The name of the file with the counts of its paths. Readers of Parquet pass over what begins with `_`."""
        return f"_{self.file}.paths"

    @property
    def fingerprint(self) -> str:
        """What changes when its scores may: the plan, the file, which part of it, and how it is read."""
        what = [self.kind, self.path, self.stamp, self.begin, self.end, self.skipped, self.rows, self.first_row]
        how = [dict(self.constants), dict(self.named), msgspec.to_builtins(self.reading)]
        return sha256(dump_json([FORMAT, __version__, self.plan, what, how]).encode()).hexdigest()


def plan_digest(plan: Plan) -> str:
    """What changes when a plan does, or code that it names; not the place of its file."""
    chosen = [plan.case_globs, plan.tags, None if plan.case_ids is None else sorted(plan.case_ids), plan.join]
    digest = sha256(plan.text + dump_json([plan.is_eval_set, *chosen]).encode())
    for file in plan.code_files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]


class Output:
    """A folder of files of scores, on this machine or in an object store."""

    def __init__(self, address: str) -> None:
        self.place: Place = place(address)

    def make(self) -> None:
        """Make the folder, if it is not there. Raises `StoreError`."""
        with self._telling():
            self.place.system.create_dir(self.place.path, recursive=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands out of a folder on this machine. An object store knows no locks.

        Raises:
            StoreError: another command is at work there.
        """
        if not self.place.is_local:
            yield
            return
        import fcntl  # Windows has none, and no command there gets this far

        with self._telling():
            descriptor = os.open(os.path.join(self.place.path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    # The workers of a command that was killed hold it for the moment they need to find that out.
                    sleep(_PAUSE if attempt < _ATTEMPTS - 1 else 0)
            else:
                raise StoreError(f"{self.place.address}: another command is writing scores to this folder")
            yield
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """Return the names of all files in it. Raises `StoreError`."""
        with self._telling():
            found = self.place.system.get_file_info(fs.FileSelector(self.place.path, allow_not_found=True))
        return sorted([info.base_name for info in found if info.type == fs.FileType.File])

    def fingerprint(self, name: str) -> tuple[str, int] | None:
        """The fingerprint of a file of scores and its number of rows; none where it is something else."""
        where = self.place.below(name)
        try:
            with where.system.open_input_file(where.path) as file:
                metadata = parquet.read_metadata(file)
        except (pa.ArrowException, OSError):
            return None
        held = (metadata.metadata or {}).get(KEY)
        return None if held is None else (held.decode(errors="replace"), metadata.num_rows)

    def mine(self, names: Iterable[str]) -> list[str]:
        """Those of some names that files of scores have."""
        return [name for name in names if NAME.fullmatch(name)]

    def write(self, name: str, fingerprint: str, batches: Iterable[pa.RecordBatch]) -> int:
        """Write a file of scores, and say how many rows there are. The same rows make the same bytes.

        Raises:
            StoreError: it cannot be written.
        """
        schema = SCORES.with_metadata({KEY: fingerprint.encode()})
        if self.place.is_local:
            return self._write_here(name, schema, batches)
        # An object appears when its upload is complete, and never in part: written in memory first, it needs no rename,
        # which object stores have not got (https://arrow.apache.org/docs/python/filesystems.html).
        sink = pa.BufferOutputStream()
        rows = _write_table(sink, schema, batches)
        self.put(name, sink.getvalue())
        return rows

    def put(self, name: str, data: Any) -> None:
        """Put a file there, all of it or nothing. Raises `StoreError`."""
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

    def held(self, name: str) -> bytes:
        """Return what a file there holds. Raises `StoreError`."""
        where = self.place.below(name)
        with self._telling(), where.system.open_input_stream(where.path) as stream:
            held: bytes = stream.read()
        return held

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises `StoreError`."""
        where = self.place.below(name)
        with self._telling(), suppress(FileNotFoundError):
            where.system.delete_file(where.path)

    def clean(self) -> None:
        """Remove what killed processes left unfinished. Raises `StoreError`."""
        for name in self.names() if self.place.is_local else ():
            if _PART.fullmatch(name):
                self.remove(name)
        if self.place.is_local:
            shutil.rmtree(os.path.join(self.place.path, _ROOM), ignore_errors=True)

    @contextmanager
    def room(self) -> Iterator[str]:
        """A folder on this machine for what is needed in between, for its owner alone; it goes when it is done with.

        It lies with the scores, where the next command finds what a killed one left; for an object store, elsewhere.
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
        """A name that no reader of Parquet takes for a part of the scores, and no other process uses."""
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
    """Write batches in groups of a fixed number of rows, so that the bytes do not depend on how they came."""
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
