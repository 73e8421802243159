"""A report as JUnit XML, which CI systems read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rightcall.values.results import CaseResult, OverallResult, Totals

from ._blocks import CaseBlock, case_blocks
from ._gutter import aligned_lines
from ._paper import Paper, bounded_seconds, extent, seconds_between, xml_attribute, xml_text
from ._report import Report

_PRINTED = 4_000
_MOST_FINDINGS = 50
_MOST_LINES = 100
"""Lines that show how the calls of one case line up with the expected ones."""


def junit_report(report: Report) -> Iterator[str]:
    """Yield a report as JUnit XML: the eval set is a suite, each case a test case, whatever its repeats.

    A case that failed is a failure; one in error, or not measured, is an error, for neither says that the agent did
    badly. A case in quarantine is skipped, with its reason. A repeat that others made up for is a line of the output of
    a test that passed. Scores are properties of the
    suite, where the common schema has a place for them; those of a repeated case are means, beside its `passes` and
    `trials`. The same report gives the same text. The results are read twice: a suite begins with its counts.
    """
    properties = [*_suite_properties(report), *_scores(report)]
    blocks = [(block.verdict, block.quarantine is not None) for block in case_blocks(report)]
    skipped = sum([is_quarantined for _, is_quarantined in blocks])
    verdicts = [*[verdict for verdict, _ in blocks], *[each.verdict for each in report.overall]]
    verdicts += ["not_measured"] if report.void else []
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
    if report.void:
        yield f'<testcase classname="{xml_attribute(report.subject)}" name="all cases" time="0.000">\n'
        yield f'<error type="not_measured" message="{report.void}"/>\n</testcase>\n'
    yield "</testsuite>\n"
    yield from _gate(report)
    yield "</testsuites>\n"


def _gate(report: Report) -> Iterator[str]:
    """Yield the suite of a gate; nothing where there is none."""
    if report.gate is not None:
        from ._gate_formats import gate_suite  # most reports have no gate

        yield from gate_suite(report.gate)


def _added(counts: Totals, tests: int, report: Report) -> str:
    """Return the counts of all suites, as attributes."""
    failures, errors = counts.failed, counts.error + counts.not_measured
    if report.gate is not None:
        from ._gate_formats import gate_tests

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
    """Return the element that says what is wrong: only one, because many readers ignore the others."""
    result = block.result
    tag = "failure" if block.verdict == "failed" else "error"
    findings = [placed.finding for placed in result.findings]
    kind = result.verdict if result.verdict == "not_measured" or not findings else findings[0].code
    message = _cut(findings[0].message) if findings else f"{result.verdict}, score {_score(result.score)}"
    if len(findings) > 1:
        message += f" (and {len(findings) - 1:,} more)"
    message += block.how_often
    shares = [block.shares] if block.shares else []
    details = xml_text("\n".join([*shares, *_details(result), *islice(aligned_lines(result, Paper()), _MOST_LINES)]))
    return f'<{tag} type="{xml_attribute(kind)}" message="{xml_attribute(message)}">{details}</{tag}>\n'


def _details(result: CaseResult) -> Iterator[str]:
    for placed in result.findings[:_MOST_FINDINGS]:
        finding = placed.finding
        advice = f" ({finding.help})" if finding.help else ""
        yield f"{placed.source}: {finding.code} {_cut(finding.message)}{advice}"
    if len(result.findings) > _MOST_FINDINGS:
        yield f"… and {len(result.findings) - _MOST_FINDINGS:,} more"
    if not result.findings:
        yield str(result.source)
    if result.outcome is not None and result.outcome.traceback:
        yield _tail(result.outcome.traceback)


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= _PRINTED else f"{sentence[: _PRINTED // 2]}…{sentence[-_PRINTED // 2 :]}"


def _tail(text: str) -> str:
    return text if len(text) <= _PRINTED else f"…{text[-_PRINTED:]}"


def _time(result: CaseResult) -> str:
    """Return the time the agent took or, for a recorded trace, the time its calls took."""
    if result.outcome is not None:
        return _seconds(result.outcome.seconds)
    begin, end = extent(result.trajectory.calls) if result.trajectory is not None else (None, None)
    return _seconds(seconds_between(begin, end) or 0.0)


def _seconds(seconds: float) -> str:
    return f"{bounded_seconds(seconds):.3f}"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}".rstrip("0").rstrip(".") or "0"
