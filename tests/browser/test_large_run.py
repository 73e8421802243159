"""A run of 10,000 cases: found in it by filters, groups, search and pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.checks import follow, sticking_out, violations

from rightcall.reporting.store import list_runs


@pytest.fixture
def run_page(page: Page, large: Path, serve: Callable[[Path], str]) -> Page:
    [run] = list_runs(large / "runs")
    page.goto(f"{serve(large / 'runs')}/runs/{run.name}")
    return page


def rows(page: Page) -> list[str]:
    """The ids of the cases on a page."""
    return page.locator("table.cases tbody th").all_inner_texts()


def test_one_page_of_it_is_small_and_fits(run_page: Page) -> None:
    assert len(run_page.content().encode()) < 1_000_000
    assert sticking_out(run_page) == []
    assert violations(run_page) == []
    for count in ("7,000", "2,000", "1,000"):
        expect(run_page.locator("dl.tiles")).to_contain_text(count)


def test_filters_show_the_cases_with_a_verdict(run_page: Page) -> None:
    follow(run_page.get_by_role("link", name="Errors").first)

    expect(run_page.locator("table.cases tbody tr").first).to_contain_text("case_00008")
    assert all(text.endswith("8") for text in rows(run_page))


def test_a_group_of_failures_is_a_filter(run_page: Page) -> None:
    group = run_page.locator("ul.groups li").filter(has_text="reserve_item never called")
    expect(group).to_contain_text("1,000 cases")

    follow(group.get_by_role("link"))

    assert rows(run_page)
    assert all(text.endswith("2") for text in rows(run_page))


def test_search_finds_one_case_among_all(run_page: Page) -> None:
    run_page.keyboard.press("/")
    run_page.keyboard.type("case_07342")
    run_page.keyboard.press("Enter")

    expect(run_page.locator("table.cases tbody tr")).to_have_count(1)
    assert rows(run_page) == ["case_07342"]


def test_search_works_without_the_script(browse: Callable[..., Page], run_page: Page) -> None:
    plain = browse(java_script_enabled=False)
    plain.goto(run_page.url)

    plain.locator("input[type=search]").fill("case_07342")
    plain.locator("input[type=search]").press("Enter")

    expect(plain.locator("table.cases tbody tr")).to_have_count(1)


def test_what_is_searched_in_vain_is_told(run_page: Page) -> None:
    run_page.locator("input[type=search]").fill("<nothing> like %this")
    run_page.locator("input[type=search]").press("Enter")

    expect(run_page.locator("input[type=search]")).to_have_value("<nothing> like %this")
    expect(run_page.locator("table.cases tbody tr")).to_have_count(0)
    assert violations(run_page) == []


def test_pages_follow_one_another_within_a_filter(run_page: Page) -> None:
    follow(run_page.get_by_role("link", name="Failed").first)
    first = rows(run_page)

    follow(run_page.get_by_role("link", name="Next →").last)
    second = rows(run_page)

    assert not set(first) & set(second)
    assert all(text[-1] in "25" for text in second)
    follow(run_page.get_by_role("link", name="← Previous").first)
    assert rows(run_page) == first
