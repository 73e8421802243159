"""Paths of runs as text, as JSON and as CSV: what runs do, where they diverge, and what changed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rightcall.reporting.paths import (
    Drift,
    Edge,
    Parting,
    Paths,
    Shifted,
    TakenPath,
    UsedTool,
    feature_words,
    route_steps,
    route_text,
)
from rightcall.values.results import count_text

from ._paper import Line, Paper, cell_count, duration_text, fit
from ._steadiness_lines import parting_tree, share_text

_MOST_PATHS = 12
_MOST_TOOLS = 20
_MOST_EDGES = 12
_MOST_DIFFERENCES = 8
_ARROW = ("→", "->")
_TABLE = ("kind", "name", "after", "runs", "passed", "failed", "unjudged", "calls", "errors", "suspected_errors")
_TIMES = ("p50_ms", "p95_ms", "p99_ms")
# A spreadsheet executes a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def path_lines(paths: Paths, paper: Paper, *, least: float | None = None) -> Iterator[Line]:
    """Yield the paths of runs, the tools they call, edges, and what passed and failed runs differ in.

    Args:
        paths: The paths.
        paper: The output medium.
        least: The least share of runs for a path, a tool or an edge to be listed; by default the most common are.
    """
    yield ((_headline(paths), "bold"),)
    if paths.unrecorded:
        yield (f"calls of {count_text(paths.unrecorded, 'run')} were not recorded: they are in no share below",)
    if paths.ended.runs == paths.unrecorded:
        return
    yield from _path_table(paths, paper, least)
    yield from _tool_table(paths, paper, least)
    yield from _edge_table(paths, paper, least)
    yield from _differences(paths, paper)
    if paths.parting is not None:
        yield from _parting(paths.parting, paths, paper)


def drift_lines(drift: Drift, names: tuple[str, str], labels: Mapping[str, str], paper: Paper) -> Iterator[Line]:
    """Yield what changed between two sets of runs: shares of runs, and durations."""
    sides = [f"{paper.text(name)}  {runs:,}" for name, runs in zip(names, (drift.before, drift.after), strict=True)]
    arrow = paper.glyph(_ARROW)
    yield ((f"{sides[0]} {arrow} {sides[1]} runs", "bold"),)
    if not drift.before or not drift.after:
        yield ("nothing to compare: one side has no run whose calls were recorded",)
        return
    rows = [(_sign(each, paper), _words(each, labels, paper), *_shares(each, drift)) for each in drift.shifts]
    for each in drift.times:
        times = [duration_text(time) for time in (each.before[0], each.after[0])]
        more = f"p95 {duration_text(each.before[1])} {arrow} {duration_text(each.after[1])}"
        rows.append(("~", f"{paper.text(each.tool)}, median time", times[0], times[1], more))
    widths = [max([cell_count(row[column]) for row in rows], default=0) for column in range(5)]
    room = max(20, paper.width - 12 - sum(widths[2:]))
    widths[1] = min(widths[1], room)
    for sign, what, before, after, more in rows:
        text = fit(what, room, plain=paper.plain)
        shares = f"{before:>{widths[2]}} {arrow} {after:>{widths[3]}}"
        yield (f"  {sign} {text}{' ' * (widths[1] - cell_count(text))}  {shares}   {more}".rstrip(),)
    same = f"{max(0, drift.asked - drift.count):,} others are as they were"
    if drift.count:
        yield (f"  {same} (5 % of such lists are wrong by chance)",)
    else:
        yield (f"  no change in {drift.asked:,} shares and times",)


def paths_plain(paths: Paths) -> dict[str, Any]:
    """Return paths as plain data for JSON."""
    named = _namer(paths)
    return {
        "runs": paths.ended.runs,
        **_ends(paths.ended),
        "unrecorded": paths.unrecorded,
        "mean_calls": paths.mean_calls,
        "median_calls": paths.median_calls,
        "p95_calls": paths.p95_calls,
        "is_listed": paths.is_listed,
        "paths": [
            {
                "calls": None if path.calls is None else [named(key) for key in path.calls],
                "runs": path.ended.runs,
                **_ends(path.ended),
            }
            for path in paths.paths
        ],
        "tools": [_tool_plain(tool) for tool in paths.tools],
        "edges": [
            {
                "before": named(edge.before),
                "after": named(edge.after),
                "runs": edge.ended.runs,
                **_ends(edge.ended),
                "calls": edge.calls,
            }
            for edge in paths.edges
        ],
        "differ": [_shift_plain(each, paths.labels, ("passed", "failed")) for each in paths.differ],
        "parting": None if paths.parting is None else _parting_plain(paths.parting, named),
    }


def drift_plain(drift: Drift, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return changes as plain data for JSON."""
    return {
        "runs_before": drift.before,
        "runs_after": drift.after,
        "asked": drift.asked,
        "shifts": [_shift_plain(each, labels, ("before", "after")) for each in drift.shifts],
        "times": [
            {
                "tool": each.tool,
                "median_ns_before": each.before[0],
                "median_ns_after": each.after[0],
                "p95_ns_before": each.before[1],
                "p95_ns_after": each.after[1],
            }
            for each in drift.times
        ],
    }


def paths_csv(paths: Paths) -> str:
    """Return paths, tools and edges as one CSV table. Cells that a spreadsheet would execute get an apostrophe."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([*_TABLE, *_TIMES])
    named = _namer(paths)
    for path in paths.paths:
        writer.writerow(_cells("path", route_text(path.calls, paths.labels), "", path.ended, ""))
    for tool in paths.tools:
        times = ["" if time is None else f"{time / 1e6:.3f}" for time in (tool.p50, tool.p95, tool.p99)]
        found = [tool.facts.errors, tool.facts.suspected, *times]
        writer.writerow(_cells("tool", named(tool.name) or "", "", tool.ended, tool.calls, *found))
    for edge in paths.edges:
        ends = [named(edge.before) or "(start)", named(edge.after) or "(end)"]
        writer.writerow(_cells("edge", ends[0], ends[1], edge.ended, edge.calls))
    return written.getvalue()


def _headline(paths: Paths) -> str:
    count = count_text(paths.ended.runs, "run")
    tools = count_text(len(paths.tools), "tool")
    if paths.mean_calls is None:
        return f"{count}, none with recorded calls" if paths.ended.runs else "no runs"
    listed = count_text(len(paths.paths), "path") if paths.is_listed else "too many different paths to list"
    return (
        f"{count}, {listed}, {tools}, {paths.mean_calls:.1f} calls each "
        f"(median {paths.median_calls:,}, p95 {paths.p95_calls:,})"
    )


def _path_table(paths: Paths, paper: Paper, least: float | None) -> Iterator[Line]:
    if not paths.is_listed:
        yield ("  the runs took so many different paths that none is worth a line; tools and edges are below",)
        return
    runs = paths.ended.runs
    shown = [path for path in paths.paths if path.ended.runs >= (least or 0.0) * runs]
    shown = shown if least is not None else shown[:_MOST_PATHS]
    passed = [_passed(path.ended) for path in shown]
    width = max([6, *map(len, passed)])
    room = max(20, paper.width - 13 - width)
    yield (f"{'runs':>8}   {'path'.ljust(room)} {_head(paths, 'passed', width)}".rstrip(),)
    for path, ended in zip(shown, passed, strict=True):
        pieces = paper.pieces(_shortened(path, paths, paper, 2 * room - 12), room, lines=2, hanging=2)
        first = pieces[0] + " " * (room - cell_count(pieces[0]))
        yield (f"{path.ended.runs:>8,}   {first} {ended:>{width}}".rstrip(),)
        yield from ((f"{'':>8}   {piece}",) for piece in pieces[1:])
    left = paths.paths[len(shown) :]
    if left:
        rest = count_text(sum([path.ended.runs for path in left]), "run")
        yield (f"{paper.glyph(('…', '...')):>8}   {count_text(len(left), 'more path')}, {rest}",)


def _shortened(path: TakenPath, paths: Paths, paper: Paper, room: int) -> str:
    """Return a path that fits, with whole steps left out in the middle if needed: half a name would name no tool."""
    if path.calls is None or cell_count(whole := route_text(path.calls, paths.labels)) <= room:
        return route_text(path.calls, paths.labels)
    steps = route_steps(path.calls, paths.labels)
    for kept in range(len(steps) - 1, 1, -1):
        head = (kept + 1) // 2
        left = f"({len(steps) - kept:,} more)"
        whole = " → ".join([*steps[:head], left, *steps[len(steps) - (kept - head) :]])
        if cell_count(whole) <= room:
            return whole
    return whole


def _tool_table(paths: Paths, paper: Paper, least: float | None) -> Iterator[Line]:
    tools = _most(paths.tools, least, paths.ended.runs, _MOST_TOOLS)
    is_timed = any([tool.p50 is not None for tool in tools])
    names = [fit(paper.text(paths.labels.get(tool.name, tool.name)), 34, plain=paper.plain) for tool in tools]
    width = max([cell_count(name) for name in [*names, "tool"]])
    times = f" {'p50':>8} {'p95':>8} {'p99':>8}" if is_timed else ""
    yield ()
    yield (f"  {'tool'.ljust(width)}  in runs     calls   errors{times}",)
    for tool, name in zip(tools, names, strict=True):
        percentiles = [tool.p50, tool.p95, tool.p99]
        shown = (
            "".join([f" {'-' if time is None else duration_text(time):>8}" for time in percentiles]) if is_timed else ""
        )
        errors = share_text(tool.error_share)
        row = f"{tool.ended.runs:>7,}  {tool.calls:>8,}  {errors:>7}{shown}"
        yield (f"  {name}{' ' * (width - cell_count(name))}  {row}",)
    yield from _more(len(paths.tools) - len(tools), "tool", paper)


def _edge_table(paths: Paths, paper: Paper, least: float | None) -> Iterator[Line]:
    edges = _most(paths.edges, least, paths.ended.runs, _MOST_EDGES)
    if not edges:
        return
    texts = [_edge_words(edge, paths, paper) for edge in edges]
    width = max([cell_count(text) for text in [*texts, "one call after another"]])
    yield ()
    yield (f"  {'one call after another'.ljust(width)}  in runs {_head(paths, 'passed', 8)}".rstrip(),)
    for edge, text in zip(edges, texts, strict=True):
        ended = share_text(edge.ended.rate, edge.ended.runs) if edge.ended.rate is not None else ""
        yield (f"  {text}{' ' * (width - cell_count(text))}  {edge.ended.runs:>7,} {ended:>8}".rstrip(),)
    yield from _more(len(paths.edges) - len(edges), "edge", paper)


def _edge_words(edge: Edge, paths: Paths, paper: Paper) -> str:
    named = _namer(paths)
    room = max(12, (paper.width - 28) // 2)
    ends = [named(edge.before) or "(start)", named(edge.after) or "(end)"]
    return f" {paper.glyph(_ARROW)} ".join([fit(paper.text(end), room, plain=paper.plain) for end in ends])


def _differences(paths: Paths, paper: Paper) -> Iterator[Line]:
    if not paths.differ:
        return
    yield ()
    yield (f"  {'passed and failed runs differ in':<44} passed  failed",)
    for each in paths.differ[:_MOST_DIFFERENCES]:
        words = fit(_words(each, paths.labels, paper), 44, plain=paper.plain)
        runs = paths.ended.passed + paths.ended.failed
        shares = [share_text(each.before, runs), share_text(each.after, runs)]
        yield (f"  {words}{' ' * (44 - cell_count(words))} {shares[0]:>6}  {shares[1]:>6}",)
    yield from _more(len(paths.differ) - _MOST_DIFFERENCES, "difference", paper)


def _parting(parting: Parting, paths: Paths, paper: Paper) -> Iterator[Line]:
    named = _namer(paths)
    has_verdicts = bool(paths.ended.passed or paths.ended.failed)
    yield ()
    is_mixed = paths.ended.is_mixed
    yield ("  where passed and failed runs diverge" if is_mixed else "  where most runs leave the commonest path",)
    yield from parting_tree(parting, paper, named, has_verdicts=has_verdicts)


def _words(each: Shifted, labels: Mapping[str, str], paper: Paper) -> str:
    return paper.text(feature_words(each.feature, labels).replace("`", ""))


def _shares(each: Shifted, drift: Drift) -> tuple[str, str, str]:
    return share_text(each.before, drift.before), share_text(each.after, drift.after), "of runs"


def _sign(each: Shifted, paper: Paper) -> str:
    return "+" if each.points > 0 else paper.glyph(("−", "-"))


def _most(items: Sequence[Any], least: float | None, runs: int, most: int) -> Sequence[Any]:
    if least is None:
        return items[:most]
    return [item for item in items if item.ended.runs >= least * runs]


def _more(left: int, noun: str, paper: Paper) -> Iterator[Line]:
    if left > 0:
        yield (f"  {paper.glyph(('…', '...'))} {count_text(left, f'more {noun}')}",)


def _head(paths: Paths, text: str, width: int) -> str:
    return f"{text:>{width}}" if paths.ended.passed or paths.ended.failed else ""


def _passed(ended: Any) -> str:
    return f"{ended.passed:,}/{ended.passed + ended.failed:,}" if ended.passed or ended.failed else ""


def _namer(paths: Paths) -> Any:
    return lambda key: None if key is None else paths.labels.get(key, key)


def _ends(ended: Any) -> dict[str, int]:
    return {"passed": ended.passed, "failed": ended.failed, "unjudged": ended.unjudged}


def _tool_plain(tool: UsedTool) -> dict[str, Any]:
    interval = tool.error_interval
    return {
        "name": tool.name,
        "runs": tool.ended.runs,
        **_ends(tool.ended),
        "calls": tool.calls,
        "errors": tool.facts.errors,
        "suspected_errors": tool.facts.suspected,
        "unknown_outcomes": tool.facts.unknown,
        "error_share": tool.error_share,
        "error_interval": None if interval is None else [interval.low, interval.high],
        "runs_with_error": tool.facts.error_runs,
        "runs_with_retry": tool.facts.retry_runs,
        "p50_ns": tool.p50,
        "p95_ns": tool.p95,
        "p99_ns": tool.p99,
    }


def _shift_plain(each: Shifted, labels: Mapping[str, str], sides: tuple[str, str]) -> dict[str, Any]:
    return {
        "kind": each.feature.kind,
        "calls": [labels.get(key, key) for key in each.feature.steps],
        f"share_{sides[0]}": each.before,
        f"share_{sides[1]}": each.after,
        "q": each.chance,
    }


def _parting_plain(parting: Parting, named: Any) -> dict[str, Any]:
    branches = [
        {"call": named(branch.call), "runs": branch.runs, "passed": branch.passed, "failed": branch.failed}
        for branch in parting.branches
    ]
    return {"after": [named(key) for key in parting.after], "branches": branches}


def _cells(kind: str, name: str, after: str, ended: Any, *more: object) -> list[object]:
    cells = [kind, name, after, ended.runs, ended.passed, ended.failed, ended.unjudged, *more]
    cells += [""] * (len(_TABLE) + len(_TIMES) - len(cells))
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in cells]
