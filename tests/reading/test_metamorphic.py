"""One trace, one trajectory: how and where a trace was written down changes nothing of what is read from it.

The suite tries each change on a fixed sample of the recordings, and `make fuzz` on all of them, with fresh seeds.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from tests.reading import changes, corpus
from tests.sampling import randomness, sample

from rightcall.reading import read
from rightcall.values.trajectory import Trajectory

RUNS = [name for name in corpus.names() if "otlp.json" in corpus.inputs(name)]
PAIRS = [
    pytest.param(change, run, id=f"{change}-{run}")
    for change in changes.CHANGES
    for run in sample(RUNS, f"{change} of recordings", 12)
]


TRACES = {run: set(re.findall(rb'"traceId": *"(\w+)"', corpus.inputs(run)["otlp.json"])) for run in RUNS}
# Two of them were recorded one after the other, and share a trace; calls without an agent are one run only alone.
APART = [
    (one, other)
    for one in RUNS
    for other in RUNS
    if one < other and TRACES[one].isdisjoint(TRACES[other]) and "mcp-sdk/trip" not in (one, other)
]


@pytest.mark.corpus
@pytest.mark.parametrize(("change", "run"), PAIRS)
def test_a_run_is_the_same_however_it_was_written_down(change: str, run: str) -> None:
    written = corpus.inputs(run)["otlp.json"]
    source = changes.CHANGES[change](json.loads(written), randomness(f"{change} {run}"))

    assert _told(read(source), change) == _told(read(written), change, is_before=True)


@pytest.mark.corpus
@pytest.mark.parametrize("pair", sample(APART, "two runs", 40))
def test_a_run_is_the_same_alone_and_beside_another(pair: tuple[str, str]) -> None:
    alone = [trajectory for run in pair for trajectory in read(corpus.inputs(run)["otlp.json"])]
    together = list(read([corpus.inputs(run)["otlp.json"] for run in pair]))

    assert sorted(map(_text, together)) == sorted(map(_text, alone))


def _told(trajectories: Any, change: str, is_before: bool = False) -> list[dict[str, Any]]:
    """Every field of trajectories, as the change makes it: with other ids, or at another time."""
    told = [msgspec.to_builtins(trajectory) for trajectory in trajectories]
    for trajectory in told:
        if change == "foreign lines":
            trajectory["warnings"] = []  # there is one of the line
        for call in trajectory["calls"]:
            call["unrecorded"].sort()
            if change == "shifted clock" and is_before:
                call |= {key: call[key] + changes.SHIFT for key in ("start_ns", "end_ns") if call[key] is not None}
            if change == "renamed ids" and is_before and call["source"] == "span":
                call |= {key: changes.renamed(call[key]) for key in ("span_id", "parent_id") if call[key]}
        if change == "renamed ids" and is_before and trajectory["trace_id"]:
            trajectory["trace_id"] = changes.renamed(trajectory["trace_id"])
    return told


def _text(trajectory: Trajectory) -> str:
    return json.dumps(_told([trajectory], "")[0], sort_keys=True)
