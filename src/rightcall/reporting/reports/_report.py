"""The data of a report, the same for every format, and the formats that programs read: JSON and JUnit XML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, EvaluatorTotals, OverallResult, SavedCase, Totals, Verdict
from rightcall.version import __version__

from ._paper import bounded_seconds, escape_commands_in_json, extent, seconds_between, xml_attribute, xml_text

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PRINTED = 4_000
_MOST_FINDINGS = 50


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


def json_report(report: Report) -> Iterator[str]:
    """Yield the results as one JSON document, piece by piece.

    `rightcall` is the version that wrote it, `evalset` what was expected, `cases` each result with its evaluations,
    findings and the trajectory that was judged, `totals` the cases by verdict, and `evaluators` the results of each
    evaluator by verdict with their mean score, `overall` the results of all cases together, `notes` other remarks
    about the run.
    """
    yield (
        escape_commands_in_json(dump_json({"rightcall": __version__, "evalset": report.subject}))[:-1] + ', "cases": ['
    )
    cases = report.documents() if report.documents is not None else map(CaseResult.to_json, report.results())
    separator = "\n"
    for case in cases:
        yield separator + escape_commands_in_json(case)
        separator = ",\n"
    evaluators = msgspec.to_builtins(dict(report.evaluators))
    ending = {"totals": msgspec.to_builtins(report.totals), "evaluators": evaluators}
    ending["overall"] = msgspec.to_builtins(report.overall)
    ending["notes"] = list(report.notes)
    yield f"\n], {dump_json(ending)[1:]}\n"


def json_case(result: CaseResult, evidence: str) -> str:
    """Return a result as `to_json` writes it, given what `json_evidence` wrote."""
    return f"{dump_json({'case_id': result.case_id, 'repeat': result.repeat})[:-1]}, {evidence[1:]}"


def json_evidence(result: CaseResult) -> str:
    """Return a result without its case id and repeat, as a JSON object."""
    plain = result.to_plain()
    del plain["case_id"], plain["repeat"]
    return dump_json(plain)


class JsonReport(msgspec.Struct, kw_only=True):
    """A run, or scored traces, with everything: what `--format json` and `--output-file` write."""

    rightcall: str
    evalset: str
    cases: list[SavedCase]
    totals: Totals
    evaluators: dict[str, EvaluatorTotals]
    overall: list[OverallResult] = []
    notes: list[str] = []


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema that every report in JSON satisfies. Later versions may add keys."""
    [root], definitions = msgspec.json.schema_components((JsonReport,), ref_template="#/$defs/{name}")
    return {"$schema": _DIALECT, "title": "A report of Rightcall", **root, "$defs": definitions}


def junit_report(report: Report) -> Iterator[str]:
    """Yield a report as JUnit XML: the eval set is a suite, each case and repeat a test case.

    A case that failed is a failure; one in error, or not measured, is an error, for neither says that the agent did
    badly. Scores are properties of the suite, where the common schema has a place for them. The same report gives the
    same text. The results are read twice: a suite begins with its counts.
    """
    verdicts: list[Verdict] = []
    properties = list(_suite_properties(report))
    for result in report.results():
        verdicts.append(result.verdict)
        properties += _scores(result)
    verdicts += [each.verdict for each in report.overall]
    counts = Totals.of(verdicts)
    numbers = f'tests="{len(verdicts)}" failures="{counts.failed}" errors="{counts.error + counts.not_measured}"'
    numbers += f' time="{_seconds(report.seconds)}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="rightcall" {numbers}>\n'
    yield f'<testsuite name="{xml_attribute(report.subject)}" {numbers} skipped="0">\n'
    yield "<properties>\n"
    for name, value in properties:
        yield f'<property name="{xml_attribute(name)}" value="{xml_attribute(value)}"/>\n'
    yield "</properties>\n"
    for result in report.results():
        yield from _case(result, report.subject)
    for each in report.overall:
        yield from _overall(each, report.subject)
    yield "</testsuite>\n</testsuites>\n"


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


def _scores(result: CaseResult) -> Iterator[tuple[str, str]]:
    name = f"score[{_name(result)}]"
    yield name, _score(result.score)
    for evaluation in result.results:
        yield f"{name}.{evaluation.evaluator}", _score(evaluation.score)


def _name(result: CaseResult) -> str:
    return result.case_id if not result.repeat else f"{result.case_id} (repeat {result.repeat + 1})"


def _case(result: CaseResult, subject: str) -> Iterator[str]:
    known = f'classname="{xml_attribute(subject)}" name="{xml_attribute(_name(result))}"'
    yield f'<testcase {known} time="{_time(result)}">\n'
    if not result.passed:
        yield _trouble(result)
    if result.outcome is not None and result.outcome.stdout:
        yield f"<system-out>{xml_text(_tail(result.outcome.stdout))}</system-out>\n"
    yield "</testcase>\n"


def _trouble(result: CaseResult) -> str:
    """Return the element that says what is wrong: only one, because many readers ignore the others."""
    tag = "failure" if result.verdict == "failed" else "error"
    findings = [placed.finding for placed in result.findings]
    kind = result.verdict if result.verdict == "not_measured" or not findings else findings[0].code
    message = _cut(findings[0].message) if findings else f"{result.verdict}, score {_score(result.score)}"
    if len(findings) > 1:
        message += f" (and {len(findings) - 1:,} more)"
    details = xml_text("\n".join(_details(result)))
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
