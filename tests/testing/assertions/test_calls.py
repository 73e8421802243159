"""`calls(…)`: one rule after the other."""

import gc
import inspect
import traceback
import warnings
from typing import Any

import pytest
from tests.builders import call, calls as made_of

from rightcall import CheckFailedError, CriteriaError, NotMeasuredError, ToolCall, Trajectory, calls
from rightcall.testing.assertions import Calls

MADE = made_of(call("search", query="laptop"), call("book", id=7), call("search", query="phone"))


def test_rules_can_be_chained() -> None:
    chain = calls(MADE).in_order("search", "book").never("delete").at_most(2, "search").called("book", id=7)

    assert [result.results[0].evaluator for result in chain.results] == ["in_order", "never", "at_most", "called"]


HOLDING: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("exactly", ("search", {"book": {"id": 7}}, "search"), {}),
    ("exactly_in_any_order", ("book", "search", "search"), {}),
    ("in_order", ({"search": {"query": "laptop"}}, "search"), {}),
    ("in_any_order", ({"search": {"query": "phone"}}, {"search": {"query": "laptop"}}), {}),
    ("only", ("search", "search", "book", "other"), {}),
    ("never", ("delete", {"search": {"query": "tablet"}}), {}),
    ("at_most", (2, "search"), {}),
    ("at_least", (1, "book"), {}),
    ("times", (0, "delete"), {}),
    ("called", ("book",), {"id": 7}),
    ("called", ("book",), {}),
    ("rule", ("book",), {"only_after": "search"}),
    ("meets", ("tool-recall", {"expected": ["search", "pay"]}), {"threshold": 0.5}),
    ("meets", ("order", ("search", "book")), {}),
]
BROKEN: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("exactly", ("search", "book"), {}, '`search(query="phone")` was called, but not expected'),
    ("exactly_in_any_order", ("book", "search"), {}, "was called, but not expected"),
    ("in_order", ("book", {"search": {"query": "laptop"}}), {}, "`search` was called before `book`, expected after it"),
    ("in_any_order", ("pay",), {}, "`pay` was never called (in_any_order 0/1)"),
    ("only", ("search", "search"), {}, "`book(id=7)` was called, but not expected"),
    ("never", ({"search": {"query": "phone"}},), {}, '`search(query="phone")` was called, and must never be'),
    ("at_most", (1, "search"), {}, "`search` was called 2 times, expected <= 1 (at_most 0/1)"),
    ("at_least", (2, "book"), {}, "`book` was called 1 time, expected >= 2"),
    ("times", (1, "search"), {}, "`search` was called 2 times, expected 1"),
    ("called", ("book",), {"id": 8}, "`book` was called with id 7, expected 8"),
    ("called", ("pay",), {}, "`pay` was never called"),
    ("none", (), {}, '`search(query="laptop")` was called, but not expected'),
    ("rule", ("search",), {"only_after": "book"}, "`book`"),
    ("meets", ("counts", {"search": 3}), {}, "`search` was called 2 times, expected 3"),
]


@pytest.mark.parametrize(("rule", "given", "named"), HOLDING, ids=[rule for rule, _, _ in HOLDING])
def test_a_rule_that_holds_gives_the_calls_back(rule: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    subject = calls(MADE)

    assert getattr(subject, rule)(*given, **named) is subject


@pytest.mark.parametrize(("rule", "given", "named", "message"), BROKEN, ids=[rule for rule, _, _, _ in BROKEN])
def test_a_rule_that_does_not_hold_raises_at_once(
    rule: str, given: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(CheckFailedError) as raised:
        getattr(calls(MADE), rule)(*given, **named)

    assert message in str(raised.value).splitlines()[0]


def test_every_rule_is_tried_here() -> None:
    rules = {name for name, _ in inspect.getmembers(Calls, inspect.isfunction) if not name.startswith("_")}

    assert rules - {rule for rule, _, _, _ in BROKEN} == {"returned", "answered"}


def test_outputs_and_the_answer_can_be_asked_for() -> None:
    run = Trajectory.of([ToolCall("search", {}, ["P1"])], output="Found P1.")
    subject = calls(run).returned("search", ["P1"]).answered({"$contains": "P1"})

    with pytest.raises(CheckFailedError, match=r"^`search`.*P2"):
        subject.returned("search", ["P2"])
    with pytest.raises(CheckFailedError, match="P2"):
        subject.answered("Found P2.")


def test_the_scope_counts_for_every_rule() -> None:
    run = Trajectory.of([ToolCall("plan", {}, agent="a"), ToolCall("search", {"q": 1, "n": 2}, agent="b")])

    calls(run, ignore_tools=["plan"]).exactly("search")
    calls(run, agent="a").exactly("plan").times(0, "search")
    with pytest.raises(CheckFailedError, match="`search` was called with n 2, which is not expected"):
        calls(run, args="exact").called("search", q=1)


@pytest.mark.parametrize("rule", ["exactly", "exactly_in_any_order", "in_order", "in_any_order", "only", "never"])
def test_a_rule_that_names_no_call_is_refused(rule: str) -> None:
    with pytest.raises(CriteriaError, match=rf"{rule}\(\) names no call"):
        getattr(calls(MADE), rule)()


def test_arguments_that_were_not_recorded_are_neither_there_nor_missing() -> None:
    with pytest.raises(NotMeasuredError, match="`search`: its arguments were not recorded"):
        calls(["search"]).called("search", query="laptop")


def test_calls_that_nothing_was_asked_of_are_a_warning_at_their_place() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calls(MADE)
        calls(MADE).none  # noqa: B018 - the mistake in question
        gc.collect()

    assert [str(each.message).split(";")[0] for each in caught] == [
        "calls(…) was used, but nothing was checked",
        "calls(…) was used, but nothing was checked",
    ]
    assert caught[0].filename == __file__


def test_frames_of_ours_are_marked_as_such() -> None:
    with pytest.raises(CheckFailedError) as raised:
        calls(MADE).in_order("pay")

    hidden = [frame.f_locals.get("__tracebackhide__") for frame, _ in traceback.walk_tb(raised.value.__traceback__)]

    assert hidden[1:] == [True] * (len(hidden) - 1)
