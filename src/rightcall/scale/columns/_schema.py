"""The columns that go in and those that come out."""

from __future__ import annotations

import pyarrow as pa

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
        pa.field("verdict", pa.string(), nullable=False),
        ("score", pa.float64()),
        (
            "measures",
            pa.list_(pa.struct([("evaluator", pa.string()), ("verdict", pa.string()), ("score", pa.float64())])),
        ),
        (
            "diagnoses",
            pa.list_(pa.struct([("evaluator", pa.string()), ("code", pa.string()), ("tool", pa.string())])),
        ),
        ("seconds", pa.float64()),
        ("error", pa.string()),
    ]
)
"""A result a row, in the order of the trajectories. A row that belongs to no case has no `case_id`."""
