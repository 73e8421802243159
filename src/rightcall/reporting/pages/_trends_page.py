"""The page of trends: rates over time with their intervals, figures by run, flaky cases, and gates by commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from rightcall.reporting.reports import interval_text, share_text
from rightcall.reporting.store import GateRecord, RunFigures
from rightcall.values.results import Verdict, worst
from rightcall.values.statistics import Interval, Trials, wilson

from ._runs_page import ends_text
from ._templates import Column, Crumb, Head, Links, case_key, render, seconds_text, sorted_table

_Row = TypeVar("_Row")
_WIDTH, _HEIGHT = 860.0, 236.0
_SMALL, _LOW = 190.0, 44.0
_FLOOR = 0.5
"""The lowest rate on the scale of small charts. Lower rates are drawn at its edge."""
_TRACK = 90.0
_RUNS = 10
_MOST_FLAKY = 20
_FLAKY_COLUMNS = {
    "case": Column("Case", lambda case: case.case_id),
    "rate": Column("Rate", lambda case: case.at),
    "rounds": Column("Rounds", lambda case: int(case.rounds.partition("/")[2])),
}
_GATE_COLUMNS = {
    "commit": Column("Commit", lambda commit: commit.commit or None),
    "branch": Column("Branch", lambda commit: commit.branch or None),
    "gates": Column("Gates, the oldest first", lambda commit: len(commit.gates)),
}


class TrendRun(msgspec.Struct, frozen=True, kw_only=True):
    """One finished run: its time and origin, and its figures."""

    name: str
    short_id: str
    evalset: str
    branch: str
    commit: str
    started: float
    """Seconds since the epoch."""
    when: str
    rate: float | None
    """The mean rate of its cases."""
    figures: RunFigures
    gate: GateRecord | None = None
    is_part: bool = False
    """Whether only some cases of the eval set were run. Such a run is not drawn beside complete ones; its gates are."""

    @property
    def interval(self) -> Interval | None:
        """The interval of the rate."""
        return self.figures.interval

    @property
    def says(self) -> str:
        """The run in one line."""
        named = f"{self.branch} {self.short_id}".strip()
        gate = f", {self.gate.verdict}" if self.gate is not None and self.gate.verdict else ""
        return f"{named}, {self.when}: {share_text(self.rate)} ({interval_text(self.interval)}){gate}"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a chart: its position, its interval, and its description."""

    x: float
    y: float
    low: float
    high: float
    href: str
    says: str
    is_worse: bool
    branch: int
    """The number of its branch, for its colour."""


class EvalSetCard(msgspec.Struct, frozen=True, kw_only=True):
    """An eval set as a small chart: its newest rate, and the decision of its last gate."""

    evalset: str
    href: str
    cases: int
    rate: str
    gate: str
    kind: str
    line: str
    """The points of the line of rates."""
    band: str
    """The points of the band of intervals."""
    at: tuple[float, float]
    is_chosen: bool


class Figure(msgspec.Struct, frozen=True):
    """A figure by run: its newest value, the one before, and its line."""

    label: str
    value: str
    before: str
    line: str
    at: tuple[float, float]


class FlakyCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose verdict changed in the last runs: its verdicts, the oldest first, and its overall rate."""

    case_id: str
    href: str
    verdicts: tuple[Verdict | None, ...]
    rate: str
    interval: str
    low: float
    width: float
    at: float
    rounds: str


class CommitGates(msgspec.Struct, frozen=True):
    """All gates of one commit, the oldest first. They show a run that was repeated until it passed."""

    commit: str
    branch: str
    gates: tuple[tuple[str, str, str, str, int], ...]
    """The run, its address, the verdict, the reason and the exit code."""


class TrendsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs over time."""

    runs: int
    cards: tuple[EvalSetCard, ...] = ()
    evalset: str = ""
    branches: tuple[tuple[str, str, bool], ...] = ()
    """Branches to select: their names, addresses, and whether each is selected."""
    legend: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    lines: tuple[tuple[int, str, str], ...] = ()
    """For each branch: its number, and the points of its line and of its band."""
    scale: tuple[tuple[float, str], ...] = ()
    days: tuple[tuple[float, str], ...] = ()
    table: tuple[tuple[str, str, str, str, str], ...] = ()
    """The points of the chart as a table: run, address, time, rate, interval."""
    figures: tuple[Figure, ...] = ()
    flaky: tuple[FlakyCase, ...] = ()
    flaky_cases: int = 0
    heads: Mapping[str, Head] = {}
    """The headings that sort the flaky cases."""
    gate_heads: Mapping[str, Head] = {}
    compared: int = 0
    gates: tuple[CommitGates, ...] = ()
    title: str = "Trends"
    trail: tuple[Crumb, ...] = (Crumb("Trends"),)
    is_running: bool = False


def trends_page(
    runs: Sequence[TrendRun],
    evalset: str,
    branch: str,
    links: Links,
    sort: str = "",
    gates_sort: str = "",
) -> TrendsPage:
    """Return the page for runs, which are given oldest first.

    `sort` is the sorting of flaky cases in the address; by default those with a rate nearest to 50 % come first.
    `gates_sort` is that of the gates; by default the newest commit comes first.
    """
    whole = [run for run in runs if not run.is_part] or list(runs)
    often = Counter([run.evalset for run in whole])
    # The most recently run comes first, but eval sets with only one run come last.
    sets = sorted(dict.fromkeys([run.evalset for run in reversed(whole)]), key=lambda name: often[name] == 1)
    chosen = evalset if evalset in sets else sets[0] if sets else ""
    mine = [run for run in whole if run.evalset == chosen]
    branches = list(dict.fromkeys([run.branch for run in mine]))
    shown = [run for run in mine if not branch or run.branch == branch]
    points, lines, scale = _chart(shown, branches, links)
    kept = {"evalset": evalset, "branch": branch, "sort": sort, "gates": gates_sort}
    flaky, heads = _sorted(_flaky(shown[-_RUNS:], links), "sort", _FLAKY_COLUMNS, kept, links)
    gates, gate_heads = _sorted(
        _gates([run for run in runs if run.evalset == chosen], links), "gates", _GATE_COLUMNS, kept, links
    )
    return TrendsPage(
        runs=len(runs),
        cards=tuple([_card(each, [run for run in whole if run.evalset == each], chosen, links) for each in sets[:10]]),
        evalset=chosen,
        branches=_branches(branches, chosen, branch, links),
        legend=tuple([each or "no branch" for each in branches]),
        points=points,
        lines=lines,
        scale=scale,
        days=tuple(zip((0.0, _WIDTH), ends_text(shown[0].when, shown[-1].when), strict=True)) if shown[1:] else (),
        table=tuple([_table_row(run, links) for run in reversed(shown)]),
        figures=tuple(_figures(shown)),
        flaky=tuple(flaky[:_MOST_FLAKY]),
        flaky_cases=len(flaky),
        heads=heads,
        gate_heads=gate_heads,
        compared=len({case_id for run in shown[-_RUNS:] for case_id in run.figures.trials}),
        gates=tuple(gates),
    )


def _branches(names: Sequence[str], evalset: str, chosen: str, links: Links) -> tuple[tuple[str, str, bool], ...]:
    every = ("All branches", links.trends(evalset=evalset), not chosen)
    each = [(name, links.trends(evalset=evalset, branch=name), name == chosen) for name in names[:12] if name]
    return every, *each


def _sorted(
    rows: Sequence[_Row], key: str, columns: Mapping[str, Column], kept: Mapping[str, str], links: Links
) -> tuple[list[_Row], dict[str, Head]]:
    """Return the sorted rows of a table and its headings; `key` is the parameter of the address with its sorting."""
    place = "flaky" if key == "sort" else key
    return sorted_table(rows, kept[key], columns, lambda text: f"{links.trends(**{**kept, key: text})}#{place}")


def trends_html(page: TrendsPage, links: Links) -> str:
    """Render the page of trends. Raises `MissingExtraError`."""
    return render("trends.html", page, links)


def _table_row(run: TrendRun, links: Links) -> tuple[str, str, str, str, str]:
    name = f"{run.branch} {run.short_id}".strip()
    return name, links.run(run.name), run.when, share_text(run.rate), interval_text(run.interval)


def _times(runs: Sequence[TrendRun]) -> dict[str, float]:
    """Return the position of each run between the first and the last one, by time, from 0 to 1."""
    first, last = min([run.started for run in runs]), max([run.started for run in runs])
    return {run.name: (run.started - first) / (last - first) if last > first else 0.5 for run in runs}


def _chart(
    runs: Sequence[TrendRun], branches: Sequence[str], links: Links
) -> tuple[tuple[Point, ...], tuple[tuple[int, str, str], ...], tuple[tuple[float, str], ...]]:
    known = [run for run in runs if run.rate is not None and run.interval is not None]
    if not known:
        return (), (), ()
    times = _times(known)
    lowest = min([run.interval.low for run in known if run.interval is not None])
    floor = max(0.0, min(0.9, int(lowest * 10) / 10))

    def place(share: float) -> float:
        return round(_HEIGHT * (1.0 - (share - floor) / (1.0 - floor)), 1)

    points = [_point(run, times[run.name], place, branches.index(run.branch), links) for run in known]
    lines = []
    for number, _ in enumerate(branches):
        mine = [point for point in points if point.branch == number]
        if len(mine) > 1:
            band = [f"{point.x},{point.high}" for point in mine] + [
                f"{point.x},{point.low}" for point in reversed(mine)
            ]
            lines.append((number, " ".join([f"{point.x},{point.y}" for point in mine]), " ".join(band)))
    tens = range(100, round(100 * floor) - 1, -10 if floor >= 0.5 else -20)
    return tuple(points), tuple(lines), tuple([(place(each / 100), share_text(each / 100)) for each in tens])


def _point(run: TrendRun, time: float, place: Callable[[float], float], branch: int, links: Links) -> Point:
    interval = run.interval or Interval(0.0, 1.0)
    return Point(
        x=round(_WIDTH * time, 1),
        y=place(run.rate or 0.0),
        low=place(interval.low),
        high=place(interval.high),
        href=links.run(run.name),
        says=run.says,
        is_worse=run.gate is not None and run.gate.verdict == "worse",
        branch=branch,
    )


def _card(evalset: str, runs: Sequence[TrendRun], chosen: str, links: Links) -> EvalSetCard:
    known = [run for run in runs if run.rate is not None]
    last, gated = runs[-1], next((run.gate for run in reversed(runs) if run.gate is not None), None)
    times = _times(known) if known else {}

    def place(share: float) -> float:
        return round(_LOW * (1.0 - (max(share, _FLOOR) - _FLOOR) / (1.0 - _FLOOR)), 1)

    line = [(round(_SMALL * times[run.name], 1), place(run.rate or 0.0)) for run in known]
    ends = [(x, run.interval or Interval(0.0, 1.0)) for (x, _), run in zip(line, known, strict=True)]
    band = [f"{x},{place(each.high)}" for x, each in ends] + [f"{x},{place(each.low)}" for x, each in reversed(ends)]
    word = (gated.verdict or "") if gated is not None else ""
    points = f", {round(100 * gated.difference):+d} points" if gated is not None and gated.difference else ""
    return EvalSetCard(
        evalset=evalset,
        href=links.trends(evalset=evalset),
        cases=len(last.figures.trials),
        rate=share_text(known[-1].rate) if known else "–",
        gate=f"{word}{points}".replace("-", "−") if word in ("worse", "better") else word,
        kind={"worse": "failed", "better": "passed"}.get(word, ""),
        line=" ".join([f"{x},{y}" for x, y in line]),
        band=" ".join(band),
        at=line[-1] if line else (0.0, 0.0),
        is_chosen=evalset == chosen,
    )


def _figures(runs: Sequence[TrendRun]) -> list[Figure]:
    def share(value: float) -> str:
        return f"{value * 100:.1f} %"

    kinds = (
        ("Calls", "calls", lambda value: f"{value:.1f}"),
        ("Tool errors", "errors", share),
        ("Time, p95", "p95", seconds_text),
        ("Tokens", "tokens", lambda value: f"{value:,.0f}"),
    )
    found = []
    for label, name, text in kinds:
        values = [(run, getattr(run.figures, name)) for run in runs if getattr(run.figures, name) is not None]
        if not values:
            continue
        numbers = [value for _, value in values]
        low, high = min(numbers), max(numbers)
        # Small differences should look small: only a change of a tenth or more takes the full height.
        spread = max(high - low, abs(high) / 10) or 1.0
        places = [
            (round(120.0 * place / max(1, len(values) - 1), 1), round(20.0 * (1.0 - (value - low) / spread) + 2.0, 1))
            for place, value in enumerate(numbers)
        ]
        before = text(numbers[-2]) if len(numbers) > 1 else ""
        found.append(Figure(label, text(numbers[-1]), before, " ".join([f"{x},{y}" for x, y in places]), places[-1]))
    return found


def _flaky(runs: Sequence[TrendRun], links: Links) -> list[FlakyCase]:
    """Return the cases with different verdicts in trials or runs, those with a rate nearest to 50 % first."""
    seen: dict[str, list[Verdict | None]] = {}
    failing = {case_id for run in runs for case_id in run.figures.failing}
    for place, run in enumerate(runs):
        for case_id, totals in [(each, run.figures.trials[each]) for each in failing if each in run.figures.trials]:
            names: Mapping[Verdict, int] = {
                "passed": totals.passed,
                "failed": totals.failed,
                "error": totals.error,
                "not_measured": totals.not_measured,
            }
            verdict = worst([name for name, count in names.items() if count])
            seen.setdefault(case_id, [None] * len(runs))[place] = verdict
    found = []
    for case_id, verdicts in seen.items():
        counts = [run.figures.trials[case_id] for run in runs if case_id in run.figures.trials]
        passed, failed = sum([each.passed for each in counts]), sum([each.failed for each in counts])
        if not passed or not failed:
            continue
        interval = wilson(Trials(passed, passed + failed)) or Interval(0.0, 1.0)
        newest = next(run for run in reversed(runs) if case_id in run.figures.trials)
        found.append(
            FlakyCase(
                case_id=case_id[:200],
                href=links.case(newest.name, case_key(case_id)),
                verdicts=tuple(verdicts),
                rate=share_text(passed / (passed + failed)),
                interval=interval_text(interval),
                low=round(_TRACK * interval.low, 1),
                width=round(_TRACK * (interval.high - interval.low), 1),
                at=round(_TRACK * passed / (passed + failed), 1),
                rounds=f"{passed}/{passed + failed}",
            )
        )
    return sorted(found, key=lambda case: (abs(case.at / _TRACK - 0.5), case.case_id))


def _gates(runs: Sequence[TrendRun], links: Links) -> list[CommitGates]:
    by_commit: dict[tuple[str, str], list[TrendRun]] = {}
    for run in runs:
        if run.gate is not None:
            by_commit.setdefault((run.commit, run.branch), []).append(run)
    newest = sorted(by_commit.items(), key=lambda item: -item[1][-1].started)
    return [
        CommitGates(
            commit,
            branch,
            tuple(
                [
                    (
                        run.short_id,
                        links.run(run.name),
                        run.gate.verdict or "decided",
                        run.gate.reason[:300],
                        run.gate.exit_code,
                    )
                    for run in found
                    if run.gate is not None
                ]
            ),
        )
        for (commit, branch), found in newest[:20]
    ]
