"""The data of a report, the same for every format: one block a case, all of its repeats put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.results import (
    CaseRepeats,
    CaseResult,
    EvaluatorTotals,
    OverallResult,
    PlacedFinding,
    Quarantine,
    Totals,
    Verdict,
)
from rightcall.version import __version__

from ._paper import escape_commands_in_json

if TYPE_CHECKING:
    from rightcall.reporting.changes import Steadiness
    from rightcall.reporting.store import GateRecord


_MOST_COUNTED = 100
"""Findings of a result that are counted over all repeats; reports show fewer of them."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run, or of recorded traces, and their totals.

    A format is a function of a report that gives the text piece by piece. It prints nothing and opens nothing.
    """

    results: Callable[[], Iterator[CaseResult]]
    """The complete results, in order, one at a time. They can be asked for again."""
    totals: Totals
    evaluators: Mapping[str, EvaluatorTotals] = {}
    overall: tuple[OverallResult, ...] = ()
    """The results of all cases together."""
    subject: str = ""
    """The eval set, or the one expectation."""
    seconds: float = 0.0
    run_id: str = ""
    """Empty where nothing was run."""
    agent: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    """Other facts about the run, by name, such as its branch."""
    notes: tuple[str, ...] = ()
    """Remarks about the run as a whole."""
    warnings: Mapping[str, int] = {}
    """Warnings of the reader of the traces, with the number of cases each is about."""
    documents: Callable[[], Iterator[str]] | None = None
    """The same results as `to_json` writes them, where they are written already."""
    repeats: Mapping[str, CaseRepeats] = {}
    """All repeats of each case, by its id; empty where no case was repeated. They decide what a format says of it."""

    quarantined: Mapping[str, Quarantine] = {}
    """Cases that are shown, and count in nothing, by their ids."""
    gate: GateRecord | None = None
    """What a gate said, which then decides the exit code; cases that it compares decide nothing by themselves."""

    comparison: Mapping[str, Any] | None = None
    """The verdicts beside those of the source of the traces, if they were compared."""
    min_pass: float | None = None
    """The share of cases that is enough; `None` means all, and for a run that is not complete."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if anything failed, 2 if something could not be measured, else 0.

        A gate decides it, or the cases do, with what `min_pass` lets pass; an overall result that did not pass is
        never let pass. Every format says what this says.
        """
        verdicts = {each.verdict for each in self.overall}
        code = self.totals.exit_code if self.gate is None else self.gate.exit_code
        code = 0 if self.lets_pass else code
        if code == 1 or "failed" in verdicts:
            return 1
        return 2 if verdicts - {"passed"} else code

    @property
    def void(self) -> str:
        """Why nothing was measured though nothing went wrong; empty where something was."""
        if self.gate is not None or self.totals != Totals():
            return ""
        return "every case is in quarantine, so nothing was measured" if self.quarantined else "there are no cases"

    @property
    def lets_pass(self) -> bool:
        """Whether some cases failed, and enough others passed. Errors are never let pass."""
        totals = self.totals
        if self.gate is not None or self.min_pass is None or not totals.failed or totals.error or totals.not_measured:
            return False
        return (totals.rate or 0.0) >= self.min_pass

    @property
    def summary(self) -> str:
        """The number of cases by verdict, and of those in quarantine: `2 passed, 1 in quarantine`."""
        apart = f", {len(self.quarantined):,} in quarantine" if self.quarantined else ""
        return f"{self.totals}{apart}"

    @property
    def rate(self) -> float | None:
        """The pass rate: the mean of the cases' rates; `None` where nothing was measured."""
        return self.steadiness.rate if self.repeats else self.totals.rate

    @property
    def steadiness(self) -> Steadiness:
        """The trials of the repeated cases, and the rates that they give."""
        # Imported here because most reports have no repeats, and need nothing of it.
        from rightcall.reporting.changes import CaseTrials, Steadiness

        cases = [CaseTrials(case_id, each.verdicts) for case_id, each in self.repeats.items()]
        return Steadiness(tuple(cases), frozenset(self.quarantined))


def redacted_report(report: Report) -> Report:
    """Return a report without secrets; its verdicts, scores and totals are the same."""
    # Imported here because it takes 20 ms, and not every report is redacted.
    from rightcall.values.redaction import (
        redacted,
        redacted_address,
        redacted_document,
        redacted_overall,
        redacted_text,
    )

    results, documents, gate = report.results, report.documents, report.gate
    return msgspec.structs.replace(
        report,
        results=lambda: map(redacted, results()),
        documents=(lambda: map(redacted_document, documents())) if documents is not None else None,
        overall=tuple(map(redacted_overall, report.overall)),
        subject=redacted_text(report.subject),
        agent=redacted_address(report.agent) if report.agent else "",
        facts=tuple([(name, redacted_text(fact)) for name, fact in report.facts]),
        notes=tuple(map(redacted_text, report.notes)),
        gate=None if gate is None else redacted_gate(gate),
        quarantined={
            case_id: Quarantine(redacted_text(each.reason), each.until) for case_id, each in report.quarantined.items()
        },
        warnings={redacted_text(warning): cases for warning, cases in report.warnings.items()},
    )


def redacted_gate(gate: GateRecord) -> GateRecord:
    """Return what a gate said without secrets; ids of cases are kept, as everywhere."""
    from rightcall.values.redaction import redacted_text

    return msgspec.structs.replace(
        gate,
        reason=redacted_text(gate.reason),
        told=tuple(map(redacted_text, gate.told)),
        base=redacted_text(gate.base),
    )


def json_report(report: Report) -> Iterator[str]:
    """Yield the results as one JSON document, piece by piece.

    `rightcall` is the version that wrote it, `evalset` what was expected, `cases` each result with its evaluations,
    findings and the trajectory that was judged, `totals` the cases by verdict, and `evaluators` the results of each
    evaluator by verdict with their mean score, `overall` the results of all cases together, `notes` other remarks
    about the run, and `exit_code` the exit code that comes of it all. Where cases were repeated, `trials` counts the
    repeats of each case, with the verdict they give, and `rates` has what they say about the run. `gate` has what a
    gate said, and `quarantined` the cases that count in nothing.
    """
    yield (
        escape_commands_in_json(dump_json({"rightcall": __version__, "evalset": report.subject}))[:-1] + ', "cases": ['
    )
    cases = report.documents() if report.documents is not None else map(CaseResult.to_json, report.results())
    separator = "\n"
    for case in cases:
        yield separator + escape_commands_in_json(case)
        separator = ",\n"
    evaluators = msgspec.to_builtins(dict(report.evaluators))
    ending: dict[str, Any] = {"totals": msgspec.to_builtins(report.totals), "evaluators": evaluators}
    ending["overall"] = msgspec.to_builtins(report.overall)
    ending["notes"] = list(report.notes)
    if report.quarantined:
        ending["quarantined"] = msgspec.to_builtins(dict(report.quarantined))
    ending["exit_code"] = report.exit_code
    if report.comparison is not None:
        ending["comparison"] = dict(report.comparison)
    if report.gate is not None:
        ending["gate"] = msgspec.to_builtins(report.gate)
    if report.repeats:
        from ._json_form import trial_keys

        ending |= trial_keys(report)
    yield f"\n], {dump_json(ending)[1:]}\n"


def json_case(result: CaseResult, evidence: str) -> str:
    """Return a result as `to_json` writes it, given what `json_evidence` wrote."""
    known = {"case_id": result.case_id, "repeat": result.repeat}
    known |= {"is_repeat_told": True} if result.is_repeat_told else {}
    return f"{dump_json(known)[:-1]}, {evidence[1:]}"


def json_evidence(result: CaseResult) -> str:
    """Return a result without its case id and repeat, as a JSON object."""
    plain = result.to_plain()
    del plain["case_id"], plain["repeat"]
    plain.pop("is_repeat_told", None)
    return dump_json(plain)


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
