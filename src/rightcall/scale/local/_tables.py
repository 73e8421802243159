"""Tables of trajectories among the files that traces are read from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.errors import InputError, MissingExtraError
from rightcall.reading import Grouping, check_size
from rightcall.values.trajectory import Trajectory, is_trajectory

_PARQUET = b"PAR1"
_HEAD = 1 << 20


def table_trajectories(
    path: str, grouping: Grouping, case_attribute: str, *, is_named: bool, max_size: int | None = None
) -> Iterator[Trajectory] | None:
    """The trajectories in a Parquet file or in JSON lines, where they lie there ready made; none where they do not.

    Rows of spans in a Parquet file count too. If it `is_named`, a row's id stands for a trace id that it has not.

    Raises:
        InputError: the file, or a row in it, cannot be read, or the file has more than `max_size` bytes.
        MissingExtraError: pyarrow is not installed.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(len(_PARQUET))
            line = head + file.readline(_HEAD)
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return None  # whoever reads the file says what is wrong with it
    if head == _PARQUET:
        check_size(path, size, max_size)
        return _parquet(path, grouping, case_attribute, is_named)
    if not is_trajectory(line):
        return None
    check_size(path, size, max_size)
    return _lines(path, is_named)


def _parquet(path: str, grouping: Grouping, case_attribute: str, is_named: bool) -> Iterator[Trajectory] | None:
    try:
        from rightcall.scale.lake import table_batches, table_schema
    except ImportError:
        raise MissingExtraError(f"{path} is a parquet file; to read it: pip install 'rightcall[arrow]'") from None
    from rightcall.scale.columns import is_span_table, plain_rows, span_trajectories

    schema = table_schema(path)
    if "calls" in schema.names:
        rows = (row for batch in table_batches(path) for row in plain_rows(batch))
        return _trajectories(path, rows, is_named)
    if is_span_table(schema) and "context.span_id" not in schema.names:  # those the readers know by themselves
        return span_trajectories(table_batches(path), grouping=grouping, metadata_attributes=(case_attribute,))
    return None


def _lines(path: str, is_named: bool) -> Iterator[Trajectory]:
    try:
        from rightcall.scale.lake import line_row
    except ImportError:
        raise MissingExtraError(f"{path} holds trajectories; to read them: pip install 'rightcall[arrow]'") from None

    def rows() -> Iterator[dict[str, Any]]:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                row, problem = line_row(line) if not line.isspace() else ({}, "")
                if problem:
                    raise InputError(f"{path}: line {number}: {problem}")
                if row:
                    yield row

    return _trajectories(path, rows(), is_named)


def _trajectories(path: str, rows: Iterator[dict[str, Any]], is_named: bool) -> Iterator[Trajectory]:
    from rightcall.scale.columns import trajectory_of

    for number, row in enumerate(rows, start=1):
        try:
            trajectory = trajectory_of(row)
        except InputError as problem:
            raise InputError(f"{path}: row {number}: {problem}") from None
        if is_named and trajectory.trace_id is None and row.get("id") is not None:
            trajectory = msgspec.structs.replace(trajectory, trace_id=str(row["id"]))
        yield trajectory


def is_elsewhere(path: str) -> bool:
    """Whether a path is an address in an object store, and nothing here goes by it."""
    return "://" in path and not os.path.exists(path)
