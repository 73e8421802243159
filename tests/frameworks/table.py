"""The table of all cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.targets import table

from .judging import TURNS, Calls, Judged

HEADING = "Frameworks"
_HEAD = ("framework", "cell", "turn 1", "turn 2", "turn 3", "right expectations", "wrong expectations")


@dataclass(frozen=True)
class Row:
    """One cell: the framework, its version, what was done, what was said."""

    framework: str
    version: str
    cell: str
    judged: Judged


def render(rows: Sequence[Row]) -> str:
    """The rows as Markdown; cells that are wrong are marked."""
    return table(_HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    mark = "" if row.judged.is_true else "**wrong** "
    calls = _calls(row.judged.calls)
    return (f"{row.framework} {row.version}", f"{mark}{row.cell}", *calls, row.judged.right, row.judged.wrong)


def _calls(calls: Calls) -> list[str]:
    turns = [", ".join([f"`{call}`" for call in turn]) or "–" for turn in calls]
    shown = (turns + ["–"] * TURNS)[:TURNS]
    lost = turns[TURNS:]
    return [*shown[:-1], f"{shown[-1]}; turn not known: {', '.join(lost)}"] if lost else shown
