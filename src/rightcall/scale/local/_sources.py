"""The files that traces are read from, tables among them; one that cannot be read costs that file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from rightcall.errors import InputError, missing_package
from rightcall.reading import Reading, check_not_server, check_size
from rightcall.values.trajectory import Trajectory, is_trajectory

_PARQUET = b"PAR1"
_HEAD = 1 << 20


class Sources:
    """Files, read one after the other or, with `together`, as one.

    Args:
        reading: How they are read.
        files: Their paths.
        together: Whether they are one source, such as spans in one file and logs in another.
        complain: Hears of files that cannot be read.
        names: What users call a file, where that is not its path.
        is_named: Whether a row of a table is known by its id where it has no trace id.
    """

    def __init__(
        self,
        reading: Reading,
        files: Sequence[str],
        *,
        together: bool = False,
        complain: Callable[[object], None],
        names: Mapping[str, str] | None = None,
        is_named: bool = False,
    ) -> None:
        self.reading, self._complain, self._is_named = reading, complain, is_named
        self._names = names or {}
        self._all: Sequence[str | list[str]] = [list(files)] if together else files
        self._complaints: set[str] = set()
        self.files = () if together else files
        """The files that can be read apart."""
        self.unreadable = 0
        """How many could not be read."""

    @property
    def size_apart(self) -> int:
        """The bytes of the files that can be read apart."""
        # Files that are read as one cannot be shared out among processes, so they do not count.
        size = 0
        for path in self.files:
            with suppress(OSError):  # reading the file says what is wrong with it
                size += os.path.getsize(path)
        return size

    def trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        """All trajectories in the order of the files, each with a name for where it comes from.

        Raises:
            InputError: no file at all can be read.
        """
        self.unreadable = 0
        for source in self._all:
            name = self.name_of(source) if isinstance(source, str) else "trajectory"
            try:
                for trajectory in read_source(source, self.reading, is_named=self._is_named):
                    yield name, trajectory
            except InputError as problem:
                self.cannot_read(problem)

    def cannot_read(self, problem: InputError) -> None:
        """Report a file that cannot be read, once; raise the problem if no file can be."""
        problem = self._renamed(problem)
        self.unreadable += 1
        if self.unreadable == len(self._all):
            raise problem
        if str(problem) not in self._complaints:
            self._complaints.add(str(problem))
            self._complain(problem)

    def name_of(self, path: str) -> str:
        """What users call a file."""
        return self._names.get(path, path)

    def _renamed(self, problem: InputError) -> InputError:
        text = str(problem)
        for path, name in self._names.items():
            text = text.replace(path, name)
        return problem if text == str(problem) else InputError(text)


def read_source(source: str | list[str], reading: Reading, *, is_named: bool) -> Iterator[Trajectory]:
    """Return the trajectories in a file, or in files that are read as one.

    A table of trajectories or of spans is read as such; if it `is_named`, the id of a row that has no trace id is used
    for that.

    Raises:
        InputError: a file, or a row in it, cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    if isinstance(source, str):
        if "://" in source and not os.path.exists(source):
            check_not_server(source)
            raise InputError(f"{source}: data in an object store is scored with --out")
        table = _table(source, reading, is_named) if reading.input_format is None else None
        if table is not None:
            return table
    return reading.read(source)


def _table(path: str, reading: Reading, is_named: bool) -> Iterator[Trajectory] | None:
    """The trajectories in a Parquet file or in JSON lines, if the file is a table of trajectories or spans."""
    try:
        with open(path, "rb") as file:
            # The first line is enough: a table of trajectories shows there, and a trace may have gigabytes.
            head = file.read(len(_PARQUET))
            line = head + file.readline(_HEAD)
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return None  # reading the file says what is wrong with it
    if head == _PARQUET:
        check_size(path, size, reading.max_size)
        return _parquet(path, reading, is_named)
    if not is_trajectory(line):
        return None
    check_size(path, size, reading.max_size)
    return _lines(path, is_named)


def _parquet(path: str, reading: Reading, is_named: bool) -> Iterator[Trajectory] | None:
    try:
        from rightcall.scale.lake import table_batches, table_schema
    except ImportError:
        raise missing_package(f"{path} is a Parquet file, and reading it needs pyarrow", "arrow") from None
    from rightcall.scale.columns import is_span_table, plain_rows, span_trajectories

    schema = table_schema(path)
    if "calls" in schema.names:
        rows = (row for batch in table_batches(path) for row in plain_rows(batch))
        return _trajectories(path, rows, is_named)
    if is_span_table(schema) and "context.span_id" not in schema.names:  # `read` knows those of Phoenix by itself
        return span_trajectories(
            table_batches(path), grouping=reading.grouping, metadata_attributes=reading.metadata_attributes
        )
    return None


def _lines(path: str, is_named: bool) -> Iterator[Trajectory]:
    try:
        from rightcall.scale.lake import line_row
    except ImportError:
        raise missing_package(f"{path} holds trajectories, and reading them needs pyarrow", "arrow") from None

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
