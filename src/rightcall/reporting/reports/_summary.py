"""What a trajectory is like, in a few lines above its calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightcall.values.results import value_text
from rightcall.values.trajectory import NOT_UNDERSTOOD, Trajectory

from ._characters import cell_count, fit, wrap
from ._durations import duration_text, extent
from ._paper import NARROWEST, Line, Paper

_BETWEEN = (" · ", " | ")
_MOST_NAMES = 5
_LONGEST_NAME = 60
_TOLD = ("tool_data", "instrumentation", NOT_UNDERSTOOD)


def header_lines(trajectory: Trajectory, name: str, paper: Paper) -> Iterator[Line]:
    """Where a trajectory comes from, and what it is like: file, trace, calls, agents, input and output."""
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
    told = f"{len(calls):,} call{'s' * (len(calls) != 1)}"
    told += f", {failed:,} failed" if failed else ""
    told += f", {suspected:,} suspected of having failed" if suspected else ""
    yield told
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
