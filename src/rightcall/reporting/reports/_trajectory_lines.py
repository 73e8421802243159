"""A trajectory as lines of text: a header, the tree of calls, and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rightcall.values.results import call_text, value_text
from rightcall.values.trajectory import NOT_UNDERSTOOD, Trajectory

from ._call_tree import LANES, UNSURE, Bond, CallTable
from ._paper import NARROWEST, Line, Paper, cell_count, duration_text, extent, fit, wrap

_WITHHELD = "not made: "
_BETWEEN = (" · ", " | ")
_MOST_NAMES = 5
_LONGEST_NAME = 60
_TOLD = ("tool_data", "instrumentation", NOT_UNDERSTOOD)


def trajectory_lines(trajectory: Trajectory, name: str, paper: Paper) -> Iterator[Line]:
    """Yield a trajectory, read from the file `name`, as lines that fit the paper."""
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


def dim_lines(text: str, paper: Paper) -> Iterator[Line]:
    """Yield a remark, in lines that fit the paper."""
    yield from (((piece, "dim"),) for piece in wrap(paper.text(text), paper.width))


def header_lines(trajectory: Trajectory, name: str, paper: Paper) -> Iterator[Line]:
    """Yield where a trajectory comes from, and its summary: file, trace, calls, agents, input and output."""
    trace = f"trace {trajectory.trace_id}" if trajectory.trace_id else ""
    titled = [paper.text(name), *(paper.pieces(trace, paper.width) if trace else ())]
    between = paper.glyph(_BETWEEN)
    if sum(map(cell_count, titled)) + len(between) <= paper.width:
        yield ((titled[0], "bold"), *[(between + part, "dim") for part in titled[1:]])
    else:
        yield ((titled[0], "bold"),)
        yield from (((part, "dim"),) for part in titled[1:])
    for piece in wrap(between.join(paper.text(part) for part in _summary(trajectory)), paper.width):
        yield (piece,)
    about = [(key, value) for key, value in trajectory.metadata.items() if key not in _TOLD]
    about += [("input", trajectory.input), ("output", trajectory.output)]
    for key, value in about:
        if value is not None:
            text = value if isinstance(value, str) else value_text(value, paper.value_width)
            yield from _field(key, text, paper)


def _withheld(trajectory: Trajectory, paper: Paper) -> Iterator[Line]:
    """Yield the calls that were requested and not made, each with the reason."""
    limit = paper.value_width
    for call in trajectory.withheld:
        text = call_text(call.name, call.args or {}, limit, limit)
        shown = f"{paper.text(text)}: {paper.text(call.reason)}" if call.reason else paper.text(text)
        first, *others = wrap(shown, max(NARROWEST, paper.width - len(_WITHHELD)))
        yield ((_WITHHELD, "yellow"), first)
        yield from ((" " * len(_WITHHELD), piece) for piece in others)


def _legend(trajectory: Trajectory, bonds: set[Bond], paper: Paper) -> Iterator[Line]:
    """Yield the meaning of the signs that occur, and how much was not recorded."""
    notes = []
    missing = Counter(field for call in trajectory.calls for field in call.unrecorded)
    if missing.pop("internal", 0):
        notes.append(f"{UNSURE} named like a hand-off: whether it is one or a tool was not recorded")
    if missing:
        words = {"args": "arguments", "output": "outputs", "parent_id": "parents"}
        counts = " and ".join(f"the {words.get(field, field)} of {n:,}" for field, n in sorted(missing.items()))
        notes.append(f"? not recorded: {counts} of {len(trajectory.calls):,} calls")
    if "concurrent" in bonds:
        notes.append(f"{paper.glyph(LANES['concurrent', 'middle'])} ran at the same time")
    if "asked" in bonds:
        notes.append(f"{paper.glyph(LANES['asked', 'middle'])} asked for at once")
    for text in notes:
        yield from (((piece, "dim"),) for piece in wrap(text, paper.width))


def _notes(trajectory: Trajectory, paper: Paper) -> Iterator[Line]:
    notes = list(trajectory.warnings)
    for first, end in trajectory.unordered:
        notes.append(f"the order of calls {first + 1:,} to {end:,} was not recorded: any order of theirs may be true")
    backwards = sum(
        call.start_ns is not None and call.end_ns is not None and call.end_ns < call.start_ns
        for call in trajectory.calls
    )
    if backwards:
        notes.append(f"{backwards:,} call{'s' * (backwards != 1)} ended before starting, by the clock of the trace")
    for text in notes:
        begin, *others = wrap(paper.text(text), max(NARROWEST, paper.width - 6))
        yield (("note: ", "yellow"), begin)
        yield from (("      ", piece) for piece in others)


def _field(key: str, text: str, paper: Paper) -> Iterator[Line]:
    label = f"{fit(paper.text(key), 30, plain=paper.plain)}: "
    first, *others = paper.paragraphs(text, max(NARROWEST, paper.width - cell_count(label)))
    yield ((label, "dim"), first)
    yield from ((" " * cell_count(label), piece) for piece in others)


def _summary(trajectory: Trajectory) -> Iterator[str]:
    calls = trajectory.calls
    if not calls:
        yield _no_calls(trajectory)
        return
    failed = sum(call.error is not None for call in calls)
    suspected = sum(call.suspected_error for call in calls)
    counted = f"{len(calls):,} call{'s' * (len(calls) != 1)}"
    counted += f", {failed:,} failed" if failed else ""
    counted += f", {suspected:,} suspected of having failed" if suspected else ""
    yield counted
    if trajectory.not_understood:
        yield "others may be missing: not everything was understood"
    begin, end = extent(calls)
    if begin is not None and end is not None and end >= begin:
        yield f"in {duration_text(end - begin)}"
    agents = list(dict.fromkeys(call.agent for call in calls if call.agent))
    if agents:
        yield f"agent{'s' * (len(agents) > 1)} {_listed(agents)}"
    yield from _origin(trajectory)


def _no_calls(trajectory: Trajectory) -> str:
    if trajectory.not_understood:
        return "calls were not understood: cannot tell whether tools were called"
    none = trajectory.metadata.get("tool_data") == "none"
    return "no tool data: cannot tell whether tools were called" if none else "no calls"


def _origin(trajectory: Trajectory) -> Iterator[str]:
    sources = {call.source for call in trajectory.calls}
    instrumentation = trajectory.metadata.get("instrumentation")
    scopes = [str(scope) for scope in instrumentation] if isinstance(instrumentation, list) else []
    if "span" in sources:
        yield f"from spans of {_listed(scopes)}" if scopes else "from spans"
    if "message" in sources:
        yield "from messages"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names[:_MOST_NAMES]]
    return ", ".join(short) + more
