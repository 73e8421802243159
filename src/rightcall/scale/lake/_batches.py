"""Split files into fragments, and read the rows of a fragment in batches of bounded size.

All tables of spans of a command are read as one, because the spans of a run may be in any of them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import IO, Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from pyarrow import parquet

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS
from rightcall.reading import CASES, REPEATS, Reading, bounded, check_size
from rightcall.scale.columns import (
    CALL,
    TOLD_COLUMNS,
    TRAJECTORIES,
    Plan,
    column_text,
    is_span_table,
    json_text,
    trajectories_batch,
    with_column,
)
from rightcall.values.decoding import decode_json
from rightcall.values.trajectory import Trajectory, is_trajectory

from ._files import Source, find_files, is_local, place, read_errors_at, reason
from ._fragments import KEY, Fragment, Kind, ParquetSpans, bucket_count, plan_digest, span_buckets

ROWS = 16_384
"""Rows in a batch: larger batches need more memory, and are not scored any faster."""
_TRAJECTORIES = 1_024
"""Rows in a batch made from `Trajectory` objects, which need more memory."""
_LONGEST = DEFAULT_LIMITS.text_bytes
_CHUNK = 1 << 20
_NAMES = ("id", "trace_id", "case_id")
_KINDS: dict[str, type[Any]] = {"string": str, "int64": int, "bool": bool}
_MOST = 1 << 63
_VALUES = ("args", "output", "input", "metadata")
_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""Compressions by the first bytes of what they compressed."""
_ROWS = pa.schema([field.with_nullable(True) for field in TRAJECTORIES])
"""`TRAJECTORIES` with all columns nullable: a line that cannot be read is a row without calls."""
_PARQUET = b"PAR1"
_HEAD = 1 << 20
_AT_ONCE = 16


class Rows(msgspec.Struct, frozen=True):
    """A batch of rows, and the problems of those that could not be read, by their index in the batch."""

    batch: pa.RecordBatch
    problems: Mapping[int, str] = {}


def batches(fragment: Fragment, fields: Collection[str] | None = None) -> Iterator[Rows]:
    """Yield the rows of a fragment, with those columns of `TRAJECTORIES` that it has.

    If `fields` are given, only these fields of calls are read from a table.

    Rows without an id get one that says where they are: `FILE#ROW`, or `FILE@BYTE` for JSON lines.

    Raises:
        InputError: the file no longer exists, or is damaged.
    """
    found = _READERS[fragment.kind](fragment) if fragment.kind in _READERS else _table_batches(fragment, fields)
    return (Rows(_by_file(rows.batch, fragment), rows.problems) for rows in found) if fragment.named else found


def _by_file(batch: pa.RecordBatch, fragment: Fragment) -> pa.RecordBatch:
    """Replace columns of a batch by the values in the name of its file (`--join file=`)."""
    for name, value in fragment.named:
        column = pa.repeat(pa.scalar(value, TRAJECTORIES.field(name).type), batch.num_rows)
        batch = with_column(batch, name, column)
    return batch


def _table_batches(fragment: Fragment, fields: Collection[str] | None) -> Iterator[Rows]:
    with open_table(fragment.path) as table:
        columns = _wanted(table, fields, {*TOLD_COLUMNS, *fragment.reading.metadata_attributes})
        groups = list(range(fragment.begin, fragment.end))
        first, left = fragment.first_row, fragment.rows or 0
        skipped = fragment.skipped
        for batch in table.iter_batches(ROWS, row_groups=groups, columns=columns, use_threads=False):
            kept = batch.slice(min(skipped, batch.num_rows), left)
            skipped -= batch.num_rows - max(0, batch.num_rows - skipped)
            if kept.num_rows:
                yield Rows(_named(_completed(kept, fragment), f"{fragment.path}#", first))
            first, left = first + kept.num_rows, left - kept.num_rows
            if not left:
                return


def _wanted(table: parquet.ParquetFile, fields: Collection[str] | None, joining: Collection[str]) -> list[str]:
    """Return the columns to read: those of trajectories, those to join by and, of calls, the wanted fields."""
    known = {*TRAJECTORIES.names, *joining} - {"calls"}
    columns = [name for name in table.schema_arrow.names if name in known]
    value = getattr(table.schema_arrow.field("calls").type, "value_type", None)
    if fields is None or not pa.types.is_struct(value):
        return [*columns, "calls"]
    names = {*fields, *(("arguments",) if "args" in fields else ())}
    paths = [table.schema.column(index).path for index in range(len(table.schema))]
    return [*columns, *[path for path in paths if path.startswith("calls.") and path.rpartition(".")[2] in names]]


@contextmanager
def open_table(address: str) -> Iterator[parquet.ParquetFile]:
    """Open a Parquet file. Raises `InputError` if it is not one, or is damaged."""
    where = place(address)
    try:
        with where.system.open_input_file(where.path) as file:
            # `pre_buffer` merges the reads of an object store into few large requests; a local file needs none.
            yield parquet.ParquetFile(file, pre_buffer=not where.is_local)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:  # the last for names that are not UTF-8
        damaged = "" if isinstance(problem, OSError) else "damaged Parquet data: "
        raise InputError(f"{address}: {damaged}{reason(problem)}") from None


def table_schema(address: str) -> pa.Schema:
    """Return the schema of a Parquet file. Raises `InputError`."""
    with open_table(address) as table:
        return table.schema_arrow


def table_batches(address: str) -> Iterator[pa.RecordBatch]:
    """Yield all rows of a Parquet file, in batches. Raises `InputError`."""
    with open_table(address) as table:
        yield from table.iter_batches(ROWS, use_threads=False)


@contextmanager
def open_bytes(address: str) -> Iterator[IO[bytes]]:
    """Open a file for reading. Raises `InputError`."""
    where = place(address)
    with read_errors_at(address), where.system.open_input_file(where.path) as file:
        yield file


def _line_batches(fragment: Fragment) -> Iterator[Rows]:
    """Yield the lines that begin in the byte range of a fragment."""
    with open_bytes(fragment.path) as stream:
        plain = unpacked(stream, fragment.path, fragment.reading.max_size)
        lines = _lines(plain, fragment.begin, fragment.end)
        read = (_named_row(line, f"{fragment.path}@{begin}") for begin, line in lines)
        while some := list(islice(read, ROWS)):
            yield _rows(some)


def _named_row(line: bytes, name: str) -> tuple[dict[str, Any], str]:
    row, problem = line_row(line)
    row["id"] = row.get("id") or row.get("trace_id") or name
    return row, problem


def _trace_batches(fragment: Fragment) -> Iterator[Rows]:
    where, reading = place(fragment.path), fragment.reading
    if where.is_local:  # by its path, because only then is a large file read block by block
        yield from _trajectory_batches(reading.read(where.path), fragment)
        return
    with open_bytes(fragment.path) as stream:
        try:
            yield from _trajectory_batches(reading.read(stream), fragment)
        except InputError as problem:
            raise InputError(f"{fragment.path}: {problem}") from None


def _trajectory_batches(trajectories: Iterable[Trajectory], fragment: Fragment) -> Iterator[Rows]:
    first, left = 0, iter(trajectories)
    while some := list(islice(left, _TRAJECTORIES)):
        batch = trajectories_batch(some, fragment.reading.case_attribute)
        yield Rows(_named(batch, f"{fragment.path}#", first))
        first += batch.num_rows


def _completed(batch: pa.RecordBatch, fragment: Fragment) -> pa.RecordBatch:
    """Add the columns that are in the names of folders, unless the batch has them."""
    for name, value in fragment.constants:
        if name not in batch.schema.names:
            batch = batch.append_column(name, pa.repeat(pa.scalar(value, pa.string()), batch.num_rows))
    return batch


def _named(batch: pa.RecordBatch, beginning: str, first: int) -> pa.RecordBatch:
    """Give every row an id; rows that have none are named by their number, counted from 1."""
    ids = [batch.column(name) for name in ("id", "trace_id") if name in batch.schema.names]
    if any([not column.null_count for column in ids]):
        return batch
    given = zip(*[column.to_pylist() for column in ids], strict=True) if ids else [()] * batch.num_rows
    made = [next((str(one) for one in some if one is not None), None) for some in given]
    named = [one or f"{beginning}{first + number}" for number, one in enumerate(made, start=1)]
    column = pa.array(named, pa.string())
    if "id" in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index("id"), "id", column)
    return batch.append_column("id", column)


def _bucket_batches(fragment: Fragment) -> Iterator[Rows]:
    if fragment.bucket is None:
        raise InputError(f"{fragment}: its spans have not been sorted into buckets")
    yield from _trajectory_batches(fragment.bucket.trajectories(), fragment)


_READERS: dict[Kind, Callable[[Fragment], Iterator[Rows]]] = {
    "lines": _line_batches,
    "traces": _trace_batches,
    "spans": _bucket_batches,
}


def unpacked(stream: Any, name: str = "", max_size: int | None = None) -> IO[bytes]:
    """Decompress a stream if it is gzip or zstd, up to `max_size` bytes. It has to be at its beginning."""
    buffered = io.BufferedReader(stream, _CHUNK)
    head = buffered.peek(4)[:4]
    for magic, codec in _CODECS.items():
        if head.startswith(magic):
            return bounded(io.BufferedReader(pa.CompressedInputStream(buffered, codec), _CHUNK), name, max_size)
    return buffered


def rows_of(lines: Iterable[bytes]) -> Rows:
    """Convert JSON lines to rows. Lines without an id get none, and empty lines are skipped."""
    return _rows([line_row(line) for line in lines if line.strip()])


def _rows(read: Sequence[tuple[dict[str, Any], str]]) -> Rows:
    problems = {number: problem for number, (_, problem) in enumerate(read) if problem}
    return Rows(pa.RecordBatch.from_pylist([row for row, _ in read], schema=_ROWS), problems)


def line_row(line: bytes) -> tuple[dict[str, Any], str]:
    """Convert a JSON line to a row of `TRAJECTORIES`; if that fails, return a row of its ids and the problem."""
    named: dict[str, Any] = {}
    try:
        if len(line) > _LONGEST:
            raise InputError(f"the line exceeds the limit of {_LONGEST:,} bytes")
        document = decode_json(line)
        if not isinstance(document, dict):
            raise InputError(f"the line is {shown(document)}; it should be an object with calls")
        named = _fields(document, _OF_NAMES)
        return {**_fields(_with_own_keys(document), _OF_ROWS), "calls": _calls(document.get("calls"))}, ""
    except InputError as problem:
        return named, str(problem)


def _with_own_keys(document: dict[str, Any]) -> dict[str, Any]:
    """Copy keys that are not columns into the metadata and, if they name the case or repeat, into that column."""
    others = {key: item for key, item in document.items() if key not in _KNOWN_KEYS and isinstance(item, _PLAIN)}
    if not others:
        return document
    found = dict(document)
    for name, spellings in (("case_id", CASES), ("repeat", REPEATS)):
        value = next((others[each] for each in spellings if each in others), None)
        if found.get(name) is None and value is not None:
            found[name] = value
    metadata = document.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        found["metadata"] = {**others, **(metadata or {})}
    return found


_PLAIN = (str, int, float)
_KNOWN_KEYS = frozenset({*TRAJECTORIES.names, "usage", "schema"})


def _calls(calls: Any) -> list[dict[str, Any]] | None:
    if calls is not None and not isinstance(calls, list):
        raise InputError(f"calls is {shown(calls)}; it should be a list")
    return None if calls is None else [_call(call, number) for number, call in enumerate(calls, start=1)]


def _lines(stream: IO[bytes], begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that begin in a range, each with its position. A line over the limit is cut one byte above it."""
    if begin:
        # A line belongs to the range in which it begins, so the line that `begin` is in the middle of is skipped. From
        # one byte earlier: otherwise a line that begins exactly at `begin` would be skipped, too.
        stream.seek(begin - 1)
        place = begin - 1 + len(stream.readline())
    else:
        place = 0
    while place < end or not end:
        line = stream.readline(_LONGEST + 1)
        if not line:
            return
        length = len(line)
        # The rest of a line that is too long is skipped in pieces: it may be larger than memory.
        while len(line) > _LONGEST and not line.endswith(b"\n"):
            rest = stream.readline(_CHUNK)
            length += len(rest)
            if not rest or rest.endswith(b"\n"):
                break
        if not line.isspace():
            yield place, line
        place += length


def _call(call: Any, number: int) -> dict[str, Any]:
    if isinstance(call, str):
        return {"name": column_text(call)}
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise InputError(f"call {number}: {shown(call)} has no name")
    try:
        return _fields(call, _OF_CALLS)
    except InputError as problem:
        raise InputError(f"call {number}: {problem}") from None


def _fields(document: Mapping[str, Any], known: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Convert the fields of an object that are columns to the types of the columns."""
    return {name: known[name](value) for name, value in document.items() if name in known and value is not None}


def _json(value: Any) -> str | None:
    return column_text(value) if isinstance(value, str) else json_text(value)


def _with_text(call: Any) -> Any:
    """Convert the arguments of a withheld call to JSON text, as the column has them."""
    return {**call, "args": _json(call["args"])} if isinstance(call, Mapping) and call.get("args") is not None else call


def _converter(field: Any) -> Callable[[Any], Any]:
    """Return a function that converts a JSON value to the type of a column, or raises `InputError`."""
    if field.name in _VALUES:
        return _json
    kind = _KINDS.get(str(field.type))

    def converted(value: Any) -> Any:
        # `type() is`, not `isinstance`: a bool is an int in Python, and not in a column.
        if type(value) is kind and (kind is not int or -_MOST <= value < _MOST):
            return column_text(value) if kind is str else value
        if field.name in _NAMES and type(value) is int:
            return str(value)
        if field.name in ("turn_inputs", "turn_outputs") and isinstance(value, list):
            return [_json(each) for each in value]
        if field.name == "withheld" and isinstance(value, list):
            value = [_with_text(each) for each in value]
        try:
            return pa.scalar(value, field.type).as_py()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise InputError(f"{field.name} is {shown(value)}; it should be {field.type}") from None

    return converted


_OF_CALLS = {field.name: _converter(field) for field in CALL}
_OF_ROWS = {field.name: _converter(field) for field in TRAJECTORIES if field.name != "calls"}
_OF_NAMES = {name: _OF_ROWS[name] for name in _NAMES}


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How large fragments are."""

    rows: int = 131_072
    """Row groups are combined up to this number of rows."""
    most_rows: int = 524_288
    """A row group with more rows is split. Reading a later part decodes the parts before it as well, which takes a
    tenth of the time of scoring them."""
    size: int = 1 << 25
    """A file of JSON lines is split into fragments of at most this number of bytes."""


def find_fragments(
    sources: Sequence[str],
    plan: Plan | None,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    cut: Cut = Cut(),  # noqa: B008 - it is frozen
    out: str | None = None,
    complain: Callable[[InputError], None] | None = None,
) -> list[Fragment]:
    """Split the input into fragments, in order. They depend on the input alone, not on the engine or its workers.

    Args:
        sources: Paths, patterns, folders, Delta tables, addresses in object stores.
        plan: What the rows are to be checked against; None if they are not scored.
        reading: How files are read.
        cut: How large fragments are.
        out: The folder of scores; its files are not input.
        complain: Called for each file that cannot be read; by default the first of them is raised.

    Raises:
        InputError: there are no files, or none of them can be read.
        MissingExtraError: a package that is needed to read them is not installed.
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
    """Call `look` for each file, and return its value or its error; for remote files, several at a time."""

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
    """Split a file into fragments; return None for a table of spans: those of a run may be in any row of any table."""
    made = partial(
        Fragment, path=file.address, stamp=file.stamp, constants=file.constants, reading=reading, size=file.size
    )
    with open_bytes(file.address) as stream:
        head = stream.read(len(_PARQUET))
    if not head.startswith(tuple(_CODECS)):  # the size of compressed data is checked while it is decompressed
        check_size(file.address, file.size, reading.max_size)
    if head == _PARQUET:
        return _cut_table(file, made, cut)
    if reading.input_format is None and _is_lines(file):
        return list(_cut_lines(file, made, cut, is_packed=head.startswith(tuple(_CODECS))))
    return [made(kind="traces")]


def _cut_table(file: Source, made: Callable[..., Fragment], cut: Cut) -> list[Fragment] | None:
    with open_table(file.address) as table:
        if is_span_table(table.schema_arrow):
            return None
        if KEY in (table.schema_arrow.metadata or {}):
            return []  # the scores of an earlier command, in the same folder as the traces
        _check_columns(table.schema_arrow, file.address)
        groups = [table.metadata.row_group(number) for number in range(table.num_row_groups)]
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    return list(_cut_groups(sizes, made, cut))


def _cut_groups(sizes: Sequence[tuple[int, int]], made: Callable[..., Fragment], cut: Cut) -> Iterator[Fragment]:
    """Split or combine row groups into fragments, given the rows and bytes of each."""
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
    """Yield ranges of row groups to score together: up to `most` rows, but at least one group."""
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
    """Whether the output or any fragment is in an object store."""
    return not is_local(out) or any([not is_local(fragment.path) for fragment in fragments])


def cut_spans(tables: Sequence[Source], reading: Reading) -> Iterator[Fragment]:
    """Yield a fragment for each bucket that spans are to be sorted into. Their number depends on the tables alone.

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
    """Sort spans into buckets, which are files in the folder, and return the fragments with their buckets.

    Raises:
        ConfigurationError: the spans of tables cannot be grouped in the way that is asked for.
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
