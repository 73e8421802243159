"""Delta tables: the files that a table consists of now, and never those that it once consisted of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from rightcall.errors import InputError, MissingExtraError

from ._places import File, Place, found_file, place, reason, telling

LOG = "_delta_log"
_KNOWN = ("id", "trace_id", "case_id")


def delta_files(folder: Place) -> Iterator[tuple[File, tuple[tuple[str, str | None], ...]]]:
    """The files of a table, by name, each with the values of columns that are not in it but in the table's log.

    Raises:
        InputError: the table cannot be read, or not by its files alone.
        MissingExtraError: `deltalake` is not installed.
    """
    table = _table(folder)
    _check(table, folder.address)
    names = [name for name in table.metadata().partition_columns if name in _KNOWN]
    for action in sorted(pa.table(table.get_add_actions(flatten=True)).to_pylist(), key=lambda one: str(one["path"])):
        where = _where(folder, unquote(action["path"]))
        with telling(where.address):
            [info] = where.system.get_file_info([where.path])
        if info.type != fs.FileType.File:
            raise InputError(f"{folder.address}: the table has a file that is not there: {where.address}")
        values = [(name, action[f"partition.{name}"]) for name in names]
        yield found_file(info, where), tuple([(name, None if it is None else str(it)) for name, it in values])


def _where(folder: Place, path: str) -> Place:
    """A file of a table; that of a clone may lie in another one."""
    return place(path) if "://" in path else folder.below(path)


def _table(folder: Place) -> Any:
    try:
        import deltalake
    except ImportError:
        raise MissingExtraError(
            f"{folder.address} is a Delta table; to read it: pip install 'rightcall[delta]'"
        ) from None
    try:
        return deltalake.DeltaTable(folder.address)
    except (deltalake.exceptions.DeltaError, OSError) as problem:
        raise InputError(f"{folder.address}: this Delta table cannot be read: {reason(problem)}") from None


def _check(table: Any, address: str) -> None:
    """Refuse a table whose files alone say something else than the table."""
    features = set(table.protocol().reader_features or ())
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise InputError(
            f"{address}: the columns of this Delta table have other names in its files (column mapping); score it with "
            "--engine spark, or write it anew without"
        )
    if "deletionVectors" in features and _has_deleted_rows(table):
        raise InputError(
            f"{address}: rows of this Delta table are deleted but still in its files (deletion vectors); score it with "
            "--engine spark, or write its files anew (REORG TABLE … APPLY (PURGE))"
        )


def _has_deleted_rows(table: Any) -> bool:
    """Whether rows of a table are marked as deleted. Where that cannot be told, they may be."""
    import deltalake

    if not hasattr(table, "deletion_vectors"):
        return True
    try:
        return bool(pa.table(table.deletion_vectors()).num_rows)
    except deltalake.exceptions.DeltaError:
        return True
