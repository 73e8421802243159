"""From all runs to the argument that was wrong, and to the run in which it began."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.runs import project_runs

from rightcall.reporting.pages import case_key

Serve = Callable[[Path], str]


@pytest.fixture
def failing(page: Page, examples: Path, serve: Serve) -> Page:
    """The page of the case that fails in the last run of the project."""
    run = project_runs(examples)[-1]
    page.goto(f"{serve(examples / 'runs')}/runs/{run.folder.name}/cases/{case_key('reserve_two')}")
    return page


def test_two_clicks_lead_from_all_runs_to_the_argument_that_was_wrong(page: Page, examples: Path, serve: Serve) -> None:
    run = project_runs(examples)[-1]
    page.goto(serve(examples / "runs"))

    page.get_by_role("rowheader").get_by_role("link", name=run.short_id).click()
    page.get_by_role("link", name="reserve_two").first.click()

    why = page.get_by_role("region", name="Why")
    expect(why).to_be_in_viewport(ratio=1)
    expect(why).to_contain_text("reserve_item was called with quantity 1, expected 2")
    expect(why).to_contain_text("evals/shop.yaml:")
    wrong = page.locator(".timeline .differs tbody tr").first
    expect(wrong).to_be_in_viewport(ratio=1)
    expect(wrong).to_contain_text("quantity")
    expect(wrong.locator("mark.wanted")).to_have_text("2")
    expect(wrong.locator("mark.given")).to_have_text("1")


def test_the_history_of_a_case_says_in_which_run_it_began(failing: Page, examples: Path) -> None:
    fixed, first, last = project_runs(examples)
    history = failing.locator("ol.history li")

    expect(history).to_have_count(3)
    expect(failing.locator("li.this")).to_contain_text(last.short_id)
    [began] = [text for text in history.all_inner_texts() if "stopped passing here" in text]
    assert first.short_id in began

    failing.locator("ol.history").get_by_role("link").filter(has_text=fixed.short_id).click()
    expect(failing.locator("h1 .badge")).to_contain_text("passed")


def test_two_boxes_and_a_button_compare_two_runs(page: Page, examples: Path, serve: Serve) -> None:
    fixed, _, last = project_runs(examples)
    page.goto(serve(examples / "runs"))

    for run in (fixed, last):
        page.get_by_role("checkbox", name=run.short_id).check()
    page.get_by_role("button", name="Compare").click()

    expect(page.locator("h1")).to_contain_text(fixed.short_id)
    expect(page.locator("h1")).to_contain_text(last.short_id)
    changed = page.locator(".cause", has=page.locator(".case-row", has_text="reserve_two"))
    expect(changed).to_contain_text("quantity 2 → 1")
    expect(page.locator(".case-row", has_text="reserve_one")).to_have_count(0)
    expect(page.locator("#case h2")).to_contain_text("reserve_two")
    page.get_by_role("link", name="Open after").click()
    expect(page.locator("h1")).to_contain_text("reserve_two")


def test_a_link_to_a_call_shows_that_call(failing: Page) -> None:
    failing.goto(f"{failing.url}#call-3")

    expect(failing.locator("#call-3")).to_be_in_viewport()
    expect(failing.locator("#call-3 h3")).to_contain_text("reserve_item")


def test_a_button_copies_arguments(browse: Callable[..., Page], failing: Page) -> None:
    page = browse(permissions=["clipboard-read", "clipboard-write"])
    page.goto(failing.url)

    page.locator("#call-3 .tl-more > summary").click()
    page.locator("#call-3").get_by_role("button", name="Copy").first.click()

    expect(page.locator("#call-3").get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "".join(copied.split()) == '{"product_id":"P003","quantity":1}'


def test_a_tool_shows_all_its_calls_and_leads_back_to_each(failing: Page) -> None:
    failing.locator("#call-3 h3").get_by_role("link", name="reserve_item").click()

    expect(failing.locator("h1")).to_contain_text("reserve_item")
    expect(failing.locator("table.calls tbody tr")).to_have_count(2)
    failing.get_by_role("link", name="reserve_two").click()
    expect(failing.locator("#call-3")).to_be_in_viewport()


def test_runs_say_when_they_were_in_both_ways(page: Page, examples: Path, serve: Serve) -> None:
    page.goto(serve(examples / "runs"))

    time = page.locator("table.runs time").first
    expect(time).to_have_attribute("datetime", project_runs(examples)[-1].header.started[:19] + "+00:00")
    expect(time).to_have_attribute("title", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    assert "ago" in time.inner_text() or "just now" in time.inner_text()


def test_a_conversation_shows_its_turns(page: Page, examples: Path, serve: Serve) -> None:
    page.goto(serve(examples / "runs"))
    page.get_by_role("row").filter(has_text="conversations.yaml").get_by_role("rowheader").get_by_role("link").click()

    page.get_by_role("link", name="two_phones").first.click()

    expect(page.locator(".timeline h3.tl-turn").first).to_contain_text("Turn 1 of ")
