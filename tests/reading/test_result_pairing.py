"""Which result belongs to which request, where ids do not say it."""

from __future__ import annotations

from typing import Any

from tests.walls import for_each

from rightcall import read_messages
from rightcall.reading.messages._conversation_reader import (
    MOST_WAITING,
    has_own_id,
    is_answered,
    may_answer,
    only_order,
    only_pairing,
    ungroup,
)
from rightcall.reading.spans import NOTHING, CallRecord

Shape = tuple[Any, ...]
"""A name, an id, and for results an output; a group for requests."""


def result(name: str = "", call_id: str | None = None, output: Any = NOTHING, failed: bool = False) -> CallRecord:
    return CallRecord(name, call_id=call_id, output=output, failed=failed)


def request(name: str, call_id: str | None = None, group: str | None = None, output: Any = NOTHING) -> CallRecord:
    return CallRecord(name, call_id=call_id, group=group, output=output)


def places(
    pairs: list[tuple[CallRecord, CallRecord]], requests: list[CallRecord], results: list[CallRecord]
) -> list[tuple[int, int]]:
    """Each result, with the request that it belongs to."""
    asked, given = [id(each) for each in requests], [id(each) for each in results]
    return sorted([(given.index(id(made)), asked.index(id(wanted))) for wanted, made in pairs])


@for_each(
    ("results", "requests", "pairs"),
    [
        ([("a",)], [("a",)], [(0, 0)]),
        ([("a",)], [("b",)], []),
        ([], [("a",)], []),
        ([("b",), ("a",)], [("a",), ("b",)], [(0, 1), (1, 0)]),
        ([("",), ("a",)], [("a",), ("b",)], [(0, 1), (1, 0)]),
        ([("",)], [("a",), ("b",)], []),
        ([("b",)], [("a",), ("b",)], [(0, 1)]),
        ([("a",), ("a",)], [("a",)], []),
        ([("a", None, 1), ("a", None, 2)], [("a",), ("a",)], []),
        ([("a", None, 1), ("a", None, 1)], [("a",), ("a",)], [(0, 0), (1, 1)]),
        ([("a", None, 1), ("a", None, 1)], [("a", "1"), ("a", "2")], [(0, 0), (1, 1)]),
        ([("a", None, 1), ("b", None, 2)], [("a",), ("a",), ("b",)], [(1, 2)]),
        ([("a", None, 1), ("a", None, 1)], [("a",), ("a",), ("a",)], []),
        ([("a", None, 1), ("a", None, 1, True)], [("a",), ("a",)], []),
        # One id for all of them is none: they are in order.
        ([("a", "x", 1), ("a", "x", 2)], [("a",), ("a",)], [(0, 0), (1, 1)]),
        ([("a", "x", 1), ("a", "x", 2)], [("a", "1"), ("a", "2")], []),
        ([("a", "x", 1), ("a", "y", 2)], [("a",), ("a",)], []),
        # Ids of items are of another kind than those of calls.
        ([("a", "x", 1), ("a", "y", 2)], [("a", "fc_1"), ("a", "fc_2")], [(0, 0), (1, 1)]),
        ([("a", "x", 1), ("a", None, 2)], [("a", "fc_1"), ("a", "fc_2")], []),
        ([("a", "x", 1), ("a", "y", 2)], [("a", "fc_1"), ("a", "c2")], [(0, 0)]),
        ([("b", "x", 1), ("a", "x", 2)], [("a",), ("b",)], [(0, 1), (1, 0)]),
    ],
)
def test_a_result_without_an_id_belongs_to_the_request_that_is_left_for_it(
    results: list[Shape], requests: list[Shape], pairs: list[tuple[int, int]]
) -> None:
    made, asked = [result(*each) for each in results], [request(*each) for each in requests]

    assert places(only_pairing(made, asked)[0], asked, made) == pairs


@for_each(
    ("results", "requests", "strays"),
    [
        ([("a",)], [("a",)], []),
        ([("a",)], [("b",)], [0]),
        ([("a",), ("a",)], [("a",)], [1]),
        ([("a",), ("b",)], [("a",), ("c",)], [1]),
        ([("a", None, 1), ("a", None, 2)], [("a",), ("a",)], []),
        ([("a", "x", 1), ("a", "y", 2)], [("a", "fc_1"), ("a", "c2")], [1]),
    ],
)
def test_a_result_that_no_request_can_have_is_of_one_that_is_missing(
    results: list[Shape], requests: list[Shape], strays: list[int]
) -> None:
    made = [result(*each) for each in results]

    _, left = only_pairing(made, [request(*each) for each in requests])

    assert [id(each) for each in left] == [id(made[place]) for place in strays]


def test_more_requests_than_any_model_makes_are_not_compared() -> None:
    asked = [request(str(number)) for number in range(MOST_WAITING)]

    assert len(only_pairing([result("3")], asked)[0]) == 1
    assert only_pairing([result("3")], [*asked, request("x")]) == ([], [])


def test_no_call_gets_the_result_of_another_tool() -> None:
    asked = [{"id": call_id, "function": {"name": tool, "arguments": "{}"}} for tool, call_id in ("a1", "a2", "b3")]
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": asked},
        {"role": "tool", "name": "a", "content": "lost its id"},
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
    ]

    run = read_messages(messages)

    assert [call.output for call in run.calls] == ["one", "two", None]
    assert not run.calls_recorded


@for_each(
    ("results", "requests", "pairs"),
    [
        ([("a",), ("b",)], [("a",), ("b",)], [(0, 0), (1, 1)]),
        ([("a",), ("b",)], [("a",), ("x",), ("b",)], [(0, 0), (1, 2)]),
        ([("b",), ("a",)], [("a",), ("b",)], []),
        ([("a",)], [("a",), ("a",)], []),
        ([("a",), ("b",)], [("a",), ("a",), ("b",)], [(1, 2)]),
        ([("a",), ("c",)], [("a",), ("b",)], []),
        # A result with an id that no request has may be any of those asked for at once.
        ([("a", "x")], [("a", None, "g")], [(0, 0)]),
        ([("a", "x"), ("b", "y")], [("a", None, "g"), ("b", None, "g")], []),
        ([("a",), ("b",)], [("a", None, "g"), ("b", None, "g")], [(0, 0), (1, 1)]),
        # A request that has its result takes the same one again, and no other.
        ([("a", None, 1)], [("a", None, None, 1)], [(0, 0)]),
        ([("a", None, 2)], [("a", None, None, 1)], []),
        ([("a", None, 1, True)], [("a", None, None, 1)], []),
        ([("a", None, 2)], [("a", None, None, 1), ("a",)], [(0, 1)]),
    ],
)
def test_results_are_in_the_order_of_their_requests_where_only_one_way_is_left(
    results: list[Shape], requests: list[Shape], pairs: list[tuple[int, int]]
) -> None:
    made, asked = [result(*each) for each in results], [request(*each) for each in requests]

    assert places(only_order(made, asked), asked, made) == pairs


@for_each(
    ("one", "other", "may"),
    [
        (("a",), ("a",), True),
        (("",), ("a",), True),
        (("b",), ("a",), False),
        (("a", "1"), ("a",), True),
        (("a",), ("a", "1"), True),
        (("a", "1"), ("a", "1"), False),
        (("a", "1"), ("a", "fc_1"), True),
        (("b", "1"), ("a", "fc_1"), False),
    ],
)
def test_a_result_may_answer_a_request_of_its_name_where_one_of_them_has_no_id(
    one: Shape, other: Shape, may: bool
) -> None:
    assert may_answer(result(*one), request(*other)) is may


def test_a_request_is_answered_by_an_output_or_an_error() -> None:
    assert [is_answered(each) for each in (result("a"), result("a", output=None), result("a", failed=True))] == [
        False,
        True,
        True,
    ]


def test_results_are_not_in_the_order_of_their_requests_where_one_of_them_has_another_id() -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("find", "pay")]
    found = [{"role": "tool", "tool_call_id": "c1", "content": "found"}, {"role": "tool", "content": "paid"}]

    def outputs(results: list[dict[str, Any]]) -> list[Any]:
        run = read_messages([{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": calls}, *results])
        return [call.output for call in run.calls]

    assert outputs(found) == [None, None]
    assert outputs([{**each, "tool_call_id": None} for each in found]) == ["found", "paid"]


def test_an_id_is_a_call_s_own_where_its_model_gave_it() -> None:
    assert has_own_id(result("a", "call_1"))
    assert not has_own_id(result("a", ""))
    assert not has_own_id(result("a"))


def test_calls_taken_out_of_their_groups_have_none() -> None:
    asked = [request("a", group="g"), request("b", group="g")]

    ungroup(asked)

    assert [each.group for each in asked] == [None, None]
