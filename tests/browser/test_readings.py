"""What a reader takes from a case: who said what in which turn, what was expected, and what went wrong in a tool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.runs import made_once
from tests.processes import rightcall

from rightcall.reporting.pages import case_key, key_of
from rightcall.reporting.store import list_runs

Serve = Callable[[Path], str]

_AGENT = """\
import os
from rightcall import tool

@tool
def search_products(query: str) -> list:
    return ["Pro Laptop"]

@tool
def get_order(order_id: str, limit: int = 10) -> dict:
    if order_id == "O-404":
        raise KeyError(f"no such order: {order_id}")
    return {"status": "sent"}

def answer(text: str) -> str:
    if "order" in text:
        try:
            return get_order(order_id=text.split()[-1], limit=10)["status"]
        except KeyError:
            return "There is no such order."
    if "laptop" in text:
        return "Yes: " + ", ".join(search_products(query="laptop"))
    return os.environ.get("FAREWELL", "You are welcome.")
"""
_CASES = """\
cases:
  - id: talk
    turns:
      - input: Do you have a laptop?
        expect: {calls: [{search_products: {query: laptop}}]}
      - input: Thanks, that is all.
        expect: {calls: []}
  - id: unknown_order
    input: Where is order O-404
    expect: {calls: [get_order], outputs: [{get_order: {status: sent}}]}
  - id: arguments
    input: Where is order O-1
    expect: {calls: [{get_order: {order_id: O-1, limit: 3}}]}
  - id: outputs
    input: Where is order O-2
    expect: {outputs: [{get_order: {status: delivered}}]}
"""
_FAREWELLS = ["case_003", "case_001", "case_010", "case_002"]


def _write(folder: Path) -> None:
    """One run of the cases, and three of cases that are not in the order of their ids and change from run to run."""
    (folder / "agent.py").write_text(_AGENT, encoding="utf-8")
    (folder / "cases.yaml").write_text(_CASES, encoding="utf-8")
    farewells = [f"  - {{id: {each}, input: Bye, expect: {{output: Bye}}}}" for each in _FAREWELLS]
    (folder / "farewells.yaml").write_text("\n".join(["cases:", *farewells]), encoding="utf-8")
    for name, said in (("cases", ""), ("farewells", "Bye"), ("farewells", "Hm"), ("farewells", "Bye")):
        done = rightcall("run", "agent.py:answer", f"{name}.yaml", "--runs=runs", cwd=folder, FAREWELL=said)
        assert done.returncode in (0, 1), done.stderr


@pytest.fixture
def address(shared: Path, serve: Serve) -> str:
    return serve(made_once(shared / "readings", _write) / "runs")


@pytest.fixture
def names(address: str, shared: Path) -> list[str]:
    return [each.name for each in list_runs(shared / "readings" / "runs")]


@pytest.fixture
def case(page: Page, address: str, names: list[str]) -> Callable[[str], Page]:
    """Opens a case, with everything that is folded."""

    def opened(case_id: str) -> Page:
        page.goto(f"{address}/runs/{names[0]}/cases/{case_key(case_id)}")
        page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
        return page

    return opened


def font_of(shown: Locator) -> str:
    """The font that the element has, as the stylesheet names it."""
    return str(shown.evaluate("shown => getComputedStyle(shown).fontFamily"))


def test_a_turn_is_a_heading_with_its_question_its_calls_and_its_answer(case: Callable[[str], Page]) -> None:
    page = case("talk")

    headings = page.get_by_role("heading", name="Turn ")
    expect(headings).to_have_text(["Turn 1 of 2 as expected", "Turn 2 of 2 as expected"])
    text = page.locator(".timeline").inner_text()
    told = ["Turn 1 of 2", "Do you have a laptop?", "search_products", "Yes: Pro Laptop"]
    told += ["Turn 2 of 2", "Thanks, that is all.", "no calls, as expected"]
    places = [text.index(each) for each in told]
    assert places == sorted(places)
    assert text.count("no calls, as expected") == 1


def test_a_turn_without_calls_is_not_an_empty_table(case: Callable[[str], Page]) -> None:
    page = case("talk")

    expect(page.locator(".evaluation")).to_contain_text("Turn 2: no calls, as expected")
    for table in page.locator("table").all():
        assert table.locator("tbody tr").count() > 0


@pytest.mark.parametrize("case_id", ["arguments", "outputs"])
def test_values_and_the_sign_between_them_are_in_the_code_font(case: Callable[[str], Page], case_id: str) -> None:
    page = case(case_id)
    code = font_of(page.locator("code").first)
    assert "monospace" in code

    for shown in (".differs mark.wanted", ".differs mark.given", ".change mark.wanted", ".change mark.given"):
        assert font_of(page.locator(shown).first) == code
    sign = page.locator(".change").get_by_text("→")
    assert font_of(sign) == code
    size = "shown => getComputedStyle(shown).fontSize"
    assert page.locator(".change mark.given").evaluate(size) == page.locator(".aligned td.mono").first.evaluate(size)


@pytest.mark.parametrize(
    ("case_id", "head", "wanted", "given"),
    [("arguments", "argument", "3", "10"), ("outputs", "output", "delivered", "sent")],
)
def test_what_is_expected_is_before_what_is_actual(
    case: Callable[[str], Page], case_id: str, head: str, wanted: str, given: str
) -> None:
    page = case(case_id)

    expect(page.locator(".differs thead th")).to_have_text([head, "expected", "actual"])
    for around in (".timeline .differs", ".evaluation .change"):
        marks = page.locator(f"{around} mark")
        expect(marks).to_have_text([wanted, given])
        left = [mark.bounding_box() for mark in marks.all()]
        assert left[0] is not None
        assert left[1] is not None
        assert left[0]["x"] < left[1]["x"]


def test_an_error_of_a_tool_has_its_type_and_its_message_and_no_output(case: Callable[[str], Page]) -> None:
    call = case("unknown_order").locator("#call-1")

    expect(call.locator(".tl-error")).to_have_text("KeyError: 'no such order: O-404'")
    expect(call.get_by_role("group", name="Error")).to_have_text("KeyError: 'no such order: O-404'")
    expect(call.get_by_role("heading", name="Output")).to_have_count(0)
    expect(call.get_by_role("group", name="Arguments")).to_be_visible()


def test_j_twice_and_enter_open_the_second_run(page: Page, address: str, names: list[str]) -> None:
    page.goto(address)

    page.keyboard.press("j")
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert page.url == f"{address}/runs/{names[-2]}"


def test_runs_beside_each_other_have_their_cases_by_id(page: Page, address: str, names: list[str]) -> None:
    page.goto(f"{address}/compare?{'&'.join(f'run={name}' for name in names[1:])}")

    expect(page.locator("table.verdicts tbody th code")).to_have_text(sorted(_FAREWELLS))


def test_a_head_sorts_the_runs_without_a_script(browse: Callable[..., Page], address: str, names: list[str]) -> None:
    page = browse(java_script_enabled=False)
    page.goto(address)
    first = page.locator("table.runs tbody tr").first.get_by_role("rowheader").get_by_role("link")
    expect(first).to_have_attribute("href", f"/runs/{names[-1]}")

    page.get_by_role("columnheader", name="Started").get_by_role("link").click()

    expect(page.get_by_role("columnheader", name="Started")).to_have_attribute("aria-sort", "ascending")
    expect(first).to_have_attribute("href", f"/runs/{names[0]}")


def test_heads_sort_every_table_without_a_script(
    browse: Callable[..., Page], serve: Serve, support: Path, address: str, names: list[str]
) -> None:
    large = serve(support / ".rightcall" / "runs")
    newest = list_runs(support / ".rightcall" / "runs")[-1].name
    tables = [
        (f"{large}/runs/{newest}/tools/{key_of('issue_refund')}", "table.calls", "Case"),
        (f"{large}/paths?run={newest}", "table.taken", "Runs"),
        (f"{large}/paths?run={newest}", "table.named", "Tool"),
        (f"{large}/paths?run={newest}", "details table", "Times"),
        (f"{address}/compare?{'&'.join(f'run={name}' for name in names[1:])}", "table.verdicts", "Case"),
        (f"{address}/trends?evalset=farewells.yaml", "table.flaky", "Case"),
    ]
    page = browse(java_script_enabled=False)
    for where, table, label in tables:
        page.goto(where)
        head = page.locator(table).get_by_role("columnheader", name=label, include_hidden=True)
        orders = []
        for direction in ("ascending", "descending"):
            page.goto(urljoin(page.url, head.get_by_role("link", include_hidden=True).get_attribute("href") or ""))
            expect(head).to_have_attribute("aria-sort", direction)
            expect(head).to_be_in_viewport()
            orders.append(page.locator(table).locator("tbody tr").all_text_contents())
        assert orders[0] != orders[1], (table, label)
