"""Runs that say nothing but hostile texts: nothing is obeyed, nothing breaks, and every text is there to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect
from tests.browser.checks import follow, planted, sticking_out
from tests.hostile import corpus
from tests.hostile.results import tool_name

from rightcall.reporting.pages import case_key, key_of, visible
from rightcall.reporting.store import list_runs
from rightcall.values.redaction import redacted_text

KINDS = list(corpus.PAYLOADS)


@pytest.fixture
def address(hostile: Path, serve: Callable[[Path], str]) -> Callable[..., str]:
    """Where a page of the run of a kind of payload is; of the run with all of them for no kind."""

    def address(kind: str = "", path: str = "") -> str:
        folders = list_runs(hostile / "runs")
        folder = folders[KINDS.index(kind) if kind else -1]
        return f"{serve(hostile / 'runs')}/runs/{folder.name}{path}"

    return address


def check_nothing_happened(page: Page) -> None:
    """Nothing was planted, and the page fits a desktop's window and a phone's."""
    assert planted(page) == []
    assert sticking_out(page) == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert sticking_out(page) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_shows_every_payload_as_it_is(page: Page, address: Callable[..., str], kind: str) -> None:
    page.goto(address(kind, f"/cases/{case_key(kind)}"))

    names = page.locator("section.tl-call h3 strong").evaluate_all("all => all.map((each) => each.textContent)")
    shown = [visible(redacted_text(tool_name(text))) for text in corpus.PAYLOADS[kind]]
    assert [squeezed(name) for name in names] == [squeezed(name) for name in shown]
    check_nothing_happened(page)


@pytest.mark.parametrize("kind", ["script", "handler", "link", "terminal", "unicode", "path"])
def test_a_tool_and_a_case_named_by_a_payload_can_be_looked_at(
    page: Page, address: Callable[..., str], kind: str
) -> None:
    text = corpus.PAYLOADS[kind][0]

    page.goto(address(kind, f"/cases/{case_key(text)}"))
    expect(page.locator("h1")).to_contain_text(squeezed(visible(text)))
    check_nothing_happened(page)

    page.goto(address(kind, f"/tools/{key_of(tool_name(text))}"))
    expect(page.locator("h1")).to_contain_text(squeezed(visible(text)))
    check_nothing_happened(page)


def test_runs_whose_headers_are_hostile_are_listed(page: Page, address: Callable[..., str]) -> None:
    page.goto(address().partition("/runs/")[0])

    expect(page.locator("table.runs tbody tr")).to_have_count(len(KINDS) + 1)
    check_nothing_happened(page)


def test_trends_of_runs_whose_headers_are_hostile_are_shown(page: Page, address: Callable[..., str]) -> None:
    page.goto(f"{address().partition('/runs/')[0]}/trends")

    expect(page.locator("h1")).to_be_visible()
    check_nothing_happened(page)


def pages(page: Page) -> Iterator[None]:
    """Yield once for each page of a list, from the one that is shown on."""
    while True:
        check_nothing_happened(page)
        yield
        page.set_viewport_size({"width": 1440, "height": 900})
        after = page.get_by_role("link", name="Next →").first
        if not after.count():
            return
        follow(after)


def keys(page: Page) -> set[str]:
    """The cases that a page lists."""
    return set(page.locator(".case-row").evaluate_all("found => found.map(each => each.dataset.open)"))


def test_a_run_of_all_payloads_can_be_paged_through(page: Page, address: Callable[..., str]) -> None:
    page.goto(address())
    seen, causes = set(), list[str]()
    for _ in pages(page):
        seen |= keys(page)
        causes += page.locator(".cause .more a").evaluate_all("found => found.map(each => each.href)")
    for cause in causes:
        page.goto(cause)
        for _ in pages(page):
            seen |= keys(page)

    assert len(seen) == len(corpus.SHORT) + len(corpus.LONG)


@pytest.mark.parametrize("text", [corpus.LONG[0], corpus.LONG[2], corpus.LONG[4]], ids=["letters", "tags", "lines"])
def test_a_case_of_a_million_characters_is_a_page_like_any_other(
    page: Page, address: Callable[..., str], text: str
) -> None:
    page.goto(address("", f"/cases/{case_key(text)}"))

    expect(page.locator("h1")).to_be_visible()
    check_nothing_happened(page)


@pytest.mark.parametrize("kinds", [("script", "handler"), ("template", "bidi", "unicode")], ids=len)
def test_hostile_runs_are_compared(page: Page, address: Callable[..., str], kinds: tuple[str, ...]) -> None:
    chosen = [("run", address(kind).rpartition("/")[2]) for kind in kinds]
    page.goto(f"{address().partition('/runs/')[0]}/compare?{urlencode(chosen)}")

    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("main")).to_contain_text(corpus.PAYLOADS[kinds[0]][0])
    check_nothing_happened(page)


def test_what_is_searched_for_stays_text(page: Page, address: Callable[..., str]) -> None:
    for text in (*corpus.PAYLOADS["query"], *corpus.PAYLOADS["script"][:4]):
        page.goto(f"{address('script')}?{urlencode({'q': text, 'verdict': text, 'rule': text, 'page': text})}")

        assert page.locator("#q").input_value().strip() == one_line(visible(text)).strip()
        assert planted(page) == []


def one_line(text: str) -> str:
    """A text as a field for one line holds it."""
    return text.replace("\n", "").replace("\r", "")


def squeezed(text: str) -> str:
    """A text as far as its spaces, which pages may fold, do not matter."""
    return " ".join(text.split())
