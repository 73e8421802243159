"""What a trace leaves open about calls, and what is said of it."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import calls, judge
from tests.walls import for_each

from rightcall import ToolCall, Trajectory
from rightcall.judging.core import Criteria, Measurement, spanning
from rightcall.judging.core._selection import Doubts, arrangements, membership, narrowed, reasons_for, wide
from rightcall.values.results import Explained, Finding


def test_calls_whose_open_orders_overlap_may_have_been_made_in_any_order() -> None:
    made = Trajectory(calls=calls("a", "b", "c").calls, unordered=((0, 2), (1, 3)))

    result = judge("tool-call-order", made, {"tool_calls_order": ["c", "b", "a"]})

    assert result.verdict == "not_measured"
    assert "in which order `a`, `b` and 1 more were made was not recorded" in [each.message for each in result.findings]


def test_each_kind_of_doubt_is_a_reason_of_its_own() -> None:
    made = Trajectory.of([ToolCall("b", group="g"), ToolCall("a")])
    criteria = {"tool_calls_order": ["a", "b"], "parallel": "any_order", "agent": "boss"}

    reasons = judge("tool-call-order", made, criteria).findings

    assert [each.message for each in reasons] == [
        "which agent made `b` and `a` was not recorded",
        "which calls the model asked for at once was not recorded",
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ({"turn": 0}, {"turn": 1}, "failed"),
        ({"agent": "one"}, {"agent": "other"}, "failed"),
        ({"turn": 0, "agent": "one"}, {"turn": 0, "agent": "other"}, "failed"),
        ({"group": "g"}, {"group": "h"}, "failed"),
        ({"turn": 0, "agent": "one"}, {"turn": 0}, "not_measured"),
        ({"group": "g"}, {"group": "g"}, "passed"),
    ],
)
def test_calls_of_two_turns_agents_or_groups_were_not_asked_for_at_once(
    first: dict[str, Any], second: dict[str, Any], verdict: str
) -> None:
    made = Trajectory.of([ToolCall("b", **first), ToolCall("a", **second)])

    assert judge("tool-call-order", made, {"tool_calls_order": ["a", "b"], "parallel": "any_order"}).verdict == verdict


def test_one_expected_turn_is_not_all_of_a_conversation_whose_turns_are_not_known() -> None:
    made = Trajectory(calls=(ToolCall("pay", {}, "ok", source="span"),), turn_inputs=("Hello.", "Pay."))

    assert judge("tool-trajectory", made, {"expected_turns": [["pay"]]}).verdict == "not_measured"


def test_a_doubt_about_one_call_of_a_turn_is_a_doubt_about_the_turn() -> None:
    made = Trajectory.of([ToolCall("a", {}, turn=0), ToolCall("b", {}, turn=1, agent="boss")])
    criteria = {"expected_turns": [["a"], ["b"]], "agent": "boss"}

    assert judge("tool-trajectory", made, criteria).verdict == "not_measured"


def test_an_order_that_is_open_among_calls_asked_for_at_once_is_no_doubt_where_theirs_does_not_count() -> None:
    made = [ToolCall("b", group="g"), ToolCall("a", group="g"), ToolCall("c", group="h")]
    criteria = {"tool_calls_order": ["a", "b", "c"], "parallel": "any_order"}

    inside = judge("tool-call-order", Trajectory(calls=tuple(made), unordered=((0, 2),)), criteria)
    beyond = judge("tool-call-order", Trajectory(calls=tuple(made), unordered=((0, 3),)), criteria)

    assert (inside.verdict, beyond.verdict) == ("passed", "not_measured")


@pytest.mark.parametrize(
    ("made", "criteria", "reason"),
    [
        ({"unrecorded": frozenset({"parent_id"})}, {"top_level": True}, "whether a tool made `a` was not recorded"),
        ({}, {"agent": "boss"}, "which agent made `a` was not recorded"),
        ({}, {"turn": 0}, "in which turn `a` was made was not recorded"),
    ],
)
def test_what_was_not_recorded_of_a_call_is_told(made: dict[str, Any], criteria: dict[str, Any], reason: str) -> None:
    result = judge("tool-trajectory", [ToolCall("a", {}, None, **made)], {"expected": ["a"], **criteria})

    assert result.verdict == "not_measured"
    assert [each.message for each in result.findings] == [reason]


class Anything(Criteria):
    """Criteria that are about any calls."""


ASKED_BY = ToolCall("a", {}, "ok", agent="boss", turn=1, group="g", start_ns=0, end_ns=9)


@for_each(
    ("criteria", "call", "counts"),
    [
        ({}, ASKED_BY, True),
        ({"ignore_tools": ["a"]}, ASKED_BY, False),
        ({"agent": "boss"}, ASKED_BY, True),
        ({"agent": "other"}, ASKED_BY, False),
        ({"agent": "boss"}, replace(ASKED_BY, agent=None), None),
        ({"turn": 1}, ASKED_BY, True),
        ({"turn": 0}, ASKED_BY, False),
        ({"turn": 0}, replace(ASKED_BY, turn=None), None),
        ({"turn": 0, "agent": "other"}, replace(ASKED_BY, turn=None), False),
        ({"top_level": True}, ASKED_BY, True),
        ({"top_level": True}, replace(ASKED_BY, parent_id="p"), False),
        ({"top_level": True}, replace(ASKED_BY, unrecorded=frozenset({"parent_id"})), None),
        ({}, replace(ASKED_BY, parent_id="p"), True),
        ({"failed": "ignore"}, ASKED_BY, True),
        ({"failed": "ignore"}, replace(ASKED_BY, error="no"), False),
        ({"failed": "ignore"}, replace(ASKED_BY, suspected_error=True), None),
        ({"failed": "ignore_suspected"}, replace(ASKED_BY, suspected_error=True), False),
        ({"failed": "count"}, replace(ASKED_BY, error="no"), True),
    ],
)
def test_criteria_are_about_a_call_or_not_or_it_is_not_known(
    criteria: dict[str, Any], call: ToolCall, counts: bool | None
) -> None:
    assert membership(call, Anything(**criteria)) is counts


@for_each(
    ("criteria", "doubts", "changes", "reasons"),
    [
        ({}, Doubts(), {}, []),
        ({"agent": "boss"}, Doubts(), {"agent": None}, ["which agent made `a` was not recorded"]),
        ({"agent": "boss"}, Doubts(), {}, []),
        ({"turn": 1}, Doubts(), {"turn": None}, ["in which turn `a` was made was not recorded"]),
        (
            {"top_level": True},
            Doubts(),
            {"unrecorded": frozenset({"parent_id"})},
            ["whether a tool made `a` was not recorded"],
        ),
        ({}, Doubts(), {"unrecorded": frozenset({"parent_id"}), "agent": None, "turn": None}, []),
        ({"failed": "ignore"}, Doubts(), {"suspected_error": True}, ["whether `a` failed was not recorded"]),
        (
            {},
            Doubts(members=frozenset({0})),
            {"internal": None},
            ["whether `a` is a tool or a hand-off was not recorded"],
        ),
        ({}, Doubts(), {"internal": None}, []),
        ({}, Doubts(members=frozenset({0})), {}, []),
        ({}, Doubts(unordered=((0, 2),)), {}, ["in which order `a` and `b` were made was not recorded"]),
        (
            {"parallel": "overlap"},
            Doubts(groups=()),
            {"end_ns": None},
            ["which calls ran at the same time was not recorded"],
        ),
        ({"parallel": "overlap"}, Doubts(groups=()), {"group": None}, []),
        (
            {"parallel": "overlap"},
            Doubts(groups=()),
            {"unrecorded": frozenset({"parent_id"})},
            ["whether a tool made `a` was not recorded"],
        ),
        ({"parallel": "overlap"}, Doubts(), {"end_ns": None}, []),
        (
            {"parallel": "any_order"},
            Doubts(groups=()),
            {"group": None},
            ["which calls the model asked for at once was not recorded"],
        ),
        ({"parallel": "any_order"}, Doubts(groups=()), {"end_ns": None}, []),
        ({"parallel": "any_order"}, Doubts(), {"group": None}, []),
        ({"parallel": "recorded"}, Doubts(groups=()), {"group": None}, []),
    ],
)
def test_each_doubt_is_told_where_it_matters(
    criteria: dict[str, Any], doubts: Doubts, changes: dict[str, Any], reasons: list[str]
) -> None:
    made = [replace(ASKED_BY, **changes), replace(ASKED_BY, name="b")]
    found = reasons_for(Trajectory(calls=tuple(made)), Anything(**criteria), doubts, made)

    assert [each.message for each in found] == reasons
    assert len(reasons_for(Trajectory(), Anything(), Doubts(missing=True), [])) == 1


def test_several_calls_in_doubt_are_named_together() -> None:
    def told(*names: str) -> list[str]:
        made = [ToolCall(name) for name in names]
        return [each.message for each in reasons_for(Trajectory(), Anything(turn=0), Doubts(), made)]

    assert told("a", "b") == ["in which turn `a` and `b` were made was not recorded"]
    assert told("a", "b", "c") == ["in which turn `a`, `b` and 1 more were made was not recorded"]
    assert told("a", "a") == ["in which turn `a` were made was not recorded"]
    assert told("x" * 81) == [f"in which turn `{'x' * 80}` was made was not recorded"]


def test_ranges_are_told_of_the_calls_that_are_left() -> None:
    assert narrowed([(0, 3), (4, 6)], [1, 2, 4]) == ((0, 2), (2, 3))
    assert narrowed([(0, 1)], [1, 2]) == ()
    assert wide([(0, 2), (1, 4), (5, 6), (6, 8)]) == ((0, 4), (6, 8))
    assert wide([(0, 2), (2, 4)]) == ((0, 2), (2, 4))
    assert wide([(0, 5), (1, 2)]) == ((0, 5),)
    doubts = Doubts(members=frozenset({1}), unordered=((0, 2),), groups=((0, 2),))
    assert doubts.at([1, 2]) == Doubts(frozenset({0}), (), ((0, 1),))
    assert Doubts(members=frozenset({1})).at([0, 2]) is None
    assert Doubts(missing=True).at([]) == Doubts(missing=True)
    assert Doubts(groups=()).at([0]) == Doubts(groups=())


def test_every_arrangement_of_open_calls_is_tried_unless_there_are_too_many() -> None:
    def orders(size: int, doubts: Doubts, most: int = 100) -> list[list[int]] | None:
        found = arrangements(size, doubts, most)
        return None if found is None else list(found)

    assert orders(2, Doubts()) == [[0, 1]]
    assert orders(4, Doubts(unordered=((1, 3),))) == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert orders(2, Doubts(members=frozenset({1}))) == [[0, 1], [0]]
    assert orders(2, Doubts(members=frozenset({0, 1}))) == [[0, 1], [1], [0], []]
    assert orders(3, Doubts(members=frozenset({2}), unordered=((0, 2),)), most=4) is not None
    assert orders(3, Doubts(members=frozenset({2}), unordered=((0, 2),)), most=3) is None
    assert orders(2, Doubts(missing=True)) is None


def test_worlds_together_have_the_bounds_of_all_and_are_explained_by_the_recorded_one() -> None:
    recorded, other = Explained(None, (Finding("RC101", "a"),)), Explained()
    worlds = [Measurement(0.5, 0.75, recorded, ("long",)), Measurement(0.25, 0.5, other), Measurement(0.5, 1.0, other)]

    assert spanning(worlds) == Measurement(0.25, 1.0, recorded, ("long",))
    assert spanning(worlds[:1]) == worlds[0]
