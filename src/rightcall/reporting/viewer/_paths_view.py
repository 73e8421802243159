"""The page of paths of a run, of one of its cases, or of two runs compared."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from rightcall.reporting.pages import (
    LISTED,
    ChosenPath,
    Crumb,
    Links,
    Option,
    PathsPage,
    RunOfPath,
    case_key,
    case_partings,
    path_graph,
    paths_html,
    paths_page,
    with_drift,
)
from rightcall.reporting.paths import (
    PathCounts,
    Paths,
    Route,
    case_paths,
    drift,
    overview,
)
from rightcall.reporting.store import RunFolder, last_results
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult, Verdict

from ._library import Library
from ._runs_view import is_going_on, number_of, runs_page

_MOST_RUNS = 200
_MOST_LISTED = 500
_MORE_EDGES = 60
_MOST_CASES = 100
_LONGEST = 500
_SEARCHED = 50
_SORTS = {"sort": "#paths", "tools": "#tools", "follows": "#edges"}
"""The parameters of an address that sort tables, with the anchor of each table."""


class _Member(msgspec.Struct, frozen=True):
    """A run that took a path."""

    case_id: str
    repeat: int
    verdict: Verdict
    problem: str


class CountedPaths(msgspec.Struct, frozen=True):
    """The paths of a run, and the first runs of each."""

    counts: PathCounts
    paths: Paths
    members: Mapping[Route, list[_Member]]
    cases: tuple[str, ...]
    results: tuple[CaseResult, ...] = ()
    """The results of the selected case, if there is one."""

    @property
    def weight(self) -> int:
        """Approximate memory use."""
        return 1 + sum(map(len, self.members.values())) + len(self.counts.routes)


def shown_paths(library: Library, query: Mapping[str, str], links: Links) -> str | None:
    """Render the paths of a run, or of two compared; `None` if one does not exist. Raises `StoreError`."""
    before, after = query.get("a", ""), query.get("b", "") or query.get("run", "") or _newest(library)
    if not after:  # no run yet: the page of all runs explains how to make one
        return runs_page(library, {}, links)
    run = library.run(after)
    if run is None:
        return None
    kept = {key: query[key][:_LONGEST] for key in (*_SORTS, "all") if query.get(key)}
    asked = _Asked(after, before, query.get("case", "")[:_LONGEST], query.get("args") == "1", kept)
    counted = _counted(library, after, run, asked)
    # Links of pages have the key of a case; people may write its id.
    named = [case for case in counted.cases if case_key(case) == asked.case]
    asked = replace(asked, case=named[0]) if named else asked
    page = _page(library, run, counted, asked, query, links)
    if before:
        base = library.run(before)
        if base is None:
            return None
        page = _compared(page, (base, run), (_counted(library, before, base, asked), counted))
    return paths_html(page, links)


class _Asked(msgspec.Struct, frozen=True):
    """The parsed address."""

    run: str
    before: str
    case: str
    with_args: bool
    kept: Mapping[str, str]
    """The sorting of tables, and whether all paths are listed."""

    def address(self, links: Links, **changed: str | int) -> str:
        """Return the address of the same page with some parameters changed."""
        known = {"a": self.before, "case": self.case, "args": int(self.with_args), **self.kept, **changed}
        name = "b" if known["a"] else "run"
        return links.paths(**{name: self.run, **known})


def _earlier(library: Library, name: str, run: RunFolder) -> tuple[str, RunFolder] | None:
    """Return the previous run of the same eval set; `None` if there is none."""
    names = library.names()
    older = names[names.index(name) + 1 :][:_SEARCHED] if name in names else []
    return next(
        ((each, one) for each, one in library.readable(older) if one.header.evalset == run.header.evalset), None
    )


def _newest(library: Library) -> str:
    return next((name for name, _ in library.readable(library.names())), "")


def _counted(library: Library, name: str, run: RunFolder, asked: _Asked) -> CountedPaths:
    key = f"{name} {asked.with_args} {asked.case}"
    return library.paths(key, run, lambda: _count(library, run, asked))


def _count(library: Library, run: RunFolder, asked: _Asked) -> CountedPaths:
    counts = PathCounts(with_args=asked.with_args, redacts=library.redacts)
    members: dict[Route, list[_Member]] = {}
    cases: dict[str, None] = {}
    kept: list[CaseResult] = []
    for result in last_results(run.entries):
        cases.setdefault(result.case_id)
        if result.trajectory is None or (asked.case and asked.case not in (result.case_id, case_key(result.case_id))):
            continue
        route = counts.add(result.trajectory, result.verdict)
        runs = members.setdefault(route, [])
        if len(runs) < _MOST_RUNS:
            light = replace(result, trajectory=None, results=(), written=())
            shown = redacted(light) if library.redacts else light
            problem = shown.findings[0].finding.message if shown.findings else ""
            runs.append(_Member(result.case_id, result.repeat, result.verdict, problem))
        if asked.case:
            kept.append(redacted(result) if library.redacts else result)
    return CountedPaths(counts, overview(counts, redacts=library.redacts), members, tuple(cases), tuple(kept))


def _page(
    library: Library, run: RunFolder, counted: CountedPaths, asked: _Asked, query: Mapping[str, str], links: Links
) -> PathsPage:
    paths = counted.paths
    number = number_of(query, "path") if query.get("path") else 0
    number = number if number <= len(paths.paths) else 0
    listed = _MOST_LISTED if query.get("all") == "1" else max(LISTED, number)
    edges = _MORE_EDGES if query.get("edges") == "all" else 0
    page = paths_page(
        paths,
        title="Paths",
        trail=(Crumb("Runs", links.runs()), Crumb(run.short_id, links.run(asked.run)), Crumb("Paths")),
        number=number,
        listed=listed,
        href=lambda place: asked.address(links, path=place) + "#chosen",
        asked=asked.kept,
        sorts=lambda table, sort: asked.address(links, **{table: sort}) + _SORTS[table],
        **({"most_edges": edges} if edges else {}),
    )
    if number:
        page = replace(page, chosen=_chosen(page, counted, number, asked, links))
    if asked.case:
        results = sorted(counted.results, key=lambda result: result.repeat)
        found = case_paths(asked.case, results)
        page = replace(
            page, partings=case_partings(found, lambda repeat: links.case(asked.run, case_key(asked.case, repeat)))
        )
    where = shlex.quote(str(run.folder)) if library.is_alone else run.header.id
    return replace(
        page,
        options=(*_options(counted, asked, links), *_against(library, run, asked, links)),
        more_href=asked.address(links, all=1),
        all_edges="" if edges else asked.address(links, edges="all"),
        is_running=is_going_on(run),
        command=f"rightcall paths {where}" + (f" --case {shlex.quote(asked.case)}" if asked.case else ""),
    )


def _chosen(page: PathsPage, counted: CountedPaths, number: int, asked: _Asked, links: Links) -> ChosenPath:
    path = counted.paths.paths[number - 1]
    members = counted.members.get(path.calls, [])
    problems = Counter([member.problem for member in members if member.verdict == "failed" and member.problem])
    runs = [
        RunOfPath(
            member.case_id,
            member.repeat + 1,
            member.verdict,
            member.problem,
            links.case(asked.run, case_key(member.case_id, member.repeat)),
        )
        for member in members
    ]
    return ChosenPath(
        line=next(line for line in page.lines if line.is_chosen),
        problem=problems.most_common(1)[0][0] if problems else "",
        runs=tuple(runs),
        more=path.ended.runs - len(runs),
    )


def _options(counted: CountedPaths, asked: _Asked, links: Links) -> list[tuple[str, tuple[Option, ...]]]:
    names = Option("names", asked.address(links, args=0), not asked.with_args)
    arguments = Option("with arguments", asked.address(links, args=1), asked.with_args)
    groups: list[tuple[str, tuple[Option, ...]]] = [("How calls are distinguished", (names, arguments))]
    if len(counted.cases) > 1 and len(counted.cases) <= _MOST_CASES and not asked.before:
        every = Option("all cases", asked.address(links, case=""), not asked.case)
        each = [Option(case, asked.address(links, case=case), case == asked.case) for case in counted.cases]
        groups.append(("Cases", (every, *each)))
    elif asked.case:
        groups.append(("Cases", (Option("all cases", asked.address(links, case="")),)))
    return groups


def _against(library: Library, run: RunFolder, asked: _Asked, links: Links) -> list[tuple[str, tuple[Option, ...]]]:
    """Return the link that compares with the previous run, or the link back."""
    if asked.before:
        return [("Compared", (Option("this run alone", asked.address(links, a="")),))]
    earlier = _earlier(library, asked.run, run)
    if earlier is None:
        return []
    return [("Compared", (Option(f"against {_called(earlier[1])}", asked.address(links, a=earlier[0])),))]


def _called(run: RunFolder) -> str:
    return f"{run.header.branch} {run.short_id}" if run.header.branch else run.short_id


def _compared(
    page: PathsPage, runs: tuple[RunFolder, RunFolder], counted: tuple[CountedPaths, CountedPaths]
) -> PathsPage:
    changes = drift(counted[0].counts, counted[1].counts)
    names = [_called(run) for run in runs]
    changed = {each.feature.steps for each in changes.shifts if each.feature.kind == "follows"}
    drawn = [(name, path_graph(side.paths, marked=changed)) for name, side in zip(names, counted, strict=True)]
    graphs = tuple([(name, graph) for name, graph in drawn if graph is not None])
    compared = with_drift(page, changes, counted[1].paths.labels, (names[0], names[1]))
    return replace(compared, graphs=graphs, needs_width=True)
