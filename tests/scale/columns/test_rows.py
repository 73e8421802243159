"""Trajectories survive the way into columns and back."""

from __future__ import annotations

import math

import pytest
from tests.reading.corpus import inputs, names

from rightcall import InputError, ToolCall, Trajectory, read
from rightcall.scale.columns import TRAJECTORIES, trajectories_batch, trajectory_of
from rightcall.values.trajectory import Usage, WithheldCall


@pytest.mark.parametrize("run", names())
def test_a_recording_comes_back_as_it_was(run: str) -> None:
    trajectories = [trajectory for data in inputs(run).values() for trajectory in read(data)]

    batch = trajectories_batch(trajectories)

    assert batch.schema == TRAJECTORIES
    assert [trajectory_of(row) for row in batch.to_pylist()] == trajectories


def test_a_call_of_which_it_is_not_known_whether_it_is_the_frameworks_own_stays_one() -> None:
    [row] = trajectories_batch(
        [Trajectory(calls=(ToolCall("transfer_to_billing", {}, None, internal=None),))]
    ).to_pylist()

    assert trajectory_of(row).calls[0].internal is None


def test_values_that_json_has_no_word_for_come_back() -> None:
    made = Trajectory(
        calls=(ToolCall("a", {"big": 10**40, "half": "\ud800", "$float": "nan"}, [math.inf, None]), ToolCall("b")),
        output="null",
        usage=Usage(input_tokens=3),
        metadata={"rightcall.case.id": "first"},
    )

    [row] = trajectories_batch([made]).to_pylist()

    assert trajectory_of(row) == made
    assert row["case_id"] == "first"


def test_what_is_no_metadata_is_said() -> None:
    with pytest.raises(InputError, match="the metadata are"):
        trajectory_of({"calls": [], "metadata": "[1]"})


def test_calls_that_were_withheld_come_back() -> None:
    withheld = (WithheldCall("refund", {"n": 7}, "refused"), WithheldCall("book", None, ""))
    [row] = trajectories_batch([Trajectory(withheld=withheld)]).to_pylist()

    assert trajectory_of(row).withheld == withheld
