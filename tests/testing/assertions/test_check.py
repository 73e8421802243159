"""`check`: a trace checked against all expectations."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPositive
from tests.builders import call, calls

import rightcall
from rightcall import CheckFailedError, CriteriaError, InputError, NotMeasuredError, ToolCall, Trajectory, check
from rightcall.cases.evalsets import parse_eval_set

MADE = calls(
    call("search_products", query="laptop", limit=5),
    call("check_inventory", product_id="P001"),
    call("get_product_details", product_id="P010"),
    call("add_to_cart", product_id="P010", qty=1),
)
EXPECTED = [
    {"search_products": {"query": "laptop", "limit": 5}},
    {"get_product_details": {"product_id": "P001"}},
    {"check_inventory": {"product_id": "P001"}},
    {"reserve_item": {"product_id": "P001", "ttl_s": {"$any": True}}},
]
CASES = """\
cases:
  - id: laptop_search
    input: laptop
    expect: {calls: [search_products, check_inventory]}
"""


@pytest.fixture(autouse=True)
def wide_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of one width, wherever these tests are run."""
    monkeypatch.setenv("COLUMNS", "100")


def failure(subject: Any, expected: Any, **settings: Any) -> str:
    with pytest.raises(CheckFailedError) as raised:
        check(subject, expected, **settings)
    return str(raised.value)


def test_what_is_as_expected_gives_the_result() -> None:
    result = check(MADE, ["search_products", "check_inventory", "get_product_details", "add_to_cart"])

    assert result.passed
    assert result.score == 1.0
    assert result.trajectory is MADE


def test_a_failure_names_the_call_and_the_argument_and_shows_both_paths() -> None:
    text = failure(MADE, EXPECTED)

    assert text.splitlines() == [
        '`get_product_details` was called with product_id "P010", expected "P001" (and 3 more; calls 1/4)',
        "  expected                                     actual",
        '  1 search_products(query="laptop", limit=5)   1 search_products(query="laptop", limit=5)',
        '≠ 2 get_product_details(product_id="P001")     3 get_product_details(product_id="P010")',
        '⇅ 3 check_inventory(product_id="P001")         2 check_inventory(product_id="P001")',
        "      before get_product_details",
        '− 4 reserve_item(product_id="P001", ttl_s=…)',
        '+                                              4 add_to_cart(product_id="P010", qty=1)',
    ]


def test_calls_that_may_be_there_have_no_mark() -> None:
    text = failure(MADE, EXPECTED, match="in_order")

    assert [line[0] for line in text.splitlines()[1:]] == [" ", " ", "≠", "⇅", " ", "−", " "]


def test_all_problems_of_all_expectations_are_told_once() -> None:
    expected = {
        "calls": EXPECTED,
        "args": [{"get_product_details": {"product_id": "P001"}}],
        "counts": {"add_to_cart": 0},
        "never": ["add_to_cart"],
        "output": {"$contains": "laptop"},
    }

    text = failure(MADE, expected)

    assert text.splitlines()[0].startswith(
        '`add_to_cart(product_id="P010", qty=1)` was called, and must never be (and 6'
    )
    assert "✗ `add_to_cart` was called 1 time, expected 0" in text
    assert "? the final output was not recorded" in text
    assert text.count("expected  ") == 1


def test_every_kind_of_expectation_can_be_asked_for() -> None:
    passing = {
        "calls": ["search_products", "add_to_cart"],
        "order": ["search_products", "add_to_cart"],
        "counts": {"search_products": "<= 2"},
        "args": [{"add_to_cart": {"qty": IsPositive}}],
        "never": ["delete"],
        "tool-recall": {"criteria": {"expected": ["search_products"]}, "threshold": 0.5},
    }

    assert check(MADE, passing, match="in_order", threshold=0.5).passed


def test_a_trajectory_can_be_what_is_expected() -> None:
    golden = Trajectory.of([ToolCall("search_products", {"query": "phone"}), "check_inventory"])

    text = failure(MADE, golden, match="any_order")

    assert text.startswith('`search_products` was called with query "laptop", expected "phone" (calls 1/2)')


def test_a_case_of_an_eval_set_is_named() -> None:
    [case] = parse_eval_set(CASES, "shop.yaml").cases

    assert check(["search_products", "check_inventory"], case).case_id == "laptop_search"
    assert failure(["search_products"], case).startswith(
        "laptop_search: `check_inventory` was never called (calls 1/2)"
    )
    with pytest.raises(CriteriaError, match="leave out match"):
        check(MADE, case, match="in_order")


def test_turns_are_told_by_their_numbers() -> None:
    made = Trajectory.of([ToolCall("search", {}, turn=0), ToolCall("pay", {}, turn=1)])

    text = failure(made, {"calls": {"expected_turns": [["search"], ["book"]]}})

    assert text.splitlines() == [
        "turn 2: `book` was never called (and 1 more; calls 1/2)",
        "turn 2:",
        "  expected   actual",
        "− 1 book",
        "+            2 pay()",
    ]


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (["search"], [{"search": {"query": "laptop"}}]),
        ([], ["search"]),
        ([], []),
        (["search"], {"outputs": {"search": 1}}),
    ],
    ids=["arguments", "calls", "no calls", "outputs"],
)
def test_what_was_not_recorded_is_neither_right_nor_wrong(subject: Any, expected: Any) -> None:
    with pytest.raises(NotMeasuredError) as raised:
        check(subject, expected)

    assert not isinstance(raised.value, AssertionError)


def test_a_fault_while_judging_is_no_failure_of_the_agent() -> None:
    class Broken:
        def __eq__(self, other: object) -> bool:
            raise ValueError("no comparison")

    with pytest.raises(NotMeasuredError, match="ValueError while judging: no comparison"):
        check(MADE, [{"search_products": {"query": Broken()}}], match="any_order")


@pytest.mark.parametrize(
    ("expected", "settings", "message"),
    [
        ("search", {}, "what is expected is a list of calls"),
        ({}, {}, "an expectation is an object such as"),
        ({"cals": ["search"]}, {}, "did you mean 'calls'"),
        (["search"], {"match": "sorted"}, "unknown match type 'sorted'"),
        ({"llm-judge-trajectory-simulation": "nice"}, {}, "names no evaluator|not yet available"),
        ([3], {}, "an expected call is a name"),
        ([{"a": {}, "b": {}}], {}, "an expected call is a name"),
    ],
)
def test_an_expectation_that_makes_no_sense_is_refused(expected: Any, settings: Any, message: str) -> None:
    with pytest.raises(rightcall.RightcallError, match=message):
        check(MADE, expected, **settings)


def test_long_values_are_cut_around_the_difference() -> None:
    made = calls(call("search", query="x" * 5000 + "a" + "y" * 5000))

    text = failure(made, [{"search": {"query": "x" * 5000 + "b" + "y" * 5000}}])

    assert max(len(line) for line in text.splitlines()) < 400
    assert "xbyy" in text.splitlines()[-1]
    assert "xayy" in text.splitlines()[-1]


def test_text_of_strangers_cannot_move_the_cursor() -> None:
    text = failure(calls(call("se\x1b[2Jarch", query="\u202elaptop\r\nE   passed")), ["search"])

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\r" not in text


def test_a_thousand_wrong_calls_make_a_short_text() -> None:
    made = calls(*[call("step", number=number) for number in range(1000)])

    text = failure(made, [{"step": {"number": -1 - number}} for number in range(1000)])

    assert len(text) < 20_000
    assert "more" in text


def test_the_exception_has_the_results_and_can_be_sent_to_another_process() -> None:
    with pytest.raises(CheckFailedError) as raised:
        check(MADE, ["nothing"])

    copy = pickle.loads(pickle.dumps(raised.value))

    assert str(copy) == str(raised.value)
    assert copy.results[0].verdict == "failed"


def test_the_place_of_a_result_is_the_line_of_the_test() -> None:
    result = check(MADE, {"never": ["delete"]})

    assert Path(result.source.file).name == "test_check.py"


@pytest.mark.parametrize("subject", [3, None, object()], ids=["a number", "nothing", "an object"])
def test_what_has_no_calls_is_refused(subject: Any) -> None:
    with pytest.raises(InputError, match="no calls can be read"):
        check(subject, ["search"])
