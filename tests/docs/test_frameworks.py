"""The guide about frameworks has every framework that traces were recorded of, and says what these traces show."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.reading import corpus

from rightcall import ToolCall, read

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "traces-of-each-framework.md"


def shown(calls: list[ToolCall], field: str) -> str:
    """How many of the calls show a field: all, none, or so many of so many."""
    there = sum(field not in call.unrecorded for call in calls)
    return "all" if there == len(calls) else "none" if not there else f"{there} of {len(calls)}"


def row(source: str, runs: list[str]) -> str:
    """What the traces of one framework and instrumentation show, all their runs together."""
    found = [trajectory for run in runs for trajectory in read(corpus.inputs(run)["otlp.json"])]
    calls = [call for trajectory in found for call in trajectory.calls]
    if not calls:
        return f"| `{source}` | none | – | – |"
    return f"| `{source}` | {len(calls)} | {shown(calls, 'args')} | {shown(calls, 'output')} |"


def rows() -> list[str]:
    runs = defaultdict(list)
    for run in corpus.names():
        if "otlp.json" in corpus.inputs(run):
            runs[run.rpartition("/")[0]].append(run)
    return [row(source, found) for source, found in sorted(runs.items())]


def test_the_table_says_what_the_recorded_traces_show() -> None:
    table = re.findall(r"^\| `.*$", PAGE.read_text("utf-8").split("\n## What was recorded\n")[1], re.MULTILINE)

    assert table == rows(), "\n".join(rows())


def test_every_framework_that_was_recorded_has_a_section() -> None:
    text = PAGE.read_text("utf-8").split("\n## What was recorded\n")[0]
    sources = {run.rpartition("/")[0] for run in corpus.names()} - {"_containers"}

    assert [source for source in sorted(sources) if f"`{source}`" not in text] == []
