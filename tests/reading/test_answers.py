"""What a run was asked and what it answered is found wherever the trace keeps it, and is never a whole state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading import corpus
from tests.reading.talks import asks_for, chat, gives, says
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall.reading import read, read_spans
from rightcall.values.trajectory import Trajectory

WITHOUT_CONTENT = (
    "agent-framework/trip-nosensitive",
    "anthropic-tool-runner/trip",
    "autogen-dup-native+oi/trip",
    "autogen/",
    "google-adk/abort-2.13.0",
    "google-adk/nested-2.13.0",
    "google-adk/trip-2.13.0",
    "mcp-sdk/",
    "mlflow-manual/trip-semconv",
    "pydantic-ai/trip-pkg2-fmt5-nocontent",
)
"""Recordings whose spans hold neither question nor answer; those with `-span` at the end do."""

WITHOUT_QUESTION = ("crewai-", "semantic-kernel/")
BROKEN_OFF = ("/abort", "vercel-ai/trip-v4")
SPANS = [name for name in corpus.names() if "otlp.json" in corpus.inputs(name)]


def has_no_content(run: str) -> bool:
    return run.startswith(WITHOUT_CONTENT) and not run.endswith(("-span", "-content"))


def one(document: Any) -> Trajectory:
    [trajectory] = read(document)
    return trajectory


def said(attributes: dict[str, Any], *more: dict[str, Any], **keys: Any) -> tuple[Any, Any]:
    """Question and answer of an agent with these attributes."""
    agent = span(1, {"openinference.span.kind": "AGENT", **attributes}, endTimeUnixNano="90000", **keys)
    trajectory = one(request(agent, *more))
    return trajectory.input, trajectory.output


TEXT = {"type": "text", "text": "Shipped."}
INVOKED = {"state": "result", "toolCallId": "1", "toolName": "look", "args": {}, "result": "ok"}


@pytest.mark.parametrize("run", SPANS)
def test_the_question_and_the_answer_of_a_recording_are_those_of_the_user(run: str) -> None:
    [trajectory] = read(corpus.inputs(run)["otlp.json"])
    asked = "visa?" if "/nested" in run or "/recursion" in run else "Book me a trip from Tokyo to Paris."
    lost = has_no_content(run)

    assert trajectory.input == (None if lost or run.startswith(WITHOUT_QUESTION) else asked)
    assert trajectory.output == (None if lost or any(part in run for part in BROKEN_OFF) else "Trip booked.")


@pytest.mark.parametrize("around", ["a caller elsewhere", "a server", "a server and a queue"])
@for_each("run", SPANS)
def test_what_lies_around_an_agent_does_not_hide_its_answer(run: str, around: str) -> None:
    document = json.loads(corpus.inputs(run)["otlp.json"])
    before = list(read(document))
    for resource in document["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            for each in list(scoped["spans"]):
                if not each.get("parentSpanId"):
                    each["parentSpanId"] = "00f067aa0ba902b7"
                    if around != "a caller elsewhere":
                        scoped["spans"] += _server(each, around)
    after = list(read(document))

    assert [(each.input, each.output) for each in after] == [(each.input, each.output) for each in before]


def _server(inner: dict[str, Any], around: str) -> list[dict[str, Any]]:
    """An HTTP server's span around another, and perhaps a queue's between the two."""
    server = {
        **inner,
        "name": f"POST /{inner['traceId']}",
        "spanId": "00f067aa0ba902b7",
        "attributes": [],
        "events": [],
    }
    server.pop("parentSpanId")
    if around == "a server":
        return [server]
    queue = {**server, "name": "chat receive", "parentSpanId": "00f067aa0ba902b8"}
    return [{**server, "spanId": "00f067aa0ba902b8"}, queue]


@pytest.mark.parametrize(
    ("held", "answer"),
    [
        ("It was shipped.", "It was shipped."),
        ('"It was shipped."', '"It was shipped."'),
        ('{"total": 3}', '{"total": 3}'),
        ({"messages": [{"type": "human", "content": "x"}, {"type": "ai", "content": "Shipped."}]}, "Shipped."),
        ({"messages": [{"type": "human", "data": {"content": "x"}}, {"type": "ai", "data": {"content": "y"}}]}, "y"),
        ({"messages": ["content='x' additional_kwargs={}", "content='It\\'s y' additional_kwargs={}"]}, "It's y"),
        ({"messages": ["content='x' additional_kwargs={} tool_calls=[{'name': 'a', 'args': {}}]"]}, None),
        ({"messages": ["content='x' additional_kwargs={} tool_call_id='c1'"]}, None),
        ({"messages": [{"role": "assistant", "content": "x", "tool_calls": [{"name": "a", "args": {}}]}]}, None),
        ({"messages": [{"role": "assistant", "content": '[{"total": 3}]'}]}, '[{"total": 3}]'),
        ({"messages": [{"role": "assistant", "content": '[{"text": "Shipped."}]'}]}, "Shipped."),
        ({"messages": [{"role": "assistant", "content": [TEXT], "toolInvocations": [INVOKED]}]}, "Shipped."),
        ({"messages": [{"role": "user", "content": "x"}]}, None),
        ({"raw": "Shipped.", "tasks_output": [], "token_usage": {}}, "Shipped."),
        ({"raw": "Shipped.", "expected_output": "a word", "agent": "billing"}, "Shipped."),
        ("StopEvent(result=AgentOutput(response=ChatMessage(role='assistant')))", None),
        ("StopEvent(result=AgentOutput(response=ChatMessage(role='assistant', blocks=[…", None),
        ("result=AgentOutput(response=ChatMessage(role='assistant'))", None),
        ("Sum(a=1) is what you want, and f(x=2) as well.", "Sum(a=1) is what you want, and f(x=2) as well."),
        ({"messages": ["ChatMessage(_role=<ChatRole.USER: 'user'>)"], "last_message": "ChatMessage(_role='a')"}, None),
        ({"chat_message": {"source": "a", "type": "TextMessage", "content": "Hi."}, "inner_messages": []}, "Hi."),
        ({"messages": [{"source": "user", "type": "TextMessage", "content": "x"}], "stop_reason": None}, None),
        ({"content": {"parts": [{"text": "Hi."}], "role": "model"}, "author": "a", "invocation_id": "1"}, "Hi."),
        ({"error_code": "E", "author": "a", "invocation_id": "1"}, None),
        ({"outputs": {"messages": [{"role": "assistant", "content": "Hi."}]}, "kwargs": {}}, "Hi."),
        ({"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}, "Hi."),
        ({"object": "response", "output": [{"type": "message", "role": "assistant", "content": "Hi."}]}, "Hi."),
        ({"response": "Hi."}, '{"response": "Hi."}'),
        ({"output": [{"role": "admin"}]}, '{"output": [{"role": "admin"}]}'),
    ],
)
def test_the_answer_is_the_text_of_the_last_message_and_never_a_whole_state(held: Any, answer: Any) -> None:
    assert said({"output.value": held if isinstance(held, str) else json.dumps(held)}) == (None, answer)


def test_an_answer_that_is_written_as_json_is_the_value_it_stands_for() -> None:
    kind = {"output.mime_type": "application/json"}

    assert said({"output.value": '{"total": 3}', **kind})[1] == {"total": 3}
    assert said({"output.value": '"Shipped."', **kind})[1] == "Shipped."
    assert said({"mlflow.spanOutputs": "[1, 2]"})[1] == [1, 2]


def test_an_answer_of_pydantic_ai_is_an_object_where_the_model_gave_one() -> None:
    text = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": '{"total": 3}'}]}])
    asked = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "name": "final_result"}]}])

    assert said({"final_result": '{"total": 3}', "pydantic_ai.all_messages": asked})[1] == {"total": 3}
    assert said({"final_result": '{"total": 3}', "pydantic_ai.all_messages": text})[1] == '{"total": 3}'


@pytest.mark.parametrize(
    ("held", "question"),
    [
        ("Where is it?", "Where is it?"),
        ({"q": "Where is it?"}, "Where is it?"),
        ({"args": ["Where is it?"], "kwargs": {}}, "Where is it?"),
        ({"args": ["Where is it?", 3], "kwargs": {}}, None),
        ({"args": [], "kwargs": {"question": "Where is it?"}}, "Where is it?"),
        ({"args": [], "kwargs": {"question": "Where is it?", "times": 2}}, {"question": "Where is it?", "times": 2}),
        ({"args": [], "kwargs": {}}, None),
        ({"args": "-l", "kwargs": {}}, {"args": "-l", "kwargs": {}}),
        ({"args": ["-l"], "kwargs": ""}, {"args": ["-l"], "kwargs": ""}),
        ({"task": "Where is it?", "stream": False, "reset": True}, "Where is it?"),
        ({"new_message": {"role": "user", "parts": [{"text": "Where?"}]}, "invocation_id": None}, "Where?"),
        ({"prompt": "Where?", "system": "Be kind."}, "Where?"),
        ({"inputs": {"messages": [{"type": "human", "content": "Where?"}]}, "tags": [], "kwargs": {}}, "Where?"),
        ({"messages": [{"role": "user", "content": "Hi."}, {"role": "user", "content": "Where?"}]}, "Where?"),
        ({"task": "Where?", "stream": False}, "Where?"),
        ({"task": "Where?", "order": 7}, {"task": "Where?", "order": 7}),
        ({"order": 7, "text": "Where?"}, {"order": 7, "text": "Where?"}),
        ({"agent": "Agent(role='a')", "task": "Task(description='b')"}, None),
    ],
)
def test_the_question_is_what_the_user_said_last(held: Any, question: Any) -> None:
    text = held if isinstance(held, str) else json.dumps(held)

    assert said({"input.value": text}) == (question, None)


def test_a_model_answers_for_an_agent_that_says_nothing() -> None:
    model = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Where is it?",
    }
    asks = {**model, "llm.output_messages.0.message.role": "assistant"}
    asks["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] = "search"
    answers = {**model, "llm.input_messages.1.message.role": "tool", "llm.output_messages.0.message.role": "assistant"}
    answers["llm.output_messages.0.message.content"] = "At home."
    spans = [span(2, asks, parent=1), call(3, parent=1), span(4, answers, parent=1)]

    assert said({}, *spans) == ("Where is it?", "At home.")
    assert said({}, *spans[:2]) == ("Where is it?", None)


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        ({"finish_reason": "stop", "content": "At home.", "usage": {}, "thought": None}, "At home."),
        ({"finish_reason": "function_calls", "content": [{"id": "1", "name": "a", "arguments": "{}"}]}, None),
        (
            {
                "generations": [
                    [{"text": "At home.", "message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "At home."}}}]
                ]
            },
            "At home.",
        ),
        ({"id": "1", "model": "m"}, None),
    ],
)
def test_the_result_of_a_model_without_messages_is_opened(made: dict[str, Any], answer: str | None) -> None:
    told = {"openinference.span.kind": "LLM", "output.value": json.dumps(made), "output.mime_type": "application/json"}

    assert said({}, span(2, told, parent=1)) == (None, answer)


def test_a_model_that_is_asked_beside_the_agent_has_no_answer_for_the_user() -> None:
    title = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    title["llm.output_messages.0.message.content"] = "A title"

    assert said({"output.value": "At home."}, span(95, title)) == (None, "At home.")


def test_what_a_sub_agent_answers_inside_of_a_call_is_no_answer_to_the_user() -> None:
    inner = span(3, {"openinference.span.kind": "AGENT", "output.value": "90 days"}, parent=2)

    assert said({}, call(2, parent=1, endTimeUnixNano="9000"), inner) == (None, None)


def test_of_agents_one_after_the_other_the_first_was_asked_and_the_last_answers() -> None:
    first = span(1, {"openinference.span.kind": "AGENT", "input.value": "one", "output.value": "1"})
    second = span(2, {"openinference.span.kind": "AGENT", "input.value": "two", "output.value": "2"})
    third = span(3, {"openinference.span.kind": "AGENT"})

    assert (one(request(second, first)).input, one(request(second, first)).output) == ("one", "2")
    assert one(request(first, second, third)).output is None


def test_the_documented_wrapper_around_a_run_hides_nothing() -> None:
    wrapper = span(1, {"rightcall.case.id": "refund"}, name="agent", endTimeUnixNano="9000")
    agent = span(2, {"gen_ai.operation.name": "invoke_agent", "final_result": "Refunded."}, parent=1)

    assert read_spans(request(wrapper, agent)["resourceSpans"][0]["scopeSpans"][0]["spans"]).output == "Refunded."


@pytest.mark.parametrize(
    "call", [{"name": "look", "arguments": "{}"}, {"do": "look"}], ids=["a call", "of no known form"]
)
@pytest.mark.parametrize("key", ["tool_calls", "function_call"])
def test_text_beside_a_call_that_is_asked_for_is_no_answer(key: str, call: dict[str, Any]) -> None:
    asking = {"role": "assistant", "content": "One moment.", key: call if key == "function_call" else [call]}

    assert said({"output.value": json.dumps({"messages": [asking]})}) == (None, None)


def exchanged(*spans: dict[str, Any]) -> tuple[Any, Any]:
    trajectory = one(request(*spans))
    return trajectory.input, trajectory.output


KIND = "openinference.span.kind"
BOTH = {"input.value": "Where is it?", "output.value": "At home."}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("CHAIN", ("Where is it?", "At home.")),
        ("", ("Where is it?", "At home.")),
        ("LLM", ("Where is it?", "At home.")),
        ("RETRIEVER", (None, None)),
        ("GUARDRAIL", (None, None)),
        ("EMBEDDING", (None, None)),
    ],
)
def test_spans_that_help_an_agent_do_not_speak_for_it(kind: str, expected: tuple[Any, Any]) -> None:
    around = span(1, {KIND: kind, **BOTH}, endTimeUnixNano="9000")

    assert exchanged(around, call(2, parent=1)) == expected


def test_the_outermost_chain_speaks_for_an_agent_and_an_agent_for_the_models_in_it() -> None:
    outer = span(1, {KIND: "CHAIN", "input.value": "outer", "output.value": "OUTER"}, endTimeUnixNano="9000")
    inner = {KIND: "CHAIN", "input.value": "inner", "output.value": "INNER"}
    chain, agent = span(2, inner, parent=1, endTimeUnixNano="8000"), span(3, {KIND: "AGENT"}, parent=2)

    assert exchanged(outer, chain, agent) == ("outer", "OUTER")
    assert exchanged(chain, agent) == ("inner", "INNER")
    assert exchanged(
        span(1, {KIND: "AGENT", **BOTH}, endTimeUnixNano="9000"), span(2, {**inner, KIND: "LLM"}, parent=1)
    ) == (
        "Where is it?",
        "At home.",
    )


@pytest.mark.parametrize(("end", "asked"), [("3999", "b"), ("2001", "b"), ("2000", None)])
def test_an_agent_is_asked_for_another_only_while_that_one_runs(end: str, asked: str | None) -> None:
    silent = span(1, {KIND: "AGENT"}, endTimeUnixNano=end)
    other = span(2, {KIND: "AGENT", "input.value": "b"}, endTimeUnixNano="4000")

    assert exchanged(silent, other)[0] == asked


@pytest.mark.parametrize(("end", "answered"), [("5000", "a"), ("2001", "a"), ("2000", None)])
def test_an_agent_answers_for_another_only_while_that_one_runs(end: str, answered: str | None) -> None:
    other = span(1, {KIND: "AGENT", "output.value": "a"}, endTimeUnixNano=end)
    silent = span(2, {KIND: "AGENT"}, endTimeUnixNano="6000")

    assert exchanged(silent, other)[1] == answered


@pytest.mark.parametrize("lost", ["startTimeUnixNano", "endTimeUnixNano"])
def test_agents_in_an_unknown_order_speak_for_the_run_only_where_they_say_the_same(lost: str) -> None:
    def agent(number: int, asked: str, answered: str) -> dict[str, Any]:
        return span(number, {KIND: "AGENT", "input.value": asked, "output.value": answered})

    def without_a_time(first: dict[str, Any], second: dict[str, Any]) -> tuple[Any, Any]:
        return exchanged(first, {key: held for key, held in second.items() if key != lost})

    assert exchanged(agent(1, "a", "A"), agent(2, "b", "B")) == ("a", "B")
    assert without_a_time(agent(1, "a", "A"), agent(2, "b", "B")) == (None, None)
    assert without_a_time(agent(1, "a", "A"), agent(2, "a", "B")) == ("a", None)


def test_what_is_not_text_speaks_for_the_run_only_at_its_top() -> None:
    state = {KIND: "AGENT", "input.value": '{"a": 1}', "output.value": '{"b": 2}'}
    state |= {"input.mime_type": "application/json", "output.mime_type": "application/json"}
    top = span(1, {KIND: "AGENT"}, endTimeUnixNano="9000")

    assert exchanged(span(2, state)) == ({"a": 1}, {"b": 2})
    assert exchanged(top, span(2, state, parent=1)) == (None, None)
    assert exchanged(top, span(2, {KIND: "AGENT", **BOTH}, parent=1)) == ("Where is it?", "At home.")


def test_a_graph_that_openllmetry_records_in_two_spans_has_the_state_of_the_inner_one() -> None:
    graph = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "LangGraph"}
    around = {"tags": [], "metadata": {"thread_id": "t"}, "kwargs": {"name": "LangGraph"}}
    state = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.input": json.dumps({"inputs": {"topics": ["x", "y"]}, **around}),
        "traceloop.entity.output": json.dumps({"outputs": {"notes": ["X", "Y"]}, "kwargs": {"tags": []}}),
    }
    spans = [
        span(1, graph, endTimeUnixNano="9000"),
        span(2, graph | state, parent=1, endTimeUnixNano="8000"),
        span(3, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "mapper", **BOTH}, parent=2),
    ]

    assert exchanged(*spans) == ({"topics": ["x", "y"]}, {"notes": ["X", "Y"]})


def test_the_question_to_a_model_at_work_is_the_last_that_the_user_asked() -> None:
    worked = [asks_for("look", {}, "1"), gives("ok", "1")]
    answer = says("assistant", "At home.\n")

    assert exchanged(chat(1, [says("user", "Where is it?"), *worked], answer)) == ("Where is it?", "At home.")
    assert exchanged(chat(1, [says("user", "Hi."), says("user", "Where is it?")], answer))[0] == "Where is it?"
    assert exchanged(chat(1, [says("system", "Greet.")], answer)) == (None, "At home.")


@pytest.mark.parametrize("written", ["At home.", '"At home."'])
def test_an_output_of_openllmetry_is_a_text_with_or_without_quotes(written: str) -> None:
    assert exchanged(span(1, {"traceloop.span.kind": "agent", "traceloop.entity.output": written}))[1] == "At home."


def test_a_flow_of_genkit_has_its_question_and_its_answer_as_json() -> None:
    flow = {"genkit:type": "action", "genkit:metadata:subtype": "flow", "genkit:name": "shop"}

    assert exchanged(span(1, {**flow, "genkit:input": '"Where?"', "genkit:output": '"At home."'})) == (
        "Where?",
        "At home.",
    )


@pytest.mark.parametrize(("mime", "asked"), [("application/json", "Where?"), ("text/plain", '"Where?"')])
def test_quotes_around_a_question_are_the_users_unless_it_is_written_as_json(mime: str, asked: str) -> None:
    assert said({"input.value": '"Where?"', "input.mime_type": mime})[0] == asked


def test_an_event_of_adk_without_content_is_no_answer() -> None:
    assert said({"output.value": json.dumps({"author": "shop", "invocation_id": "i"})})[1] is None
    assert said({"output.value": '{"author": "shop"}'})[1] == '{"author": "shop"}'


@for_each(
    ("scope", "made", "answer"),
    [
        ("openinference.instrumentation.llama_index", "assistant: Shipped.", "Shipped."),
        ("openinference.instrumentation.llama_index", "Shipped.", "Shipped."),
        ("openinference.instrumentation.llama_index", "assistant: None", None),
        ("openinference.instrumentation.llama_index", "None", "None"),
        ("openinference.instrumentation.openai", "assistant: Shipped.", "assistant: Shipped."),
    ],
)
def test_a_model_of_llama_index_says_what_stands_behind_its_role(scope: str, made: str, answer: str | None) -> None:
    """Its output is all that is left of an answer where a long prompt exceeds the number of attributes of a span."""
    model = span(2, {"openinference.span.kind": "LLM", "output.value": made}, droppedAttributesCount=3)

    assert one(request(model, scope=scope)).output == answer


@for_each(
    ("text", "result", "answer"),
    [
        ("Shipped.", "Shipped.\n", "Shipped."),
        ("Shipped.\n", "Shipped.\n", "Shipped."),
        ("Shipped.", "Order 7: shipped.\n", "Order 7: shipped.\n"),
    ],
)
def test_a_line_break_that_strands_puts_behind_an_answer_is_not_part_of_it(text: str, result: str, answer: str) -> None:
    messages = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": text}

    assert said({"output.value": result, **messages})[1] == answer


@for_each(
    ("made", "kind", "answer"),
    [
        ("{}", {"langsmith.span.kind": "chain"}, None),
        ('{"n": 1}', {"langsmith.span.kind": "chain"}, {"n": 1}),
        ("{}", {"langfuse.observation.type": "agent"}, {}),
    ],
)
def test_a_run_of_langsmith_without_outputs_has_no_answer(made: str, kind: dict[str, str], answer: Any) -> None:
    assert one(request(span(1, {**kind, "gen_ai.completion": made}), call(2, parent=1))).output == answer
