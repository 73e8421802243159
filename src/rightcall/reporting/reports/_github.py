"""A report for GitHub Actions: annotations of the lines that are wrong, and the summary of a step."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rightcall.values.results import CaseResult, Finding, Source, is_unmeasured

from ._escaping import command_message, command_property
from ._markdown import bounded_markdown
from ._report import Report

_MOST = 10
"""Annotations of each level that GitHub shows of one step."""
_MESSAGE = 4_000
_TITLE = 200
_FILE = 1_000
# GitHub refuses a larger step summary ("Workflow commands for GitHub Actions", job summaries).
_SUMMARY_BYTES = 1024 * 1024


class _Note(msgspec.Struct, frozen=True):
    """An annotation in the making."""

    level: str
    case: str
    source: Source
    finding: Finding | None
    verdict: str


def github_report(report: Report) -> Iterator[str]:
    """The findings of cases that did not pass, as workflow commands, a line each.

    What failed or broke is an `error`, what was not measured a `warning`, also in a case that failed for another
    reason. GitHub shows ten of either; where there are more, the tenth says how many.
    The first finding of every case comes before the second of any.
    """
    firsts: dict[str, list[_Note]] = {"error": [], "warning": []}
    others: dict[str, list[_Note]] = {"error": [], "warning": []}
    counts = {"error": 0, "warning": 0}
    for result in report.results():
        for number, note in enumerate(_notes_of(result)):
            counts[note.level] += 1
            kept = others[note.level] if number else firsts[note.level]
            if len(kept) < _MOST:
                kept.append(note)
    for note in _overall_notes(report):
        counts[note.level] += 1
        firsts[note.level] = [note, *firsts[note.level]][:_MOST]
    for level, count in counts.items():
        shown = (firsts[level] + others[level])[: _MOST if count <= _MOST else _MOST - 1]
        for note in shown:
            yield _command(note)
        if count > len(shown):
            yield f"::{level} title=rightcall::and {count - len(shown):,} more findings like these\n"


def _overall_notes(report: Report) -> Iterator[_Note]:
    """Yield the overall results that did not pass."""
    for each in report.overall:
        if each.verdict != "passed":
            level = "warning" if each.verdict == "not_measured" else "error"
            finding = Finding("overall", each.reason)
            yield _Note(level, each.evaluator, each.source, finding, each.verdict)


def github_summary(report: Report) -> Iterator[str]:
    """The report as Markdown, no larger than GitHub takes as the summary of a step."""
    return bounded_markdown(report, _SUMMARY_BYTES)


def _notes_of(result: CaseResult) -> Iterator[_Note]:
    if result.passed:
        return
    case = result.case_id if not result.repeat else f"{result.case_id} (repeat {result.repeat + 1})"
    level = "warning" if result.verdict == "not_measured" else "error"
    for placed in result.findings:
        own_level = "warning" if is_unmeasured(placed.finding.code) else level
        yield _Note(own_level, case, placed.source, placed.finding, result.verdict)
    if not result.findings:
        yield _Note(level, case, result.source, None, result.verdict)


def _command(note: _Note) -> str:
    finding = note.finding
    title = f"{finding.code} {note.case}" if finding is not None else note.case
    message = finding.message if finding is not None else note.verdict.replace("_", " ")
    if finding is not None and finding.help:
        message += f" ({finding.help})"
    place = f"file={command_property(note.source.file, _FILE)},line={note.source.line},col={note.source.column}"
    return f"::{note.level} {place},title={command_property(title, _TITLE)}::{command_message(message, _MESSAGE)}\n"
