"""The diagnosis of a run: summary lines, and each problem at its place in the user's own file."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.builders import call, calls
from tests.sampling import examples

from rightcall import CaseResult, ToolCall, Trajectory
from rightcall.cases.evalsets import load_eval_set
from rightcall.cases.verdicts import error_result, judge
from rightcall.reporting.reports import Paper, Report, cell_count, full_lines, full_report, problems_of
from rightcall.values.results import Finding, Outcome, PlacedFinding, Source, Totals

Judging = Callable[[str, Trajectory], CaseResult]

SHOP = """\
cases:
  - id: laptop_search
    input: Find me a laptop
    expect:
      calls:
        - search_products: {query: laptop, limit: 5}
        - get_product_details: {product_id: P001}
        - check_inventory: {product_id: P001}
        - reserve_item: {product_id: P001, ttl_s: 60}
"""
MADE = calls(
    call("search_products", query="laptop", limit=5),
    call("check_inventory", product_id="P001"),
    call("get_product_details", product_id="P010"),
    call("add_to_cart", product_id="P010", qty=1),
)
SOURCE = Source("evals/shop.yaml", 2, 9, "  - id: laptop_search")
HOSTILE = "\x1b[31m[bold]red[/bold]\x1b]8;;http://x\x07\u202egnp.exe\u2066 :smile: \r\x08<b>\x9b\n::error::\x00"


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judging:
    """The result of the only case of an eval set, written to `shop.yaml`."""
    monkeypatch.chdir(tmp_path)

    def judged(written: str, made: Trajectory) -> CaseResult:
        Path("shop.yaml").write_text(written, encoding="utf-8")
        return judge(load_eval_set("shop.yaml").cases[0], made)

    return judged


def report_of(*results: CaseResult, **fields: Any) -> Report:
    totals = Totals.of([result.verdict for result in results])
    return Report(results=lambda: iter(results), totals=totals, seconds=0.04, **fields)


def screen(*results: CaseResult, max_detail: int = 10, run_id: str = "", **paper: Any) -> list[str]:
    written = full_report(report_of(*results, run_id=run_id), Paper(**{"width": 100, **paper}), max_detail)
    return "".join(written).splitlines()


def named(result: CaseResult, case_id: str) -> CaseResult:
    return msgspec.structs.replace(result, case_id=case_id)


def passing(case_id: str = "fine") -> CaseResult:
    return CaseResult(case_id=case_id, verdict="passed", score=1.0, source=SOURCE)


def failing(message: str, *, code: str = "RC105", source: Source = SOURCE, **fields: Any) -> CaseResult:
    finding = PlacedFinding("counts", Finding(code, message), source)
    return CaseResult(case_id="c", verdict="failed", score=0.0, source=source, findings=(finding,), **fields)


def test_a_screen_of_100_columns_shows_the_path_beside_the_users_own_lines(judged: Judging) -> None:
    result = judged(SHOP, MADE)

    assert screen(result, passing(), run_id="8f2c") == [
        "  ✗ laptop_search       calls 1/4  missing 1  extra 1                                        4 calls",
        "  ✓ 1 more",
        "",
        "error[RC101 call-missing]: `reserve_item` was never called",
        " --> shop.yaml:9:11  laptop_search",
        "  |",
        "6 |   - search_products: {query: laptop, limit: 5}   ✓ 1",
        '7 |   - get_product_details: {product_id: P001}      ≠ 3  product_id "P001" → "P010"',
        "8 |   - check_inventory: {product_id: P001}          ⇅ 2  before get_product_details",
        "9 |   - reserve_item: {product_id: P001, ttl_s: 60}  −",
        "  |     ^^^^^^^^^^^^ expected here, nothing matched",
        '  |                                                  + 4  add_to_cart(product_id="P010", qty=1)',
        "  = help: `rightcall show 8f2c --case laptop_search` for the whole path",
        "",
        "1 passed, 1 failed in 0.04s  run 8f2c",
    ]


def test_broken_rules_have_their_reasons_and_those_that_never_applied_a_note(judged: Judging) -> None:
    rules = """\
rules:
  - {call: book, only_after: confirm, why: they must have said yes}
  - {call: refund, never_after: cancel}
cases:
  - id: trip
"""

    assert screen(judged(rules, calls(call("search"), call("book", id="TP9")))) == [
        "  ✗ trip                rules 1/2 (1 never applied)                                          2 calls",
        "",
        'error[RC116 rule-broken]: `book(id="TP9")` was called without `confirm` before it; `confirm` was',
        "  never called",
        " --> shop.yaml:2:5  trip",
        "  |",
        "2 |   - {call: book, only_after: confirm, why: they must have said yes}",
        "  |      ^^^^",
        "  = why: they must have said yes",
        "",
        "note[RC118 rule-never-applied]: `refund` never after `cancel`: no `cancel` was called",
        "",
        "1 failed in 0.04s",
    ]


GROUPS = """\
cases:
  - id: fix
    expect:
      calls:
        - {repeat: [edit, test], at_most: 3}
        - any_order:
            - check_seats
            - check_price
        - one_of: [push, open]
        - book: {id: {$from: search}}
        - optional: notify
"""
GROUPED = Trajectory.of(
    ["edit", "test", "edit", "test", "check_price", "open", {"name": "book", "args": {"id": "TP9"}, "output": 1}]
)


def test_groups_have_brackets_and_the_rounds_of_a_loop_are_beside_each_other(judged: Judging) -> None:
    lines = screen(judged(GROUPS, GROUPED), width=80)

    assert lines[5:-2] == [
        "   |",
        " 5 |   - {repeat: [edit, test], at_most: 3}",
        "   |   ┌ ↻ 2 rounds (1 to 3)",
        "   |   │ edit                         ✓ 1  ✓ 3",
        "   |   │ test                         ✓ 2  ✓ 4",
        "   |   └",
        "   |   ┌ any order, 1 of 2 made",
        " 7 |   │ check_seats                  −",
        "   |   │ ^^^^^^^^^^^ expected here, nothing matched",
        " 8 |   │ check_price                  ✓ 5",
        "   |   └",
        " 9 |   - one_of: [push, open]",
        "   |   ┌ 1 of 2",
        "   |   │ push                         ·  not taken",
        "   |   │ open                         ✓ 6",
        "   |   └",
        '10 |   - book: {id: {$from: search}}  ≠ 7  id "TP9" made up',
        "11 |   - optional: notify             ·  optional, left out",
    ]


def test_groups_are_drawn_in_ascii_within_80_columns(judged: Judging) -> None:
    lines = screen(judged(GROUPS, GROUPED), width=80, plain=True)

    assert all(line.isascii() and len(line) <= 80 for line in lines)
    assert lines[7:11] == [
        "   |   [ loop: 2 rounds (1 to 3)",
        "   |   | edit                         ok 1  ok 3",
        "   |   | test                         ok 2  ok 4",
        "   |   ]",
    ]


def test_a_screen_of_80_columns_in_ascii_says_the_same(judged: Judging) -> None:
    lines = screen(judged(SHOP, MADE), width=80, plain=True)

    assert all(line.isascii() and len(line) <= 80 for line in lines)
    assert lines == [
        "  x laptop_search       calls 1/4  missing 1  extra 1                    4 calls",
        "",
        "error[RC101 call-missing]: `reserve_item` was never called",
        " --> shop.yaml:9:11  laptop_search",
        "  |",
        "6 |   - search_products: {query: la...mit: 5}  ok 1",
        '7 |   - get_product_details: {product...P001}  != 3  product_id "P001" -> "P010"',
        "8 |   - check_inventory: {product_id: P001}    ~ 2  before get_product_details",
        "9 |   - reserve_item: {product_id:...l_s: 60}  -",
        "  |     ^^^^^^^^^^^^ expected here, nothing matched",
        '  |                                            + 4  add_to_cart(prod...", qty=1)',
        "",
        "1 failed in 0.04s",
    ]


def test_calls_written_on_one_line_have_their_verdicts_below_it(judged: Judging) -> None:
    written = "cases: [{id: a, input: x, expect: {order: [search, check, reserve]}}]\n"

    lines = screen(judged(written, calls("check", "search")))

    assert lines[2:10] == [
        "error[RC101 call-missing]: `reserve` was never called",
        " --> shop.yaml:1:59  a",
        "  |",
        "1 |   cases: [{id: a, input: x, expect: {order: [search, check, reserve]}}]",
        "  |                                                             ^^^^^^^",
        "  |     ✓ 2  search",
        "  |     ⇅ 1  check  before search",
        "  |     −  reserve",
    ]


def test_only_the_lines_around_what_is_wrong_are_shown(judged: Judging) -> None:
    names = [f"tool_{number:02}" for number in range(40)]
    written = "cases:\n  - id: a\n    input: x\n    expect:\n      calls:\n"
    written += "".join(f"        - {name}\n" for name in names)

    lines = screen(judged(written, calls(*[name for name in names if name != "tool_20"])))

    assert [line for line in lines if "tool_" in line and " | " in line] == [
        "24 |   - tool_18  ✓ 19",
        "25 |   - tool_19  ✓ 20",
        "26 |   - tool_20  −",
        "27 |   - tool_21  ✓ 21",
        "28 |   - tool_22  ✓ 22",
    ]
    assert "   ⋮" in lines
    assert "   | … 17 more" in lines


def test_the_turns_of_a_conversation_are_shown_apart(judged: Judging) -> None:
    written = (
        "cases:\n  - id: talk\n    turns:\n"
        "      - input: one\n        expect:\n          calls:\n            - search: {q: a}\n"
        "      - input: two\n        expect:\n          calls:\n            - book: {id: 1}\n"
    )
    made = Trajectory(calls=(ToolCall("search", {"q": "a"}, None, turn=0), ToolCall("book", {"id": 2}, None, turn=1)))

    lines = screen(judged(written, made))

    assert "error[RC104 arguments-differ]: turn 2: `book` was called with id 2, expected 1" in lines
    assert "11 |   - book: {id: 1}  ≠ 2  id 1 → 2" in lines
    assert not [line for line in lines if "search" in line]


def test_long_values_are_cut_around_where_they_differ(judged: Judging) -> None:
    written = (
        "cases:\n  - id: a\n    input: x\n    expect:\n      calls:\n"
        f"        - search: {{query: {'x' * 50}Y{'x' * 50}}}\n"
    )

    lines = screen(judged(written, calls(call("search", query="x" * 50 + "Z" + "x" * 50))))

    [row] = [line for line in lines if line.startswith("6 |")]
    expected, actual = row.split("query ")[-1].split(" → ")
    assert "xY" in expected
    assert "xZ" in actual
    assert cell_count(row) <= 100


def test_what_was_not_recorded_is_a_note_with_the_setting(judged: Judging) -> None:
    written = "cases:\n  - id: a\n    input: x\n    expect:\n      args: [{search: {q: a}}]\n"
    made = msgspec.structs.replace(calls("search"), warnings=("1 tool span without arguments; set CAPTURE=true",))

    lines = screen(judged(written, made))

    assert lines[:7] == [
        "  ? a                   args ?                                                                1 call",
        "",
        "note[RC301 not-recorded]: `search`: its arguments were not recorded",
        " --> shop.yaml:5:14  a",
        "  |",
        "5 |   args: [{search: {q: a}}]  ? 1  not recorded",
        "  |           ^^^^^^",
    ]
    assert "  = note: 1 tool span without arguments; set CAPTURE=true" in lines


def test_what_several_expectations_say_of_one_line_is_told_once(judged: Judging) -> None:
    result = judged(SHOP, MADE)
    [one] = result.results
    twice = msgspec.structs.replace(
        result,
        results=(one, msgspec.structs.replace(one, evaluator="again")),
        findings=result.findings
        + tuple(msgspec.structs.replace(each, expectation="again") for each in result.findings),
        written=result.written + tuple(msgspec.structs.replace(each, expectation="again") for each in result.written),
    )

    lines = screen(twice)

    assert lines[0].startswith("  ✗ laptop_search       calls 1/4  again 1/4  missing 1  extra 1 ")
    assert lines[1:] == screen(result)[1:]


def test_an_agent_that_raised_is_shown_with_the_end_of_its_traceback(judged: Judging) -> None:
    judged(SHOP, MADE)
    case = load_eval_set("shop.yaml").cases[0]
    traceback = (
        "Traceback (most recent call last):\n" + "".join(f"  frame {n}\n" for n in range(20)) + "KeyError: 'x'\n"
    )
    outcome = Outcome(seconds=2.2, cause="raised", error="KeyError: 'x'", traceback=traceback, stdout="a\nlast words\n")

    lines = screen(msgspec.structs.replace(error_result(case, outcome), outcome=outcome))

    assert lines[0] == "  ! laptop_search       raised" + " " * 65 + "2.20s"
    assert lines[2:4] == ["error[RC501 agent-raised]: KeyError: 'x'", " --> shop.yaml:2:5  laptop_search"]
    assert lines[4:12] == [*[f"  |   frame {n}" for n in range(13, 20)], "  | KeyError: 'x'"]
    assert lines[12:15] == ["  | printed:", "  | a", "  | last words"]


def test_more_failures_than_asked_for_are_counted(judged: Judging) -> None:
    result = judged(SHOP, MADE)

    names = [f"case_{number}" for number in range(5)]

    lines = screen(*[named(result, name) for name in names], max_detail=2)

    assert sum(line.startswith("error[") for line in lines) == 1
    assert sum(line.startswith("  ✗ case_") for line in lines) == 5
    assert lines[6:9] == ["5 cases: `reserve_item` never called", f"  {', '.join(names)}", ""]
    assert "one case of each cause is explained; --max-detail 5 explains every case" in lines


def test_of_many_failures_one_of_each_cause_is_explained_the_commonest_first(judged: Judging) -> None:
    missing = judged(SHOP, MADE)
    raised = msgspec.structs.replace(failing("the agent raised KeyError: 'x'", code="RC501"), verdict="error")
    looping = failing("`search` was called 9 times in a row", code="RC112")
    results = [named(raised, f"raised_{n}") for n in range(9)]
    results += [named(looping, "looping"), *[named(missing, f"missing_{n:02}") for n in range(7)]]

    lines = screen(*results, max_detail=2)

    counted = [line for line in lines if " cases: " in line or line.startswith("1 case: ")]
    assert counted == ["7 cases: `reserve_item` never called", "1 case: calls loop", "9 cases: agent raised"]
    assert "  missing_00, missing_01, missing_02, missing_03, missing_04 and 2 more" in lines
    assert [line for line in lines if line.startswith("error[")] == [
        "error[RC101 call-missing]: `reserve_item` was never called",
        "error[RC112 calls-loop]: `search` was called 9 times in a row",
    ]
    assert "--max-detail 3 explains a case of each cause, --max-detail 17 every case" in lines


@pytest.mark.parametrize(
    ("expected", "made", "said"),
    [
        ("calls: [{pay: {amount: 5, to: Ann}}]", [call("pay", amount=9, to="Ann")], "`pay` amount differs"),
        ("calls: [{pay: {amount: 5, to: Ann}}]", [call("pay", to="Bob")], "`pay` amount and to differ"),
        ("calls: [{pay: {to: {town: Oslo}}}]", [call("pay", to={"town": "Rome"})], "`pay` to differs"),
        ("calls: [pay, pay]", [call("pay")], "`pay` not called often enough"),
        ("calls: [look, pay]", [call("pay"), call("look")], "`pay` called before look"),
        ('counts: {pay: "<= 1"}', [call("pay"), call("pay")], "`pay` called more than once"),
        ("calls: [look, {pay: {id: {$from: look}}}]", [call("look"), call("pay", id=7)], "`pay` id made up"),
        ("rules: [{call: pay, only_after: look}]", [call("pay")], "`pay` breaks “pay only after look”"),
        ("outputs: [{pay: {total: 5}}]", [ToolCall("pay", {}, {"total": 9})], "`pay` returned another total"),
        ("outputs: [{pay: 5}]", [ToolCall("pay", {}, None, "KeyError: 'a'")], "`pay` raised KeyError"),
        ("calls: [{name: pay, status: ok}]", [ToolCall("pay", {}, None, "TimeoutError")], "`pay` raised TimeoutError"),
        ("calls: [{name: pay, status: ok}]", [ToolCall("pay", {}, None, "late")], "`pay` failed"),
        ("calls: [{name: pay, status: error}]", [ToolCall("pay", {}, 1)], "`pay` succeeded"),
    ],
)
def test_a_cause_names_what_of_the_call_is_wrong(
    judged: Judging, expected: str, made: list[ToolCall], said: str
) -> None:
    result = judged(f"cases: [{{id: a, input: b, expect: {{{expected}}}}}]", calls(*made))

    assert [problem.sentence for problem in problems_of(result)][:1] == [said]
    assert f"2 cases: {said}" in screen(result, named(result, "b"), max_detail=1)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (ToolCall("pay", {}, None, "KeyError: 'a'"), "raised KeyError"),
        (ToolCall("pay", {}, None, "late"), "failed"),
        (ToolCall("pay", {}, 9), "returned something else"),
    ],
    ids=["raised", "failed", "returned"],
)
def test_the_mark_below_an_output_says_what_happened(judged: Judging, made: ToolCall, said: str) -> None:
    written = "cases:\n  - id: a\n    input: b\n    expect:\n      outputs:\n        - pay: 5\n"

    lines = screen(judged(written, calls(made)))

    assert f"  |     ^^^ {said}" in lines


def test_as_many_failures_as_are_explained_are_explained_one_by_one(judged: Judging) -> None:
    results = [named(judged(SHOP, MADE), f"case_{number}") for number in range(3)]

    lines = screen(*results, max_detail=3)

    assert sum(line.startswith("error[RC101") for line in lines) == 3
    assert not [line for line in lines if " cases: " in line]


def test_very_many_causes_are_counted_in_a_line() -> None:
    results = [named(failing("too much", code=f"RC{700 + n}"), f"case_{n}") for n in range(30)]

    lines = screen(*results, max_detail=1)

    assert sum(line.startswith("1 case: RC7") for line in lines) == 21
    assert "9 more causes, 9 cases" in lines


def test_when_all_pass_there_is_one_line_and_the_totals() -> None:
    assert screen(passing("a"), passing("b")) == ["  ✓ 2 passed", "", "2 passed in 0.04s"]


def test_a_result_that_was_saved_and_read_back_has_the_same_screen(judged: Judging) -> None:
    result = judged(SHOP, MADE)

    assert screen(CaseResult.from_json(result.to_json())) == screen(result)


def test_a_result_without_the_places_of_its_calls_names_them_instead(judged: Judging) -> None:
    result = msgspec.structs.replace(judged(SHOP, MADE), written=())

    lines = screen(result)

    assert '  |     ≠ 3  get_product_details  product_id "P001" → "P010"' in lines
    assert "  |     −  reserve_item" in lines
    assert "9 |   - reserve_item: {product_id: P001, ttl_s: 60}" in lines


def test_a_call_whose_line_does_not_name_it_is_named_beside_it(judged: Judging) -> None:
    written = """cases:
- id: a
  expect:
    calls:
    - {args: {}, name: search}
    - args: {}
      name: book
"""

    lines = screen(judged(written, calls("search")))

    assert lines[5:8] == [
        "5 |   - {args: {}, name: search}  ✓ 1",
        "6 |   - args: {}                  −  book",
        "  |     ^^^^ expected here, nothing matched",
    ]


def is_harmless(line: str) -> bool:
    return not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in line)


@pytest.mark.parametrize("plain", [False, True])
def test_hostile_text_is_text_wherever_it_stands(judged: Judging, plain: bool) -> None:
    made = calls(call(HOSTILE, **{HOSTILE: HOSTILE}), call("reserve_item", product_id=HOSTILE))
    source = Source(HOSTILE, 3, 4, HOSTILE * 3)
    outcome = Outcome(cause="raised", error=HOSTILE, traceback=HOSTILE, stdout=HOSTILE)
    results: Sequence[CaseResult] = (
        named(judged(SHOP, made), HOSTILE),
        failing(HOSTILE, code=HOSTILE, source=source, outcome=outcome, warnings=(HOSTILE,)),
        failing(HOSTILE, code="RC301", source=source, warnings=(HOSTILE,)),
    )
    report = report_of(*results, run_id=HOSTILE, notes=(HOSTILE,), warnings={HOSTILE: 2})

    lines = "".join(full_report(report, Paper(width=80, plain=plain))).split("\n")

    assert [line for line in lines if not is_harmless(line)] == []
    assert not plain or all(line.isascii() for line in lines)
    assert any("[bold]red[/bold]" in line for line in lines)


def test_a_million_characters_cost_a_few_lines(judged: Judging) -> None:
    long = "x" * 1_000_000
    made = calls(call(long[:10_000], **{long: long}), call("reserve_item", product_id=long))
    outcome = Outcome(cause="raised", error=long, traceback=long, stdout=long)
    results = (
        named(judged(SHOP, made), long),
        failing(long, outcome=outcome, warnings=(long,), source=Source("a.yaml", 1, 1, long[:500])),
    )

    lines = screen(*results, run_id="8f2c")

    assert len(lines) < 80
    assert max(map(cell_count, lines)) <= 100


@examples(150)
@given(
    message=st.text(max_size=300),
    excerpt=st.text(max_size=200),
    column=st.integers(1, 250),
    width=st.integers(40, 120),
    plain=st.booleans(),
)
def test_no_line_is_wider_than_the_paper_wherever_the_place_is(
    message: str, excerpt: str, column: int, width: int, plain: bool
) -> None:
    result = failing(message, source=Source("a.yaml", 3, column, excerpt))

    for line in full_lines(report_of(result), Paper(width=width, plain=plain)):
        text = "".join(part if isinstance(part, str) else part[0] for part in line)
        assert cell_count(text) <= width
        assert is_harmless(text)
