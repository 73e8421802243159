"""What is told and written goes without secrets, unless somebody wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import msgspec

from rightcall.redaction import redacted, redacted_document, redacted_text
from rightcall.reports import Report

no_redact_option = click.option(
    "--no-redact", is_flag=True, help="Leave secrets, such as keys and passwords, as they are."
)

redact_option = click.option(
    "--redact/--no-redact",
    default=None,
    help="Secrets, such as keys and passwords, are left out of what is printed and written; with --redact also of what "
    "is kept, with --no-redact nowhere.",
)


def redacted_report(report: Report) -> Report:
    """A report without secrets; its verdicts, scores and totals are the same."""
    results, documents = report.results, report.documents
    return msgspec.structs.replace(
        report,
        results=lambda: map(redacted, results()),
        documents=_all(documents) if documents is not None else None,
        subject=redacted_text(report.subject),
        agent=redacted_text(report.agent),
        facts=tuple([(name, redacted_text(fact)) for name, fact in report.facts]),
        notes=tuple(map(redacted_text, report.notes)),
        warnings={redacted_text(warning): cases for warning, cases in report.warnings.items()},
    )


def _all(documents: Callable[[], Iterator[str]]) -> Callable[[], Iterator[str]]:
    return lambda: map(redacted_document, documents())
