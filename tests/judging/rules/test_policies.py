"""Rules of real policies, each with a run that keeps them and one that does not."""

from typing import Any

import pytest
from tests.builders import judge

from rightcall import ToolCall
from rightcall.values.results import RulesJustification


def made(name: str, /, output: Any = None, error: str | None = None, agent: str | None = None, **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, output=output, error=error, agent=agent)


REFUND: list[dict[str, Any]] = [
    {"call": "issue_refund", "only_after": "verify_identity", "same": "customer_id"},
    {"call": "issue_refund", "never_after": "cancel_account"},
    {"call": {"name": "issue_refund", "args": {"amount": {"$gt": 100}}}, "only_after": "manager_approval"},
]
CODING: list[dict[str, Any]] = [
    {"call": "edit_file", "followed_by": "run_tests", "before": "commit"},
    {
        "call": "commit",
        "only_after": {"name": "run_tests", "output": {"$contains": "passed"}},
        "since": "edit_file",
    },
]
SERVERS: list[dict[str, Any]] = [
    {"call": "mcp__github__*", "only_after": "mcp__github__authenticate"},
    {"call": "mcp__fs__write_*", "always": {"path": {"$startsWith": "/workspace/"}}},
    {"call": "mcp__*", "at_most": 20},
]
HAND_OFF: list[dict[str, Any]] = [
    {"call": {"name": "*", "agent": "billing"}, "only_after": {"name": "classify", "agent": "triage"}}
]
RETAIL: list[dict[str, Any]] = [{"call": "exchange_items", "never_with": "return_items", "same": "order_id"}]
SANDBOX: list[dict[str, Any]] = [
    {"call": "send_message", "only_after": "set_cellular"},
    {"call": "delete_contact", "at_most": 0},
]
PAYMENTS: list[dict[str, Any]] = [
    {"call": "pay", "only_after": "confirm", "since": "quote"},
    {"call": "pay", "at_most": 1},
]

edit, commit, passed = made("edit_file"), made("commit"), made("run_tests", output="12 passed")

POLICIES: list[tuple[str, list[dict[str, Any]], list[ToolCall], list[str], list[list[int]]]] = [
    (
        "a refund that keeps the policy",
        REFUND,
        [made("verify_identity", customer_id=7), made("issue_refund", customer_id=7, amount=50)],
        ["holds", "never_applied", "never_applied"],
        [[], [], []],
    ),
    (
        "a refund for another customer, too large",
        REFUND,
        [made("verify_identity", customer_id=7), made("issue_refund", customer_id=8, amount=250)],
        ["broken", "never_applied", "broken"],
        [[2], [], [2]],
    ),
    ("each edit is tested", CODING, [edit, passed, edit, passed, commit], ["holds", "holds"], [[], []]),
    ("the last edit is not tested", CODING, [edit, passed, edit, commit], ["broken", "broken"], [[3], [4]]),
    (
        "servers that are used as they may",
        SERVERS,
        [
            made("mcp__github__authenticate"),
            made("mcp__github__list"),
            made("mcp__fs__write_file", path="/workspace/a"),
        ],
        ["holds", "holds", "holds"],
        [[], [], []],
    ),
    (
        "servers that are not",
        SERVERS,
        [made("mcp__github__list"), made("mcp__fs__write_file", path="/etc/passwd")],
        ["broken", "broken", "holds"],
        [[1], [2], []],
    ),
    (
        "a hand-off",
        HAND_OFF,
        [made("classify", agent="triage"), made("look_up", agent="billing")],
        ["holds"],
        [[]],
    ),
    ("no hand-off", HAND_OFF, [made("look_up", agent="billing")], ["broken"], [[1]]),
    ("one order exchanged", RETAIL, [made("exchange_items", order_id="#W1")], ["holds"], [[]]),
    (
        "one order exchanged and returned",
        RETAIL,
        [made("find"), made("look"), made("return_items", order_id="#W1"), made("exchange_items", order_id="#W1")],
        ["broken"],
        [[3, 4]],
    ),
    (
        "a message once there is a signal",
        SANDBOX,
        [made("set_cellular"), made("send_message")],
        ["holds", "holds"],
        [[], []],
    ),
    (
        "a message before there is a signal",
        SANDBOX,
        [made("search_contacts"), made("send_message"), made("set_cellular")],
        ["broken", "holds"],
        [[2], []],
    ),
    ("one payment", PAYMENTS, [made("quote"), made("confirm"), made("pay")], ["holds", "holds"], [[], []]),
    (
        "a payment twice",
        PAYMENTS,
        [made("quote"), made("confirm"), made("pay"), made("pay")],
        ["holds", "broken"],
        [[], [4]],
    ),
]


@pytest.mark.parametrize(("rules", "calls", "said", "by"), [pytest.param(*row[1:], id=row[0]) for row in POLICIES])
def test_a_policy_names_the_rules_that_are_broken_and_the_calls_that_break_them(
    rules: list[dict[str, Any]], calls: list[ToolCall], said: list[str], by: list[list[int]]
) -> None:
    details = judge("call-rules", calls, {"rules": rules}).details

    assert isinstance(details, RulesJustification)
    assert [check.status for check in details.rules] == said
    assert [[call.position + 1 for call in check.calls] for check in details.rules] == by


FOUND = {"call": "delete", "always": {"id": {"$from": "list_files"}}}


def test_an_argument_may_have_to_come_from_an_earlier_call() -> None:
    listed = made("list_files", output=["a", "b"])
    result = judge("call-rules", [listed, made("delete", id="a"), made("delete", id="z")], {"rules": [FOUND]})

    [finding] = result.findings
    assert finding.actual is not None
    assert (finding.code, finding.actual.position) == ("RC116", 2)


def test_where_the_earlier_call_left_no_output_the_rule_is_open() -> None:
    listed = ToolCall(name="list_files", args={})
    result = judge("call-rules", [listed, made("delete", id="a")], {"rules": [FOUND]})

    assert result.verdict == "not_measured"
