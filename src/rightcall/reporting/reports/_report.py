"""The data of a report, the same for every format, and its two simplest forms: a line for each problem, and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.results import (
    SIGNS,
    CaseRepeats,
    CaseResult,
    EvaluatorTotals,
    OverallResult,
    PlacedFinding,
    Quarantine,
    Totals,
    Verdict,
    count_text,
)
from rightcall.version import __version__

from ._paper import Line, Paper, escape_commands_in_json, printable

if TYPE_CHECKING:
    from rightcall.reporting.changes import Steadiness
    from rightcall.reporting.store import GateRecord


_MOST_COUNTED = 100
"""Most findings of a result to count over all repeats. Reports show fewer."""
_WIDEST = 100
_TRIES = 5
_MOST_REPEATED = 30
"""Most cases whose repeats are listed at the end of a run; `rightcall stats` lists all."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run, or of recorded traces, and their totals.

    A format is a function from a report to pieces of text. It prints nothing and opens nothing.
    """

    results: Callable[[], Iterator[CaseResult]]
    """Returns an iterator over the complete results, in order. It can be called again."""
    totals: Totals
    evaluators: Mapping[str, EvaluatorTotals] = {}
    overall: tuple[OverallResult, ...] = ()
    """The results of all cases together."""
    subject: str = ""
    """The eval set, or the single expectation."""
    seconds: float = 0.0
    run_id: str = ""
    """Empty if no agent was run."""
    agent: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    """Other facts about the run, by name, such as its branch."""
    notes: tuple[str, ...] = ()
    """Remarks about the run as a whole."""
    warnings: Mapping[str, int] = {}
    """Warnings from reading the traces, each with the number of its cases."""
    documents: Callable[[], Iterator[CaseResult | str]] | None = None
    """The same results, those that are encoded already as `to_json` encodes them."""
    repeats: Mapping[str, CaseRepeats] = {}
    """All repeats of each case, by id; empty if no case was repeated. Formats report cases, not repeats, by these."""

    quarantined: Mapping[str, Quarantine] = {}
    """Cases that are shown but not counted, by id."""
    gate: GateRecord | None = None
    """The decision of a gate, which then sets the exit code, instead of the cases that it compares."""

    comparison: Mapping[str, Any] | None = None
    """The comparison of verdicts with those of the source of the traces, if there is one."""
    unread: int = 0
    """How many files could not be read, so that what is in them was not judged."""
    is_complete: bool = True
    """Whether all cases were run, and it was not stopped before."""
    min_pass: float | None = None
    """The share of cases that has to pass; `None` for all, and for an incomplete run."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if anything failed, 2 if something could not be measured, else 0.

        A gate sets it, or the cases do, where failures within `min_pass` are tolerated; an overall result that did not
        pass, a file that could not be read and a run that is not complete are never tolerated. Every format agrees.
        """
        verdicts = {each.verdict for each in self.overall}
        code = self.totals.exit_code if self.gate is None else self.gate.exit_code
        if self.min_pass is not None and self.lets_pass:
            code = 0
        if code == 1 or "failed" in verdicts:
            return 1
        return 2 if verdicts - {"passed"} or (not code and (self.unread or not self.is_complete)) else code

    @property
    def gap(self) -> str:
        """What was not measured and no case says so: unread files, or everything; empty if there is nothing."""
        if self.unread:
            return f"{count_text(self.unread, 'file')} could not be read, and what is in them was not judged"
        if not self.is_complete and self.totals.exit_code == 0:
            return "the run is not complete: it was stopped before all cases were run"
        if self.gate is not None or self.totals != Totals():
            return ""
        return "every case is in quarantine, so nothing was measured" if self.quarantined else "there are no cases"

    @property
    def lets_pass(self) -> bool:
        """Whether some cases failed, but enough passed for `min_pass`. Errors are never tolerated."""
        totals = self.totals
        if self.gate is not None or self.min_pass is None or not totals.failed or totals.error or totals.not_measured:
            return False
        return (totals.rate or 0.0) >= self.min_pass

    @property
    def summary(self) -> str:
        """The number of cases by verdict, and of those in quarantine: `2 passed, 1 in quarantine`."""
        apart = f", {len(self.quarantined):,} in quarantine" if self.quarantined else ""
        unread = f", {count_text(self.unread, 'file')} not read" if self.unread else ""
        return f"{self.totals}{apart}{unread}{'' if self.is_complete else ', not complete'}"

    @property
    def rate(self) -> float | None:
        """The pass rate: the mean of the cases' rates; `None` if nothing was measured."""
        return self.steadiness.rate if self.repeats else self.totals.rate

    @property
    def steadiness(self) -> Steadiness:
        """The trials of the repeated cases, and their rates."""
        # Imported here because most reports have no repeats.
        from rightcall.reporting.changes import CaseTrials, Steadiness

        cases = [CaseTrials(case_id, each.verdicts) for case_id, each in self.repeats.items()]
        return Steadiness(tuple(cases), frozenset(self.quarantined))


def redacted_report(report: Report) -> Report:
    """Return a report without secrets; its verdicts, scores and totals are the same."""
    # Imported here because not every report is redacted. What redacts results is loaded when a format reads them.
    from rightcall.values import redaction

    redacted_text = redaction.redacted_text
    results, documents, gate = report.results, report.documents, report.gate
    return msgspec.structs.replace(
        report,
        results=lambda: map(redaction.redacted, results()),
        documents=(lambda: map(redaction.redacted_document, documents())) if documents is not None else None,
        overall=tuple([redaction.redacted_overall(each) for each in report.overall]),
        subject=redacted_text(report.subject),
        agent=redaction.redacted_address(report.agent) if report.agent else "",
        facts=tuple([(name, redacted_text(fact)) for name, fact in report.facts]),
        notes=tuple(map(redacted_text, report.notes)),
        gate=None if gate is None else redacted_gate(gate),
        quarantined={
            case_id: Quarantine(redacted_text(each.reason), each.until) for case_id, each in report.quarantined.items()
        },
        warnings={redacted_text(warning): cases for warning, cases in report.warnings.items()},
    )


def redacted_gate(gate: GateRecord) -> GateRecord:
    """Return the decision of a gate without secrets; case ids are kept, as everywhere."""
    from rightcall.values.redaction import redacted_text

    return msgspec.structs.replace(
        gate,
        reason=redacted_text(gate.reason),
        told=tuple(map(redacted_text, gate.told)),
        base=redacted_text(gate.base),
    )


def problem_lines(result: CaseResult, name: str | None = None, redact: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the problems of one result: location, code, case and message. Nothing if it passed.

    `name` is what the case is called, by default its id with the number of the repeat. `redact` removes secrets.
    """
    if result.passed:
        return
    name = f"{result.case_id}{result.repeat_note}" if name is None else name
    problems = []
    for placed in result.findings:
        finding = placed.finding
        advice = f" ({redact(finding.help)})" if finding.help else ""
        problems.append((placed.source, f"{finding.code} {name}: {redact(finding.message)}{advice}"))
    for place, text in problems or [(result.source, f"{name}: {SIGNS[result.verdict].word}, score {result.score}")]:
        yield f"{redact(place.file)}:{place.line}:{place.column}: {text}"


def concise_lines(block: CaseBlock) -> Iterator[str]:
    """Yield the problems of a case, each with the number of repeats that have it. Nothing if the case passed.

    If the case passes because of its other repeats, this is one line, a note.
    """
    result = block.result
    if block.is_note:
        first = f"{result.findings[0].finding.code} {result.findings[0].finding.message}" if result.findings else ""
        sentence = f"{first}{block.how_often}" if first else f"{SIGNS[result.verdict].word}{block.how_often}"
        apart = str(block.quarantine) if block.quarantine is not None else ""
        place = result.findings[0].source if result.findings else result.source
        yield ": ".join([str(place), "note", block.name, *filter(None, [apart, block.shares]), sentence])
        return
    counts = [block.how_often_found(placed) for placed in result.findings] or [block.how_often]
    for line, count in zip(problem_lines(result, block.name), counts, strict=False):
        yield f"{line}{count}"


def concise_report(report: Report) -> Iterator[str]:
    """Yield the problems of all cases and the totals, line by line."""
    for block in case_blocks(report):
        yield from (f"{printable(line, one_line=True)}\n" for line in concise_lines(block))
    for line in repeat_lines(report, Paper(width=_WIDEST)):
        yield "".join([part if isinstance(part, str) else part[0] for part in line]).rstrip() + "\n"
    yield from (f"{printable(line, one_line=True)}\n" for line in ending(report))


def repeat_lines(report: Report, paper: Paper) -> Iterator[Line]:
    """Yield how flaky the cases are, below an empty line; nothing if no case was repeated."""
    if report.repeats:
        from ._steadiness_lines import steadiness_lines  # most reports have no repeats

        counted = report.steadiness
        yield ()
        tries = min(_TRIES, counted.most_trials)
        yield from steadiness_lines(counted, tries, paper, report.run_id, most=_MOST_REPEATED)
        yield ()


def ending(report: Report) -> Iterator[str]:
    """Yield notes, warnings and overall results, then the totals and the decision of a gate."""
    yield from report.notes
    for warning, cases in report.warnings.items():
        yield f"note: {warning}" + (f" ({cases:,} cases)" if cases > 1 else "")
    for overall in report.overall:
        yield overall_line(overall)
    named = f"  run {report.run_id}" if report.run_id else ""
    yield f"{report.summary} in {report.seconds:.2f}s{named}"
    if report.gate is not None:
        yield from report.gate.told


def overall_line(result: OverallResult) -> str:
    """Return one line, such as `overall intent: failed: accuracy 0.75 over 4 cases, and 0.9 is needed`."""
    place = "" if result.verdict == "passed" else f"{result.source}: "
    return f"{place}overall {result}"


def json_report(report: Report) -> Iterator[str]:
    """Yield the results as one JSON document, piece by piece.

    `rightcall` is the version that wrote it, `evalset` the eval set, `cases` each result with its evaluations, findings
    and the judged trajectory, `totals` the number of cases by verdict, `evaluators` the number of results of each
    evaluator by verdict with their mean score, `overall` the results over all cases together, `notes` other remarks
    about the run, and `exit_code` the resulting exit code. If cases were repeated, `trials` counts the repeats of each
    case, with the resulting verdict, and `rates` has the rates of the run. `gate` has the decision of a gate, and
    `quarantined` the cases that are not counted.
    """
    yield (
        escape_commands_in_json(dump_json({"rightcall": __version__, "evalset": report.subject}))[:-1] + ', "cases": ['
    )
    cases: Iterator[CaseResult | str] = report.results() if report.documents is None else report.documents()
    separator = "\n"
    for case in cases:
        yield separator + escape_commands_in_json(case if isinstance(case, str) else case.to_json())
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
    """Return a result as `to_json` encodes it, given the text from `json_evidence`."""
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
    """One case in a report: the result to show and, if the case was repeated, all of its repeats."""

    result: CaseResult
    repeats: CaseRepeats | None = None
    alike: int = 1
    """The number of repeats with the same problem as the result shown."""
    decided: Verdict | None = None
    """The verdict that counts for the exit code if a gate or `min_pass` decides; `passed` if the case has no effect."""
    quarantine: Quarantine | None = None
    """Why the case is not counted; `None` if it is."""
    findings: Mapping[tuple[str, ...], int] = {}
    """The number of repeats with each finding, if repeats are combined."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the case that counts for the exit code; `passed` for a case in quarantine."""
        if self.quarantine is not None:
            return "passed"
        if self.decided is not None:
            return self.decided
        return self.result.verdict if self.repeats is None else self.repeats.verdict

    @property
    def passed(self) -> bool:
        """Whether the case passed, even if a repeat failed."""
        return self.verdict == "passed"

    @property
    def is_note(self) -> bool:
        """Whether the result shown did not pass, but has no effect on the exit code."""
        return self.verdict == "passed" and not self.result.passed

    @property
    def is_made_up(self) -> bool:
        """Whether the result shown did not pass, but the case did, because enough other repeats passed."""
        passed = self.repeats is not None and self.repeats.verdict == "passed"
        return passed and self.quarantine is None and not self.result.passed

    @property
    def name(self) -> str:
        """The name of the case in a report, with the number of the repeat if repeats are reported one by one."""
        return f"{self.result.case_id}{self.result.repeat_note if self.repeats is None else ''}"

    @property
    def how_often(self) -> str:
        """How many repeats have the problem: ` (3 of 5 repeats)`; empty for a case that was not repeated."""
        return self._of_all(self.alike)

    def how_often_found(self, placed: PlacedFinding) -> str:
        """Return how many repeats have exactly this finding. Repeats with one problem may differ in others."""
        return "" if self.repeats is None else self._of_all(self.findings.get(_key(placed), self.alike))

    def _of_all(self, count: int) -> str:
        if self.repeats is None or len(self.repeats.verdicts) == 1 or self.result.passed:
            return ""
        return f" ({count:,} of {len(self.repeats.verdicts):,} repeats)"

    @property
    def shares(self) -> str:
        """How many repeats passed and have to pass: `4/5 passed, 3 needed`; empty for a case that was not repeated."""
        if self.repeats is None or len(self.repeats.verdicts) == 1:
            return ""
        totals = self.repeats.totals
        others = f", {totals.error:,} in error" if totals.error else ""
        others += f", {totals.not_measured:,} not measured" if totals.not_measured else ""
        counts = self.decided is None and self.quarantine is None
        needed = f", {self.repeats.needed:,} needed" if counts else ""
        return f"{totals.passed:,}/{len(self.repeats.verdicts):,} passed{others}{needed}"


def case_blocks(report: Report) -> Iterator[CaseBlock]:
    """Yield each case once. If cases were repeated, results are read twice: to count them, and to show one."""
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
    """Return the verdict of a case for the exit code if a gate or `min_pass` decides; `None` if its own counts."""
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
    """Return the repeat of each case to show, with how many repeats have its problem, and counted findings."""
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
    """Return the problem to show: one that explains the verdict or, for a passed case, that of a failed repeat."""
    for verdict in (verdict_of_all,) if verdict_of_all != "passed" else ("failed", "passed"):
        # By frequency, then by text: a report must not depend on which repeat finished first.
        found = sorted([(-number, problem) for problem, number in counts.items() if problem[0] == verdict])
        if found:
            return found[0][1]
    return min(counts)


def _problem(result: CaseResult) -> tuple[str, ...]:
    """Return the key by which results have the same problem: verdict, location and first finding."""
    if not result.findings:
        return (result.verdict, str(result.source))
    return (result.verdict, *_key(result.findings[0]))


def _key(placed: PlacedFinding) -> tuple[str, ...]:
    return str(placed.source), placed.finding.code, placed.finding.message
