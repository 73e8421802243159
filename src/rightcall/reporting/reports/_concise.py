"""One line a problem."""

from __future__ import annotations

from collections.abc import Iterator

from rightcall.values.results import CaseResult

from ._characters import printable
from ._overall import overall_line
from ._report import Report

_WORD = {"failed": "failed", "error": "error", "not_measured": "not measured"}


def concise_lines(result: CaseResult) -> Iterator[str]:
    """The problems of a case: place, code, case and sentence. Nothing for a case that passed."""
    if result.passed:
        return
    case = result.case_id if not result.repeat else f"{result.case_id} (repeat {result.repeat + 1})"
    for placed in result.findings:
        finding = placed.finding
        advice = f" ({finding.help})" if finding.help else ""
        yield f"{placed.source}: {finding.code} {case}: {finding.message}{advice}"
    if not result.findings:
        yield f"{result.source}: {case}: {_WORD[result.verdict]}, score {result.score}"


def concise_report(report: Report) -> Iterator[str]:
    """The problems of all cases and the totals, as text, line by line."""
    for result in report.results():
        yield from (f"{printable(line, one_line=True)}\n" for line in concise_lines(result))
    yield from (f"{printable(line, one_line=True)}\n" for line in ending(report))


def ending(report: Report) -> Iterator[str]:
    """What is said of all cases together; last, how many there were, by verdict."""
    yield from report.notes
    for warning, cases in report.warnings.items():
        yield f"note: {warning}" + (f" ({cases:,} cases)" if cases > 1 else "")
    for overall in report.overall:
        yield overall_line(overall)
    named = f"  run {report.run_id}" if report.run_id else ""
    yield f"{report.totals} in {report.seconds:.2f}s{named}"
