"""What was not understood is never "no calls"."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from tests.reading.logs import ANSWERED, ASKED, asks, gives, refund
from tests.reading.test_messages import FORMATS
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall.errors import RightcallError
from rightcall.reading import read, read_messages, read_spans

SIGNS: dict[str, tuple[Any, str]] = {
    "a list of calls of another shape": (
        {"role": "assistant", "tool_calls": [{"id": "1", "fn": "x"}]},
        "message 2: an item of `tool_calls` with the keys id, fn",
    ),
    "calls under a key of another spelling": (
        {"role": "assistant", "content": "x", "toolCalls": [{"id": "1", "fn": "x"}]},
        "`toolCalls`",
    ),
    "calls as text": ({"role": "assistant", "content": "x", "tool_calls": "search(x)"}, "`tool_calls`"),
    "a call of the early chat without a name": ({"role": "assistant", "function_call": {"arguments": ""}}, "`function"),
    "a tool use outside of a list": ({"role": "assistant", "content": "x", "tool_use": {"fn": "x"}}, "`tool_use`"),
    "actions": ({"role": "assistant", "content": "x", "actions": [{"command": "ls"}]}, "`actions`"),
    "an action in text (SWE-agent)": ({"role": "assistant", "content": "x", "action": "ls -F"}, "`action`"),
    "an unknown block": (
        {"role": "assistant", "content": [{"type": "bash_use", "cmd": "ls"}]},
        "a block of type bash_use with the keys type, cmd",
    ),
    "code that a server runs (Gemini)": (
        {"role": "model", "parts": [{"executableCode": {"code": "1"}}]},
        "a call without a name, with the keys executableCode",
    ),
    "a part that has its tool in its type (Vercel)": (
        {"role": "assistant", "parts": [{"type": "tool-look", "toolCallId": "1", "input": {}}]},
        "a block of type tool-look",
    ),
    "a call of a built-in tool (Responses)": (
        {"type": "computer_call", "id": "w", "status": "completed"},
        "an item of type computer_call with the keys type, id, status",
    ),
    "an item without role and type": ({"cmd": "ls", "exit": 0}, "an item with the keys cmd, exit"),
    "a call without a name": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": None, "input": {}}]},
        "a call without a name",
    ),
    "a result without its call": (gives("9", "ok"), "a result of 9"),
    "a role of tools": ({"role": "ipython", "content": "1"}, "a message of role ipython"),
    "a call in an unknown place": (
        {"role": "assistant", "pieces": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]},
        "a call or result below `pieces`",
    ),
    "a tool call in tags": ({"role": "assistant", "content": '<tool_call>{"name": "x"}</tool_call>'}, "message 2 asks"),
    "ReAct": ({"role": "assistant", "content": "Thought: x\nAction: look\nAction Input: y"}, "message 2 asks"),
    "ReAct of BeeAI": (
        {"role": "assistant", "content": 'Thought: x\nFunction Name: look\nFunction Input: {"a": 1}\nFunction Output:'},
        "message 2 asks",
    ),
    "ReAct without inputs": ({"role": "assistant", "content": "Thought 1: x\nAction 1: Search[y]"}, "message 2 asks"),
    "ReAct in a block": (
        {"role": "assistant", "content": [{"type": "text", "text": "Thought: x\nAction: look\nAction Input: y"}]},
        "message 2 asks",
    ),
    "a call of OpenAI's SDK, as Python shows it": (
        {"role": "assistant", "content": "ResponseFunctionToolCall(arguments='{}', call_id='c1', name='look')"},
        "message 2 asks",
    ),
    "blocks of Anthropic's SDK, as Python shows them": (
        {"role": "assistant", "content": "[ToolUseBlock(id='c1', input={}, name='look', type='tool_use')]"},
        "message 2 asks",
    ),
    "a call as JSON": ({"role": "assistant", "content": '{"name": "look", "arguments": {}}'}, "message 2 asks"),
    "an action as JSON (LangChain)": (
        {"role": "assistant", "content": '```json\n{"action": "look", "action_input": "x"}\n```'},
        "message 2 asks",
    ),
    "DSPy": ({"role": "assistant", "content": "[[ ## next_tool_name ## ]]\nlook"}, "message 2 asks"),
    "DSPy, by JSON": ({"role": "assistant", "content": '{"next_tool_name": "look"}'}, "message 2 asks"),
    "DSPy, by XML": ({"role": "assistant", "content": "<next_tool_name>look</next_tool_name>"}, "message 2 asks"),
    "DSPy, without the name": ({"role": "assistant", "content": "[[ ## next_tool_args ## ]]\n{}"}, "message 2 asks"),
    "steps that the model is told of (DSPy)": (
        {"role": "user", "content": "[[ ## question ## ]]\nx\n\n[[ ## tool_name_4 ## ]]\nlook"},
        "message 2 asks",
    ),
    "such steps, by XML": ({"role": "user", "content": "x\n<tool_name_0>\nlook\n</tool_name_0>"}, "message 2 asks"),
    "an answer that stopped to call a tool": (
        {"role": "assistant", "content": "I look.", "stop_reason": "tool_use"},
        "message 2, which says that its model stopped to call a tool",
    ),
    "such an answer in a choice": (
        {"message": {"role": "assistant", "content": ""}, "finish_reason": "tool_calls"},
        "message 2, which says that its model stopped to call a tool",
    ),
    "a command after a thought (mini-SWE-agent)": (
        {"role": "assistant", "content": "THOUGHT: x\n\n```bash\nls\n```"},
        "message 2 asks",
    ),
    "a command after a discussion (SWE-agent)": (
        {"role": "assistant", "content": "DISCUSSION\nx\n```\nls\n```"},
        "message 2 asks",
    ),
    "an action as JSON (tau-bench)": (
        {"role": "assistant", "content": 'Action:\n{"name": "look", "arguments": {}}'},
        "message 2 asks",
    ),
    "keystrokes (Terminus)": (
        {"role": "assistant", "content": '{"plan": "x", "commands": [{"keystrokes": "ls\\n"}]}'},
        "message 2 asks",
    ),
    "the prompt of a shell (SWE-agent)": ({"role": "user", "content": "a.py\nbash-$"}, "message 2"),
    "what code gave back (AutoGen)": (
        {"role": "user", "content": "exitcode: 0 (execution succeeded)\nCode output: 1"},
        "message 2",
    ),
    "what a tool gave back (Cline)": ({"role": "user", "content": "[read_file for 'a.py'] Result:"}, "message 2"),
    "a role of its own with objects": ({"role": "API", "api_name": "look", "param_dict": {"a": 1}}, "role API"),
    "a message with a call, as text": (json.dumps(refund()[1]), "below `a text instead of a message`"),
    "a call to an API": ({"role": "assistant", "content": "x", "api_call": {"path": "/x"}}, "an item"),
    "what a command gave back (mini-SWE-agent)": (
        {"role": "user", "content": "<returncode>0</returncode>"},
        "message 2",
    ),
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_log_does_not_show_all_calls_beside(name: str) -> None:
    item, told = SIGNS[name]
    trajectory = read_messages([ASKED, item, ANSWERED])

    assert not trajectory.calls_recorded
    assert told in trajectory.not_understood


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ([f"k{number}" for number in range(12)], "k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11"),
        ([f"k{number}" for number in range(13)], "k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11 and 1 more"),
        (["k" * 40, "l" * 41], f"{'k' * 40}, {'l' * 39}…"),
    ],
)
def test_keys_are_told_up_to_a_length_and_a_number(keys: list[str], told: str) -> None:
    trajectory = read_messages([ASKED, dict.fromkeys(keys, "x"), ANSWERED])

    assert trajectory.not_understood == f"message 2: an item with the keys {told}"
    assert any(trajectory.not_understood in warning for warning in trajectory.warnings)


def test_calls_that_were_understood_are_read_all_the_same() -> None:
    trajectory = read_messages([*refund(), {"type": "computer_call", "id": "w"}])

    assert trajectory.names == ("refund",)
    assert not trajectory.calls_recorded


CHATS: dict[str, list[Any]] = {
    "OpenAI": [ASKED, {**ANSWERED, "tool_calls": None, "function_call": None, "refusal": None, "annotations": []}],
    "OpenAI Responses": [
        ASKED,
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    ],
    "Anthropic": [ASKED, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, {"type": "text"}]}],
    "Gemini": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [{"text": "y"}]}],
    "LangChain": [
        {"type": "human", "data": {"content": "x"}},
        {"type": "ai", "data": {"content": "y", "tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": {}}},
    ],
    "ADK": [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "x"}]}},
        {"author": "a", "content": {"parts": [{"text": "y"}]}, "actions": {"stateDelta": {"n": 1}}},
    ],
    "Pydantic AI": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "y"}]},
    ],
    "AutoGen": [
        {"source": "user", "type": "TextMessage", "content": "x"},
        {"source": "a", "type": "HandoffMessage", "content": "y", "target": "b"},
    ],
    "Claude Code": [
        {"type": "summary", "summary": "x"},
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "user", "message": {"role": "user", "content": "x"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "y"}]}},
        {"type": "system", "subtype": "turn_duration"},
    ],
    "Vercel": [
        {"role": "user", "parts": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "parts": [{"type": "step-start"}, {"type": "reasoning"}, {"type": "text"}]},
    ],
    "other roles": [ASKED, {"role": "researcher", "content": "x"}],
}


@pytest.mark.parametrize("name", CHATS)
def test_a_chat_without_any_sign_has_no_calls_in_the_format_of(name: str) -> None:
    trajectory = read_messages(CHATS[name])

    assert (trajectory.calls, trajectory.calls_recorded, trajectory.warnings) == ((), True, ())


@pytest.mark.parametrize("text", ['{"total": 3}', "[1, 2]", '{"role": "assistant"', json.dumps(ANSWERED), "Hi", ""])
def test_a_text_among_messages_that_holds_no_call_is_no_sign(text: str) -> None:
    assert read_messages([ASKED, text, ANSWERED]).calls_recorded


def test_a_text_about_tools_is_no_sign_where_calls_are_recorded() -> None:
    spoken = {"role": "assistant", "content": "Action: look\nAction Input: y"}

    assert read_messages([*refund(), spoken]).calls_recorded


SPANS = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", "spanId": "2", "name": "agent"}]}]}]}


@pytest.mark.parametrize(
    "beside",
    [
        {"trajectory": [{"action": "ls", "observation": "x"}]},
        {"trajectory": [{"text": "x"}, {"tool_calls": [{"fn": "look"}]}]},
        {"trajectory_format": "mini-swe-agent-1"},
        {"tool_calls": [{"name": "look", "arguments": {}}]},
        {"tools_called": [{"name": "look", "input_parameters": {}}]},
        {"intermediate_steps": [[{"tool": "look", "tool_input": {}}, "x"]]},
        {"tools": [{"tool_name": "look", "tool_args": {}, "result": "x"}]},
        {"log": [{"type": "tool_call_started", "of": "look"}]},
        {"log": [{"event": "started", "data": {"tool": "look"}}]},
        {"log": '[{"name": "look", "arguments": {}, "id": "c"}]'},
        {"trace": json.dumps(SPANS)},
        {"outputs": ["[[ ## next_tool_name ## ]]\nlook"]},
        {"outputs": [{"text": "[[ ## next_tool_name ## ]]\nlook", "logprobs": None}]},
    ],
    ids=str,
)
def test_steps_beside_the_messages_are_a_sign_unless_the_messages_have_calls(beside: dict[str, Any]) -> None:
    [spoken] = read({"history": [ASKED, ANSWERED], **beside})
    [called] = read({"history": refund(), **beside})

    assert (spoken.calls_recorded, called.calls_recorded) == (False, True)


def test_a_message_of_the_model_beside_the_messages_is_a_sign_if_its_call_is_not_among_theirs() -> None:
    beside = {"final_response": asks(("look", "c", "{}"))}

    assert not next(read({"history": [ASKED, ANSWERED], **beside})).calls_recorded
    assert not next(read({"history": refund(), **beside})).calls_recorded


def test_an_answer_beside_the_messages_that_asks_for_a_call_is_a_sign() -> None:
    asked = {"choices": [{"message": asks(("look", "c", "{}"))}]}
    [trajectory] = read({"messages": refund(), "response": asked})

    assert trajectory.names == ("refund",)
    assert "beside the messages there is a call or result below `response`" in trajectory.not_understood


@pytest.mark.parametrize("beside", [SPANS, {"spans": SPANS}])
def test_spans_beside_the_messages_are_a_sign_unless_the_messages_have_calls(beside: dict[str, Any]) -> None:
    [spoken] = read({"messages": [ASKED, ANSWERED], "raw": beside})
    [called] = read({"messages": refund(), "raw": beside})

    assert (spoken.not_understood, called.calls_recorded) == ("beside the messages there are spans in `raw`", True)


def test_an_object_with_spans_beside_a_conversation_is_a_sign() -> None:
    [found] = read(json.dumps([{"messages": [ASKED, ANSWERED]}, {"raw": SPANS}]).encode())

    assert "beside the conversation there is an object with spans" in found.not_understood


@pytest.mark.parametrize("key", ["gen_ai.input.messages", "llm_input_messages", "prompts"])
def test_what_a_model_was_given_does_not_show_what_it_answered(key: str) -> None:
    for held in ({key: [ASKED, ANSWERED]}, {"attributes": {key: [ASKED, ANSWERED]}}):
        assert "what a model was given" in next(read({"kind": "llm", **held})).not_understood


def test_a_conversation_beside_the_events_of_a_transcript_is_a_sign_if_its_calls_are_not_among_theirs() -> None:
    spoken = [{"type": f"TEXT_MESSAGE_{kind}", "messageId": "m", "delta": "Hi"} for kind in ("START", "CONTENT", "END")]
    made = [{"type": f"TOOL_CALL_{kind}", "toolCallId": "1", "toolCallName": "refund"} for kind in ("START", "END")]

    [apart] = read({"messages": refund(), "stream": spoken})
    [told] = read({"messages": refund(), "stream": [*spoken, *made]})

    assert "beside the events there is a conversation with calls in `messages`" in apart.not_understood
    assert (told.names, told.calls_recorded) == (("refund",), True)


def test_a_message_of_claude_code_in_pieces_is_a_sign_unless_the_log_has_it_whole() -> None:
    asked = {"type": "user", "message": ASKED, "uuid": "1"}
    begun = {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m1"}}}
    whole = {"type": "assistant", "uuid": "2", "message": {"id": "m1", "role": "assistant", "content": "Done."}}

    assert read_messages([asked, begun, whole]).calls_recorded
    assert "only pieces" in read_messages([asked, begun]).not_understood
    assert "only pieces" in read_messages([asked, begun, {**whole, "message": ANSWERED}]).not_understood


@pytest.mark.parametrize("key", ["reward_info", "expected_tool_calls", "reference_trajectory", "task"])
def test_what_an_agent_was_to_do_is_no_sign_beside_its_messages(key: str) -> None:
    [trajectory] = read({"messages": [ASKED, ANSWERED], key: [{"action": {"name": "look", "arguments": {}}}]})

    assert (trajectory.calls, trajectory.calls_recorded) == ((), True)


def test_a_log_of_tasks_does_not_show_calls() -> None:
    done = {"task": "Refund.", "agent": "a", "status": "completed", "output": "Done."}

    with pytest.raises(RightcallError, match="neither spans nor messages"):
        list(read([done, done]))


def test_tools_that_a_log_tells_the_model_of_are_no_sign() -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    [trajectory] = read({"messages": refund(), "tools": [tool], "model": "m"})

    assert trajectory.calls_recorded


CHAT = {"gen_ai.operation.name": "chat"}


def listed(*texts: str) -> dict[str, Any]:
    return {"arrayValue": {"values": [{"stringValue": text} for text in texts]}}


SAID = {**CHAT, "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text"}]}])}


def test_a_tool_span_whose_name_is_no_text_is_not_a_call_named_after_the_span() -> None:
    made = span(1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": 7}, name="running tool")
    [trajectory] = read(request(made))

    assert trajectory.calls == ()
    assert not trajectory.calls_recorded
    assert "'running tool'" in trajectory.not_understood


@for_each(
    ("attributes", "told"),
    [
        ({"acme.tool.name": "look"}, "acme.tool.name"),
        ({"genkit:type": "util", "genkit:metadata:subtype": "tool", "genkit:name": "generate"}, "genkit:type"),
        ({"genkit:metadata:subtype": "tool.v2"}, "genkit:metadata:subtype"),
        ({"gen_ai.operation.name": "framework", "spring.ai.kind": "tool_call"}, "spring.ai.kind"),
        ({"spring.ai.tool.call.id": "c"}, "spring.ai.tool.call.id"),
        ({**CHAT, "gen_ai.response.finish_reasons": listed("stop", "tool_calls")}, "stopped to call"),
        ({**CHAT, "gen_ai.response.finish_reasons": '["TOOL_CALLS"]'}, "stopped to call"),
        ({**CHAT, "gen_ai.completion.0.finish_reason": "function_call"}, "stopped to call"),
        ({**CHAT, "llm.response.stop_reason": "tool_use"}, "stopped to call"),
        ({"ai.model.id": "m", "ai.response.finishReason": "tool-calls"}, "stopped to call"),
    ],
)
def test_a_span_that_may_be_a_call_or_ask_for_one_is_a_sign(attributes: dict[str, Any], told: str) -> None:
    [trajectory] = read(request(span(1, SAID, name="chat"), span(2, attributes, name="work")))

    assert not trajectory.calls_recorded
    assert "'work'" in trajectory.not_understood
    assert told in trajectory.not_understood


@for_each("reason", ["stop", "end_turn", "MALFORMED_FUNCTION_CALL", "length", ""])
def test_a_model_that_stopped_for_another_reason_asked_for_no_call(reason: str) -> None:
    [trajectory] = read(request(span(1, {**SAID, "gen_ai.response.finish_reasons": listed(reason)}, name="chat")))

    assert (trajectory.calls, trajectory.calls_recorded) == ((), True)


def test_why_a_model_stopped_is_no_sign_where_a_call_is_recorded() -> None:
    asked = {**SAID, "gen_ai.response.finish_reasons": listed("tool_calls")}
    [trajectory] = read(request(span(1, asked, name="chat"), call(2, "look")))

    assert (trajectory.names, trajectory.calls_recorded) == (("look",), True)


def test_such_a_span_is_no_sign_where_the_call_is_known_from_messages() -> None:
    asked = {**CHAT, "gen_ai.output.messages": json.dumps([asks(("look", "c", "{}"))])}
    [trajectory] = read(request(span(1, asked, name="chat"), span(2, {"acme.tool.name": "look"}, name="work")))

    assert (trajectory.names, trajectory.calls_recorded) == (("look",), True)


def test_a_block_of_another_shape_in_a_model_span_is_a_sign() -> None:
    said = {**CHAT, "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "call_v2"}]}])}
    [trajectory] = read(request(span(1, said, name="chat")))

    assert "message 1 of a span: a block of type call_v2" in trajectory.not_understood


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, held in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(key, str):
            yield (*above, key)
        yield from paths(held, (*above, key))


def renamed(messages: list[Any], path: tuple[Any, ...]) -> list[Any]:
    changed = copy.deepcopy(messages)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[f"x_{path[-1]}"] = place.pop(path[-1])
    return changed


@pytest.mark.parametrize("name", FORMATS)
def test_no_key_can_be_renamed_so_that_a_call_vanishes_without_a_word(name: str) -> None:
    for path in paths(FORMATS[name]):
        changed = renamed(FORMATS[name], path)
        for messages in (changed, changed[:-1] if path[0] < len(changed) - 1 else changed):
            trajectory = read_messages([ASKED, *messages, ANSWERED])

            assert trajectory.names == ("t",) or not trajectory.calls_recorded, path


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "type",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "id",
                    "message",
                    "1.5",
                    "0",
                    "parts",
                    "event.name",
                ]
            )
            | st.text(max_size=2),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@st.composite
def mangled(draw: st.DrawFn) -> list[Any]:
    messages = copy.deepcopy(FORMATS[draw(st.sampled_from(sorted(FORMATS)))])
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(sorted(paths(messages), key=str) or [()]))
        place: Any = messages
        for step in path[:-1]:
            place = place[step]
        if path:
            place[path[-1]] = draw(JUNK)
    return messages + draw(st.lists(JUNK, max_size=2))


@example([{"role": "assistant", "content": [{"type": [], "id": "1", "name": "t", "input": {"a": 1}}]}])
@given(mangled())
def test_whatever_the_shape_of_messages_they_are_read_or_refused(messages: list[Any]) -> None:
    text = json.dumps(messages)
    body = {"kvlistValue": {"values": [{"key": key, "value": {"stringValue": "x"}} for key in ("1.5", "role")]}}
    record = {"eventName": "gen_ai.user.message", "body": body}
    carried = span(1, {**CHAT, "gen_ai.input.messages": text, "llm.input_messages.0.message": text}, name="chat")
    sources: list[Any] = [
        text.encode(),
        request(carried),
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]},
    ]
    for source in sources:
        try:
            list(read(source))
        except RightcallError:
            continue


@given(JUNK)
def test_whatever_the_body_of_a_log_record_it_is_read_or_refused(body: Any) -> None:
    def any_value(value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            return {"kvlistValue": {"values": [{"key": key, "value": any_value(held)} for key, held in value.items()]}}
        if isinstance(value, list):
            return {"arrayValue": {"values": [any_value(held) for held in value]}}
        return {"stringValue": str(value)}

    for name in ("gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message", "gen_ai.choice"):
        record = {"eventName": name, "body": any_value(body)}
        list(read({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}))


def test_a_key_of_many_digits_is_no_position() -> None:
    record = {"eventName": "gen_ai.user.message", "body": {"kvlistValue": {"values": [{"key": f"{'9' * 5000}.1"}]}}}

    [trajectory] = read({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})

    assert trajectory.calls == ()


def test_live_spans_and_messages_together_say_what_was_not_understood() -> None:
    trajectory = read_spans([], messages=[ASKED, {"role": "assistant", "tool_calls": [{"fn": "x"}]}])

    assert not trajectory.calls_recorded


def test_what_was_not_understood_is_the_one_thing_that_is_said_of_missing_calls() -> None:
    [trajectory] = read(request(span(1, {"acme.tool.name": "look"}, name="work")))

    assert trajectory.metadata["tool_data"] == "none"
    assert [note.partition(":")[0] for note in trajectory.warnings] == ["calls that were not understood"]
