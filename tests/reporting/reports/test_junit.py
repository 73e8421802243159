"""JUnit XML: what CI systems read."""

import re
from typing import NamedTuple
from xml.etree import ElementTree

from junitparser import JUnitXml
from tests.reporting.reports.reporting import (
    HOSTILE,
    evaluation,
    harmful,
    hostile_report,
    in_groups,
    obeyed,
    report,
    result,
)
from tests.walls import for_each

from rightcall import ToolCall, Trajectory
from rightcall.reporting.reports import Report, junit_report
from rightcall.values.results import Outcome


class Rule(NamedTuple):
    """What an element may have, by the schemas of Jenkins (junit-10) and Surefire alike; children in this order."""

    required: set[str]
    optional: set[str]
    children: tuple[str, ...]
    has_text: bool = False


RULES = {
    "testsuites": Rule(set(), {"name", "time", "tests", "failures", "errors"}, ("testsuite",)),
    "testsuite": Rule(
        {"name", "tests", "failures", "errors", "skipped"}, {"time", "group"}, ("properties", "testcase")
    ),
    "properties": Rule(set(), set(), ("property",)),
    "property": Rule({"name", "value"}, set(), ()),
    "testcase": Rule(
        {"name", "time"}, {"classname", "group"}, ("failure", "skipped", "error", "system-out", "system-err")
    ),
    "failure": Rule({"type"}, {"message"}, (), True),
    "error": Rule({"type"}, {"message"}, (), True),
    "system-out": Rule(set(), set(), (), True),
    "system-err": Rule(set(), set(), (), True),
}


def test_calls_in_groups_are_shown_below_the_findings() -> None:
    [failure] = ElementTree.fromstring(written(report(in_groups()))).iter("failure")

    lines = (failure.text or "").splitlines()
    assert lines[0].startswith("--expect:1:30: RC101 `seats` was never called")
    assert "  |   ┌ any order, 1 of 2 made" in lines
    assert [line.split("│ ")[1].split() for line in lines if "│ " in line] == [["seats", "−"], ["price", "✓", "2"]]


def written(made: Report) -> str:
    return "".join(junit_report(made))


def checked(text: str) -> ElementTree.Element:
    """The document, which keeps to the rules."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        rule = RULES[element.tag]
        assert rule.required <= set(element.keys()) <= rule.required | rule.optional, element.tag
        order = [rule.children.index(child.tag) for child in element]
        assert order == sorted(order), element.tag
        assert rule.has_text or not (element.text or "").strip(), element.tag
        assert re.fullmatch(r"\d+\.\d{3}", element.get("time", "0.000"))
    for suite in root.iter("testsuite"):
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
    return root


def test_each_verdict_is_what_ci_systems_call_it() -> None:
    made = report(
        result("good"),
        result("bad", "failed", "`pay` was never called", "`search` was called twice"),
        result("broken", "error", "the agent raised KeyError", score=None),
        result("unseen", "not_measured", "no arguments were recorded", score=None),
    )

    good, bad, broken, unseen = checked(written(made)).iter("testcase")

    assert list(good) == []
    failure, error, not_measured = bad.find("failure"), broken.find("error"), unseen.find("error")
    assert failure is not None
    assert failure.attrib == {"type": "RC101", "message": "`pay` was never called (and 1 more)"}
    assert failure.text == (
        "evals/shop.yaml:10:9: RC101 `pay` was never called\nevals/shop.yaml:10:9: RC101 `search` was called twice"
    )
    assert error is not None
    assert error.attrib == {"type": "RC101", "message": "the agent raised KeyError"}
    assert not_measured is not None
    assert not_measured.attrib["type"] == "not_measured"


def test_the_repeats_of_a_case_are_one_test_with_mean_scores() -> None:
    made = report(result("a"), result("a", "failed", "no", repeat=1), result("a", "error", repeat=2))

    root = checked(written(made))
    properties = {each.attrib["name"]: each.attrib["value"] for each in root.iter("property")}

    assert [case.attrib["name"] for case in root.iter("testcase")] == ["a"]
    assert properties["score[a]"] == "0.75"  # what has no score does not count as 0
    assert (properties["passes[a]"], properties["trials[a]"]) == ("1", "3")


def test_scores_times_and_what_was_printed_are_there() -> None:
    outcome = Outcome(seconds=2.5, stdout="hello\n" + "x" * 5_000)
    results = (evaluation("order", "failed", 2 / 3), evaluation("args", "passed", 1.0))
    made = report(result("a", "failed", "no", outcome=outcome, results=results))

    root = checked(written(made))

    [case] = root.iter("testcase")
    assert case.attrib["time"] == "2.500"
    assert {each.attrib["name"]: each.attrib["value"] for each in root.iter("property")} == {
        "run": "8f2c",
        "agent": "agent.py:answer",
        "mean_score.order": "0.6667",
        "mean_score.args": "1",
        "score[a]": "0.5",
        "score[a].order": "0.6667",
        "score[a].args": "1",
    }
    assert case.findtext("system-out") == "…" + "x" * 4_000


def test_a_recorded_trace_took_as_long_as_its_calls() -> None:
    made = Trajectory(calls=(ToolCall("a", start_ns=10**9, end_ns=2 * 10**9), ToolCall("b", end_ns=4 * 10**9)))

    [case] = checked(written(report(result("a", trajectory=made)))).iter("testcase")

    assert case.attrib["time"] == "3.000"


def test_a_parser_of_junit_reads_the_counts() -> None:
    text = written(report(result("a"), result("b", "failed", "no"), result("c", "error"), result("d", "not_measured")))

    [suite] = JUnitXml.fromstring(text.encode())

    assert (suite.name, suite.tests, suite.failures, suite.errors) == ("evals/shop.yaml", 4, 1, 2)
    assert [type(each).__name__ for case in suite for each in case.result] == ["Failure", "Error", "Error"]


@for_each("text", HOSTILE)
def test_whatever_is_said_stays_text(text: str) -> None:
    document = written(hostile_report(text))

    assert len(checked(document).findall("testsuite/testcase")) == 3
    assert harmful(document) == set()
    assert obeyed(document) == []


def test_text_comes_back_as_it_was() -> None:
    text = "</failure>]]>&amp;\"'<\n\ttwo lines ::error:: ##[x] é 漢"

    [case] = checked(written(report(result(text, "failed", text)))).iter("testcase")

    assert case.attrib["name"] == text
    assert case.findtext("failure") == f"evals/shop.yaml:10:9: RC101 {text}"


def test_characters_that_xml_has_no_place_for_are_seen_as_escapes() -> None:
    [case] = checked(written(report(result("a\ufffeb", "failed", "c\uffffd")))).iter("testcase")

    assert case.attrib["name"] == "a\\ufffeb"
    assert case.findtext("failure") == "evals/shop.yaml:10:9: RC101 c\\uffffd"


def test_the_same_report_gives_the_same_text_and_a_large_one_is_bounded() -> None:
    outcome = Outcome(seconds=1.0, stdout="y" * 1_000_000)
    made = report(*[result(f"case_{n}", "failed", *["z" * 100_000] * 3, outcome=outcome) for n in range(1_000)])

    text = written(made)

    assert text == written(made)
    assert len(text) < 25_000 * 1_000


def test_nothing_is_an_error_as_its_exit_code_is() -> None:
    [error] = checked(written(report())).iter("error")

    assert error.get("message") == "there are no cases"
