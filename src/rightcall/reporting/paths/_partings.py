"""Where runs diverge: the place after which passed and failed runs go on differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from rightcall.values.results import CaseResult, call_text
from rightcall.values.statistics import association

from ._counts import calls_in_order

_MOST_BRANCHES = 8
_ARGUMENT_WIDTH = 60


class Branch(msgspec.Struct, frozen=True):
    """The runs that go on with the same call, or end."""

    call: str | None
    """The call they make next; `None` where they end."""
    runs: int
    passed: int
    failed: int
    reason: str = ""
    """The commonest finding among those that failed, with its code; empty if there is none."""
    repeats: tuple[int, ...] = ()


class Parting(msgspec.Struct, frozen=True):
    """A place where runs diverge: the calls up to there, and what they do next."""

    after: tuple[str, ...]
    branches: tuple[Branch, ...]
    by_arguments: bool = False
    """Whether branches differ in arguments; otherwise in the name of the call."""

    @property
    def runs(self) -> int:
        """The runs that reach this place."""
        return sum([branch.runs for branch in self.branches])


class CasePaths(msgspec.Struct, frozen=True):
    """The different paths of the runs of one case, and where they part, the most telling place first."""

    case_id: str
    runs: int
    passed: int
    paths: int
    partings: tuple[Parting, ...]


class Walk(msgspec.Struct, frozen=True):
    """A path as far as partings look at it, and how its runs ended."""

    steps: tuple[str, ...]
    passed: int = 0
    failed: int = 0
    unjudged: int = 0
    reason: str = ""
    repeat: int | None = None

    @property
    def runs(self) -> int:
        """The runs that took it."""
        return self.passed + self.failed + self.unjudged


Found = list[tuple[float, Parting]]
"""Places where runs diverge, and how much each separates."""


def case_paths(case_id: str, results: Sequence[CaseResult]) -> CasePaths:
    """Find where the runs of one case part ways.

    Of all places where runs go on differently, the one that best separates passed from failed runs is named first
    (largest G, then the shallowest), then those that are not below it. Names decide, unless arguments separate better.
    """
    # A run without a trajectory crashed before anything was recorded: it took no path, not an empty one.
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
    """Return all partings that no more telling one is above, the most telling first.

    Where verdicts separate nothing (there are none, or all are the same), the place is named at which most runs leave
    the commonest path.
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
    """Walk down the tree of all runs, and note every place with two ways on."""
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
        # A walk that is alone cannot part from anything any more.
        waiting += [(some, depth + 1) for call, some in ways.items() if call is not None and len(some) > 1]
    return found


def _leaving(found: Found, commonest: tuple[str, ...]) -> Found:
    """Those places that are on the commonest path, by how many runs leave it there."""
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
