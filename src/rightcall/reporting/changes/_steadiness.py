"""How steady a run is: each case's trials, the rates they give, and where the runs of one case part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rightcall.reporting.store import Trial
from rightcall.values.results import CaseResult, Totals, Verdict, call_text
from rightcall.values.statistics import (
    Interval,
    Trials,
    all_of_k_interval,
    association,
    cases_like_these,
    mean_of_k,
    pass_all_k,
    pass_any_k,
    rate,
    run_rate,
    these_cases_again,
    trial_variance,
    wilson,
)

_MOST_BRANCHES = 8
_ARGUMENT_WIDTH = 60


class CaseTrials(msgspec.Struct, frozen=True):
    """The verdicts of all repeats of one case, in the order of the repeats."""

    case_id: str
    verdicts: tuple[Verdict, ...]

    @property
    def totals(self) -> Totals:
        """The number of trials by verdict."""
        return Totals.of(self.verdicts)

    @property
    def measured(self) -> Trials:
        """The trials that passed, of those with an answer."""
        return Trials(self.verdicts.count("passed"), self.verdicts.count("passed") + self.verdicts.count("failed"))

    @property
    def open(self) -> int:
        """Trials without an answer: in error, or not measured. They are never failures, and never left out silently."""
        return len(self.verdicts) - self.measured.measured

    @property
    def is_flaky(self) -> bool:
        """Whether some trials passed and some failed."""
        passed, measured = self.measured
        return 0 < passed < measured

    @property
    def rate(self) -> float | None:
        """The share of measured trials that passed; `None` where none was measured."""
        return rate(self.measured)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the rate."""
        return wilson(self.measured)

    def all_of(self, k: int) -> float | None:
        """The chance that all of `k` tries pass; `None` where fewer were measured."""
        return pass_all_k(self.measured, k)


class Steadiness(msgspec.Struct, frozen=True):
    """The trials of all cases of a run."""

    cases: tuple[CaseTrials, ...]

    @property
    def trials(self) -> list[Trials]:
        """The measured trials of each case."""
        return [case.measured for case in self.cases]

    @property
    def most_trials(self) -> int:
        """The number of trials of the case that has most; 1 where there is no case."""
        return max([len(case.verdicts) for case in self.cases], default=1)

    @property
    def rate(self) -> float | None:
        """The mean rate of the cases: each counts the same, however often it ran."""
        return run_rate(self.trials)

    @property
    def again(self) -> Interval | None:
        """The interval of the rate if these cases run again."""
        return these_cases_again(self.trials)

    @property
    def like_these(self) -> Interval | None:
        """The interval of the rate for cases like these."""
        return cases_like_these(self.trials)

    @property
    def variance(self) -> float | None:
        """How much the trials of one case vary; `None` where no case has two."""
        return trial_variance(self.trials)

    @property
    def flaky(self) -> tuple[CaseTrials, ...]:
        """The cases of which some trials passed and some failed."""
        return tuple([case for case in self.cases if case.is_flaky])

    def all_of(self, k: int) -> tuple[float | None, int]:
        """The mean chance that all of `k` tries pass, and over how many cases."""
        return mean_of_k(pass_all_k, self.trials, k)

    def any_of(self, k: int) -> tuple[float | None, int]:
        """The mean chance that at least one of `k` tries passes, and over how many cases."""
        return mean_of_k(pass_any_k, self.trials, k)

    def all_of_interval(self, k: int) -> Interval | None:
        """The interval of the mean chance that all of `k` tries pass."""
        return all_of_k_interval(self.trials, k)


def steadiness(trials: Iterable[Trial]) -> Steadiness:
    """Collect trials by case, in the order in which the cases were first seen."""
    found: dict[str, dict[int, Verdict]] = {}
    for trial in trials:
        found.setdefault(trial.case_id, {})[trial.repeat] = trial.verdict
    ordered = {case_id: [verdicts[repeat] for repeat in sorted(verdicts)] for case_id, verdicts in found.items()}
    return Steadiness(tuple([CaseTrials(case_id, tuple(verdicts)) for case_id, verdicts in ordered.items()]))


def steadiness_by(key: str, results: Iterable[CaseResult]) -> Steadiness:
    """Collect what the source of each trace itself calls success: a key of its metadata, such as `reward`.

    `true` and numbers from 1 on are passes, `false` and smaller numbers failures; anything else was not measured.
    """
    found: dict[str, dict[int, Verdict]] = {}
    for result in results:
        metadata = result.trajectory.metadata if result.trajectory is not None else {}
        found.setdefault(result.case_id, {})[result.repeat] = _success(metadata.get(key))
    ordered = {case_id: [verdicts[repeat] for repeat in sorted(verdicts)] for case_id, verdicts in found.items()}
    return Steadiness(tuple([CaseTrials(case_id, tuple(verdicts)) for case_id, verdicts in ordered.items()]))


def _success(value: Any) -> Verdict:
    if not isinstance(value, (bool, int, float)) or value != value:  # text, nothing, or not a number
        return "not_measured"
    return "passed" if value >= 1 else "failed"


class Branch(msgspec.Struct, frozen=True):
    """The runs of a case that go on with the same call, or end."""

    call: str | None
    """The call they make next; `None` where they end."""
    runs: int
    passed: int
    failed: int
    reason: str
    """The commonest finding among those that failed, with its code; empty if there is none."""
    repeats: tuple[int, ...]


class Parting(msgspec.Struct, frozen=True):
    """A place where the runs of a case part: the calls up to there, and what they do next."""

    after: tuple[str, ...]
    branches: tuple[Branch, ...]
    by_arguments: bool = False
    """Whether branches differ in arguments; otherwise in the name of the call."""


class CasePaths(msgspec.Struct, frozen=True):
    """The different paths of the runs of one case, and where they part, the most telling place first."""

    case_id: str
    runs: int
    passed: int
    paths: int
    partings: tuple[Parting, ...]


def case_paths(case_id: str, results: Sequence[CaseResult]) -> CasePaths:
    """Find where the runs of one case part ways.

    Of all places where runs go on differently, the one that best separates passed from failed runs is named first
    (largest G, then the shallowest), then those that are not below it. Names decide, unless arguments separate better.
    """
    # A run without a trajectory crashed before anything was recorded: it took no path, not an empty one.
    steps = [_Walk.of(result) for result in results if result.trajectory is not None]
    by_name = _partings(steps, by_arguments=False)
    by_arguments = _partings(steps, by_arguments=True)
    chosen = by_arguments if _best(by_arguments) > _best(by_name) + 1e-9 else by_name
    return CasePaths(
        case_id,
        len(results),
        sum([result.passed for result in results]),
        len({walk.names for walk in steps} if chosen is by_name else {walk.calls for walk in steps}),
        tuple([parting for _, parting in chosen]),
    )


class _Walk(msgspec.Struct, frozen=True):
    """One run of a case, as far as partings look at it."""

    names: tuple[str, ...]
    calls: tuple[str, ...]
    """The same with arguments."""
    verdict: Verdict
    reason: str
    repeat: int

    @classmethod
    def of(cls, result: CaseResult) -> _Walk:
        made = _ordered(result.trajectory)
        finding = result.findings[0].finding if result.findings else None
        reason = f"{finding.code} {finding.message}" if finding is not None else ""
        return cls(
            tuple([call.name for call in made]),
            tuple([call_text(call.name, call.args or {}, value_width=_ARGUMENT_WIDTH) for call in made]),
            result.verdict,
            reason,
            result.repeat,
        )

    def steps(self, *, by_arguments: bool) -> tuple[str, ...]:
        return self.calls if by_arguments else self.names


def _ordered(trajectory: Any) -> list[Any]:
    """The calls of a trajectory, those whose order was not recorded sorted by name."""
    made = [call for call in trajectory.calls if not call.internal] if not trajectory.unordered else [*trajectory.calls]
    for first, end in trajectory.unordered:
        made[first:end] = sorted(made[first:end], key=lambda call: call.name)
    return made


_Found = list[tuple[float, Parting]]


def _best(found: _Found) -> float:
    return found[0][0] if found else 0.0


def _partings(walks: Sequence[_Walk], *, by_arguments: bool) -> _Found:
    """All partings that no more telling one is above, the most telling first, with how much each separates."""
    found: _Found = []
    _search(walks, (), found, by_arguments=by_arguments)
    found.sort(key=lambda each: (-each[0], len(each[1].after)))
    kept: _Found = []
    for strength, parting in found:
        if not any([parting.after[: len(above.after)] == above.after for _, above in kept]):
            kept.append((strength, parting))
    return kept


def _search(walks: Sequence[_Walk], after: tuple[str, ...], found: _Found, *, by_arguments: bool) -> None:
    """Walk down the tree of all runs, and note every place with two ways on."""
    # A list instead of recursion: a path may have more calls than Python has stack frames.
    waiting = [(list(walks), after)]
    while waiting:
        here, path = waiting.pop()
        ways: dict[str | None, list[_Walk]] = {}
        for walk in here:
            steps = walk.steps(by_arguments=by_arguments)
            ways.setdefault(steps[len(path)] if len(path) < len(steps) else None, []).append(walk)
        if len(ways) > 1:
            strength = association([_outcomes(some) for some in ways.values()])
            found.append((strength, Parting(path, _branches(ways), by_arguments)))
        waiting += [(some, (*path, call)) for call, some in ways.items() if call is not None]


def _outcomes(walks: Sequence[_Walk]) -> tuple[int, int]:
    return sum([walk.verdict == "passed" for walk in walks]), sum([walk.verdict == "failed" for walk in walks])


def _branches(ways: dict[str | None, list[_Walk]]) -> tuple[Branch, ...]:
    branches = [_branch(call, walks) for call, walks in ways.items()]
    branches.sort(key=lambda branch: (-branch.runs, branch.call is None, branch.call or ""))
    return tuple(branches[:_MOST_BRANCHES])


def _branch(call: str | None, walks: list[_Walk]) -> Branch:
    passed, failed = _outcomes(walks)
    reasons = Counter([walk.reason for walk in walks if walk.verdict == "failed" and walk.reason])
    reason = reasons.most_common(1)[0][0] if reasons else ""
    return Branch(call, len(walks), passed, failed, reason, tuple(sorted([walk.repeat for walk in walks])))
