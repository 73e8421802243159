"""What one message is: whose it is, whether it says anything, and whether it may have asked for a call."""

from __future__ import annotations

from typing import Any

from tests.walls import for_each

from rightcall.reading.messages._message_exchange import _may_begin, exchange_of
from rightcall.reading.spans import CallRecord

CALL = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
OF_USER = {"id": "1", "name": "a", "arguments": {}, "requestor": "user"}
CLAIMS = (
    *("is_of_user", "is_silent", "is_anonymous", "is_mute", "is_broken_off", "is_blank", "is_of_agent", "acts"),
    *("item", "calls", "results", "of_user", "unread"),
)
MESSAGES: list[tuple[dict[str, Any], str, set[str]]] = [
    ({"role": "user", "content": "Hi"}, "user", {"is_of_user"}),
    ({"type": "human", "content": "Hi"}, "user", {"is_of_user"}),
    ({"role": "user", "content": ""}, "user", {"is_of_user"}),
    ({"role": "user", "content": None}, "user", {"is_of_user", "is_silent", "is_blank"}),
    ({"role": "user", "parts": [{"x": 1}]}, "user", {"is_of_user", "is_silent", "unread"}),
    ({"role": "user", "content": None, "tool_calls": [OF_USER]}, "user", {"of_user", "is_blank"}),
    ({"role": "user", "content": "Wait", "tool_calls": [OF_USER]}, "user", {"of_user", "is_of_user"}),
    (
        {"role": "user", "content": "Wait", "tool_calls": [OF_USER], "finish_reason": "length"},
        "user",
        {"of_user", "is_of_user"},
    ),
    ({"type": "user", "parent_tool_use_id": "t", "message": {"role": "user", "content": "Do it"}}, "user", set()),
    ({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}, "user", {"is_of_user"}),
    ({"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be brief"}]}, "user", set()),
    ({"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "Again"}]}, "user", set()),
    ({"role": "system", "content": "Be brief"}, "", set()),
    ({"role": "assistant", "content": "Hello"}, "model", {"is_of_agent"}),
    ({"role": "assistant", "content": ""}, "model", {"is_of_agent"}),
    ({"role": "assistant", "content": None}, "model", {"is_of_agent", "is_mute", "is_blank"}),
    ({"role": "assistant", "content": None, "tool_calls": []}, "model", {"is_of_agent", "is_blank"}),
    (
        {"role": "assistant", "content": None, "finish_reason": "tool_calls"},
        "model",
        {"is_of_agent", "is_mute", "is_broken_off", "is_blank"},
    ),
    (
        {"role": "assistant", "content": "I look", "stop_reason": "tool_use"},
        "model",
        {"is_of_agent", "is_broken_off"},
    ),
    ({"role": "assistant", "content": None, "tool_calls": [CALL]}, "model", {"is_of_agent", "is_blank", "calls"}),
    (
        {"role": "assistant", "finish_reason": "tool_calls", "tool_calls": [CALL]},
        "model",
        {"is_of_agent", "is_blank", "calls"},
    ),
    ({"role": "assistant", "content": "Action: search\nAction Input: tv"}, "model", {"is_of_agent", "acts"}),
    ({"role": "assistant", "content": [{"type": "own_tool", "tool": "a"}]}, "model", {"is_of_agent", "unread"}),
    ({"role": "tool", "tool_call_id": "1", "content": "3"}, "", {"is_of_agent", "results", "item"}),
    ({"role": "tool", "content": "3"}, "", {"is_of_agent", "results", "item"}),
    ({"role": "environment", "content": "3"}, "", {"is_of_agent", "unread"}),
    ({"content": "Hi"}, "", {"is_anonymous"}),
    ({"content": [{"type": "text", "text": "Hi"}]}, "", {"is_anonymous"}),
    ({"content": None}, "", {"is_blank"}),
]


@for_each(("message", "writer", "claims"), MESSAGES)
def test_a_message_is_someone_s_and_says_something_or_not(
    message: dict[str, Any], writer: str, claims: set[str]
) -> None:
    exchange = exchange_of(message)

    assert exchange.writer == writer
    assert {claim for claim in CLAIMS if getattr(exchange, claim)} == claims


@for_each(
    ("event", "listed", "may_be"),
    [
        (CallRecord("look", args={"x": 1}), CallRecord("look", args={"x": 1}, call_id="1"), True),
        (CallRecord("look", args={"x": 1}), CallRecord("look", args={"x": 2}, call_id="1"), False),
        (CallRecord("look"), CallRecord("look", args={"x": 2}, call_id="1"), True),
        (CallRecord("look", args={"x": 1}, call_id="1"), CallRecord("look"), True),
        (CallRecord("look", args={"x": 1}, call_id="1"), CallRecord("look", args={"x": 1}, call_id="2"), False),
        (CallRecord("look"), CallRecord("find"), False),
    ],
)
def test_an_event_may_begin_a_call_that_was_listed_unless_something_tells_them_apart(
    event: CallRecord, listed: CallRecord, may_be: bool
) -> None:
    assert _may_begin(event, listed) is may_be
