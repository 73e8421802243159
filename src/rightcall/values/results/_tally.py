"""Repeats of cases, counted: which verdict a case has by all of them, and which cases count at all."""

from __future__ import annotations

from collections.abc import Container, Mapping
from time import gmtime, strftime

import msgspec

from rightcall.values.statistics import run_rate

from ._case_results import CaseResult, Totals, worst
from ._result import Verdict


class Quarantine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case that runs and is shown, and counts in nothing: why, and the last day on which that holds."""

    reason: str
    until: str = ""
    """A day such as `2026-12-31`; empty where it has no end."""

    @property
    def is_over(self) -> bool:
        """Whether its last day, in UTC, has passed: the case counts again."""
        return bool(self.until) and self.until < _today()

    @property
    def days_left(self) -> int | None:
        """The number of days until its last one, negative where it is over; `None` where it has no end."""
        if not self.until:
            return None
        from datetime import date  # for `check` alone

        return (date.fromisoformat(self.until) - date.fromisoformat(_today())).days

    def __str__(self) -> str:
        until = f" until {self.until}" if self.until else ""
        return f"in quarantine{until}: {self.reason}"


def _today() -> str:
    # ISO days compare like texts, so that nothing has to be imported for them.
    return strftime("%Y-%m-%d", gmtime())


class CaseRepeats(msgspec.Struct, frozen=True):
    """All repeats of one case, in their order, and the verdict that they give together."""

    verdict: Verdict
    verdicts: tuple[Verdict, ...]
    needed: int
    """How many of them have to pass."""

    @property
    def totals(self) -> Totals:
        """The number of repeats by verdict."""
        return Totals.of(self.verdicts)


class Tally:
    """The verdicts of cases, each of which may have been run several times.

    A case passes if all its repeats pass or, with `needed`, if that many do. It fails if repeats in error or not
    measured could not have changed that. Other repeats never make up for an error, or for one that was not measured.

    Args:
        needed: How many repeats of a case have to pass; all by default.
        by_case: The same for single cases, by their ids; these come first.
        quarantined: The ids of cases in quarantine, which have verdicts and are in no total.
    """

    def __init__(
        self,
        needed: int | None = None,
        by_case: Mapping[str, int] | None = None,
        quarantined: Container[str] = (),
    ) -> None:
        self._needed = needed
        self._quarantined = quarantined
        self._by_case = by_case or {}
        self._verdicts: dict[str, list[tuple[int, Verdict]]] = {}

    def add(self, result: CaseResult) -> None:
        """Count the result of one repeat."""
        self.count(result.case_id, result.verdict, result.repeat)

    def count(self, case_id: str, verdict: Verdict, repeat: int = 0) -> None:
        """Count the verdict of one repeat. Repeats are listed in their order, whatever order they finish in."""
        self._verdicts.setdefault(case_id, []).append((repeat, verdict))

    def verdict(self, case_id: str) -> Verdict:
        """Return the verdict of a case so far."""
        return self.outlook(case_id, len(self._verdicts[case_id]))

    def is_lost(self, case_id: str, planned: int) -> bool:
        """Whether a case cannot pass any more, however the rest of its `planned` repeats end."""
        return case_id not in self._quarantined and self.outlook(case_id, planned) != "passed"

    def outlook(self, case_id: str, planned: int) -> Verdict:
        """Return the verdict of a case if all the rest of its `planned` repeats pass."""
        verdicts = [verdict for _, verdict in self._verdicts[case_id]]
        # A repeat in error, or not measured, may have passed: it can keep a case from failing, never make it pass.
        could_pass = planned - verdicts.count("failed") >= self._asked(case_id, planned)
        return worst([verdict for verdict in verdicts if verdict != "failed"]) if could_pass else "failed"

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each case so far."""
        return {case_id: self.verdict(case_id) for case_id in self._verdicts}

    def totals(self) -> Totals:
        """Return the number of cases by verdict; those in quarantine are not among them."""
        return Totals.of([self.verdict(case_id) for case_id in self._verdicts if case_id not in self._quarantined])

    def rate(self) -> float | None:
        """Return the pass rate of the run: the mean of its cases' rates, without those in quarantine."""
        counted = [verdicts for case_id, verdicts in self._verdicts.items() if case_id not in self._quarantined]
        return run_rate([Totals.of([verdict for _, verdict in each]).measured for each in counted])

    def repeats(self, *, always: bool = False) -> dict[str, CaseRepeats]:
        """Return all repeats of each case; nothing where no case has more than one, unless `always`."""
        if not always and all([len(verdicts) == 1 for verdicts in self._verdicts.values()]):
            return {}
        return {case_id: self._repeats(case_id) for case_id in self._verdicts}

    def _repeats(self, case_id: str) -> CaseRepeats:
        in_order = sorted(self._verdicts[case_id], key=lambda trial: trial[0])
        verdicts = tuple([verdict for _, verdict in in_order])
        return CaseRepeats(self.verdict(case_id), verdicts, self._asked(case_id, len(verdicts)))

    def _asked(self, case_id: str, repeats: int) -> int:
        needed = self._by_case.get(case_id, self._needed)
        return repeats if needed is None else needed
