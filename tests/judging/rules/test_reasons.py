"""What the findings of rules say."""

from typing import Any

import pytest
from tests.builders import judge
from tests.walls import for_each

from rightcall import ToolCall
from rightcall.values.results import RulesJustification


def made(name: str, *, start: int | None = None, end: int | None = None, **more: Any) -> ToolCall:
    return ToolCall(name=name, **{"args": {}, "output": None, **more}, start_ns=start, end_ns=end)


PAY = {"call": "pay", "only_after": "confirm"}
EDIT = {"call": "edit", "followed_by": "test"}
SAME = {**PAY, "same": "id"}

SENTENCES: list[tuple[dict[str, Any], list[ToolCall], str]] = [
    (PAY, [made("pay")], "`pay()` was called without `confirm` before it; `confirm` was never called"),
    (
        PAY,
        [made("pay"), made("log"), made("confirm")],
        "`pay()` was called without `confirm` before it; `confirm` (call 3) came only later",
    ),
    (
        PAY,
        [made("confirm", error="no"), made("pay")],
        '`pay()` was called without `confirm` before it; `confirm` (call 1) failed ("no")',
    ),
    (
        PAY,
        [made("pay"), made("confirm", error="no")],
        "`pay()` was called without `confirm` before it; `confirm` (call 2) failed",
    ),
    (
        {**PAY, "per": "agent"},
        [made("pay", agent="a"), made("confirm", agent="b")],
        "`pay()` was called without `confirm` before it; `confirm` was never called (by agent a)",
    ),
    (
        SAME,
        [made("confirm", args={"id": 7}, start=0, end=9), made("pay", args={"id": 8}, start=3, end=5)],
        "`pay(id=8)` was called without `confirm` before it; the only one in the run has id 7",
    ),
    (
        PAY,
        [made("confirm", start=0, end=9), made("pay", start=3, end=5)],
        "`pay()` was called without `confirm` before it; `confirm` (call 1) was running at the same time",
    ),
    (
        SAME,
        [made("confirm", args={"id": 7}), made("pay", args={"id": 8})],
        "`pay(id=8)` was called without `confirm` before it; the only one before has id 7",
    ),
    (
        SAME,
        [made("confirm", args={"id": 7}), made("confirm"), made("pay", args={"id": 8})],
        "`pay(id=8)` was called without `confirm` before it; the 2 before have id 7, no id",
    ),
    (
        {**PAY, "since": "quote"},
        [made("confirm"), made("quote"), made("pay")],
        "`pay()` was called without `confirm` before it since `quote`; `quote` (call 2) came in between",
    ),
    (
        {**PAY, "directly": True},
        [made("confirm"), made("log"), made("pay")],
        "`pay()` was not called right after `confirm`; the call before it is `log` (call 2)",
    ),
    (
        {**PAY, "directly": True},
        [made("pay")],
        "`pay()` was not called right after `confirm`; there is no call before it",
    ),
    (EDIT, [made("edit")], "`edit()` was called, and no `test` followed; `test` was never called"),
    (
        EDIT,
        [made("test"), made("edit")],
        "`edit()` was called, and no `test` followed; `test` (call 1) came only earlier",
    ),
    (
        {**EDIT, "before": "commit"},
        [made("edit"), made("commit"), made("test")],
        "`edit()` was called, and no `test` followed before `commit`; `commit` (call 2) came in between",
    ),
    (
        {**EDIT, "directly": True},
        [made("edit"), made("test", error="crash")],
        "`edit()` was not followed by `test` right away; the call after it is `test` (call 2) and failed",
    ),
    (
        {"call": "refund", "never_after": "cancel"},
        [made("cancel"), made("refund")],
        "`refund()` was called after `cancel` (call 1), and must never be",
    ),
    (
        {"call": "pay", "only_with": "log"},
        [made("pay")],
        "`pay()` was called without `log` anywhere in the run",
    ),
    (
        {"call": "return", "never_with": "exchange", "same": "id"},
        [made("return", args={"id": 1}), made("exchange", args={"id": 1})],
        "`return(id=1)` and `exchange(id=1)` (call 2) were both called, and must never be",
    ),
    (
        {"call": "search", "at_most": 1},
        [made("search"), made("search")],
        "`search()` was called a 2nd time, at most 1 is allowed",
    ),
    (
        {"call": "search", "at_most": 0, "after": "book"},
        [made("book"), made("search")],
        "`search()` was called after `book`, and must never be",
    ),
    (
        {"call": "pay", "always": {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}},
        [made("pay")],
        "`pay()` is not as every such call must be: no a, expected 1; no b, expected 2; no c, expected 3; … and 2 more",
    ),
    (
        {"call": "write", "always": {"path": {"$startsWith": "/tmp/"}}},
        [made("write", args={"path": "/etc/x"})],
        '`write(path="/etc/x")` is not as every such call must be: path "/etc/x", expected {"$startsWith": "/tmp/"}',
    ),
    ({"first": "login"}, [made("search")], "the first call is `search()`, expected `login`"),
    ({"last": "logout"}, [], "nothing was called, and `logout` was expected last"),
    (
        {"call": "search", "at_most": 0, "per": "turn"},
        [made("search", turn=1)],
        "`search()` was called, and must never be (in turn 2)",
    ),
    (
        {"call": ["pay", {"refund": {"id": 1}}], "only_after": ["a", "b"]},
        [made("refund", args={"id": 1})],
        "`refund(id=1)` was called without `a` or `b` before it; `a` or `b` was never called",
    ),
]


@pytest.mark.parametrize(("rule", "calls", "sentence"), SENTENCES, ids=[row[2][:60] for row in SENTENCES])
def test_a_finding_says_what_there_was_instead(rule: dict[str, Any], calls: list[ToolCall], sentence: str) -> None:
    [finding] = judge("call-rules", calls, {"rules": [rule]}).findings

    assert (finding.code, finding.message, finding.path) == ("RC116", sentence, "rules[0]")


def test_of_many_calls_the_first_are_named() -> None:
    rule = {"call": [f"tool_{number}" for number in range(9)], "at_most": 0}
    result = judge("call-rules", [], {"rules": [rule]})

    assert isinstance(result.details, RulesJustification)
    assert result.details.rules[0].rule == "`tool_0`, `tool_1`, `tool_2` or 6 more never"


@for_each(
    ("calls", "text"),
    [("a", "`a`"), ("ab", "`a` or `b`"), ("abc", "`a`, `b` or `c`"), ("abcd", "`a`, `b`, `c` or 1 more")],
)
def test_up_to_three_calls_of_a_rule_are_all_named(calls: str, text: str) -> None:
    result = judge("call-rules", [], {"rules": [{"call": [*calls], "at_most": 0}]})

    assert isinstance(result.details, RulesJustification)
    assert result.details.rules[0].rule == f"{text} never"


@for_each(
    ("rule", "status", "note"),
    [
        (PAY, "holds", ""),
        ({"call": "pay", "never_after": "confirm"}, "broken", ""),
        ({"call": "pay", "never_after": "x"}, "never_applied", "no `x` was called"),
        ({"call": "a", "never_with": "b"}, "never_applied", "neither `a` nor `b` was called"),
        ({"call": "a", "followed_by": "b"}, "never_applied", "no `a` was called"),
        ({"call": "a", "at_most": 1, "after": "b"}, "never_applied", "no `b` was called"),
        ({"call": "a", "followed_by": "b", "must_apply": True}, "broken", "no `a` was called"),
    ],
)
def test_a_rule_that_never_applied_says_which_call_was_not_made(rule: dict[str, Any], status: str, note: str) -> None:
    result = judge("call-rules", ["confirm", "pay"], {"rules": [rule]})

    assert isinstance(result.details, RulesJustification)
    assert [(check.status, check.note) for check in result.details.rules] == [(status, note)]


UNKNOWN: list[tuple[dict[str, Any], list[Any], str]] = [
    (
        {"call": {"pay": {"id": 1}}, "at_most": 0},
        ["pay"],
        "`pay(id=1)` never: whether it holds depends on `pay` (call 1), whose arguments were not recorded",
    ),
    (
        PAY,
        [made("confirm", suspected_error=True), made("pay")],
        "`pay` only after `confirm`: whether it holds depends on `confirm` (call 1), of which it was not recorded "
        "whether it failed",
    ),
    (
        SAME,
        [made("confirm", args={"id": 7}), made("log"), ToolCall("confirm"), made("pay", args={"id": 8})],
        "`pay` only after `confirm` with the same id: whether it holds depends on `confirm` (call 3), whose arguments "
        "were not recorded",
    ),
    (
        {"call": "pay", "at_most": 1, "per": "agent"},
        [made("pay")],
        "`pay` at most once by each agent: which agent `pay` belongs to was not recorded",
    ),
]


@pytest.mark.parametrize(("rule", "calls", "sentence"), UNKNOWN, ids=["arguments", "outcome", "same", "agent"])
def test_a_rule_that_is_open_says_on_what_it_depends(rule: dict[str, Any], calls: list[Any], sentence: str) -> None:
    result = judge("call-rules", calls, {"rules": [rule]})

    assert result.verdict == "not_measured"
    assert [finding.message for finding in result.findings] == [sentence]


def test_beside_a_rule_that_is_broken_an_open_one_names_the_call_that_may_not_be_meant() -> None:
    rules = [{"call": "pay", "at_most": 0}, {"last": "pay"}]

    result = judge("call-rules", [made("pay"), made("log", agent="billing")], {"rules": rules, "agent": "billing"})

    assert [finding.message for finding in result.findings] == [
        "`pay` never: whether it holds depends on `pay` (call 1), of which it was not recorded whether it counts",
        "the last call is `log()`, expected `pay`",
    ]


def test_the_reason_for_a_rule_is_in_its_findings() -> None:
    result = judge("call-rules", [made("pay")], {"rules": [{**PAY, "why": "the customer must have said yes"}]})

    assert [finding.why for finding in result.findings] == ["the customer must have said yes"]


def test_very_many_breaches_are_counted() -> None:
    result = judge("call-rules", [made("pay") for _ in range(100)], {"rules": [PAY]})

    assert len(result.findings) == 31
    assert result.findings[-1].message == "… and 70 more"
