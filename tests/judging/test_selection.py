"""Which calls criteria are about, which of them have no order, and what is not known of that."""

from __future__ import annotations

from typing import Any

from tests.walls import for_each

from rightcall import ToolCall, Trajectory
from rightcall.judging.core import Criteria
from rightcall.judging.core._selection import Doubts, Selection, select

KNOWN: dict[str, Any] = {"turn": 0, "agent": "a", "unrecorded": frozenset()}


def call(name: str, **more: Any) -> ToolCall:
    return ToolCall(name, {}, "ok", **{**KNOWN, **more})


def selected(calls: list[ToolCall], criteria: dict[str, Any], *expected: str, **run: Any) -> Selection:
    return select(Trajectory(calls=tuple(calls), **run), Criteria(**criteria), expected)


@for_each(
    ("criteria", "other", "meant"),
    [
        ({}, {}, True),
        ({"agent": "a"}, {}, True),
        ({"agent": "a"}, {"agent": "b"}, False),
        ({"agent": "a"}, {"agent": None}, None),
        ({"turn": 0}, {}, True),
        ({"turn": 0}, {"turn": 1}, False),
        ({"turn": 0}, {"turn": None}, None),
        ({"turn": 0, "agent": "a"}, {"turn": None, "agent": "b"}, False),
        ({"top_level": True}, {}, True),
        ({"top_level": True}, {"parent_id": "x"}, False),
        ({"top_level": True}, {"unrecorded": frozenset(["parent_id"])}, None),
        ({"ignore_tools": ["x"]}, {}, False),
        ({"ignore_tools": ["y"]}, {}, True),
        ({"failed": "ignore"}, {}, True),
        ({"failed": "ignore"}, {"error": "no"}, False),
        ({"failed": "count"}, {"error": "no"}, True),
        ({}, {"internal": True}, False),
        ({}, {"internal": None}, None),
    ],
)
def test_a_call_is_meant_or_not_or_it_is_not_known(
    criteria: dict[str, Any], other: dict[str, Any], meant: bool | None
) -> None:
    found = selected([call("first"), call("x", **other), call("last")], criteria)

    names = ("first", "last") if meant is False else ("first", "x", "last")
    assert found.names == names
    assert [found.position(index) for index in range(len(names))] == ([0, 2] if meant is False else [0, 1, 2])
    assert (found.doubts.members if found.doubts else set()) == ({1} if meant is None else set())
    assert found.sure().names == (names if meant else ("first", "last"))


def test_a_call_of_the_framework_counts_where_it_is_expected() -> None:
    made = [call("x", internal=True), call("y", internal=None)]

    assert selected(made, {}, "x").names == ("x", "y")
    assert selected(made, {}, "x", "y").doubts is None
    assert selected(made, {}, "y").names == ("y",)


def test_a_call_is_that_agent_s_if_it_is_meant_at_all() -> None:
    [mine] = selected([call("x", agent=None, unrecorded=frozenset(["agent", "group"]))], {"agent": "a"}).calls

    assert (mine.agent, mine.unrecorded) == ("a", frozenset(["group"]))


TOGETHER = {"group": "g"}


@for_each(
    ("parallel", "calls", "free", "groups"),
    [
        ("in_order", [TOGETHER, TOGETHER, {}], (), None),
        ("recorded", [TOGETHER, TOGETHER, {}], ((0, 2),), None),
        ("recorded", [{}, {}, {}], (), None),
        ("any_order", [TOGETHER, TOGETHER, {"group": "h"}], ((0, 2),), None),
        ("any_order", [TOGETHER, TOGETHER, {}], ((0, 2),), ((0, 3),)),
        ("any_order", [TOGETHER, {"group": "h"}, {"group": "h"}], ((1, 3),), None),
        ("any_order", [{}, {}, {"turn": 1}], (), ((0, 2),)),
        ("any_order", [{}, {}, {"agent": "b"}], (), ((0, 2),)),
        ("any_order", [{}, {"turn": None}, {"turn": 1}], (), ((0, 3),)),
        ("overlap", [{}, {}, {"turn": 1}], (), ((0, 2),)),
    ],
)
def test_order_does_not_count_among_calls_that_were_asked_for_together(
    parallel: str, calls: list[dict[str, Any]], free: Any, groups: Any
) -> None:
    found = selected([call("x", **each) for each in calls], {"parallel": parallel})

    assert found.free == free
    assert (found.doubts.groups if found.doubts else None) == groups
    assert found.loose == (groups or free)


def test_calls_that_may_not_be_there_keep_no_others_apart() -> None:
    made = [call("x", **TOGETHER), call("y", agent=None, group="h"), call("z", **TOGETHER)]

    found = selected(made, {"parallel": "recorded", "agent": "a"})

    assert (found.free, found.loose) == ((), ((0, 3),))


def test_an_order_that_is_not_known_counts_where_order_does() -> None:
    made = [call("x", **TOGETHER), call("y", **TOGETHER), call("z"), call("w")]

    found = selected(made, {"parallel": "recorded"}, unordered=((1, 3),))

    assert found.doubts is not None
    assert found.doubts.unordered == ((1, 3),)
    assert found.apart == ((), ((0, 3),))
    assert found.loose == ((0, 3),)
    inside = selected(made, {"parallel": "recorded"}, unordered=((0, 2),))
    assert (inside.doubts, inside.apart) == (None, (((0, 2),), ()))


def test_calls_may_be_missing_where_not_all_were_recorded() -> None:
    found = selected([call("x")], {}, calls_recorded=False)

    assert found.doubts is not None
    assert found.doubts.missing
    assert found.worlds() is None


def test_there_is_a_world_for_each_way_to_fill_in_what_is_open() -> None:
    made = [call("x", agent=None), call("y"), call("z")]

    worlds = selected(made, {"agent": "a"}, unordered=((1, 3),)).worlds()

    first, *others = [world.names for world in worlds or ()]
    assert first == ("x", "y", "z")
    assert sorted(others) == [("x", "z", "y"), ("y", "z"), ("z", "y")]


def test_some_of_the_calls_keep_what_is_not_known_of_them() -> None:
    made = [call("v"), call("x", agent=None), call("y"), call("z")]
    found = selected(made, {"agent": "a"}, unordered=((1, 4),))

    some = found.only([1, 3])

    assert (some.names, some.positions) == (("x", "z"), [1, 3])
    assert some.doubts is not None
    assert (some.doubts.members, some.doubts.unordered) == (frozenset([0]), ((0, 2),))
    assert found.only([0]).doubts is None
    assert Doubts(missing=True).at([]) == Doubts(missing=True)


def test_how_many_calls_were_left_out_that_may_not_have_failed_is_told() -> None:
    suspected = call("x", suspected_error=True)

    assert selected([suspected, call("y")], {"failed": "ignore_suspected"}).suspected == 1
    assert selected([suspected, call("y", error="no")], {"failed": "ignore"}).suspected == 0
