"""Requests to models and their responses, row by row, and the conversations that they are of."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from tests.walls import for_each

from rightcall import read
from rightcall.errors import InputError
from rightcall.reading.messages._proxy_logs import _answer, is_proxy_row, proxy_logs

USER = {"role": "user", "content": "Go."}
MODEL = {"role": "assistant", "content": "Gone."}
AGAIN = {"role": "user", "content": "Again."}
ASKS = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}
GIVES = {"role": "tool", "tool_call_id": "1", "content": "ok"}
ANSWER = {"choices": [{"message": MODEL}]}
ODD: dict[str, Any] = {"odd": 1}
PIECES = [{"choices": [{"delta": {"content": "Gone."}, "finish_reason": reason}]} for reason in (None, "stop")]


def typed(value: Any) -> dict[str, Any]:
    """A value as Llama Stack records it."""
    return {"__type__": "openai.types.x", "__data__": value}


@for_each(
    ("row", "is_known"),
    [
        ({"request": {"messages": [USER]}, "response": ANSWER}, True),
        ({"request": {"messages": [USER]}, "response": ODD}, False),
        ({"request": {"messages": []}, "response": ANSWER}, False),
        ({"request": {"messages": [ODD]}, "response": ANSWER}, False),
        ({"request": {"contents": [USER]}, "response": {"candidates": []}}, True),
        ({"request": {"body": {"messages": [USER]}}, "response": {"body": ANSWER}}, True),
        ({"request": {"body": '{"messages": [{"role": "user"}]}'}, "response": {"body": {"string": "{}"}}}, False),
        ({"request": {"body": {"messages": [USER]}}, "response": {"body": {"string": '{"choices": []}'}}}, True),
        ({"request": {"parsed_body": {"messages": [USER]}}, "response": {"parsed_body": ANSWER}}, True),
        ({"request": {"body": {"messages": [USER]}}, "response": {"body": typed(ANSWER)}}, True),
        ({"request": {"body": {"messages": [USER]}}, "response": {"body": [typed(ODD)]}}, False),
        ({"request": {"body": {"messages": [USER]}}, "response": {"body": list(map(typed, PIECES))}}, True),
        ({"request_body": {"messages": [USER]}, "response_body": ANSWER}, True),
        ({"request_body": '{"messages": [{"role": "user"}]}', "response_body": '{"error": 1}'}, True),
        ({"request": {"messages": [USER]}, "response": {"message": MODEL, "done": True}}, True),
        ({"request": {"messages": [USER]}, "response": {"message": "Not found"}}, False),
        (
            {
                "request": {"messages": [USER]},
                "response": '{"message": {"content": "a"}}\n{"message": {"content": "b"}}',
            },
            False,
        ),
        ({"request": {"input": "Go.", "model": "m"}, "response": {"output": []}}, True),
        ({"request": {"input": "Go."}, "response": {"output": []}}, False),
        ({"messages": [USER], "response": ANSWER}, True),
        ({"messages": [USER, MODEL], "response": ANSWER}, False),
        ({"messages": [USER, MODEL], "response": ANSWER, "call_type": "x"}, True),
        ({"request": {"messages": [USER, MODEL]}, "response": ANSWER}, True),
        ({"messages": [USER]}, False),
        ({"full_request": {"contents": [USER]}, "full_response": {"candidates": [{"content": MODEL}]}}, True),
        ({"messages": [USER], **ANSWER}, True),
        ({"messages": [USER, MODEL], **ANSWER}, False),
        ({"messages": [USER], "content": "Gone."}, False),
        ({"messages": [USER], "completion": ASKS}, True),
        ({"messages": [USER], "output": [ASKS, GIVES, MODEL]}, True),
        ({"prompt": [USER], "completion": [ASKS]}, True),
        ({"prompt": [USER], "completion": [USER]}, False),
        ({"prompt": "Go.", "completion": "Gone."}, False),
        ({"messages": [USER], "output": "Gone."}, False),
        ([USER], False),
    ],
)
def test_a_row_is_a_request_with_messages_and_its_response(row: Any, is_known: bool) -> None:
    assert is_proxy_row(row) is is_known


SEVERAL = "a response with several answers, of which the log does not tell the one that was used"
NO_MESSAGE = "a response that is not a message"


@for_each(
    ("response", "messages", "unread"),
    [
        (ANSWER, [MODEL], ""),
        ({"choices": [{"message": MODEL}, {"message": ASKS}]}, [MODEL], SEVERAL),
        ({"choices": [{"text": "Gone."}]}, [], NO_MESSAGE),
        ({"candidates": [{"content": MODEL}]}, [MODEL], ""),
        ({"output": {"message": MODEL}}, [MODEL], ""),
        ({"output": {"message": {}}}, [{}], NO_MESSAGE),
        ({"output": [ASKS]}, [ASKS], ""),
        ([ASKS, GIVES], [ASKS, GIVES], ""),
        (ASKS, [ASKS], ""),
        ({"content": "Gone."}, [{"role": "assistant", "content": "Gone."}], ""),
        ({"error": "429"}, [], ""),
        ({"stopReason": "end"}, [], "a response without an answer"),
    ],
)
def test_the_answer_in_a_response(response: Any, messages: list[Any], unread: str) -> None:
    assert _answer(response) == (messages, unread)


def row(asked: list[Any], answer: Any = MODEL, **more: Any) -> dict[str, Any]:
    return {
        "request": {"messages": asked, **more.pop("request", {})},
        "response": {"choices": [{"message": answer}]},
        **more,
    }


def talks(*rows: Any) -> list[tuple[list[Any], str]]:
    return [(log.messages, log.nested) for log in proxy_logs(list(rows))]


def test_a_request_goes_on_from_the_one_with_most_of_its_messages() -> None:
    first, second = row([USER], ASKS), row([USER, ASKS, GIVES])
    whole = [USER, ASKS, GIVES, MODEL]

    assert talks(first, second) == talks(second, first) == [(whole, "")]
    assert talks(first, row([AGAIN])) == [([USER, ASKS], ""), ([AGAIN, MODEL], "")]
    assert talks(row([USER, MODEL])) == [([USER, MODEL], "")]
    system = {"role": "system", "content": "It is 1 o'clock."}
    assert talks(row([system, USER], ASKS), row([{**system, "content": "2"}, USER, ASKS, GIVES]))[0][0][1:] == whole
    branches = talks(first, second, row([USER, ASKS, GIVES, AGAIN]), row([USER, ASKS, GIVES, USER]))
    assert [bool(unread) for _, unread in branches] == [False, True, True]


def test_a_history_that_the_server_keeps_is_taken_from_its_response_or_is_not_known() -> None:
    def asked(text: str, own: str, previous: str = "") -> dict[str, Any]:
        request = {"input": text, "model": "m", **({"previous_response_id": previous} if previous else {})}
        return {"request": request, "response": {"id": own, "output": [MODEL]}}

    [(messages, unread)] = talks(asked("Go.", "r1"), asked("Again.", "r2", "r1"))
    assert (messages, unread) == ([USER, MODEL, AGAIN, MODEL], "")
    [(_, unread)] = talks(asked("Again.", "r2", "r1"))
    assert unread == "a history that is kept by the server, and is not in the log"


def test_rows_that_cannot_be_read_may_belong_to_any_conversation() -> None:
    def noted(other: Any, answer: Any = ASKS) -> list[bool]:
        return [bool(unread) for _, unread in talks(row([USER], answer, a=1, b=2), other)]

    assert noted({"a": 3, "b": 4}) == [False]
    assert noted({"a": 3}) == [True]
    assert noted({"a": 3, "b": 4, "request": 5}) == [True]
    assert noted({"a": 3, "b": 4}, MODEL) == [True]
    assert noted({"a": 3, "b": 4, "role": "user", "content": "Go."}) == [False, False]


@for_each(
    ("asked", "sent", "unread"),
    [
        (None, "<html>", False),
        (None, {"object": "thread", "id": "t"}, False),
        ({"model": "m", "input": ["a tv"]}, {"data": [{"object": "embedding"}]}, False),
        ({"query": "a tv"}, [{"title": "Tvs"}], False),
        ({"model": "m"}, {"id": 1}, True),
        ({"prompt": ["Go."]}, {"id": 1}, True),
        (None, 'event: run\ndata: {"id": 1}\n\n', True),
        (None, {"items": [{"type": "function_call", "name": "look", "call_id": "1", "arguments": "{}"}]}, True),
        (None, [MODEL], True),
    ],
)
def test_what_was_sent_to_others_than_models_says_nothing_of_conversations(asked: Any, sent: Any, unread: bool) -> None:
    body = sent if isinstance(sent, str) else json.dumps(sent)
    other = {"request": {"method": "POST", "uri": "https://x", "body": asked}, "response": {"body": {"string": body}}}

    [(_, reason), *_] = talks({"request": {"body": {"messages": [USER]}}, "response": {"body": ANSWER}}, other)

    assert bool(reason) is unread


def test_calls_that_the_next_request_leaves_out_of_the_answer_were_not_carried_out() -> None:
    def call(number: int) -> dict[str, Any]:
        return {"id": str(number), "function": {"name": "look", "arguments": "{}"}}

    several = {**ASKS, "tool_calls": [call(1), call(2)]}
    later = {**ASKS, "tool_calls": [call(3)]}
    rows = [row([USER], several), row([USER, ASKS, GIVES], later), row([USER, ASKS, GIVES, later, GIVES])]

    assert talks(*rows) == [([USER, ASKS, GIVES, later, GIVES, MODEL], "")]
    assert len(talks(rows[0], row([USER, later, GIVES]))) == 2
    assert [bool(unread) for _, unread in talks(*rows[:2], row([USER, several, GIVES, AGAIN]))] == [False, True]


@for_each(
    ("pieces", "parts"),
    [
        ([({"text": "Go"}, None), ({"functionCall": {"name": "look"}}, "STOP")], 2),
        ([({"text": "Go"}, None)], None),
        ([], None),
    ],
)
def test_a_stream_of_gemini_is_one_answer_if_it_shows_the_end(pieces: Any, parts: int | None) -> None:
    events = [{"candidates": [{"content": {"parts": [part]}, "finishReason": reason}]} for part, reason in pieces]
    sent = "".join([f"data: {json.dumps(event)}\n\n" for event in events])
    exchange = {"request": {"body": {"contents": [USER]}}, "response": {"body": {"string": sent}}}

    found = [messages for messages, _ in talks(exchange)]

    assert [len(messages[1]["parts"]) for messages in found] == ([] if parts is None else [parts])
    assert not is_proxy_row({**exchange, "response": {"body": [{"candidates": [{}, {}]}]}})


def test_a_stream_of_ollama_is_one_answer_with_its_calls() -> None:
    pieces = [{"content": "I "}, {"content": "look."}, {"content": "", "tool_calls": ASKS["tool_calls"]}]
    lines = [json.dumps({"message": piece, "done": number == 2}) for number, piece in enumerate(pieces)]

    [(messages, unread)] = talks({"request": {"body": {"messages": [USER]}}, "response": {"body": "\n".join(lines)}})

    assert (messages[1]["content"], messages[1]["tool_calls"], unread) == ("I look.", ASKS["tool_calls"], "")


def test_an_answer_beside_a_request_that_cannot_be_read_is_not_the_whole_conversation() -> None:
    asked = '{"messages": [{"role": "user", "content": "Go."},]}'
    answer = json.dumps({"choices": [{"message": MODEL}]})

    with pytest.raises(InputError, match="known format"):
        list(read({"interactions": [{"request": {"body": asked}, "response": {"body": {"string": answer}}}]}))


def test_a_cassette_in_yaml_is_a_conversation() -> None:
    def recorded(*messages: Any) -> str:
        return json.dumps(json.dumps({"model": "m", "messages": messages}))

    def packed(answer: Any) -> str:
        return base64.b64encode(gzip.compress(json.dumps({"choices": [{"message": answer}]}).encode())).decode()

    asked = [recorded(USER), recorded(USER, ASKS, GIVES)]
    answers = [packed(ASKS), packed(MODEL)]
    pairs = list(zip(asked, answers, strict=True))
    requests = "".join([f"- body: {body}\n  method: POST\n" for body in asked])
    responses = "".join([f"- body:\n    string: !!binary |\n      {answer}\n" for answer in answers])
    rows = [
        f"- request:\n    body: {body}\n    method: POST\n  response:\n    body:\n      string: !!binary {answer}\n"
        for body, answer in pairs
    ]

    for cassette in (
        f"interactions:\n{''.join(rows)}version: 1\n",
        f"---\nrequests:\n{requests}responses:\n{responses}",
    ):
        [trajectory] = read(cassette.encode())
        [call] = trajectory.calls
        assert (call.name, call.output, trajectory.output) == ("look", "ok", "Gone.")


def test_a_text_that_is_neither_json_nor_yaml_is_refused() -> None:
    for text in (b"note:\n- x\nis this", b"a:\n  b: 1\n", b"version: 1\n", b"- a: !!python/name:os.system x"):
        with pytest.raises(InputError, match="looked for"):
            list(read(text))


def test_an_event_of_a_tool_is_the_result_of_the_call_that_it_names() -> None:
    event = {"type": "ToolCall", "tool_name": "look", "arguments": {}, "result": "ok"}

    [(messages, unread)] = talks(row([USER], ASKS), event)
    assert (len(messages), messages[-1]["content"], unread) == (3, "ok", "")
    [(messages, unread)] = talks(row([USER], ASKS), {**event, "arguments": {"x": 1}})
    assert (len(messages), bool(unread)) == (2, True)
    [(messages, _)] = talks(row([USER, ASKS, GIVES]), event)
    assert len(messages) == 4


def test_calls_in_several_conversations_of_one_session_have_no_order() -> None:
    one, other = row([USER], ASKS, session_id="s"), row([AGAIN], ASKS, session_id="s")
    side = row([{"role": "user", "content": "A title?"}], session_id="s")
    equipped = {**side, "request": {**side["request"], "tools": [1]}}

    assert [bool(unread) for _, unread in talks(one, other)] == [True, True]
    assert [bool(unread) for _, unread in talks(one, {**other, "session_id": "t"})] == [False, False]
    assert len(talks(one, side)) == 1
    assert len(talks(one, equipped)) == 2
    assert len(talks(one, {**side, "session_id": ""})) == 2
    assert [log.id for log in proxy_logs([one, {**other, "session_id": None}])] == ["s", None]
    assert proxy_logs([{**one, "metadata": {"case_id": "7"}}])[0].about["case_id"] == "7"
    assert len(talks({**one, "id": "r"}, {**one, "id": "r"})) == 1
    assert len(talks({**one, "request_id": "r"}, {**one, "request_id": "q"})) == 2


CALL = ASKS["tool_calls"][0]
SPAN = {"trace_id": "1", "span_id": "2", "name": "execute_tool look", "attributes": {"gen_ai.tool.name": "look"}}
ROWS: dict[str, dict[str, Any]] = {
    "a response": {"messages": [USER], "response": ANSWER},
    "a message": {"messages": [USER], "output": MODEL},
    "choices": {"messages": [USER], **ANSWER},
}


@for_each(
    ("key", "held"),
    [
        ("tool_calls", [CALL]),
        ("log", {"steps": [{"tool_calls": [CALL]}]}),
        ("trajectory", [ASKS, GIVES]),
        ("trajectory", json.dumps([ASKS, GIVES])),
        ("intermediate_steps", [[{"tool": "look", "tool_input": "x", "log": ""}, "ok"]]),
        ("observations", [SPAN]),
    ],
)
def test_a_call_beside_a_request_and_its_response_is_not_left_out_in_silence(key: str, held: Any) -> None:
    for row in ROWS.values():
        [log] = proxy_logs([{**row, key: held}])

        assert "beside the" in log.nested


@for_each("held", [[CALL], {"request": {"messages": [USER, ASKS, GIVES]}}, {"tool_calls": [CALL]}, {"usage": 7}])
def test_what_repeats_the_calls_of_a_request_and_its_response_tells_nothing_new(held: Any) -> None:
    [log] = proxy_logs([{"messages": [USER, ASKS, GIVES], "response": ANSWER, "raw": held}])

    assert log.nested == ""
