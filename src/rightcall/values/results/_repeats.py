"""What several runs of one case come to."""

from __future__ import annotations

from collections.abc import Iterator

from ._case import CaseResult, Totals, gravest
from ._result import Verdict


class Tally:
    """The verdicts of cases, each of which may have been run several times.

    A case passes when all its repeats pass or, with `needed`, when so many do. It fails when repeats that broke or were
    not measured could not have changed that. An error and what was not measured are never made up for by other repeats.
    """

    def __init__(self, needed: int | None = None) -> None:
        self._needed = needed
        self._verdicts: dict[str, list[Verdict]] = {}

    def add(self, result: CaseResult) -> None:
        """Count the result of one repeat."""
        self.count(result.case_id, result.verdict)

    def count(self, case_id: str, verdict: Verdict) -> None:
        """Count the verdict of one repeat."""
        self._verdicts.setdefault(case_id, []).append(verdict)

    def verdict(self, case_id: str) -> Verdict:
        """The verdict of a case so far."""
        verdicts = self._verdicts[case_id]
        needed = len(verdicts) if self._needed is None else self._needed
        could_pass = len(verdicts) - verdicts.count("failed") >= needed
        return gravest([verdict for verdict in verdicts if verdict != "failed"]) if could_pass else "failed"

    def verdicts(self) -> dict[str, Verdict]:
        """The verdict of each case so far."""
        return {case_id: self.verdict(case_id) for case_id in self._verdicts}

    def totals(self) -> Totals:
        """How many cases there were, by verdict."""
        return Totals.of([self.verdict(case_id) for case_id in self._verdicts])

    def shares(self) -> Iterator[tuple[str, int, int]]:
        """Each case that was run several times and did not pass each time: how often it passed, and of how many."""
        for case_id, verdicts in self._verdicts.items():
            passed = verdicts.count("passed")
            if len(verdicts) > 1 and passed < len(verdicts):
                yield case_id, passed, len(verdicts)
