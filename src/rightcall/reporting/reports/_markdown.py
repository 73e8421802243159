"""Reports for CI: Markdown and annotations for GitHub, and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from rightcall.reporting.changes import CaseChange, Comparison
from rightcall.values.results import (
    SIGNS,
    CaseResult,
    Classification,
    EvaluatorTotals,
    Finding,
    OverallResult,
    Source,
    Totals,
    is_unmeasured,
)

from ._case_lines import matrices, matrix_table
from ._change_lines import change_words, score_words, totals_words
from ._gutter import aligned_lines
from ._paper import (
    Paper,
    bounded_seconds,
    code_block,
    code_span,
    command_message,
    command_property,
    extent,
    seconds_between,
    xml_attribute,
    xml_text,
)
from ._report import CaseBlock, Report, case_blocks

COMMENT_BYTES = 65_536
"""The longest comment that GitHub accepts, in characters. Counting bytes instead is safe: there are never fewer."""
_RESERVE = 512
_MOST_FINDINGS = 20
_MOST_VIEWS = 10
"""Most cases whose calls are shown side by side, as many as the terminal explains."""
_MOST_LINES = 60
_MOST_EVALUATORS = 50
_SENTENCE = 500
_NOTE = "⚠️"
_MARKS = {0: SIGNS["passed"].emoji, 1: SIGNS["failed"].emoji, 2: _NOTE}
"""The sign in the heading, by exit code."""
_APART = "⏸️"
_CELL = 40
_MOST_NOTES = 10
"""How many annotations of each level GitHub shows for one step."""
_MESSAGE = 4_000
_TITLE = 200
_FILE = 1_000
# GitHub refuses a larger step summary ("Workflow commands for GitHub Actions", job summaries).
_SUMMARY_BYTES = 1024 * 1024
_PRINTED = 4_000
_MOST_FINDINGS_IN_XML = 50
_MOST_LINES_IN_XML = 100
"""Most lines for the alignment of one case."""


def markdown_report(report: Report, changes: Comparison | None = None, baseline: str = "") -> Iterator[str]:
    """Yield a report as Markdown, short enough for a comment.

    Totals come first, then changes against a baseline run if there is one, changed verdicts before everything else,
    then the findings of cases that did not pass: code, message, location and, for the first ten cases, the alignment of
    their calls with the expected ones. What does not fit is counted. Text from agents and eval sets is written as code,
    in which Markdown has no effect.
    """
    return bounded_markdown(report, COMMENT_BYTES, changes, baseline)


def bounded_markdown(
    report: Report, most_bytes: int, changes: Comparison | None = None, baseline: str = ""
) -> Iterator[str]:
    """Yield the same within a number of bytes. Changes get at most half of the space after the totals."""
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

    Failures and errors are an `error`, what was not measured is a `warning`, even in a case that failed for another
    reason, and problems of a case that passes because of its other repeats are a `notice`. GitHub shows ten of each; if
    there are more, the tenth says how many. The first finding of every case comes before the second of any.
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
        from ._gate_lines import gate_commands  # most reports have no gate

        yield from gate_commands(report)
    if report.gap:
        yield f"::warning title=rightcall::{report.gap}\n"
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
    """Yield blocks while there is space, then the number of those left out."""
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
        from ._gate_lines import gate_markdown

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
    """Return the alignment of calls of a case, below its findings; empty if it compares no calls."""
    lines = list(islice(aligned_lines(block.result, Paper()), _MOST_LINES + 1))
    if not lines:
        return ""
    return "\n" + code_block([*lines[:_MOST_LINES], "…"] if len(lines) > _MOST_LINES else lines, "  ") + "\n"


class _Note(msgspec.Struct, frozen=True):
    """The data of an annotation."""

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


def junit_report(report: Report) -> Iterator[str]:
    """Yield a report as JUnit XML: the eval set is a suite, each case a test case, whatever its repeats.

    A failed case is a failure; a case in error, or not measured, is an error, because neither shows that the agent did
    badly. A case in quarantine is skipped, with its reason. If a case passes although a repeat failed, that is noted in
    the output of the test. Scores are properties of the suite, where the common schema allows them; those of a repeated
    case are means, beside its `passes` and `trials`. The same report gives the same text. The results are read twice,
    because a suite begins with its counts.
    """
    properties = [*_suite_properties(report), *_scores(report)]
    blocks = [(block.verdict, block.quarantine is not None) for block in case_blocks(report)]
    skipped = sum([is_quarantined for _, is_quarantined in blocks])
    verdicts = [*[verdict for verdict, _ in blocks], *[each.verdict for each in report.overall]]
    verdicts += ["not_measured"] if report.gap else []
    counts = Totals.of(verdicts)
    numbers = f'tests="{len(verdicts)}" failures="{counts.failed}" errors="{counts.error + counts.not_measured}"'
    numbers += f' time="{_seconds(report.seconds)}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="rightcall" {_added(counts, len(verdicts), report)} time="{_seconds(report.seconds)}">\n'
    yield f'<testsuite name="{xml_attribute(report.subject)}" {numbers} skipped="{skipped}">\n'
    yield "<properties>\n"
    for name, value in properties:
        yield f'<property name="{xml_attribute(name)}" value="{xml_attribute(value)}"/>\n'
    yield "</properties>\n"
    for block in case_blocks(report):
        yield from _case(block, report.subject)
    for each in report.overall:
        yield from _overall(each, report.subject)
    if report.gap:
        what = "unread files" if report.unread else "all cases"
        yield f'<testcase classname="{xml_attribute(report.subject)}" name="{what}" time="0.000">\n'
        yield f'<error type="not_measured" message="{report.gap}"/>\n</testcase>\n'
    yield "</testsuite>\n"
    yield from _gate(report)
    yield "</testsuites>\n"


def _gate(report: Report) -> Iterator[str]:
    """Yield the suite of a gate; nothing if there is none."""
    if report.gate is not None:
        from ._gate_lines import gate_suite  # most reports have no gate

        yield from gate_suite(report.gate)


def _added(counts: Totals, tests: int, report: Report) -> str:
    """Return the counts over all suites, as attributes."""
    failures, errors = counts.failed, counts.error + counts.not_measured
    if report.gate is not None:
        from ._gate_lines import gate_tests

        kinds = [test.kind for test in gate_tests(report.gate)]
        tests, failures, errors = (
            tests + len(kinds),
            failures + kinds.count("failure"),
            errors + kinds.count("error"),
        )
    return f'tests="{tests}" failures="{failures}" errors="{errors}"'


def _overall(result: OverallResult, subject: str) -> Iterator[str]:
    """Yield an overall result as a test case."""
    known = f'classname="{xml_attribute(subject)}" name="{xml_attribute(f"overall: {result.evaluator}")}"'
    yield f'<testcase {known} time="0.000">\n'
    if result.verdict != "passed":
        tag = "failure" if result.verdict == "failed" else "error"
        message = xml_attribute(_cut(result.reason))
        details = xml_text(f"{result.source}: {_cut(result.reason)}")
        yield f'<{tag} type="{result.verdict}" message="{message}">{details}</{tag}>\n'
    yield "</testcase>\n"


def _suite_properties(report: Report) -> Iterator[tuple[str, str]]:
    if report.run_id:
        yield "run", report.run_id
    if report.agent:
        yield "agent", report.agent
    for evaluator, totals in report.evaluators.items():
        yield f"mean_score.{evaluator}", _score(totals.mean_score)
    for each in report.overall:
        yield f"overall.{each.evaluator}", _score(each.score)


def _scores(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the mean scores of each case over its repeats, and how many of them passed."""
    means: dict[str, list[float | None]] = {}
    for result in report.results():
        name = CaseBlock(result, report.repeats.get(result.case_id)).name
        means.setdefault(f"score[{name}]", []).append(result.score)
        for evaluation in result.results:
            means.setdefault(f"score[{name}].{evaluation.evaluator}", []).append(evaluation.score)
    for name, scores in means.items():
        known = [score for score in scores if score is not None]
        yield name, _score(sum(known) / len(known) if known else None)
    for case_id, each in report.repeats.items():
        yield f"passes[{case_id}]", str(each.totals.passed)
        yield f"trials[{case_id}]", str(len(each.verdicts))


def _case(block: CaseBlock, subject: str) -> Iterator[str]:
    result = block.result
    known = f'classname="{xml_attribute(subject)}" name="{xml_attribute(block.name)}"'
    yield f'<testcase {known} time="{_time(result)}">\n'
    if block.quarantine is not None:
        yield f'<skipped message="{xml_attribute(_cut(str(block.quarantine)))}"/>\n'
    elif not block.passed:
        yield _trouble(block)
    often = f"{block.shares}{block.how_often}"
    printed = [": ".join([*filter(None, [often]), "; ".join(_details(result))])] if block.is_note else []
    if result.outcome is not None and result.outcome.stdout:
        printed.append(_tail(result.outcome.stdout))
    if printed:
        yield f"<system-out>{xml_text(chr(10).join(printed))}</system-out>\n"
    if result.outcome is not None and result.outcome.stderr:
        yield f"<system-err>{xml_text(_tail(result.outcome.stderr))}</system-err>\n"
    yield "</testcase>\n"


def _trouble(block: CaseBlock) -> str:
    """Return the failure or error element: only one, because many readers of JUnit ignore others."""
    result = block.result
    tag = "failure" if block.verdict == "failed" else "error"
    findings = [placed.finding for placed in result.findings]
    kind = result.verdict if result.verdict == "not_measured" or not findings else findings[0].code
    message = _cut(findings[0].message) if findings else f"{result.verdict}, score {_score(result.score)}"
    if len(findings) > 1:
        message += f" (and {len(findings) - 1:,} more)"
    message += block.how_often
    shares = [block.shares] if block.shares else []
    details = xml_text(
        "\n".join([*shares, *_details(result), *islice(aligned_lines(result, Paper()), _MOST_LINES_IN_XML)])
    )
    return f'<{tag} type="{xml_attribute(kind)}" message="{xml_attribute(message)}">{details}</{tag}>\n'


def _details(result: CaseResult) -> Iterator[str]:
    for placed in result.findings[:_MOST_FINDINGS_IN_XML]:
        finding = placed.finding
        advice = f" ({finding.help})" if finding.help else ""
        yield f"{placed.source}: {finding.code} {_cut(finding.message)}{advice}"
    if len(result.findings) > _MOST_FINDINGS_IN_XML:
        yield f"… and {len(result.findings) - _MOST_FINDINGS_IN_XML:,} more"
    if not result.findings:
        yield str(result.source)
    if result.outcome is not None and result.outcome.traceback:
        yield _tail(result.outcome.traceback)


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= _PRINTED else f"{sentence[: _PRINTED // 2]}…{sentence[-_PRINTED // 2 :]}"


def _tail(text: str) -> str:
    return text if len(text) <= _PRINTED else f"…{text[-_PRINTED:]}"


def _time(result: CaseResult) -> str:
    """Return the time that the agent took or, for a recorded trace, its calls."""
    if result.outcome is not None:
        return _seconds(result.outcome.seconds)
    begin, end = extent(result.trajectory.calls) if result.trajectory is not None else (None, None)
    return _seconds(seconds_between(begin, end) or 0.0)


def _seconds(seconds: float) -> str:
    return f"{bounded_seconds(seconds):.3f}"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}".rstrip("0").rstrip(".") or "0"
