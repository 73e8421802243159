"""Models that stopped to call a tool: the calls that nothing shows are missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.builders import judge
from tests.reading.logs import ASKED, asks, gives, refund
from tests.reading.traces import request, span

from rightcall.reading import read, read_messages, read_spans

STOPPED = "says that its model stopped to call a tool, and shows no call"
QUESTION = {"role": "user", "parts": [{"type": "text", "content": "Refund order 7."}]}
WANTED = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "1", "name": "refund", "arguments": {}}],
    "finish_reason": "tool_call",
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "ok"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}


def chat(number: int, *, given: list[Any] | None = None, told: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    """A model that stopped to call a tool, unless its answer says otherwise."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "k"}
    if given is not None:
        attributes["gen_ai.input.messages"] = json.dumps(given)
    if told is not None:
        attributes["gen_ai.output.messages"] = json.dumps(told)
    attributes["gen_ai.response.finish_reasons"] = '["stop"]' if told == [ANSWER] else '["tool_calls"]'
    return span(number, attributes, name="chat", **more)


def tool(number: int, **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.conversation.id": "k"}
    return span(number, attributes, name="execute_tool refund", **more)


SHOWN = [chat(1, given=[QUESTION], told=[WANTED]), chat(2, given=[QUESTION, WANTED, RESULT], told=[ANSWER])]
OTHER: dict[str, Any] = {"traceId": "b" * 32}
UNSHOWN = {
    "an answer without content after one with a call": [*SHOWN, chat(5)],
    "one with words and no call": [SHOWN[0], chat(2, given=[QUESTION, WANTED, RESULT], told=[{**WANTED, "parts": []}])],
    "one whose call no later prompt shows": [
        SHOWN[0],
        chat(2),
        chat(3, given=[QUESTION, WANTED, RESULT], told=[ANSWER]),
    ],
    "two, of which a later prompt shows one": [
        chat(1, given=[QUESTION]),
        chat(2, given=[QUESTION, WANTED, RESULT], told=[{**WANTED, "parts": []}]),
    ],
    "one without a time": [*SHOWN, {**chat(5), "startTimeUnixNano": None}],
    "a turn without a tool's span after one with it": [chat(1), tool(2), chat(3, told=[ANSWER]), chat(5, **OTHER)],
}


@pytest.mark.parametrize("spans", UNSHOWN.values(), ids=UNSHOWN)
def test_a_run_is_not_whole_whose_model_stopped_for_a_call_that_nothing_shows(spans: list[dict[str, Any]]) -> None:
    [made] = read(request(*spans))

    assert (made.names, made.calls_recorded) == (("refund",), False)
    assert made.not_understood == f"the span 'chat', which {STOPPED}"


WHOLE = {
    "the answer shows it": SHOWN,
    "a later prompt shows it": [chat(1, given=[QUESTION]), SHOWN[1]],
    "a later prompt shows it, and its model asks for more": [
        chat(1, given=[QUESTION]),
        chat(2, given=[QUESTION, WANTED, RESULT], told=[json.loads(json.dumps(WANTED).replace('"1"', '"2"'))]),
    ],
    "another span around the answer shows it": [
        {**chat(1, given=[QUESTION], told=[WANTED]), "endTimeUnixNano": "9000"},
        chat(2, parent=1),
    ],
    "two spans tell the same answer, and a prompt shows it": [
        {**chat(1, given=[QUESTION]), "endTimeUnixNano": "1900"},
        {**chat(1), "spanId": "ab", "parentSpanId": f"{1:016x}"},
        SHOWN[1],
    ],
    "a tool's span shows it": [chat(1), tool(2), chat(3, told=[ANSWER])],
    "a tool's span of the turn shows one, and an answer is given by a tool": [chat(1), tool(2), chat(3)],
}


@pytest.mark.parametrize("spans", WHOLE.values(), ids=WHOLE)
def test_a_run_is_whole_where_the_calls_are_known_for_which_models_stopped(spans: list[dict[str, Any]]) -> None:
    [made] = read(request(*spans))

    assert (set(made.names), made.calls_recorded) == ({"refund"}, True)


def test_a_log_record_that_stopped_to_call_a_tool_is_told() -> None:
    def record(time: int, name: str, body: dict[str, Any]) -> dict[str, Any]:
        held = [{"key": key, "value": _value(each)} for key, each in body.items()]
        return {"eventName": name, "timeUnixNano": str(time), "body": {"kvlistValue": {"values": held}}}

    records = [
        record(1, "gen_ai.user.message", {"content": "Refund order 7."}),
        record(2, "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant"}}),
    ]
    [made] = read({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})

    assert not made.calls_recorded
    assert made.not_understood == f"a log record, which {STOPPED}"


def _value(held: Any) -> dict[str, Any]:
    if isinstance(held, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": _value(each)} for key, each in held.items()]}}
    return {"stringValue": str(held)}


AGAIN = {"role": "user", "content": "And order 8."}
LOOKS = {"role": "assistant", "content": "I look.", "stop_reason": "tool_use"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([LOOKS], 6),
        ([LOOKS, {"role": "assistant", "content": "Done."}], 6),
        ([LOOKS, AGAIN, asks(("look", "2", "{}")), gives("2", "x")], 6),
        ([asks(("look", "2", "{}")), gives("2", "x"), LOOKS], 8),
        ([LOOKS, asks(("look", "2", "{}")), gives("2", "x")], None),
        ([asks(("look", "2", "{}")), LOOKS, gives("2", "x")], None),
    ],
    ids=["at the end", "before an answer", "before a question", "after a result", "before a call", "after a call"],
)
def test_a_message_that_stopped_to_call_a_tool_has_a_call_beside_it(more: list[Any], told: int | None) -> None:
    made = read_messages([*refund(), AGAIN, *more])

    assert made.calls_recorded is (told is None)
    assert made.not_understood == ("" if told is None else f"message {told}, which {STOPPED}")


STEP_ENDS = {"type": "finish-step", "finishReason": "tool-calls"}


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([asks(("look", "2", "{}")), gives("2", "x"), STEP_ENDS, {"role": "assistant", "content": "Done."}], None),
        ([asks(("look", "2", "{}")), gives("2", "x"), STEP_ENDS, STEP_ENDS], 9),
        ([STEP_ENDS], 6),
    ],
    ids=["after a result", "twice", "without a call"],
)
def test_an_event_that_ends_a_step_may_come_after_the_results_of_its_calls(events: list[Any], told: int | None) -> None:
    made = read_messages([*refund(), AGAIN, *events])

    assert made.not_understood == ("" if told is None else f"message {told}, which {STOPPED}")


def test_a_log_beside_spans_of_tools_may_leave_the_calls_to_them() -> None:
    made = read_spans([request(tool(2))], messages=[ASKED, LOOKS])

    assert (made.names, made.calls_recorded) == (("refund",), True)


def choices(*names: str, **more: Any) -> list[Any]:
    """Answers of which each asks for a tool; without a name it is words."""
    called = [{**WANTED, "parts": [{**WANTED["parts"][0], "name": name, "id": name}], **more} for name in names]  # type: ignore[dict-item]
    return [each if name else ANSWER for each, name in zip(called, names, strict=True)]


def flattened(number: int, **more: Any) -> dict[str, Any]:
    """The same as OpenInference writes it, which has no reasons."""
    attributes: dict[str, Any] = {"openinference.span.kind": "LLM", **more}
    for place, name in enumerate(("refund", "look")):
        beginning = f"llm.output_messages.{place}.message"
        function = f"{beginning}.tool_calls.0.tool_call.function"
        attributes |= {f"{beginning}.role": "assistant", f"{function}.name": name, f"{function}.arguments": "{}"}
    return span(number, attributes, name="chat")


def choice(number: int, name: str) -> dict[str, Any]:
    """A choice as an event."""
    message = {"role": "assistant", "tool_calls": [{"id": name, "function": {"name": name, "arguments": "{}"}}]}
    held = {"index": number, "message": json.dumps(message)}
    return {"name": "gen_ai.choice", "timeUnixNano": "1001", "attributes": span(1, held)["attributes"]}


CHOICES = {
    "reasons": chat(1, told=choices("refund", "look")),
    "reasons, one of words": chat(1, told=choices("refund", "")),
    "a count": span(
        1,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.choice.count": 2,
            "gen_ai.output.messages": json.dumps(choices("refund", "look", finish_reason=None)),
        },
        name="chat",
    ),
    "the parameters": flattened(1, **{"llm.invocation_parameters": '{"n": 2}'}),
    "numbers": span(1, {"gen_ai.operation.name": "chat"}, name="chat", events=[choice(0, "refund"), choice(1, "look")]),
}


@pytest.mark.parametrize("answer", CHOICES.values(), ids=CHOICES)
def test_of_several_choices_no_call_is_known_to_be_made(answer: dict[str, Any]) -> None:
    [made] = read(request(answer))

    assert (made.names, made.calls_recorded) == ((), False)
    assert made.not_understood == (
        "the span 'chat', with several choices of an answer: which of them was used is not recorded"
    )


@pytest.mark.parametrize(
    "answer",
    [
        flattened(1),
        flattened(1, **{"llm.invocation_parameters": '{"n": 1'}),
        flattened(1, **{"llm.invocation_parameters": '{"n": 1}', "gen_ai.request.choice.count": 1}),
        span(1, {"gen_ai.operation.name": "chat"}, name="chat", events=[choice(0, "refund"), choice(0, "look")]),
    ],
    ids=["nothing is said", "what is said is cut off", "one choice", "one number"],
)
def test_several_messages_without_a_sign_of_choices_are_one_answer(answer: dict[str, Any]) -> None:
    [made] = read(request(answer))

    assert (made.names, made.calls_recorded) == (("refund", "look"), True)


def test_a_later_prompt_shows_which_choice_was_used() -> None:
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "look", "response": "ok"}]}
    used = chat(2, given=[QUESTION, choices("look")[0], result], told=[ANSWER])
    [made] = read(request(chat(1, given=[QUESTION], told=choices("refund", "look")), used))

    assert (made.names, made.calls_recorded) == (("look",), True)


@pytest.mark.parametrize(
    ("key", "about"),
    [
        ("response_metadata", {"finish_reason": "tool_calls"}),
        ("response_metadata", {"stop_reason": "tool_use"}),
        ("generation_info", {"finish_reason": "function_call"}),
        ("meta", {"finish_reason": "tool_calls"}),
        ("state", {"type": "complete", "stopReason": "tool_use"}),
    ],
)
def test_why_a_model_stopped_is_told_in_what_is_said_about_its_answer(key: str, about: dict[str, Any]) -> None:
    answer = {"type": "ai", "role": "assistant", "content": "I look.", key: about}
    made = read_messages([*refund(), AGAIN, answer])

    assert made.not_understood == f"message 6, which {STOPPED}"
    assert read_messages([*refund(), AGAIN, {**answer, key: {"finish_reason": "stop"}}]).calls_recorded


@pytest.mark.parametrize(
    "response",
    [
        {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": "[redacted]"}}]},
        {"output": {"message": {"role": "assistant", "content": [{"text": "I look."}]}}, "stopReason": "tool_use"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}], "stop_reason": "tool_use"},
    ],
    ids=["chat", "Converse", "Anthropic"],
)
def test_why_a_model_stopped_is_told_beside_its_message(response: dict[str, Any]) -> None:
    [row] = read([{"request": {"messages": refund()[:3]}, "response": response}])
    assert (row.names, row.calls_recorded) == (("refund",), False)
    assert STOPPED in row.not_understood


def test_why_a_model_stopped_is_told_beside_the_only_message_of_a_response() -> None:
    told = {"output": {"message": {"role": "assistant", "content": [{"text": "I look."}]}}}

    assert not read_messages({**told, "stopReason": "tool_use"}).calls_recorded
    assert read_messages({**told, "stopReason": "end_turn"}).calls_recorded


@pytest.mark.parametrize("number", ["1", 1, 1.0, "9" * 5_000, 1e308, float("inf"), float("nan"), True])
def test_a_choice_has_any_number(number: Any) -> None:
    first, second = choices("refund", "look", finish_reason=None)
    numbered = [{**first, "index": 0}, {**second, "index": number}]
    [made] = read(request(chat(1, given=[QUESTION], told=numbered)))

    assert (made.names, made.calls_recorded) == ((), False)


@pytest.mark.parametrize("number", ["0", "", 0, 0.0, False, None, [], {}])
def test_what_is_not_the_number_of_another_choice_makes_none(number: Any) -> None:
    first, second = choices("refund", "look", finish_reason=None)
    numbered = [{**first, "index": 0}, {**second, "index": number}]
    [made] = read(request(chat(1, given=[QUESTION], told=numbered)))

    assert (made.names, made.calls_recorded) == (("refund", "look"), True)


BLOCKS = [{"type": "tool_use", "id": "1", "name": "refund", "input": {"order": 7}}]
TEXTS = [{"type": "text", "text": "I refund it."}]
ASKS_FOR_IT = {"role": "user", "content": "Refund order 7."}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"content": BLOCKS, "stop_reason": "tool_use"}, id="a call"),
        pytest.param({"content": BLOCKS}, id="a call without a reason"),
        pytest.param({"content": TEXTS, "stop_reason": "tool_use"}, id="a reason without a call"),
        pytest.param({"choices": [{"message": {"content": "I."}, "finish_reason": "tool_calls"}]}, id="a choice"),
    ],
)
def test_a_response_in_the_object_of_its_request_is_not_passed_over(answer: dict[str, Any]) -> None:
    run = read_messages({"messages": [ASKS_FOR_IT], **answer})

    assert not run.calls_recorded


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        pytest.param([], {"content": TEXTS, "stop_reason": "end_turn"}, id="a text"),
        pytest.param(
            [{"role": "assistant", "content": BLOCKS}], {"content": BLOCKS, "stop_reason": "tool_use"}, id="known calls"
        ),
        pytest.param([{"role": "assistant", "content": BLOCKS}], {"stop_reason": "tool_use"}, id="the last message"),
    ],
)
def test_a_response_in_the_object_of_its_request_may_tell_nothing_new(said: list[Any], answer: dict[str, Any]) -> None:
    run = read_messages({"messages": [ASKS_FOR_IT, *said], **answer})

    assert run.calls_recorded
    assert len(run.calls) == len(said)


@pytest.mark.parametrize(
    ("log", "is_known"),
    [
        ([ASKS_FOR_IT], False),
        ({"messages": [ASKS_FOR_IT], "id": "7"}, False),
        ({"messages": [ASKS_FOR_IT], "response": "It rains."}, True),
        ({"messages": [ASKS_FOR_IT], "tool_calls": []}, True),
        ([ASKS_FOR_IT, {"role": "assistant", "content": "It rains."}], True),
    ],
    ids=["alone", "with an id", "with an answer beside it", "with an empty list of calls", "answered"],
)
def test_a_question_that_nobody_answers_shows_no_absence_of_calls(log: Any, is_known: bool) -> None:
    run = read_messages(log)

    assert run.calls_recorded is is_known
    assert judge("forbidden-tools", run, {"never": ["look"]}).verdict == ("passed" if is_known else "not_measured")
