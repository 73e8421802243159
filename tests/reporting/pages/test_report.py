"""A run as one file of HTML."""

import re
from collections.abc import Iterator

import msgspec
import pytest
from tests.reporting.pages.reading import Seen
from tests.reporting.reports.reporting import HOSTILE, harmful, hostile_report, report, result

from rightcall import CaseResult, ToolCall, Trajectory
from rightcall.cases.evalsets import load_expectation
from rightcall.cases.verdicts import judge
from rightcall.reporting.pages import case_key, html_report
from rightcall.reporting.reports import Report
from rightcall.values.results import Totals


def page_of(report: Report) -> str:
    return "".join(html_report(report))


def articles(page: str) -> list[str]:
    return re.findall(r'<article class="case" id="case-([^"]+)"', page)


def test_cases_that_did_not_pass_come_first_and_open_and_the_others_are_folded() -> None:
    page = page_of(report(result("book"), result("laptop", "failed", "`pay` was never called"), result("phone")))

    assert articles(page) == [case_key(name) for name in ("laptop", "book", "phone")]
    seen = Seen(page)
    about, *cases = ["open" in attrs for tag, attrs in seen.elements if tag == "details"]
    assert (about, cases) == (False, [True, False, False])


def test_each_case_is_under_its_first_problem_so_that_causes_add_up() -> None:
    written = load_expectation(b"calls: [search, book]", "--expect")
    made = {"neither": (), "half": (ToolCall("search", {}, 1),)}

    page = page_of(report(*[judge(written(name), Trajectory(calls=calls)) for name, calls in made.items()]))

    causes = re.findall(r'<a href="#cases" data-problem="([^"]+)">1 case</a>: <code>(\w+)</code> never called', page)
    assert [tool for _, tool in causes] == ["book", "search"]
    assert re.findall(r'<article [^>]*data-problem="([^"]+)"', page) == [causes[1][0], causes[0][0]]


def test_it_has_the_page_of_the_run_with_what_is_known_of_it() -> None:
    seen = Seen(page_of(report(result("book"), result("gift", "error", "boom"), facts=(("branch", "main"),))))

    assert seen.count("h1") == 1
    for said in ("evals/shop.yaml", "agent.py:answer", "branch", "main", "100 % of 1 measured", "What the codes mean"):
        assert said in seen.text


def test_it_needs_nothing_besides_itself_and_its_policy_forbids_everything_else() -> None:
    seen = Seen(page_of(report(result("book"))))

    assert not [attrs for tag, attrs in seen.elements if attrs.get("src")]
    assert [attrs["rel"] for tag, attrs in seen.elements if tag == "link"] == ["icon"]
    assert all(address.startswith("#") for address in seen.addresses())
    assert seen.elements.index(next(each for each in seen.elements if "http-equiv" in each[1])) < 5


def test_links_lead_to_anchors_that_are_there_and_no_anchor_is_there_twice() -> None:
    failed = result("laptop", "failed", "`pay` was never called", calls=["search", "pay"])
    seen = Seen(page_of(report(failed, msgspec.structs.replace(failed, repeat=1), result("book", calls=["search"]))))

    assert len(seen.ids()) == len(set(seen.ids()))
    assert {address[1:] for address in seen.addresses()} <= set(seen.ids())


def test_what_needs_the_script_is_hidden_without_it() -> None:
    [choosing] = [attrs for _, attrs in Seen(page_of(report(result("book")))).elements if attrs.get("id") == "choosing"]

    assert "hidden" in choosing


def test_a_thousand_failures_with_long_values_fit_into_five_megabytes() -> None:
    long = result(
        "x", "failed", *[f"`tool_{number}` was never called " + "x" * 500 for number in range(30)], calls=["a"] * 60
    )

    page = page_of(report(*[msgspec.structs.replace(long, case_id=f"case {number}") for number in range(1_000)]))

    assert len(page.encode()) < 5_000_000
    assert len(articles(page)) == 1_000


def test_very_many_cases_are_counted_and_not_listed() -> None:
    def results() -> Iterator[CaseResult]:
        return (msgspec.structs.replace(result("x"), case_id=str(number)) for number in range(20_010))

    page = page_of(Report(results=results, totals=Totals(passed=20_010)))

    assert "10 more cases are not in this file." in page
    assert len(page.encode()) < 20_000_000


def test_a_run_without_cases_says_so() -> None:
    assert "No cases." in page_of(report())


def test_nothing_that_strangers_wrote_becomes_more_than_text() -> None:
    results = [each for text in HOSTILE for each in hostile_report(text).results()]

    seen, tame = Seen(page_of(report(*results))), Seen(page_of(hostile_report("tame")))

    assert {tag for tag, _ in seen.elements} <= {*(tag for tag, _ in tame.elements), "code", "br", "p", "details"}
    assert seen.count("script") == seen.count("style") == 1
    assert not any(name.startswith("on") for _, attrs in seen.elements for name in attrs)
    assert all(address.startswith("#") for address in seen.addresses())
    shown = seen.text[seen.text.index("Skip to the content") : seen.text.index("Close")]
    assert not harmful(shown)


@pytest.mark.parametrize("text", ["</style><b>", "</script><b>", "<!-- --><b>", "\ud800"])
def test_nothing_that_strangers_call_a_run_becomes_more_than_text(text: str) -> None:
    seen = Seen(
        page_of(report(result("book"), subject=text, run_id=text, agent=text, notes=(text,), facts=((text, text),)))
    )

    assert seen.count("b") == 0
    assert not harmful(seen.text[seen.text.index("Skip to the content") : seen.text.index("Close")])
