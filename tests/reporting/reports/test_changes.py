"""What changed between runs, on a screen."""

import pytest
from tests.reporting.reports.reporting import HOSTILE, harmful, obeyed, result
from tests.walls import for_each

from rightcall import CaseResult, ToolCall, Trajectory
from rightcall.reporting.changes import compare, sides_of
from rightcall.reporting.reports import Line, Paper, cell_count, comparison_lines, verdict_lines


def text_of(line: Line) -> str:
    return "".join([part if isinstance(part, str) else part[0] for part in line])


def shown(before: list[CaseResult], after: list[CaseResult], paper: Paper | None = None) -> list[str]:
    comparison = compare(sides_of(before), sides_of(after))
    lines = [text_of(line) for line in comparison_lines(comparison, paper or Paper(width=100), ("main", "8f2c"))]
    return "\n".join(lines).split("\n")


def calling(quantity: int) -> Trajectory:
    return Trajectory(calls=(ToolCall("reserve_item", {"quantity": quantity}, 1),))


SHOP = ["search", "get_product_details", "check_inventory"]
BEFORE = [
    result("order_status", calls=["get_order"]),
    result("laptop_search", calls=[*SHOP, "reserve_item"]),
    result("gift_card", "failed", "no", calls=["pay"]),
    result("same", calls=["a"]),
    result("reserve", trajectory=calling(2)),
    result("old"),
]
AFTER = [
    result("order_status", calls=["get_order", "get_user"]),
    result("laptop_search", "failed", "no", calls=["search", "check_inventory", "get_product_details", "add_to_cart"]),
    result("gift_card", calls=["pay", "apply_code"]),
    result("same", calls=["a"]),
    result("reserve", trajectory=calling(1)),
    result("new"),
]


def test_regressions_come_first_then_fixes_and_other_paths_and_last_the_totals() -> None:
    assert shown(BEFORE, AFTER) == [
        "1 regression",
        "  ✓→✗ laptop_search   calls 1.00 → 0.50",
        "      │ get_product_details ⇄ check_inventory · −reserve_item · +add_to_cart",
        "1 fix",
        "  ✗→✓ gift_card       calls 0.50 → 1.00   +apply_code",
        "2 other paths",
        "  ≈   order_status    passes on both, path differs: +get_user",
        "  ≈   reserve         passes on both, path differs: reserve_item quantity 2 → 1",
        "  only in main: old",
        "  only in 8f2c: new",
        "passed  5/6 → 5/6     calls/case  1.3 → 1.7",
        "1 regression · 1 fix · 2 other paths · 1 unchanged",
    ]


def test_a_case_that_took_the_same_path_to_other_scores_is_not_counted_as_another_path() -> None:
    before, after = [result("a", calls=["x"], results=())], [result("a", calls=["x"])]

    assert shown(before, after, Paper(width=42)) == [
        "1 other score",
        "  ≈   a   calls - → 1.00   passes on both",
        "passed  1/1 → 1/1     calls  - → 1.000",
        "calls/case  1.0 → 1.0",
        "1 other score · 0 unchanged",
    ]


def test_cases_that_changed_alike_are_told_together_the_commonest_change_first() -> None:
    before = [result(name, calls=["a", "b"]) for name in ("one", "two", "three", "four")]
    paths = {"one": ["a"], "two": ["b"], "three": ["b"], "four": ["b"]}
    after = [result(name, "failed", "no", calls=calls) for name, calls in paths.items()]
    comparison = compare(sides_of(before), sides_of(after))

    whole = [text_of(line) for line in comparison_lines(comparison, Paper(width=100))]
    short = [text_of(line) for line in comparison_lines(comparison, Paper(width=100), most=1)]

    assert whole[:4] == [
        "4 regressions",
        "  ✓→✗ two     calls 1.00 → 0.50   −a",
        "      │ and 2 more: three, four",
        "  ✓→✗ one     calls 1.00 → 0.50   −b",
    ]
    assert short[3] == "  … 1 more case; --max 2 shows all"


def test_everything_fits_a_narrow_screen_without_unicode() -> None:
    lines = shown(BEFORE, AFTER, Paper(width=44, plain=True))

    assert all(line.isascii() and cell_count(line) <= 44 for line in lines)
    assert lines[1:7] == [
        "  ok->x laptop_search   calls 1.00 -> 0.50",
        "      | get_product_details <->",
        "      | check_inventory",
        "      | -reserve_item ; +add_to_cart",
        "1 fix",
        "  x->ok gift_card       calls 0.50 -> 1.00",
    ]


def test_runs_that_are_alike_say_so() -> None:
    assert shown(BEFORE, BEFORE)[0] == "  no change in 6 cases"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (result("a", calls=["x"]), result("a", "failed", calls=["x"]), "same calls, same answer"),
        (
            result("a", trajectory=Trajectory(output="yes")),
            result("a", "failed", trajectory=Trajectory(output="no")),
            "same calls, another answer",
        ),
        (result("a", calls=["x"]), result("a", "error", trajectory=None), "no path to compare"),
    ],
    ids=["same", "answer", "broken"],
)
def test_a_flip_without_another_path_says_what_there_is(old: CaseResult, new: CaseResult, words: str) -> None:
    assert shown([old], [new])[1].endswith(words)


@pytest.mark.parametrize(
    ("asked", "counted"),
    [("1", "1 fix"), ("2", "1 edited case"), ("", "1 fix")],
    ids=["as it was", "edited", "not known"],
)
def test_a_case_that_was_edited_is_neither_a_fix_nor_a_regression(asked: str, counted: str) -> None:
    old, new = [result("a", "failed", calls=["x"])], [result("a", calls=["x"])]

    comparison = compare(sides_of(old, questions={"a": "1"}), sides_of(new, questions={"a": asked}))
    lines = [text_of(line) for line in comparison_lines(comparison, Paper())]

    assert lines[0] == counted
    assert lines[-1] == f"{counted} · 0 unchanged"


def test_a_case_that_was_edited_is_no_unchanged_one_though_it_passed_in_both_runs() -> None:
    sides = [sides_of([result("a", calls=["x"])], questions={"a": asked}) for asked in ("1", "2")]

    lines = [text_of(line) for line in comparison_lines(compare(*sides), Paper())]

    assert lines[:2] == ["1 edited case", "  ≈   a   passes on both"]
    assert lines[-1] == "1 edited case · 0 unchanged"


def test_changes_that_differ_in_a_generated_value_alone_are_listed_together() -> None:
    def paid(key: str) -> Trajectory:
        return Trajectory(calls=(ToolCall("pay", {"amount": 5, "key": key}, 1),))

    before = [result(name, trajectory=paid(f"a{name}")) for name in "xyz"]
    after = [result(name, "failed", "no", trajectory=paid(f"b{name}")) for name in "xy"]
    after.append(result("z", trajectory=paid("bz")))

    lines = shown(before, after)

    assert lines[:3] == ["2 regressions", "  ✓→✗ x   calls 1.00 → 0.50   pay key differs", "      │ and 1 more: y"]
    assert lines[3:5] == ["1 other path", '  ≈   z   passes on both, path differs: pay key "az" → "bz"']


def test_many_changes_of_a_path_are_counted() -> None:
    lines = shown([result("a")], [result("a", calls=[f"tool_{n}" for n in range(1_000)])], Paper(width=1_000))

    assert lines[1].endswith(" · +tool_7 · 992 more changes")


def test_more_than_two_runs_are_a_table_of_the_cases_that_flip() -> None:
    runs = [
        sides_of([result("steady"), result("flips"), result("late", "error")]),
        sides_of([result("steady"), result("flips", "failed"), result("late", "not_measured")]),
        sides_of([result("steady"), result("flips")]),
    ]

    assert [text_of(line) for line in verdict_lines(runs, ["main 1a2b", "8f2c", "9d3e"], Paper())] == [
        "│              main 1a2b   8f2c    9d3e",
        "│ passed       2/3         1/3     2/2",
        "│ calls        1.000       0.750   1.000",
        "│ calls/case   0.0         0.0     0.0",
        "│ flips        ✓           ✗       ✓",
        "│ late         !           ?       -",
    ]


@pytest.mark.parametrize("width", [30, 200])
@for_each("text", HOSTILE)
def test_whatever_is_said_stays_text_on_one_line(text: str, width: int) -> None:
    name = text[:10_000]
    before = [result(text, calls=["a"])]
    after = [result(text, "failed", trajectory=Trajectory(calls=(ToolCall(name, {text: text}, text),)))]

    lines = shown(before, after, Paper(width=width))

    assert len(lines) < 40
    assert harmful("\n".join(lines)) == set()
    assert obeyed("\n".join(line for line in lines if "##[" not in line)) == []
