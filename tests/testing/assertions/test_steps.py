"""Steps and rules in tests: functions that make data, and one method for all rules."""

from typing import Any

import pytest

from rightcall import CheckFailedError, CriteriaError, ToolCall, Trajectory, calls, check, soft
from rightcall.steps import any_order, at_once, bind, call, one_of, optional, ref, repeat, steps, value_from


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (any_order("a", ["b", "c"]), {"any_order": ["a", ["b", "c"]]}),
        (at_once("a", {"b": {"q": 1}}), {"at_once": ["a", {"b": {"q": 1}}]}),
        (optional("a"), {"optional": "a"}),
        (optional("a", "b"), {"optional": ["a", "b"]}),
        (one_of("a", ["b", "c"]), {"one_of": ["a", ["b", "c"]]}),
        (repeat("a"), {"repeat": "a"}),
        (repeat("a", "b", at_least=0, at_most=3), {"repeat": ["a", "b"], "at_least": 0, "at_most": 3}),
        (steps("a", "b"), {"steps": ["a", "b"]}),
        (steps("a", agent="billing"), {"steps": ["a"], "agent": "billing"}),
        (call("pay", args={"n": 1}, status="ok"), {"name": "pay", "args": {"n": 1}, "status": "ok"}),
        (value_from("search"), {"$from": "search"}),
        (value_from("search", output="$.id"), {"$from": {"call": "search", "output": "$.id"}}),
        (value_from("search", args="$.id"), {"$from": {"call": "search", "args": "$.id"}}),
        (value_from(input="$.user"), {"$from": {"input": "$.user"}}),
        (value_from("anywhere"), {"$from": "anywhere"}),
        (bind("seat"), {"$bind": "seat"}),
        (ref("seat"), {"$ref": "seat"}),
    ],
)
def test_a_function_returns_what_a_file_would_say(made: Any, written: Any) -> None:
    assert made == written


MADE = Trajectory.of([{"name": "confirm", "args": {}, "output": 1}, {"name": "pay", "args": {"n": 1}, "output": 2}])


def test_a_rule_that_holds_lets_the_chain_go_on() -> None:
    assert len(calls(MADE).rule("pay", only_after="confirm").rule("pay", at_most=1).rule(first="confirm").results) == 3


def test_a_rule_that_is_broken_is_raised() -> None:
    with pytest.raises(CheckFailedError, match="confirm"):
        calls(MADE).rule("confirm", only_after="pay")


def test_a_rule_may_have_calls_of_other_runs_in_it() -> None:
    calls(MADE).rule(ToolCall("pay", {"n": 1}), only_after=[ToolCall("confirm"), "agree"])

    with pytest.raises(CheckFailedError):
        calls(MADE).rule("pay", never_with=ToolCall("confirm", {}))


def test_a_rule_without_a_relation_is_a_mistake() -> None:
    with pytest.raises(CriteriaError):
        calls(MADE).rule("pay")


def test_rules_in_a_soft_block_are_raised_together() -> None:
    with pytest.raises(CheckFailedError, match="1 more assertion failed"), soft():
        calls(MADE).rule("confirm", only_after="pay").rule("pay", at_most=0)


def test_the_data_form_takes_rules() -> None:
    check(MADE, {"calls": ["confirm", "pay"], "rules": [{"call": "pay", "only_after": "confirm"}]})

    with pytest.raises(CheckFailedError):
        check(MADE, {"rules": [{"call": "pay", "never_after": "confirm"}]})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"ignore_tools": ["confirm"]}, ["pay"]),
        ({"match": "any_order"}, ["pay", "confirm"]),
        ({"partial_credit": True, "threshold": 0.5}, ["confirm"]),
        ({"agent": "clerk"}, ["pay"]),
        ({"top_level": True}, ["confirm", "pay"]),
        ({"parallel": "in_order"}, ["confirm", "pay"]),
    ],
)
def test_check_takes_the_settings_of_a_file(settings: dict[str, Any], expected: list[str]) -> None:
    made = Trajectory.of([ToolCall("confirm", {}, agent="boss"), ToolCall("pay", {}, agent="clerk")])

    assert check(made, expected, **settings).passed


def test_a_wrong_setting_is_a_mistake() -> None:
    with pytest.raises(CriteriaError, match="parallel"):
        check(MADE, ["confirm", "pay"], parallel="sideways")


def test_steps_of_the_functions_are_judged_as_those_of_a_file() -> None:
    made = Trajectory.of(["login", "price", "seats", "edit", "test", "edit", "test"])
    path = ["login", any_order("seats", "price"), optional("receipt"), repeat("edit", "test", at_most=3)]

    check(made, path)
    calls(made).exactly(*path).in_order("login", one_of("pay", "seats"))
    with pytest.raises(CheckFailedError):
        check(made, ["login", any_order("seats", "price")])
    check(made, ["login", any_order("seats", ToolCall("price"))], extra="allow")


def test_a_failed_path_shows_its_groups_beside_what_was_called() -> None:
    made = Trajectory.of(["edit", "test", "edit", "test", "price", "commit", "x"])
    expected = [repeat("edit", "test"), any_order("seats", "price"), one_of("push", "commit"), optional("notify")]

    with pytest.raises(CheckFailedError) as problem:
        check(made, expected)

    assert str(problem.value).splitlines()[1:] == [
        "  expected                       actual",
        "  ┌ 2 rounds (at least 1)",
        "  │ 1 edit                       ✓ 1  ✓ 3",
        "  │ 2 test                       ✓ 2  ✓ 4",
        "  └",
        "  ┌ any order, 1 of 2 made",
        "− │ 3 seats",
        "  │ 4 price                      5 price",
        "  └",
        "  ┌ 1 of 2",
        "· │ 5 push, not taken",
        "  │ 6 commit                     6 commit",
        "  └",
        "· 7 notify, optional, left out",
        "+                                7 x",
    ]
