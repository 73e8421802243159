"""A run that is not over: its page says so, and goes on by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.runs import slow_run
from tests.reporting.viewer.viewing import RIGHT, SEARCH, WRONG, new_run, results_of
from tests.waiting import until

from rightcall.reporting.pages import case_key
from rightcall.reporting.store import list_runs


def test_a_running_run_shows_its_progress_and_its_end(page: Page, tmp_path: Path, serve: Callable[[Path], str]) -> None:
    with slow_run(tmp_path, 3) as (runs, gates):
        [folder] = until(lambda: list_runs(runs))
        page.goto(f"{serve(runs)}/runs/{folder.name}")
        expect(page.get_by_role("status")).to_contain_text("not finished yet")
        expect(page.locator("main")).to_contain_text("0 of 3")
        page.evaluate("window.stayed = true")

        gates[0].touch()
        expect(page.locator(".case-row", has_text="case0")).to_be_visible()
        expect(page.locator("main")).to_contain_text("1 of 3")
        expect(page.locator("#case .case-top")).to_contain_text("case0")
        for gate in gates[1:]:
            gate.touch()

        expect(page.locator(".case-row", has_text="case2")).to_be_visible()
        expect(page.locator("html")).not_to_have_attribute("data-running", "")
        expect(page.get_by_role("status")).to_have_count(0)
    assert page.evaluate("window.stayed")


def test_a_case_of_a_running_run_follows_it_and_leaves_open_what_is_open(
    page: Page, tmp_path: Path, serve: Callable[[Path], str]
) -> None:
    wrong, other = results_of(tmp_path, laptop_search=WRONG, gift_card=SEARCH)
    [again] = results_of(tmp_path, laptop_search=RIGHT)
    run = new_run(tmp_path / "runs", wrong, is_complete=False, planned=2)
    journal = run.journal()
    page.goto(f"{serve(tmp_path / 'runs')}/runs/{run.folder.name}/cases/{case_key('laptop_search')}")
    expect(page.get_by_role("status")).to_contain_text("not finished yet")
    page.evaluate("window.stayed = true")
    for fold in page.locator(".tl-fold > summary").all():
        fold.click()
    page.locator("#call-1 .tl-more > summary").click()
    page.get_by_text("Record").first.click()
    page.evaluate("document.activeElement.blur()")

    journal.append(other, "digest")
    expect(page.get_by_role("link", name="Case →")).to_be_visible()
    for _ in range(2):
        page.wait_for_event("response", lambda response: response.url == page.url)
    expect(page.locator("#record-1")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("failed")

    page.get_by_label("differences only").check()
    page.get_by_label("differences only").blur()
    journal.append(again, "digest")
    expect(page.get_by_role("heading", level=1)).to_contain_text("passed")
    expect(page.locator("section.why")).to_have_count(0)
    expect(page.locator("#args-2")).to_contain_text("P001")
    expect(page.get_by_label("differences only")).to_be_checked()
    page.locator("#call-2 .tl-more > summary").click()
    expect(page.locator("#args-2 >> xpath=..").get_by_role("button", name="Copy")).to_be_visible()

    journal.close()
    expect(page.get_by_role("status")).to_have_count(0)
    expect(page.locator("html")).not_to_have_attribute("data-running", "")
    assert page.evaluate("window.stayed")


def test_a_run_that_was_stopped_says_how_to_go_on(page: Page, tmp_path: Path, serve: Callable[[Path], str]) -> None:
    with slow_run(tmp_path, 2) as (runs, gates):
        [folder] = until(lambda: list_runs(runs))
        gates[0].touch()
        until(lambda: (folder / "cases.jsonl").exists() and (folder / "cases.jsonl").stat().st_size)

    page.goto(f"{serve(runs)}/runs/{folder.name}")

    expect(page.locator("main")).to_contain_text("was interrupted")
    expect(page.locator("main")).to_contain_text("1 of 2")
    expect(page.locator("main")).to_contain_text(f"--resume {folder.name.rpartition('-')[2]}")
