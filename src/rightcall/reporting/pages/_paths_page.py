"""The page of paths: their list, what runs differ in, where they diverge, the graph, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rightcall.reporting.paths import (
    CasePaths,
    Drift,
    Edge,
    Ended,
    Parting,
    Paths,
    Shifted,
    TakenPath,
    UsedTool,
    feature_words,
    route_steps,
)
from rightcall.reporting.reports import duration_text, share_text
from rightcall.values.results import Verdict, count_text

from ._path_graph import MOST_EDGES, Graph, path_graph
from ._templates import Column, Crumb, Head, Links, render, sorted_table

LISTED = 8
_IN_ONE_FILE = 20
_MOST_TABLE = 300
_NARROW = 764
"""The widest drawing, in pixels, that fits beside the list."""
_BAR = 100.0
_COLUMNS: dict[str, dict[str, Column]] = {
    "sort": {
        "runs": Column("Runs", lambda line: line[1].ended.runs),
        "calls": Column("Path", lambda line: line[1].calls if line[1].calls is None else len(line[1].calls)),
        "passed": Column("Passed", lambda line: line[1].ended.rate),
    },
    "tools": {
        "tool": Column("Tool", lambda tool: tool.name),
        "runs": Column("In runs", lambda tool: tool.ended.runs),
        "calls": Column("Calls", lambda tool: tool.calls),
        "errors": Column("Errors", lambda tool: tool.error_share),
        "p50": Column("p50", lambda tool: tool.p50),
        "p95": Column("p95", lambda tool: tool.p95),
        "p99": Column("p99", lambda tool: tool.p99),
    },
    "follows": {
        "call": Column("Call", lambda edge: edge.before),
        "then": Column("Then", lambda edge: edge.after),
        "runs": Column("In runs", lambda edge: edge.ended.runs),
        "times": Column("Times", lambda edge: edge.calls),
        "passed": Column("Passed", lambda edge: edge.ended.rate),
    },
}
"""The sortable columns of each table, by the parameter of the address with its sorting."""


class PathLine(msgspec.Struct, frozen=True, kw_only=True):
    """A path in the list: its steps, how many runs took it and how they ended, and a bar for these."""

    steps: tuple[str, ...]
    is_recorded: bool
    ended: Ended
    passed: str
    bars: tuple[float, float, float]
    """The lengths of passed, failed and other runs, in percent of the longest bar."""
    href: str = ""
    is_chosen: bool = False


class RunOfPath(msgspec.Struct, frozen=True):
    """A run that took a path: its case, its repeat from 1, its verdict, its first problem, and its page."""

    case_id: str
    repeat: int
    verdict: Verdict
    problem: str
    href: str


class ChosenPath(msgspec.Struct, frozen=True, kw_only=True):
    """The selected path, and runs that took it."""

    line: PathLine
    problem: str = ""
    """The most common problem of those that failed."""
    runs: tuple[RunOfPath, ...] = ()
    more: int = 0


class BranchLine(msgspec.Struct, frozen=True, kw_only=True):
    """A branch where runs diverge: the next call, how its runs end, and the runs."""

    call: str
    """The next call; empty if runs end here."""
    ended: Ended
    bars: tuple[float, float, float]
    reason: str = ""
    repeats: tuple[tuple[int, str], ...] = ()
    """Repeats that took it, from 1, each with its address."""


class PartingView(msgspec.Struct, frozen=True):
    """A place where runs diverge."""

    after: tuple[str, ...]
    branches: tuple[BranchLine, ...]


class ShiftLine(msgspec.Struct, frozen=True):
    """A feature with different shares in two sets of runs, as text."""

    words: str
    before: str
    after: str
    points: str


class TableRow(msgspec.Struct, frozen=True):
    """A row of figures, as text."""

    name: str
    cells: tuple[str, ...]


class Option(msgspec.Struct, frozen=True):
    """A link that selects something on the page."""

    label: str
    href: str
    is_chosen: bool = False


class PathsPage(msgspec.Struct, frozen=True, kw_only=True):
    """What the page of paths shows, for its template."""

    title: str = "Paths"
    trail: tuple[Crumb, ...] = (Crumb("Paths"),)
    is_running: bool = False
    summary: str
    notes: tuple[str, ...] = ()
    has_verdicts: bool
    is_mixed: bool = False
    """Whether some runs passed and others failed."""
    is_listed: bool = True
    lines: tuple[PathLine, ...] = ()
    more: str = ""
    more_href: str = ""
    chosen: ChosenPath | None = None
    differ: tuple[ShiftLine, ...] = ()
    partings: tuple[PartingView, ...] = ()
    graphs: tuple[tuple[str, Graph], ...] = ()
    """Drawings, each with a heading; two if two sets of runs are compared."""
    all_edges: str = ""
    """The address that also draws weaker edges."""
    needs_width: bool = False
    """Whether a drawing needs the whole width."""
    tools: tuple[TableRow, ...] = ()
    edges: tuple[TableRow, ...] = ()
    heads: Mapping[str, Mapping[str, Head]] = {}
    """The headings that sort the tables: `sort` for paths, `tools`, and `follows` for edges."""
    options: tuple[tuple[str, tuple[Option, ...]], ...] = ()
    """Groups of links, each with a name."""
    drift: tuple[ShiftLine, ...] = ()
    is_drift: bool = False
    same: str = ""
    command: str = ""
    """The command that prints the same."""

    @property
    def follows_sorted(self) -> bool:
        """Whether the address sorts the table of edges, which is then open."""
        return any([head.direction for head in self.heads.get("follows", {}).values()])


def paths_html(page: PathsPage, links: Links) -> str:
    """Render the page. Raises `MissingExtraError`."""
    return render("paths.html", page, links)


def paths_file(paths: Paths, name: str, drift: Drift | None = None, before: str = "") -> str:
    """Return the page as a single file that needs no other file and no network. Raises `MissingExtraError`."""
    title = f"Paths of {name.rstrip('/').rpartition('/')[2]}"
    page = paths_page(paths, title=title, trail=(Crumb(title),), listed=_IN_ONE_FILE)
    if drift is not None:
        page = with_drift(page, drift, paths.labels, (before, name))
    return paths_html(page, Links(is_one_file=True))


def paths_page(
    paths: Paths,
    *,
    title: str = "Paths",
    trail: tuple[Crumb, ...] = (Crumb("Paths"),),
    number: int = 0,
    listed: int = LISTED,
    most_edges: int = MOST_EDGES,
    href: Callable[[int], str] = lambda number: "",
    asked: Mapping[str, str] | None = None,
    sorts: Callable[[str, str], str] = lambda table, sort: "",
) -> PathsPage:
    """Return the page of some paths.

    Args:
        paths: The paths.
        title: The title of the page.
        trail: The breadcrumbs.
        number: The selected path, from 1; 0 for none.
        listed: The number of paths to list.
        most_edges: The number of edges to draw.
        href: Returns the address that selects a path by number.
        asked: The sorting of each table in the address.
        sorts: Returns the address that sorts a table.
    """
    tables, heads = _tables(paths, asked or {}, sorts)
    lines, rest = _listed(tables["sort"], listed, number)
    graph = path_graph(paths, paths.paths[number - 1].calls if number else None, most_edges)
    return PathsPage(
        title=title,
        trail=trail,
        summary=_summary(paths),
        notes=tuple(_notes(paths)),
        has_verdicts=paths.ended.rate is not None,
        is_mixed=paths.ended.is_mixed,
        is_listed=paths.is_listed,
        lines=tuple(_lines(paths, lines, number, href)),
        more=_more(rest),
        differ=tuple([shift_line(each, paths.labels, _judged(paths)) for each in paths.differ]),
        partings=(parting_view(paths.parting, paths.labels),) if paths.parting is not None else (),
        graphs=(("How calls follow each other", graph),) if graph is not None else (),
        needs_width=graph is not None and graph.width > _NARROW,
        tools=_tools(tables["tools"]),
        edges=_edges(tables["follows"], paths.labels),
        heads=heads,
    )


def _more(rest: Sequence[TakenPath]) -> str:
    """Return in words how many paths are not listed; empty if all are."""
    runs = sum([path.ended.runs for path in rest])
    return f"{count_text(len(rest), 'more path')}, {count_text(runs, 'run')}" if rest else ""


def _tables(
    paths: Paths, asked: Mapping[str, str], sorts: Callable[[str, str], str]
) -> tuple[dict[str, list[Any]], dict[str, dict[str, Head]]]:
    """Return the sorted rows of each table, paths with their numbers, and the headings."""
    rows: dict[str, Sequence[Any]] = {
        "sort": list(enumerate(paths.paths, 1)),
        "tools": paths.tools,
        "follows": paths.edges,
    }
    tables, heads = {}, {}
    for table, columns in _COLUMNS.items():
        tables[table], heads[table] = sorted_table(rows[table], asked.get(table, ""), columns, partial(sorts, table))
    return tables, heads


def with_drift(page: PathsPage, drift: Drift, labels: Mapping[str, str], names: tuple[str, str]) -> PathsPage:
    """Return the page with what changed in front."""
    lines = [shift_line(each, labels, min(drift.before, drift.after)) for each in drift.shifts]
    for each in drift.times:
        times = [duration_text(time) for time in (each.before[0], each.after[0])]
        lines.append(ShiftLine(f"`{each.tool}`, median time", times[0], times[1], f"×{each.ratio:.1f}"))
    left = max(0, drift.asked - drift.count)
    same = f"{left:,} others are as they were. 5 % of such lists are wrong by chance."
    summary = f"{names[0]}, {drift.before:,} runs → {names[1]}, {drift.after:,} runs"
    return msgspec.structs.replace(page, drift=tuple(lines), is_drift=True, same=same, summary=summary)


def case_partings(
    found: CasePaths, address: Callable[[int], str], labels: Mapping[str, str] | None = None
) -> tuple[PartingView, ...]:
    """Return where the runs of one case diverge; `address` returns the page of a repeat, from 0."""
    return tuple([parting_view(parting, labels or {}, address) for parting in found.partings[:4]])


def parting_view(
    parting: Parting, labels: Mapping[str, str], address: Callable[[int], str] | None = None
) -> PartingView:
    """Return a place where runs diverge, with a bar for each branch."""
    longest = max([branch.runs for branch in parting.branches])
    branches = []
    for branch in parting.branches:
        ended = Ended(branch.passed, branch.failed, branch.runs - branch.passed - branch.failed)
        branches.append(
            BranchLine(
                call="" if branch.call is None else labels.get(branch.call, branch.call),
                ended=ended,
                bars=_bars(ended, longest),
                reason=branch.reason,
                repeats=tuple([(number + 1, address(number)) for number in branch.repeats]) if address else (),
            )
        )
    return PartingView(tuple([labels.get(key, key) for key in parting.after]), tuple(branches))


def shift_line(each: Shifted, labels: Mapping[str, str], runs: int) -> ShiftLine:
    """Return a difference as text."""
    sign = "+" if each.points > 0 else "−"
    words = feature_words(each.feature, labels)
    shares = share_text(each.before, runs), share_text(each.after, runs)
    return ShiftLine(words, *shares, f"{sign}{abs(each.points) * 100:.0f}")


def _notes(paths: Paths) -> Iterator[str]:
    if paths.unrecorded:
        yield f"The calls of {paths.unrecorded:,} runs were not recorded. They are in no share."
    if not paths.is_listed:
        yield "The runs took so many different paths that they are not listed."


def _judged(paths: Paths) -> int:
    return paths.ended.passed + paths.ended.failed


def _listed(
    paths: Sequence[tuple[int, TakenPath]], listed: int, chosen: int
) -> tuple[list[tuple[int, TakenPath]], list[TakenPath]]:
    """Return the first paths and the selected one with their numbers, and the rest."""
    shown = [each for place, each in enumerate(paths) if place < listed or each[0] == chosen]
    return shown, [path for number, path in paths[listed:] if number != chosen]


def _lines(
    paths: Paths, lines: Sequence[tuple[int, TakenPath]], chosen: int, href: Callable[[int], str]
) -> Iterator[PathLine]:
    longest = max([path.ended.runs for path in paths.paths], default=1)
    for number, path in lines:
        ended = path.ended
        judged = ended.passed + ended.failed
        yield PathLine(
            steps=tuple(route_steps(path.calls or (), paths.labels)),
            is_recorded=path.calls is not None,
            ended=ended,
            passed=f"{ended.passed:,}/{judged:,}" if judged else "",
            bars=_bars(ended, longest),
            href=href(number),
            is_chosen=number == chosen,
        )


def _bars(ended: Ended, longest: int) -> tuple[float, float, float]:
    scale = _BAR / max(1, longest)
    return round(ended.passed * scale, 2), round(ended.failed * scale, 2), round(ended.unjudged * scale, 2)


def _summary(paths: Paths) -> str:
    runs = f"{paths.ended.runs:,} run{'s' if paths.ended.runs != 1 else ''}"
    if paths.mean_calls is None:
        return f"{runs}, none with recorded calls"
    took = f" took {len(paths.paths):,} path{'s' if len(paths.paths) != 1 else ''}" if paths.is_listed else ""
    return f"{runs}{took}, {paths.mean_calls:.1f} calls each"


def _tools(tools: Sequence[UsedTool]) -> tuple[TableRow, ...]:
    rows = []
    for tool in tools[:_MOST_TABLE]:
        times = ["–" if time is None else duration_text(time) for time in (tool.p50, tool.p95, tool.p99)]
        cells = [f"{tool.ended.runs:,}", f"{tool.calls:,}", share_text(tool.error_share), *times]
        rows.append(TableRow(tool.name, tuple(cells)))
    return tuple(rows)


def _edges(edges: Sequence[Edge], labels: Mapping[str, str]) -> tuple[TableRow, ...]:
    rows = []
    for edge in edges[:_MOST_TABLE]:
        ends = [labels.get(key, key) if key else name for key, name in _named(edge.before, edge.after)]
        passed = share_text(edge.ended.rate, edge.ended.runs) if edge.ended.rate is not None else "–"
        rows.append(TableRow(ends[0], (ends[1], f"{edge.ended.runs:,}", f"{edge.calls:,}", passed)))
    return tuple(rows)


def _named(before: str | None, after: str | None) -> Sequence[tuple[str | None, str]]:
    return (before, "start"), (after, "end")
