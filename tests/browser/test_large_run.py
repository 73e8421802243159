"""A run of 10,000 cases: found in it by filters, groups, search and pages."""

from __future__ import annotations

import re
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
    return page.locator(".case-row > code").all_inner_texts()


def test_one_page_of_it_is_small_and_fits(run_page: Page) -> None:
    assert len(run_page.content().encode()) < 100_000
    assert sticking_out(run_page) == []
    assert violations(run_page) == []
    expect(run_page.locator("h1").first).to_contain_text("7,000 of 10,000 passed")
    for count in ("2,000", "1,000"):
        expect(run_page.locator(".run-head .bar")).to_contain_text(count)


def test_filters_show_the_cases_with_a_verdict(run_page: Page) -> None:
    follow(run_page.get_by_role("link", name="Errors").first)

    expect(run_page.locator(".case-row").first).to_contain_text("case_00008")
    assert all(text.endswith("8") for text in rows(run_page))


def test_causes_have_all_cases_once_and_open_one_by_one(run_page: Page) -> None:
    causes = run_page.locator(".cause > summary")
    numbers = [re.findall(r"([\d,]+)\s+cases?$", text.strip())[0] for text in causes.all_inner_texts()]
    cause = run_page.locator(".cause").filter(has_text="reserve_item never called")
    expect(cause.locator("summary")).to_contain_text("1,000")
    cause.evaluate("each => { each.open = true }")

    follow(cause.get_by_role("link", name="more"))

    assert sum([int(number.replace(",", "")) for number in numbers]) == 10_000
    assert len(rows(run_page)) == 120
    expect(run_page.locator(".cause > summary")).to_contain_text("1,000")
    assert len(run_page.content().encode()) < 100_000
    assert all(text.endswith("2") for text in rows(run_page))


def test_the_list_follows_what_is_typed(run_page: Page) -> None:
    run_page.keyboard.press("f")
    run_page.keyboard.type("case_07342")

    expect(run_page.locator(".case-row")).to_have_count(1)
    expect(run_page).to_have_url(re.compile("q=case_07342"))
    assert rows(run_page) == ["case_07342"]


def test_search_works_without_the_script(browse: Callable[..., Page], run_page: Page) -> None:
    plain = browse(java_script_enabled=False)
    plain.goto(run_page.url)

    plain.locator("#q").fill("case_07342")
    plain.locator("#q").press("Enter")

    expect(plain.locator(".case-row")).to_have_count(1)
    follow(plain.locator(".case-row"))
    expect(plain.locator("#case .case-top")).to_contain_text("case_07342")


def test_what_is_searched_in_vain_is_told(run_page: Page) -> None:
    run_page.locator("#q").fill("<nothing> like %this")
    run_page.locator("#q").press("Enter")

    expect(run_page.locator("#q")).to_have_value("<nothing> like %this")
    expect(run_page.locator(".case-row")).to_have_count(0)
    expect(run_page.get_by_role("link", name="Show all 10,000 cases")).to_be_visible()
    assert violations(run_page) == []


def test_pages_follow_one_another_within_a_cause(run_page: Page) -> None:
    cause = run_page.locator(".cause").first
    follow(cause.get_by_role("link", name="more"))
    first = rows(run_page)

    follow(run_page.get_by_role("link", name="Next →").last)
    second = rows(run_page)

    assert not set(first) & set(second)
    follow(run_page.get_by_role("link", name="← Previous").first)
    assert rows(run_page) == first


def test_j_and_k_move_in_the_list_and_the_case_beside_it_follows(run_page: Page) -> None:
    first = rows(run_page)[0]
    expect(run_page.locator("#case .case-top")).to_contain_text(first)

    run_page.keyboard.press("j")

    second = rows(run_page)[1]
    expect(run_page.locator("#case .case-top")).to_contain_text(second)
    expect(run_page.locator(".case-row[aria-current] > code")).to_have_text(second)
    expect(run_page).to_have_url(re.compile(f"case={second}"))
    run_page.reload()
    expect(run_page.locator("#case .case-top")).to_contain_text(second)


def test_on_a_phone_the_list_and_the_case_are_two_pages(browse: Callable[..., Page], run_page: Page) -> None:
    phone = browse(viewport={"width": 360, "height": 740})
    phone.goto(run_page.url)
    expect(phone.locator("#case")).to_be_hidden()
    assert sticking_out(phone) == []

    follow(phone.locator(".case-row").first)

    expect(phone.locator("#case")).to_be_visible()
    expect(phone.locator("#list")).to_be_hidden()
    follow(phone.get_by_role("link", name="All cases"))
    expect(phone.locator("#list")).to_be_visible()
