"""What changed between two sets of runs, or differs between passed and failed ones, and is more than chance.

Everything is a share of runs that have something. Counts of calls are never compared: calls of one run hang together,
so one run that loops would be a change (in simulations "nothing changed" had a line in 48 % of comparisons by calls,
and in 4 % by runs).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from rightcall.values.statistics import adjust_for_many, difference_of_shares

from ._counts import Feature, PathCounts, Totalled, tool_of

LEAST_CHANGE = 0.01
"""A change of less than one point is not reported, however sure it is."""
WRONG = 0.05
"""The share of lines that are wrong by chance (the false discovery rate)."""
_COMMON = 0.01
"""Paths that fewer runs take on both sides are not asked about: there are thousands of them."""
_LEAST_RATIO = 1.1
_KINDS = ("tool", "error", "often", "begin", "end", "follows", "path")
"""Where several say the same of the same runs, the first of these is reported."""


class Shifted(msgspec.Struct, frozen=True):
    """Something that a share of runs has, and another share of other runs."""

    feature: Feature
    before: float
    after: float
    chance: float
    """How likely a difference as large is by chance, adjusted for having asked about everything."""

    @property
    def points(self) -> float:
        """The difference, as a share."""
        return self.after - self.before


class SlowerTool(msgspec.Struct, frozen=True):
    """A tool whose calls take another time than before, in nanoseconds."""

    tool: str
    before: tuple[int, int]
    """The median, and what 95 % of calls do not exceed."""
    after: tuple[int, int]

    @property
    def ratio(self) -> float:
        """How many times as long its median is."""
        return self.after[0] / self.before[0] if self.before[0] else float("inf")


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two sets of runs."""

    before: int
    """Runs whose calls were recorded, on the first side."""
    after: int
    shifts: tuple[Shifted, ...] = ()
    """The largest change first."""
    times: tuple[SlowerTool, ...] = ()
    asked: int = 0
    """About how many things it was asked."""

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
    """Return those of some features whose shares differ by more than chance, and how many were asked about.

    Args:
        counts: The runs that have each feature, on both sides.
        before: All runs of the first side.
        after: All runs of the second side.
    """
    if not before or not after:
        return [], 0
    # What no run lacks, or none has, on either side cannot differ: to ask would only make the others harder to tell.
    asked = {each: held for each, held in counts.items() if held not in ((0, 0), (before, after))}
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
    """Drop what says the same as a line above it: of the same runs and calls, or of exactly all other runs.

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
    held = [{feature: sum(ends) for feature, ends in side.features.items()} for side in sides]
    for side, counts in zip(held, counted, strict=True):
        for tool, facts in counts.facts.items():
            side[Feature("error", (tool,))] = facts.error_runs
            features[Feature("error", (tool,))] = None
    shares = {feature: (held[0].get(feature, 0), held[1].get(feature, 0)) for feature in features}
    return {
        feature: hits
        for feature, hits in shares.items()
        if feature.kind != "path" or any([hit > _COMMON * count for hit, count in zip(hits, runs, strict=True)])
    }


def _times(
    counted: tuple[PathCounts, PathCounts], sides: tuple[Totalled, Totalled]
) -> tuple[tuple[SlowerTool, ...], int]:
    """Tools whose medians differ by more than a tenth, with intervals that do not meet; and how many have times."""
    runs = [_runs_by_tool(side) for side in sides]
    both = sorted(runs[0].keys() & runs[1].keys())
    timed = {tool: (counted[0].times.of(tool), counted[1].times.of(tool)) for tool in both}
    timed = {tool: times for tool, times in timed.items() if len(times[0]) and len(times[1])}
    found = []
    for tool, times in timed.items():
        # All tools are asked at once, so each interval is wider (Bonferroni).
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


def _runs_by_tool(totalled: Totalled) -> dict[str, int]:
    runs: dict[str, int] = {}
    for feature, ends in totalled.features.items():
        if feature.kind == "tool":
            tool = tool_of(feature.steps[0])
            runs[tool] = max(runs.get(tool, 0), sum(ends))
    return runs
