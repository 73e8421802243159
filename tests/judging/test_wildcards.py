"""Names with `*` in criteria: what they take, where, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import judge
from tests.walls import for_each

from rightcall import CriteriaError, ToolCall, Trajectory
from rightcall.judging import EVALUATORS
from rightcall.matching.matchers import NamePattern

MADE = ["mcp__fs__read", "mcp__fs__write", "search", "mcp__git__push"]


def starred(type_id: str, made: Any, criteria: dict[str, Any], **config: Any) -> Any:
    return judge(type_id, made, {"wildcards": True, **criteria}, **config)


CASES: list[tuple[str, dict[str, Any], float]] = [
    ("tool-call-order", {"tool_calls_order": ["mcp__fs__*", "search", "*push"]}, 1.0),
    ("tool-call-order", {"tool_calls_order": ["search", "mcp__fs__*"]}, 0.5),
    ("tool-call-order", {"tool_calls_order": ["*", "*", "*", "*", "*"]}, 0.8),
    ("tool-call-count", {"tool_calls_count": {"mcp__*": 3}}, 1.0),
    ("tool-call-count", {"tool_calls_count": {"mcp__*": 2, "search": 1}}, 0.5),
    ("tool-call-args", {"tool_calls": ["mcp__*", "mcp__*", "mcp__*"]}, 1.0),
    ("tool-call-args", {"tool_calls": ["mcp__*"] * 4}, 0.75),
    ("forbidden-tools", {"never": ["delete_*"]}, 1.0),
    ("forbidden-tools", {"never": ["*__write"]}, 0.0),
    ("tool-precision", {"expected": ["mcp__*", "mcp__*", "search"]}, 0.75),
    ("step-count", {"at_most": 1, "ignore_tools": ["mcp__*"]}, 1.0),
    ("tool-call-order", {"tool_calls_order": ["search"], "ignore_tools": ["mcp__*"]}, 1.0),
]


@for_each("case", CASES)
def test_a_star_takes_any_characters_in_every_list_of_names(case: tuple[str, dict[str, Any], float]) -> None:
    type_id, criteria, score = case

    assert starred(type_id, MADE, criteria).score == score


def test_outputs_of_every_tool_that_fits_are_compared() -> None:
    made = [ToolCall("mcp__read", {}, {"ok": True}), ToolCall("mcp__write", {}, {"ok": False})]

    result = starred("tool-call-output", made, {"tool_outputs": [{"name": "mcp__*", "output": {"ok": False}}] * 2})

    assert result.score == 0.5
    assert result.findings[0].message == "`mcp__*` returned output.ok true, expected false"


def test_a_strict_order_is_met_by_names_that_fit_one_by_one() -> None:
    criteria = {"tool_calls_order": ["mcp__*", "mcp__*", "search", "mcp__*"]}

    assert starred("tool-call-order", MADE, criteria, strict=True).score == 1.0
    assert starred("tool-call-order", MADE[:3], criteria, strict=True).score == 0.0
    assert starred("tool-call-order", [*MADE[:3], "x"], criteria, strict=True).score == 0.0


def test_a_pattern_that_nothing_fits_was_never_called() -> None:
    [finding] = starred("tool-call-order", MADE, {"tool_calls_order": ["delete_*"]}).findings

    assert (finding.code, finding.message) == ("RC101", "`delete_*` was never called")


def test_the_frameworks_own_calls_fit_a_pattern_that_is_about_their_name() -> None:
    run = Trajectory(calls=(ToolCall("transfer_to_billing", internal=True),))

    assert starred("forbidden-tools", run, {"never": ["transfer_*"]}).score == 0.0
    assert starred("forbidden-tools", run, {"never": ["*"]}).score == 1.0
    assert starred("tool-call-count", run, {"tool_calls_count": {"*": 0}}).score == 1.0
    assert starred("tool-trajectory", run, {"expected": ["*"]}).score == 0.0
    assert starred("tool-trajectory", run, {"expected": ["transfer_*"]}).score == 1.0


def test_whether_a_star_alone_fits_a_call_is_not_known_where_it_may_be_the_frameworks_own() -> None:
    run = Trajectory(calls=(ToolCall("transfer_to_billing", internal=None),))

    assert starred("tool-trajectory", run, {"expected": ["*"]}).verdict == "not_measured"


def test_an_expected_tool_is_not_to_be_ignored() -> None:
    with pytest.raises(CriteriaError, match="'mcp__fs' is both expected and ignored"):
        starred("tool-call-order", [], {"tool_calls_order": ["mcp__fs"], "ignore_tools": ["mcp__*"]})


def test_evaluators_of_exact_names_refuse_a_star_all_the_same() -> None:
    with pytest.raises(CriteriaError, match=r"expected_output\[0\]: 'a\*' has a '\*', but names are exact here"):
        starred("execution-order", ["ab"], {"expected_output": ["a*"]})


NAMES = st.sampled_from(["a", "ab", "b", "ba"])
WRITTEN = st.sampled_from(["a", "a*", "*b", "*", "b"])


def longest(expected: list[str], made: list[str]) -> int:
    """The twin: every pair, by the textbook's table."""
    table = [[0] * (len(made) + 1) for _ in range(len(expected) + 1)]
    for row, name in enumerate(expected):
        for column, called in enumerate(made):
            fits = NamePattern.of(name).matches(called) if "*" in name else name == called
            table[row + 1][column + 1] = max(table[row][column] + fits, table[row][column + 1], table[row + 1][column])
    return table[-1][-1]


@given(st.lists(WRITTEN, min_size=1, max_size=5), st.lists(NAMES, max_size=6))
def test_an_order_is_scored_as_the_textbook_says(expected: list[str], made: list[str]) -> None:
    assert starred("tool-call-order", made, {"tool_calls_order": expected}).score == longest(expected, made) / len(
        expected
    )


def test_only_the_nth_call_is_meant() -> None:
    made = [ToolCall("search", {"q": 1}, "a"), ToolCall("search", {"q": 2}, "b")]

    def score(nth: int, q: int) -> Any:
        return judge("tool-call-args", made, {"tool_calls": [{"name": "search", "args": {"q": q}, "nth": nth}]}).score

    assert [score(1, 1), score(1, 2), score(-1, 2), score(3, 2)] == [1.0, 0.0, 1.0, 0.0]
    outputs = {"tool_outputs": [{"name": "search", "output": "b", "nth": -1}]}
    assert judge("tool-call-output", made, outputs).score == 1.0


def test_which_call_is_the_first_is_not_known_where_the_order_is_not() -> None:
    run = Trajectory(calls=(ToolCall("search", {"q": 1}), ToolCall("search", {"q": 2})), unordered=((0, 2),))
    criteria = {"tool_calls": [{"name": "search", "args": {"q": 1}, "nth": 1}]}

    assert judge("tool-call-args", run, criteria).verdict == "not_measured"
    assert judge("forbidden-tools", run, {"never": criteria["tool_calls"]}).verdict == "not_measured"


@for_each("calls", [("ok", "failed"), ("failed", "ok")])
def test_which_call_is_the_last_is_not_known_among_calls_asked_for_at_once_either(calls: tuple[str, str]) -> None:
    made = tuple([ToolCall("pay", {}, 1, error="boom" if each == "failed" else None, group="1") for each in calls])
    last = {"name": "pay", "status": "ok", "nth": -1}

    for parallel in ("in_order", "recorded", "any_order"):
        run = Trajectory(calls=made, unordered=((0, 2),))
        assert judge("tool-recall", run, {"expected": [last], "parallel": parallel}).verdict == "not_measured"
        known = judge("tool-recall", Trajectory(calls=made), {"expected": [last], "parallel": parallel})
        assert known.passed == (calls[1] == "ok")


Q1, Q2 = ToolCall("search", {"q": 1}, "a"), ToolCall("search", {"q": 2}, "b")
NUMBERED: list[tuple[list[ToolCall], list[Any], str]] = [
    ([Q1, Q2], [{"args": {"q": 1}, "nth": -1}], "`search` was called with q 2, expected 1"),
    ([Q1, Q2], [{"args": {"q": 1}, "nth": 1}, {"args": {"q": 3}}], "`search` was called with q 2, expected 3"),
    ([Q1], [{"nth": 2}], "`search(nth=2)` is missing: `search` was called 1 time"),
    ([Q1, Q2], [{"nth": -3}], "`search(nth=-3)` is missing: `search` was called 2 times"),
    (
        [Q1],
        [{}, {"nth": 1}],
        "`search(nth=1)` is missing: the only call of `search` is paired with another expectation",
    ),
    (
        [Q1, Q2],
        [{}, {}, {"nth": -1}],
        "`search(nth=-1)` is missing: the 2nd call of `search` is paired with another expectation",
    ),
    ([], [{"nth": 1}], "`search` was never called"),
]


@for_each("case", NUMBERED)
def test_a_finding_is_about_the_call_that_the_number_means(case: tuple[list[ToolCall], list[Any], str]) -> None:
    made, parts, message = case
    result = judge(
        "tool-call-args", Trajectory(calls=tuple(made)), {"tool_calls": [{"name": "search", **each} for each in parts]}
    )

    assert [finding.message for finding in result.findings] == [message]
    assert all(["like it" not in each.text for each in result.details.explained_tool_calls_args])


def test_a_forbidden_call_may_be_one_that_went_well() -> None:
    failed, made = ToolCall("pay", {}, error="declined"), ToolCall("pay", {}, 1)
    never = {"never": [{"name": "pay", "status": "ok"}]}

    assert [judge("forbidden-tools", [call], never).score for call in (failed, made)] == [1.0, 0.0]


def test_a_value_made_up_is_a_finding_of_its_own() -> None:
    made = [ToolCall("search", {}, {"id": "TP2"}), ToolCall("book", {"id": "TP9", "n": 1})]
    expected = {"tool_calls": [{"name": "book", "args": {"id": {"$from": "search"}, "n": 1}}]}

    [finding] = judge("tool-call-args", made, expected).findings

    assert finding.code == "RC117"
    assert finding.message == '`book`: id "TP9" is in no output of `search` before it (1 value there: "TP2")'


def test_a_value_from_an_output_that_was_not_recorded_is_not_measured() -> None:
    made = [ToolCall("search"), ToolCall("book", {"id": "TP9"})]
    expected = [{"name": "book", "args": {"id": {"$from": "search"}}}]

    assert judge("tool-call-args", made, {"tool_calls": expected}).verdict == "not_measured"
    assert judge("forbidden-tools", made, {"never": expected}).verdict == "not_measured"
    assert judge("tool-trajectory", made, {"expected": ["search", *expected]}).verdict == "not_measured"


SPECIAL: list[tuple[str, dict[str, Any]]] = [
    ("tool-call-order", {"tool_calls_order": ["a*"]}),
    ("tool-call-count", {"tool_calls_count": {"a*": 1}}),
    ("tool-call-args", {"tool_calls": [{"name": "a", "args": {"x": {"$from": "b"}}}]}),
    ("tool-call-args", {"tool_calls": [{"name": "a", "nth": 1}]}),
    ("tool-call-output", {"tool_outputs": [{"name": "a*", "output": 1}]}),
    ("forbidden-tools", {"never": [{"name": "a", "status": "ok"}]}),
    ("tool-recall", {"expected": [{"name": "a", "agent": "x"}]}),
]


@for_each("case", SPECIAL)
def test_what_depends_on_more_than_one_part_of_a_call_is_judged_run_by_run(case: tuple[str, dict[str, Any]]) -> None:
    type_id, criteria = case
    evaluator = EVALUATORS[type_id]()

    assert evaluator.scope(evaluator.criteria({"wildcards": True, **criteria})) is None
