"""A large file is read block by block; what is read must not depend on it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reading.traces import call, line, span

import rightcall
from rightcall import Trajectory

_FILLING = "x" * 20_000
_LINES = 1_900
"""Enough for a file that is large, and little enough that its bytes are read at once where they are given so."""


def _step(trace: int, number: int, **attributes: Any) -> dict[str, Any]:
    """One of the calls of a trace, or the model's work before it."""
    if number % 2:
        made = call(number, f"tool-{number % 3}", json.dumps({"n": number}))
    else:
        made = span(number, {"filling": _FILLING})
    if attributes:
        made["attributes"] += span(0, attributes)["attributes"]
    return {**made, "traceId": f"{trace:032x}"}


def _one_run_a_line() -> Iterator[bytes]:
    for trace in range(_LINES):
        yield line(*(_step(trace, trace * 10 + number) for number in range(4)))


def _runs_beside_each_other() -> Iterator[bytes]:
    """Runs of six spans each, a span a line, forty runs at a time."""
    for start in range(0, _LINES, 40):
        for number in range(6):
            for trace in range(start, start + 40):
                yield line(_step(trace, trace * 10 + number))


def _runs_all_over_the_file() -> Iterator[bytes]:
    places = [(trace, number) for trace in range(_LINES // 2) for number in range(4)]
    random.Random(1).shuffle(places)
    for trace, number in places:
        yield line(_step(trace, trace * 10 + number))


def _sessions() -> Iterator[bytes]:
    """Sessions of one to four traces: neighbours, and far apart; the second half names another key."""
    for trace in range(_LINES):
        key = "session.id" if trace < _LINES // 2 else "gen_ai.conversation.id"
        near, far = f"near-{trace // 3}", f"far-{trace % 300}"
        named = {key: near if trace % 5 else far}
        yield line(_step(trace, trace * 10, **named), _step(trace, trace * 10 + 1))


def _runs_and_what_is_none() -> Iterator[bytes]:
    """Beside each run a trace without calls: the making of its agent, or a run of it that made none."""
    for trace in range(_LINES):
        agent = span(trace * 10, {"gen_ai.operation.name": "invoke_agent"}, name="answer", traceId=f"{trace:032x}")
        other = span(trace * 10 + 5, name="answer" if trace % 7 else "make", traceId=f"{trace + 10**6:032x}")
        yield line(
            agent, {**_step(trace, trace * 10 + 1), "parentSpanId": agent["spanId"]}, _step(trace, trace * 10 + 2)
        )
        yield line(other)


def _read_at_once(path: Path) -> list[Trajectory]:
    return list(rightcall.read(path.read_bytes()))


def _sorted(trajectories: list[Trajectory]) -> list[Trajectory]:
    return sorted(trajectories, key=lambda trajectory: trajectory.trace_id or "")


@pytest.mark.parametrize(
    "lines",
    [_one_run_a_line, _runs_beside_each_other, _runs_all_over_the_file, _sessions, _runs_and_what_is_none],
    ids=lambda lines: lines.__name__.strip("_"),
)
def test_a_large_file_has_the_runs_that_its_bytes_have(lines: Any, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(b"".join(lines()))

    read = list(rightcall.read(path))

    assert path.stat().st_size > 1 << 25
    assert _sorted(read) == _sorted(_read_at_once(path))


def test_a_bad_line_of_a_large_file_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    lines = list(_one_run_a_line())
    lines[_LINES // 2] = b'{"resourceSpans": [{"torn\n'
    path.write_bytes(b"".join(lines)[:-100])

    read = list(rightcall.read(path))

    told = {warning for trajectory in read for warning in trajectory.warnings if "was left out" in warning}
    assert len(read) == _LINES - 2
    assert sorted(int(warning.split("line ")[1].split()[0]) for warning in told) == [_LINES // 2 + 1, _LINES]


def test_a_grouping_asked_for_holds_in_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(b"".join(_sessions()))

    assert len(list(rightcall.read(path, grouping="trace"))) == _LINES
    assert len(list(rightcall.read(path, grouping="file"))) == 1
