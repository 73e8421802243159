"""One written call, compared with one actual call, by any of its parts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import ToolCall
from rightcall.errors import ExpectationError, LimitError
from rightcall.limits import Limits
from rightcall.matching.matchers import CallPattern, ExpectedCalls, PartsPattern, call_pattern, relate

PAID = ToolCall("pay", {"amount": 5}, {"id": "p1"}, agent="billing", turn=1)
FAILED = ToolCall("pay", {"amount": 5}, error="timeout")
BARE = ToolCall("pay")


def test_a_name_and_arguments_alone_are_an_indexed_pattern() -> None:
    assert type(call_pattern("pay", {"amount": 5})) is CallPattern
    assert type(call_pattern("pay")) is CallPattern


def test_without_wildcards_a_star_is_a_character() -> None:
    pattern = call_pattern("pay*", wildcards=False)

    assert pattern.takes("pay*")
    assert not pattern.takes("pay_all")


def test_a_name_with_a_star_takes_every_tool_that_fits() -> None:
    pattern = call_pattern("p*")

    assert [pattern.takes(name) for name in ("pay", "p", "ship")] == [True, True, False]
    assert pattern.accepts(BARE) is True


PARTS: dict[str, dict[str, Any]] = {
    "args": {"args": {"amount": 5}},
    "output": {"output": {"id": "p1"}},
    "status": {"status": "ok"},
    "agent": {"agent": "billing"},
    "turn": {"turn": 1},
}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_accepts_a_call_that_has_it(part: str) -> None:
    assert call_pattern("p*", **PARTS[part]).accepts(PAID) is True


@pytest.mark.parametrize("part", [part for part in PARTS if part != "status"])
def test_each_part_is_unknown_where_it_was_not_recorded(part: str) -> None:
    assert call_pattern("p*", **PARTS[part]).accepts(BARE) is None


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "args": ({"args": {"amount": 6}}, "$.amount: 6 ≠ 5"),
    "output": ({"output": {"id": "p2"}}, 'output.id: "p2" ≠ "p1"'),
    "status": ({"status": "error"}, "status: error ≠ ok"),
    "agent": ({"agent": "triage"}, 'agent: "triage" ≠ "billing"'),
    "turn": ({"turn": 0}, "turn: 0 ≠ 1"),
}


@pytest.mark.parametrize("part", WRONG)
def test_each_part_refuses_another_value_and_says_which(part: str) -> None:
    expected, told = WRONG[part]
    pattern = call_pattern("p*", **expected)

    assert pattern.accepts(PAID) is False
    assert isinstance(pattern, PartsPattern)
    assert {key: [str(each) for each in found] for key, found in pattern.differences_by_part(PAID, None).items()} == {
        part: [told]
    }


def test_a_call_that_raised_is_not_ok_and_says_what_it_raised() -> None:
    pattern = call_pattern("pay", status="ok")

    assert pattern.accepts(FAILED) is False
    assert [str(each) for each in pattern.differences_from(FAILED)] == ['status: ok ≠ error "timeout"']
    assert call_pattern("pay", status="error").accepts(FAILED) is True


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("pay", suspected_error=True),
        ToolCall("pay", unrecorded=frozenset({"error"})),
        ToolCall("pay", source="span"),
    ],
    ids=["reads like an error", "error not recorded", "what came of it not recorded"],
)
@pytest.mark.parametrize("status", ["ok", "error"])
def test_an_outcome_that_is_not_sure_is_unknown(call: ToolCall, status: Any) -> None:
    pattern = call_pattern("pay", status=status)

    assert pattern.accepts(call) is None
    assert pattern.differences_from(call) == ()


def test_one_part_that_differs_settles_it_whatever_is_unknown() -> None:
    assert call_pattern("pay", {"amount": 5}, status="ok").accepts(ToolCall("pay", error="broke")) is False


def test_a_call_is_shown_with_all_of_its_parts() -> None:
    pattern = call_pattern("pay", {"amount": 5}, status="error", output=3, agent="till", turn=1, nth=2)

    assert isinstance(pattern, PartsPattern)
    assert pattern.shown == {"amount": 5, "status": "error", "output": 3, "agent": "till", "turn": 1, "nth": 2}


def test_an_expected_null_output_is_a_part() -> None:
    assert call_pattern("pay", output=None).accepts(ToolCall("pay", {}, None)) is True
    assert call_pattern("pay", output=None).accepts(PAID) is False


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"status": "okay"}, "expected.status is 'ok' or 'error', not 'okay'; did you mean 'ok'?"),
        ({"agent": "b*"}, "expected.agent is the whole name of an agent, not 'b*'"),
        ({"turn": -1}, "expected.turn is the number of a turn, from 0, not -1"),
        ({"turn": True}, "expected.turn is the number of a turn, from 0, not True"),
        ({"args": {"a": {"$regexp": "x"}}}, "expected.args.a: unknown matcher '$regexp'"),
        ({"output": {"$regexp": "x"}}, "expected.output: unknown matcher '$regexp'"),
    ],
    ids=["status", "agent", "turn", "boolean turn", "args", "output"],
)
def test_a_wrong_part_is_an_error_at_its_place(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(ExpectationError) as raised:
        call_pattern("pay", **parts)

    assert str(raised.value).startswith(told)


NAMES = st.sampled_from(["a", "ab", "b"])
WRITTEN = st.builds(
    call_pattern,
    st.sampled_from(["a", "a*", "*b", "*"]),
    st.none() | st.just({"p": 1}) | st.just({"p": {"$gt": 0}}),
    status=st.sampled_from([None, "ok", "error"]),
    agent=st.sampled_from([None, "x"]),
    turn=st.sampled_from([None, 0]),
)
MADE = st.builds(
    lambda name, args, error, agent, turn, hidden: ToolCall(
        name, None if "args" in hidden else args, None, error=error, agent=agent, turn=turn, unrecorded=hidden
    ),
    NAMES,
    st.sampled_from([{}, {"p": 1}, {"p": 2}]),
    st.sampled_from([None, None, "broke"]),
    st.sampled_from([None, "x", "y"]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([frozenset[str](), frozenset({"args"})]),
)


@given(st.lists(WRITTEN, max_size=5), st.lists(MADE, max_size=8))
def test_a_relation_is_what_each_pair_says(patterns: list[Any], calls: list[ToolCall]) -> None:
    def said(*accepted: bool | None) -> list[list[int]]:
        return [
            [at for at, call in enumerate(calls) if pattern.takes(call.name) and pattern.accepts(call) in accepted]
            for pattern in patterns
        ]

    relation = relate(ExpectedCalls(patterns), calls)

    assert [list(row) for row in relation.sure] == said(True)
    assert [list(row) for row in relation.possible] == said(True, None)


def test_trying_parts_spends_the_budget_of_comparisons() -> None:
    expected = ExpectedCalls([call_pattern("*", status="ok")] * 4)

    with pytest.raises(LimitError):
        relate(expected, [PAID] * 3, Limits(comparisons=11))
    relate(expected, [PAID] * 3, Limits(comparisons=12))


@pytest.mark.parametrize(("nth", "found"), [(1, [0]), (2, [2]), (3, []), (-1, [2]), (-2, [0]), (-3, [])], ids=str)
def test_the_nth_call_of_a_tool_is_meant_and_no_other(nth: int, found: list[int]) -> None:
    calls = [ToolCall("search", {"q": 1}), ToolCall("book"), ToolCall("search", {"q": 1})]

    relation = relate(ExpectedCalls([call_pattern("search", {"q": 1}, nth=nth)]), calls)

    assert list(relation.sure[0]) == found


def test_the_nth_call_is_counted_before_it_is_compared() -> None:
    calls = [ToolCall("search", {"q": 0}), ToolCall("search", {"q": 1})]

    relation = relate(ExpectedCalls([call_pattern("s*", {"q": 1}, nth=1)]), calls)

    assert list(relation.possible[0]) == []


@pytest.mark.parametrize("nth", [0, True, "first"], ids=str)
def test_a_wrong_nth_is_an_error(nth: Any) -> None:
    with pytest.raises(ExpectationError, match=r"expected\.nth is 1 for the first call of the tool, -1 for the last"):
        call_pattern("search", nth=nth)


def test_calls_that_are_not_found_by_an_index_are_no_plain_beginning() -> None:
    expected = ExpectedCalls([call_pattern("pay", status="ok")])

    assert not expected.is_beginning_of([PAID], ("pay",))
    assert not expected.names_only
