"""The columns that go in and come out, and tables of users cast to their types."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rightcall.errors import InputError

CALL = pa.struct(
    [
        pa.field("name", pa.string(), nullable=False),
        ("args", pa.string()),
        ("output", pa.string()),
        ("error", pa.string()),
        ("turn", pa.int64()),
        ("group", pa.string()),
        ("tool_id", pa.string()),
        ("call_id", pa.string()),
        ("span_id", pa.string()),
        ("parent_id", pa.string()),
        ("agent", pa.string()),
        ("start_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("source", pa.string()),
        ("suspected_error", pa.bool_()),
        ("internal", pa.bool_()),
        ("unrecorded", pa.list_(pa.string())),
    ]
)
"""One call. `args` and `output` are JSON; null means not recorded."""

TRAJECTORIES = pa.schema(
    [
        ("id", pa.string()),
        ("trace_id", pa.string()),
        ("case_id", pa.string()),
        ("repeat", pa.int64()),
        pa.field("calls", pa.list_(CALL), nullable=False),
        ("input", pa.string()),
        ("output", pa.string()),
        ("turn_inputs", pa.list_(pa.string())),
        ("turn_outputs", pa.list_(pa.string())),
        ("calls_recorded", pa.bool_()),
        ("unordered", pa.list_(pa.struct([("first", pa.int64()), ("end", pa.int64())]))),
        ("duration_ns", pa.int64()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("metadata", pa.string()),
        ("warnings", pa.list_(pa.string())),
        ("withheld", pa.list_(pa.struct([("name", pa.string()), ("args", pa.string()), ("reason", pa.string())]))),
    ]
)
"""A trajectory a row. Only `calls` has to be there, as structs with at least a name or as a list of names."""

SCORES = pa.schema(
    [
        ("id", pa.string()),
        ("case_id", pa.string()),
        ("repeat", pa.int64()),
        pa.field("verdict", pa.string(), nullable=False),
        ("score", pa.float64()),
        (
            "measures",
            pa.list_(pa.struct([("evaluator", pa.string()), ("verdict", pa.string()), ("score", pa.float64())])),
        ),
        ("diagnoses", pa.list_(pa.struct([("evaluator", pa.string()), ("code", pa.string()), ("tool", pa.string())]))),
        ("seconds", pa.float64()),
        ("label", pa.bool_()),
        ("error", pa.string()),
    ]
)
"""A result a row, in the order of the trajectories. A row that belongs to no case has no `case_id`. `repeat` is the
number that the trace says, and `label` whether its source calls it a success, where that is compared."""
_NAMED_OTHERWISE = {"arguments": "args"}
_IDS = ("id", "trace_id", "case_id", "span_id", "parent_id")


def conforming(batch: pa.RecordBatch, fields: Collection[str] | None = None) -> pa.RecordBatch:
    """The columns of a batch that a table of trajectories has, each in the type that it has there.

    Ids may be bytes or numbers, times may be timestamps, texts and numbers of any width. Names alone stay names. With
    `fields`, other fields of calls are left out.

    Raises:
        InputError: there are no calls, or a column holds something else than it should.
    """
    if "calls" not in batch.schema.names:
        found = ", ".join(batch.schema.names[:20])
        raise InputError(f"a table of trajectories has a column 'calls'; this one has {found or 'none at all'}")
    known = [field for field in TRAJECTORIES if field.name in batch.schema.names]
    held = [batch.column(field.name) for field in known]
    columns = [
        _calls(column, fields) if field.name == "calls" else _converted(column, field, "the column")
        for column, field in zip(held, known, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, [field.name for field in known])


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a batch as objects, as `trajectory_of` takes them. Raises as `conforming` does."""
    known = conforming(batch)
    try:
        rows: list[dict[str, Any]] = known.to_pylist()
    except UnicodeDecodeError:
        rows = with_readable_texts(known).to_pylist()
    return rows


def with_readable_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch in which texts are UTF-8, of which Arrow does not make sure: what is not becomes escapes."""
    return pa.RecordBatch.from_arrays([_readable(column) for column in batch.columns], batch.schema.names)


def _readable(column: pa.Array) -> pa.Array:
    if pa.types.is_string(column.type):
        texts = column.cast(pa.binary()).to_pylist()
        return pa.array([None if text is None else text.decode("utf-8", "backslashreplace") for text in texts])
    if pa.types.is_struct(column.type):
        fields = [_readable(pc.struct_field(column, index)) for index in range(column.type.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(column.type), mask=column.is_null())
    if pa.types.is_list(column.type):
        return _with_values(column, _readable)
    return column


def _calls(column: pa.Array, fields: Collection[str] | None) -> pa.Array:
    held = getattr(column.type, "value_type", None)
    if not _is_list(column.type) or not (_is_text(held) or pa.types.is_struct(held)):
        raise InputError(f"'calls' is a list of names or of structs, not {column.type}")
    lists = _lists(column, held)
    if held == pa.string():
        return lists
    if pa.types.is_struct(held):
        return _with_values(lists, lambda structs: _structs(structs, fields))
    return _with_values(lists, lambda names: names.cast(pa.string()))


def _structs(values: pa.StructArray, fields: Collection[str] | None) -> pa.StructArray:
    names = [field.name for field in values.type]
    if "name" not in names:
        raise InputError(f"the calls have no 'name'; they have {', '.join(names) or 'nothing'}")
    known = {name: _known(name, names) for name in names}
    wanted = {name: CALL.field(ours) for name, ours in known.items() if ours and (fields is None or ours in fields)}
    if [(field.name, field.type) for field in values.type] == [(field.name, field.type) for field in wanted.values()]:
        return values
    columns = [_converted(pc.struct_field(values, name), field, "calls:") for name, field in wanted.items()]
    made = [pa.field(field.name, field.type) for field in wanted.values()]
    return pa.StructArray.from_arrays(columns, fields=made, mask=values.is_null())


def _known(name: str, names: list[str]) -> str:
    """Which field of calls a field of a table is; nothing where it is none."""
    ours = _NAMED_OTHERWISE.get(name, name)
    return ours if CALL.get_field_index(ours) >= 0 and (ours == name or ours not in names) else ""


def _converted(column: pa.Array, field: pa.Field, where: str) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        if field.type == pa.string():
            return _texts(column, field.name)
        if pa.types.is_timestamp(column.type):
            return column.cast(pa.timestamp("ns")).cast(field.type)
        if pa.types.is_duration(column.type):
            return column.cast(pa.duration("ns")).cast(field.type)
        return column.cast(field.type)
    except pa.ArrowException:
        raise InputError(f"{where} {field.name!r} holds {column.type}; it should hold {field.type}") from None


def _texts(column: pa.Array, name: str) -> pa.Array:
    if _is_text(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    if name in _IDS and pa.types.is_integer(column.type):
        return column.cast(pa.string())
    if name in _IDS and (pa.types.is_binary(column.type) or pa.types.is_fixed_size_binary(column.type)):
        return pa.array([None if held is None else held.hex() for held in column.to_pylist()], pa.string())
    raise pa.ArrowInvalid(f"no text: {column.type}")


def _with_values(column: pa.ListArray, change: Callable[[pa.Array], pa.Array]) -> pa.ListArray:
    """Lists of the same lengths, their values changed."""
    offsets = column.offsets
    first, end = offsets[0].as_py(), offsets[-1].as_py()
    values = change(column.values.slice(first, end - first))
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(pc.subtract(offsets, pa.scalar(first, pa.int32())), values, mask=mask)


def _lists(column: pa.Array, held: pa.DataType) -> pa.ListArray:
    if pa.types.is_list(column.type):
        return column
    if _is_view(column.type):  # pyarrow 26 casts these to lists without their last offset
        return pa.array(column.to_pylist(), pa.list_(held))
    return column.cast(pa.list_(held))


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or _is_view(kind))


def _is_view(kind: pa.DataType) -> bool:
    tests = [getattr(pa.types, name, None) for name in ("is_list_view", "is_large_list_view")]
    return any([test is not None and test(kind) for test in tests])


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", None)
    return bool(types.is_string(kind) or types.is_large_string(kind) or (is_view is not None and is_view(kind)))
