"""The matrix of hostile texts and of everything that tells results to somebody: what is said stays text.

What `rightcall.reporting.reports` or `rightcall.reporting.pages` exports to tell results, or the command line has as a
format, is in this matrix, or a test fails. Pages that only a viewer makes are tried in a browser, in
`tests/browser/test_hostile_runs.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec import structs
from tests.hostile import corpus
from tests.hostile.corpus import harmful, obeyed
from tests.hostile.results import hostile_case, hostile_results, hostile_trajectory, tool_name
from tests.walls import for_each

from rightcall import CaseResult
from rightcall.cli._output import FORMATS
from rightcall.reporting import pages, reports
from rightcall.reporting.changes import GateSide, compare, gate, sides_of
from rightcall.reporting.paths import PathCounts, case_paths, drift, overview
from rightcall.reporting.reports import Line, Paper, Report
from rightcall.reporting.store import GatedCaseRecord, GateRecord
from rightcall.values.results import (
    Aggregates,
    CaseRepeats,
    ClassFigures,
    Classification,
    MutatedCase,
    MutationReport,
    OverallResult,
    Source,
    Survivor,
    Tally,
    Totals,
    measures_of,
)
from rightcall.values.trajectory import ToolCall, Trajectory

PAPER = Paper(width=80)


@lru_cache(maxsize=512)
def results_of(text: str) -> tuple[CaseResult, ...]:
    return tuple(hostile_results(text))


def report_of(text: str) -> Report:
    """A report of results that say nothing but the text."""
    results = results_of(text)
    tally, aggregates = Tally(), Aggregates()
    for each in results:
        tally.count(each.case_id, each.verdict, each.repeat)
        aggregates.add(measures_of(each.results))
    return Report(
        results=lambda: iter(results),
        totals=tally.totals(),
        evaluators=aggregates.by_evaluator(),
        overall=overall_of(text),
        subject=text,
        run_id=text,
        agent=text,
        notes=(text,),
        warnings={text: 2},
        gate=gate_of(text),
    )


def repeated(text: str) -> Report:
    """The same, of a case that was repeated and is flaky."""
    return structs.replace(report_of(text), repeats={text: CaseRepeats("failed", ("passed", "failed"), 2)})


def gated(text: str) -> str:
    before, after = [{text: GateSide(Totals(*counts))} for counts in ((5, 0), (0, 5))]
    return plain(reports.gate_lines(gate(before, after), text, PAPER))


def gate_of(text: str) -> GateRecord:
    """What a gate said, where cases and the base say nothing but the text."""
    worse = GatedCaseRecord(case_id=text, before=(5, 5), after=(0, 5), p=0.0, q=0.0, told="worse")
    numbers = {"alpha": 0.05, "share": 1.0, "rule_out": 0.1, "allow_drop": 0.0}
    said: dict[str, Any] = {"reason": text, "told": (text,), "base": text, "cases": (worse,), **numbers}
    return GateRecord(verdict="worse", exit_code=1, rounds=5, planned_rounds=5, **said)


def overall_of(text: str) -> tuple[OverallResult, ...]:
    """What is said of all cases together, where code of a user's and the classes say nothing but the text."""
    label = text[:200]  # as long as a class is let be
    figures = (ClassFigures(label, 1, 1, 0, 0.0, 0.0, 0.0), ClassFigures("b", 1, 1, 0, 0.0, 0.0, 0.0))
    found = Classification((label, "b"), ((0, 1, 1), (1, 0, 0)), figures, 0.0, 3)
    known: dict[str, Any] = {"reason": text, "source": Source(text, 1, 1, text), "details": [text]}
    return (
        OverallResult(evaluator=text, verdict="failed", score=0.0, classification=found, **known),
        OverallResult(evaluator=text, verdict="error", **known),
    )


def plain(lines: Iterable[Line]) -> str:
    return "\n".join("".join(part if isinstance(part, str) else part[0] for part in line) for line in lines)


def comparison(text: str) -> str:
    first, second, third = results_of(text)
    changed = compare(sides_of([first, second]), sides_of([third]))
    return plain(reports.comparison_lines(changed, PAPER, (text, text)))


def verdicts(text: str) -> str:
    first, second, third = [sides_of([result]) for result in results_of(text)]
    return plain(reports.verdict_lines([first, second, third], [text] * 3, PAPER))


def counted(text: str, calls: int = 2) -> PathCounts:
    """The paths of runs that call a tool of this name, with it as an argument."""
    counts = PathCounts(with_args=calls == 2)
    for number in range(40):
        made = [ToolCall(text[:9_000] or "t", {text: text}) for _ in range(number % calls)]
        counts.add(Trajectory(calls=tuple(made)), "passed" if number % 2 else "failed")
    return counts


def drifted(text: str) -> str:
    changed = drift(counted(text, 1), counted(text, 3))
    return plain(reports.drift_lines(changed, (text, text), {}, PAPER))


def mutated(text: str) -> MutationReport:
    """What became of faults, where cases, tools and values say nothing but the text."""
    gap = Survivor(operator="drop", fault=f"without `{text}`", line=text, calls=(text,))
    case = MutatedCase(case_id=text, expected=(text,), cells={"drop": (0, 1)}, survivors=(gap,), set_aside={text: 1})
    return MutationReport(evalset=text, operators=("drop",), cases=(case,), not_tried={text: (text,)}, run=text)


def mutants(text: str) -> str:
    page = pages.mutants_page(mutated(text))
    return pages.mutants_html(page, pages.Links(is_one_file=True))


@lru_cache(maxsize=512)
def page_of(text: str) -> str:
    """The page of a report. It takes the longest of all, and two tests look at it."""
    return "".join(pages.html_report(report_of(text)))


def beside(text: str) -> str:
    """What a failing test of pytest says."""
    lines = [line for each in results_of(text) for line in reports.side_by_side(hostile_case(text), each, PAPER)]
    return "\n".join([*map(reports.summary, results_of(text)), *lines])


SINKS: dict[str, Callable[[str], str]] = {
    "full_report": lambda text: "".join(reports.full_report(report_of(text), PAPER)),
    "concise_report": lambda text: "".join(reports.concise_report(report_of(text))),
    "detail_lines": lambda text: plain(reports.detail_lines(report_of(text), PAPER)),
    "gate_lines": gated,
    "steadiness_lines": lambda text: plain(reports.steadiness_lines(repeated(text).steadiness, 2, PAPER, text)),
    "parting_lines": lambda text: plain(reports.parting_lines(case_paths(text, results_of(text)), PAPER)),
    "path_lines": lambda text: plain(reports.path_lines(overview(counted(text)), PAPER)),
    "drift_lines": drifted,
    "repeat_lines": lambda text: plain(reports.repeat_lines(repeated(text), PAPER)),
    "json_report": lambda text: "".join(reports.json_report(report_of(text))),
    "junit_report": lambda text: "".join(reports.junit_report(report_of(text))),
    "github_report": lambda text: "".join(reports.github_report(report_of(text))),
    "github_summary": lambda text: "".join(reports.github_summary(report_of(text))),
    "markdown_report": lambda text: "".join(reports.markdown_report(report_of(text))),
    "paths_file": lambda text: pages.paths_file(overview(counted(text)), text),
    "html_report": lambda text: page_of(text),
    "mutation_lines": lambda text: plain(reports.mutation_lines(mutated(text), PAPER)),
    "mutation_json": lambda text: reports.mutation_json(mutated(text)),
    "mutants_html": mutants,
    "side_by_side": beside,
    "comparison_lines": comparison,
    "verdict_lines": verdicts,
    "diagnosis": lambda text: plain(line for each in results_of(text) for line in reports.diagnosis(each, PAPER, text)),
    "headline": lambda text: plain(reports.headline(reports.CaseBlock(each), PAPER) for each in results_of(text)),
    "dim_lines": lambda text: plain(reports.dim_lines(text, PAPER)),
    "trajectory_lines": lambda text: plain(reports.trajectory_lines(hostile_trajectory(text), text, PAPER)),
}
"""What each of them makes of a text that stands wherever somebody else than us may say something."""

READ_BY_CI = {"junit_report", "github_summary", "markdown_report"}
"""What is printed where a line may be a command, and has none of its own."""
IN_A_BROWSER = {
    "case_html",
    "compare_html",
    "edit_html",
    "message_html",
    "paths_html",
    "run_list_html",
    "runs_html",
    "search_html",
    "tool_html",
    "trends_html",
    "verdicts_html",
}
"""Pages of the viewer."""
GATED = {"concise_lines", "ending", "problem_lines"}
"""Lines that are made harmless by whoever prints them: the terminal's `Screen`, and `concise_report`."""
EDITS = {"diff_lines"}
"""A diff of the user's own file has to be that file's text, to the letter."""
PARTS = {"full_lines", "redacted_report", "plan_lines"}
"""What `full_report` is made of, a report that tells nothing by itself, and figures without a text."""
TELLING = re.compile(r".*(_report|_summary|_lines|_html)|diagnosis|headline|ending|side_by_side")
"""What functions are called that tell results."""


def test_everything_that_tells_results_is_in_the_matrix() -> None:
    known = (set(SINKS) - {"mutation_json", "paths_file"}) | IN_A_BROWSER | GATED | EDITS | PARTS

    assert {name for name in (*dir(reports), *dir(pages)) if TELLING.fullmatch(name)} == known
    assert {f"{name}_report" for name in FORMATS} <= set(SINKS)


@pytest.mark.parametrize("sink", SINKS)
@for_each("text", corpus.SHORT)
def test_what_is_said_stays_text(sink: str, text: str) -> None:
    told = SINKS[sink](text)

    assert harmful(told) == set()
    assert sink not in READ_BY_CI or obeyed(told) == []


@pytest.mark.parametrize("sink", SINKS)
def test_long_texts_do_no_more_harm_than_short_ones(sink: str) -> None:
    for text in corpus.LONG[1:]:
        assert harmful(SINKS[sink](text)) == set(), ascii(text[:10])


class Elements(HTMLParser):
    """The elements of a document, and the attributes of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, ""), *((tag, name) for name, _ in attrs)}


@lru_cache(maxsize=1)
def harmless() -> set[tuple[str, str]]:
    # A tool whose name has a `*` in it is expected by another name, which a page shows as a difference.
    return Elements(SINKS["html_report"]("word")).found | Elements(SINKS["html_report"]("wo*rd")).found


@for_each("text", corpus.SHORT)
def test_html_has_no_other_elements_than_for_harmless_texts(text: str) -> None:
    assert Elements(SINKS["html_report"](text)).found <= harmless()


@for_each("text", corpus.SHORT)
def test_json_gives_back_what_was_said(text: str) -> None:
    document = json.loads(SINKS["json_report"](text))

    assert document["evalset"] == text
    assert document["cases"][0]["trajectory"]["calls"][0]["name"] == tool_name(text)
    assert document["cases"][0]["trajectory"]["calls"][1]["output"] == text


@for_each("text", corpus.SHORT)
def test_junit_has_as_many_cases_as_there_were(text: str) -> None:
    root = ElementTree.fromstring(SINKS["junit_report"](text).encode())

    gated = root.findall("testsuite[@name='gate']/testcase")
    assert len(root.findall("testsuite/testcase")) - len(gated) == 3 + len(overall_of(text))
    assert len(gated) == 2  # the case that is worse, and all cases together
