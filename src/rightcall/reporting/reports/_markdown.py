"""Reports for GitHub: Markdown for comments and step summaries, and annotations of lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from rightcall.reporting.changes import CaseChange, Comparison
from rightcall.values.results import SIGNS, Classification, EvaluatorTotals, Finding, Source, is_unmeasured

from ._blocks import CaseBlock, case_blocks
from ._comparison_lines import change_words, score_words, totals_words
from ._concise import matrices, matrix_table
from ._gutter import aligned_lines
from ._paper import Paper, code_block, code_span, command_message, command_property
from ._report import Report

COMMENT_BYTES = 65_536
"""The longest comment that GitHub accepts, in characters; a text never has fewer bytes than characters."""
_RESERVE = 512
_MOST_FINDINGS = 20
_MOST_VIEWS = 10
"""Cases whose calls are shown side by side, as many as the terminal explains."""
_MOST_LINES = 60
_MOST_EVALUATORS = 50
_SENTENCE = 500
_NOTE = "⚠️"
_MARKS = {0: SIGNS["passed"].emoji, 1: SIGNS["failed"].emoji, 2: _NOTE}
"""By exit code."""
_APART = "⏸️"
_CELL = 40
_MOST_NOTES = 10
"""Annotations of each level that GitHub shows of one step."""
_MESSAGE = 4_000
_TITLE = 200
_FILE = 1_000
# GitHub refuses a larger step summary ("Workflow commands for GitHub Actions", job summaries).
_SUMMARY_BYTES = 1024 * 1024


def markdown_report(report: Report, changes: Comparison | None = None, baseline: str = "") -> Iterator[str]:
    """Yield a report as Markdown, short enough for a comment.

    Totals come first, then what changed against a baseline run if there is one, flips before everything else, then
    the findings of cases that did not pass: code, sentence, place, and how the calls of the first ten of them line up
    with the expected ones. What does not fit is counted. Text from agents and eval sets is written as code, where
    Markdown has no commands.
    """
    return bounded_markdown(report, COMMENT_BYTES, changes, baseline)


def bounded_markdown(
    report: Report, most_bytes: int, changes: Comparison | None = None, baseline: str = ""
) -> Iterator[str]:
    """Yield the same within a number of bytes. Changes get at most half of the space that the totals leave."""
    head = "".join(_head(report))
    room = most_bytes - _RESERVE - len(head.encode())
    yield head
    if changes is not None:
        shown = "".join(_fitting(_change_blocks(changes, baseline), room // 2, "changed cases"))
        room -= len(shown.encode())
        yield shown
    yield from _fitting(_failure_blocks(report), room, "results that did not pass")


def github_report(report: Report) -> Iterator[str]:
    """Yield the findings of cases that did not pass, as workflow commands, one per line.

    What failed or broke is an `error`, what was not measured a `warning`, also in a case that failed for another
    reason, and what other repeats of the case made up for a `notice`. GitHub shows ten of each; where there are more,
    the tenth says how many. The first finding of every case comes before the second of any.
    """
    firsts: dict[str, list[_Note]] = {"error": [], "warning": [], "notice": []}
    others: dict[str, list[_Note]] = {"error": [], "warning": [], "notice": []}
    counts = {"error": 0, "warning": 0, "notice": 0}
    for block in case_blocks(report):
        for number, note in enumerate(_notes_of(block)):
            counts[note.level] += 1
            kept = others[note.level] if number else firsts[note.level]
            if len(kept) < _MOST_NOTES:
                kept.append(note)
    for note in _overall_notes(report):
        counts[note.level] += 1
        firsts[note.level] = [note, *firsts[note.level]][:_MOST_NOTES]
    if report.gate is not None:
        from ._gate_formats import gate_commands  # most reports have no gate

        yield from gate_commands(report)
    if report.void:
        yield f"::warning title=rightcall::{report.void}\n"
    for level, count in counts.items():
        shown = (firsts[level] + others[level])[: _MOST_NOTES if count <= _MOST_NOTES else _MOST_NOTES - 1]
        for note in shown:
            yield _command(note)
        if count > len(shown):
            yield f"::{level} title=rightcall::and {count - len(shown):,} more findings like these\n"


def github_summary(report: Report) -> Iterator[str]:
    """Yield the report as Markdown, within GitHub's limit for a step summary."""
    return bounded_markdown(report, _SUMMARY_BYTES)


def _fitting(blocks: Iterator[str], room: int, what: str) -> Iterator[str]:
    """Yield blocks while there is space, then the number of those left out. The first block is a heading."""
    left_out = 0
    for block in blocks:
        size = len(block.encode())
        if left_out or size > room:
            left_out += 1
            continue
        room -= size
        yield block
    if left_out:
        yield f"\n… and {left_out:,} more {what}\n"


def _head(report: Report) -> Iterator[str]:
    mark = _MARKS[report.exit_code]
    if report.gate is not None:
        from ._gate_formats import gate_markdown

        yield from gate_markdown(report)
        yield f"Rightcall: {report.summary}\n\n"
    else:
        yield f"### {mark} Rightcall: {report.summary}\n\n"
    known = [("eval set", report.subject), ("agent", report.agent), ("run", report.run_id)]
    named = [f"{what} {code_span(name)}" for what, name in known if name]
    yield " · ".join([*named, f"{report.seconds:.2f}s"]) + "\n"
    if report.evaluators:
        yield "\n"
    for evaluator, counts in list(report.evaluators.items())[:_MOST_EVALUATORS]:
        yield f"- {code_span(evaluator)}: {_counts(counts)}\n"
    if len(report.evaluators) > _MOST_EVALUATORS:
        yield f"- … and {len(report.evaluators) - _MOST_EVALUATORS:,} more evaluators\n"
    for overall in report.overall[:_MOST_EVALUATORS]:
        mark, reason = SIGNS[overall.verdict].emoji, code_span(overall.reason[:_SENTENCE])
        yield f"\n{mark} overall {code_span(overall.evaluator)} {SIGNS[overall.verdict].word}: {reason}\n"
    for names, found in matrices(report.overall):
        yield from _matrix(names, found)


def _matrix(names: str, found: Classification) -> Iterator[str]:
    head, *rows = matrix_table(found)
    yield f"\n{code_span(names[:_SENTENCE])}:\n\n"
    yield "| " + " | ".join([code_span(cell[:_CELL]) for cell in head]) + " |\n"
    yield "| " + " | ".join(["---", *["---:"] * (len(head) - 1)]) + " |\n"
    for row in rows:
        yield "| " + " | ".join([code_span(row[0][:_CELL]), *row[1:]]) + " |\n"


def _counts(counts: EvaluatorTotals) -> str:
    numbers = {"passed": counts.passed, "failed": counts.failed}
    numbers |= {"in error": counts.error, "not measured": counts.not_measured}
    shown = [f"{number:,} {name}" for name, number in numbers.items() if number]
    if counts.mean_score is not None:
        shown.append(f"mean score {counts.mean_score:.3f}")
    return ", ".join(shown)


def _change_blocks(changes: Comparison, baseline: str) -> Iterator[str]:
    against = f" against {code_span(baseline)}" if baseline else ""
    shown = [f"{code_span(what)} {change}" for what, change in totals_words(changes)[:_MOST_EVALUATORS]]
    yield f"\n#### Changed{against}\n\n{' · '.join(shown)}\n\n"
    if not changes.cases:
        yield "Every case is as it was.\n"
    for change in changes.cases:
        yield _change_block(change)


def _change_block(change: CaseChange) -> str:
    case = code_span(change.case_id)
    if change.before is None or change.after is None:
        side, which = (change.after, "this run") if change.before is None else (change.before, "the baseline")
        verdict = SIGNS[side.verdict].word if side is not None else ""
        return f"- {case}: only in {which}, {verdict}\n"
    old, new = change.before.verdict, change.after.verdict
    became = f"{SIGNS[old].word} → {SIGNS[new].word}" if change.is_flip else f"{SIGNS[new].word} on both"
    marks = f"{SIGNS[old].emoji}→{SIGNS[new].emoji}" if change.is_flip else SIGNS[new].emoji
    became = f"edited since, {became}" if change.kind == "edited" else became
    words = " · ".join([*score_words(change), *change_words(change)])
    return f"- {marks} {case}: {became}{f', {code_span(words, _SENTENCE)}' if words else ''}\n"


def _failure_blocks(report: Report) -> Iterator[str]:
    heading, views = "\n#### Not passed\n\n", _MOST_VIEWS
    for block in case_blocks(report):
        if not block.passed:
            yield heading + _failure_block(block) + (_view(block) if views else "")
            heading, views = "", max(0, views - 1)
    heading = "\n#### Passed, though a repeat failed\n\n"
    if report.gate is not None:
        heading = "\n#### Failed, and left to the gate\n\n"
    elif report.lets_pass:
        heading = f"\n#### Failed, and {report.min_pass:.0%} of the cases are enough\n\n"
    for block in case_blocks(report) if report.repeats or report.lets_pass else ():
        if block.is_note and block.quarantine is None:
            yield heading + _failure_block(block)
            heading = ""
    heading = "\n#### In quarantine, counted in nothing\n\n"
    for block in case_blocks(report) if report.quarantined else ():
        if block.quarantine is not None:
            yield heading + _failure_block(block)
            heading = ""


def _failure_block(block: CaseBlock) -> str:
    result = block.result
    emoji = _NOTE if block.is_note else SIGNS[block.verdict].emoji
    word = SIGNS[block.result.verdict if block.decided is not None else block.verdict].word
    if block.quarantine is not None:
        emoji, word = _APART, f"{SIGNS[result.verdict].word}, {code_span(str(block.quarantine), _SENTENCE)}"
    words = f"{word}{f', {block.shares}' if block.shares else ''}"
    lines = [f"- {emoji} {code_span(block.name)}: {words}"]
    for placed in result.findings[:_MOST_FINDINGS]:
        finding = placed.finding
        sentence = code_span(finding.message, _SENTENCE)
        advice = f" ({code_span(finding.help, _SENTENCE)})" if finding.help else ""
        place = code_span(str(placed.source))
        lines.append(f"  - **{code_span(finding.code)}** {sentence}{advice}{block.how_often_found(placed)} at {place}")
    if len(result.findings) > _MOST_FINDINGS:
        lines.append(f"  - … and {len(result.findings) - _MOST_FINDINGS:,} more findings")
    if not result.findings:
        lines[0] += f" at {code_span(str(result.source))}"
    return "\n".join(lines) + "\n"


def _view(block: CaseBlock) -> str:
    """Return how the calls of a case line up, below its findings; nothing if it compares no calls."""
    lines = list(islice(aligned_lines(block.result, Paper()), _MOST_LINES + 1))
    if not lines:
        return ""
    return "\n" + code_block([*lines[:_MOST_LINES], "…"] if len(lines) > _MOST_LINES else lines, "  ") + "\n"


class _Note(msgspec.Struct, frozen=True):
    """An annotation in the making."""

    level: str
    case: str
    source: Source
    finding: Finding | None
    verdict: str
    how_often: str = ""


def _overall_notes(report: Report) -> Iterator[_Note]:
    """Yield the overall results that did not pass."""
    for each in report.overall:
        if each.verdict != "passed":
            level = "warning" if each.verdict == "not_measured" else "error"
            finding = Finding("overall", each.reason)
            yield _Note(level, each.evaluator, each.source, finding, each.verdict)


def _notes_of(block: CaseBlock) -> Iterator[_Note]:
    result = block.result
    if result.passed:
        return
    level = "notice" if block.is_note else "warning" if result.verdict == "not_measured" else "error"
    apart = f"; {block.quarantine}" if block.quarantine is not None else ""
    for placed in result.findings:
        own_level = "warning" if is_unmeasured(placed.finding.code) and not block.is_note else level
        often = block.how_often_found(placed)
        yield _Note(own_level, block.name, placed.source, placed.finding, result.verdict, often + apart)
    if not result.findings:
        yield _Note(level, block.name, result.source, None, result.verdict, block.how_often + apart)


def _command(note: _Note) -> str:
    finding = note.finding
    title = f"{finding.code} {note.case}" if finding is not None else note.case
    message = finding.message if finding is not None else note.verdict.replace("_", " ")
    if finding is not None and finding.help:
        message += f" ({finding.help})"
    message += note.how_often
    place = f"file={command_property(note.source.file, _FILE)},line={note.source.line},col={note.source.column}"
    return f"::{note.level} {place},title={command_property(title, _TITLE)}::{command_message(message, _MESSAGE)}\n"
