"""One block a case: all of its repeats put together, with the problem that most of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from rightcall.values.results import CaseRepeats, CaseResult, PlacedFinding, Quarantine, Verdict

from ._report import Report

_MOST_COUNTED = 100
"""Findings of a result that are counted over all repeats; reports show fewer of them."""


class CaseBlock(msgspec.Struct, frozen=True):
    """One case in a report: the result that is shown of it and, if it was repeated, all of its repeats."""

    result: CaseResult
    repeats: CaseRepeats | None = None
    alike: int = 1
    """How many repeats have the same problem as the one that is shown."""
    decided: Verdict | None = None
    """What the case adds to the exit code, where a gate or a share of cases decides: `passed` if it adds nothing."""
    quarantine: Quarantine | None = None
    """Why the case counts in nothing; `None` where it counts."""
    findings: Mapping[tuple[str, ...], int] = {}
    """How many repeats have each finding, where repeats are put together."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the case, by which the exit code is decided; `passed` for a case in quarantine."""
        if self.quarantine is not None:
            return "passed"
        if self.decided is not None:
            return self.decided
        return self.result.verdict if self.repeats is None else self.repeats.verdict

    @property
    def passed(self) -> bool:
        """Whether the case passed, though a repeat may have failed."""
        return self.verdict == "passed"

    @property
    def is_note(self) -> bool:
        """Whether the result that is shown did not pass, and the case still does: it decides nothing."""
        return self.passed and not self.result.passed

    @property
    def is_made_up(self) -> bool:
        """Whether the case passed by itself, because enough other repeats did, and the result that is shown did not."""
        passed = self.repeats is not None and self.repeats.verdict == "passed"
        return passed and self.quarantine is None and not self.result.passed

    @property
    def name(self) -> str:
        """What the case is called in a report: with the number of the repeat, where repeats are reported one by one."""
        return f"{self.result.case_id}{self.result.repeat_note if self.repeats is None else ''}"

    @property
    def how_often(self) -> str:
        """How many repeats have the problem: ` (3 of 5 repeats)`; empty for a case that was not repeated."""
        return self._of_all(self.alike)

    def how_often_found(self, placed: PlacedFinding) -> str:
        """How many repeats have this very finding, in the same words: those with one problem may differ in others."""
        return "" if self.repeats is None else self._of_all(self.findings.get(_key(placed), self.alike))

    def _of_all(self, count: int) -> str:
        if self.repeats is None or len(self.repeats.verdicts) == 1 or self.result.passed:
            return ""
        return f" ({count:,} of {len(self.repeats.verdicts):,} repeats)"

    @property
    def shares(self) -> str:
        """How many repeats passed and have to: `4/5 passed, 3 needed`; empty for a case that was not repeated."""
        if self.repeats is None or len(self.repeats.verdicts) == 1:
            return ""
        totals = self.repeats.totals
        others = f", {totals.error:,} in error" if totals.error else ""
        others += f", {totals.not_measured:,} not measured" if totals.not_measured else ""
        counts = self.decided is None and self.quarantine is None
        needed = f", {self.repeats.needed:,} needed" if counts else ""
        return f"{totals.passed:,}/{len(self.repeats.verdicts):,} passed{others}{needed}"


def case_blocks(report: Report) -> Iterator[CaseBlock]:
    """Yield each case once. Where cases were repeated, results are read twice: most are counted, one is shown."""
    if not report.repeats:
        for result in report.results():
            apart = report.quarantined.get(result.case_id)
            yield CaseBlock(result, decided=decided_verdict(report, result), quarantine=apart)
        return
    chosen, findings = _chosen(report)
    for result in report.results():
        alike = chosen.get((result.case_id, result.repeat))
        if alike is not None:
            repeats, quarantine = report.repeats.get(result.case_id), report.quarantined.get(result.case_id)
            found = findings[result.case_id]
            yield CaseBlock(result, repeats, alike, decided_verdict(report, result), quarantine, found)


def decided_verdict(report: Report, result: CaseResult) -> Verdict | None:
    """Return what the case of a result adds to the exit code; `None` where its own verdict is all there is to it."""
    if report.lets_pass:
        return "passed"
    if report.gate is None:
        return None
    if result.case_id in report.gate.failed:
        return "failed"
    if result.case_id not in report.gate.unmeasured:
        return "passed"
    repeats = report.repeats.get(result.case_id)
    return "not_measured" if repeats is not None and "error" not in repeats.verdicts else "error"


def _chosen(report: Report) -> tuple[dict[tuple[str, int], int], dict[str, Counter[tuple[str, ...]]]]:
    """Return which repeat of each case is shown, with how many others have its problem, and all findings, counted."""
    problems: dict[str, Counter[tuple[str, ...]]] = {}
    findings: dict[str, Counter[tuple[str, ...]]] = {}
    firsts: dict[tuple[str, tuple[str, ...]], int] = {}
    for result in report.results():
        problem = _problem(result)
        problems.setdefault(result.case_id, Counter())[problem] += 1
        found = {_key(placed) for placed in result.findings[:_MOST_COUNTED]}
        findings.setdefault(result.case_id, Counter()).update(found)
        first = firsts.get((result.case_id, problem), result.repeat)
        firsts[result.case_id, problem] = min(first, result.repeat)
    shown = {case_id: _shown(_verdict(report, case_id), counts) for case_id, counts in problems.items()}
    chosen = {(case_id, firsts[case_id, problem]): problems[case_id][problem] for case_id, problem in shown.items()}
    return chosen, findings


def _verdict(report: Report, case_id: str) -> Verdict:
    repeats = report.repeats.get(case_id)
    return "passed" if repeats is None else repeats.verdict


def _shown(verdict_of_all: Verdict, counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the problem to show: one that the verdict comes from or, of a case that passed, one made up for."""
    for verdict in (verdict_of_all,) if verdict_of_all != "passed" else ("failed", "passed"):
        # By how often, then by its text: which repeat finished first must not change a report.
        found = sorted([(-number, problem) for problem, number in counts.items() if problem[0] == verdict])
        if found:
            return found[0][1]
    return min(counts)


def _problem(result: CaseResult) -> tuple[str, ...]:
    """Return by what two results have the same problem: verdict, place and the first finding."""
    if not result.findings:
        return (result.verdict, str(result.source))
    return (result.verdict, *_key(result.findings[0]))


def _key(placed: PlacedFinding) -> tuple[str, ...]:
    return str(placed.source), placed.finding.code, placed.finding.message
