"""What each test of this folder reads, in every field: a line for each test, kept in `tests/data/reads.txt`.

    python -m tests.reading.kept_reads tests/reading/test_rows.py

writes the lines of a file anew, and without one those of all. A test says what it is about, and looks at that alone;
its inputs are the ones that somebody thought of, and whatever else is read from them should not change, unless it is
meant to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from tests import snapshots
from tests.reading.kept_readings import words

from rightcall.reading.runs._run_builder import RunBuilder
from rightcall.reading.runs._simple_runs import LiveRuns, SimpleRun, SimpleRuns

FILE = "reads.txt"
_FOLDER = Path(__file__).parent
WRITTEN_TO = "RIGHTCALL_READS"
"""The variable with the file that lines are added to; without it they are compared with those that were kept."""
ADVICE = "if that is on purpose: .venv/bin/python -m tests.reading.kept_reads"
_RUNS = 3
_WIDTH = 80
_OWN = {"test_kept_readings.py", "test_kept_reads.py"}
"""Tests whose readings are kept by themselves."""

Read = set[tuple[str, str]]
"""A digest of each run that was read, and a few words about it."""


@contextmanager
def noted() -> Iterator[Read]:
    """Every run that is read inside a `with`."""
    found: Read = set()
    with ExitStack() as stack:
        for owner, name in ((RunBuilder, "trajectory"), (SimpleRuns, "run_of"), (LiveRuns, "trajectory_of")):
            stack.enter_context(patch.object(owner, name, _noting(getattr(owner, name), found)))
        yield found


def _noting(function: Callable[..., Any], found: Read) -> Callable[..., Any]:
    @wraps(function)
    def noting(*given: Any, **named: Any) -> Any:
        made = function(*given, **named)
        run = made.trajectory if isinstance(made, SimpleRun) else made
        if run is not None:
            # Which function made it is a part of it: to read a simple run directly is what makes large files quick.
            everything = msgspec.to_builtins([function.__name__, run], enc_hook=_named, order="deterministic")
            found.add((snapshots.digest(json.dumps(everything).encode()), words(run)))
        return made

    return noting


def _named(value: object) -> str:
    """What stands for a value that JSON has no form for: tests give objects of their own."""
    return type(value).__name__


def line_of(read: Read) -> str:
    """What is kept of all that a test reads. In no order, as some tests read in threads."""
    runs = sorted(read)
    told = "; ".join([about for _, about in runs[:_RUNS]]).encode("unicode_escape").decode()
    return f"{snapshots.digest(''.join([each for each, _ in runs]).encode())} {len(runs)}: {told:.{_WIDTH}}"


def name_of(item: pytest.Item) -> str:
    """The name of a test in the file; empty where nothing is kept of it."""
    # Other versions of Hypothesis draw other values.
    is_drawn = item.get_closest_marker("hypothesis") is not None
    return "" if is_drawn or item.path.name in _OWN else item.nodeid.rpartition("tests/reading/")[2]


def main(files: Sequence[str]) -> int:
    """Run the tests of these files twice, or all of them, and keep what they read both times."""
    first, second = _lines(files), _lines(files)
    names = {Path(file).name for file in files}
    others = {name: line for name, line in snapshots.kept(FILE).items() if name.partition("::")[0] not in names}
    steady = {name: line for name, line in first.items() if second.get(name) == line}
    snapshots.write(FILE, {**(others if files else {}), **steady})
    for name in sorted(first.keys() - steady):
        print(f"not kept, as it is something else each time: {name}")
    return 0


def _lines(files: Sequence[str]) -> dict[str, str]:
    """A line for each test, from a new process.

    Raises:
        CalledProcessError: a test fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, FILE)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *(files or [str(_FOLDER)])]
        subprocess.run(command, env={**os.environ, WRITTEN_TO: str(file)}, check=True)
        return dict(line.split("\t", 1) for line in file.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
