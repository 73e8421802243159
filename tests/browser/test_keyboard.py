"""The pages by keyboard alone: every key is also a control that can be seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.runs import project_runs

from rightcall.reporting.pages import case_key
from rightcall.reporting.store import list_runs


@pytest.fixture
def run_address(examples: Path, serve: Callable[[Path], str]) -> str:
    return f"{serve(examples / 'runs')}/runs/{project_runs(examples)[-1].folder.name}"


@pytest.fixture
def case_page(page: Page, run_address: str) -> Page:
    """The first case of the project that passed; it stands below the one that failed."""
    page.goto(f"{run_address}/cases/{case_key('laptop')}")
    return page


def shown_case(page: Page) -> str:
    return page.locator("h1").inner_text()


@pytest.mark.parametrize(("keys", "case_id"), [("j", "reserve_one"), ("k", "reserve_two"), ("jjk", "reserve_one")])
def test_j_and_k_go_from_case_to_case(case_page: Page, keys: str, case_id: str) -> None:
    for key in keys:
        with case_page.expect_navigation():
            case_page.keyboard.press(key)

    assert case_id in shown_case(case_page)


def test_n_and_p_go_from_failure_to_failure(page: Page, examples: Path, serve: Callable[[Path], str]) -> None:
    run = next(each for each in list_runs(examples / "runs") if "wrong_order" in (each / "cases.jsonl").read_text())
    page.goto(f"{serve(examples / 'runs')}/runs/{run.name}/cases/{case_key('as_expected')}")
    seen = []
    for key in "pppnp":
        problems = page.locator(".timeline .wrong, .timeline .tl-missing").count()
        for _ in range(problems - 1 if key == "n" else 0):  # the first is in view, and the others of a case come next
            page.keyboard.press(key)
        with page.expect_navigation():
            page.keyboard.press(key)
        seen.append(shown_case(page))

    assert all("failed" in each for each in seen)
    assert len(set(seen[:3])) == 3
    assert seen[3:] == [seen[1], seen[2]]


def test_d_shows_differences_only(page: Page, run_address: str) -> None:
    page.goto(f"{run_address}/cases/{case_key('reserve_two')}")
    page.locator("details.evaluation > summary").first.click()
    agreeing, differing = page.locator("tr.as-expected"), page.locator("tr.mismatch")
    expect(agreeing.first).to_be_visible()

    page.keyboard.press("d")
    expect(agreeing.first).to_be_hidden()
    expect(differing.first).to_be_visible()

    page.keyboard.press("d")
    expect(agreeing.first).to_be_visible()


def test_x_unfolds_what_is_as_expected(page: Page, run_address: str) -> None:
    page.goto(f"{run_address}/cases/{case_key('reserve_two')}")
    first = page.locator("#call-1")
    expect(first).to_be_hidden()

    page.keyboard.press("x")
    expect(first).to_be_visible()

    page.keyboard.press("x")
    expect(first).to_be_hidden()


@pytest.mark.parametrize(("key", "field"), [("/", "#search"), ("f", "#q")])
def test_a_key_goes_to_a_search_and_letters_typed_there_are_letters(
    page: Page, run_address: str, key: str, field: str
) -> None:
    page.goto(run_address)
    page.keyboard.press(key)
    expect(page.locator(field)).to_be_focused()

    page.keyboard.type("jknpdx1c?/two")
    expect(page.locator(field)).to_have_value("jknpdx1c?/two")
    page.keyboard.press("Escape")
    expect(page.locator(field)).not_to_be_focused()


def test_h_and_l_close_and_open_a_group_and_numbers_choose_a_filter(page: Page, run_address: str) -> None:
    page.goto(run_address)
    group = page.locator("details.cause").first
    expect(group).to_have_attribute("open", "")

    page.keyboard.press("h")
    expect(group).not_to_have_attribute("open", "")
    page.keyboard.press("l")
    expect(group).to_have_attribute("open", "")

    with page.expect_navigation():
        page.keyboard.press("2")
    expect(page.locator(".filters [aria-current]")).to_contain_text("Not passed")


def test_escape_clears_the_filter(page: Page, run_address: str) -> None:
    page.goto(f"{run_address}?q=reserve")
    expect(page.locator(".filtered")).to_contain_text("reserve")

    with page.expect_navigation():
        page.keyboard.press("Escape")
    expect(page.locator(".filtered")).to_have_count(0)


def test_c_copies_the_command_that_runs_the_case(browse: Callable[..., Page], run_address: str) -> None:
    page = browse(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{run_address}/cases/{case_key('reserve_two')}")

    page.keyboard.press("c")

    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("rightcall run shop_agent.py:answer evals/shop.yaml --case reserve_two")


def test_a_question_mark_opens_and_closes_the_help(case_page: Page) -> None:
    window = case_page.locator("#help")
    expect(window).to_be_hidden()

    case_page.keyboard.press("?")
    expect(window).to_be_visible()
    for key in "jknpdohlfxc/?":
        expect(window.locator("kbd", has_text=key).first).to_be_visible()

    case_page.keyboard.press("Escape")
    expect(window).to_be_hidden()
    case_page.get_by_role("button", name="Keyboard help").click()
    expect(window).to_be_visible()


def test_every_key_is_a_control_that_can_be_seen(case_page: Page) -> None:
    for key in ("j", "k", "p"):
        expect(case_page.locator(f"a[data-key={key}]")).to_be_visible()
    expect(case_page.locator("label", has=case_page.locator("[data-key=d]"))).to_be_visible()


def test_the_focus_is_always_seen(case_page: Page) -> None:
    seen = set()
    for _ in range(25):
        case_page.keyboard.press("Tab")
        outline = case_page.evaluate(
            """() => { const focused = document.activeElement, style = getComputedStyle(focused);
                       return [focused.outerHTML.slice(0, 80), style.outlineStyle, style.outlineWidth]; }"""
        )
        if "<body" in outline[0]:
            break
        seen.add(outline[0])
        assert outline[1] != "none", outline
        assert float(outline[2].removesuffix("px")) >= 2, outline
    assert len(seen) > 10
