"""The calls of traces, as a tree or as lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import msgspec

from rightcall.errors import RightcallError
from rightcall.reading import Reading
from rightcall.reporting.reports import escape_commands_in_json, trajectory_lines
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted_trajectory
from rightcall.values.trajectory import Trajectory

from .._errors import print_error
from .._options import STANDARD_INPUT
from .._terminal import Screen

_EXIT_COULD_NOT_SHOW = 2


def show_traces(
    traces: Sequence[str], reading: Reading, *, together: bool, redacts: bool, full: bool, as_json: bool
) -> int:
    """Show the calls in files, and return the exit code. A file that cannot be read costs that file."""
    show = _json_printer() if as_json else _tree_printer(full)
    sources = [(_name_of(traces), list(traces))] if together else [(_name_of((name,)), name) for name in traces]
    failed = False
    for name, source in sources:
        shown = 0
        try:
            for trajectory in reading.read(sys.stdin.buffer if source == STANDARD_INPUT else source):
                show(name, redacted_trajectory(trajectory) if redacts else trajectory)
                shown += 1
        except RightcallError as problem:
            print_error(problem)
            failed = True
            continue
        if not shown:
            print_error(f"{name}: no traces and no messages in it")
            failed = True
    return _EXIT_COULD_NOT_SHOW if failed else 0


def _name_of(traces: Sequence[str]) -> str:
    more = f" and {len(traces) - 1} more" if len(traces) > 1 else ""
    return "<stdin>" if list(traces) == [STANDARD_INPUT] else traces[0] + more


def _tree_printer(full: bool) -> Callable[[str, Trajectory], None]:
    screen = Screen()
    paper = screen.paper(full=full)
    count = 0

    def show(name: str, trajectory: Trajectory) -> None:
        nonlocal count
        if count:
            screen.line()
        count += 1
        for line in trajectory_lines(trajectory, name, paper):
            screen.line(*line)

    return show


def _json_printer() -> Callable[[str, Trajectory], None]:
    def show(name: str, trajectory: Trajectory) -> None:
        print(json_line("file", name, trajectory))

    return show


def json_line(key: str, name: str, trajectory: Trajectory) -> str:
    """Return a trajectory with everything as one line of JSON, and the name it is known by."""
    document = msgspec.to_builtins(trajectory)
    for call in document["calls"]:
        call["unrecorded"].sort()
    return escape_commands_in_json(dump_json({key: name, **document}))
