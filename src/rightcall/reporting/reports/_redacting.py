"""Reports without secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from rightcall.values.redaction import redacted, redacted_address, redacted_document, redacted_overall, redacted_text

from ._report import Report


def redacted_report(report: Report) -> Report:
    """A report without secrets; its verdicts, scores and totals are the same."""
    results, documents = report.results, report.documents
    return msgspec.structs.replace(
        report,
        results=lambda: map(redacted, results()),
        documents=_all(documents) if documents is not None else None,
        overall=tuple(map(redacted_overall, report.overall)),
        subject=redacted_text(report.subject),
        agent=redacted_address(report.agent),
        facts=tuple([(name, redacted_text(fact)) for name, fact in report.facts]),
        notes=tuple(map(redacted_text, report.notes)),
        warnings={redacted_text(warning): cases for warning, cases in report.warnings.items()},
    )


def _all(documents: Callable[[], Iterator[str]]) -> Callable[[], Iterator[str]]:
    return lambda: map(redacted_document, documents())
