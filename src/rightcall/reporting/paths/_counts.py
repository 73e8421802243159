"""Counts of the paths that runs take, of call durations, and of where passed and failed runs diverge.

Each distinct path is stored once with the number of its runs; everything else (tools, edges, what runs have in common)
is derived from these. So a million runs cost no more than a million additions.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, pairwise
from math import ceil, log, sqrt
from typing import Any, NamedTuple

import msgspec

from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.redaction import redacted_value
from rightcall.values.results import CaseResult, Verdict, call_text
from rightcall.values.statistics import association, normal_quantile
from rightcall.values.trajectory import ToolCall, Trajectory

Route = tuple[str, ...] | None
"""The keys of calls in order; `None` if the calls of a run were not recorded."""

_WITH = "\x1f"
"""Separates a tool from the digest of its arguments in a key: ASCII's unit separator, which tool names do not have."""
_DIGEST = 16
_VALUE_WIDTH = 60
_OFTEN = 3
"""More calls of a tool in one run count as repetition. Three are common, such as a search that is refined."""
_PLACE: dict[Verdict | None, int] = {"passed": 0, "failed": 1}
EXACT = 1_000_000
"""The most durations to keep exactly, 8 bytes each."""
_MOST = 1 << 63
_STEP = log(1.01)
"""Each histogram bucket is 1 % wider than the one below it, so a percentile is off by half a percent at most."""
_MOST_BRANCHES = 8
_ARGUMENT_WIDTH = 60


class Feature(NamedTuple):
    """Something that a run has or lacks. Features count runs, never calls."""

    kind: str
    """`tool`, `begin`, `end`, `follows`, `often`, `error` or `path`."""
    steps: tuple[str, ...]


class ToolFacts(msgspec.Struct):
    """Errors and retries of the calls of one tool."""

    errors: int = 0
    """Calls that failed, or whose result reads like an error."""
    suspected: int = 0
    """Of these, calls whose result only reads like an error."""
    unknown: int = 0
    """Calls whose outcome was not recorded."""
    error_runs: int = 0
    """Runs with such an error."""
    retry_runs: int = 0
    """Runs that called the tool again right after it failed."""

    def add(self, other: ToolFacts) -> None:
        """Add the facts of other calls."""
        for field in self.__struct_fields__:
            setattr(self, field, getattr(self, field) + getattr(other, field))


class Totalled:
    """Totals over paths: runs, lengths, calls by tool and edge, and how many runs have each feature."""

    def __init__(self) -> None:
        self.ends = [0, 0, 0]
        self.unrecorded = [0, 0, 0]
        self.lengths: Counter[int] = Counter()
        self.calls: Counter[str] = Counter()
        self.edge_calls: Counter[tuple[str, ...]] = Counter()
        self.first_places: Counter[str] = Counter()
        """The index of a tool's first call, summed over runs. Tools are ordered by its mean."""
        self.features: dict[Feature, list[int]] = {}

    def add(self, route: Route, ends: Sequence[int], *, is_whole: bool = True) -> None:
        """Add the runs of one path. With `is_whole`, the path itself is a feature, too."""
        for place, runs in enumerate(ends):
            self.ends[place] += runs
            self.unrecorded[place] += runs if route is None else 0
        if route is None:
            return
        runs = sum(ends)
        self.lengths[len(route)] += runs
        for key, times in Counter(route).items():
            self.calls[key] += times * runs
        for edge, times in Counter(pairwise(route)).items():
            self.edge_calls[edge] += times * runs
        for key in dict.fromkeys(route):
            self.first_places[key] += route.index(key) * runs
        for feature in features_of(route, is_whole=is_whole):
            numbers = self.features.setdefault(feature, [0, 0, 0])
            for place, number in enumerate(ends):
                numbers[place] += number


def features_of(route: tuple[str, ...], *, is_whole: bool = True) -> Iterator[Feature]:
    """Yield the features of a path, each once."""
    times = Counter(route)
    for key, number in times.items():
        yield Feature("tool", (key,))
        if number > _OFTEN:
            yield Feature("often", (key,))
    if route:
        yield Feature("begin", route[:1])
        yield Feature("end", route[-1:])
    for edge in dict.fromkeys(pairwise(route)):
        yield Feature("follows", edge)
    if is_whole:
        yield Feature("path", route)


class PathCounts:
    """How many runs took each path, and errors, retries and durations by tool.

    Args:
        with_args: Whether calls of one tool with different arguments are different steps.
        internal: Whether internal calls of the framework count, such as hand-offs.
        redacts: Whether to redact secrets in the strings of arguments. Calls are told apart by their real arguments, so
            no figure depends on this.
        most: The most distinct paths to keep. Beyond that there is no list of paths, but everything else is counted: a
            million paths take about 200 MB.
    """

    def __init__(
        self,
        *,
        with_args: bool = False,
        internal: bool = False,
        redacts: bool = True,
        most: int = DEFAULT_LIMITS.paths,
    ) -> None:
        self.with_args, self.internal, self.redacts = with_args, internal, redacts
        self.routes: dict[Route, list[int]] = {}
        self.facts: dict[str, ToolFacts] = {}
        self.labels: dict[str, str] = {}
        self.times = Durations()
        self.is_listed = True
        """Whether the paths are listed: there are not more of them than allowed."""
        self._most = most
        self._folded = Totalled()

    def add(self, trajectory: Trajectory, verdict: Verdict | None = None) -> Route:
        """Count one run, and return its path."""
        calls = calls_in_order(trajectory, internal=self.internal)
        route = tuple([self._key(call) for call in calls]) if trajectory.calls_recorded else None
        ends = [0, 0, 0]
        ends[_PLACE.get(verdict, 2)] = 1
        self.add_route(route, ends)
        if route is not None:
            self._add_calls(calls)
        return route

    def add_route(self, route: Route, ends: Sequence[int]) -> None:
        """Count the runs of one path, given as the numbers of passed, failed and other runs."""
        if not self.is_listed:
            self._folded.add(route, ends, is_whole=False)
            return
        value = self.routes.get(route)
        if value is None:
            self.routes[route] = list(ends)
            if len(self.routes) > self._most:
                self._fold()
        else:
            for place, runs in enumerate(ends):
                value[place] += runs

    def add_facts(self, tool: str, facts: ToolFacts) -> None:
        """Add facts about calls of a tool. All-zero facts are not stored."""
        if facts == ToolFacts():
            return
        self.facts.setdefault(tool, ToolFacts()).add(facts)

    def merge(self, other: PathCounts) -> None:
        """Add the counts of another instance. The order of merging makes no difference."""
        if not other.is_listed:
            self._fold()
            _merge(self._folded, other._folded)
        for route, ends in other.routes.items():
            self.add_route(route, ends)
        for tool, facts in other.facts.items():
            self.add_facts(tool, facts)
        self.labels.update(other.labels)
        self.times.merge(other.times)

    def totalled(self) -> Totalled:
        """Return totals over all paths."""
        if not self.is_listed:
            return self._folded
        made = Totalled()
        for route, ends in self.routes.items():
            made.add(route, ends)
        return made

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON, independent of the order of runs."""
        routes = sorted(self.routes.items(), key=lambda item: (item[0] is not None, item[0] or ()))
        return {
            "with_args": self.with_args,
            "internal": self.internal,
            "is_listed": self.is_listed,
            "routes": [[route, *ends] for route, ends in routes],
            "folded": None if self.is_listed else _plain(self._folded),
            "facts": {tool: msgspec.to_builtins(self.facts[tool]) for tool in sorted(self.facts)},
            "labels": dict(sorted(self.labels.items())),
            "times": self.times.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PathCounts:
        """Restore counts that `to_plain` wrote."""
        made = cls(with_args=plain["with_args"], internal=plain["internal"])
        made.is_listed = plain["is_listed"]
        made.routes = {None if route is None else tuple(route): ends for route, *ends in plain["routes"]}
        made._folded = Totalled() if plain["folded"] is None else _totalled(plain["folded"])
        made.facts = {tool: ToolFacts(**facts) for tool, facts in plain["facts"].items()}
        made.labels = dict(plain["labels"])
        made.times = Durations.from_plain(plain["times"])
        return made

    def _fold(self) -> None:
        """Replace the list of paths by totals."""
        if self.is_listed:
            self.is_listed = False
            for route, ends in self.routes.items():
                self._folded.add(route, ends, is_whole=False)
            self.routes.clear()

    def _key(self, call: ToolCall) -> str:
        if not self.with_args:
            return call.name
        digest = sha256(_canonical([call.args, "args" in call.unrecorded]))
        key = f"{call.name}{_WITH}{digest.hexdigest()[:_DIGEST]}"
        if key not in self.labels:
            args = redacted_value(call.args) if self.redacts and call.args else call.args
            self.labels[key] = call_text(call.name, args or {}, value_width=_VALUE_WIDTH)
        return key

    def _add_calls(self, calls: Sequence[ToolCall]) -> None:
        found: dict[str, ToolFacts] = {}
        before: ToolCall | None = None
        for call in calls:
            facts = found.setdefault(call.name, ToolFacts())
            has_failed = call.error is not None or call.suspected_error
            facts.errors += has_failed
            facts.suspected += call.suspected_error and call.error is None
            facts.unknown += not has_failed and is_unknown(call)
            facts.error_runs |= has_failed
            facts.retry_runs |= (
                before is not None and before.name == call.name and (before.error is not None or before.suspected_error)
            )
            if call.start_ns is not None and call.end_ns is not None:
                self.times.add(call.name, call.end_ns - call.start_ns)
            before = call
        for tool, facts in found.items():
            self.add_facts(tool, facts)


def _canonical(value: Any) -> bytes:
    """Encode a value as bytes that do not depend on the order of keys."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except (UnicodeEncodeError, OverflowError, TypeError):  # a lone surrogate, a large integer
        return json.dumps(value, sort_keys=True, default=repr).encode()


def is_unknown(call: ToolCall) -> bool:
    """Return whether the trace did not record if a call failed."""
    return "error" in call.unrecorded or (call.source is not None and "output" in call.unrecorded)


def tool_of(key: str) -> str:
    """Return the tool name in a key."""
    return key.partition(_WITH)[0]


def calls_in_order(trajectory: Trajectory, *, internal: bool = False) -> list[ToolCall]:
    """Return the calls of a path. Calls whose order was not recorded are sorted by name, so that they are one path."""
    made = list(trajectory.calls)
    for first, end in trajectory.unordered:
        made[first:end] = sorted(made[first:end], key=lambda call: (call.name, _canonical(call.args)))
    return made if internal else [call for call in made if not call.internal]


def route_text(route: Route, label: Mapping[str, str], arrow: str = " → ") -> str:
    """Return a path as text: `search ×4 → book`. More than three of one call in a row are counted."""
    if route is None:
        return "(calls were not recorded)"
    return arrow.join(route_steps(route, label)) or "(no calls)"


def route_steps(route: Iterable[str], label: Mapping[str, str]) -> list[str]:
    """Return the steps of a path as text. More than three of one call in a row become one step: `search ×4`."""
    groups: list[tuple[str, int]] = []
    for key in route:
        name = label.get(key, key)
        if groups and groups[-1][0] == name:
            groups[-1] = name, groups[-1][1] + 1
        else:
            groups.append((name, 1))
    return [step for name, times in groups for step in ([f"{name} ×{times}"] if times > _OFTEN else [name] * times)]


def _merge(into: Totalled, other: Totalled) -> None:
    for place in range(3):
        into.ends[place] += other.ends[place]
        into.unrecorded[place] += other.unrecorded[place]
    for name in ("lengths", "calls", "edge_calls", "first_places"):
        getattr(into, name).update(getattr(other, name))
    for feature, ends in other.features.items():
        numbers = into.features.setdefault(feature, [0, 0, 0])
        for place, runs in enumerate(ends):
            numbers[place] += runs


def _plain(totalled: Totalled) -> dict[str, Any]:
    return {
        "ends": totalled.ends,
        "unrecorded": totalled.unrecorded,
        "lengths": sorted(totalled.lengths.items()),
        "calls": sorted(totalled.calls.items()),
        "edge_calls": sorted([list(item) for item in totalled.edge_calls.items()]),
        "first_places": sorted(totalled.first_places.items()),
        "features": sorted([[*feature, *ends] for feature, ends in totalled.features.items()]),
    }


def _totalled(plain: Mapping[str, Any]) -> Totalled:
    made = Totalled()
    made.ends, made.unrecorded = list(plain["ends"]), list(plain["unrecorded"])
    made.lengths = Counter(dict(plain["lengths"]))
    made.calls = Counter(dict(plain["calls"]))
    made.edge_calls = Counter({tuple(edge): times for edge, times in plain["edge_calls"]})
    made.first_places = Counter(dict(plain["first_places"]))
    made.features = {Feature(kind, tuple(steps)): list(ends) for kind, steps, *ends in plain["features"]}
    return made


class Durations:
    """Durations in nanoseconds, by tool. The order in which they are added makes no difference.

    Args:
        most: The most durations to keep exactly; beyond it they go into a histogram.
    """

    def __init__(self, most: int = EXACT) -> None:
        self._most = most
        self._exact: dict[str, array[int]] = {}
        self._classes: dict[str, Counter[int]] = {}
        self._count = 0
        self.is_exact = True
        """Whether all durations are kept exactly."""

    def add(self, tool: str, nanoseconds: int) -> None:
        """Add the duration of one call. Negative durations, and those beyond 292 years, are ignored."""
        if 0 <= nanoseconds < _MOST:
            self.add_all(tool, (nanoseconds,))

    def add_all(self, tool: str, times: Iterable[int]) -> None:
        """Add durations of calls, none of them negative."""
        if not self.is_exact:
            self._classify(tool, times)
            return
        known = self._exact.setdefault(tool, array("q"))
        before = len(known)
        known.extend(times)
        self._count += len(known) - before
        if self._count > self._most:
            self._give_up()

    def merge(self, other: Durations) -> None:
        """Add the durations of another instance."""
        if not other.is_exact:
            self._give_up()
        for tool, times in other._exact.items():
            self.add_all(tool, times)
        for tool, classes in other._classes.items():
            self._classes.setdefault(tool, Counter()).update(classes)

    def of(self, tool: str) -> TimesOf:
        """Return the durations of a tool."""
        if self.is_exact:
            return TimesOf(sorted(self._exact.get(tool, ())))
        classes = sorted(self._classes.get(tool, Counter()).items())
        return TimesOf([_middle(number) for number, _ in classes], [count for _, count in classes])

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON, independent of the order of additions."""
        classes = {tool: sorted(self._classes[tool].items()) for tool in sorted(self._classes)}
        exact = {tool: sorted(self._exact[tool]) for tool in sorted(self._exact)}
        return {"is_exact": self.is_exact, "exact": exact, "classes": classes}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Durations:
        """Restore durations that `to_plain` wrote."""
        made = cls()
        made.is_exact = plain["is_exact"]
        made._exact = {tool: array("q", times) for tool, times in plain["exact"].items()}
        made._count = sum(map(len, made._exact.values()))
        made._classes = {tool: Counter(dict(classes)) for tool, classes in plain["classes"].items()}
        return made

    def _give_up(self) -> None:
        """Move exact durations into a histogram, for all later ones, too."""
        kept, self._exact, self.is_exact = self._exact, {}, False
        for tool, times in kept.items():
            self._classify(tool, times)

    def _classify(self, tool: str, times: Iterable[int]) -> None:
        self._classes.setdefault(tool, Counter()).update(map(_class_of, times))


def _class_of(nanoseconds: int) -> int:
    return ceil(log(nanoseconds) / _STEP) + 1 if nanoseconds else 0


def _middle(number: int) -> int:
    return round(2.718281828459045 ** ((number - 1.5) * _STEP)) if number else 0


class TimesOf:
    """The sorted durations of one tool, each as often as `counts` says, or once."""

    def __init__(self, times: Sequence[int], counts: Sequence[int] | None = None) -> None:
        self._times = times
        self._until = None if counts is None else list(accumulate(counts))

    def __len__(self) -> int:
        return len(self._times) if self._until is None else self._until[-1] if self._until else 0

    def percentile(self, share: float) -> int | None:
        """Return the smallest duration that at least this share of calls does not exceed; `None` if there are none."""
        count = len(self)
        return self._at(max(0, ceil(share * count) - 1)) if count else None

    def median_interval(self, independent: int, confidence: float) -> tuple[int, int] | None:
        """Return the interval of the median by order statistics; `None` if there are too few values.

        Args:
            independent: The number of independent values: the runs, because calls of one run resemble each other. With
                the number of calls, the interval would be too narrow.
            confidence: The confidence, such as 0.95.
        """
        if not len(self) or not independent:
            return None
        # The number of values below the median is binomial with p = 1/2; the `+ 1` is the continuity correction.
        reach = (normal_quantile(0.5 + confidence / 2) * sqrt(independent) + 1) / 2 / independent
        if reach >= 0.5:
            return None
        low, high = self.percentile(0.5 - reach), self.percentile(0.5 + reach)
        return None if low is None or high is None else (low, high)

    def _at(self, place: int) -> int:
        return self._times[place] if self._until is None else self._times[bisect_right(self._until, place)]


class Branch(msgspec.Struct, frozen=True):
    """The runs that continue with the same call, or end."""

    call: str | None
    """The next call; `None` if the runs end here."""
    runs: int
    passed: int
    failed: int
    reason: str = ""
    """The most common finding of the failed runs, with its code; empty if there is none."""
    repeats: tuple[int, ...] = ()


class Parting(msgspec.Struct, frozen=True):
    """A place where runs diverge: the calls up to there, and what comes next."""

    after: tuple[str, ...]
    branches: tuple[Branch, ...]
    by_arguments: bool = False
    """Whether branches differ in arguments; otherwise, in the name of the call."""

    @property
    def runs(self) -> int:
        """The number of runs that reach this place."""
        return sum([branch.runs for branch in self.branches])


class CasePaths(msgspec.Struct, frozen=True):
    """The different paths of the runs of one case, and where they diverge, the most significant place first."""

    case_id: str
    runs: int
    passed: int
    paths: int
    partings: tuple[Parting, ...]


class Walk(msgspec.Struct, frozen=True):
    """A path, by names or with arguments, and how its runs ended."""

    steps: tuple[str, ...]
    passed: int = 0
    failed: int = 0
    unjudged: int = 0
    reason: str = ""
    repeat: int | None = None

    @property
    def runs(self) -> int:
        """The number of runs that took it."""
        return self.passed + self.failed + self.unjudged


Found = list[tuple[float, Parting]]
"""Places where runs diverge, each with how well it separates passed from failed runs."""


def case_paths(case_id: str, results: Sequence[CaseResult]) -> CasePaths:
    """Find where the runs of one case diverge.

    Of all places where runs continue differently, the one that best separates passed from failed runs comes first (the
    largest G, then the shallowest), then those that are not below it. Steps are compared by name, unless comparing
    arguments separates better.
    """
    # A run without a trajectory crashed before anything was recorded: it has no path, not an empty one.
    by_name = [_walk(result, by_arguments=False) for result in results if result.trajectory is not None]
    by_arguments = [_walk(result, by_arguments=True) for result in results if result.trajectory is not None]
    found, closer = partings(by_name), partings(by_arguments, by_arguments=True)
    is_closer = bool(closer) and closer[0][0] > (found[0][0] if found else 0.0) + 1e-9
    return CasePaths(
        case_id,
        len(results),
        sum([result.passed for result in results]),
        len({walk.steps for walk in (by_arguments if is_closer else by_name)}),
        tuple([parting for _, parting in (closer if is_closer else found)]),
    )


def partings(walks: Sequence[Walk], *, by_arguments: bool = False) -> Found:
    """Return all places of divergence that are not below a more significant one, the most significant first.

    If verdicts separate nothing (there are none, or all are the same), places on the most common path are returned, by
    how many runs leave it there.
    """
    found = _all_partings(walks, by_arguments=by_arguments)
    if walks and not any([strength for strength, _ in found]):
        found = _leaving(found, max(walks, key=lambda walk: (walk.runs, walk.steps)).steps)
    found.sort(key=lambda each: (-each[0], len(each[1].after)))
    kept: Found = []
    for strength, parting in found:
        if not any([parting.after[: len(above.after)] == above.after for _, above in kept]):
            kept.append((strength, parting))
    return kept


def _walk(result: CaseResult, *, by_arguments: bool) -> Walk:
    calls = calls_in_order(result.trajectory) if result.trajectory is not None else []
    names = [call.name for call in calls]
    if by_arguments:
        names = [call_text(call.name, call.args or {}, value_width=_ARGUMENT_WIDTH) for call in calls]
    finding = result.findings[0].finding if result.findings else None
    reason = f"{finding.code} {finding.message}" if finding is not None else ""
    passed, failed = int(result.verdict == "passed"), int(result.verdict == "failed")
    return Walk(tuple(names), passed, failed, 1 - passed - failed, reason, result.repeat)


def _all_partings(walks: Sequence[Walk], *, by_arguments: bool) -> Found:
    """Walk down the prefix tree of all runs, and collect every place with two or more continuations."""
    found: Found = []
    # A list instead of recursion: a path may have more calls than Python has stack frames.
    waiting = [(list(walks), 0)]
    while waiting:
        here, depth = waiting.pop()
        ways: dict[str | None, list[Walk]] = {}
        for walk in here:
            ways.setdefault(walk.steps[depth] if depth < len(walk.steps) else None, []).append(walk)
        if len(ways) > 1:
            strength = association([_outcomes(some) for some in ways.values()])
            found.append((strength, Parting(here[0].steps[:depth], _branches(ways), by_arguments)))
        # A single walk cannot diverge from anything.
        waiting += [(some, depth + 1) for call, some in ways.items() if call is not None and len(some) > 1]
    return found


def _leaving(found: Found, commonest: tuple[str, ...]) -> Found:
    """Return the places on the most common path, by how many runs leave it there."""
    left: Found = []
    for _, parting in found:
        depth = len(parting.after)
        if commonest[:depth] == parting.after:
            onward = commonest[depth] if depth < len(commonest) else None
            leave = [branch.runs for branch in parting.branches if branch.call != onward]
            left.append((float(sum(leave)), parting))
    return left


def _outcomes(walks: Sequence[Walk]) -> tuple[int, int]:
    return sum([walk.passed for walk in walks]), sum([walk.failed for walk in walks])


def _branches(ways: dict[str | None, list[Walk]]) -> tuple[Branch, ...]:
    branches = [_branch(call, walks) for call, walks in ways.items()]
    branches.sort(key=lambda branch: (-branch.runs, branch.call is None, branch.call or ""))
    return tuple(branches[:_MOST_BRANCHES])


def _branch(call: str | None, walks: list[Walk]) -> Branch:
    passed, failed = _outcomes(walks)
    reasons = Counter([walk.reason for walk in walks if walk.failed and walk.reason])
    reason = reasons.most_common(1)[0][0] if reasons else ""
    repeats = sorted([walk.repeat for walk in walks if walk.repeat is not None])
    return Branch(call, sum([walk.runs for walk in walks]), passed, failed, reason, tuple(repeats))
