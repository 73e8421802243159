"""What strangers wrote, on its way into a page."""

import re

import pytest
from hypothesis import given, strategies as st
from tests.reporting.reports.reporting import HOSTILE, harmful, result
from tests.walls import for_each

from rightcall.reporting.pages import CaseRow, Links, ShownText, case_key, key_of, moment, row_of, shown_text
from rightcall.values.results import Finding, PlacedFinding, Source


@for_each("text", HOSTILE)
def test_a_shown_text_has_no_character_that_hides_or_turns_others(text: str) -> None:
    shown = shown_text(text, one_line=True)

    assert not harmful(shown.head + shown.tail)


def test_a_long_text_is_cut_in_the_middle_and_says_how_much_is_left_out() -> None:
    shown = shown_text("a" * 700 + "b" * 9_000 + "c" * 300, 900)

    assert shown == ShownText("a" * 600, "c" * 300, 9_100, 10_000)
    assert str(shown).startswith("aaa")
    assert "9,100 characters" in str(shown)


def test_the_whole_of_a_cut_text_comes_along_unless_it_is_too_long_for_a_page() -> None:
    assert shown_text("x" * 5_000, whole=True).whole == "x" * 5_000
    assert shown_text("x" * 5_000).whole == ""
    assert shown_text("x" * 1_000_000, whole=True).whole == ""


@given(st.text(), st.integers(0, 3))
def test_a_key_is_a_harmless_part_of_an_address(case_id: str, repeat: int) -> None:
    assert re.fullmatch(r"([A-Za-z0-9_-]{1,40}-)?[0-9a-f]{16}(\.\d)?", case_key(case_id, repeat))


def test_names_that_begin_alike_or_differ_in_case_have_keys_of_their_own() -> None:
    names = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "a" * 300, "a" * 301, "CON", "con", "", "\ud800", "\u202e"]

    assert len({key_of(name) for name in names}) == len(names)


def test_in_one_file_cases_have_anchors_and_other_pages_have_no_address() -> None:
    links = Links(is_one_file=True)

    assert links.case("8f2c", "x-1") == "#case-x-1"
    assert [links.runs(), links.tool("8f2c", "search"), links.compare("a", "b")] == ["", "", ""]


def test_in_the_viewer_everything_has_an_address_and_data_cannot_leave_its_place() -> None:
    links = Links()

    assert (
        links.run("8f2c", verdict="failed", q="a&b=<c>", page=2) == "/runs/8f2c?verdict=failed&q=a%26b%3D%3Cc%3E&page=2"
    )
    assert links.run("../x?y", q="", page=0) == "/runs/..%2Fx%3Fy"
    assert re.fullmatch(r"/runs/8f2c/tools/[\w-]+", links.tool("8f2c", "../../x?y#z"))


def test_a_row_has_the_gravest_sentence_and_each_problem_once() -> None:
    source = Source("shop.yaml", 1, 1)
    findings = [
        Finding("RC102", "`add_to_cart` was called, but not expected", path="expected"),
        Finding("RC101", "`reserve_item` was never called"),
        Finding("RC101", "`reserve_item` was never called"),
    ]
    placed = tuple([PlacedFinding("calls", finding, source) for finding in findings])

    row = row_of(result("laptop", "failed", findings=placed, calls=["search", "search"]), tags=("smoke",))

    assert row.why == "`reserve_item` was never called"
    assert [problem.code for problem in row.problems] == ["RC101", "RC102"]
    assert (row.tools, row.calls, row.tags) == (("search",), 2, ("smoke",))


def test_a_row_of_a_case_that_passed_has_nothing_to_say() -> None:
    row = row_of(result("laptop"))

    assert row == CaseRow(
        key=case_key("laptop"), case_id="laptop", repeat=0, number=1, verdict="passed", score=1.0, why="", seconds=None
    )


def test_a_time_is_told_for_people_and_for_programs_and_any_other_text_stands_for_itself() -> None:
    now = moment("2026-11-16T03:00:00+00:00")

    assert now.absolute == "2026-11-16 03:00:00 UTC"
    assert moment("yesterday").absolute == "yesterday"


def test_accents_piled_upon_a_letter_are_escaped_after_the_eighth() -> None:
    shown = shown_text("a" + "\u0301" * 200 + "b")

    assert shown.head == "a" + "\u0301" * 8 + "\\u0301" * 192 + "b"


@pytest.mark.parametrize("text", ["Việt Nam", "שָׁלוֹם", "नमस्ते दुनिया", "ภาษาไทยเป็นภาษา"])
def test_writing_with_accents_is_left_as_it_is(text: str) -> None:
    assert shown_text(text).head == text
