"""What in a message of no known format may be a call, and what surely is none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.walls import for_each

from rightcall.reading import read_messages
from rightcall.reading.messages._acting_text import unknown_step
from rightcall.reading.messages._unknown_calls import (
    ADK_ACTIONS,
    hidden_in_event,
    is_data,
    steps_beside,
    unknown_block,
    unknown_item,
)

CALL = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
FOUND = "with the keys type, id, name, input"


def below(held: Any, depth: int) -> Any:
    return held if depth == 0 else {"e": below(held, depth - 1)}


@pytest.mark.parametrize(
    ("key", "item", "sign"),
    [
        ("results", {"x": 1}, ""),
        ("tool_calls", "look", "`tool_calls`, which holds str"),
        ("tool_calls", "", ""),
        ("tool_calls", {"x": 1}, "an item of `tool_calls` with the keys x"),
        ("content", "look", ""),
        ("content", {}, ""),
        ("content", {"text": "a"}, ""),
        ("content", {"odd": 1}, "a block with the keys odd"),
        ("content", {"odd": 1, "role": "user"}, ""),
        ("content", {"data": "a"}, ""),
        ("content", {"data": "a", "x": 1}, "a block with the keys data, x"),
        ("content", {"type": "odd"}, "a block of type odd with the keys type"),
        ("content", {"type": "odd", "role": "user"}, ""),
        ("content", {"type": "redactedThinking"}, ""),
        ("content", {"type": "data-x"}, ""),
        ("content", {"message_content": {"type": "text"}}, ""),
        ("content", {"message_content": {"type": "odd"}}, "a block of type odd with the keys type"),
        ("content", {"type": "non_standard", "value": {"type": "text"}}, ""),
        ("content", {"type": "non_standard", "value": {"type": "odd"}}, "a block of type odd with the keys type"),
        ("content", {"type": "non_standard", "value": "a"}, "a block of type non_standard with the keys type, value"),
        ("content", dict.fromkeys("abcdefghijkl", 1), "a block with the keys a, b, c, d, e, f, g, h, i, j, k, l"),
        (
            "content",
            dict.fromkeys("abcdefghijklm", 1),
            "a block with the keys a, b, c, d, e, f, g, h, i, j, k, l and 1 more",
        ),
        ("content", {"x" * 40: 1}, f"a block with the keys {'x' * 40}"),
        ("content", {"x" * 41: 1}, f"a block with the keys {'x' * 39}…"),
    ],
)
def test_an_item_of_a_list_may_be_a_call_unless_its_type_or_keys_are_known(key: str, item: Any, sign: str) -> None:
    assert unknown_block(key, item) == sign


LOST = "a step without its calls, in which something was done"


@for_each(
    ("step", "sign"),
    [
        ({}, ""),
        ({"observations": "x"}, "a step without a call, in which something was observed"),
        ({"tool_calls": [None, {"x": 1}]}, "an item of `tool_calls` with the keys x"),
        ({"tool_calls": "look"}, "`tool_calls`, which holds str"),
        ({"tool_calls": [], "observations": ""}, ""),
        ({"model_output_message": {"tool_calls": [{"x": 1}]}}, "an item of `tool_calls` with the keys x"),
        ({"model_output_message": "x"}, ""),
        ({"error": {}, "action_output": None}, ""),
        ({"error": {"message": "no"}, "tool_calls": None, "model_output_message": None}, LOST),
        ({"error": {"type": "AgentGenerationError"}, "tool_calls": None, "model_output_message": None}, ""),
        ({"error": {"type": "AgentToolExecutionError"}, "tool_calls": None, "model_output_message": None}, LOST),
        ({"error": {"message": "no"}, "tool_calls": None}, LOST),
        ({"error": {"message": "no"}, "tool_calls": None, "model_output_message": {}}, LOST),
        ({"action_output": 0}, LOST),
    ],
)
def test_a_step_without_a_call_may_have_asked_for_one(step: dict[str, Any], sign: str) -> None:
    assert unknown_step(step, 0) == sign


def of_shape(key: str, *keys: str) -> str:
    return f"`{key}` of an unknown shape, in an item with the keys {', '.join(keys)}"


THREAD = "a message of a thread, whose calls are in the steps of its runs"
A2A = "a message of A2A, in which agents do not show their calls"


@for_each(
    ("message", "sign"),
    [
        # Roles.
        ({"role": "user", "content": "a"}, ""),
        ({"role": "user", "state": {"a": 1}}, ""),
        ({"role": "odd", "content": {"a": 1}}, ""),
        ({"role": "odd", "state": {}}, ""),
        ({"role": "odd", "state": {"a": 1}}, "a message of role odd with the keys role, state"),
        ({"role": "tool", "content": "a"}, "a message of role tool with the keys role, content"),
        ({"role": "tool", "content": {"function": {"parameters": {}}}}, ""),
        ({"role": "tool", "content": {"function": {}}}, "a message of role tool with the keys role, content"),
        ({"role": "environment", "content": "a"}, "a message of role environment with the keys role, content"),
        ({"role": "my environment", "content": "a"}, ""),
        # Types, and neither.
        ({"type": "user"}, ""),
        ({"type": "UserMessage"}, ""),
        ({"type": "session.x"}, ""),
        ({"type": "odd"}, "an item of type odd with the keys type"),
        ({"type": "stream_event", "tool_calls": [1]}, ""),
        ({"type": "progress", "tool_calls": [{"x": 1}]}, ""),
        ({"type": "progress", "data": CALL}, f"a call or result below `data` {FOUND}"),
        ({}, ""),
        ({"content": "a"}, ""),
        ({"x": 1}, "an item with the keys x"),
        ({"call_id": "1", "content": "a"}, "an item with the keys call_id, content"),
        # Formats that never tell of calls.
        (
            {"object": "thread.message", "role": "user"},
            "a message of a thread, whose calls are in the steps of its runs",
        ),
        ({"kind": "message", "messageId": "1"}, A2A),
        ({"kind": "message"}, ""),
        ({"role": "ROLE_USER", "messageId": "1"}, A2A),
        ({"role": "ROLE_USER"}, ""),
        ({"role": "user", "messageId": "1"}, ""),
        # Keys that are named like calls.
        ({"role": "assistant", "tool_calls": [1]}, of_shape("tool_calls", "role", "tool_calls")),
        ({"role": "assistant", "tool_calls": "auto"}, ""),
        ({"role": "assistant", "tool_calls": True}, ""),
        ({"role": "assistant", "tool_call_id": "1"}, ""),
        ({"role": "assistant", "toolUseResult": {"a": 1}}, ""),
        ({"role": "assistant", "tool_call": {"a": 1}}, of_shape("tool_call", "role", "tool_call")),
        ({"role": "assistant", "tool_call": "a"}, ""),
        ({"role": "assistant", "action": "look"}, of_shape("action", "role", "action")),
        ({"role": "assistant", "action": 3}, ""),
        ({"role": "assistant", "actions": {"stateDelta": {}}}, ""),
        ({"role": "assistant", "actions": dict.fromkeys(ADK_ACTIONS)}, ""),
        ({"role": "assistant", "actions": {"look": {}}}, of_shape("actions", "role", "actions")),
        ({"role": "assistant", "actions": ["look"]}, of_shape("actions", "role", "actions")),
        ({"role": "assistant", "tool": "look"}, ""),
        ({"tool": "look", "content": "a"}, of_shape("tool", "tool", "content")),
        ({"content": "a", "meta": {"tool": "look"}}, ""),
        ({"role": "assistant", "name": "a", "a": {"action": "x"}}, of_shape("action", "action")),
        ({"role": "assistant", "a": below({"action": "x"}, 2)}, of_shape("action", "action")),
        ({"role": "assistant", "a": below({"action": "x"}, 3)}, ""),
        ({"role": "assistant", "metadata": {"action": "x"}}, ""),
        ({"role": "assistant", "tools": [{"action": "x"}]}, ""),
        # Calls in other places.
        ({"role": "assistant", "extra": [[CALL]]}, f"a call or result below `extra` {FOUND}"),
        ({"role": "assistant", "extra": {**CALL, "description": "x"}}, ""),
        ({"role": "assistant", "tools": [CALL]}, ""),
        ({"role": "assistant", "extra": {"tools": [CALL]}}, ""),
        ({"role": "assistant", **below(CALL, 6)}, f"a call or result below `e` {FOUND}"),
        ({"role": "assistant", **below(CALL, 7)}, ""),
    ],
)
def test_a_message_may_be_a_call_where_its_names_or_what_it_holds_say_so(message: dict[str, Any], sign: str) -> None:
    assert unknown_item(message) == sign


@pytest.mark.parametrize(
    ("key", "item", "data"),
    [
        ("content", {"a": 1}, True),
        ("content", {}, True),
        ("content", {"a": {"b": 1}}, False),
        ("content", {"a": {"b": 1}, "c": 1}, True),
        ("content", {"type": "x"}, False),
        ("tool_calls", {"a": 1}, False),
        ("content", "a", False),
    ],
)
def test_objects_in_json_are_data_unless_they_are_blocks(key: str, item: Any, data: bool) -> None:
    assert is_data(key, item) is data


STEP = "with an item with the keys action"


@pytest.mark.parametrize(
    ("document", "sign"),
    [
        ({}, ""),
        ({"x": None}, ""),
        ({"trajectory": [{"action": "x"}]}, f"`trajectory`, {STEP}"),
        ({"trajectory": [[{"x": 1}, "y"], [{"action": "x"}]]}, f"`trajectory`, {STEP}"),
        ({"steps": [{"x": 1}] * 99 + [{"action": "x"}]}, f"`steps`, {STEP}"),
        ({"steps": [{"x": 1}] * 100 + [{"action": "x"}]}, ""),
        ({"expected_calls": [{"action": "x"}]}, ""),
        ({"tasks": [{"action": "x"}]}, ""),
        ({"tools": [{"name": "a"}]}, ""),
        ({"tools": [{"name": "a", "action": 1}]}, ""),
        ({"tools": [{"name": "a", "result": 1}]}, "`tools`, with an item with the keys name, result"),
        ({"my_tool_calls": [1]}, "`my_tool_calls`"),
        ({"my_tool_calls": "a"}, ""),
        ({"tools_used": {"a": 1}}, "`tools_used`"),
        ({"result": {"x": CALL}}, ""),
        ({"other": {"x": CALL}}, f"a call or result below `other` {FOUND}"),
    ],
)
def test_steps_beside_messages_are_told(document: dict[str, Any], sign: str) -> None:
    messages = [{"action": "x"}]

    assert steps_beside({"messages": messages, **document}, messages) == (
        sign and f"beside the messages there is {sign}"
    )


def test_an_event_holds_a_call_in_its_body_or_in_its_content() -> None:
    written = {"gen_ai.event.content": '{"x": {"type": "tool_use", "id": "1", "name": "look", "input": {}}}'}

    assert hidden_in_event({"x": CALL}, {}) == f"an event with a call or result below `x` {FOUND}"
    assert hidden_in_event({"x": 1}, written) == ""
    assert hidden_in_event(written, written) == f"an event with a call or result below `body` {FOUND}"
    attributes = {"x": CALL}
    assert hidden_in_event(attributes, attributes) == ""


def test_a_call_of_a_step_that_cannot_be_read_leaves_the_observations_to_nobody() -> None:
    calls: list[Any] = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": {}}} for name in ("a", "b")
    ]
    step = {"step_number": 1, "tool_calls": calls, "observations": "one", "model_output_message": None}
    whole = {**step, "tool_calls": calls[:1]}
    lost = {**step, "tool_calls": [calls[0], {"id": "b", "type": "function", "function": {"name": "b"}}]}

    [one], [other] = read_messages([whole]).calls, read_messages([lost]).calls

    assert (one.output, other.output) == ("one", None)
    assert read_messages([whole]).calls_recorded
    assert not read_messages([lost]).calls_recorded


@pytest.mark.parametrize(("times", "is_read"), [(1, True), (5, True), (6, False), (7, False), (40, False)])
def test_a_call_in_more_wrappings_than_are_taken_off_is_not_understood(times: int, is_read: bool) -> None:
    message: dict[str, Any] = {"role": "assistant", "content": [CALL]}
    for _ in range(times):
        message = {"message": message}
    found = read_messages([{"role": "user", "content": "Hi"}, message])

    assert (found.names, found.calls_recorded) == (("look",) if is_read else (), is_read)
