"""From files to fragments: what each file is, by its content, and where it is cut.

All tables of spans of a command are one table, because the spans of a run may be in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from rightcall.errors import InputError
from rightcall.reading import Reading, check_size
from rightcall.scale.columns import Plan, is_span_table
from rightcall.values.trajectory import is_trajectory

from ._batches import open_bytes, open_table, unpacked
from ._files import Source, find_files, is_local, place
from ._fragments import KEY, Fragment, plan_digest
from ._span_buckets import ParquetSpans, bucket_count, span_buckets

_PARQUET = b"PAR1"
_HEAD = 1 << 20
_AT_ONCE = 16
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How large fragments are."""

    rows: int = 131_072
    """Row groups are put together as long as they have no more rows than this."""
    most_rows: int = 524_288
    """A row group with more rows is cut. To score a later part, the parts before it have to be decoded, which takes a
    tenth of the time that scoring them would."""
    size: int = 1 << 25
    """How many bytes of a file of lines are one fragment."""


def find_fragments(
    sources: Sequence[str],
    plan: Plan | None,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    cut: Cut = Cut(),  # noqa: B008 - it is frozen
    out: str | None = None,
    complain: Callable[[InputError], None] | None = None,
) -> list[Fragment]:
    """The parts of the input, in order. They depend on the input alone, and not on who will score them.

    Args:
        sources: Paths, patterns, folders, Delta tables, addresses in object stores.
        plan: What the rows are to be checked against, if they are to be scored.
        reading: How files are read.
        cut: How large fragments are.
        out: The folder of scores; what is in it is not input.
        complain: Hears of files that cannot be read; where there is none, the first of them is raised.

    Raises:
        InputError: nothing is there, or no file at all can be read.
        MissingExtraError: a package is missing that is needed to read it.
    """
    fragments: list[Fragment] = []
    tables: list[Source] = []
    problem: InputError | None = None
    files = find_files(sources, out)
    for file, found in zip(files, _looked_at(files, partial(_cut, reading=reading, cut=cut)), strict=True):
        if found is None:
            tables.append(file)
        elif not isinstance(found, InputError):
            fragments += found
        elif complain is None:
            raise found
        else:
            problem = found
            complain(found)
    fragments += cut_spans(tables, reading)
    if not fragments:
        raise problem or InputError(f"{', '.join(sources)}: there are no trace files")
    digest = "" if plan is None else plan_digest(plan)
    return [msgspec.structs.replace(fragment, plan=digest) for fragment in fragments]


def _looked_at(
    files: Sequence[Source], look: Callable[[Source], list[Fragment] | None]
) -> list[list[Fragment] | InputError | None]:
    """What a look at each file gives, or what is wrong with it. Of far away ones, several are looked at at a time."""

    def looked_at(file: Source) -> list[Fragment] | InputError | None:
        try:
            return look(file)
        except InputError as problem:
            return problem

    if all([is_local(file.address) for file in files]):
        return list(map(looked_at, files))
    with ThreadPoolExecutor(_AT_ONCE) as looking:
        return list(looking.map(looked_at, files))


def _cut(file: Source, reading: Reading, cut: Cut) -> list[Fragment] | None:
    """The fragments of a file; none of a table of spans, because runs lie all over those."""
    made = partial(
        Fragment, path=file.address, stamp=file.stamp, constants=file.constants, reading=reading, size=file.size
    )
    with open_bytes(file.address) as stream:
        head = stream.read(len(_PARQUET))
    if not head.startswith(_PACKED):  # what is packed is measured while it is unpacked
        check_size(file.address, file.size, reading.max_size)
    if head == _PARQUET:
        return _cut_table(file, made, cut)
    if reading.input_format is None and _is_lines(file):
        return list(_cut_lines(file, made, cut, is_packed=head.startswith(_PACKED)))
    return [made(kind="traces")]


def _cut_table(file: Source, made: Callable[..., Fragment], cut: Cut) -> list[Fragment] | None:
    with open_table(file.address) as table:
        if is_span_table(table.schema_arrow):
            return None
        if KEY in (table.schema_arrow.metadata or {}):
            return []  # scores of an earlier command, which lie among the traces
        _check_columns(table.schema_arrow, file.address)
        groups = [table.metadata.row_group(number) for number in range(table.num_row_groups)]
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    return list(_cut_groups(sizes, made, cut))


def _cut_groups(sizes: Sequence[tuple[int, int]], made: Callable[..., Fragment], cut: Cut) -> Iterator[Fragment]:
    """The fragments of row groups, given the rows and bytes of each."""
    first = 0
    for begin, end in _united([rows for rows, _ in sizes], cut.rows):
        rows, size = sum(rows for rows, _ in sizes[begin:end]), sum(size for _, size in sizes[begin:end])
        parts = max(1, -(-rows // cut.most_rows)) if end == begin + 1 else 1
        for number in range(parts):
            skipped, until = rows * number // parts, rows * (number + 1) // parts
            yield made(
                kind="rows",
                begin=begin,
                end=end,
                skipped=skipped,
                rows=until - skipped,
                first_row=first + skipped,
                size=size // parts,
            )
        first += rows


def _check_columns(schema: pa.Schema, address: str) -> None:
    if "calls" not in schema.names:
        known = ", ".join(schema.names[:12])
        raise InputError(
            f"{address}: neither trajectories (a column calls) nor spans (ids of traces and spans, names, attributes); "
            f"its columns are {known}"
        )


def _united(rows: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Row groups that are scored together: the first of each, and the one after its last."""
    begin = count = end = 0
    for end, number in enumerate(rows, start=1):
        if count and count + number > most:
            yield begin, end - 1
            begin, count = end - 1, 0
        count += number
    if end > begin:
        yield begin, end


def _is_lines(file: Source) -> bool:
    """Whether the first line of a file is a trajectory."""
    with open_bytes(file.address) as stream:
        try:
            text = unpacked(stream)
            line = text.readline(_HEAD)
            while line and line.isspace():
                line = text.readline(_HEAD)
        except (OSError, pa.ArrowException):
            return False  # reading the file says what is wrong with it
    return is_trajectory(line)


def _cut_lines(file: Source, made: Callable[..., Fragment], cut: Cut, *, is_packed: bool) -> Iterator[Fragment]:
    if is_packed or file.size <= cut.size:
        yield made(kind="lines")
        return
    parts = -(-file.size // cut.size)
    for number in range(parts):
        begin, end = file.size * number // parts, file.size * (number + 1) // parts
        yield made(kind="lines", begin=begin, end=end, size=end - begin)


def any_remote(fragments: Iterable[Fragment], out: str) -> bool:
    """Whether any of this is in an object store."""
    return not is_local(out) or any([not is_local(fragment.path) for fragment in fragments])


def cut_spans(tables: Sequence[Source], reading: Reading) -> Iterator[Fragment]:
    """The buckets that the spans of tables are to be sorted into. How many there are depends on the tables alone.

    Raises:
        InputError: a table cannot be read.
    """
    if not tables:
        return
    size = sum([_spans(table.address).size for table in tables])
    stamp = sha256("\n".join([f"{table.address} {table.stamp}" for table in tables]).encode("utf-8", "replace"))
    count = bucket_count(size)
    for number in range(count):
        yield Fragment(
            kind="spans",
            path=tables[0].address,
            stamp=stamp.hexdigest(),
            begin=number,
            end=count,
            size=size // count,
            tables=tuple([table.address for table in tables]),
            reading=reading,
        )


def sort_spans(fragments: Sequence[Fragment], folder: str) -> list[Fragment]:
    """The same fragments; those of spans with their buckets, which are files in a folder now.

    Raises:
        ConfigurationError: runs cannot be distinguished in the way that is asked for.
        InputError: a table cannot be read, or the folder cannot be written.
    """
    first = next((fragment for fragment in fragments if fragment.kind == "spans"), None)
    if first is None:
        return list(fragments)
    buckets = span_buckets(
        [_spans(address) for address in first.tables],
        folder,
        first.end,
        grouping=first.reading.grouping,
        metadata_attributes=first.reading.metadata_attributes,
    )
    return [replace(each, bucket=buckets[each.begin]) if each.kind == "spans" else each for each in fragments]


def _spans(address: str) -> ParquetSpans:
    where = place(address)
    return ParquetSpans(where.path, None if where.is_local else where.system)
