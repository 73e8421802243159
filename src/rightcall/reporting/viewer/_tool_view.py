"""The page of one tool of a run: how often it was called, how long it took, and its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightcall.reporting.pages import (
    CallLine,
    Column,
    Crumb,
    Links,
    ToolPage,
    call_line,
    histogram,
    quantile,
    sorted_table,
    tool_html,
)
from rightcall.reporting.store import RunFolder

from ._index import CallPlace, Entry, Index
from ._library import Library
from ._runs_view import current_time, line_of, page_of

_CALLS_A_PAGE = 50
_Found = tuple[CallPlace, Entry]
_COLUMNS = {
    "case": Column("Case", lambda found: (found[1].row.case_id, found[1].row.repeat, found[0].position)),
    "error": Column("Output or error", lambda found: found[0].is_error),
    "took": Column("Took", lambda found: found[0].nanoseconds),
}


def tool_page(library: Library, name: str, key: str, query: Mapping[str, str], links: Links) -> str | None:
    """Render the calls of a tool; `None` if the run or the tool does not exist. Raises `StoreError`."""
    run = library.run(name)
    index = library.index(name, run) if run is not None else None
    tool = index.tool(key) if index is not None else None
    if run is None or index is None or tool is None:
        return None
    return tool_html(_tool_page(library, name, run, index, tool, query, links), links)


def _tool_page(
    library: Library, name: str, run: RunFolder, index: Index, tool: str, query: Mapping[str, str], links: Links
) -> ToolPage:
    found = _calls_of(index, tool)
    only_errors, sort = query.get("errors") == "1", query.get("sort", "")
    chosen, heads = sorted_table(
        [each for each in found if each[0].is_error] if only_errors else found,
        sort,
        _COLUMNS,
        lambda text: links.tool(name, tool, errors=int(only_errors), sort=text),
    )
    number, of = page_of(query, len(chosen), _CALLS_A_PAGE)
    times = sorted([place.nanoseconds for place, _ in found if place.nanoseconds is not None])
    line = line_of(library, name, run, current_time())
    return ToolPage(
        run=line,
        tool=tool,
        lines=tuple(_call_lines(index, chosen[(number - 1) * _CALLS_A_PAGE : number * _CALLS_A_PAGE])),
        calls=len(found),
        cases=len({entry.row.case_id for _, entry in found}),
        errors=sum(place.is_error for place, _ in found),
        median=quantile(times, 0.5),
        slow=quantile(times, 0.95),
        bars=histogram(times),
        only_errors=only_errors,
        heads=heads,
        number=number,
        of=of,
        previous=links.tool(name, tool, errors=int(only_errors), sort=sort, page=number - 1) if number > 1 else "",
        next=links.tool(name, tool, errors=int(only_errors), sort=sort, page=number + 1) if number < of else "",
        title=f"{tool[:80]} in {line.short_id}",
        trail=(Crumb("Runs", links.runs()), Crumb(line.short_id, links.run(name)), Crumb(tool[:80])),
        is_running=line.state == "running",
    )


def _calls_of(index: Index, tool: str) -> list[_Found]:
    """Return the calls of a tool whose results still count, each with its row."""
    found = [(place, index.entry_on(place.line)) for place in index.columns.of_tool(tool)]
    return [(place, entry) for place, entry in found if entry is not None]


def _call_lines(index: Index, found: Sequence[_Found]) -> list[CallLine]:
    """Return the calls themselves, reading each result once."""
    standing = {entry.number: entry for _, entry in found}
    results = {number: index.result(entry) for number, entry in standing.items()}
    lines = []
    for place, entry in found:
        trajectory, row = results[entry.number].trajectory, entry.row
        if trajectory is not None and place.position < len(trajectory.calls):
            call = trajectory.calls[place.position]
            lines.append(call_line(call, place.position + 1, row.case_id, row.key, row.verdict))
    return lines
