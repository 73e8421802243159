"""The page of a run: how it came out, what failures have in common, and its cases."""

import msgspec
import pytest
from tests.reporting.pages.reading import Seen
from tests.reporting.reports.reporting import HOSTILE, harmful, result
from tests.walls import for_each

from rightcall import CaseResult
from rightcall.reporting.pages import (
    ROWS_A_PAGE,
    CaseRow,
    Choice,
    Links,
    ListedCase,
    RowCounter,
    RunCounts,
    RunFacts,
    RunListPage,
    RunPage,
    cause_views,
    facts_of,
    key_of,
    pills,
    row_of,
    run_head,
    run_list_html,
    run_page,
    steadiness_of,
)
from rightcall.reporting.reports import Problem
from rightcall.reporting.store import Header
from rightcall.values.results import EvaluatorTotals, Finding, NamedCall, PlacedFinding, Source, Totals

FACTS = RunFacts(id="8f2c11", name="8f2c", subject="evals/shop.yaml", took="2.30s", known=(("agent", "a.py"),))
SOURCE = Source("evals/shop.yaml", 1, 1)


def missing(case_id: str, tool: str) -> CaseResult:
    finding = Finding("RC101", f"`{tool}` was never called", NamedCall(0, f"{tool}(x=1)"))
    return result(case_id, "failed", findings=(PlacedFinding("calls", finding, SOURCE),), calls=["search", "search"])


ROWS = [
    row_of(each)
    for each in (
        missing("laptop", "reserve_item"),
        missing("phone", "reserve_item"),
        missing("gift", "apply_code"),
        result("book", calls=["search"]),
        result("slow", "error", "the agent timed out"),
    )
]


def counted(rows: list[CaseRow]) -> RunCounts:
    grouping = RowCounter()
    for row in rows:
        grouping.add(row)
    return grouping.counts(Totals.of([row.verdict for row in rows]), {"calls": EvaluatorTotals(1, 3, mean_score=0.25)})


def page_of(rows: list[CaseRow], choice: Choice | None = None) -> RunPage:
    choice = choice or Choice()
    chosen = [row for row in rows if choice.accepts(row)]
    return run_page(FACTS, counted(rows), Links(), choice=choice, rows=chosen[:ROWS_A_PAGE], matched=len(chosen))


def listed(
    rows: list[CaseRow], choice: Choice | None = None, facts: RunFacts = FACTS, notes: tuple[str, ...] = ()
) -> str:
    """The page of a run in the viewer, without a case beside the list."""
    asked, links = choice or Choice(), Links()
    cases = [ListedCase(row=row, verdict=row.verdict, verdicts=(row.verdict,) * 2) for row in rows]
    matching = [case for case in cases if asked.takes(case)]
    kept = {key: value for key, value in asked.kept().items() if value}
    page = RunListPage(
        title=facts.name,
        trail=(),
        facts=facts,
        head=run_head(Totals.of([row.verdict for row in rows]), steadiness_of(cases), facts.known, 0.5, 1, ["/"] * 4),
        pills=pills(cases, asked.verdict, facts.id, links, asked.q),
        causes=cause_views(matching, "", facts.id, links, kept),
        q=asked.q,
        kept=tuple([(key, value) for key, value in kept.items() if key != "q"]),
        filtered=asked.q,
        matched=len(matching),
        notes=notes,
    )
    return run_list_html(page, links)


def test_tiles_tell_what_the_run_comes_to() -> None:
    page = page_of(ROWS)

    assert (page.totals.passed, page.cases, page.rate) == (1, 5, "25 % of 4 measured")
    assert {tile.label: tile.value for tile in page.tiles} == {"Took": "2.30s", "Calls per case": "1.4"}


@pytest.mark.parametrize(("passed", "told"), [(0, "0 %"), (1, "<1 %"), (999, ">99 %"), (1000, "100 %")])
def test_a_pass_rate_is_whole_only_where_all_passed(passed: int, told: str) -> None:
    counts = RunCounts(totals=Totals(passed, 1000 - passed), results=Totals(passed, 1000 - passed))

    assert run_page(FACTS, counts, Links()).rate == told


def test_failures_are_grouped_by_rule_and_tool_the_largest_group_first_and_each_is_a_filter() -> None:
    groups = page_of(ROWS).groups

    assert [(group.cases, group.tool, group.code) for group in groups] == [
        (2, "reserve_item", "RC101"),
        (1, "", "RC101"),
        (1, "apply_code", "RC101"),
    ]
    address, _, key = groups[0].href.partition("=")
    assert address == "/runs/8f2c11?cause"
    assert [row.case_id for row in page_of(ROWS, Choice(cause=key)).rows] == ["laptop", "phone"]


def test_a_row_that_another_replaces_is_taken_back() -> None:
    grouping = RowCounter()
    for row in ROWS:
        grouping.add(row)

    grouping.remove(ROWS[0])

    assert grouping.counts(Totals(), {}).results == Totals(1, 2, 0, 1)
    assert [group.cases for group in grouping.groups()] == [1, 1, 1]


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        (Choice(), ["laptop", "phone", "gift", "book", "slow"]),
        (Choice(verdict="failed"), ["laptop", "phone", "gift"]),
        (Choice(rule="RC101", tool=key_of("apply_code")), ["gift"]),
        (Choice(tool=key_of("reserve_item")), ["laptop", "phone"]),
        (Choice(q="LAPTOP"), ["laptop"]),
        (Choice(q="search"), ["laptop", "phone", "gift", "book"]),
        (Choice(q="timed out"), ["slow"]),
        (Choice(verdict="failed", q="nothing"), []),
    ],
    ids=str,
)
def test_a_choice_accepts_by_verdict_rule_tool_and_text(choice: Choice, found: list[str]) -> None:
    assert [row.case_id for row in ROWS if choice.accepts(row)] == found


def test_cases_are_rows_with_links_and_the_sentence_that_says_why() -> None:
    seen = Seen(listed(ROWS, Choice(rule="RC101", tool=key_of("apply_code"))))

    address = f"/runs/8f2c11?rule=RC101&tool={key_of('apply_code')}&case={ROWS[2].key}#case"
    assert address in seen.addresses()
    assert "apply_code never called" in seen.text
    assert "laptop" not in seen.text


def test_each_case_is_listed_once_under_its_first_problem() -> None:
    cases = [ListedCase(row=row, verdict=row.verdict, verdicts=(row.verdict,)) for row in ROWS]

    causes = cause_views(cases, ROWS[2].key, "8f2c11", Links(), {})

    found = [(cause.verdict, cause.problem.tool, cause.count, cause.is_open) for cause in causes]
    assert found == [
        ("failed", "reserve_item", 2, True),
        ("failed", "apply_code", 1, True),
        ("error", "", 1, False),
        ("passed", "", 1, False),
    ]


def test_searching_works_without_a_script_and_keeps_the_filter() -> None:
    seen = Seen(listed(ROWS, Choice(verdict="failed", q='a"b')))

    assert ("input", {"type": "hidden", "name": "verdict", "value": "failed"}) in seen.elements
    [search] = [attrs for tag, attrs in seen.elements if tag == "input" and attrs.get("id") == "q"]
    assert (search["type"], search["name"], search["value"]) == ("search", "q", 'a"b')
    assert 'No case a"b.' in seen.text


def test_pages_lead_to_one_another_with_the_filter_kept() -> None:
    counts = RunCounts(totals=Totals(10_000), results=Totals(10_000))

    page = run_page(FACTS, counts, Links(), choice=Choice(verdict="passed", page=2), rows=ROWS, matched=10_000)

    assert page.pages == 84
    assert page.before == "/runs/8f2c11?verdict=passed&page=1"
    assert page.after == "/runs/8f2c11?verdict=passed&page=3"


def test_a_run_that_is_not_over_is_followed_and_one_that_broke_off_says_so() -> None:
    running = msgspec.structs.replace(FACTS, is_running=True, is_finished=False)
    broken = msgspec.structs.replace(FACTS, is_finished=False)

    followed, left = [listed(ROWS, facts=each) for each in (running, broken)]

    assert '<html lang="en" data-running>' in followed
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in followed
    assert "was interrupted" in left
    assert "data-running" not in left


def test_a_header_is_told_by_name_without_what_says_nothing() -> None:
    header = Header(
        id="8f2c11",
        started="2026-11-16T03:00:00+00:00",
        rightcall="0.1.0",
        python="3.11",
        platform="Linux",
        agent="agent.py",
        evalset="shop.yaml",
        evalset_hash="x",
        commit="0123456789abcdef",
        options={"workers": 4, "tags": [], "fail_fast": False},
    )

    facts = facts_of(header)

    assert facts.known[:4] == (
        ("agent", "agent.py"),
        ("eval set", "shop.yaml"),
        ("commit", "0123456789"),
        ("workers", "4"),
    )
    assert (facts.name, facts.is_finished) == ("8f2c", False)


@for_each("text", [text[:20_000] for text in HOSTILE])
def test_nothing_that_strangers_wrote_becomes_more_than_text(text: str) -> None:
    facts = RunFacts(id=text, name=text, subject=text, known=((text, text),))
    problems = (Problem(text, text, text),)
    row = msgspec.structs.replace(
        ROWS[0], case_id=text, why=text, tools=(text,), problems=problems, tags=(text,), title=text
    )

    seen = Seen(listed([row], Choice(q=text[:200]), facts, (text,)))

    assert not {"img", "iframe"} & {tag for tag, _ in seen.elements}
    assert seen.count("details") == 2
    assert seen.count("script") == 1
    assert all(address.startswith(("/", "#")) for address in seen.addresses())
    assert not harmful(seen.text)
