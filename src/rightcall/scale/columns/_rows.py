"""Rows of a table as trajectories and back, the columns that go in and come out, and tables of users cast to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UNSET

from rightcall.cases.verdicts import CASE_ATTRIBUTE, recorded_repeat
from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import Grouping, UnorderedSpans, check_grouping, known_columns, span_columns, table_spans
from rightcall.values.decoding import decode_json
from rightcall.values.trajectory import ToolCall, Trajectory, Usage, WithheldCall

_PLAIN = ("error", "turn", "group", "tool_id", "call_id", "span_id", "parent_id", "agent", "start_ns", "end_ns")
_encode = msgspec.json.Encoder().encode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_SHORT = DEFAULT_LIMITS.depth
"""The most characters of a string that cannot be nested too deeply, and need not be checked for that."""
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
number in the trace, and `label` whether its source calls it a success, if that is compared."""
_NAMED_OTHERWISE = {"arguments": "args"}
_IDS = ("id", "trace_id", "case_id", "span_id", "parent_id")


def trajectory_of(row: Mapping[str, Any], *, leniently: bool = False) -> Trajectory:
    """Return the trajectory in a row, with its calls in the order of the row.

    If `leniently`, arguments that cannot be read count as not recorded.

    Raises:
        InputError: a value is not what its column should contain.
    """
    calls = row.get("calls")
    if calls is None:
        raise InputError("calls are missing, which is not the same as an empty list")
    usage = Usage(**{key: row.get(key) for key in ("duration_ns", "input_tokens", "output_tokens")})
    recorded = row.get("calls_recorded")
    return Trajectory(
        calls=tuple([_call(call, position, leniently) for position, call in enumerate(calls)]),
        input=value_in(row.get("input")),
        output=value_in(row.get("output")),
        trace_id=row.get("trace_id"),
        metadata=_metadata(row),
        warnings=tuple(row.get("warnings") or ()),
        unordered=tuple([(each["first"], each["end"]) for each in row.get("unordered") or ()]),
        turn_inputs=tuple([value_in(text) for text in row.get("turn_inputs") or ()]),
        turn_outputs=tuple([value_in(text) for text in row.get("turn_outputs") or ()]),
        calls_recorded=True if recorded is None else recorded,
        usage=None if usage == Usage() else usage,
        withheld=tuple([_withheld(call) for call in row.get("withheld") or ()]),
    )


def _call(call: Any, position: int, leniently: bool) -> ToolCall:
    if not isinstance(call, Mapping):
        return ToolCall(name=call)
    args, output = call.get("args"), call.get("output")
    fields = {key: call[key] for key in _PLAIN if call.get(key) is not None}
    unrecorded = frozenset(call.get("unrecorded") or ())
    return ToolCall(
        name=call.get("name"),  # type: ignore[arg-type] # checked there
        args=UNSET if args is None else _args(args, position, leniently),  # type: ignore[arg-type]
        output=UNSET if output is None else value_in(output),
        source=call.get("source"),
        suspected_error=bool(call.get("suspected_error")),
        internal=None if "internal" in unrecorded else bool(call.get("internal")),
        unrecorded=unrecorded,
        **fields,
    )


def _withheld(call: Mapping[str, Any]) -> WithheldCall:
    args = call.get("args")
    return WithheldCall(call["name"], None if args is None else args_in(args), call.get("reason") or "")


def _args(text: str, position: int, leniently: bool) -> Any:
    try:
        return args_in(text)
    except InputError as problem:
        if leniently:
            return UNSET
        raise InputError(f"the arguments of call {position + 1} are {problem}") from None


def args_in(text: str) -> dict[str, Any] | None:
    """Return the arguments in a string. Raises `InputError`, which says what is there instead."""
    try:
        return _decode_object(text) if len(text) <= _SHORT else _checked_args(text)
    except (msgspec.MsgspecError, UnicodeError):
        return _checked_args(text)


def _checked_args(text: str) -> dict[str, Any] | None:
    args = decode_json(text)
    if args is not None and not isinstance(args, dict):
        raise InputError(f"{shown(args)}; they should be an object")
    return args


def value_in(text: str | None) -> Any:
    """Return the value in a string: decoded JSON or, if it is not JSON, the text itself."""
    if text is None:
        return None
    try:
        return decode_json(text)
    except InputError:
        return text


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    value = row.get("metadata")
    metadata = {} if value is None else decode_json(value)
    if not isinstance(metadata, dict):
        raise InputError(f"the metadata are {shown(metadata)}; they should be an object")
    if row.get("case_id") is not None:
        metadata[CASE_ATTRIBUTE] = row["case_id"]
    if row.get("repeat") is not None:
        metadata["repeat"] = row["repeat"]
    return metadata


def trajectories_batch(trajectories: Iterable[Trajectory], case_attribute: str = CASE_ATTRIBUTE) -> pa.RecordBatch:
    """Return trajectories as rows, which `trajectory_of` reads. The id of a row is that of its trace."""
    rows = [_row(trajectory, case_attribute) for trajectory in trajectories]
    return pa.RecordBatch.from_pylist(rows, schema=TRAJECTORIES)


def _row(trajectory: Trajectory, case_attribute: str) -> dict[str, Any]:
    usage = trajectory.usage or Usage()
    case = trajectory.metadata.get(case_attribute)
    return {
        "id": column_text(trajectory.trace_id),
        "trace_id": column_text(trajectory.trace_id),
        "case_id": None if case is None else column_text(str(case)),
        "repeat": recorded_repeat(trajectory.metadata),
        "calls": [_call_row(call) for call in trajectory.calls],
        "input": None if trajectory.input is None else json_text(trajectory.input),
        "output": None if trajectory.output is None else json_text(trajectory.output),
        "turn_inputs": [json_text(each) for each in trajectory.turn_inputs] or None,
        "turn_outputs": [json_text(each) for each in trajectory.turn_outputs] or None,
        "calls_recorded": trajectory.calls_recorded,
        "unordered": [{"first": first, "end": end} for first, end in trajectory.unordered] or None,
        "duration_ns": usage.duration_ns,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "metadata": json_text(dict(trajectory.metadata)) if trajectory.metadata else None,
        "warnings": [column_text(each) for each in trajectory.warnings] or None,
        "withheld": [_withheld_row(call) for call in trajectory.withheld] or None,
    }


def _call_row(call: ToolCall) -> dict[str, Any]:
    row = {field.name: getattr(call, field.name) for field in CALL}
    for key, value in row.items():
        if isinstance(value, str):
            row[key] = column_text(value)
    row["args"] = None if "args" in call.unrecorded else json_text(call.args)
    row["output"] = None if "output" in call.unrecorded else json_text(call.output)
    # A null in the column stands for false, as a column that is not there does.
    unknown = {"internal"} if call.internal is None else set()
    row["unrecorded"] = sorted(call.unrecorded - {"args", "output"} | unknown) or None
    return row


def _withheld_row(call: WithheldCall) -> dict[str, Any]:
    args = None if call.args is None else json_text(call.args)
    return {"name": column_text(call.name), "args": args, "reason": column_text(call.reason)}


def json_text(value: Any) -> str:
    """Return a value as JSON, with `NaN` and infinities as Python writes them: `decode_json` reads it again."""
    try:
        text = _encode(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, a large integer
        return json.dumps(value)
    return json.dumps(value) if b"null" in text else text.decode()  # it writes null for NaN


def column_text(text: str | None) -> str | None:
    """Return text that a column can hold; lone surrogates become escapes."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def is_span_table(schema: pa.Schema) -> bool:
    """Return whether a table is one of spans, recognized by its columns: a span a row, or a trace of MLflow a row."""
    return span_columns(schema) is not None


def span_trajectories(
    batches: Iterable[pa.RecordBatch],
    *,
    grouping: Grouping = "auto",
    metadata_attributes: tuple[str, ...] = (CASE_ATTRIBUTE,),
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Trajectory]:
    """Return the trajectories of spans in columns, in the order in which the runs began.

    Spans may come in any order, which makes no difference to the result, and in tables of different kinds. All of them
    are kept in memory until the last one has come. A span that is there twice counts once.

    Args:
        batches: The spans, or a `pyarrow.Table` of them.
        grouping: What makes a run: `trace`, `conversation` or `session`. By default traces of one conversation or
            session are one run, and traces with nothing of an agent in them are left out beside others.
        metadata_attributes: Attributes of spans to keep in each trajectory's metadata.
        limits: The budgets for what is decoded.

    Raises:
        ConfigurationError: the grouping is `file`, which tables do not have.
        InputError: a batch has no columns of spans.
        UnknownNameError: the grouping is unknown.
    """
    check_grouping(grouping)
    parts = batches.to_batches() if isinstance(batches, pa.Table) else batches
    spans = (
        span
        for batch in parts
        for span in table_spans(batch, known_columns(batch.schema, "the table of spans", metadata_attributes), limits)
    )
    return UnorderedSpans(spans, grouping, metadata_attributes, limits).trajectories()


def conforming(batch: pa.RecordBatch, fields: Collection[str] | None = None) -> pa.RecordBatch:
    """Return the columns of a batch that a table of trajectories has, each cast to its type there.

    Ids may be bytes or numbers, times may be timestamps, strings and numbers of any width. Lists of names stay lists of
    names. With `fields`, other fields of calls are left out.

    Raises:
        InputError: there are no calls, or a column has the wrong type.
    """
    if "calls" not in batch.schema.names:
        found = ", ".join(batch.schema.names[:20])
        raise InputError(f"a table of trajectories has a column 'calls'; this one has {found or 'none at all'}")
    known = [field for field in TRAJECTORIES if field.name in batch.schema.names]
    columns_in = [batch.column(field.name) for field in known]
    columns = [
        _calls(column, fields) if field.name == "calls" else _converted(column, field, "the column")
        for column, field in zip(columns_in, known, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, [field.name for field in known])


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows of a batch as objects, for `trajectory_of`. Raises as `conforming` does."""
    known = conforming(batch)
    try:
        rows: list[dict[str, Any]] = known.to_pylist()
    except UnicodeDecodeError:
        rows = with_readable_texts(known).to_pylist()
    return rows


def with_readable_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in which strings are UTF-8, which Arrow does not ensure: other bytes become escapes."""
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
    value = getattr(column.type, "value_type", None)
    if not _is_list(column.type) or not (_is_text(value) or pa.types.is_struct(value)):
        raise InputError(f"'calls' is a list of names or of structs, not {column.type}")
    lists = _lists(column, value)
    if value == pa.string():
        return lists
    if pa.types.is_struct(value):
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
    """Return the field of calls that a field of a table stands for; empty if there is none."""
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
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    raise pa.ArrowInvalid(f"no text: {column.type}")


def _with_values(column: pa.ListArray, change: Callable[[pa.Array], pa.Array]) -> pa.ListArray:
    """Return lists of the same lengths, with their values changed."""
    offsets = column.offsets
    first, end = offsets[0].as_py(), offsets[-1].as_py()
    values = change(column.values.slice(first, end - first))
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(pc.subtract(offsets, pa.scalar(first, pa.int32())), values, mask=mask)


def _lists(column: pa.Array, wanted: pa.DataType) -> pa.ListArray:
    if pa.types.is_list(column.type):
        return column
    if _is_view(column.type):  # pyarrow 26 casts these to lists without their last offset
        return pa.array(column.to_pylist(), pa.list_(wanted))
    return column.cast(pa.list_(wanted))


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
