"""The page of one tool of a run: how often it was called, how long it took, and its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightcall.reporting.pages import CallLine, Crumb, Links, ToolPage, call_line, histogram, quantile, tool_html
from rightcall.reporting.store import RunFolder

from ._index import CallPlace, Entry, Index
from ._library import Library
from ._runs_view import current_time, line_of, page_of

_CALLS_A_PAGE = 50
_Found = tuple[CallPlace, Entry]


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
    only_errors, slowest = query.get("errors") == "1", query.get("slowest") == "1"
    chosen = _chosen(found, only_errors, slowest)
    number, of = page_of(query, len(chosen), _CALLS_A_PAGE)
    times = sorted([place.nanoseconds for place, _ in found if place.nanoseconds is not None])
    line = line_of(library, name, run, current_time())
    asked = {"errors": int(only_errors), "slowest": int(slowest)}
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
        slowest_first=slowest,
        number=number,
        of=of,
        previous=links.tool(name, tool, **asked, page=number - 1) if number > 1 else "",
        next=links.tool(name, tool, **asked, page=number + 1) if number < of else "",
        title=f"{tool[:80]} in {line.short_id}",
        trail=(Crumb("Runs", links.runs()), Crumb(line.short_id, links.run(name)), Crumb(tool[:80])),
        is_running=line.state == "running",
    )


def _calls_of(index: Index, tool: str) -> list[_Found]:
    """Return the calls of a tool whose results still count, each with its row."""
    found = [(place, index.entry_on(place.line)) for place in index.columns.of_tool(tool)]
    return [(place, entry) for place, entry in found if entry is not None]


def _chosen(found: list[_Found], only_errors: bool, slowest_first: bool) -> list[_Found]:
    if only_errors:
        found = [each for each in found if each[0].is_error]
    if slowest_first:
        found = sorted(found, key=lambda each: -1 if each[0].nanoseconds is None else each[0].nanoseconds, reverse=True)
    return found


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
