"""Rows of tables, put aside in one file a bucket."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from rightcall.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

RUN = "rightcall.run"
"""The column that says which run a row belongs to."""

_HELD_BYTES = 32 << 20
_SMALLEST_PIECE = 128 << 10
"""Bytes that each bucket gets at a time, on average: a file is opened and closed for each piece."""


class Spilling:
    """Rows on their way to the files of their buckets; those of one run lie in one file.

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
