"""A trajectory as lines of text: what was recorded, the tree of calls, and what was not recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rightcall.values.results import call_text
from rightcall.values.trajectory import Trajectory

from ._calls import LANES, CallTable
from ._characters import wrap
from ._paper import NARROWEST, Line, Paper
from ._summary import header_lines
from ._tree import Bond

_WITHHELD = "not made: "


def trajectory_lines(trajectory: Trajectory, name: str, paper: Paper) -> Iterator[Line]:
    """A trajectory, read from the file `name`, as lines of parts that fit the paper."""
    yield from header_lines(trajectory, name, paper)
    table = CallTable(trajectory, paper)
    if trajectory.calls:
        yield ()
        yield from table.lines()
    if trajectory.withheld:
        yield ()
        yield from _withheld(trajectory, paper)
    notes = [*_legend(trajectory, table.bonds, paper), *_notes(trajectory, paper)]
    if notes:
        yield ()
        yield from notes


def _withheld(trajectory: Trajectory, paper: Paper) -> Iterator[Line]:
    """The calls that were asked for and not carried out, each with the reason."""
    limit = paper.value_width
    for call in trajectory.withheld:
        text = call_text(call.name, call.args or {}, limit, limit)
        told = f"{paper.text(text)}: {paper.text(call.reason)}" if call.reason else paper.text(text)
        first, *others = wrap(told, max(NARROWEST, paper.width - len(_WITHHELD)))
        yield ((_WITHHELD, "yellow"), first)
        yield from ((" " * len(_WITHHELD), piece) for piece in others)


def _legend(trajectory: Trajectory, bonds: set[Bond], paper: Paper) -> Iterator[Line]:
    """What the signs mean that occur, and how much was not recorded."""
    told = []
    missing = Counter(field for call in trajectory.calls for field in call.unrecorded)
    if missing:
        words = {"args": "arguments", "output": "outputs", "parent_id": "parents"}
        counts = " and ".join(f"the {words.get(field, field)} of {n:,}" for field, n in sorted(missing.items()))
        told.append(f"? not recorded: {counts} of {len(trajectory.calls):,} calls")
    if "concurrent" in bonds:
        told.append(f"{paper.glyph(LANES['concurrent', 'middle'])} ran at the same time")
    if "asked" in bonds:
        told.append(f"{paper.glyph(LANES['asked', 'middle'])} asked for at once")
    for text in told:
        yield from (((piece, "dim"),) for piece in wrap(text, paper.width))


def _notes(trajectory: Trajectory, paper: Paper) -> Iterator[Line]:
    told = list(trajectory.warnings)
    for first, end in trajectory.unordered:
        told.append(f"the order of calls {first + 1:,} to {end:,} was not recorded: any order of theirs may be true")
    backwards = sum(
        call.start_ns is not None and call.end_ns is not None and call.end_ns < call.start_ns
        for call in trajectory.calls
    )
    if backwards:
        told.append(f"{backwards:,} call{'s' * (backwards != 1)} ended before starting, by the clock of the trace")
    for text in told:
        begin, *others = wrap(paper.text(text), max(NARROWEST, paper.width - 6))
        yield (("note: ", "yellow"), begin)
        yield from (("      ", piece) for piece in others)
