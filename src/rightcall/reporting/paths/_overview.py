"""A summary of the paths of runs: what they do, where they diverge, and what changed between two sets of runs.

Everything is a share of runs. Numbers of calls are never compared: calls of one run are not independent, so a single
run that loops would show up as a change (in simulations, "nothing changed" was reported as a change in 48 % of
comparisons by calls, and in 4 % by runs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from rightcall.values.redaction import redacted_text
from rightcall.values.statistics import Interval, Trials, adjust_for_many, difference_of_shares, wilson

from ._counts import Feature, Parting, PathCounts, Route, ToolFacts, Totalled, Walk, partings, tool_of

_WALKED = 10_000
"""How many of the most common paths to search for a place of divergence. Rarer ones are not shown."""
LEAST_CHANGE = 0.01
"""The smallest change to report, as a share, however significant."""
WRONG = 0.05
"""The accepted false discovery rate: the share of reported changes that are chance."""
_COMMON = 0.01
"""Paths that a smaller share of runs takes on both sides are not tested: there are thousands of them."""
_LEAST_RATIO = 1.1
_KINDS = ("tool", "error", "often", "begin", "end", "follows", "path")
"""If several features describe the same runs, the first of these kinds is reported."""


class Ended(msgspec.Struct, frozen=True):
    """How runs ended. Runs in error, not measured, or not judged have no verdict, and count in no rate."""

    passed: int = 0
    failed: int = 0
    unjudged: int = 0

    @property
    def runs(self) -> int:
        """The number of all runs."""
        return self.passed + self.failed + self.unjudged

    @property
    def rate(self) -> float | None:
        """The share that passed, of those with a verdict."""
        judged = self.passed + self.failed
        return self.passed / judged if judged else None

    @property
    def is_mixed(self) -> bool:
        """Whether some passed and others failed, so that they can be compared."""
        return self.passed > 0 and self.failed > 0


class TakenPath(msgspec.Struct, frozen=True):
    """A path, and how the runs that took it ended."""

    calls: Route
    ended: Ended


class UsedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: in how many runs it is called, how often, how often it fails, and how long its calls take."""

    name: str
    ended: Ended
    calls: int
    facts: ToolFacts
    p50: int | None = None
    """The median duration of its calls, in nanoseconds."""
    p95: int | None = None
    p99: int | None = None

    @property
    def error_share(self) -> float | None:
        """The share of calls that failed, of those whose outcome was recorded."""
        known = self.calls - self.facts.unknown
        return self.facts.errors / known if known > 0 else None

    @property
    def error_interval(self) -> Interval | None:
        """The 95 % confidence interval of the share."""
        return wilson(Trials(self.facts.errors, max(0, self.calls - self.facts.unknown)))


class Edge(msgspec.Struct, frozen=True):
    """A call right after another. Without `before` it is the first of a run; without `after` the run ends there."""

    before: str | None
    after: str | None
    ended: Ended
    calls: int


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of a set of runs."""

    ended: Ended
    unrecorded: int = 0
    """The number of runs whose calls were not recorded. They are in no share."""
    paths: tuple[TakenPath, ...] = ()
    """All distinct paths, the most common first; empty if there are too many to list."""
    is_listed: bool = True
    tools: tuple[UsedTool, ...] = ()
    edges: tuple[Edge, ...] = ()
    """The most common first."""
    places: Mapping[str, float] = {}
    """The mean index of each tool's first call, by which the graph is laid out from left to right."""
    mean_calls: float | None = None
    median_calls: int | None = None
    p95_calls: int | None = None
    differ: tuple[Shifted, ...] = ()
    """Differences between passed and failed runs, the largest first."""
    parting: Parting | None = None
    """The place that best separates passed from failed runs or, if there are not both, where most runs leave the most
    common path."""
    labels: Mapping[str, str] = {}
    """Display names of calls that differ from their keys."""


def overview(counts: PathCounts, *, redacts: bool = True) -> Paths:
    """Return the summary of path counts."""
    totalled = counts.totalled()
    listed = sorted(counts.routes.items(), key=lambda item: (-sum(item[1]), item[0] is None, item[0] or ()))
    keys = sorted(totalled.calls)
    places = {key: totalled.first_places[key] / _runs_with(totalled, key) for key in keys}
    return Paths(
        ended=Ended(*totalled.ends),
        unrecorded=sum(totalled.unrecorded),
        paths=tuple([TakenPath(route, Ended(*ends)) for route, ends in listed]),
        is_listed=counts.is_listed,
        tools=_tools(counts, totalled),
        edges=_edges(totalled, places),
        places=places,
        **_lengths(totalled),
        differ=differences(totalled),
        parting=_parting(listed[:_WALKED]),
        labels=_labels(counts, keys, redacts=redacts),
    )


def differences(totalled: Totalled) -> tuple[Shifted, ...]:
    """Return what passed and failed runs differ in: `before` is the share of passed runs, `after` of failed ones."""
    judged = [totalled.ends[place] - totalled.unrecorded[place] for place in (0, 1)]
    counts = {feature: (ends[0], ends[1]) for feature, ends in totalled.features.items() if feature.kind != "path"}
    return tuple(shifted(counts, judged[0], judged[1])[0])


def feature_words(feature: Feature, labels: Mapping[str, str]) -> str:
    """Describe a feature in words."""
    steps = [f"`{labels.get(key, key)}`" for key in feature.steps]
    words = {
        "tool": "{}",
        "begin": "begins with {}",
        "end": "ends after {}",
        "often": "{} more than 3 times",
        "error": "{} fails",
    }
    if feature.kind == "follows":
        return f"{steps[0]} → {steps[1]}"
    if feature.kind == "path":
        return "the path " + (" → ".join(steps) or "(no calls)")
    return words[feature.kind].format(steps[0])


def _runs_with(totalled: Totalled, key: str) -> int:
    return sum(totalled.features[Feature("tool", (key,))])


def _tools(counts: PathCounts, totalled: Totalled) -> tuple[UsedTool, ...]:
    by_tool: dict[str, list[str]] = {}
    for key in totalled.calls:
        by_tool.setdefault(tool_of(key), []).append(key)
    runs = _runs_by_tool(counts, totalled, by_tool)
    made = []
    for tool, keys in by_tool.items():
        times = counts.times.of(tool)
        p50, p95, p99 = [times.percentile(share) for share in (0.5, 0.95, 0.99)]
        made.append(
            UsedTool(
                name=tool,
                ended=runs[tool],
                calls=sum([totalled.calls[key] for key in keys]),
                facts=counts.facts.get(tool, ToolFacts()),
                p50=p50,
                p95=p95,
                p99=p99,
            )
        )
    return tuple(sorted(made, key=lambda tool: (-tool.ended.runs, -tool.calls, tool.name)))


def _runs_by_tool(counts: PathCounts, totalled: Totalled, by_tool: Mapping[str, Sequence[str]]) -> dict[str, Ended]:
    """Return how the runs of each tool ended. A run counts once for a tool, however many calls it makes."""
    if not counts.with_args or not counts.is_listed:
        largest = {tool: max(keys, key=lambda key: _runs_with(totalled, key)) for tool, keys in by_tool.items()}
        return {tool: Ended(*totalled.features[Feature("tool", (key,))]) for tool, key in largest.items()}
    found = {tool: [0, 0, 0] for tool in by_tool}
    for route, ends in counts.routes.items():
        for tool in {tool_of(key) for key in route or ()}:
            for place, number in enumerate(ends):
                found[tool][place] += number
    return {tool: Ended(*ends) for tool, ends in found.items()}


def _edges(totalled: Totalled, places: Mapping[str, float]) -> tuple[Edge, ...]:
    made = []
    for feature, ends in totalled.features.items():
        ended = Ended(*ends)
        if feature.kind == "follows":
            made.append(Edge(feature.steps[0], feature.steps[1], ended, totalled.edge_calls[feature.steps]))
        elif feature.kind == "begin":
            made.append(Edge(None, feature.steps[0], ended, ended.runs))
        elif feature.kind == "end":
            made.append(Edge(feature.steps[0], None, ended, ended.runs))
    # Equally common edges are in the order of a run.
    place: dict[str | None, float] = {None: -1.0}
    place.update(places.items())
    made.sort(
        key=lambda edge: (place[edge.before], edge.before or "", edge.after is None, place[edge.after], edge.after)
    )
    return tuple(sorted(made, key=lambda edge: -edge.ended.runs))


def _lengths(totalled: Totalled) -> dict[str, Any]:
    runs = sum(totalled.lengths.values())
    if not runs:
        return {}
    calls = sum([length * number for length, number in totalled.lengths.items()])
    return {
        "mean_calls": calls / runs,
        "median_calls": _length_at(totalled, 0.5),
        "p95_calls": _length_at(totalled, 0.95),
    }


def _length_at(totalled: Totalled, share: float) -> int:
    seen, runs = 0, sum(totalled.lengths.values())
    for length, number in sorted(totalled.lengths.items()):
        seen += number
        if seen >= share * runs:
            return length
    return 0


def _parting(listed: Iterable[tuple[Route, Sequence[int]]]) -> Parting | None:
    walks = [Walk(route, ends[0], ends[1], ends[2]) for route, ends in listed if route is not None]
    return next((parting for _, parting in partings(walks)), None)


def _labels(counts: PathCounts, keys: Iterable[str], *, redacts: bool) -> dict[str, str]:
    """Return display names for keys whose name differs; no two keys get the same name."""
    labels: dict[str, str] = {}
    taken: dict[str, int] = {}
    for key in keys:
        name = counts.labels.get(key, key)
        label = redacted_text(name) if redacts else name
        taken[label] = taken.get(label, 0) + 1
        if taken[label] > 1:
            label = f"{label} #{taken[label]}"
        if label != key:
            labels[key] = label
    return labels


class Shifted(msgspec.Struct, frozen=True):
    """A feature with different shares in two sets of runs."""

    feature: Feature
    before: float
    after: float
    chance: float
    """The probability of a difference as large by chance, adjusted for multiple tests."""

    @property
    def points(self) -> float:
        """The difference of the shares."""
        return self.after - self.before


class SlowerTool(msgspec.Struct, frozen=True):
    """A tool whose call durations changed, slower or faster, in nanoseconds."""

    tool: str
    before: tuple[int, int]
    """The median and the 95th percentile."""
    after: tuple[int, int]

    @property
    def ratio(self) -> float:
        """The median after divided by the median before."""
        return self.after[0] / self.before[0] if self.before[0] else float("inf")


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two sets of runs."""

    before: int
    """The number of runs with recorded calls on the first side."""
    after: int
    shifts: tuple[Shifted, ...] = ()
    """The largest change first."""
    times: tuple[SlowerTool, ...] = ()
    asked: int = 0
    """The number of features and tools that were tested."""

    @property
    def count(self) -> int:
        """The number of changes."""
        return len(self.shifts) + len(self.times)


def drift(before: PathCounts, after: PathCounts) -> Drift:
    """Compare the paths of two sets of runs."""
    sides = before.totalled(), after.totalled()
    runs = [sum(side.ends) - sum(side.unrecorded) for side in sides]
    counts = _shares(sides, runs, (before, after))
    found, asked = shifted(counts, runs[0], runs[1])
    times, timed = _times((before, after), sides)
    return Drift(before=runs[0], after=runs[1], shifts=tuple(found), times=times, asked=asked + timed)


def shifted(counts: Mapping[Feature, tuple[int, int]], before: int, after: int) -> tuple[list[Shifted], int]:
    """Return the features whose shares differ by more than chance, and the number of features tested.

    Args:
        counts: The runs that have each feature, on both sides.
        before: All runs of the first side.
        after: All runs of the second side.
    """
    if not before or not after:
        return [], 0
    # A feature that all runs have, or none, cannot differ. Testing it would only weaken the other tests.
    asked = {each: value for each, value in counts.items() if value not in ((0, 0), (before, after))}
    chances = [_chance(hits[0], before, hits[1], after) for hits in asked.values()]
    found = [
        Shifted(feature, hits[0] / before, hits[1] / after, chance)
        for (feature, hits), chance in zip(asked.items(), adjust_for_many(chances), strict=True)
        if chance <= WRONG and abs(hits[1] / after - hits[0] / before) >= LEAST_CHANGE
    ]
    found.sort(key=lambda each: (-round(abs(each.points), 9), _KINDS.index(each.feature.kind), each.feature))
    return _once(found), len(asked)


@lru_cache(maxsize=65_536)
def _chance(hits_before: int, before: int, hits_after: int, after: int) -> float:
    return difference_of_shares(hits_before, before, hits_after, after).chance


def _once(found: list[Shifted]) -> list[Shifted]:
    """Drop what repeats a line above it: a feature of the same runs and calls, or of exactly all other runs.

    A new tool comes with an edge to it, and takes the end of runs from the call before it: that is one change.
    """
    seen: set[tuple[float, float, str]] = set()
    rests: set[tuple[float, float]] = set()
    kept = []
    for each in found:
        before, after = round(each.before, 12), round(each.after, 12)
        marks = {(before, after, key) for key in each.feature.steps}
        if each.feature.kind == "error" or not (marks & seen or (before, after) in rests):
            kept.append(each)
        seen |= marks
        rests.add((round(1 - before, 12), round(1 - after, 12)))
    return kept


def _shares(
    sides: tuple[Totalled, Totalled], runs: list[int], counted: tuple[PathCounts, PathCounts]
) -> dict[Feature, tuple[int, int]]:
    features = dict.fromkeys([*sides[0].features, *sides[1].features])
    totals = [{feature: sum(ends) for feature, ends in side.features.items()} for side in sides]
    for side, counts in zip(totals, counted, strict=True):
        for tool, facts in counts.facts.items():
            side[Feature("error", (tool,))] = facts.error_runs
            features[Feature("error", (tool,))] = None
    shares = {feature: (totals[0].get(feature, 0), totals[1].get(feature, 0)) for feature in features}
    return {
        feature: hits
        for feature, hits in shares.items()
        if feature.kind != "path" or any([hit > _COMMON * count for hit, count in zip(hits, runs, strict=True)])
    }


def _times(
    counted: tuple[PathCounts, PathCounts], sides: tuple[Totalled, Totalled]
) -> tuple[tuple[SlowerTool, ...], int]:
    """Return tools whose medians differ by more than a tenth with disjoint intervals; and how many were tested."""
    runs = [_most_runs_by_tool(side) for side in sides]
    both = sorted(runs[0].keys() & runs[1].keys())
    timed = {tool: (counted[0].times.of(tool), counted[1].times.of(tool)) for tool in both}
    timed = {tool: times for tool, times in timed.items() if len(times[0]) and len(times[1])}
    found = []
    for tool, times in timed.items():
        # All tools are tested at once, so each interval is wider (Bonferroni).
        ends = [
            each.median_interval(number[tool], 1 - WRONG / len(timed)) for each, number in zip(times, runs, strict=True)
        ]
        if ends[0] is None or ends[1] is None or (ends[0][0] <= ends[1][1] and ends[1][0] <= ends[0][1]):
            continue
        medians = [(each.percentile(0.5) or 0, each.percentile(0.95) or 0) for each in times]
        change = SlowerTool(tool, medians[0], medians[1])
        if not 1 / _LEAST_RATIO < change.ratio < _LEAST_RATIO:
            found.append(change)
    return tuple(found), len(timed)


def _most_runs_by_tool(totalled: Totalled) -> dict[str, int]:
    runs: dict[str, int] = {}
    for feature, ends in totalled.features.items():
        if feature.kind == "tool":
            tool = tool_of(feature.steps[0])
            runs[tool] = max(runs.get(tool, 0), sum(ends))
    return runs
