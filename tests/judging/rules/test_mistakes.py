"""Mistakes in rules: one line each, at its place, with what would be right."""

from typing import Any

import pytest

from rightcall import CriteriaError
from rightcall.judging import CallRules

PAY = {"call": "pay", "only_after": "confirm"}

MISTAKES: list[tuple[str, Any, tuple[str | int, ...], str]] = [
    ("no list", {"call": "pay"}, ("rules",), "a list is expected"),
    ("no rules", [], ("rules",), "is empty"),
    ("no object", ["pay"], ("rules", 0), "a rule is an object such as {call: pay, only_after: confirm}, not 'pay'"),
    ("no relation", [{"call": "pay"}], ("rules", 0), "this one has none"),
    (
        "two relations",
        [{**PAY, "never_after": "cancel"}],
        ("rules", 0, "never_after"),
        "this one has only_after and never_after; write a rule for each",
    ),
    ("no call", [{"only_after": "confirm"}], ("rules", 0), "'call' is missing: which calls is 'only_after' about?"),
    ("a call beside first", [{"first": "a", "call": "b"}], ("rules", 0, "call"), "'first' names the call itself"),
    (
        "a misspelt relation",
        [{"call": "pay", "only_aftr": "a"}],
        ("rules", 0, "only_aftr"),
        "did you mean 'only_after'?",
    ),
    (
        "since with never_after",
        [{"call": "pay", "never_after": "cancel", "since": "login"}],
        ("rules", 0, "since"),
        "'since' belongs to 'only_after', not to 'never_after'",
    ),
    ("before with only_after", [{**PAY, "before": "a"}], ("rules", 0, "before"), "'followed_by' and 'at_most'"),
    ("after with only_after", [{**PAY, "after": "a"}], ("rules", 0, "after"), "'after' belongs to 'at_most'"),
    (
        "before and after",
        [{"call": "a", "at_most": 1, "before": "b", "after": "c"}],
        ("rules", 0, "after"),
        "not both; write two rules",
    ),
    (
        "directly where nothing is beside",
        [{"call": "a", "never_with": "b", "directly": True}],
        ("rules", 0, "directly"),
        "'directly' belongs to 'only_after' and 'followed_by', not to 'never_with'",
    ),
    (
        "directly and since",
        [{**PAY, "directly": True, "since": "a"}],
        ("rules", 0, "since"),
        "nothing comes in between",
    ),
    ("a negative number", [{"call": "a", "at_most": -1}], ("rules", 0, "at_most"), "at least 0"),
    ("no number", [{"call": "a", "at_most": "two"}], ("rules", 0, "at_most"), "a whole number"),
    (
        "same of one call",
        [{"call": "a", "at_most": 1, "same": "id"}],
        ("rules", 0, "same"),
        "'same' compares two calls",
    ),
    (
        "same of a number of calls",
        [{"call": "a", "at_most": 1, "same": "id"}],
        ("rules", 0, "same"),
        "is about one; count calls with an argument by giving it: {call: {pay: {order: 1}}, at_most: 1}",
    ),
    ("same of a number", [{**PAY, "same": 3}], ("rules", 0, "same"), "'same' is the name of an argument"),
    ("same of nothing", [{**PAY, "same": ""}], ("rules", 0, "same"), "'same' is empty"),
    ("an unknown class", [{**PAY, "per": "run"}], ("rules", 0, "per"), "'turn' or 'agent'"),
    ("no calls", [{"call": [], "at_most": 1}], ("rules", 0, "call"), "is empty; name at least one call"),
    ("a number for a call", [{"call": 3, "at_most": 1}], ("rules", 0, "call"), "a call is a name"),
    ("a wrong call in a list", [{"call": ["a", 3], "at_most": 1}], ("rules", 0, "call", 1), "a call is a name"),
    ("an empty name", [{"call": "", "at_most": 1}], ("rules", 0, "call", "name"), "at least 1 character"),
    (
        "a matcher for a name",
        [{"call": {"name": {"$in": ["a", "b"]}}, "at_most": 1}],
        ("rules", 0, "call"),
        "a list of calls means any of them",
    ),
    (
        "an object for a name",
        [{"call": {"name": {"a": 1}, "status": "ok"}, "at_most": 1}],
        ("rules", 0, "call"),
        "'name' is the name of a tool, a string",
    ),
    ("a matcher for a call", [{"call": {"$in": ["a"]}, "at_most": 1}], ("rules", 0, "call"), "'$in' is a matcher"),
    ("a word of calls", [{"call": {"one_of": ["a"]}, "at_most": 1}], ("rules", 0, "call"), "means any of them: [a, b]"),
    ("arguments that are none", [{"call": {"pay": 3}, "at_most": 1}], ("rules", 0, "call", "pay"), "are an object"),
    (
        "two tools",
        [{"call": {"a": {}, "b": {}}, "at_most": 1}],
        ("rules", 0, "call"),
        "an object with one key, its name",
    ),
    (
        "an unknown part",
        [{"call": {"name": "a", "arg": {}}, "at_most": 1}],
        ("rules", 0, "call", "arg"),
        "mean 'args'?",
    ),
    (
        "an unknown status",
        [{"call": {"name": "a", "status": "bad"}, "at_most": 1}],
        ("rules", 0, "call", "status"),
        "'ok'",
    ),
    ("call 0", [{"call": {"name": "a", "nth": 0}, "at_most": 1}], ("rules", 0, "call"), "'nth' counts from 1"),
    ("an unknown matcher", [{"call": {"a": {"x": {"$gr": 1}}}, "at_most": 1}], ("rules", 0, "call"), "'$gt'"),
    ("an empty always", [{"call": "a", "always": {}}], ("rules", 0, "always"), "'always' is empty"),
    ("a wrong always", [{"call": "a", "always": {"x": {"$gr": 1}}}], ("rules", 0, "always"), "'$gt'"),
    ("the second rule", [PAY, {"call": "a"}], ("rules", 1), "rules[1]: a rule has one of"),
]


@pytest.mark.parametrize(("rules", "path", "said"), [pytest.param(*row[1:], id=row[0]) for row in MISTAKES])
def test_a_mistake_is_told_at_its_place(rules: Any, path: tuple[str | int, ...], said: str) -> None:
    with pytest.raises(CriteriaError) as problem:
        CallRules().criteria({"rules": rules})

    assert said in str(problem.value)
    assert problem.value.path == path
    assert "\n" not in str(problem.value)


def test_keys_may_be_written_in_camel_case() -> None:
    criteria = CallRules().criteria({"rules": [{"call": "pay", "onlyAfter": "confirm", "mustApply": True}]})

    assert criteria.rules[0].must_apply


def test_a_tool_may_be_called_like_a_part_of_a_call_or_a_word_of_calls() -> None:
    rules = [{"call": {"name": {"first": "Ann"}}, "at_most": 0}, {"call": {"repeat": {"times": 2}}, "at_most": 0}]

    read = CallRules().criteria({"rules": rules}).rules

    assert [call.name for rule in read for call in rule.call or ()] == ["name", "repeat"]


def test_a_tool_that_is_expected_cannot_be_ignored() -> None:
    with pytest.raises(CriteriaError, match="'confirm' is both expected and ignored"):
        CallRules().criteria({"rules": [PAY], "ignore_tools": ["confirm"]})


def test_some_of_the_tools_that_a_pattern_takes_may_be_ignored() -> None:
    CallRules().criteria({"rules": [{"call": "mcp__*", "at_most": 3}], "ignore_tools": ["mcp__log"]})


def test_how_calls_with_an_argument_are_counted_is_told_where_calls_are_counted() -> None:
    with pytest.raises(CriteriaError) as problem:
        CallRules().criteria({"rules": [{"first": "a", "same": "id"}]})

    assert str(problem.value).endswith("'same' compares two calls, and 'first' is about one")
