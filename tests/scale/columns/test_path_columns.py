"""Paths counted by column are those counted run by run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall.reporting.paths import PathCounts, overview
from rightcall.scale.columns import ColumnPaths, trajectories_batch
from rightcall.values.results import Verdict
from rightcall.values.trajectory import ToolCall, Trajectory

_CALLS = st.builds(
    ToolCall,
    st.sampled_from(["a", "b", "c(d)", "x" * 80]),
    st.just({}),
    st.sampled_from(["ok", "Error"]),
    error=st.sampled_from([None, None, "down"]),
    suspected_error=st.sampled_from([False, False, True]),
    internal=st.sampled_from([False, False, False, True]),
    source=st.sampled_from([None, "span"]),
    start_ns=st.sampled_from([None, 5]),
    end_ns=st.integers(3, 9),
)
_LOST = st.builds(ToolCall, st.sampled_from("ab"), source=st.just("span"))


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    calls = draw(st.lists(st.one_of(_CALLS, _LOST), max_size=4))
    unordered = ((0, len(calls)),) if draw(st.integers(0, 5)) == 0 and calls else ()
    recorded = draw(st.integers(0, 5)) > 0
    return Trajectory(calls=tuple(calls), unordered=unordered, calls_recorded=recorded)


@examples(60)
@given(
    runs=st.lists(st.tuples(trajectories(), st.sampled_from(["passed", "failed", "error"])), max_size=8),
    cut=st.integers(0, 8),
    judged=st.booleans(),
)
def test_columns_give_what_runs_give(runs: list[tuple[Trajectory, Verdict]], cut: int, judged: bool) -> None:
    singly, by_column = PathCounts(), ColumnPaths(PathCounts())
    for trajectory, verdict in runs:
        singly.add(trajectory, verdict if judged else None)

    for part in (runs[:cut], runs[cut:]):
        batch = trajectories_batch([trajectory for trajectory, _ in part])
        by_column.add(batch, [verdict for _, verdict in part] if judged else None)

    assert by_column.finish().to_plain() == singly.to_plain()


def names_table(rows: list[list[str]]) -> pa.RecordBatch:
    return pa.record_batch({"calls": pa.array(rows, pa.list_(pa.string()))})


def test_more_names_than_a_byte_has_are_told_apart() -> None:
    counting = ColumnPaths(PathCounts())

    counting.add(names_table([["n0", "n1"]]))
    counting.add(names_table([[f"n{number}"] for number in range(300)]))
    counting.add(names_table([["n0", "n1"], ["n299", "n1"]]))

    paths = overview(counting.finish())
    assert len(paths.tools) == 300
    assert paths.paths[0].calls == ("n0", "n1")
    assert paths.paths[0].ended.runs == 2
    assert ("n299", "n1") in [path.calls for path in paths.paths]


def test_a_row_that_cannot_be_read_is_one_whose_calls_were_not_recorded() -> None:
    rows: list[Any] = [{"calls": [{"name": "a"}]}, {"calls": None}, {"calls": [{"name": None}]}]
    schema = pa.schema([("calls", pa.list_(pa.struct([("name", pa.string())])))])
    counting = ColumnPaths(PathCounts())

    counting.add(pa.RecordBatch.from_pylist(rows, schema=schema))

    assert counting.finish().routes == {("a",): [0, 0, 1], None: [0, 0, 2]}
    assert counting.unreadable == 2


def test_arguments_are_told_apart_in_tables_too() -> None:
    runs = [Trajectory(calls=(ToolCall("t", {"n": number % 2}),)) for number in range(5)]
    singly, by_column = PathCounts(with_args=True), ColumnPaths(PathCounts(with_args=True))
    for run in runs:
        singly.add(run)

    by_column.add(trajectories_batch(runs))

    assert by_column.finish().to_plain() == singly.to_plain()
