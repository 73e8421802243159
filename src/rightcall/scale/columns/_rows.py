"""Rows of a table as trajectories, and trajectories as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import UNSET

from rightcall.cases.verdicts import CASE_ATTRIBUTE, recorded_repeat
from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import Grouping, UnorderedSpans, check_grouping, known_columns, span_columns, table_spans
from rightcall.values.decoding import decode_json
from rightcall.values.trajectory import ToolCall, Trajectory, Usage, WithheldCall

from ._conform import CALL, TRAJECTORIES

_PLAIN = ("error", "turn", "group", "tool_id", "call_id", "span_id", "parent_id", "agent", "start_ns", "end_ns")
_encode = msgspec.json.Encoder().encode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_SHORT = DEFAULT_LIMITS.depth
"""Characters of a text that has no room to be too deep: it needs no second look."""


def trajectory_of(row: Mapping[str, Any], *, leniently: bool = False) -> Trajectory:
    """The trajectory in a row, in the order its calls have there.

    Taken `leniently`, arguments that cannot be read count as not recorded.

    Raises:
        InputError: a value is not what its column should hold.
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
    """The arguments that a text holds. Raises `InputError`, saying what they are."""
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
    """What a text holds: JSON or, where it is none, the text itself."""
    if text is None:
        return None
    try:
        return decode_json(text)
    except InputError:
        return text


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    held = row.get("metadata")
    metadata = {} if held is None else decode_json(held)
    if not isinstance(metadata, dict):
        raise InputError(f"the metadata are {shown(metadata)}; they should be an object")
    if row.get("case_id") is not None:
        metadata[CASE_ATTRIBUTE] = row["case_id"]
    if row.get("repeat") is not None:
        metadata["repeat"] = row["repeat"]
    return metadata


def trajectories_batch(trajectories: Iterable[Trajectory], case_attribute: str = CASE_ATTRIBUTE) -> pa.RecordBatch:
    """Trajectories as rows, from which `trajectory_of` makes them again. The trace's id is the row's."""
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
    row["unrecorded"] = sorted(call.unrecorded - {"args", "output"}) or None
    return row


def _withheld_row(call: WithheldCall) -> dict[str, Any]:
    args = None if call.args is None else json_text(call.args)
    return {"name": column_text(call.name), "args": args, "reason": column_text(call.reason)}


def json_text(value: Any) -> str:
    """A value as JSON, with `NaN` and infinities as they are written by most: `decode_json` reads it again."""
    try:
        text = _encode(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, a large integer
        return json.dumps(value)
    return json.dumps(value) if b"null" in text else text.decode()  # it writes null for NaN


def column_text(text: str | None) -> str | None:
    """Text that a column can hold; lone surrogates become escapes."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def is_span_table(schema: pa.Schema) -> bool:
    """Whether a table is one of spans, recognized by its columns: a span a row, or a trace of MLflow a row."""
    return span_columns(schema) is not None


def span_trajectories(
    batches: Iterable[pa.RecordBatch],
    *,
    grouping: Grouping = "auto",
    metadata_attributes: tuple[str, ...] = (CASE_ATTRIBUTE,),
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Trajectory]:
    """The trajectories of spans in columns, in the order in which the runs began.

    The spans may come in any order and in tables of different kinds, and all of them are held until the last has come.
    The order makes no difference to what comes out. A span that is there twice counts once.

    Args:
        batches: The spans, or a `pyarrow.Table` of them.
        grouping: What makes a run: `trace`, `conversation` or `session`. By default traces of one conversation or
            session are one run, and traces with nothing of an agent in them are left out beside others.
        metadata_attributes: Attributes of spans to keep in each trajectory's metadata.
        limits: The budgets for what is decoded.

    Raises:
        ConfigurationError: the grouping is `file`, which tables know nothing of.
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
