"""A run of 500 cases with eleven kinds of failure: found, understood and acted on, in the first viewport."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.checks import planted, sticking_out, violations
from tests.browser.support import KINDS

from rightcall.reporting.pages import case_key
from rightcall.reporting.store import list_runs

DESKTOP = {"viewport": {"width": 1440, "height": 900}}
PHONE = {"viewport": {"width": 360, "height": 780}}
SIZES = {"desktop": DESKTOP, "tablet": {"viewport": {"width": 768, "height": 1024}}, "phone": PHONE}
RULES: dict[str, tuple[str, ...]] = {"light": (), "dark": ("color-contrast",)}
"""What is asked of a page in a light: everything, and in the other, which changes colours only, what is about them."""
AMOUNT = case_key("refund_0003")


@pytest.fixture
def runs(support: Path) -> list[str]:
    return [each.name for each in list_runs(support / ".rightcall" / "runs")]


@pytest.fixture
def url(support: Path, serve: Callable[[Path], str]) -> str:
    return serve(support / ".rightcall" / "runs")


def in_view(*targets: Locator) -> None:
    for target in targets:
        expect(target).to_be_in_viewport(ratio=1)


def unscrolled(page: Page) -> None:
    scrolled = "() => [...document.querySelectorAll('*')].filter((each) => each.scrollTop > 0).length"
    assert page.evaluate(scrolled) == 0


def test_one_click_leads_to_the_commonest_cause_the_wrong_argument_and_the_message_before_it(
    browse: Callable[..., Page], url: str
) -> None:
    page = browse(**DESKTOP)
    page.goto(url)
    page.locator("table.runs tbody tr").first.get_by_role("rowheader").get_by_role("link").click()

    first = page.locator("details.cause").first
    in_view(first.locator("summary"), page.locator(".case-row[aria-current]"))
    expect(first.locator("summary")).to_contain_text(re.compile(r"issue_refund amount differs.*31"))
    case = page.locator("#case")
    wrong = case.locator(".differs tbody tr").first
    in_view(case.locator(".sentence"), wrong)
    assert case.locator(".sentence mark").all_inner_texts() == ["5990", "59.9"]
    expect(wrong).to_contain_text("amount")
    assert wrong.locator("td").all_inner_texts() == ["59.9", "5990"]
    said = case.locator(".tl-said.model", has_text="The order total is 59.90 EUR")
    in_view(said)
    expect(said).to_contain_text("gpt-4.1-mini · 1,370 in · 63 out · $0.0018")
    unscrolled(page)


def test_eleven_causes_are_listed_and_add_up(browse: Callable[..., Page], url: str, runs: list[str]) -> None:
    page = browse(**DESKTOP)
    page.goto(f"{url}/runs/{runs[-1]}?verdict=open")

    told = page.locator("details.cause > summary > strong").all_inner_texts()

    assert sorted([int(re.sub(r"\D", "", each)) for each in told]) == sorted([count for _, count in KINDS])
    in_view(*page.locator("details.cause > summary").all())


def test_a_filter_leaves_the_list_in_view_and_is_named(browse: Callable[..., Page], url: str, runs: list[str]) -> None:
    page = browse(**DESKTOP)
    page.goto(f"{url}/runs/{runs[-1]}")

    page.get_by_role("link", name="25 more").click()

    in_view(page.locator(".filtered"), page.locator(".case-row").first)
    expect(page.locator(".filtered")).to_contain_text("issue_refund")
    page.get_by_role("link", name="Show all cases").click()
    expect(page.locator(".filtered")).to_have_count(0)


def test_regressions_are_named_in_the_first_viewport(browse: Callable[..., Page], url: str, runs: list[str]) -> None:
    page = browse(**DESKTOP)
    page.goto(f"{url}/compare?a={runs[0]}&b={runs[-1]}")

    in_view(page.locator("[data-tabs] a", has_text="Regressions"), page.locator("[data-tabs] a", has_text="Fixes"))
    groups = page.locator("details.cause > summary")
    in_view(*groups.all()[:8])
    expect(groups.first).to_contain_text("issue_refund amount 59.9 → 5990")
    for row in page.locator(".case-row code").all()[:6]:
        assert row.evaluate("(each) => each.getClientRects().length") == 1  # ids are not broken
    unscrolled(page)


def test_a_path_is_accepted_from_the_browser_and_git_has_the_diff(
    browse: Callable[..., Page], project: tuple[Path, str]
) -> None:
    folder, address = project
    page = browse(**DESKTOP)
    page.goto(f"{address}/runs/{list_runs(folder / '.rightcall' / 'runs')[-1].name}")

    page.locator("#case").get_by_role("link", name="Accept this path…").first.click()
    dialog = page.get_by_role("dialog", name="Accept this path")
    expect(dialog.locator("tr.added")).to_contain_text("amount: 5990")
    assert violations(page) == []
    assert _git_diff(folder) == []
    dialog.get_by_role("button", name="Write to evals/support.yaml").click()

    expect(page.get_by_role("status").filter(has_text="evals/support.yaml written, 2 lines")).to_be_visible()
    assert "/cases/" not in page.url
    assert _git_diff(folder) == [
        "-        - issue_refund: {order_id: O-2003, amount: 59.9}  # in euros",
        "+        - issue_refund: {order_id: O-2003, amount: 5990}  # in euros",
    ]

    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert _git_diff(folder) == []


def test_an_argument_is_ignored_without_a_script(browse: Callable[..., Page], project: tuple[Path, str]) -> None:
    folder, address = project
    page = browse(**DESKTOP, java_script_enabled=False)
    page.goto(f"{address}/runs/{list_runs(folder / '.rightcall' / 'runs')[-1].name}/cases/{AMOUNT}")

    page.get_by_role("link", name="Ignore amount…").click()
    expect(page.locator("h1")).to_have_text("Ignore this argument")
    page.get_by_role("button", name="Write to evals/support.yaml").click()

    expect(page.get_by_role("status").filter(has_text="written, 2 lines")).to_be_visible()
    assert _git_diff(folder)[1] == "+        - issue_refund: {order_id: O-2003}  # in euros"


def test_a_form_of_another_site_is_refused(watch_page: Page, project: tuple[Path, str], tmp_path: Path) -> None:
    folder, address = project
    run = list_runs(folder / ".rightcall" / "runs")[-1].name
    watch_page.goto(f"{address}/runs/{run}/cases/{AMOUNT}/accept")
    fields = watch_page.locator("#edit form input").evaluate_all("(all) => all.map((each) => each.outerHTML).join('')")
    action = f"{address}/runs/{run}/cases/{AMOUNT}/accept"
    attack = f'<form method="post" action="{action}">{fields}<button>Win</button></form>'
    (tmp_path / "evil.html").write_text(attack, encoding="utf-8")

    watch_page.goto((tmp_path / "evil.html").as_uri())
    with watch_page.expect_navigation() as answered:
        watch_page.get_by_role("button").click()

    assert answered.value is not None
    assert answered.value.status == 403
    assert _git_diff(folder) == []


def test_a_search_finds_cases_of_all_runs(browse: Callable[..., Page], url: str) -> None:
    page = browse(**DESKTOP)
    page.goto(url)

    page.keyboard.press("/")
    page.keyboard.type("refund_0003")
    page.keyboard.press("Enter")

    found = page.locator(".found li")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("and in 1 more run")
    found.get_by_role("link").click()
    expect(page.locator("h1")).to_contain_text("refund_0003")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", RULES)
def test_the_first_screens_are_accessible_and_fit(
    browse: Callable[..., Page], url: str, runs: list[str], size: str, scheme: str
) -> None:
    page = browse(**SIZES[size], color_scheme=scheme)
    case = f"/runs/{runs[-1]}/cases/{AMOUNT}"
    for address in (
        "/",
        f"/runs/{runs[-1]}",
        case,
        f"/compare?a={runs[0]}&b={runs[-1]}&ignore=order_id",
        "/trends",
        f"/paths?run={runs[-1]}",
        "/search?q=refund_000",
        "/search?q=nothing-like-it",
        f"/runs/{runs[-1]}?q=nothing-like-it",
    ):
        page.goto(f"{url}{address}")
        assert sticking_out(page) == [], address
        assert violations(page, *RULES[scheme]) == [], address
        assert planted(page) == [], address
        assert page.locator("h1").count() == 1, address


def test_on_a_phone_the_problem_of_a_case_is_in_view_above_a_bar_that_leads_on(
    browse: Callable[..., Page], url: str, runs: list[str]
) -> None:
    page = browse(**PHONE)
    page.goto(f"{url}/runs/{runs[-1]}/cases/{AMOUNT}")

    bar = page.get_by_role("navigation", name="Cases")
    shown = page.locator(".differs mark.given").first
    in_view(page.locator(".sentence"), shown, page.locator(".tl-said.model", has_text="The order total"), bar)
    edges = [each.bounding_box() or {"y": 0.0, "height": 0.0} for each in (shown, bar)]
    assert edges[0]["y"] + edges[0]["height"] < edges[1]["y"]
    assert edges[1]["y"] + edges[1]["height"] == PHONE["viewport"]["height"]
    bar.get_by_role("link", name="Case →").click()
    expect(page.locator("h1")).to_contain_text("refund_0007")
    page.get_by_role("link", name="List", exact=True).click()
    expect(page.locator("h1")).to_contain_text("392 of 500 passed")


def test_an_ignored_argument_is_a_tag_that_takes_itself_away(
    browse: Callable[..., Page], url: str, runs: list[str]
) -> None:
    page = browse(**PHONE)
    page.goto(f"{url}/compare?a={runs[0]}&b={runs[-1]}&ignore=amount&ignore=order_id")

    expect(page.locator("details.cause > summary", has_text="issue_refund amount")).to_have_count(0)
    page.get_by_role("link", name="ignoring amount").click()

    expect(page.locator(".filtered .tag")).to_have_text([re.compile("ignoring order_id")])
    in_view(page.locator("details.cause > summary", has_text="issue_refund amount"))


def test_where_a_value_comes_from_is_drawn_while_its_link_has_the_focus(
    browse: Callable[..., Page], url: str, runs: list[str]
) -> None:
    page = browse(**DESKTOP)
    page.goto(f"{url}/runs/{runs[-1]}/cases/{case_key('refund_0000')}")
    flow = page.locator("#call-3 .flow a").first

    flow.focus()

    [line, source, use] = [
        each.bounding_box() or {"y": 0.0, "height": 0.0}
        for each in (page.locator(".flow-line path"), page.locator("#call-1 .tl-out"), flow)
    ]
    assert source["y"] < line["y"] < source["y"] + source["height"]
    assert use["y"] < line["y"] + line["height"] < use["y"] + use["height"] + 8
    flow.blur()
    expect(page.locator(".flow-line")).to_have_count(0)


def _git_diff(folder: Path) -> list[str]:
    done = subprocess.run(["git", "diff", "-U0"], cwd=folder, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_on_a_phone_a_compared_case_the_newest_rate_and_a_search_are_in_view(
    browse: Callable[..., Page], url: str, runs: list[str]
) -> None:
    page = browse(**PHONE)
    page.goto(f"{url}/compare?a={runs[0]}&b={runs[1]}&case={AMOUNT}")
    in_view(page.get_by_role("heading", level=1), page.locator("table.both-paths tr.changed"))

    page.goto(f"{url}/trends")
    in_view(page.locator(".trend .point").first, page.locator(".trend .point").last)

    search = page.get_by_role("searchbox")
    search.focus()
    box = search.bounding_box()
    assert box is not None
    assert box["width"] > 300
    assert sticking_out(page) == []
