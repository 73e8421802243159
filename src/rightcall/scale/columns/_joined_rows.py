"""Rows with the cases they belong to: by a column, by what the metadata say, by the name of the file, or by fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from rightcall.cases.verdicts import CASE_ATTRIBUTE, recorded_repeat
from rightcall.errors import InputError
from rightcall.reading import CASES, REPEATS
from rightcall.values.decoding import decode_json
from rightcall.values.results import success_of

from ._conform import conforming
from ._plan import Plan
from ._rows import trajectory_of

DOUBT = "rightcall.doubt"
"""The column that says why it is unknown whether a case applies. A batch that has it is joined already."""
_CASES = (CASE_ATTRIBUTE, *CASES)
_REPEATS = ("rightcall.repeat", *REPEATS)
TOLD_COLUMNS = frozenset({*_CASES, *_REPEATS})
"""Columns of a table of trajectories that say the case of a row, and which repeat it is."""


def joined_rows(batch: pa.RecordBatch, plan: Plan) -> tuple[pa.RecordBatch, list[int] | None]:
    """Return a batch whose rows name their cases, and for each row the number of the row it was made of.

    A row that fits several cases is there once for each. The numbers are `None` where rows stay as they are.

    Raises:
        InputError: the batch has no column of calls, or a column of another type than it should have.
    """
    if DOUBT in batch.schema.names:
        return batch, None
    batch = _with_case_and_repeat(batch, plan)
    finder = plan.joining()
    if finder is None or not (finder.by_fit or plan.every is not None):
        return batch, None
    rows: list[int] = []
    names: list[str | None] = []
    doubts: list[str | None] = []
    for number, row in enumerate(conforming(batch).to_pylist()):
        try:
            matches = finder.matches(trajectory_of(row))
        except InputError:  # the row is an error when it is judged, whatever case it is of
            matches = []
        rows += [number] * max(1, len(matches))
        names += [match.case.id for match in matches] or [None]
        doubts += [match.doubt or None for match in matches] or [None]
    made = batch.take(pa.array(rows, pa.int64()))
    made = with_column(made, "case_id", pa.array(names, pa.string()))
    return with_column(made, DOUBT, pa.array(doubts, pa.string())), rows


def _with_case_and_repeat(batch: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """Return a batch with the columns `case_id` and `repeat`, as far as other columns or the metadata tell them."""
    names = batch.schema.names
    key = plan.rule.name if plan.rule.kind == "key" else ""
    if key:
        column = _texts(batch.column(key)) if key in names else _of_metadata(batch, key)
        batch = with_column(batch, "case_id", column)
    elif "case_id" not in names:
        found = next((name for name in _CASES if name in names), None)
        batch = batch if found is None else with_column(batch, "case_id", _texts(batch.column(found)))
    if "repeat" not in names:
        found = next((name for name in _REPEATS if name in names), None)
        batch = batch if found is None else with_column(batch, "repeat", batch.column(found))
    return batch


def _texts(column: pa.Array) -> pa.Array:
    held = [None if value is None else str(value) for value in column.to_pylist()]
    return pa.array(held, pa.string())


def _of_metadata(batch: pa.RecordBatch, key: str) -> pa.Array:
    held = [metadata.get(key) for metadata in metadata_of(batch)]
    return pa.array([str(each) if isinstance(each, (str, int)) else None for each in held], pa.string())


def metadata_of(batch: pa.RecordBatch) -> list[Mapping[str, Any]]:
    """Return the metadata of each row; empty where there are none, or they cannot be read."""
    if "metadata" not in batch.schema.names:
        return [{}] * batch.num_rows
    return [_object(text) for text in batch.column("metadata").to_pylist()]


def _object(text: Any) -> Mapping[str, Any]:
    try:
        held = decode_json(text) if isinstance(text, (str, bytes)) else text
    except InputError:
        return {}
    return held if isinstance(held, Mapping) else {}


def repeats_of(batch: pa.RecordBatch) -> pa.Array:
    """Return the number of the repeat that each row says it is."""
    if "repeat" in batch.schema.names and batch.column("repeat").null_count < batch.num_rows:
        repeats = batch.column("repeat").to_pylist()
    elif "metadata" in batch.schema.names:
        repeats = [metadata.get("repeat") for metadata in metadata_of(batch)]
    else:
        return pa.nulls(batch.num_rows, pa.int64())
    return pa.array([recorded_repeat({"repeat": each}) for each in repeats], pa.int64())


def labels_of(batch: pa.RecordBatch, key: str | None) -> pa.Array:
    """Return whether the source calls each row a success, by a key of its metadata; null where it says nothing."""
    if key is None:
        return pa.nulls(batch.num_rows, pa.bool_())
    held = (
        batch.column(key).to_pylist()
        if key in batch.schema.names
        else [metadata.get(key) for metadata in metadata_of(batch)]
    )
    return pa.array([success_of(each) for each in held], pa.bool_())


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """Return a batch with a column, in place of one of this name."""
    if name in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(name), name, column)
    return batch.append_column(name, column)
