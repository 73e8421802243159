"""The data of a report, the same for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from rightcall.values.results import CaseResult, EvaluatorTotals, OverallResult, Totals


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

    results, documents = report.results, report.documents
    return msgspec.structs.replace(
        report,
        results=lambda: map(redacted, results()),
        documents=(lambda: map(redacted_document, documents())) if documents is not None else None,
        overall=tuple(map(redacted_overall, report.overall)),
        subject=redacted_text(report.subject),
        agent=redacted_address(report.agent),
        facts=tuple([(name, redacted_text(fact)) for name, fact in report.facts]),
        notes=tuple(map(redacted_text, report.notes)),
        warnings={redacted_text(warning): cases for warning, cases in report.warnings.items()},
    )
