"""A trajectory as text: a header, the tree of calls with numbers and times, and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from rightcall.values.results import call_text, value_text
from rightcall.values.trajectory import NOT_UNDERSTOOD, ToolCall, Trajectory

from ._paper import NARROWEST, Line, Paper, cell_count, duration_text, extent, fit, line_length, wrap

_WITHHELD = "not made: "
_BETWEEN = (" · ", " | ")
_MOST_NAMES = 5
_LONGEST_NAME = 60
_TOLD = ("tool_data", "instrumentation", NOT_UNDERSTOOD)
LANES = {
    ("concurrent", "first"): ("╓", "/"),
    ("concurrent", "middle"): ("║", "|"),
    ("concurrent", "last"): ("╙", "\\"),
    ("asked", "first"): ("┌", ","),
    ("asked", "middle"): ("│", ":"),
    ("asked", "last"): ("└", "'"),
}
"""The signs beside calls that belong together, each with its ASCII form."""
# Eight levels take 16 of 80 columns, which leaves room for the call.
_MOST_LANES = 8
_HANGING = 2
_LINES_OF_A_CALL = 2
_SUSPECTED = "! reads like an error"
UNSURE = "[internal?]"
"""The mark of a call that may be internal to the framework."""
_GIVES = ("→", "->")
Bond = Literal["", "concurrent", "asked"]
"""Why neighbouring calls belong together: they ran in parallel, or the model requested them in one message."""
Lane = tuple[Bond, Literal["", "first", "middle", "last"]]
"""The position of a call among calls that belong together."""
ALONE: Lane = ("", "")


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
    """Yield the origin of a trajectory, and its summary: file, trace, calls, agents, input and output."""
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
    """Yield the calls that were requested and not executed, each with the reason."""
    limit = paper.value_width
    for call in trajectory.withheld:
        text = call_text(call.name, call.args or {}, limit, limit)
        shown = f"{paper.text(text)}: {paper.text(call.reason)}" if call.reason else paper.text(text)
        first, *others = wrap(shown, max(NARROWEST, paper.width - len(_WITHHELD)))
        yield ((_WITHHELD, "yellow"), first)
        yield from ((" " * len(_WITHHELD), piece) for piece in others)


def _legend(trajectory: Trajectory, bonds: set[Bond], paper: Paper) -> Iterator[Line]:
    """Yield the meaning of the signs that occur, and what was not recorded."""
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
        notes.append(
            f"the order of calls {first + 1:,} to {end:,} was not recorded: they may have been made in any order"
        )
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
    counted = f"{len(calls):,} call{'s' * (len(calls) != 1)}{_turns(trajectory)}"
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
    return "no tool data: cannot tell whether tools were called" if none else f"no calls{_turns(trajectory)}"


def _turns(trajectory: Trajectory) -> str:
    """Return the number of turns in words; empty if there is only one."""
    count = len(trajectory.turn_inputs)
    return f" in {count:,} turns" if count > 1 else ""


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


class CallTable:
    """The calls of a trajectory, one per row: number, start, duration, and the call at its place in the tree."""

    def __init__(self, trajectory: Trajectory, paper: Paper) -> None:
        self.bonds: set[Bond] = set()
        """The bonds in the lines so far, for the legend."""
        self._calls = trajectory.calls
        self._paper = paper
        self._begin, _ = extent(self._calls)
        self._number_width = len(str(len(self._calls)))
        self._time_width = self._widest_time() if self._begin is not None else 0
        self._names_agents = len({call.agent for call in self._calls if call.agent}) > 1
        self._counts_turns = len({call.turn for call in self._calls} - {None}) > 1

    def lines(self) -> Iterator[Line]:
        """Yield all rows, with column headings."""
        if self._time_width:
            yield ((f"{'#':>{self._number_width + 1}}{self._times('start', 'took')}", "dim"),)
        turn = None
        for row in rows(self._calls, _MOST_LANES):
            if self._counts_turns and row.depth == 0 and row.call.turn not in (None, turn):
                turn = row.call.turn
                yield ((f"turn {(turn or 0) + 1}", "dim"),)
            yield from self._row(row)

    def _row(self, row: CallRow) -> Iterator[Line]:
        call, paper = row.call, self._paper
        self.bonds.add(row.lanes[-1][0])
        lead, trail = self._lanes(row.lanes, True), self._lanes(row.lanes, False)
        number = f"{row.position + 1:>{self._number_width + 1}}"
        times = self._times(*self._clocked(call)) if self._time_width else ""
        margin = " " * (len(number) + len(times))
        width = max(NARROWEST, paper.width - len(margin) - len(lead) - 2)
        head = self._head(row, width)
        tails = list(self._tails(call, width - _HANGING))
        if len(head) == len(tails) == 1 and line_length(head[0]) + 1 + line_length(tails[0]) <= width:
            head, tails = [(*head[0], " ", *tails[0])], []
        first, *others = head
        yield ((number + times, "dim"), (f"  {lead}", "cyan"), *first)
        for line in others:
            yield (margin, (f"  {trail}", "cyan"), " " * 2 * _HANGING, *line)
        for line in tails:
            yield (margin, (f"  {trail}", "cyan"), " " * _HANGING, *line)

    def _head(self, row: CallRow, width: int) -> list[Line]:
        call = row.call
        deep = f"({row.depth} deep) " if row.depth >= _MOST_LANES else ""
        written = f"{call.name}(?)" if "args" in call.unrecorded else self._written(call)
        pieces = self._paper.pieces(deep + written, width, _LINES_OF_A_CALL, 2 * _HANGING)
        lines: list[Line] = [((piece, "dim" if call.internal else ""),) for piece in pieces]
        if not call.internal:
            named = len(self._paper.text(deep + call.name))
            lines[0] = ((pieces[0][:named], "bold"), pieces[0][named:])
        room = width - 2 * _HANGING
        tags = self._paper.pieces(self._tags(call), room)
        if cell_count(pieces[-1]) + 1 + cell_count(tags[0]) <= room:
            lines[-1] = (*lines[-1], (f" {tags.pop(0)}".rstrip(), "dim"))
        return [*lines, *[((piece, "dim"),) for piece in tags if piece]]

    def _written(self, call: ToolCall) -> str:
        limit = self._paper.value_width
        return call_text(call.name, call.args or {}, limit, limit)

    def _tags(self, call: ToolCall) -> str:
        tags = [] if call.internal is False else ["[internal]" if call.internal else UNSURE]
        if self._names_agents and call.agent:
            tags.append(f"@{call.agent}")
        return " ".join(tags)

    def _tails(self, call: ToolCall, width: int) -> Iterator[Line]:
        """Yield the outcome of a call: its error, its output, or both if they differ."""
        paper = self._paper
        if call.error is not None:
            yield from self._marked(paper.sign("failed"), call.error, width, "red", _LINES_OF_A_CALL)
        if "output" in call.unrecorded:
            yield ((f"{paper.glyph(_GIVES)} ?", "dim"),)
        elif call.error is None or call.output not in (None, call.error):
            yield from self._given(call, width)

    def _given(self, call: ToolCall, width: int) -> Iterator[Line]:
        *above, last = self._marked(
            self._paper.glyph(_GIVES), value_text(call.output, self._paper.value_width), width, "", 1
        )
        yield from above
        if not call.suspected_error:
            yield last
        elif line_length(last) + 1 + len(_SUSPECTED) <= width:
            yield (*last, (f" {_SUSPECTED}", "yellow"))
        else:
            yield last
            yield ((_SUSPECTED, "yellow"),)

    def _marked(self, mark: str, text: str, width: int, style: str, lines: int) -> Iterator[Line]:
        first, *others = self._paper.paragraphs(text, width - len(mark) - 1, lines)
        yield ((f"{mark} ", style or "dim"), (first, style))
        for piece in others:
            yield (" " * (len(mark) + 1), (piece, style))

    def _lanes(self, lanes: tuple[Lane, ...], is_head: bool) -> str:
        """Return the lane signs in front of a call (`is_head`), or in front of the lines below it."""
        last = lanes[-1]
        if last == ALONE and len(lanes) == 1:
            return "  "
        signs = [self._passing(lane) for lane in lanes[:-1]]
        signs.append(self._sign(last) if is_head else self._passing(last))
        return "".join(f"{sign} " for sign in signs)

    def _passing(self, lane: Lane) -> str:
        bond, place = lane
        return " " if place in ("", "last") else self._sign((bond, "middle"))

    def _sign(self, lane: Lane) -> str:
        return self._paper.glyph(LANES.get(lane, (" ", " ")))

    def _clocked(self, call: ToolCall) -> tuple[str, str]:
        start = duration_text(call.start_ns - (self._begin or 0)) if call.start_ns is not None else "-"
        if call.start_ns is None or call.end_ns is None:
            return start, "-"
        return start, duration_text(call.end_ns - call.start_ns)

    def _times(self, start: str, took: str) -> str:
        return f"{start:>{self._time_width + 2}}{took:>{self._time_width + 2}}"

    def _widest_time(self) -> int:
        return max(len("start"), *(len(text) for call in self._calls for text in self._clocked(call)))


class CallRow(NamedTuple):
    """A call: its position in the trajectory, its depth in the tree, and the lanes from the root to it."""

    position: int
    call: ToolCall
    depth: int
    lanes: tuple[Lane, ...]


def rows(calls: Sequence[ToolCall], most_lanes: int) -> Iterator[CallRow]:
    """Yield the calls, each before its children. A call whose parent is unknown, or itself, is a root.

    A call deeper than `most_lanes` has only the lanes of the first levels: a chain of 100,000 calls would otherwise
    have ten thousand million lanes.
    """
    children = _children(calls)
    unseen = dict.fromkeys(range(len(calls)))
    # A stack of our own: a chain of calls can be deeper than Python's recursion limit.
    stack: list[tuple[int, tuple[Lane, ...], int]] = []
    for position, lane in reversed(_together(calls, children.pop(None, []))):
        stack.append((position, (lane,), 0))
    while unseen:
        if not stack:  # a cycle of parents, which has no root
            stack = [(next(iter(unseen)), (ALONE,), 0)]
        position, lanes, depth = stack.pop()
        if position not in unseen:
            continue
        del unseen[position]
        yield CallRow(position, calls[position], depth, lanes)
        for child, lane in reversed(_together(calls, children.pop(position, []))):
            below = (*lanes, lane) if len(lanes) < most_lanes else (*lanes[:-1], _passing_lane(lanes[-1]))
            stack.append((child, below, depth + 1))


def _passing_lane(lane: Lane) -> Lane:
    """Return a lane as it continues below its call."""
    return ALONE if lane[1] in ("", "last") else (lane[0], "middle")


def _children(calls: Sequence[ToolCall]) -> dict[int | None, list[int]]:
    """Return the positions of the children of each call; under `None` those of the roots."""
    places: dict[str, int] = {}
    for position, call in enumerate(calls):
        if call.span_id is not None:
            places.setdefault(call.span_id, position)
    children: dict[int | None, list[int]] = {}
    for position, call in enumerate(calls):
        maker = places.get(call.parent_id) if call.parent_id is not None else None
        children.setdefault(None if maker == position else maker, []).append(position)
    return children


def _together(calls: Sequence[ToolCall], siblings: Sequence[int]) -> list[tuple[int, Lane]]:
    """Return sibling calls, each with its lane."""
    laned: list[tuple[int, Lane]] = []
    run: list[int] = []
    end, overlaps = None, False
    for position in siblings:
        call = calls[position]
        at_once = end is not None and call.start_ns is not None and call.start_ns < end
        if run and not at_once and (call.group is None or call.group != calls[run[-1]].group):
            laned += _lanes_of(run, overlaps)
            run, end, overlaps = [], None, False
        overlaps = overlaps or at_once
        run.append(position)
        if call.start_ns is not None and call.end_ns is not None:
            end = call.end_ns if end is None else max(end, call.end_ns)
    return laned + _lanes_of(run, overlaps)


def _lanes_of(run: list[int], overlaps: bool) -> list[tuple[int, Lane]]:
    if len(run) < 2:
        return [(position, ALONE) for position in run]
    bond: Bond = "concurrent" if overlaps else "asked"
    first, *middle, last = run
    lanes: list[tuple[int, Lane]] = [(position, (bond, "middle")) for position in middle]
    return [(first, (bond, "first")), *lanes, (last, (bond, "last"))]
