"""Answers of models that were streamed: put together from their pieces, or said not to be whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.test_published_logs import (
    ASKED,
    GIVES,
    OF_CHAT,
    OF_CLAUDE,
    OF_CONVERSE,
    call_piece,
    chunk,
)

from rightcall.reading import read
from rightcall.values.trajectory import Trajectory

STREAMS: dict[str, list[dict[str, Any]]] = {
    "Chat Completions": OF_CHAT,
    "Claude": OF_CLAUDE,
    "ConverseStream": OF_CONVERSE,
}
CALLS = {"Chat Completions": (1, 4), "Claude": (5, 9), "ConverseStream": (3, 7)}
"""Where the call begins in a stream, and where the piece is that says why the answer ended."""
MORE = chunk(1, **call_piece(1, "{}", "c2", "mail"))


def one(data: Any) -> Trajectory:
    [found] = read(data if isinstance(data, bytes) else json.dumps(data).encode())
    return found


def told(found: Trajectory) -> list[Any]:
    return [(call.name, call.args, call.group) for call in found.calls]


def sent(events: list[dict[str, Any]], *, named: bool = False, end: str = "\n") -> str:
    names = [f"event: {each['type']}{end}" if named else "" for each in events]
    data = [f"data: {json.dumps(each)}{end}{end}" for each in events]
    return ": a comment\n\n" + "".join([name + text for name, text in zip(names, data, strict=True)])


@pytest.mark.parametrize("name", STREAMS)
def test_pieces_are_one_answer_however_they_were_kept(name: str) -> None:
    events = STREAMS[name]
    texts = [sent(events), sent(events, end="\r\n"), sent(events) + "data: [DONE]\n\n"]
    texts += [sent(events).replace("\n\n", "\n"), "\n".join(map(json.dumps, events)), json.dumps(events)]
    texts += [sent(events, named=True)] if name == "Claude" else []

    for text in texts:
        for data in (text.encode(), b"\xef\xbb\xbf" + text.encode()):
            found = one(data)
            assert (told(found), found.calls_recorded) == ([("find", {"order": 7}, "turn-1")], True)


@pytest.mark.parametrize("name", STREAMS)
def test_an_answer_that_ends_in_the_middle_is_not_one_without_calls(name: str) -> None:
    events, (begin, end) = STREAMS[name], CALLS[name]

    assert [one([ASKED, *events[:count]]).calls_recorded for count in range(1, len(events))] == [
        count > end for count in range(1, len(events))
    ]
    begun = events[: begin + 2]
    assert one([ASKED, *begun]).calls == ()
    assert one([ASKED, *begun, {**GIVES, "tool_call_id": "c1"}]).names == ("find",)


@pytest.mark.parametrize("name", STREAMS)
def test_an_answer_that_lost_a_piece_of_a_call_does_not_show_it_whole(name: str) -> None:
    events, (begin, end) = STREAMS[name], CALLS[name]

    for at in range(begin, end + 1):
        found = one([*events[:at], *events[at + 1 :]])
        assert not found.calls_recorded or told(found) != [("find", {"order": 7}, "turn-1")], events[at]


NOT_WHOLE: dict[str, list[dict[str, Any]]] = {
    "two answers at once": [
        *OF_CHAT[:1],
        {**OF_CHAT[1], "choices": [{**OF_CHAT[1]["choices"][0], "index": 1}]},
        *OF_CHAT[2:],
    ],
    "two calls at one place": [*OF_CHAT[:4], chunk(1, **call_piece(0, "{}", "c2", "mail")), *OF_CHAT[4:]],
    "two calls at one place, without ids": [
        chunk(1, **call_piece(0, "{}", "", "find")),
        chunk(1, **call_piece(0, "{}", "", "mail")),
        chunk(1, "tool_calls"),
    ],
    "a call of another kind": [chunk(1, tool_calls=[{"index": 0, "custom": {"name": "find"}}]), chunk(1, "stop")],
    "a call beside those that are known": [chunk(1, content="a", tool_use={"name": "find"}), chunk(1, "stop")],
    "the second of two calls": [*OF_CHAT[:1], MORE, *OF_CHAT[4:]],
    "a piece after the end": [*OF_CHAT, chunk(1, **call_piece(0, "1"))],
    "a reason without a call": [chunk(1, content="a"), chunk(1, "tool_calls")],
    "a block twice": [*OF_CLAUDE[:6], *OF_CLAUDE[5:]],
    "a block without a place": [*OF_CLAUDE[:5], {**OF_CLAUDE[5], "index": [1]}, *OF_CLAUDE[6:]],
    "two streams at once": [*OF_CLAUDE[:3], *OF_CLAUDE],
}


@pytest.mark.parametrize("name", NOT_WHOLE)
def test_pieces_of_which_it_is_not_known_what_they_make_are_not_understood(name: str) -> None:
    assert not one(NOT_WHOLE[name]).calls_recorded


def test_calls_of_one_answer_in_pieces_are_a_group_and_repeat_their_names_or_not() -> None:
    again = chunk(1, **call_piece(0, "7}", "c1", "find"))
    found = one([*OF_CHAT[:3], chunk(1, **call_piece(0, ": ")), again, MORE, *OF_CHAT[4:]])

    assert told(found) == [("find", {"order": 7}, "turn-1"), ("mail", {}, "turn-1")]
    assert found.calls_recorded


def test_answers_at_the_same_time_are_told_apart_by_their_ids() -> None:
    other = [chunk(2, content="Do"), chunk(2, content="ne."), chunk(2, "stop")]
    found = one([OF_CHAT[0], other[0], *OF_CHAT[1:4], *other[1:], OF_CHAT[4]])

    assert (found.names, found.output) == (("find",), "Done.")
    assert found.calls_recorded


def test_an_answer_that_is_also_there_whole_makes_its_calls_once() -> None:
    whole = {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"order": 7}'}}],
    }

    assert one([ASKED, *OF_CHAT, whole, GIVES]).names == ("find",)


def test_events_that_an_sdk_adds_to_a_stream_of_claude_are_no_pieces() -> None:
    whole = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"order": 7}}]}
    more = [
        {"type": "text", "text": "Let", "snapshot": "Let"},
        {"type": "thinking", "thinking": "Hm", "snapshot": "Hm"},
        {"type": "signature", "signature": "abc"},
        {"type": "input_json", "partial_json": "7}", "snapshot": {"order": 7}},
    ]
    ends = [each | ({"message": whole} if each["type"] == "message_stop" else {}) for each in OF_CLAUDE]
    plain, found = one([ASKED, *OF_CLAUDE]), one([ASKED, *ends[:9], *more, *ends[9:]])

    assert (told(found), found.output, found.calls_recorded) == (told(plain), plain.output, True)


def test_what_a_filter_says_of_an_answer_is_no_piece_of_it() -> None:
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": None,
        "content_filter_offsets": {},
        "content_filter_results": {},
    }
    filtered = {"id": "", "choices": [choice]}

    for place in range(1, len(OF_CHAT)):
        assert told(one([*OF_CHAT[:place], filtered, *OF_CHAT[place:]])) == told(one(OF_CHAT))
    assert one([*OF_CHAT, filtered]).calls_recorded
    assert not one([*OF_CHAT, {"id": "", "choices": [{"index": 0, "found": 1}]}]).calls_recorded


def test_an_early_call_without_an_id_is_put_together() -> None:
    early = [
        chunk(1, function_call={"name": "find", "arguments": '{"order"'}),
        chunk(1, function_call={"arguments": ": 7}"}),
    ]

    assert told(one([*early, chunk(1, "function_call")])) == [("find", {"order": 7}, "turn-1")]


def test_a_call_that_became_too_long_is_withheld() -> None:
    cut = [*OF_CHAT[:3], chunk(1, "length")]

    assert (one(cut).calls, [call.name for call in one(cut).withheld]) == ((), ["find"])


@pytest.mark.parametrize("name", STREAMS)
def test_the_response_in_pieces_to_a_request_is_read(name: str) -> None:
    request = {"model": "m", "messages": [ASKED]}
    for response in (STREAMS[name], sent(STREAMS[name])):
        found = one({"request": request, "response": response})
        assert (told(found), found.input) == ([("find", {"order": 7}, "turn-1")], "Refund order 7.")


def test_the_events_of_a_response_of_openai_to_a_request_hold_it_whole() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"order": 7}'}
    events = [{"type": "response.completed", "response": {"object": "response", "output": [call]}}]
    found = one({"request": {"model": "m", "input": [ASKED]}, "response": sent(events, named=True)})

    assert told(found) == [("find", {"order": 7}, "turn-1")]


def test_an_event_of_a_server_keeps_its_name_where_the_data_do_not_have_it() -> None:
    state = {"messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello."}]}
    found = one(f"event: values\ndata: {json.dumps(state)}\n\n".encode())

    assert (found.input, found.output) == ("Hi", "Hello.")


@pytest.mark.parametrize("text", ["data: x\n\n", "id: 7\nname x\n", "data: {}\nodd\n", ": a\n"])
def test_a_text_that_only_begins_like_events_is_refused_as_before(text: str) -> None:
    from rightcall.errors import InputError

    with pytest.raises(InputError, match="not JSON"):
        one(text.encode())
