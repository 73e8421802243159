"""A trace is the same run when a trace server has kept it in a form of its own and gives it back."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.reading import corpus
from tests.reading.traces import request, span

from rightcall.reading import read
from rightcall.reading.formats._exports import dataframe_span
from rightcall.reading.spans._span import plain_attributes
from rightcall.values.trajectory import Trajectory

RUNS = [name for name in corpus.names() if "otlp.json" in corpus.inputs(name)]
JSON_INSIDE = ("tool.parameters", "metadata")


def spans_of(run: str) -> list[dict[str, Any]]:
    document = json.loads(corpus.inputs(run)["otlp.json"])
    return [
        each for resource in document["resourceSpans"] for scoped in resource["scopeSpans"] for each in scoped["spans"]
    ]


def expected(run: str) -> list[Trajectory]:
    """What is read from a recording without the names of scopes, which no server keeps."""
    return list(read(request(*spans_of(run))))


def encoded(identity: str) -> str:
    return base64.b64encode(bytes.fromhex(identity)).decode()


def as_mlflow(made: dict[str, Any]) -> dict[str, Any]:
    """A span as `Trace.to_json()` writes it: each attribute as JSON, and MLflow's own added."""
    attributes = plain_attributes(made.get("attributes"))
    own: dict[str, Any] = {"mlflow.traceRequestId": "tr-1", "mlflow.spanType": "UNKNOWN"}
    if "execute_tool" in attributes.values() or attributes.get("openinference.span.kind") == "TOOL":
        own = {**own, "mlflow.spanType": "TOOL", "mlflow.spanInputs": {"other": 1}, "mlflow.spanOutputs": "other"}
    events = [{**event, "attributes": plain_attributes(event.get("attributes"))} for event in made.get("events", [])]
    return {
        "trace_id": encoded(made["traceId"]),
        "span_id": encoded(made["spanId"]),
        "parent_span_id": encoded(made["parentSpanId"]) if made.get("parentSpanId") else None,
        "name": made["name"],
        "start_time_unix_nano": int(made["startTimeUnixNano"]),
        "end_time_unix_nano": int(made["endTimeUnixNano"]),
        "status": made.get("status", {}),
        "events": events,
        "attributes": {key: json.dumps(value) for key, value in {**own, **attributes}.items()},
    }


def flattened(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {key: held for part, inner in value.items() for key, held in flattened(f"{name}.{part}", inner).items()}
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return flattened(name, {str(place): item for place, item in enumerate(value)})
    return {name: value}


def as_phoenix(made: dict[str, Any]) -> dict[str, Any]:
    """A span as Phoenix' `/spans/otlpv1` gives it: JSON inside of attributes opened, a kind for every span."""
    attributes = plain_attributes(made.get("attributes"))
    attributes.setdefault("openinference.span.kind", "UNKNOWN")
    opened: dict[str, Any] = {}
    for key, value in attributes.items():
        opened |= flattened(key, json.loads(value)) if key in JSON_INSIDE else {key: value}
    return {**made, "attributes": opened}


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_the_same_from_mlflows_export(run: str) -> None:
    traces: dict[str, list[dict[str, Any]]] = {}
    for each in spans_of(run):
        traces.setdefault(each["traceId"], []).append(as_mlflow(each))
    exported = [{"info": {"trace_id": "tr-1"}, "data": {"spans": spans}} for spans in traces.values()]

    if run not in ("mlflow-langgraph/trip", "mlflow-manual/trip"):  # what MLflow traced itself it exports otherwise
        assert list(read(exported)) == expected(run)


VERCEL = [run for run in RUNS if run.startswith("vercel-ai/")]


def opened(attributes: dict[str, Any], beginning: str) -> dict[str, Any]:
    """The attributes below a name, their JSON decoded, as MLflow gathers them."""
    found: dict[str, Any] = {}
    for key in [key for key in attributes if key.startswith(beginning)]:
        try:
            found[key.removeprefix(beginning)] = json.loads(attributes[key])
        except (TypeError, ValueError):
            found[key.removeprefix(beginning)] = attributes[key]
    return found


def as_mlflow_of_vercel(made: dict[str, Any]) -> dict[str, Any]:
    """The same, with what MLflow adds to spans of Vercel AI's models."""
    exported, attributes = as_mlflow(made), plain_attributes(made.get("attributes"))
    added: dict[str, Any] = {}
    if attributes.get("ai.operationId") == "ai.generateText":
        added = {"Inputs": json.loads(attributes["ai.prompt"]), "Outputs": attributes.get("ai.response.text")}
    elif attributes.get("ai.operationId") == "ai.generateText.doGenerate":
        added = {"Inputs": opened(attributes, "ai.prompt."), "Outputs": opened(attributes, "ai.response.")}
    if added:
        own = {"Type": "LLM", **added}
        exported["attributes"] |= {f"mlflow.span{key}": json.dumps(held) for key, held in own.items()}
    return exported


@pytest.mark.parametrize("run", VERCEL)
def test_prompts_and_answers_that_mlflow_adds_for_vercel_ai_are_no_signs_of_calls(run: str) -> None:
    spans = [as_mlflow_of_vercel(each) for each in spans_of(run)]
    found = list(read([{"info": {"trace_id": "tr-1"}, "data": {"spans": spans}}]))

    assert [(each.calls_recorded, each.not_understood) for each in found] == [(True, "")] * len(found)
    assert [each.names for each in found] == [each.names for each in expected(run)]


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_the_same_from_the_answers_of_mlflows_server(run: str) -> None:
    spans = spans_of(run)
    trace = {"trace_info": {"trace_id": "tr-1"}, "spans": spans}

    assert list(read({"trace": trace})) == expected(run)
    assert list(read({"traces": [{**trace, "spans": spans[:3]}, {**trace, "spans": spans[3:]}]})) == expected(run)


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_the_same_from_phoenix(run: str) -> None:
    found = list(read({"data": [as_phoenix(each) for each in spans_of(run)], "next_cursor": None}))

    assert found == expected(run)


def test_the_framework_says_what_a_tool_gave_back_and_not_the_server() -> None:
    marked = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.tool.name": "weather",
        "gcp.vertex.agent.tool_response": '{"result": 21}',
        "mlflow.spanType": '"TOOL"',
        "mlflow.spanOutputs": '{"result": 21}',
    }
    [trajectory] = read(request(span(1, marked)))

    assert (trajectory.names, trajectory.calls[0].output) == (("weather",), 21)


BY_PHOENIX = {"openinference.span.kind": "TOOL", "tool.name": "charge"}
CONVERSATION = [
    {"role": "user", "parts": [{"type": "text", "content": "Where is order 7?"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "lookup", "arguments": {"order": 7}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "shipped"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "It was shipped."}]},
]


@pytest.mark.parametrize("added", ["mlflow.span{}", "llm.{}_messages", "langfuse.observation.{}"])
def test_messages_that_a_server_adds_in_attributes_of_its_own_are_no_calls_of_their_own(added: str) -> None:
    sides = ("Inputs", "Outputs") if added.startswith("mlflow") else ("input", "output")

    def asked(number: int) -> dict[str, Any]:
        said = {"input": CONVERSATION[: number - 1], "output": CONVERSATION[number - 1 : number]}
        attributes = {"gen_ai.operation.name": "chat"}
        for side, own in zip(said, sides, strict=True):
            attributes[f"gen_ai.{side}.messages"] = attributes[added.format(own)] = json.dumps(said[side])
        return span(number, attributes, name="chat")

    (found,) = read(request(asked(2), asked(4)))

    assert [(call.name, call.args, call.output) for call in found.calls] == [("lookup", {"order": 7}, "shipped")]


def lookup(number: int, **more: str) -> dict[str, Any]:
    """The call of the conversation, as a span with all that can be known of it."""
    known = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "lookup",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"order": 7}',
        "gen_ai.tool.call.result": "shipped",
    }
    return span(number, {**known, **more})


def chat(number: int, given: list[Any], gave: list[Any]) -> dict[str, Any]:
    said = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(gave)}
    return span(number, {"gen_ai.operation.name": "chat", **said})


@pytest.mark.parametrize(
    "dropped", ["", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"]
)
def test_a_server_that_drops_an_attribute_which_messages_hold_changes_nothing(dropped: str) -> None:
    called = lookup(3)
    called["attributes"] = [held for held in called["attributes"] if held["key"] != dropped]

    [found] = read(
        request(chat(2, CONVERSATION[:1], CONVERSATION[1:2]), called, chat(4, CONVERSATION[:3], CONVERSATION[3:]))
    )

    [call] = found.calls
    assert (call.args, call.output, call.call_id) == ({"order": 7}, "shipped", "c1")
    assert (call.turn, call.group) == (0, "turn-1")
    assert not found.warnings


def test_an_answer_that_was_kept_beside_the_next_one_is_no_second_call() -> None:
    # OpenInference's ADK writes all answers of an agent to one span, the attributes of each over those before it.
    [found] = read(request(lookup(3), chat(4, CONVERSATION[:3], [CONVERSATION[1]])))

    assert found.names == ("lookup",)


def test_words_in_the_wrapping_of_openinference_are_no_call() -> None:
    said = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "Where is order 7?",
    }
    [found] = read(request(span(2, {"openinference.span.kind": "LLM", **said}), lookup(3)))

    assert (found.names, found.calls_recorded, found.warnings) == (("lookup",), True, ())


def as_langchain(kind: str, **held: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": held}


@pytest.mark.parametrize("is_copied", [False, True], ids=["as recorded", "by MLflow"])
def test_messages_of_the_framework_are_read_before_a_server_copies_them(is_copied: bool) -> None:
    made = as_langchain(
        "AIMessage", content="", type="ai", tool_calls=[{"name": "lookup", "args": {"order": 7}, "id": "c1"}]
    )
    told = {
        "input": json.dumps({"messages": [[as_langchain("HumanMessage", content="Where?", type="human")]]}),
        "output": json.dumps({"generations": [[{"text": "", "message": made}]]}),
    }
    attributes = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    for side, held in told.items():
        attributes |= {f"{side}.value": held, **({f"mlflow.span{side.title()}s": held} if is_copied else {})}

    [found] = read(request(span(2, attributes), lookup(3)))

    assert [(call.turn, call.group) for call in found.calls] == [(0, "turn-1")]


def test_a_null_that_a_server_drops_from_arguments_makes_no_other_call() -> None:
    made = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "lookup"}]}
    made["parts"][0]["arguments"] = {"order": 7, "by": [{"name": "Ann", "age": None}]}  # type: ignore[index]
    kept = {"gen_ai.tool.call.arguments": '{"order": 7, "by": [{"name": "Ann"}]}'}
    native = {**lookup(3, **kept), "endTimeUnixNano": "9000"}
    seen = {"openinference.span.kind": "TOOL", "tool.name": "lookup", "output.value": "shipped"}
    other = span(4, {**seen, "input.value": json.dumps(made["parts"][0]["arguments"])})  # type: ignore[index]

    [found] = read(request(chat(2, CONVERSATION[:1], [made]), native, other))

    assert [(call.name, call.turn, call.group) for call in found.calls] == [("lookup", 0, "turn-1")]


def test_a_result_where_its_framework_writes_it_is_found_though_a_server_marks_the_span() -> None:
    called = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.tool.name": "charge",
        "anthropic.tool_result.content": '[{"type": "text", "text": "declined"}]',
    }
    [recorded], [kept] = read(request(span(1, called))), read(request(span(1, {**called, **BY_PHOENIX})))

    assert recorded.calls == kept.calls
    assert kept.calls[0].output == "declined"


def test_events_in_which_strands_keeps_a_call_are_read_though_a_server_marks_the_span() -> None:
    called = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.system": "strands-agents",
        "gen_ai.tool.name": "charge",
        **BY_PHOENIX,
    }
    events = [
        {"name": name, "timeUnixNano": "1000", "attributes": [{"key": key, "value": {"stringValue": held}}]}
        for name, key, held in [
            ("gen_ai.tool.message", "content", '{"amount": 5}'),
            ("gen_ai.choice", "message", '[{"text": "charged"}]'),
        ]
    ]

    [found] = read(request(span(1, called, events=events)))

    assert [(call.args, call.output) for call in found.calls] == [({"amount": 5}, "charged")]


def test_a_kind_that_phoenix_does_not_know_is_none_in_its_dataframe_too() -> None:
    frame = {
        "context.span_id": ["0000000000000001"],
        "context.trace_id": ["0af7651916cd43dd8448eb211c80319c"],
        "name": ["lookup"],
        "start_time": ["2026-11-15T19:09:52.512213+00:00"],
        "end_time": ["2026-11-15T19:09:52.512325+00:00"],
        "span_kind": ["UNKNOWN"],
        "attributes.tool.name": ["lookup"],
        "attributes.input.value": ['{"order": 7}'],
    }
    file = io.BytesIO()
    pq.write_table(pa.table(frame), file)

    [found] = read(file.getvalue())

    assert [(call.name, call.args) for call in found.calls] == [("lookup", {"order": 7})]


def test_a_row_of_phoenixs_dataframe_has_only_what_its_span_had() -> None:
    # A dataframe has all columns in all rows: None, not a number, or an empty text where a span had no such attribute.
    row = {"name": "lookup", "context.span_id": "1", "context.trace_id": "2", "parent_id": "", "notes": "kept apart"}
    empty = {"attributes.a": None, "attributes.b": "", "attributes.c": float("nan")}

    found = dataframe_span({**row, **empty, "attributes.tool.name": "lookup"})

    assert (dict(found.attributes), found.parent_id) == ({"tool.name": "lookup"}, None)


def test_an_output_that_only_names_the_response_is_no_answer() -> None:
    # Phoenix makes it of the attributes gen_ai.response.*.
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.response.id": "run-2",
        "output.value": '{"id": "run-2"}',
        "output.mime_type": "application/json",
    }
    answering = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(CONVERSATION[3:])}

    [found] = read(request(span(1, agent, endTimeUnixNano="9000"), span(2, answering, parent=1)))

    assert found.output == "It was shipped."


def test_an_output_that_also_names_the_response_is_an_answer() -> None:
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.response.id": "run-2",
        "output.value": '{"id": "run-2", "status": "shipped"}',
        "output.mime_type": "application/json",
    }

    [found] = read(request(span(1, agent)))

    assert found.output == {"id": "run-2", "status": "shipped"}


def test_a_call_in_a_message_of_phoenixs_dataframe_is_read() -> None:
    function = {"tool_call.id": "c", "tool_call.function.name": "look", "tool_call.function.arguments": '{"a": [1]}'}
    asking = {"message.role": "assistant", "message.tool_calls": [function]}
    giving = {"message.role": "tool", "message.tool_call_id": "c", "message.content": "ok"}
    told = {"llm.output_messages": json.dumps([asking]), "openinference.span.kind": "LLM"}
    shown = {"llm.input_messages": json.dumps([asking, giving]), "openinference.span.kind": "LLM"}
    [trajectory] = read(request(span(1, told), span(2, shown)))

    assert [(call.name, call.args, call.output) for call in trajectory.calls] == [("look", {"a": [1]}, "ok")]
