"""Calls from spans: their fields, what is missing, what went wrong."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.reading.traces import call, request, span

from rightcall.reading import read, read_spans
from rightcall.values.trajectory import ToolCall, Trajectory


def read_one(*spans: dict[str, Any], scope: str = "") -> Trajectory:
    [trajectory] = read(request(*spans, scope=scope))
    return trajectory


def only_call(*spans: dict[str, Any]) -> ToolCall:
    [found] = read_one(*spans).calls
    return found


def test_spans_of_the_sdk_are_read_as_they_are() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent"), tracer.start_as_current_span("outer") as outer:
        outer.set_attributes({"tool.name": "plan", "input.value": "{'day': 1}", "output.value": "done"})
        with contextlib.suppress(ValueError), tracer.start_as_current_span("inner") as inner:
            inner.set_attributes({"tool.name": "book", "input.value": '{"id": 7}'})
            raise ValueError("no")

    spans = exporter.get_finished_spans()
    plan, book = read_spans(spans).calls
    [alike] = read(list(spans))

    assert (plan.name, plan.args, plan.output, plan.error) == ("plan", {"day": 1}, "done", None)
    assert (book.name, book.args, book.output, book.error) == ("book", {"id": 7}, None, "no")
    assert book.parent_id == plan.span_id
    assert book.source == "span"
    assert alike.calls == (plan, book)
    assert plan.start_ns is not None
    assert book.start_ns is not None
    assert plan.start_ns < book.start_ns


@pytest.mark.parametrize("text", ["0", "false", "[]", "{}", ""])
def test_outputs_that_are_nothing_much_are_outputs(text: str) -> None:
    found = only_call(call(1, output=text))

    assert "output" not in found.unrecorded
    assert found.output == (json.loads(text) if text in ("[]", "{}") else text)


def test_an_output_object_with_content_stands_for_its_content() -> None:
    assert only_call(call(1, output='{"content": {"t": 25.0}, "other": 1}')).output == {"t": 25.0}
    assert only_call(call(1, output="{'content': 'x'}")).output == "x"


def test_output_text_is_a_value_only_if_it_is_an_object_or_a_list() -> None:
    assert [only_call(call(1, output=text)).output for text in ("1", "true", '"x"', "null")] == [
        "1",
        "true",
        '"x"',
        "null",
    ]
    assert only_call(call(1, output="[1, 'a']")).output == [1, "a"]


def test_arguments_that_cannot_be_parsed_are_unrecorded_with_a_warning() -> None:
    trajectory = read_one(call(1, "search", "{broken"))

    assert trajectory.calls[0].args is None
    assert "args" in trajectory.calls[0].unrecorded
    assert "the arguments of a call of search" in trajectory.warnings[0]


@pytest.mark.parametrize("written", ["search", '"search"'])
def test_a_name_that_was_written_as_json_text_is_the_name_without_quotes(written: str) -> None:
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": written, "gen_ai.tool.call.id": written}
    found = only_call(span(1, made))

    assert (found.name, found.call_id) == ("search", "search")


def test_arguments_that_were_not_recorded_are_not_empty_ones() -> None:
    trajectory = read_one(span(1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}))

    assert trajectory.calls[0].unrecorded == {"args", "output"}
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in trajectory.warnings[0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool.name": "x", "tool.synthesized": True},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"},
        {"openinference.span.kind": "CHAIN", "tool.name": "x"},
        {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "x"},
        {"mcp.method.name": "tools/list"},
        {"genkit:type": "action", "genkit:metadata:subtype": "flow", "genkit:name": "x"},
        {"gen_ai.operation.name": "framework", "spring.ai.kind": "chat_client"},
        {},
    ],
    ids=["synthesized", "merged", "a chain", "a chat", "a list of tools", "a flow", "a client", "nothing"],
)
def test_spans_that_are_no_calls_are_none(attributes: dict[str, Any]) -> None:
    assert read_one(span(1, attributes)).calls == ()


CONVENTIONS: dict[str, dict[str, Any]] = {
    "UiPath": {"tool.name": "t", "input.value": '{"a": 1}', "output.value": '{"content": "o"}'},
    "UiPath's decorators": {
        "openinference.span.kind": "TOOL",
        "tool.name": "t",
        "span_type": "TOOL",
        "input.value": '{"a": 1}',
        "output.value": '{"content": "o"}',
    },
    "OpenInference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "t",
        "input.value": '{"a": 1}',
        "output.value": "o",
    },
    "OpenTelemetry": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.call.arguments": '{"a": 1}',
        "gen_ai.tool.call.result": "o",
    },
    "OpenLLMetry": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "t",
        "traceloop.entity.input": '{"input_str": "{\'a\': 1}", "tags": [], "kwargs": {}}',
        "traceloop.entity.output": '{"output": {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "o"}}}',
    },
    "OpenLLMetry, MCP": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "t",
        "traceloop.entity.input": '{"tool_name": "t", "arguments": {"a": 1}}',
        "traceloop.entity.output": '{"result": "o"}',
    },
    "ADK": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gcp.vertex.agent.event_id": "e",
        "gcp.vertex.agent.tool_call_args": '{"a": 1}',
        "gcp.vertex.agent.tool_response": '{"result": "o"}',
    },
    "Vercel": {"ai.toolCall.name": "t", "ai.toolCall.args": '{"a": 1}', "ai.toolCall.result": '"o"'},
    "Haystack": {
        "haystack.tool.name": "t",
        "haystack.agent.step.tool.input": '{"a": 1}',
        "haystack.agent.step.tool.output": "o",
    },
    "Logfire": {"logfire.msg_template": "Function: {name}", "name": "t", "input": '{"a": 1}', "output": "o"},
    "Pydantic AI": {"gen_ai.tool.name": "t", "tool_arguments": '{"a": 1}', "tool_response": "o"},
    "LiveKit": {
        "lk.function_tool.name": "t",
        "lk.pii.function_tool.arguments": '{"a": 1}',
        "lk.pii.function_tool.output": "o",
    },
    "Genkit": {
        "genkit:type": "action",
        "genkit:metadata:subtype": "tool",
        "genkit:name": "t",
        "genkit:input": '{"a": 1}',
        "genkit:output": '"o"',
        "genkit:state": "success",
    },
    "Genkit, a tool that may return parts": {
        "genkit:type": "action",
        "genkit:metadata:subtype": "tool.v2",
        "genkit:name": "t",
        "genkit:input": '{"a": 1}',
        "genkit:output": '{"output": "o", "content": [{"text": "p"}]}',
    },
    "Spring AI": {
        "gen_ai.operation.name": "framework",
        "gen_ai.system": "spring_ai",
        "spring.ai.kind": "tool_call",
        "spring.ai.tool.definition.name": "t",
        "spring.ai.tool.call.arguments": '{"a": 1}',
        "spring.ai.tool.call.result": '"o"',
    },
    "Spring AI 2": {
        "gen_ai.operation.name": "execute_tool",
        "spring.ai.kind": "tool_call",
        "spring.ai.tool.definition.name": "t",
        "spring.ai.tool.call.arguments": '{"a": 1}',
        "spring.ai.tool.call.result": '"o"',
    },
    "Spring AI without its kind": {
        "gen_ai.operation.name": "framework",
        "spring.ai.tool.definition.name": "t",
        "spring.ai.tool.call.arguments": '{"a": 1}',
        "spring.ai.tool.call.result": '"o"',
    },
    "LangSmith": {
        "langsmith.span.kind": "tool",
        "gen_ai.tool.name": "t",
        "gen_ai.prompt": '{"a": 1}',
        "gen_ai.completion": '{"output": "o"}',
    },
    "Strands by OpenInference": {
        "openinference.span.kind": "TOOL",
        "gen_ai.system": "strands-agents",
        "tool.name": "t",
        "input.value": "1",
        "tool.parameters": '{"a": 1}',
        "output.value": "[{'text': 'o'}]",
    },
    "LlamaIndex by OpenInference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "t",
        "input.value": '{"a": 1}',
        "tool.parameters": '{"type": "object", "properties": {"a": {}}}',
        "output.value": '{"blocks": [], "tool_name": "t", "raw_output": "o"}',
    },
}


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_call_is_read_by_the_convention_of(convention: str) -> None:
    found = only_call(span(1, CONVENTIONS[convention]))

    assert (found.name, found.args, found.output, found.error) == ("t", {"a": 1}, "o", None)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("t", {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"a": 1}', "mlflow.spanOutputs": '"o"'}),
        (
            "t",
            {
                "langfuse.observation.type": "tool",
                "langfuse.observation.input": '{"a": 1}',
                "langfuse.observation.output": "o",
            },
        ),
        ("execute_tool t", {}),
    ],
    ids=["MLflow", "Langfuse", "ADK after an exception"],
)
def test_the_name_of_the_span_is_the_tools_where_nothing_else_says_it(name: str, attributes: dict[str, Any]) -> None:
    assert only_call(span(1, attributes, name=name)).name == "t"


@pytest.mark.parametrize(
    ("attributes", "output"),
    [
        (CONVENTIONS["OpenTelemetry"] | {"gen_ai.tool.call.result": '{"result": 1}'}, {"result": 1}),
        (CONVENTIONS["OpenInference"] | {"output.value": '{"result": "x"}'}, {"result": "x"}),
        (CONVENTIONS["OpenInference"] | {"output.value": '{"content": "x"}'}, {"content": "x"}),
        (CONVENTIONS["UiPath's decorators"] | {"output.value": "21.5"}, 21.5),
        (CONVENTIONS["OpenTelemetry"] | {"gen_ai.tool.call.result": '{"output": "x"}'}, {"output": "x"}),
    ],
    ids=["result", "result of OpenInference", "content of OpenInference", "number of UiPath", "output"],
)
def test_envelopes_come_off_only_where_the_convention_puts_them(attributes: dict[str, Any], output: Any) -> None:
    assert only_call(span(1, attributes)).output == output


def test_a_tool_may_really_take_args_and_kwargs() -> None:
    attributes = CONVENTIONS["OpenInference"] | {"input.value": '{"args": [1], "kwargs": {"b": 2}}'}

    assert only_call(span(1, attributes)).args == {"args": [1], "kwargs": {"b": 2}}


def test_positional_arguments_without_names_are_unrecorded() -> None:
    attributes = {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"args": ["x"], "kwargs": {}}'}

    assert "args" in only_call(span(1, attributes, name="t")).unrecorded


def test_scrubbed_values_are_unrecorded() -> None:
    found = only_call(
        call(1, args='{"k": "[Scrubbed due to \'auth\']"}', output='{"auth": "[Scrubbed due to \'auth\']"}')
    )

    assert found.unrecorded == {"args", "output"}


ERROR: dict[str, Any] = {"status": {"code": 2, "message": "from the status"}}
EXCEPTION: dict[str, Any] = {
    "events": [{"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "raised"}}]}]
}


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (call(1, **ERROR), "from the status"),
        (call(1, **EXCEPTION), "raised"),
        (call(1, **ERROR, **EXCEPTION), "raised"),
        (call(1, output="why", status={"code": 2}), "why"),
        (call(1, output="why", status={"code": 2, "message": "MCP_TOOL_ERROR"}), "why"),
        (
            call(1, output="[1]", status={"code": 2, "message": "TOOL_ERROR"}),
            "the tool failed; no message was recorded",
        ),
        (span(1, CONVENTIONS["OpenTelemetry"] | {"error.type": "CardError"}), "o"),
        (span(1, CONVENTIONS["OpenTelemetry"] | {"gen_ai.tool.status": "error"}), "o"),
        (span(1, CONVENTIONS["ADK"] | {"gcp.vertex.agent.tool_response": '{"error": "no"}'}), "no"),
        (span(1, CONVENTIONS["Haystack"] | {"haystack.tool.error": True}), "o"),
        (span(1, CONVENTIONS["Genkit"] | {"genkit:state": "error"}), "o"),
    ],
    ids=["status", "exception", "both", "output", "code", "nothing", "type", "flag", "ADK", "Haystack", "Genkit"],
)
def test_a_call_that_failed_says_so(made: dict[str, Any], error: str) -> None:
    assert only_call(made).error == error


def test_text_that_reads_like_a_frameworks_error_is_suspected() -> None:
    told = ("An error occurred while running the tool. Please try again.", "Tool 'pay' timed out after 0.2 seconds.")
    found = [only_call(call(1, output=text)) for text in told]

    assert [each.error for each in found] == [None, None]
    assert all([each.suspected_error for each in found])


def test_the_frameworks_own_calls_are_marked() -> None:
    trajectory = read_one(call(1, "final_answer"), call(3, "search"))

    assert [found.internal for found in trajectory.calls] == [True, False]


def test_a_span_of_any_agent_knows_its_parent_by_the_context_and_has_content() -> None:
    top = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "any_agent"}
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.args": '{"query": "tv"}',
        "gen_ai.output": "3 found",
    }
    asks = {"gen_ai.operation.name": "call_llm", "gen_ai.input.messages": '[{"role": "user", "content": "A tv?"}]'}

    def kept(number: int, attributes: dict[str, Any]) -> dict[str, Any]:
        above = None if number == 1 else {"trace_id": 7, "span_id": 2**60 + 1}
        times = {"start_time": number, "end_time": 9 if number == 1 else number + 1}
        context = {"trace_id": 7, "span_id": 2**60 + number}
        return {"name": "a span", "parent": above, "context": context, "attributes": attributes, **times}

    [trajectory] = read({"spans": [kept(2, asks), kept(3, tool), kept(1, top)], "final_output": "3 found"})
    [call] = trajectory.calls

    assert (call.args, call.output, call.agent) == ({"query": "tv"}, "3 found", "any_agent")
    assert trajectory.input == "A tv?"


@pytest.mark.parametrize(
    ("args", "response", "expected"),
    [
        ("{}", "{}", (None, None)),
        ("{}", '{"result": "o"}', ({}, "o")),
        ('{"a": 1}', "{}", ({"a": 1}, {})),
    ],
    ids=["no content", "no arguments", "nothing returned"],
)
def test_empty_objects_of_adk_stand_for_content_that_it_was_told_to_leave_out(
    args: str, response: str, expected: Any
) -> None:
    held = {"gcp.vertex.agent.tool_call_args": args, "gcp.vertex.agent.tool_response": response}

    made = only_call(span(1, CONVENTIONS["ADK"] | held))

    assert (made.args, made.output) == expected


def test_ids_of_adk_that_are_places_in_messages_pair_a_result_with_its_call() -> None:
    def parted(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "parts": list(parts)}

    asked = parted("user", {"type": "text", "content": "A tv?"})
    call = {"type": "tool_call", "id": "search_1", "name": "search", "arguments": {}}
    calls = parted("assistant", {"type": "text", "content": "I look."}, call)
    result = parted("user", {"type": "tool_call_response", "id": "search_0", "response": {"found": 3}})
    done = parted("assistant", {"type": "text", "content": "Three."})

    def model(number: int, given: list[Any], said: Any) -> dict[str, Any]:
        held = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps([said])}
        return span(number, {"gen_ai.operation.name": "generate_content", **held})

    made = only_call(model(1, [asked], calls), model(3, [asked, calls, result], done))

    assert (made.name, made.output) == ("search", {"found": 3})


def test_a_tool_span_of_langsmith_without_the_tools_name_has_that_of_its_run() -> None:
    attributes = {
        "langsmith.span.kind": "tool",
        "langsmith.trace.name": "search",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.prompt": '{"input": {"query": "tv"}}',
        "gen_ai.completion": '{"output": "3 found"}',
    }

    made = only_call(span(1, attributes))

    assert (made.name, made.args, made.output) == ("search", {"query": "tv"}, "3 found")


def test_a_tool_span_of_koog_is_the_call_that_its_messages_have_as_text() -> None:
    asked = json.dumps(
        [{"function": {"name": "search", "arguments": '{"query": "tv"}'}, "id": "c1", "type": "function"}],
        separators=(",", ":"),
    )
    model = {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "A tv?"}
    later = {
        "gen_ai.prompt.1.role": "tool",
        "gen_ai.prompt.1.content": asked,
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.content": "3 found",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Three.",
    }
    tool = {
        "gen_ai.tool.name": "search",
        "gen_ai.tool.description": "Find goods",
        "gen_ai.tool.call.id": "c1",
        "input.value": '{"query":"tv"}',
        "output.value": "3 found",
    }
    spans = [
        span(1, {"gen_ai.operation.name": "invoke_agent"}),
        span(2, model | {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": asked}, parent=1),
        span(3, tool, parent=1),
        span(4, model | later, parent=1),
    ]

    for held in (spans, [*spans[:2], spans[3]]):
        trajectory = read_one(*held)
        assert [(call.name, call.args, call.output) for call in trajectory.calls] == [
            ("search", {"query": "tv"}, "3 found")
        ]
        assert trajectory.output == "Three."


@pytest.mark.parametrize(("length", "is_read"), [(10_000, True), (10_001, False)])
def test_the_name_of_a_tool_has_ten_thousand_characters_at_most(length: int, is_read: bool) -> None:
    found = read_one(span(1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x" * length}))

    assert (len(found.calls), found.calls_recorded) == (int(is_read), is_read)


@pytest.mark.parametrize(
    ("scope", "output"),
    [("openinference.instrumentation.openai_agents", "3 found"), ("other", {"type": "text", "text": "3 found"})],
)
def test_a_tool_of_openai_agents_may_return_an_object_around_its_text(scope: str, output: Any) -> None:
    held = {
        "openinference.span.kind": "TOOL",
        "tool.name": "find",
        "output.value": '{"type": "text", "text": "3 found"}',
    }

    [call] = read_spans([request(span(1, held), scope=scope)]).calls

    assert call.output == output
