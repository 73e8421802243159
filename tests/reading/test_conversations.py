"""Sources with several conversations: each line or item that holds messages is one trajectory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import ANSWERED, ASKED, asks, gives, refund
from tests.reading.talks import MADE, log

from rightcall.errors import InputError
from rightcall.reading import read, read_messages


def told(number: int) -> list[dict[str, Any]]:
    return [{**ASKED, "content": f"q{number}"}, asks((f"t{number}", "c", "{}")), gives("c", "ok"), ANSWERED]


def lines(documents: list[Any]) -> bytes:
    return b"\n".join(json.dumps(document).encode() for document in documents)


LISTS = [told(number) for number in range(3)]
OBJECTS: list[Any] = [{"messages": each} for each in LISTS]
SOURCES = {
    "lines of objects": lines(OBJECTS),
    "lines of lists": lines(LISTS),
    "a list of objects": json.dumps(OBJECTS).encode(),
    "a list of lists": json.dumps(LISTS).encode(),
    "objects with other keys": lines([{"traj": each, "reward": 1.0} for each in LISTS]),
    "decoded objects": OBJECTS,
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_conversation_is_a_trajectory(name: str) -> None:
    found = list(read(SOURCES[name]))

    assert [(each.names, each.input, each.output) for each in found] == [
        (("t0",), "q0", "Done."),
        (("t1",), "q1", "Done."),
        (("t2",), "q2", "Done."),
    ]


def test_lines_that_are_single_messages_are_one_log() -> None:
    [trajectory] = read(lines([*told(0), *told(1)]))

    assert trajectory.names == ("t0", "t1")


def test_an_event_that_repeats_the_conversation_adds_no_calls() -> None:
    [trajectory] = read(lines([*refund(), {"type": "TaskResult", "messages": refund()}]))

    assert trajectory.names == ("refund",)
    assert trajectory.calls_recorded


def test_lines_without_messages_beside_conversations_are_left_out_with_a_warning() -> None:
    found = list(read(lines([{"model": "m", "date": "today"}, *OBJECTS])))

    assert [each.names for each in found] == [("t0",), ("t1",), ("t2",)]
    assert "1 documents that hold no messages were left out" in found[0].warnings[-1]


def test_a_text_in_a_list_of_conversations_is_left_out_like_any_other_document() -> None:
    found = list(read({"runs": [*OBJECTS, "a note"], "version": 1}))

    assert [each.names for each in found] == [("t0",), ("t1",), ("t2",)]
    assert "1 documents that hold no messages were left out" in found[0].warnings[-1]


def test_events_with_the_method_in_front_that_received_them_are_one_log() -> None:
    events = [
        {"type": "user.message", "content": [{"type": "text", "text": "Find it"}]},
        {"type": "agent.tool_use", "id": "e1", "name": "find", "input": {}},
        {"type": "agent.tool_result", "tool_use_id": "e1", "content": [{"type": "text", "text": "ok"}]},
    ]
    sent = ["events.send", ["session", {"events": events[:1]}]]

    [trajectory] = read(lines([sent, *[["events.stream", event] for event in events]]))

    assert [(call.name, call.output) for call in trajectory.calls] == [("find", "ok")]
    assert len(list(read(lines([["a", {"b": 1}], ["c", {"messages": refund()}], ["d", {"messages": refund()}]])))) == 2


def test_an_empty_conversation_keeps_its_place_and_says_nothing_of_calls() -> None:
    found = list(read(lines([{"messages": []}, *OBJECTS])))

    assert [each.calls_recorded for each in found] == [False, True, True, True]


@pytest.mark.parametrize("key", ["trace_id", "conversation_id", "session_id", "id"])
def test_the_id_of_a_conversation_is_the_id_of_its_trajectory(key: str) -> None:
    alone = list(read({key: "x1", "messages": refund()}))
    among = list(read(lines([{key: f"x{n}", "messages": refund()} for n in (1, 2)])))

    assert [each.trace_id for each in alone] == ["x1"]
    assert [each.trace_id for each in among] == ["x1", "x2"]


@pytest.mark.parametrize("key", ["rightcall.case.id", "case_id"])
def test_the_case_that_a_conversation_names_is_kept(key: str) -> None:
    [trajectory] = read({key: "refund", "messages": refund()})

    assert trajectory.metadata["rightcall.case.id"] == "refund"


def test_conversations_beside_the_messages_may_hold_calls_of_others() -> None:
    [trajectory] = read({"messages": refund(), "sub_agents": [{"messages": refund()}]})

    assert not trajectory.calls_recorded
    assert "`sub_agents`" in trajectory.not_understood


def test_an_empty_list_does_not_hide_the_messages_in_another() -> None:
    [trajectory] = read({"messages": [], "events": refund()})

    assert trajectory.names == ("refund",)


def test_what_takes_one_conversation_refuses_several() -> None:
    with pytest.raises(InputError, match="3 conversations"):
        read_messages(LISTS)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_an_event_that_repeats_turns_of_a_log_without_ids_has_no_calls_of_its_own(turns: int) -> None:
    lines = [*log(ids=False), {"messages": log(turns, ids=False)}]
    [found] = read("\n".join(map(json.dumps, lines)).encode())

    assert [(call.name, call.turn) for call in found.calls] == MADE
