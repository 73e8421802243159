"""Log records of OpenTelemetry: each use of a model once, whatever span its records have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.traces import TRACE, request, span
from tests.walls import for_each

from rightcall import Trajectory, read

ASKED = {"role": "user", "parts": [{"type": "text", "content": "Refund order 7"}]}
CALLED = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"id": 7}}]}
GIVEN = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "ok"}]}
DONE = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
CHAT_CALL = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"id": 7}'}}]}


def value(held: Any) -> dict[str, Any]:
    if isinstance(held, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value(each)} for key, each in held.items()]}}
    if isinstance(held, list):
        return {"arrayValue": {"values": [value(each) for each in held]}}
    return {"intValue": held} if isinstance(held, int) else {"stringValue": held}


def record(time: int, name: str, number: int | None, body: Any = None, **attributes: Any) -> dict[str, Any]:
    held = [{"key": key.replace("__", "."), "value": value(each)} for key, each in attributes.items()]
    made: dict[str, Any] = {"timeUnixNano": str(time), "eventName": name, "attributes": held}
    if body is not None:
        made["body"] = value(body)
    return made if number is None else {**made, "traceId": TRACE, "spanId": f"{number:016x}"}


def logged(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def of(document: Any) -> Trajectory:
    [found] = read(json.dumps(document).encode())
    return found


SPANS: dict[str, tuple[int | None, int | None]] = {
    "a span each": (1, 2),
    "the span of the agent": (1, 1),
    "no span": (None, None),
}


@for_each("name", list(SPANS))
@pytest.mark.parametrize("is_late", [True, False], ids=["one record a use", "one record a message"])
def test_a_prompt_that_repeats_a_call_adds_none(name: str, is_late: bool) -> None:
    first, second = SPANS[name]
    details = "gen_ai.client.inference.operation.details"
    if is_late:
        records = [
            record(1, details, first, gen_ai__input__messages=[ASKED], gen_ai__output__messages=[CALLED]),
            record(2, details, second, gen_ai__input__messages=[ASKED, CALLED, GIVEN], gen_ai__output__messages=[DONE]),
        ]
    else:
        records = [
            record(1, "gen_ai.user.message", first, {"content": "Refund order 7"}),
            record(2, "gen_ai.choice", first, {"index": 0, "message": {"role": "assistant", **CHAT_CALL}}),
            record(3, "gen_ai.user.message", second, {"content": "Refund order 7"}),
            record(4, "gen_ai.assistant.message", second, CHAT_CALL),
            record(5, "gen_ai.tool.message", second, {"id": "c1", "content": "ok"}),
            record(6, "gen_ai.choice", second, {"index": 0, "message": {"role": "assistant", "content": "Done."}}),
        ]

    found = of(logged(*records))

    assert [(call.name, call.args, call.output) for call in found.calls] == [("refund", {"id": 7}, "ok")]
    assert (found.input, found.output) == ("Refund order 7", "Done.")
    assert not found.calls[0].unrecorded


AGENT = span(1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}, name="invoke_agent shop")
MODEL = span(2, {"gen_ai.operation.name": "chat"}, parent=1)
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}
USED = json.dumps([{"toolUse": {"toolUseId": "c1", "name": "refund", "input": {"id": 7}}}])


def exchanged(given: dict[str, Any], returned: dict[str, Any], given_by: str) -> dict[str, Any]:
    return {
        "input": {"messages": [{"role": given_by, "content": given}]},
        "output": {"messages": [{"role": "assistant", "content": returned}]},
    }


OF_MODEL = record(2100, "strands.telemetry.tracer", 2, exchanged({"content": "Go"}, {"message": USED}, "user"))
OF_TOOL = record(
    3100,
    "strands.telemetry.tracer",
    3,
    exchanged({"content": '{"id": 7}', "role": "tool", "id": "c1"}, {"message": '[{"text": "ok"}]'}, "tool"),
)


def test_what_a_tool_was_given_is_not_its_output() -> None:
    found = of({**request(AGENT, MODEL, span(3, TOOL, parent=1)), **logged(OF_MODEL, OF_TOOL)})

    assert [(call.name, call.args) for call in found.calls] == [("refund", {"id": 7})]
    assert found.calls[0].unrecorded >= {"output"}


def test_logs_are_read_beside_the_spans_of_one_document() -> None:
    spans = request(AGENT, MODEL, span(3, TOOL, parent=1))

    together, apart = of({**spans, **logged(OF_MODEL)}), of([spans, logged(OF_MODEL)])

    assert together == apart
    assert together.calls[0].args == {"id": 7}


@pytest.mark.parametrize(("written", "answer"), [('"Done."', "Done."), ("Done.", "Done."), ("42", "42")], ids=str)
def test_an_output_of_openllmetry_is_text_as_it_is_or_in_quotes(written: str, answer: str) -> None:
    kind = {"traceloop.span.kind": "workflow", "traceloop.entity.name": "shop"}
    around = span(1, {**kind, "traceloop.entity.input": "{}", "traceloop.entity.output": written}, name="shop.workflow")
    inside = {"traceloop.span.kind": "tool", "traceloop.entity.name": "look", "traceloop.entity.input": "{}"}

    assert of(request(around, span(2, inside, parent=1, name="look.tool"))).output == answer


def given(attributes: dict[str, Any], **more: Any) -> Trajectory:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Refund order 7"}]}])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages, **attributes}
    return of(request(span(1, chat, name="chat", **more)))


def test_a_model_whose_answer_was_not_recorded_may_have_asked_for_calls() -> None:
    answered = {"gen_ai.output.messages": json.dumps([DONE])}
    failed = {"status": {"code": 2, "message": "429"}}

    assert given(answered).calls_recorded
    assert given({"output.value": "Done."}).calls_recorded
    assert given({}, **failed).calls_recorded
    assert not given({}).calls_recorded


def test_an_answer_that_a_later_prompt_repeats_is_recorded() -> None:
    chat = {"gen_ai.operation.name": "chat"}
    first = span(2, {**chat, "gen_ai.input.messages": json.dumps([ASKED])}, parent=1)
    last = span(
        3,
        {
            **chat,
            "gen_ai.input.messages": json.dumps([ASKED, CALLED, GIVEN]),
            "gen_ai.output.messages": json.dumps([DONE]),
        },
        parent=1,
    )

    assert of(request(AGENT, first, last)).calls_recorded
    assert not of(request(AGENT, first)).calls_recorded


def test_a_call_in_an_event_of_no_known_name_is_a_sign() -> None:
    body = {"index": 0, "message": {"role": "assistant", **CHAT_CALL}}
    asked = record(1, "gen_ai.user.message", 1, {"content": "Refund order 7"})
    answer = record(3, "gen_ai.choice", 1, {"index": 0, "message": {"role": "assistant", "content": "Done."}})

    assert of(logged(asked, answer)).calls_recorded
    assert not of(logged(asked, record(2, "gen_ai.choice.v2", 1, body), answer)).calls_recorded
    assert of(logged(asked, record(2, "app.started", 1, {"port": 80}), answer)).calls_recorded
    event = {
        "name": "gen_ai.choice.v2",
        "timeUnixNano": "1500",
        "attributes": [{"key": "gen_ai.event.content", "value": {"stringValue": json.dumps(body)}}],
    }
    shown = given({"gen_ai.output.messages": json.dumps([DONE])}, events=[event])
    assert not shown.calls_recorded


def test_a_choice_without_content_is_an_answer_only_if_it_says_how_it_ended() -> None:
    asked = record(1, "gen_ai.user.message", 1, {"content": "Refund order 7"})

    assert not of(logged(asked, record(2, "gen_ai.choice", 1, {"index": 0}))).calls_recorded
    assert of(logged(asked, record(2, "gen_ai.choice", 1, {"index": 0, "finish_reason": "stop"}))).calls_recorded


def test_a_result_without_its_content_is_known_by_its_id() -> None:
    bare = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "refund"}}]}
    found = of(
        logged(
            record(1, "gen_ai.user.message", 1, {}),
            record(2, "gen_ai.choice", 1, {"finish_reason": "tool_calls", "message": {"role": "assistant", **bare}}),
            record(3, "gen_ai.tool.message", 2, {"id": "c1"}),
            record(4, "gen_ai.choice", 2, {"finish_reason": "stop", "message": {"role": "assistant"}}),
        )
    )

    assert (found.names, found.calls_recorded) == (("refund",), True)
    assert found.calls[0].unrecorded >= {"args", "output"}


def moved(time: int, number: int, given: Any, returned: Any) -> dict[str, Any]:
    """A record to which AWS's distribution moved what LangChain's instrumentation wrote on a span."""
    sides = {"input": ("user", given), "output": ("assistant", returned)}
    told = {
        side: {"messages": [{"content": held if isinstance(held, str) else json.dumps(held), "role": role}]}
        for side, (role, held) in sides.items()
    }
    return record(time, "openinference.instrumentation.langchain", number, told)


STATE = [{"content": "Weather?", "type": "human"}, {"content": "Cold.", "type": "ai"}]
LOOK = {"name": "look", "args": {"city": "Oslo"}, "id": "c1"}
MOVED = [
    moved(1, 2, "Weather?", {"generations": [[{"text": "", "message": {"tool_calls": [LOOK]}}]], "llm_output": None}),
    moved(3, 3, "{'city': 'Oslo'}", {"type": "tool", "name": "look", "tool_call_id": "c1", "content": "-5"}),
    moved(4, 4, "{}", "__end__"),
    moved(5, 1, {"messages": STATE[:1]}, {"messages": STATE}),
]


@for_each("kind", ["openinference", "traceloop"])
def test_what_a_span_had_before_its_content_was_moved_to_a_record_is_given_back(kind: str) -> None:
    key = f"{kind}.span.kind"
    tool = {key: "TOOL" if kind == "openinference" else "tool", "tool.name": "look", "traceloop.entity.name": "look"}
    spans = [span(1, {key: "CHAIN"}), span(2, {key: "LLM"}, parent=1), span(3, tool, parent=1)]

    found = of([request(*spans), logged(*MOVED)])

    assert [(call.name, call.args, call.output) for call in found.calls] == [("look", {"city": "Oslo"}, "-5")]
    assert found.output == "Cold."
    odd = [*MOVED[:1], moved(3, 3, "", "")]
    [call] = of([request(*spans), logged(*odd)]).calls
    assert (call.name, call.output) == ("look", None)


@for_each("is_row", [False, True])
def test_records_of_moved_content_show_the_calls_without_their_spans(is_row: bool) -> None:
    rows = [
        {
            "trace_id": TRACE,
            "span_id": each["spanId"],
            "name": "langchain",
            "start_time": int(each["timeUnixNano"]),
            "attributes": {"event.name": "langchain"},
            "span_events": [{"event_name": "langchain", "attributes": {}, "body": body}],
        }
        for each, body in zip(MOVED, map(plain_body, MOVED), strict=True)
    ]

    found = of(rows if is_row else logged(*MOVED))

    assert [(call.name, call.args, call.output) for call in found.calls] == [("look", {"city": "Oslo"}, "-5")]


def test_text_that_is_no_state_of_langchain_stays_text() -> None:
    for text in ('{"messages": 7}', '{"generations": [', '{"tool_call_id": "c1"}', '{"messages": [{"a": 1}]}'):
        found = of([request(span(1, {"openinference.span.kind": "CHAIN"})), logged(moved(1, 1, "Weather?", text))])
        assert (found.calls, found.output) == ((), text)


def plain_body(held: dict[str, Any]) -> dict[str, Any]:
    """The body of a record of OTLP as a plain object."""

    def plain(value: dict[str, Any]) -> Any:
        if "kvlistValue" in value:
            return {each["key"]: plain(each["value"]) for each in value["kvlistValue"]["values"]}
        return [*map(plain, value["arrayValue"]["values"])] if "arrayValue" in value else value["stringValue"]

    found: dict[str, Any] = plain(held["body"])
    return found
