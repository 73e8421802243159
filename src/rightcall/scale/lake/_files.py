"""Find files by path, pattern, folder, Delta table, or address in an object store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from glob import glob, has_magic
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from pyarrow import fs

from rightcall.errors import InputError, MissingExtraError, missing_package

_HIVE = re.compile(r"(?:^|/)(case_id|trace_id|id)=([^/]*)(?=/)")
_NOTHING = "__HIVE_DEFAULT_PARTITION__"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_QUERY = re.compile(r"\?(?=[a-z_]+=)")
LOG = "_delta_log"
_KNOWN = ("id", "trace_id", "case_id")


class File(msgspec.Struct, frozen=True):
    """A file that was found: its address, its size, and a stamp that changes with its content."""

    address: str
    size: int
    stamp: str


class Place(msgspec.Struct, frozen=True):
    """An address, and the file system and path that it stands for."""

    address: str
    system: Any
    """A file system of Arrow."""
    path: str
    """The path in that file system."""

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return is_local(self.address)

    def below(self, name: str) -> Place:
        """Return the place with this name, or relative path, in this folder."""
        return place(joined(self.address, name))


def is_local(address: str) -> bool:
    """Whether an address is a path on this machine."""
    found = _SCHEME.match(address)
    return found is None or found[1].lower() == "file"


def joined(address: str, name: str) -> str:
    """Append a name to the address of a folder, before its query (`?…`)."""
    folder, query = _parted(address)
    return f"{folder.rstrip('/') or '/' * folder.startswith('/')}/{name}{query}".removeprefix("./")


def place(address: str) -> Place:
    """Return the place of an address.

    Raises:
        InputError: the object store cannot be reached.
        MissingExtraError: the package for this object store is not installed.
    """
    found = _SCHEME.match(address)
    if found is None:
        return Place(address, fs.LocalFileSystem(), address)
    path, query = _parted(address)
    if is_local(address):
        return Place(address, fs.LocalFileSystem(), path[found.end() :])
    store, _, rest = path[found.end() :].partition("/")
    system, base = _system(path[: found.end()].lower(), store, query)
    return Place(address, system, f"{base}/{rest}" if rest else base)


def found_file(info: fs.FileInfo, where: Place) -> File:
    """Make a `File` of the information of its file system."""
    return File(where.address, info.size or 0, f"{info.size}-{info.mtime_ns}")


@contextmanager
def read_errors_at(address: str) -> Iterator[None]:
    """Raise an error of Arrow or the system as an `InputError` with one line that names the address."""
    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"{address}: {reason(problem)}") from None


def reason(problem: BaseException) -> str:
    """Return the message of an error of Arrow or the system, on one line."""
    # Arrow appends details of its own to the system's message ("[errno 2] …. Detail: …"), on several lines.
    number = getattr(problem, "errno", None)
    text = os.strerror(number) if isinstance(number, int) else str(problem)
    return " ".join(text.split())[:500] or type(problem).__name__


class Source(File, frozen=True):
    """A file, and the columns that are in the names of its folders or in the log of its Delta table."""

    constants: tuple[tuple[str, str | None], ...] = ()


def find_files(sources: Sequence[str], out: str | None = None) -> list[Source]:
    """Return the files of paths, patterns, folders and addresses: each once, in the order given, then by name.

    A folder stands for all files in it, at any depth, except those in `out` and those whose name, or folder's name,
    begins with `_` or `.`. A Delta table stands for the files of its current version.

    Raises:
        InputError: a source does not exist, or has no files.
        MissingExtraError: the package for this object store, or for Delta tables, is not installed.
    """
    found: dict[str, Source] = {}
    for source in sources:
        all_files = list(_found(source))
        files = [file for file in all_files if out is None or not _is_below(file.address, out)]
        if not files:
            left_out = f", but in {out}, where the scores go" if all_files else ""
            raise InputError(f"{source}: there are no trace files{left_out}")
        for file in files:
            found.setdefault(file.address, file)
    return list(found.values())


def _found(source: str) -> Iterator[Source]:
    where = place(source)
    with read_errors_at(source):
        [info] = where.system.get_file_info([where.path])
    if info.type == fs.FileType.Directory:
        yield from _in_folder(where)
    elif info.type != fs.FileType.NotFound:
        yield _source(found_file(info, where))
    elif has_magic(where.path):
        for address in _matching(where):
            yield from _found(address)
    else:
        raise InputError(f"{source}: No such file or directory")


def _in_folder(folder: Place) -> Iterator[Source]:
    with read_errors_at(folder.address):
        [log] = folder.system.get_file_info([f"{folder.path.rstrip('/')}/{LOG}"])
        if log.type == fs.FileType.Directory:
            for file, values in delta_files(folder):
                yield Source(file.address, file.size, file.stamp, values)
            return
        listed = folder.system.get_file_info(fs.FileSelector(folder.path))
    for info in sorted(listed, key=lambda info: info.base_name):
        below = folder.below(info.base_name)
        if info.base_name.startswith(("_", ".")):
            continue
        if info.type == fs.FileType.Directory:
            yield from _in_folder(below)
        elif info.type == fs.FileType.File:
            yield _source(found_file(info, below))


def _source(file: File) -> Source:
    """Add the columns in the names of a file's folders, such as `case_id=refund/part-0.parquet`."""
    values = [(name, None if value == _NOTHING else unquote(value)) for name, value in _HIVE.findall(file.address)]
    return Source(file.address, file.size, file.stamp, tuple(values))


def _matching(where: Place) -> Iterable[str]:
    """Return the addresses that match a pattern, sorted by name."""
    if where.address == where.path:
        return sorted(path for path in glob(where.path, recursive=True) if not os.path.basename(path).startswith("_"))
    parts = where.path.split("/")
    fixed = next(number for number, part in enumerate(parts) if has_magic(part))
    base, pattern = "/".join(parts[:fixed]), re.compile(_regex("/".join(parts[fixed:])))
    root = where.address[: where.address.index("/".join(parts[fixed:]))].rstrip("/")
    with read_errors_at(where.address):
        listed = where.system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    names = [info.path.lstrip("/").removeprefix(f"{base}/") for info in listed if info.type == fs.FileType.File]
    return [joined(root, name) for name in sorted(names) if pattern.fullmatch(name)]


def _regex(pattern: str) -> str:
    """Convert a glob pattern to a regular expression: `**` crosses folders, `*` and `?` do not."""
    made = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]]+\])", pattern)
    return "".join(
        [made.get(part) or (part.replace("[!", "[^") if part[:1] == "[" else re.escape(part)) for part in parts]
    )


def _is_below(address: str, folder: str) -> bool:
    if is_local(address) and is_local(folder):
        inside, outside = os.path.realpath(address), os.path.realpath(folder)
        return inside == outside or inside.startswith(outside.rstrip("/") + "/")
    return address.startswith(folder.rstrip("/") + "/")


def delta_files(folder: Place) -> Iterator[tuple[File, tuple[tuple[str, str | None], ...]]]:
    """Yield the files of a Delta table by name, each with its partition columns, which only the log has.

    Raises:
        InputError: the table cannot be read, or its files alone are not enough (see `_check`).
        MissingExtraError: `deltalake` is not installed.
    """
    table = _table(folder)
    _check(table, folder.address)
    names = [name for name in table.metadata().partition_columns if name in _KNOWN]
    for action in sorted(pa.table(table.get_add_actions(flatten=True)).to_pylist(), key=lambda one: str(one["path"])):
        path = unquote(action["path"])
        where = place(path) if "://" in path else folder.below(path)  # files of a shallow clone are in another table
        with read_errors_at(where.address):
            [info] = where.system.get_file_info([where.path])
        if info.type != fs.FileType.File:
            raise InputError(f"{folder.address}: the table has a file that is not there: {where.address}")
        values = [(name, action[f"partition.{name}"]) for name in names]
        yield found_file(info, where), tuple([(name, None if it is None else str(it)) for name, it in values])


def _table(folder: Place) -> Any:
    try:
        import deltalake
    except ImportError:
        raise missing_package(f"{folder.address} is a Delta table, and reading it needs deltalake", "delta") from None
    try:
        return deltalake.DeltaTable(folder.address)
    except (deltalake.exceptions.DeltaError, OSError) as problem:
        raise InputError(f"{folder.address}: this Delta table cannot be read: {reason(problem)}") from None


def _check(table: Any, address: str) -> None:
    """Raise `InputError` for a table whose files alone give other columns or rows than the table."""
    features = set(table.protocol().reader_features or ())
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise InputError(
            f"{address}: the columns of this Delta table have other names in its files (column mapping); score it with "
            "--engine spark, or rewrite it without"
        )
    if "deletionVectors" in features and _has_deleted_rows(table):
        raise InputError(
            f"{address}: rows of this Delta table are deleted but still in its files (deletion vectors); score it with "
            "--engine spark, or rewrite its files (REORG TABLE … APPLY (PURGE))"
        )


def _has_deleted_rows(table: Any) -> bool:
    """Whether rows of a table are marked as deleted; true if that cannot be found out."""
    import deltalake

    if not hasattr(table, "deletion_vectors"):
        return True
    try:
        return bool(pa.table(table.deletion_vectors()).num_rows)
    except deltalake.exceptions.DeltaError:
        return True


@lru_cache(maxsize=64)
def _system(scheme: str, store: str, query: str) -> tuple[Any, str]:
    """Return the file system of a store, and the prefix of paths in it.

    Arrow gets the store without a path: it parses an address as a URI, in which a space or an umlaut is an error.
    """
    # The variables of the AWS SDKs (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html), which
    # Arrow's own client does not read in all of its versions.
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if scheme == "s3://" and endpoint and "endpoint_override" not in query:
        protocol, _, host = endpoint.rpartition("://")
        query += f"{'&' if query else '?'}endpoint_override={host.rstrip('/')}&scheme={protocol or 'https'}"
    try:
        system, base = fs.FileSystem.from_uri(f"{scheme}{store}{query}")
        return system, base.rstrip("/")
    except pa.ArrowInvalid as problem:
        return _foreign(scheme, store, problem), store
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"{scheme}{store}: {reason(problem)}") from None


def _foreign(scheme: str, store: str, problem: Exception) -> Any:
    """Return a file system that Arrow does not know, through fsspec."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError(
            f"{scheme}{store}: Arrow says: {reason(problem)}; to go through fsspec instead, install it and its package "
            f"for {scheme}"
        ) from None
    try:
        return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme.removesuffix("://"))))
    except ImportError as missing:
        raise MissingExtraError(f"{scheme}{store}: {missing}") from None
    except ValueError as unknown:
        raise InputError(f"{scheme}{store}: {reason(unknown)}; Arrow says: {reason(problem)}") from None


def _parted(address: str) -> tuple[str, str]:
    """Split an address into the part before its query and the query. A `?` in a local path or a pattern starts none."""
    found = None if is_local(address) else _QUERY.search(address)
    return (address[: found.start()], address[found.start() :]) if found else (address, "")
