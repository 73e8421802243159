"""Every page, with real runs: readable by everybody, at every size, in every light, with and without the script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.checks import sticking_out, violations
from tests.browser.runs import project_runs

from rightcall.cases.mutants import OPERATORS
from rightcall.reporting.pages import case_key, key_of
from rightcall.reporting.store import keep_mutation
from rightcall.values.results import MutatedCase, MutationReport, Survivor

Browse = Callable[..., Page]
PAGES = {
    "runs": "/",
    "run": "/runs/{run}",
    "failing case": "/runs/{run}/cases/{failing}",
    "passing case": "/runs/{run}/cases/{passing}",
    "tool": "/runs/{run}/tools/{tool}",
    "mutants": "/runs/{run}/mutants",
    "trends": "/trends",
    "compare": "/compare?a={fixed}&b={run}",
    "paths": "/paths?run={run}&path=1",
    "paths of a case": "/paths?run={run}&case=reserve_two&args=1",
    "paths compared": "/paths?a={fixed}&b={run}",
    "three runs": "/compare?run={fixed}&run={first}&run={run}",
    "nothing": "/runs/nothing",
}


_CALLS = ('search_products(query="laptop")', 'reserve_item(product_id="P001", quantity=1)')
_GAP = Survivor(operator="drop", fault="without `reserve_item`", line="counts: {reserve_item: 1}", calls=_CALLS[:1])
_CELLS: dict[str, tuple[int, int]] = dict.fromkeys(OPERATORS, (1, 2))
MUTANTS = MutationReport(
    evalset="evals/shop.yaml",
    operators=OPERATORS,
    cases=(MutatedCase(case_id="reserve_one", expected=_CALLS, cells=_CELLS, survivors=(_GAP,), set_aside={"why": 1}),),
)


@pytest.fixture
def address(examples: Path, serve: Callable[[Path], str]) -> Callable[[str], str]:
    """Where a page is, by its name."""
    fixed, first, run = project_runs(examples)
    keep_mutation(run.folder, MUTANTS)
    names = {
        "run": run.folder.name,
        "first": first.folder.name,
        "fixed": fixed.folder.name,
        "failing": case_key("reserve_two"),
        "passing": case_key("reserve_one"),
        "tool": key_of("reserve_item"),
    }
    return lambda name: serve(examples / "runs") + PAGES[name].format(**names)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_on_a_page_is_out_of_reach_in_any_light(page: Page, address: Callable[[str], str], name: str) -> None:
    page.goto(address(name))

    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, "color-contrast") == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_no_wider_than_its_window(page: Page, address: Callable[[str], str], name: str) -> None:
    page.goto(address(name))

    for width in (360, 768, 1280, 3840):
        page.set_viewport_size({"width": width, "height": 800})
        assert sticking_out(page) == [], width


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_without_the_script(browse: Browse, address: Callable[[str], str], name: str) -> None:
    with_script, without = browse(), browse(java_script_enabled=False)

    for page in (with_script, without):
        page.goto(address(name))

    assert said(without) == said(with_script)
    expect(without.get_by_role("button", name="Copy", exact=True)).to_have_count(0)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_heading_landmarks_and_a_way_to_skip(
    page: Page, address: Callable[[str], str], name: str
) -> None:
    page.goto(address(name))
    page.keyboard.press("Tab")

    expect(page.locator("h1")).to_have_count(1)
    for landmark in ("header.top", "main", "footer.bottom"):
        expect(page.locator(landmark)).to_have_count(1)
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


@pytest.mark.parametrize("name", ["runs", "run", "failing case", "compare"])
def test_printed_a_page_is_black_on_white_and_without_controls(
    browse: Browse, address: Callable[[str], str], name: str
) -> None:
    page = browse(color_scheme="dark")
    page.goto(address(name))
    page.emulate_media(media="print")

    colours = page.evaluate("(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))")
    assert brightness(colours[0]) < 60
    assert brightness(colours[1]) > 240 or colours[1] == "rgba(0, 0, 0, 0)"
    expect(page.locator("button:visible")).to_have_count(0)
    assert page.pdf().startswith(b"%PDF")


def said(page: Page) -> list[str]:
    """The words on a page, but for those of buttons that need the script, and for how long ago something was."""
    text = page.locator("main").inner_text()
    for each in page.locator("main time, main [data-unfold]:visible, main button.copy:visible").all_inner_texts():
        text = text.replace(each, "", 1)
    return [word for word in text.split() if word != "Copy"]


def brightness(colour: str) -> float:
    """How bright a colour like `rgb(1, 2, 3)` is, from 0 to 255."""
    return sum(float(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3]) / 3
