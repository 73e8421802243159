"""Which conversations there are in the documents of a source, and how many documents are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.walls import for_each

from rightcall import InputError
from rightcall.reading import read
from rightcall.reading.messages import logs_in

ASKED, ANSWERED = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
TALK = [ASKED, ANSWERED]
WHOLE, INSIDE, OTHER = {"messages": TALK}, {"run": {"messages": TALK}}, {"note": 1}
TRANSCRIPT = {
    "schema_version": "ATIF-v1.5",
    "steps": [{"source": "user", "message": "Hi"}, {"source": "agent", "message": "Hello"}],
}


def of(name: str, key: str = "conversation_id") -> list[dict[str, Any]]:
    return [{**message, key: name} for message in TALK]


@for_each(
    ("documents", "sizes", "left_out"),
    [
        ([], [0], 0),
        ([WHOLE], [2], 0),
        ([WHOLE, WHOLE], [2, 2], 0),
        ([TALK, TALK], [2, 2], 0),
        ([ASKED, ANSWERED], [2], 0),
        ([WHOLE, OTHER, OTHER], [2], 2),
        ([TRANSCRIPT], [2], 0),
        ([TRANSCRIPT, WHOLE], [2, 2], 0),
        ([TRANSCRIPT, WHOLE, OTHER], [2, 2], 1),
        ([TRANSCRIPT, OTHER, OTHER], [2], 2),
        ([TRANSCRIPT, ASKED, ANSWERED], [2, 2], 0),
        ([TRANSCRIPT, INSIDE, OTHER], [2, 2], 1),
        ([INSIDE], [2], 0),
        ([INSIDE, OTHER], [2], 1),
        ([WHOLE, INSIDE], [2, 2], 0),
        ([TALK, INSIDE], [2, 2], 0),
        ([WHOLE, INSIDE, OTHER], [2, 2], 1),
        ([[WHOLE, INSIDE, OTHER]], [2, 2], 1),
        ([{"messages": []}], [0], 0),
    ],
)
def test_conversations_are_found_beside_what_is_none(documents: list[Any], sizes: list[int], left_out: int) -> None:
    logs, others = logs_in(documents)

    assert ([len(log.messages) for log in logs], others) == (sizes, left_out)


@for_each(
    ("document", "sizes"),
    [
        ({"talk": TALK}, [2]),
        ({"talk": [ASKED]}, [1]),
        ({"talk": [*TALK, "x"]}, [1]),
        ({"one": TALK, "two": TALK}, [2, 2]),
        ({"input": {"messages": TALK}}, [1]),
        ({"run": {"a": {"b": {"messages": TALK}}}}, [2]),
        ({"runs": [{"messages": TALK}, {"messages": TALK}]}, [2, 2]),
        ({"members": [{"messages": TALK}, {"messages": TALK}]}, [1]),
        ({"members": [{"messages": TALK}]}, [2]),
        ({"run": {"messages": TALK}, "response": {"messages": TALK}}, [1]),
        ({"run": {"messages": TALK}, "later": {"messages": TALK}}, [2, 2]),
        ({"run": {"messages": TALK}, "later": {"messages": TALK}, "note": 1}, [1]),
        ({"cell": '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}'}, [2]),
        ([*of("x"), *of("y")], [2, 2]),
        ([*of("x"), *of("x")], [4]),
        ([*of("x"), ASKED], [3]),
        ([*of("x", "threadId"), *of("y", "threadId")], [2, 2]),
    ],
)
def test_a_conversation_lies_under_any_key_where_it_is_clear_which_are_runs(document: Any, sizes: list[int]) -> None:
    """Otherwise the document is taken for a message, which is not understood."""
    logs, _ = logs_in([document])

    assert [len(log.messages) for log in logs] == sizes


def test_a_conversation_is_named_where_its_messages_name_several() -> None:
    assert [log.id for log in logs_in([[*of("x"), *of("y")]])[0]] == ["x", "y"]
    assert [log.id for log in logs_in([[*of("x"), *of("x")]])[0]] == [None]


def test_a_list_that_was_read_as_the_messages_is_used_whatever_it_is_called() -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]

    [log], _ = logs_in([{"transcript": talk, "odd": 1}])

    assert (len(log.messages), log.unused) == (2, ("odd",))


_CALL = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order": 7}'}}
_ITEM = {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": '{"order": 7}'}
_BLOCK = {"toolUse": {"toolUseId": "c1", "name": "refund", "input": {"order": 7}}}
_PART = {"functionCall": {"name": "refund", "args": {"order": 7}}}
ANSWERS = {
    "Chat Completions": {"choices": [{"message": {"role": "assistant", "tool_calls": [_CALL]}}]},
    "Responses": {"object": "response", "output": [_ITEM]},
    "Converse": {"stopReason": "tool_use", "output": {"message": {"role": "assistant", "content": [_BLOCK]}}},
    "Gemini": {"candidates": [{"content": {"role": "model", "parts": [_PART]}}]},
}


@for_each("name", list(ANSWERS))
def test_an_answer_of_an_api_is_read_in_a_list_and_under_a_key_of_any_name(name: str) -> None:
    answer = ANSWERS[name]
    for document in ([answer], {"data": answer}, {"data": [answer], "status": 200}, [{"id": "a", "raw": answer}]):
        [trajectory] = read(json.dumps(document).encode())

        assert trajectory.calls_recorded
        assert [(call.name, call.args) for call in trajectory.calls] == [("refund", {"order": 7})]


@for_each("name", list(ANSWERS))
def test_an_answer_of_an_api_under_a_key_is_not_read_alone_beside_another_call(name: str) -> None:
    document = {"data": ANSWERS[name], "log": {"call": {"name": "find", "arguments": {}, "id": "c0"}}}

    with pytest.raises(InputError):
        list(read(json.dumps(document).encode()))


@for_each("name", list(ANSWERS))
def test_an_answer_that_was_expected_is_not_one_of_the_model(name: str) -> None:
    with pytest.raises(InputError):
        list(read(json.dumps({"expected": ANSWERS[name]}).encode()))
