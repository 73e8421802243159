"""The report in one file, opened from a disk: by everybody, with and without the script, whatever is in it."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.checks import planted, sticking_out, violations
from tests.browser.runs import made_once, project_runs
from tests.hostile import corpus
from tests.processes import rightcall

from rightcall.reporting.pages import case_key, visible
from rightcall.reporting.store import list_runs

Browse = Callable[..., Page]


def written(run: Path, folder: Path) -> Path:
    """The report of a run as one file."""
    file = folder / "report.html"
    done = rightcall("report", str(run), f"--format=html={file}")
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="package")
def report(examples: Path) -> Path:
    """The report of the new project, in which one case fails."""
    return made_once(examples / "html", lambda to: written(project_runs(examples)[-1].folder, to)) / "report.html"


@pytest.fixture(scope="package")
def hostile_report(hostile: Path) -> Path:
    """The report of the run with all payloads."""
    return made_once(hostile / "html", lambda to: written(list_runs(hostile / "runs")[-1], to)) / "report.html"


def cases(page: Page) -> list[str]:
    """The ids of the cases that can be seen."""
    lines = page.locator("article.case:visible").locator("summary, .line").all_inner_texts()
    return [
        next(name for name in ("reserve_one", "reserve_two", "laptop", "sold_out") if name in line) for line in lines
    ]


def test_it_is_in_reach_and_fits_in_any_light(page: Page, report: Path) -> None:
    page.goto(report.as_uri())

    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, "color-contrast") == []
    for width in (360, 1280, 3840):
        page.set_viewport_size({"width": width, "height": 800})
        assert sticking_out(page) == []


def test_what_was_wrong_is_on_the_first_screen(page: Page, report: Path) -> None:
    page.goto(report.as_uri())

    expect(page.locator(".why .sentence")).to_contain_text("with quantity 1, expected 2")
    expect(page.locator(".why .sentence")).to_be_in_viewport()


def test_it_says_the_same_without_the_script(browse: Browse, report: Path) -> None:
    page = browse(java_script_enabled=False)
    page.goto(report.as_uri())

    assert cases(page) == ["reserve_two", "laptop", "reserve_one", "sold_out"]
    expect(page.locator(".why .sentence")).to_be_visible()
    expect(page.locator("#choosing")).to_be_hidden()
    page.locator("summary").filter(has_text="laptop").click()
    expect(page.locator(f"#case-{case_key('laptop')}")).to_contain_text("search_products")


def test_filters_and_search_choose_cases(page: Page, report: Path) -> None:
    page.goto(report.as_uri())

    page.get_by_role("button", name="Failed").click()
    assert cases(page) == ["reserve_two"]
    page.get_by_role("button", name="All").click()
    page.locator("ul.groups a").first.click()
    assert cases(page) == ["reserve_two"]
    page.get_by_role("button", name="All").click()
    page.keyboard.press("/")
    page.keyboard.type("sold_out")
    expect(page.get_by_role("status")).to_contain_text("1 of 4")
    assert cases(page) == ["sold_out"]


def test_keys_go_from_case_to_case(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    focused = page.locator("article.case:focus-within")

    for keys, name in (("j", "reserve_two"), ("jj", "reserve_one"), ("k", "laptop"), ("p", "reserve_two")):
        for key in keys:
            page.keyboard.press(key)
        expect(focused).to_have_id(f"case-{case_key(name)}")
    page.keyboard.press("d")
    expect(page.locator("tr.as-expected:visible")).to_have_count(0)


def test_a_link_to_a_case_opens_it(page: Page, report: Path) -> None:
    page.goto(f"{report.as_uri()}#case-{case_key('sold_out')}")

    article = page.locator(f"#case-{case_key('sold_out')}")
    expect(article.locator("details").first).to_have_attribute("open", "")
    expect(article).to_be_in_viewport()


def test_its_policy_allows_its_own_style_and_script_and_nothing_else(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    [style] = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    [script] = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    own = [b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script)]

    assert (
        f"""content="default-src &#39;none&#39;; style-src &#39;sha256-{own[0]}&#39;; script-src """
        f"""&#39;sha256-{own[1]}&#39;; img-src data:; base-uri &#39;none&#39;; form-action &#39;none&#39;">"""
    ) in text
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert report.stat().st_mode & 0o077 == 0


def test_hostile_texts_are_texts_in_it(page: Page, hostile_report: Path) -> None:
    page.goto(hostile_report.as_uri())
    names = page.locator("article.case").evaluate_all(
        "all => all.map((each) => each.querySelector('summary, .line').textContent)"
    )

    assert planted(page) == []
    assert sticking_out(page) == []
    assert len(names) == len(corpus.SHORT) + len(corpus.LONG)
    for text in corpus.SHORT:
        assert [name for name in names if squeezed(visible(text)) in squeezed(name)], ascii(text)


def test_hostile_texts_are_texts_without_the_script(browse: Browse, hostile_report: Path) -> None:
    page = browse(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page.goto(hostile_report.as_uri())

    assert planted(page) == []
    assert sticking_out(page) == []


def squeezed(text: str) -> str:
    """A text as far as its spaces, which pages may fold, do not matter."""
    return " ".join(text.split())
