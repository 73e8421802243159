"""Every format says the same of a case that failed while something else in it broke or was not measured."""

import json
from collections.abc import Iterator
from itertools import combinations_with_replacement
from xml.etree import ElementTree

import pytest
from msgspec import structs
from tests.reporting.reports.reporting import evaluation, report, result
from tests.walls import for_each

from rightcall import CaseResult
from rightcall.reporting.pages import html_report
from rightcall.reporting.reports import (
    Paper,
    Report,
    concise_report,
    full_report,
    github_report,
    json_report,
    junit_report,
    markdown_report,
    problem_lines,
    redacted_report,
)
from rightcall.reporting.store import FloorRecord, GatedCaseRecord, GateRecord
from rightcall.values.redaction import redacted_text
from rightcall.values.results import CaseRepeats, Finding, OverallResult, PlacedFinding, Source, Verdict, worst

CODES: dict[Verdict, str] = {"failed": "RC101", "error": "RC402", "not_measured": "RC301"}
VERDICTS: tuple[Verdict, ...] = ("passed", "failed", "not_measured", "error")
PLACE = Source("evals/shop.yaml", 10, 9)


def mixed(verdicts: tuple[Verdict, ...]) -> CaseResult:
    """A case whose evaluators said this, with a finding of each that did not pass, the gravest first."""
    findings = [
        PlacedFinding(f"check{index}", Finding(CODES[verdict], f"{verdict} {index}"), PLACE)
        for index, verdict in enumerate(verdicts)
        if verdict != "passed"
    ]
    findings.sort(key=lambda placed: [*CODES.values()].index(placed.finding.code))
    results = tuple([evaluation(f"check{index}", verdict, None) for index, verdict in enumerate(verdicts)])
    return result("a", worst(verdicts), results=results, findings=tuple(findings))


def combinations() -> Iterator[tuple[Verdict, ...]]:
    for length in (1, 2, 3):
        yield from combinations_with_replacement(VERDICTS, length)


@pytest.mark.parametrize("verdicts", [*combinations()], ids=" ".join)
def test_all_formats_agree_with_the_exit_code(verdicts: tuple[Verdict, ...]) -> None:
    made = report(mixed(verdicts))
    code = made.totals.exit_code

    suite = ElementTree.fromstring("".join(junit_report(made)).encode())
    heading = "".join(markdown_report(made)).splitlines()[0]
    commands = "".join(github_report(made))
    concise = "".join(concise_report(made))

    assert code == (1 if "failed" in verdicts else 0 if set(verdicts) == {"passed"} else 2)
    assert (suite.get("failures"), suite.get("errors")) == (str(int(code == 1)), str(int(code == 2)))
    assert ("✅" in heading) == (code == 0)
    assert ("1 failed" in heading) == ("1 failed" in concise) == (code == 1)
    assert ("::error" in commands) == ("failed" in verdicts or "error" in verdicts)
    assert commands.count("::warning") == verdicts.count("not_measured")


def repeats_of(verdicts: tuple[Verdict, ...], needed: int | None) -> Report:
    """A report of one case that was repeated so often."""
    codes = {"failed": "RC101", "error": "RC402", "not_measured": "RC301"}
    results = [
        result(
            "a",
            verdict,
            repeat=repeat,
            findings=(PlacedFinding("calls", Finding(codes[verdict], verdict), PLACE),) if verdict in codes else (),
        )
        for repeat, verdict in enumerate(verdicts)
    ]
    return report(*results, needed=needed)


def repeated() -> Iterator[tuple[tuple[Verdict, ...], int | None]]:
    for verdicts in combinations_with_replacement(VERDICTS, 3):
        for needed in (None, 1, 2, 3):
            yield verdicts, needed


@for_each("asked", [*repeated()])
def test_all_formats_agree_with_the_exit_code_about_repeats(asked: tuple[tuple[Verdict, ...], int | None]) -> None:
    made = repeats_of(*asked)
    code = made.totals.exit_code

    suite = ElementTree.fromstring("".join(junit_report(made)).encode())
    markdown = "".join(markdown_report(made))
    commands = "".join(github_report(made))
    full = "".join(full_report(made, Paper(width=100)))
    concise = "".join(concise_report(made))
    [trials] = json.loads("".join(json_report(made)))["trials"].values()

    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", *counts(code))
    assert ("✅ Rightcall" in markdown) == (code == 0) == ("Not passed" not in markdown)
    assert "❌ `a`" not in markdown if code != 1 else "❌ `a`" in markdown
    assert ("::error" in commands) == (code == 1 or trials["verdict"] == "error")
    assert ("::notice" in commands) == (code == 0 and "failed" in asked[0])
    assert ("error[" in full) == (code == 1 or trials["verdict"] == "error")
    assert ("RC101 a:" in concise) == (code == 1)
    assert {"passed": 0, "failed": 1}.get(trials["verdict"], 2) == code


def counts(code: int) -> tuple[str, str]:
    return str(int(code == 1)), str(int(code == 2))


def test_everything_of_a_problem_but_the_case_is_told_without_secrets() -> None:
    secret = "ghp_" + "a" * 36
    finding = Finding("RC101", f"with {secret}", help=f"write {secret}")
    made = result("a", "failed", findings=(PlacedFinding("calls", finding, Source(f"{secret}.yaml", 3, 7)),))
    without_findings = result("password: b", "failed", source=Source(f"{secret}.yaml", 3, 7))

    lines = [*problem_lines(made, redact=redacted_text), *problem_lines(without_findings, redact=redacted_text)]

    hidden = "[redacted: github-token]"
    assert lines == [
        f"{hidden}.yaml:3:7: RC101 a: with {hidden} (write {hidden})",
        f"{hidden}.yaml:3:7: password: b: failed, score 0.5",
    ]


def test_of_repeats_the_commonest_problem_is_told_with_how_often() -> None:
    messages = ("rare", "often", "often")
    made = report(*[result("a", "failed", message, repeat=repeat) for repeat, message in enumerate(messages)])

    concise = "".join(concise_report(made)).splitlines()

    assert concise[0] == "evals/shop.yaml:10:9: RC101 a: often (2 of 3 repeats)"
    assert not any("rare" in line for line in concise)


def test_each_finding_is_told_with_the_repeats_that_have_it() -> None:
    made = report(result("a", "failed", "always", "once"), result("a", "failed", "always", repeat=1), needed=2)

    concise = "".join(concise_report(made)).splitlines()
    markdown = "".join(markdown_report(made))

    assert [line.rpartition(": ")[2] for line in concise[:2]] == ["always (2 of 2 repeats)", "once (1 of 2 repeats)"]
    assert "`once` (1 of 2 repeats)" in markdown


def test_a_page_puts_what_was_made_up_for_among_the_passed() -> None:
    page = "".join(html_report(repeats_of(("passed", "failed", "passed"), 2)))

    assert "the case passed: 2/3 passed, 2 needed" in page
    assert "<details open>" not in page


def gated(code: int, **known: object) -> Report:
    """A report of two cases that failed, one of them compared, of which a gate said something with this exit code."""
    fields: dict[str, object] = {"verdict": "no worse", "told": ("gate  said so",), "own": (), **known}
    numbers = {"alpha": 0.05, "share": 1.0, "rounds": 3, "planned_rounds": 3, "rule_out": 0.1, "allow_drop": 0.0}
    said = GateRecord(exit_code=code, reason="said so", base="main", **numbers, **fields)  # type: ignore[arg-type]
    results = [result("a", "failed", "never called"), result("b", "failed", "never called")]
    repeats = {each.case_id: CaseRepeats("failed", ("failed",), 1) for each in results}
    return structs.replace(report(*results), gate=said, repeats=repeats)


WORSE = GatedCaseRecord(case_id="a", before=(10, 10), after=(0, 7), p=0.0, q=0.0, told="worse")
GATES: dict[str, tuple[Report, int]] = {
    "worse by a case": (gated(1, verdict="worse", cases=(WORSE,), p_worse=0.5), 1),
    "worse together": (gated(1, verdict="worse", p_worse=0.001), 1),
    "no worse": (gated(0), 0),
    "inconclusive": (gated(0, verdict="inconclusive", cases=(WORSE,)), 0),
    "inconclusive, and that fails": (gated(2, verdict="inconclusive"), 2),
    "open trials decide": (gated(2, verdict="inconclusive", open_decides=True), 2),
    "a case fails by itself": (gated(1, failed=("b",), own=("b",)), 1),
    "a rate is missed": (
        gated(1, verdict=None, floor=FloorRecord(at_least=0.9, verdict="fails", rate=0.1, low=0.0, high=0.3, rounds=3)),
        1,
    ),
}


@pytest.mark.parametrize("name", [name for name in GATES if name != "inconclusive"])
def test_all_formats_agree_with_the_exit_code_of_a_gate(name: str) -> None:
    made, code = GATES[name]

    root = ElementTree.fromstring("".join(junit_report(made)).encode())
    heading = "".join(markdown_report(made)).splitlines()[0]
    commands = "".join(github_report(made))
    full = "".join(full_report(made, Paper(width=100)))

    assert (int(root.attrib["failures"]) > 0) == (code == 1)
    assert (int(root.attrib["errors"]) > 0) == (code == 2)
    assert ("✅" in heading, "❌" in heading, "⚠️" in heading) == (code == 0, code == 1, code == 2)
    assert ("::error" in commands) == (code == 1)
    assert ("::warning" in commands) == (code == 2)
    assert ("error[" in full) == bool(made.gate and made.gate.failed)
    assert full.splitlines()[-1] == "gate  said so"
    assert json.loads("".join(json_report(made)))["gate"]["exit_code"] == code


def test_what_a_gate_cannot_tell_is_a_warning_though_it_passes() -> None:
    made, _ = GATES["inconclusive"]
    assert made.gate is not None
    made = structs.replace(made, gate=structs.replace(made.gate, cases=(structs.replace(WORSE, told="likely worse"),)))

    root = ElementTree.fromstring("".join(junit_report(made)).encode())

    assert [each.attrib["message"] for each in root.iter("skipped")] == ["said so"]
    assert "::warning title=gate::said so\n" in "".join(github_report(made))
    assert "".join(markdown_report(made)).startswith("### ⚠️ Rightcall gate: inconclusive against `main`")


def test_a_worse_case_is_told_at_its_line_with_its_commonest_problem() -> None:
    made, _ = GATES["worse by a case"]

    commands = "".join(github_report(made)).splitlines()
    failures = ElementTree.fromstring("".join(junit_report(made)).encode()).iter("failure")

    place = "file=evals/shop.yaml,line=10,col=9,title=gate a"
    assert f"::error {place}::10/10 → 0/7: worse: never called" in commands
    assert [(each.get("type"), each.get("message")) for each in failures] == [("worse", "10/10 → 0/7")]
    assert "- `a` **10/10 → 0/7**: `never called` at `evals/shop.yaml:10:9`" in "".join(markdown_report(made))


def test_the_first_finding_is_the_one_the_verdict_comes_from() -> None:
    made = report(mixed(("error", "not_measured", "failed")))

    [failure] = ElementTree.fromstring("".join(junit_report(made)).encode()).iter("failure")

    assert failure.get("type") == "RC101"
    assert "RC402 error 0" in (failure.text or "")


@pytest.mark.parametrize(
    ("cases", "verdicts", "code"),
    [
        (["passed"], [], 0),
        (["passed"], ["passed"], 0),
        (["passed"], ["failed", "error"], 1),
        (["passed"], ["not_measured"], 2),
        (["error"], ["failed"], 1),
        (["error"], ["passed"], 2),
        (["failed"], ["error"], 1),
    ],
)
def test_overall_results_count_in_the_exit_code(cases: list[Verdict], verdicts: list[Verdict], code: int) -> None:
    overall = tuple([OverallResult(evaluator="all", verdict=each, source=PLACE) for each in verdicts])

    made = structs.replace(report(*[result("a", verdict) for verdict in cases]), overall=overall)

    assert made.exit_code == code


@for_each("share", [0.5, 0.6])
def test_a_share_of_cases_that_is_enough_is_enough_in_every_format(share: float) -> None:
    made = report(result("a", "failed", "never called"), result("b"), min_pass=share)

    suite = ElementTree.fromstring("".join(junit_report(made)).encode())
    markdown = "".join(markdown_report(made))

    is_enough = share == 0.5
    assert made.exit_code == (0 if is_enough else 1)
    assert suite.attrib["failures"] == ("0" if is_enough else "1")
    assert markdown.startswith("### ✅" if is_enough else "### ❌")
    assert ("#### Failed, and 50% of the cases are enough" in markdown) == is_enough
    assert ("::error" in "".join(github_report(made))) != is_enough
    assert ("error[" in "".join(full_report(made, Paper(width=100)))) != is_enough
    assert f'data-exit="{made.exit_code}"' in "".join(html_report(made))


def test_no_report_has_the_query_of_an_agents_address() -> None:
    made = redacted_report(report(mixed(("failed",)), agent="http://127.0.0.1:8000/ask?sig=abc123&k=1"))

    for written in (junit_report, markdown_report, github_report, json_report, html_report):
        text = "".join(written(made))
        assert "abc123" not in text, written.__name__
    assert "http://127.0.0.1:8000/ask" in "".join(junit_report(made))
