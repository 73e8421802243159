"""The paths in tables and files of any size, counted part by part, in memory that does not grow with the rows."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import pyarrow as pa

from rightcall.errors import InputError, StoreError
from rightcall.reading import Reading
from rightcall.reporting.changes import success
from rightcall.reporting.paths import PathCounts, overview
from rightcall.reporting.reports import paths_plain
from rightcall.scale.columns import FIELDS, ColumnPaths, plain_rows, trajectory_of
from rightcall.values.decoding import decode_json, dump_json, load_json
from rightcall.values.results import Verdict
from rightcall.values.trajectory import Trajectory

from ._batches import Rows, batches
from ._cut import find_fragments, sort_spans
from ._fragments import PATHS, Fragment, Output

Complain = Callable[[InputError], None]


def count_paths(
    sources: Sequence[str],
    counts: PathCounts,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    by: str | None = None,
    complain: Complain | None = None,
) -> int:
    """Count the paths of all rows, and return how many rows could not be read.

    Args:
        sources: Paths, patterns, folders, Delta tables, addresses in object stores.
        counts: What they are added to.
        reading: How files are read.
        by: The key of metadata that says whether a run was a success, such as `reward`.
        complain: Hears of files that cannot be read; where there is none, the first of them is raised.

    Raises:
        InputError: nothing is there, or no file at all can be read.
    """
    counting = ColumnPaths(counts)
    for rows in _rows(sources, reading, complain, None if counts.with_args else FIELDS):
        counting.add(rows.batch, None if by is None else _verdicts(rows.batch, by))
    counting.finish()
    return counting.unreadable


def lake_trajectories(
    sources: Sequence[str],
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    complain: Complain | None = None,
) -> Iterator[Trajectory]:
    """Yield the trajectories in tables and files. A row that cannot be read is one whose calls were not recorded.

    Raises:
        InputError: nothing is there, or no file at all can be read.
    """
    for rows in _rows(sources, reading, complain, None):
        for row in plain_rows(rows.batch):
            try:
                yield trajectory_of(row, leniently=True)
            except InputError as problem:
                yield Trajectory(calls_recorded=False, warnings=(str(problem),))


def write_part(output: Output, fragment: Fragment, counts: PathCounts) -> None:
    """Put the counts of one part beside its scores. Raises `StoreError`."""
    held = {"fingerprint": fragment.fingerprint, "counts": counts.to_plain()}
    output.put(fragment.paths_file, zlib.compress(dump_json(held).encode("utf-8", "surrogatepass"), 6))


def read_part(output: Output, fragment: Fragment) -> PathCounts:
    """Return the counts of one part. Raises `StoreError` where they are damaged, or another command's."""
    where = output.place.below(fragment.paths_file).address
    try:
        held = load_json(zlib.decompress(output.held(fragment.paths_file)).decode("utf-8", "surrogatepass"))
        if held["fingerprint"] == fragment.fingerprint:
            return PathCounts.from_plain(held["counts"])
    except (zlib.error, ValueError, KeyError, TypeError):
        raise StoreError(f"{where}: these counts are damaged; remove the file, and score again") from None
    raise StoreError(f"{where}: another command has written this file; remove it, and score again")


def packed_paths(counts: PathCounts) -> bytes:
    """Return counts as bytes that an engine can carry."""
    return zlib.compress(dump_json(counts.to_plain()).encode("utf-8", "surrogatepass"), 6)


def unpacked_paths(packed: bytes) -> PathCounts:
    """Return the counts that `packed_paths` packed."""
    return PathCounts.from_plain(load_json(zlib.decompress(packed).decode("utf-8", "surrogatepass")))


def write_paths(out: str, counts: PathCounts, *, redacts: bool = True) -> None:
    """Put the paths of all rows beside the scores, as `rightcall paths --format json` has them, and the counts.

    Raises:
        StoreError: the file cannot be written.
    """
    plain = {"schema": 1, **paths_plain(overview(counts, redacts=redacts)), "counts": counts.to_plain()}
    Output(out).put(PATHS, (dump_json(plain, indent=2) + "\n").encode("utf-8", "backslashreplace"))


def read_paths(out: str) -> PathCounts:
    """Return the paths that were counted while a folder was scored. Raises `StoreError`."""
    where = os.path.join(out, PATHS)
    try:
        return PathCounts.from_plain(load_json(Output(out).held(PATHS).decode())["counts"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{where}: this is not a file that `rightcall score --out --paths` wrote") from None


def _rows(
    sources: Sequence[str], reading: Reading, complain: Complain | None, fields: Sequence[str] | None
) -> Iterator[Rows]:
    fragments = find_fragments(sources, None, reading, complain=complain)
    with ExitStack() as held:
        if any([fragment.kind == "spans" for fragment in fragments]):
            fragments = sort_spans(fragments, held.enter_context(TemporaryDirectory(prefix="rightcall-")))
        for fragment in fragments:
            try:
                yield from batches(fragment, fields)
            except InputError as problem:
                if complain is None:
                    raise
                complain(problem)


def _verdicts(batch: pa.RecordBatch, key: str) -> list[Verdict | None]:
    """What the metadata of each row says of its success."""
    if "metadata" not in batch.schema.names:
        return [None] * batch.num_rows
    found: list[Verdict | None] = []
    for text in batch.column("metadata").to_pylist():
        try:
            metadata = decode_json(text) if text is not None else None
        except InputError:
            metadata = None
        found.append(success(metadata.get(key)) if isinstance(metadata, dict) else None)
    return found
