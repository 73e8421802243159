"""The question and the answer in what frameworks record as the input and output of a run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.walls import for_each

from rightcall.reading.messages._framework_states import answer_in, given_in, question_in, returned_in
from rightcall.reading.spans import NOTHING

USER = {"role": "user", "content": "Go."}
MODEL = {"role": "assistant", "content": "Gone."}
CALL = {"type": "tool_call", "id": "1", "name": "look", "arguments": {}}
DUMPED = {"lc": 1, "type": "constructor"}
SAME = object()
"""What is returned as it was recorded."""


def written(text: str, more: str = "") -> str:
    """A message as LangChain prints it."""
    return f"content='{text}' additional_kwargs={{}}{more}"


@for_each(
    ("held", "question"),
    [
        ("Go.", "Go."),
        ("", NOTHING),
        ({"task": "Go.", "stream": True}, "Go."),
        ({"task": "Go.", "x": 1}, SAME),
        ({"messages": [USER, MODEL]}, "Go."),
        ({"messages": [USER, {**USER, "content": "Now."}]}, "Now."),
        ({"messages": [MODEL]}, NOTHING),
        ({"messages": [{"content": "a"}]}, NOTHING),
        ({"messages": [{"content": "a"}, 3]}, SAME),
        ({"messages": []}, SAME),
        ({"role": "user"}, NOTHING),
        ({"prompt": "Go."}, "Go."),
        ({"prompt": "Go.", "system": "Be kind."}, "Go."),
        ({"prompt": "Go.", "x": 1}, SAME),
        ({"args": ["Go."], "kwargs": {}}, "Go."),
        ({"args": ["Go.", "x"], "kwargs": {}}, NOTHING),
        ({"args": ["Go."], "kwargs": {"x": 1}}, NOTHING),
        ({"args": [], "kwargs": {"q": "Go."}}, "Go."),
        ({"args": [], "kwargs": {}}, NOTHING),
        ({"args": [], "kwargs": {"q": "Go.", "n": 1}}, {"q": "Go.", "n": 1}),
        ({"args": "Go.", "kwargs": {}}, SAME),
        ({"args": [], "kwargs": []}, SAME),
        ({"inputs": {"q": "Go."}, "kwargs": {}, "tags": []}, "Go."),
        ({"inputs": {"q": "Go."}, "kwargs": {}}, SAME),
        ({"inputs": "Go.", "kwargs": {}, "tags": []}, SAME),
        ({"init_state": {"is_running": False}, "start_event": "StartEvent()", "tags": {}}, NOTHING),
        ({"init_state": {"is_running": False}}, SAME),
        ({"user_id": "u", "session_id": "s", "state_delta": None, "run_config": None}, NOTHING),
        ({"session_id": "s", "run_config": None}, SAME),
        ({"q": "Go."}, "Go."),
        ({"q": 3}, SAME),
        ({"a": "x", "b": "y"}, SAME),
        ({"new_message": {"role": "user", "parts": [{"text": "Go."}]}, "invocation_id": "i"}, "Go."),
        ({"new_message": {"role": "user", "parts": [{"text": "Go."}]}, "session_id": "s", "run_config": None}, "Go."),
        ({"object": "response", "output": [USER]}, "Go."),
        ({"output": [USER], "x": 1}, SAME),
        ([MODEL, USER], "Go."),
        ([["user", "Go."], ["ai", "Gone."]], "Go."),
        ([["user", "Go."]], "Go."),
        ([[MODEL, USER]], "Go."),
        ({"messages": [[USER, MODEL]]}, "Go."),
        ([[USER], [USER]], NOTHING),
        ([written("Go.")], "Go."),
        ([written("Go."), "x"], SAME),
        ([], SAME),
        ([3], SAME),
        ([CALL], NOTHING),
        ([CALL, 3], SAME),
        ("StopEvent(result=1)", NOTHING),
        ("<x.Y object at 0x1>", NOTHING),
        ({"tags": [], "metadata": {}, "x": 1}, NOTHING),
        ({"tags": [], "x": 1}, SAME),
        ({"kwargs": {}}, NOTHING),
        ({"a": [[[[DUMPED]]]], "b": 1}, NOTHING),
        ({"a": [[[[[DUMPED]]]]], "b": 1}, SAME),
        ({"q": {"a": ["StopEvent(result=1)"]}}, NOTHING),
        ({"q": {"a": [{"b": "StopEvent(result=1)"}]}}, SAME),
    ],
)
def test_the_question_in_an_input(held: Any, question: Any) -> None:
    found = given_in(held)
    expected = held if question is SAME else question

    assert found is NOTHING if expected is NOTHING else found == expected


@for_each(
    ("held", "answer"),
    [
        ({"messages": [USER, MODEL], "structured_response": {"order": 1}}, {"order": 1}),
        ({"messages": [USER, MODEL], "structured_response": None}, "Gone."),
        ("Gone.", "Gone."),
        ("", NOTHING),
        ({"raw": "Gone.", "tasks_output": []}, "Gone."),
        ({"raw": "Gone.", "expected_output": "x"}, "Gone."),
        ({"raw": "Gone."}, SAME),
        ({"raw": 3, "tasks_output": []}, SAME),
        ({"trajectory": {"tool_name_0": "t"}, "reasoning": "r", "answer": "Gone."}, "Gone."),
        ({"trajectory": {}, "reasoning": "r", "answer": 3}, 3),
        ({"trajectory": {}, "reasoning": "r", "answer": "Gone.", "note": "x"}, None),
        ({"trajectory": {}, "reasoning": "r"}, None),
        ({"trajectory": {}, "answer": "Gone."}, SAME),
        ({"trajectory": "x", "reasoning": "r", "answer": "Gone."}, SAME),
        ({"author": "a", "invocation_id": "i", "content": {"parts": [{"text": "Gone."}]}}, "Gone."),
        ({"author": "a", "invocation_id": "i"}, NOTHING),
        ({"author": "a", "actions": {}, "error_message": "no"}, NOTHING),
        ({"invocation_id": "i", "actions": {}, "error_message": "no"}, NOTHING),
        ({"author": "a"}, SAME),
        ({"finish_reason": "stop", "content": "Gone."}, "Gone."),
        ({"finish_reason": "stop", "content": []}, NOTHING),
        ({"finish_reason": "stop", "content": "Gone.", "role": "assistant"}, "Gone."),
        ({"finish_reason": "stop", "content": "Go.", "role": "user"}, NOTHING),
        ({"content": "Gone."}, SAME),
        ({"messages": [USER, MODEL]}, "Gone."),
        ({"messages": [MODEL, USER]}, NOTHING),
        ({"messages": [{"content": "a"}]}, NOTHING),
        ({"messages": [{"data": {"content": "a"}}, {"content": "b"}]}, NOTHING),
        ({"messages": [{"data": {"text": "a"}}]}, SAME),
        ({"choices": [{"message": MODEL, "finish_reason": "stop"}]}, "Gone."),
        ({"outputs": {"messages": [MODEL]}, "kwargs": {}}, "Gone."),
        ({"outputs": {"messages": [MODEL]}}, SAME),
        ({"outputs": "Gone.", "kwargs": {}}, "Gone."),
        ({"chat_message": MODEL, "inner_messages": []}, "Gone."),
        ({"response": MODEL, "current_agent_name": "x"}, "Gone."),
        ({"result": {"response": MODEL, "current_agent_name": "x"}}, "Gone."),
        ({"result": {"response": MODEL}}, SAME),
        ({"result": {"response": MODEL, "current_agent_name": "x"}, "y": 1}, SAME),
        ([USER, MODEL], "Gone."),
        ([MODEL, USER], NOTHING),
        ([[USER, MODEL]], "Gone."),
        ([written("Gone.")], NOTHING),
        ([written("Go."), written("Gone.")], "Gone."),
        ([written("Go."), written("Gone.", " tool_calls=[{")], NOTHING),
        ([written("Go."), written("ok", " tool_call_id='1'")], NOTHING),
        ([written("Go."), written("")], NOTHING),
        ([], SAME),
        ([3], SAME),
        ([CALL], NOTHING),
        ({"x": 1}, SAME),
        ({"x": "StopEvent(result=1)"}, NOTHING),
    ],
)
@pytest.mark.parametrize("encoded", [True, False])
def test_the_answer_in_an_output(held: Any, answer: Any, encoded: bool) -> None:
    found = returned_in(held, encoded)
    expected = held if answer is SAME else answer

    assert found is NOTHING if expected is NOTHING else found == expected


def test_wrappers_are_opened_six_deep() -> None:
    def wrapped(key: str, held: Any, depth: int, **beside: Any) -> Any:
        return held if depth == 0 else {key: wrapped(key, held, depth - 1, **beside), **beside}

    outputs = [wrapped("outputs", {"messages": [MODEL]}, depth, kwargs={}) for depth in (6, 7)]
    inputs = [wrapped("inputs", {"messages": [USER]}, depth, kwargs={}, tags=[]) for depth in (6, 7)]
    assert [returned_in(each) for each in outputs] == ["Gone.", {"messages": [MODEL]}]
    assert [given_in(each) == "Go." for each in inputs] == [True, False]


def test_an_output_that_is_not_a_state_is_the_answer_as_it_was_written() -> None:
    assert returned_in('{"total": 3}') == '{"total": 3}'
    assert returned_in('{"total": 3}', encoded=True) == {"total": 3}
    assert returned_in('"Gone."', encoded=True) == "Gone."


def step(**more: Any) -> dict[str, Any]:
    return {"step_number": 1, "observations": "", **more}


def block(name: str, args: Any, call_id: str = "1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}


DENIED = {"type": "tool-look", "toolCallId": "1", "input": {}}
USE = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "ok"}
TEXT = {"type": "text", "text": "Gone."}


@for_each(
    ("messages", "answer"),
    [
        (
            [
                USER,
                {**MODEL, "content": "Go", "finish_reason": ""},
                {**MODEL, "content": "ne.", "finish_reason": "stop"},
            ],
            "Gone.",
        ),
        ([USER, {**MODEL, "finish_reason": "stop"}, {**MODEL, "content": "Now.", "finish_reason": "stop"}], "Now."),
        ([{**USER, "finish_reason": ""}, {**MODEL, "finish_reason": ""}], "Gone."),
        ([], None),
        ([MODEL], "Gone."),
        ([MODEL, {"type": "result", "subtype": "success"}], "Gone."),
        ([MODEL, {"type": "result", "subtype": "error"}], None),
        ([[MODEL]], "Gone."),
        ([{**MODEL, "tool_calls": [block("look", "{}")]}], None),
        ([{**MODEL, "function_call": {"name": "look", "arguments": "{}"}}], None),
        ([{"role": "assistant", "content": [USE, TEXT]}], None),
        ([{"role": "assistant", "content": [TEXT, USE, RESULT, TEXT]}], "Gone."),
        ([{"role": "assistant", "content": [TEXT, USE, RESULT]}], None),
        ([{"role": "assistant", "content": [USE, {**RESULT, "tool_use_id": "2"}, TEXT]}], None),
        ([{"role": "assistant", "parts": [{**DENIED, "state": "output-denied"}, TEXT]}], "Gone."),
        ([{"role": "assistant", "parts": [{**DENIED, "state": "approval-requested"}, TEXT]}], None),
        ([step(is_final_answer=True, action_output="Gone.")], "Gone."),
        ([step(is_final_answer=True, action_output=3)], None),
        (
            [step(is_final_answer=True, action_output=None, tool_calls=[block("final_answer", {"answer": "Gone."})])],
            "Gone.",
        ),
        ([step(is_final_answer=False, action_output="Gone.")], None),
        ([step(tool_calls=[block("final_answer", {"answer": "Gone."})])], "Gone."),
        ([step(tool_calls=[block("look", {"answer": "Gone."})])], None),
        ([{"response": MODEL, "current_agent_name": "x", "tool_calls": [block("look", "{}")]}], "Gone."),
        ([{"response": {**MODEL, "tool_calls": [block("look", "{}")]}, "current_agent_name": "x"}], None),
        ([{"response": None, "current_agent_name": "x"}], None),
        ([3], None),
    ],
)
def test_the_last_message_is_the_answer_if_it_asks_for_nothing_more(messages: list[Any], answer: str | None) -> None:
    assert answer_in(messages) == answer


def test_the_last_words_of_the_user_are_the_question() -> None:
    assert question_in([USER, MODEL, {**USER, "content": ""}]) == "Go."
    assert question_in([USER, written("Now.")]) == "Now."
    assert question_in([USER, written("Now.", " tool_calls=[{")]) == "Go."
    assert question_in([MODEL]) is None
