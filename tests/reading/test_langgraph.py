"""States and streams of LangGraph, also of graphs inside others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.walls import for_each

from rightcall import read
from rightcall.reading.conventions import ASKED_FOR
from rightcall.reading.messages._framework_states import graph_logs, interrupted, is_graph_state, is_graph_update
from rightcall.reading.messages._log import refused

ODD: dict[str, Any] = {"odd": 1}


@for_each(
    ("recognises", "document", "is_known"),
    [
        (is_graph_state, {"values": {"messages": []}}, True),
        (is_graph_state, {"channel_values": {"messages": [{"role": "user"}]}}, True),
        (is_graph_state, {"values": {"messages": [ODD]}}, False),
        (is_graph_state, {"event": "values", "data": {"messages": []}}, True),
        (is_graph_state, {"event": "odd", "data": {"messages": []}}, False),
        (is_graph_update, {"node": {"messages": [{"type": "ai"}]}}, True),
        (is_graph_update, {"node": {"messages": {"lc": 1}}, "other": None}, True),
        (is_graph_update, {"node": {"messages": [{"type": "odd"}]}}, False),
        (is_graph_update, {"node": {"messages": [{"type": "ai"}]}, "other": 3}, False),
        (is_graph_update, {"event": "updates|x", "data": {"node": {"messages": [{"type": "ai"}]}}}, True),
        (is_graph_state, {"event": "values|child:1", "data": {"messages": []}}, True),
        (is_graph_state, {"type": "values", "ns": ["child:1"], "data": {"messages": []}}, True),
        (is_graph_state, {"ns": [], "data": {"messages": []}}, False),
        (is_graph_state, [[], {"messages": []}], True),
        (is_graph_state, ["values", {"messages": []}], True),
        (is_graph_state, [["child:1"], "values", {"messages": []}], True),
        (is_graph_state, [["child"], {"messages": []}], False),
        (is_graph_state, [{"messages": []}], False),
        (is_graph_state, [[]], False),
        (is_graph_state, [], False),
        (is_graph_update, [["child:1"], {"node": {"messages": [{"type": "ai"}]}}], True),
        (is_graph_update, ["updates", {"node": {"messages": [{"type": "ai"}]}}], True),
        (is_graph_update, ["values", {"node": {"messages": [{"type": "ai"}]}}], False),
        (is_graph_update, [[], "x", {"node": {"messages": [{"type": "ai"}]}}, 1], False),
    ],
)
def test_a_state_or_an_update_is_told_by_its_form(
    recognises: Callable[[Any], bool], document: Any, is_known: bool
) -> None:
    assert recognises(document) is is_known


def test_states_and_updates_of_a_graph_have_each_message_once() -> None:
    first, second = {"type": "human", "id": "1", "content": "Go."}, {"type": "ai", "id": "2", "content": "Gone."}

    def read(*documents: Any) -> tuple[list[Any], str, str | None]:
        [log] = graph_logs(list(documents))
        return log.messages, log.nested, log.id

    state = {"values": {"messages": [first]}, "thread_id": "t"}
    longer = {"values": {"messages": [first, second]}}
    gone = "messages that a later state of the graph no longer has"
    assert read(state, longer) == ([first, second], "", "t")
    assert read({"values": {"messages": [second]}}, {"values": {"messages": [first, first]}})[1] == gone
    update = {"node": {"messages": [first]}}
    again = {"node": {"messages": [{**first, "content": "Now."}, second]}}
    assert read(update, again) == ([{**first, "content": "Now."}, second], "", None)
    assert read(update, {"node": {"messages": [{"type": "remove", "id": "1"}, second]}}) == ([second], gone, None)
    assert read(longer, {"event": "metadata"}, {"event": "messages/x"}, ODD) == ([first, second, ODD], "", None)


def test_a_graph_that_was_interrupted_has_made_no_open_call() -> None:
    call = {"type": "ai", "id": "2", "tool_calls": [{"id": "c", "name": "look", "args": {}, "type": "tool_call"}]}
    approval: dict[str, Any] = {"value": {"action_requests": []}}
    places: list[Callable[[Any], dict[str, Any]]] = [
        lambda held: {"__interrupt__": [held]},
        lambda held: {"values": {"__interrupt__": [held]}},
        lambda held: {"tasks": [{"interrupts": [held]}]},
    ]
    for at in places:
        messages, note = interrupted(at(approval), [call], "")
        assert (messages[1:], note) == ([refused("c", ASKED_FOR)], "")
        assert interrupted(at({"value": "x"}), [call], "") == (
            [call],
            "calls that were open when the graph was interrupted",
        )
        assert interrupted(at({"value": "x"}), [], "") == ([], "")
        assert interrupted(at({"value": "x"}), [call], "known") == ([call], "known")
    assert interrupted({}, [call], "") == ([call], "")


QUESTION = {"type": "human", "content": "Refund order 7.", "id": "h"}
HANDS_OVER = {
    "type": "ai",
    "content": "",
    "id": "a",
    "name": "boss",
    "tool_calls": [{"name": "transfer_to_child", "args": {}, "id": "t", "type": "tool_call"}],
}
HANDED = {"type": "tool", "content": "ok", "id": "b", "tool_call_id": "t"}
TASK = {"type": "human", "content": "Do it.", "id": "c"}
ASKS = {
    "type": "ai",
    "content": "",
    "id": "d",
    "name": "child",
    "tool_calls": [{"name": "refund", "args": {"order": 7}, "id": "u", "type": "tool_call"}],
}
GIVES = {"type": "tool", "content": "done", "id": "e", "tool_call_id": "u"}
SAYS = {"type": "ai", "content": "Refunded.", "id": "f", "name": "child"}
ANSWER = {"type": "ai", "content": "Done.", "id": "g", "name": "boss"}
BEGIN, INNER, END = [QUESTION, HANDS_OVER, HANDED], [TASK, ASKS, GIVES, SAYS], [SAYS, ANSWER]
CHILD = "child:0f1e"
Told = list[tuple[list[str], Any]]
"""The namespaces of events, and their data."""
VALUES: Told = [
    *[([], {"messages": BEGIN[:end]}) for end in (1, 2, 3)],
    *[([CHILD], {"messages": [*BEGIN, *INNER[:end]]}) for end in (0, 1, 2, 3, 4)],
    *[([], {"messages": [*BEGIN, *END[:end]]}) for end in (1, 2)],
]
UPDATES: Told = [
    *[([], {"boss": {"messages": [each]}}) for each in BEGIN],
    *[([CHILD], {"agent": {"messages": [each]}}) for each in INNER],
    ([], {"child": {"messages": [SAYS]}}),
    ([], {"boss": {"messages": ANSWER}}),
]
STREAMS: dict[str, list[Any]] = {
    "the server's, states": [{"event": "|".join(["values", *nodes]), "data": data} for nodes, data in VALUES],
    "the server's, updates": [{"event": "|".join(["updates", *nodes]), "data": data} for nodes, data in UPDATES],
    "states": [[nodes, data] for nodes, data in VALUES],
    "updates": [[nodes, data] for nodes, data in UPDATES],
    "updates among other modes": [[nodes, "updates", data] for nodes, data in UPDATES],
    "updates as objects": [{"type": "updates", "ns": nodes, "data": data} for nodes, data in UPDATES],
}


@pytest.mark.parametrize("events", STREAMS.values(), ids=STREAMS)
def test_what_a_subgraph_tells_is_of_the_same_run(events: list[Any]) -> None:
    for source in ("\n".join(map(json.dumps, events)), json.dumps(events)):
        [made] = read(source.encode())

        assert [(call.name, call.agent, call.output) for call in made.calls] == [
            ("transfer_to_child", "boss", "ok"),
            ("refund", "child", "done"),
        ]
        assert (made.calls_recorded, made.input, made.output) == (True, "Refund order 7.", "Done.")
        assert ["parent_id" in call.unrecorded for call in made.calls] == [False, True]


def test_messages_of_subgraphs_without_ids_may_be_told_twice() -> None:
    bare = {key: held for key, held in ASKS.items() if key != "id"}
    [made] = read([[[], {"boss": {"messages": [QUESTION]}}], [[CHILD], {"agent": {"messages": [bare]}}]])

    assert (made.names, made.calls_recorded) == (("refund",), False)
    assert "messages without ids" in made.not_understood


def test_a_message_that_the_graph_around_a_subgraph_lost_is_told() -> None:
    [made] = read([*[[nodes, data] for nodes, data in VALUES], [[], {"messages": [QUESTION]}]])
    assert made.calls_recorded

    [made] = read([*[[nodes, data] for nodes, data in VALUES[:-2]], [[], {"messages": [TASK, SAYS, ANSWER, ODD]}]])
    assert not made.calls_recorded


def test_a_stream_that_ends_with_a_question_to_a_person_has_made_no_open_call() -> None:
    stopped = {"__interrupt__": [{"value": {"action_requests": []}, "id": "i"}]}
    [made] = read([*[[nodes, data] for nodes, data in UPDATES[:5]], [[], stopped]])

    assert (made.names, made.calls_recorded) == (("transfer_to_child",), True)
    assert [call.name for call in made.withheld] == ["refund"]


def test_several_modes_of_one_stream_are_one_run() -> None:
    asks, gives = {**ASKS, "name": "boss"}, GIVES
    told = [QUESTION, asks, gives, ANSWER]
    events: list[Any] = [["values", {"messages": told[:1]}]]
    for place, message in enumerate(told[1:], 2):
        events += [["updates", {"node": {"messages": [message]}}], ["values", {"messages": told[:place]}]]
    [made] = read("\n".join(map(json.dumps, events)).encode())

    assert (made.names, made.output, made.calls_recorded) == (("refund",), "Done.", True)
