"""How steady a run is: each case's trials, and the rates they give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rightcall.reporting.store import Trial
from rightcall.values.results import CaseResult, Totals, Verdict, success_of
from rightcall.values.statistics import (
    Interval,
    Trials,
    all_of_k_interval,
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

_STEADY = 20
"""Trials in a row that have to pass before a case in quarantine may leave it."""


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
    """The trials of all cases of a run. Those in quarantine are listed, and count in no figure."""

    cases: tuple[CaseTrials, ...]
    quarantined: frozenset[str] = frozenset()
    """The ids of cases in quarantine."""

    @property
    def counted(self) -> tuple[CaseTrials, ...]:
        """The cases that count."""
        return tuple([case for case in self.cases if case.case_id not in self.quarantined])

    @property
    def may_leave(self) -> tuple[CaseTrials, ...]:
        """The cases in quarantine of which twenty trials or more passed, and none failed or has no answer."""
        apart = [case for case in self.cases if case.case_id in self.quarantined]
        return tuple([case for case in apart if len(case.verdicts) >= _STEADY and set(case.verdicts) == {"passed"}])

    @property
    def trials(self) -> list[Trials]:
        """The measured trials of each case that counts."""
        return [case.measured for case in self.counted]

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
        return tuple([case for case in self.counted if case.is_flaky])

    def all_of(self, k: int) -> tuple[float | None, int]:
        """The mean chance that all of `k` tries pass, and over how many cases."""
        return mean_of_k(pass_all_k, self.trials, k)

    def any_of(self, k: int) -> tuple[float | None, int]:
        """The mean chance that at least one of `k` tries passes, and over how many cases."""
        return mean_of_k(pass_any_k, self.trials, k)

    def all_of_interval(self, k: int) -> Interval | None:
        """The interval of the mean chance that all of `k` tries pass."""
        return all_of_k_interval(self.trials, k)


def steadiness(trials: Iterable[Trial], quarantined: Iterable[str] = ()) -> Steadiness:
    """Collect trials by case, in the order in which the cases were first seen."""
    found: dict[str, dict[int, Verdict]] = {}
    for trial in trials:
        found.setdefault(trial.case_id, {})[trial.repeat] = trial.verdict
    return _collected(found, frozenset(quarantined))


def _collected(found: dict[str, dict[int, Verdict]], quarantined: frozenset[str] = frozenset()) -> Steadiness:
    ordered = {case_id: [verdicts[repeat] for repeat in sorted(verdicts)] for case_id, verdicts in found.items()}
    cases = [CaseTrials(case_id, tuple(verdicts)) for case_id, verdicts in ordered.items()]
    return Steadiness(tuple(cases), quarantined)


def steadiness_by(key: str, results: Iterable[CaseResult]) -> Steadiness:
    """Collect what the source of each trace itself calls success: a key of its metadata, such as `reward`.

    `true` and numbers from 1 on are passes, `false` and smaller numbers failures; anything else was not measured.
    """
    found: dict[str, dict[int, Verdict]] = {}
    for result in with_success(key, results):
        found.setdefault(result.case_id, {})[result.repeat] = result.verdict
    return _collected(found)


def with_success(key: str, results: Iterable[CaseResult]) -> list[CaseResult]:
    """Return results with the verdict that their traces have by a key of their metadata."""
    found = []
    for result in results:
        metadata = result.trajectory.metadata if result.trajectory is not None else {}
        found.append(msgspec.structs.replace(result, verdict=success(metadata.get(key))))
    return found


def success(value: Any) -> Verdict:
    """Return the verdict for a value that a source calls success."""
    found = success_of(value)
    return "not_measured" if found is None else "passed" if found else "failed"
