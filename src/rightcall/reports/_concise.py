"""One line a problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rightcall.results import CaseResult, Totals

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


def concise_notes(warnings: Mapping[str, int]) -> Iterator[str]:
    """What the reader of the traces warned of, each once, with the number of cases it is about."""
    for warning, cases in warnings.items():
        yield f"note: {warning}" + (f" ({cases:,} cases)" if cases > 1 else "")


def summary(totals: Totals, seconds: float) -> str:
    """The last line: how many cases there were, by verdict."""
    return f"{totals} in {seconds:.2f}s"
