"""What a recording says that has lost something: the rest is told, and what hangs on it is not known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.cases.verdicts.removal import spans_of
from tests.reading import corpus
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall import Trajectory, capture, read, read_messages, tool
from rightcall.reading.spans import PLACEHOLDERS

MODEL = {"gen_ai.operation.name": "chat"}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
TIMES: dict[str, Any] = {"startTimeUnixNano": "1000", "endTimeUnixNano": "99000"}
TOOL_MESSAGE = {"type": "tool", "data": {"content": "ok", "tool_call_id": "c1", "type": "tool"}}


def read_one(*spans: dict[str, Any], scope: str = "") -> Trajectory:
    [trajectory] = read(request(*spans, scope=scope))
    return trajectory


def without(made: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {key: held for key, held in made.items() if key not in fields}


def asks(*calls: tuple[str, str], **more: Any) -> dict[str, Any]:
    made = [{"id": call_id, "function": {"name": name, "arguments": "{}"}} for call_id, name in calls]
    return {"role": "assistant", "tool_calls": made, **more}


def gives(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def says(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def model(number: int, given: list[Any], returned: list[Any], **more: Any) -> dict[str, Any]:
    attributes = {"llm.input_messages": json.dumps(given), "llm.output_messages": json.dumps(returned)}
    return span(number, MODEL | attributes, **more)


def groups(trajectory: Trajectory) -> list[str | None]:
    return [each.group for each in trajectory.calls]


@pytest.mark.parametrize("lost", ["parentSpanId", "spanId"])
def test_whether_a_tool_made_a_call_is_not_known_where_nothing_tells_what_is_inside_of_what(lost: str) -> None:
    spans = [span(1, AGENT, **TIMES), call(2, "research", parent=1), call(3, "lookup", parent=2)]

    whole, found = read_one(*spans), read_one(*[without(each, lost) for each in spans])

    assert [each.unrecorded for each in whole.calls] == [frozenset(), frozenset()]
    assert ["parent_id" in each.unrecorded for each in found.calls] == [True, True]


def test_calls_at_once_are_no_group_where_one_may_be_inside_of_the_other() -> None:
    spans = [span(1, AGENT, **TIMES), call(2, **TIMES), call(3, **TIMES)]

    assert groups(read_one(*spans)) == [None, None]
    assert groups(read_one(*[{**each, "parentSpanId": "0" * 15 + "1"} for each in spans])) == ["overlap-1"] * 2


def test_calls_at_once_in_a_span_that_was_lost_are_a_group_though_other_spans_lie_between() -> None:
    def grouped(*more: dict[str, Any]) -> list[str | None]:
        return groups(read_one(span(1, AGENT, **TIMES), call(2, parent=9, **TIMES), *more))

    def between(number: int, parent: int) -> dict[str, Any]:
        return span(number, {}, name="POST", parent=parent, **TIMES)

    assert grouped(call(3, parent=9, **TIMES)) == ["overlap-1"] * 2
    assert grouped(between(4, parent=9), call(3, parent=4, **TIMES)) == ["overlap-1"] * 2
    assert grouped(between(5, parent=9), between(4, parent=5), call(3, parent=4, **TIMES)) == ["overlap-1"] * 2
    assert grouped(between(4, parent=8), call(3, parent=4, **TIMES)) == [None, None]


@pytest.mark.parametrize(("own", "found"), [("planner", "planner"), ("OpenAI Agent", None)])
def test_an_agent_that_a_call_names_itself_is_one_of_the_run(own: str, found: str | None) -> None:
    made = call(2)
    made["attributes"] += span(2, {"gen_ai.agent.name": own})["attributes"]

    assert [each.agent for each in read_one(span(1, AGENT), made).calls] == [found]


@pytest.mark.parametrize("more", [{}, {"gcp.vertex.agent.llm_request": "{}"}, {"gen_ai.request.model": "m"}])
def test_the_name_of_a_span_tells_its_operation_where_no_attribute_does(more: dict[str, str]) -> None:
    found = read_one(span(1, more, name="execute_tool search"), span(2, AGENT, parent=1))

    assert found.names == ("search",)


def test_the_name_of_a_span_does_not_overrule_what_an_attribute_says_of_its_kind() -> None:
    assert read_one(span(1, {"openinference.span.kind": "CHAIN"}, name="execute_tool search")).names == ()


def test_the_name_of_a_span_of_openllmetry_tells_its_kind() -> None:
    attributes = {"traceloop.entity.name": "search", "traceloop.entity.input": '{"a": 1}'}

    assert read_one(span(1, attributes, name="search.tool")).names == ("search",)
    assert read_one(span(1, attributes, name="search.task")).names == ()
    assert read_one(span(1, attributes, name="other.tool")).names == ()


@pytest.mark.parametrize(
    "attributes",
    [
        {"openinference.span.kind": "TOOL", "input.value": "{}"},
        {"gen_ai.operation.name": "execute_tool"},
        {"traceloop.span.kind": "task", "tool.arguments": "{}"},
        {"ai.toolCall.id": "c1", "ai.toolCall.args": "{}"},
        {"gen_ai.tool.call.id": "c1"},
    ],
)
def test_a_span_of_a_call_without_the_name_of_its_tool_is_not_understood(attributes: dict[str, str]) -> None:
    found = read_one(span(1, attributes, name="FunctionTool.run"))

    assert found.names == ()
    assert not found.calls_recorded
    assert "FunctionTool.run" in found.not_understood


def test_calls_inside_of_a_span_that_may_be_a_call_may_be_made_by_a_tool() -> None:
    outer = span(1, {"ai.toolCall.id": "c1"}, **TIMES)
    inner = model(2, [says("?")], [asks(("c2", "lookup"))], parent=1)

    assert [each.unrecorded & {"parent_id"} for each in read_one(outer, inner).calls] == [{"parent_id"}]
    assert [each.unrecorded & {"parent_id"} for each in read_one(span(1, **TIMES), inner).calls] == [set()]


@pytest.mark.parametrize(
    "output",
    [
        TOOL_MESSAGE,
        {"output": TOOL_MESSAGE},
        "content='ok' name='search' tool_call_id='c1'",
        {"id": "c1", "name": "search", "response": {"result": "ok"}},
        {"raw_output": "ok", "is_error": False},
        [{"json": {"a": 1}}],
    ],
)
def test_an_output_in_the_wrapping_of_another_convention_is_not_known(output: Any) -> None:
    held = output if isinstance(output, str) else json.dumps(output)
    [found] = read_one(call(1, output=held)).calls

    assert "output" in found.unrecorded


@pytest.mark.parametrize("output", [{"result": 1}, {"id": "c1", "name": "other", "response": 1}, [{"a": 1}], "text"])
def test_an_output_that_a_tool_may_give_back_is_its_output(output: Any) -> None:
    [found] = read_one(call(1, output=output if isinstance(output, str) else json.dumps(output))).calls

    assert found.output == output


@pytest.mark.parametrize(
    "args", [{"args": [], "kwargs": {"a": 1}}, {"input_str": "{'a': 1}", "tags": [], "metadata": {}}]
)
def test_arguments_in_the_wrapping_of_another_convention_are_not_known(args: Any) -> None:
    [found] = read_one(call(1, args=json.dumps(args))).calls

    assert "args" in found.unrecorded


@pytest.mark.parametrize("lost", ["name", "arguments"])
def test_a_call_has_its_place_and_group_though_only_a_later_prompt_tells_the_rest(lost: str) -> None:
    both = asks(("c1", "search"), ("c2", "lookup"))
    first = json.loads(json.dumps(both))
    del first["tool_calls"][0]["function"][lost]
    found = read_one(
        model(1, [says("?")], [first]), model(2, [says("?"), both, gives("c1"), gives("c2")], [asks(("c3", "save"))])
    )

    assert found.names == ("search", "lookup", "save")
    assert groups(found) == ["turn-1", "turn-1", "turn-2"]
    assert [each.args for each in found.calls] == [{}, {}, {}]
    assert found.calls_recorded


def test_a_span_without_a_start_is_the_call_of_another_instrumentation_that_ended_long_before() -> None:
    def made(city: str, place: int) -> dict[str, Any]:
        return call(place, "weather", args=json.dumps({"city": city}))

    other = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    untimed = span(9, {**other, "gen_ai.tool.call.arguments": '{"city": "Tokyo"}'})
    document = request(made("Tokyo", 1), made("Paris", 5), scope="one")
    document["resourceSpans"] += request(without(untimed, "startTimeUnixNano"), scope="other")["resourceSpans"]
    [found] = read(document)

    assert [each.args for each in found.calls] == [{"city": "Tokyo"}, {"city": "Paris"}]
    assert not found.calls_recorded


def test_a_call_whose_name_nothing_tells_is_not_understood() -> None:
    found = read_messages([says("?"), {"role": "assistant", "tool_calls": [{"id": "c1", "arguments": "{}"}]}])

    assert found.names == ()
    assert found.not_understood == "message 2: an item of `tool_calls` with the keys id, arguments"


def test_a_call_whose_arguments_nothing_tells_is_a_call() -> None:
    found = read_messages([says("?"), {"role": "assistant", "tool_calls": [{"id": "c1", "name": "search"}]}])

    assert found.names == ("search",)
    assert "args" in found.calls[0].unrecorded


def test_a_call_without_a_name_is_the_one_of_its_id_whatever_arguments_it_has() -> None:
    chain = {"role": "user", "parts": [{"type": "tool_call", "id": "c1", "name": None, "arguments": {}}]}
    found = read_one(
        span(1, {"gen_ai.input.messages": json.dumps([says("?"), chain])}),
        span(2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"}),
    )

    assert found.names == ("search",)
    assert found.calls_recorded


@pytest.mark.parametrize(
    "lost", [("startTimeUnixNano",), ("endTimeUnixNano",), ("startTimeUnixNano", "endTimeUnixNano")]
)
def test_spans_of_two_instrumentations_without_times_are_one_call_at_least(lost: tuple[str, ...]) -> None:
    one = without(call(1), *lost)
    other = without(
        span(2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}, spanId="b" * 16), *lost
    )
    document = request(one, scope="one")
    document["resourceSpans"] += request(other, scope="other")["resourceSpans"]
    [found] = read(document)

    assert found.names == ("search",)
    assert not found.calls_recorded


@pytest.mark.parametrize(
    ("said", "turns"), [({}, [None, None]), ({"content": "And?"}, [0, 1]), ({"content": ""}, [0, 1])]
)
def test_turns_are_not_known_where_a_message_of_the_user_was_not_recorded(
    said: dict[str, str], turns: list[int | None]
) -> None:
    found = read_messages(
        [says("?"), asks(("c1", "search")), gives("c1"), {"role": "user", **said}, asks(("c2", "lookup")), gives("c2")]
    )

    assert [each.turn for each in found.calls] == turns


def test_calls_of_messages_in_a_row_are_a_group_if_their_results_follow() -> None:
    asked = [says("?"), asks(("c1", "search")), asks(("c2", "lookup"))]

    assert groups(read_messages([*asked, gives("c1"), gives("c2")])) == ["turn-1", "turn-1"]
    assert groups(read_messages([*asked, gives("c2")])) == [None, None]
    assert groups(read_messages([says("?"), asks(("c1", "a")), gives("c1"), asks(("c2", "b"))])) == ["turn-1", "turn-2"]


@pytest.mark.parametrize("lost", ["", "endTimeUnixNano", "parentSpanId"])
def test_a_span_that_lists_the_calls_of_the_models_inside_of_it_makes_no_group_of_them(lost: str) -> None:
    first, second = asks(("c1", "search")), asks(("c2", "lookup"))
    spans = [
        model(1, [says("?")], [asks(("c1", "search"), ("c2", "lookup"))], **TIMES),
        model(2, [says("?")], [first], parent=1),
        model(3, [says("?"), first, gives("c1")], [second], parent=1),
    ]

    assert groups(read_one(*[without(each, lost) for each in spans])) == ["turn-1", "turn-2"]


def test_what_a_group_is_called_does_not_depend_on_what_was_said_before_the_run() -> None:
    before = [says("Hello."), asks(("c0", "greet")), gives("c0"), {"role": "assistant", "content": "Hi."}]
    alone = read_one(model(1, [says("?")], [asks(("c1", "search"))]))
    after = read_one(model(1, [*before, says("?")], [asks(("c1", "search"))]))

    assert groups(after) == groups(alone) == ["turn-1"]


@pytest.mark.parametrize(
    ("args", "output"),
    [({"args": [1], "kwargs": {}}, [{"text": "x"}]), ({"input_str": "a", "tags": []}, "content='x' name='y'")],
    ids=["blocks", "repr"],
)
def test_values_of_our_own_spans_are_never_taken_for_a_wrapping(args: dict[str, Any], output: object) -> None:
    @tool
    def search(**given: Any) -> object:
        return output

    with capture() as captured:
        search(**args)

    [made] = captured.trajectory().calls
    assert (made.args, made.output) == (args, output)


@pytest.mark.parametrize(
    ("scope", "output"),
    [("my_agent", [{"text": "x"}]), ("", None), ("strands.telemetry", None), ("com.anthropic.sdk.python", None)],
)
def test_a_value_that_looks_wrapped_is_one_where_its_tracer_does_not_wrap(scope: str, output: object) -> None:
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}

    [found] = read_one(span(1, {**made, "gen_ai.tool.call.result": '[{"text": "x"}]'}), scope=scope).calls

    assert (found.output, "output" in found.unrecorded) == (output, output is None)


MUTE: dict[str, dict[str, Any]] = {
    "no content": {"role": "assistant"},
    "null for content": {"role": "assistant", "content": None},
    "an empty block": {"role": "assistant", "content": [{}]},
    "parts of ADK": {"author": "shop", "content": {"role": "model"}, "actions": {"stateDelta": {}}},
    "the message of Claude Code": {"type": "assistant", "message": {"role": "assistant"}},
    "a reason to call": {"role": "assistant", "content": None, "finish_reason": "tool_calls"},
}
SPEAKING: dict[str, dict[str, Any]] = {
    "an empty text": {"role": "assistant", "content": ""},
    "no parts": {"kind": "response", "parts": []},
    "a list of calls without any": {"role": "assistant", "content": None, "tool_calls": []},
    "a refusal": {"role": "assistant", "content": None, "refusal": "No."},
    "a reason to stop": {"role": "assistant", "content": None, "finish_reason": "length"},
    "an effect of ADK": {"author": "shop", "content": {"role": "model"}, "actions": {"stateDelta": {"paid": 1}}},
}


@pytest.mark.parametrize("name", MUTE)
def test_a_message_of_the_model_without_content_may_have_asked_for_calls(name: str) -> None:
    made = read_messages([says("Refund order 7."), MUTE[name]])

    assert not made.calls_recorded


@pytest.mark.parametrize("name", SPEAKING)
def test_a_message_of_the_model_that_says_why_it_is_empty_asks_for_no_calls(name: str) -> None:
    made = read_messages([says("Refund order 7."), SPEAKING[name]])

    assert (made.calls, made.calls_recorded) == ((), True)


def test_a_result_that_lost_the_id_of_its_call_does_not_begin_a_turn() -> None:
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "content": "paid"}]}

    made = read_messages([says("Pay."), used, result, {"role": "assistant", "content": "Done."}])

    assert [each.turn for each in made.calls] == [None]


def test_a_result_that_lost_its_type_is_a_sign_of_a_call() -> None:
    made = read_messages([says("Pay."), {"call_id": "c1", "output": "paid"}, {"role": "assistant", "content": "Done."}])

    assert not made.calls_recorded
    assert "call_id" in made.not_understood


@pytest.mark.parametrize("name", ["ai.toolCall", "running tool", "tools/call pay", "running tool: pay", "pay.tool"])
def test_a_span_named_like_a_call_that_lost_its_attributes_is_a_sign_of_one(name: str) -> None:
    made = read_one(span(1, AGENT, **TIMES), span(2, {}, parent=1, name=name), call(3, "look", parent=1))

    assert [each.name for each in made.calls] == ["look"]
    assert not made.calls_recorded
    assert name in made.not_understood


def test_a_span_named_like_a_call_is_no_sign_where_its_call_is_known() -> None:
    made = read_one(span(1, AGENT, **TIMES), span(2, {}, parent=1, name="tools/call look"), call(3, "look", parent=1))

    assert made.calls_recorded


def test_a_message_that_lost_its_role_may_begin_a_turn() -> None:
    log = [says("Look."), asks(("c1", "look")), gives("c1"), {"role": "assistant", "content": "Seen."}]
    log += [{"content": "Pay."}, asks(("c2", "pay")), gives("c2"), {"role": "assistant", "content": "Paid."}]

    made = read_messages(log)

    assert [each.turn for each in made.calls] == [None, None]
    assert (made.output, made.turn_outputs) == ("Paid.", ())


def test_answers_of_turns_are_not_known_where_turns_are_not() -> None:
    log = [says("Look."), {"role": "assistant", "content": "Seen."}, {"role": "user"}]
    log += [{"role": "assistant", "content": "Paid."}, says("Thanks."), {"role": "assistant", "content": "Bye."}]

    made = read_messages(log)

    assert (made.output, made.turn_outputs) == ("Bye.", ())
    assert "Thanks." in made.turn_inputs


def test_messages_that_do_not_say_who_wrote_them_are_not_the_answer() -> None:
    state = {"messages": [{"content": "Pay.", "id": "1"}, {"content": "Paid.", "id": "2"}]}
    attributes = {
        "openinference.span.kind": "CHAIN",
        "input.value": json.dumps(state),
        "output.value": json.dumps(state),
    }

    made = read_one(span(1, attributes, **TIMES), call(2, "pay", parent=1))

    assert (made.input, made.output) == (None, None)


def test_what_an_inner_agent_was_given_is_not_the_question_where_parents_are_lost() -> None:
    inner = {
        "openinference.span.kind": "AGENT",
        "input.value": '{"goal": "book", "agents": 2}',
        "input.mime_type": "application/json",
    }
    spans = [span(1, {"openinference.span.kind": "CHAIN"}, **TIMES), span(2, inner)]

    assert read_one(*spans).input is None
    assert read_one(without(spans[1], "parentSpanId")).input == {"goal": "book", "agents": 2}


TALKS = Path(__file__).parent.parent / "data" / "frameworks"


def talk(name: str, **lost: Callable[[int], bool]) -> Trajectory:
    """A recorded conversation of three turns that has lost fields of the spans that are chosen by their place."""
    document = json.loads((TALKS / name).read_bytes())
    for place, each in enumerate(spans_of(document)):
        for field, is_lost in lost.items():
            if is_lost(place):
                each.pop(field, None)
    [made] = read(document)
    return made


LOST_PLACES: dict[str, dict[str, Callable[[int], bool]]] = {
    "every other id": {"spanId": lambda place: place % 2 == 0},
    "every other parent": {"parentSpanId": lambda place: place % 2 == 0},
    "all parents": {"parentSpanId": lambda place: True},
    "every other end": {"endTimeUnixNano": lambda place: place % 2 == 0},
}


@pytest.mark.parametrize("lost", LOST_PLACES)
def test_turns_in_a_trace_are_not_known_where_the_places_of_spans_are_lost(lost: str) -> None:
    whole, made = talk("autogen/whole.json"), talk("autogen/whole.json", **LOST_PLACES[lost])

    assert [each.turn for each in whole.calls] == [0, 1]
    assert [each.turn for each in made.calls] == [None, None]
    assert made.turn_outputs == ()


def test_the_order_of_calls_in_several_traces_is_not_known_without_their_times() -> None:
    made = talk("openai_agents/turns.json", startTimeUnixNano=lambda place: place % 2 == 1)

    assert made.unordered == ((0, 2),)


def test_the_last_answer_is_not_known_without_times() -> None:
    every = {field: lambda place: True for field in ("startTimeUnixNano", "endTimeUnixNano")}

    assert talk("pydantic_ai/whole.json").output == "You are welcome!"
    assert talk("pydantic_ai/whole.json", **every).output is None


def test_the_id_of_a_node_is_not_the_name_of_an_agent() -> None:
    agent = {"openinference.span.kind": "AGENT", "graph.node.id": "7af79b0698067f10"}

    [unnamed] = read_one(span(1, agent, name="support.arun", **TIMES), call(2, "pay", parent=1)).calls
    [named] = read_one(span(1, agent | {"graph.node.id": "billing"}, **TIMES), call(2, "pay", parent=1)).calls

    assert (unnamed.agent, named.agent) == ("support", "billing")


@pytest.mark.parametrize("content", ["[{}]", [{}]], ids=["text", "blocks"])
def test_a_result_whose_block_is_lost_has_no_known_output(content: Any) -> None:
    use = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}
    found = read_messages([{"role": "assistant", "content": [use]}, {"role": "tool", "content": content}])

    assert [(made.name, "output" in made.unrecorded) for made in found.calls] == [("look", True)]
    assert not found.calls_recorded


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_span_of_openinference_without_a_kind_may_be_of_the_agent(is_marked: bool) -> None:
    inner = {"openinference.span.kind": "CHAIN"} if is_marked else {"graph.node.id": "billing"}
    spans = [
        span(1, {"openinference.span.kind": "AGENT"}, name="support", **TIMES),
        span(2, inner, parent=1, name="billing", **TIMES),
        call(3, "pay", parent=2),
    ]

    [made] = read_one(*spans, scope="openinference.instrumentation.openai_agents").calls

    assert made.agent == ("support" if is_marked else None)


@for_each("method", ["run", "arun", "continue_run", "acontinue_run"])
def test_a_span_is_named_by_the_agent_and_what_was_called_of_it(method: str) -> None:
    agent = span(1, {"openinference.span.kind": "AGENT"}, name=f"support.{method}", **TIMES)

    [made] = read_one(agent, call(2, "pay", parent=1)).calls

    assert made.agent == "support"


@pytest.mark.parametrize("mark", ["tool-result", None])
def test_an_output_whose_type_is_lost_is_not_known(mark: str | None) -> None:
    asked = {"type": "tool-call", "toolCallId": "c1", "toolName": "search", "input": {}}
    given = {"type": mark, "toolCallId": "c1", "toolName": "search"}

    def output(held: Any) -> Any:
        [made] = read_messages([{"content": [asked]}, {"role": "tool", "content": [given | {"output": held}]}]).calls
        return made.output, "output" in made.unrecorded

    assert output({"type": None, "value": "quota exceeded"}) == (None, True)
    assert output({"type": "text", "value": "ok"}) == (("ok", False) if mark else (None, True))
    assert output({"type": None, "total": 3}) == ({"type": None, "total": 3}, False)


@for_each(
    "given",
    [
        {"langfuse.observation.input": '{"args": [7], "kwargs": {}}'},
        {"langfuse.observation.input": '{"n": 7}', "langfuse.observation.metadata.tool_call_id": "c1"},
    ],
)
def test_a_function_or_a_tool_whose_type_is_lost_may_be_a_call(given: dict[str, str]) -> None:
    kept = read_one(span(1, given | {"langfuse.observation.type": "tool"}, name="refund", **TIMES))
    lost = read_one(span(1, given, name="refund", **TIMES), call(2, "pay"))

    assert kept.names == ("refund",)
    assert (lost.names, lost.calls_recorded) == (("pay",), False)


@pytest.mark.corpus
def test_a_model_that_is_given_results_alone_goes_on_with_its_turn() -> None:
    [made] = read(corpus.inputs("anthropic-tool-runner/trip-content")["otlp.json"])

    assert {each.turn for each in made.calls} == {0}


def test_more_results_without_ids_than_calls_mean_that_calls_are_missing() -> None:
    anonymous = [{"role": "tool", "content": text} for text in ("cancelled", "refunded", "mail sent")]

    def made(results: list[dict[str, Any]]) -> Trajectory:
        return read_messages([says("go on"), asks(("c1", "cancel"), ("c2", "refund")), *results])

    assert made(anonymous[:2]).calls_recorded
    assert not made(anonymous).calls_recorded
    assert [each.output for each in made(anonymous).calls] == [None, None]


LANGCHAIN = "opentelemetry.instrumentation.langchain"
DUMPED = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "ToolMessage"],
    "kwargs": {"content": "ok", "tool_call_id": "c1"},
}
FLAT = {"content": "ok", "additional_kwargs": {}, "response_metadata": {}, "type": "tool", "tool_call_id": "c1"}
STARTED = {"input_str": "{'a': 1}", "tags": [], "metadata": {}, "inputs": {"a": 1}, "kwargs": {"tool_call_id": "c1"}}


def traced(given: Any, returned: Any) -> Any:
    """A call as OpenLLMetry records it of LangChain."""
    attributes = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "search",
        "traceloop.entity.input": json.dumps(given),
        "traceloop.entity.output": json.dumps(returned),
    }
    [found] = read_one(span(1, attributes), scope=LANGCHAIN).calls
    return found


@pytest.mark.parametrize("lost", ["id", "kwargs"])
def test_of_a_dumped_message_that_lost_a_part_nothing_is_the_output(lost: str) -> None:
    whole, found = [traced({}, {"output": each, "kwargs": {}}) for each in (DUMPED, without(DUMPED, lost))]

    assert (whole.output, found.output, found.unrecorded) == ("ok", None, {"output"})


@pytest.mark.parametrize("lost", ["type", "content"])
def test_of_a_message_that_lost_a_field_nothing_is_the_output(lost: str) -> None:
    whole, found = [traced({}, {"output": each, "kwargs": {}}) for each in (FLAT, without(FLAT, lost))]

    assert (whole.output, found.output, found.unrecorded) == ("ok", None, {"output"})


def test_what_a_callback_is_given_beside_the_output_is_not_the_output() -> None:
    assert traced({}, {"kwargs": {"tags": [], "color": "green"}}).unrecorded == {"output"}
    assert traced({}, {"kwargs": {"a": 1}}).output == {"kwargs": {"a": 1}}


def test_arguments_are_one_of_two_in_what_a_callback_is_given_and_never_the_rest_of_it() -> None:
    for lost in ("input_str", "inputs", "metadata"):
        assert traced(without(STARTED, lost), "ok").args == {"a": 1}
    assert "args" in traced(without(STARTED, "input_str", "inputs"), "ok").unrecorded


@pytest.mark.parametrize("lost", ["args", "kwargs"])
def test_named_or_positional_arguments_alone_are_not_all_arguments(lost: str) -> None:
    given = {"args": [], "kwargs": {"a": 1}}

    assert traced(given, "ok").args == {"a": 1}
    assert "args" in traced(without(given, lost), "ok").unrecorded


@pytest.mark.parametrize("lost", ["kwargs", "id", "lc"])
def test_a_state_whose_messages_lost_a_part_is_no_answer(lost: str) -> None:
    answer = {**DUMPED, "id": ["AIMessage"], "kwargs": {"content": "Done.", "type": "ai"}}

    def answered(message: dict[str, Any]) -> Any:
        state = json.dumps({"outputs": {"messages": [message]}, "kwargs": {}})
        return read_one(span(1, {"traceloop.span.kind": "workflow", "traceloop.entity.output": state}), call(2)).output

    assert answered(answer) == "Done."
    assert answered(without(answer, lost)) in (None, "Done.")


def test_an_agent_in_the_history_of_a_later_prompt_is_that_of_the_call() -> None:
    asked, named = asks(("c1", "search")), asks(("c1", "search"), name="planner")
    later = [says("?"), named, gives("c1")]

    whole = read_one(model(1, [says("?")], [asked]), model(2, later, []))

    assert [each.agent for each in whole.calls] == ["planner"]
    assert [each.agent for each in read_one(model(2, later, [])).calls] == ["planner"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"span_type": "function_call_async", "output.value": '{"content": 1}'},
        {"span_type": "tool", "input.value": "{}"},
        {"mlflow.spanInputs": "{}"},
        {"logfire.msg_template": "function: {name}"},
    ],
)
def test_a_span_with_half_of_what_marks_a_call_may_be_one(attributes: dict[str, str]) -> None:
    assert "'helper'" in read_one(call(1), span(2, attributes, name="helper")).not_understood


@for_each(
    ("attributes", "events"),
    [
        ({"span_type": "function_call_sync", "input.value": "{}"}, []),
        ({"event_loop.cycle_id": "1"}, [{"name": "gen_ai.user.message", "attributes": []}]),
    ],
)
def test_an_input_that_mlflow_copied_from_the_same_span_is_no_sign_of_a_call(
    attributes: dict[str, str], events: list[Any]
) -> None:
    copied = {**attributes, "mlflow.traceRequestId": "tr-1", "mlflow.spanInputs": "{}"}

    assert read_one(call(1), span(2, copied, name="helper", events=events)).calls_recorded


def test_a_span_that_is_named_like_one_of_a_call_may_be_one() -> None:
    function = {"span_type": "function_call_async", "input.value": "{}"}

    assert "'search'" in read_one(call(1, name="search"), span(2, function, name="search")).not_understood
    assert not read_one(call(1, name="search"), span(2, function, name="helper")).not_understood


def test_of_two_spans_without_a_parent_one_that_began_during_a_call_may_be_inside_of_it() -> None:
    agent = span(1, AGENT, **TIMES)
    outer = call(2, "research", parent=1, endTimeUnixNano="8000")
    inner = call(3, "lookup")

    found = read_one(agent, outer, inner).calls

    assert [each.unrecorded for each in found] == [frozenset(), {"parent_id"}]
    assert [each.group for each in found] == [None, None]


def test_what_an_agent_was_given_is_not_the_input_of_the_crew_around_it() -> None:
    given = {"openinference.span.kind": "AGENT", "input.value": '{"role": "a", "goal": "b"}'}
    agent = span(2, given, parent=1)

    assert read_one(span(1, name="server"), agent, call(3, parent=2)).input is None
    [alone] = read(
        {"resourceSpans": [request(span(1))["resourceSpans"][0], *request(agent, scope="x")["resourceSpans"]]}
    )
    assert alone.input == {"role": "a", "goal": "b"}


def test_an_entity_is_no_agent_where_the_name_of_its_span_got_lost() -> None:
    entity = {"traceloop.span.kind": "workflow", "traceloop.entity.name": "Team.workflow"}

    for name, agent in (("Team.workflow", None), ("", None), ("team", "Team.workflow")):
        assert [each.agent for each in read_one(span(1, entity, name=name), call(2, parent=1)).calls] == [agent]


def test_calls_of_one_prompt_are_read_where_another_attribute_has_lost_them() -> None:
    told = [says("?"), asks(("c1", "search"), name="planner"), gives("c1")]
    lost = {"llm.input_messages.0.message.role": "tool", "llm.input_messages.0.message.content": "ok"}

    [found] = read_one(span(1, {**MODEL, **lost, "input.value": json.dumps({"messages": told})})).calls

    assert (found.name, found.agent, found.output) == ("search", "planner", "ok")


def test_of_equal_requests_none_is_taken_from_a_call_that_lost_its_arguments() -> None:
    answers = [{"role": "tool", "tool_call_id": each, "content": each} for each in ("c1", "c2")]
    asked = [says("?"), asks(("c1", "pay")), answers[0], asks(("c2", "pay")), answers[1]]
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    spans = [span(1, tool), span(2, {**tool, "gen_ai.tool.call.arguments": "{}"})]

    assert [each.output for each in read_one(*spans, model(3, asked, [])).calls] == ["c1", "c2"]


def test_the_order_of_calls_at_once_is_not_known_where_one_lost_its_span() -> None:
    asked = model(1, [says("?")], [asks(("c1", "search"), ("c2", "look"))])
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"}
    other = {**tool, "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c2"}

    assert read_one(asked, span(3, tool), span(2, other)).unordered == ()
    assert read_one(asked, span(3, tool)).unordered == ((0, 2),)
    assert read_one(asked, span(3, tool), span(4, {**other, "gen_ai.tool.call.id": "c3"})).unordered == ()


PROMPT: dict[str, Any] = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Go."}]}
CALLED = {
    "kind": "response",
    "finish_reason": "stop",
    "parts": [{"part_kind": "tool-call", "tool_name": "look", "args": {}, "tool_call_id": "c"}],
}
ANSWERED = {"kind": "response", "parts": [{"part_kind": "text", "content": "Done."}]}


@pytest.mark.parametrize(
    ("part", "turn"),
    [
        ({"part_kind": "retry-prompt", "content": "no", "tool_call_id": "c"}, 0),
        ({"content": "ok", "tool_name": "look", "tool_call_id": "c"}, None),
        ({"part_kind": "user-prompt", "content": "And?"}, 0),
    ],
    ids=["a retry", "no kind", "the user"],
)
def test_a_request_begins_a_turn_if_it_has_words_of_the_user(part: dict[str, str], turn: int | None) -> None:
    found = read_messages([PROMPT, CALLED, {"kind": "request", "parts": [part]}, ANSWERED])

    assert [each.turn for each in found.calls] == [turn]
    assert bool(found.turn_outputs) == (part.get("part_kind") == "user-prompt")


def test_a_response_without_its_parts_may_have_asked_for_calls() -> None:
    assert read_messages([PROMPT, CALLED, ANSWERED]).calls_recorded
    assert not read_messages([PROMPT, without(CALLED, "parts"), ANSWERED]).calls_recorded


def test_a_prompt_whose_messages_lost_their_parts_does_not_show_what_was_answered() -> None:
    answer = {"role": "assistant", "finish_reason": "tool_call"}

    assert not read_one(
        model(1, [says("?")], [answer]), model(2, [says("?"), answer, {"role": "tool"}], [])
    ).calls_recorded
    stopped = {"role": "assistant", "finish_reason": "stop"}
    assert not read_one(
        model(1, [says("?")], [answer]), model(2, [says("?"), answer, {"role": "user"}], [stopped])
    ).calls_recorded
    assert read_one(model(1, [says("?")], [stopped])).calls_recorded
    shown = [says("?"), asks(("c1", "look")), gives("c1")]
    assert read_one(
        model(1, [says("?")], [answer]), model(2, shown, [{"role": "assistant", "content": "Done."}])
    ).calls_recorded


def test_requests_of_an_answer_without_content_are_those_that_a_later_prompt_shows() -> None:
    mute, done = {"role": "assistant", "finish_reason": "tool_call"}, {"role": "assistant", "content": "Done."}
    first, second = asks(("c1", "look")), asks(("c2", "pay"))
    later = [says("?"), first, gives("c1"), second, gives("c2")]
    spans = [model(1, [says("?")], [first]), model(2, later[:3], [second]), model(3, later, [done])]
    whole = read_one(*spans)
    lost = read_one(model(1, [says("?")], [mute]), model(2, [], [second]), spans[2])
    again = read_one(model(1, [says("?")], [mute]), model(2, [*later[:3], says("And?")], [done]))

    assert (whole.names, whole.unordered, whole.calls_recorded) == (("look", "pay"), (), True)
    assert (sorted(lost.names), lost.unordered, lost.calls_recorded) == (["look", "pay"], ((0, 2),), True)
    assert (again.names, again.calls_recorded) == (("look",), True)


def test_a_call_inside_a_span_that_may_be_the_same_call_may_have_begun_with_it() -> None:
    outer = {"openinference.span.kind": "TOOL", "tool.name": "look"}
    inner = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}

    def order(attributes: dict[str, str]) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
        starts = (1000, 2000, 5000, 7000)
        times: list[dict[str, Any]] = [{"startTimeUnixNano": str(each), "endTimeUnixNano": "9000"} for each in starts]
        around = span(2, attributes, parent=1, **times[1])
        within = span(4, inner, parent=2, **times[3])
        made = read_one(span(1, AGENT, **times[0]), around, call(3, "pay", parent=1, **times[2]), within)
        return made.names, made.unordered

    assert order(outer) == (("look", "pay"), ())
    assert order(without(outer, "tool.name")) == (("pay", "look"), ((0, 2),))


def test_logfire_names_the_span_of_a_call_by_its_template() -> None:
    told = {"name": "look", "input": '{"id": 7}', "output": "found"}

    def look(**more: str) -> list[tuple[str, Any, Any]]:
        made = span(2, told | more, name="Function: {name}")
        return [(each.name, each.args, each.output) for each in read_one(span(1, AGENT), made).calls]

    assert look(**{"logfire.msg_template": "Function: {name}"}) == [("look", {"id": 7}, "found")]
    assert look() == [("look", {"id": 7}, "found")]


def test_the_call_of_smolagents_that_lost_a_word_is_still_a_call_of_a_function() -> None:
    given = {"args": [], "kwargs": {"a": 1}}
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": json.dumps(given)}

    [found] = read_one(span(1, attributes), scope="openinference.instrumentation.smolagents").calls
    [other] = read_one(span(1, attributes), scope="openinference.instrumentation.other").calls

    assert (found.args, other.args) == ({"a": 1}, given)


RPC = {"jsonrpc": "2.0", "id": 1}
USES = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": {}}]}
VERCEL = {"toolCallId": "c1", "toolName": "pay", "input": {}}
TOOL = {"event": "on_tool_start", "name": "pay", "run_id": "c1", "data": {"input": {}}}
SDK = {"source": "agent", "tool_name": "pay", "tool_call_id": "c1"}
ERRORS: dict[str, list[Any]] = {
    "MCP": [
        {**RPC, "method": "tools/call", "params": {"name": "pay"}},
        {**RPC, "error": {"code": -32602, "message": "no"}},
    ],
    "Responses, by MCP": [
        says("?"),
        {"type": "mcp_call", "id": "c1", "name": "pay", "arguments": "{}", "output": None, "error": "no"},
    ],
    "Amp": [
        USES,
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "toolUseID": "c1", "run": {"status": "error", "error": {"message": "no"}}}
            ],
        },
    ],
    "Goose": [
        {
            "role": "assistant",
            "content": [{"type": "toolRequest", "id": "c1", "toolCall": {"value": {"name": "pay", "arguments": {}}}}],
        },
        {
            "role": "user",
            "content": [{"type": "toolResponse", "id": "c1", "toolResult": {"status": "error", "error": "no"}}],
        },
    ],
    "Vercel": [
        {
            "role": "assistant",
            "content": [{"type": "tool-call", **VERCEL}, {"type": "tool-error", "error": "no", **VERCEL}],
        }
    ],
    "OpenCode": [
        says("?"),
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "tool",
                    "callID": "c1",
                    "tool": "pay",
                    "state": {"status": "error", "input": {}, "error": "no"},
                }
            ],
        },
    ],
    "LangChain, events": [TOOL, {**TOOL, "event": "on_tool_error", "data": {"error": "no"}}],
    "OpenHands": [
        {**SDK, "kind": "ActionEvent", "tool_call": {"arguments": "{}"}},
        {**SDK, "kind": "AgentErrorEvent", "error": "no"},
    ],
    "Inspect": [
        {"event": "tool", "id": "c1", "function": "pay", "arguments": {}, "result": "", "error": {"message": "no"}}
    ],
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_in_a_field_of_its_own_is_not_an_output(name: str) -> None:
    [made] = read("\n".join([json.dumps(each) for each in ERRORS[name]]).encode())

    assert [(each.name, each.output, each.error, each.unrecorded) for each in made.calls] == [
        ("pay", None, "no", frozenset())
    ]


def test_a_result_that_lost_its_type_ends_the_step_before_it() -> None:
    def used(call_id: str) -> list[dict[str, Any]]:
        named = {"toolCallId": call_id, "toolName": "pay"}
        asked = {"role": "assistant", "content": [{"type": "tool-call", "args": {}, **named}]}
        return [asked, {"role": "tool", "content": [{"result": "ok", **named}]}]

    assert groups(read_messages([says("?"), *used("c1"), *used("c2")])) == ["turn-1", "turn-2"]


@pytest.mark.parametrize("kind", [{}, {"openinference.span.kind": "TOOL"}], ids=["plain", "OpenInference"])
@pytest.mark.parametrize(
    ("scope", "told", "output"),
    [
        ("gcp.vertex.agent", "", "90 days"),
        ("", "AgentTool", "90 days"),
        ("", "function", {"result": "90 days"}),
        ("my_agent", "", {"result": "90 days"}),
    ],
)
def test_the_wrapping_of_adk_is_known_by_what_is_left_of_its_span(
    kind: dict[str, str], scope: str, told: str, output: Any
) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "research",
        "gen_ai.tool.type": told,
        "gen_ai.tool.call.result": '{"result": "90 days"}',
    }

    assert [each.output for each in read_one(span(1, attributes | kind), scope=scope).calls] == [output]


def test_a_message_that_lost_its_role_is_not_a_conversation_of_its_own() -> None:
    def used(call_id: str) -> list[dict[str, Any]]:
        asked = {"type": "function_call", "call_id": call_id, "name": "pay", "arguments": "{}"}
        given = {"type": "function_result", "call_id": call_id, "result": "ok"}
        message = {"type": "message", "role": "assistant", "contents": [asked]}
        return [message, {"type": "message", "contents": [given]}]

    [made] = read(json.dumps([{"type": "message", **says("?")}, *used("c1"), *used("c2")]).encode())

    assert groups(made) == ["turn-1", "turn-2"]


@for_each(
    ("held", "output"),
    [
        ({"id": "c1", "name": "pay", "response": {"result": "ok"}}, "ok"),
        ({"id": "c1", "response": {"result": "ok"}}, "ok"),
        ({"name": "pay", "response": {"result": "ok"}}, "ok"),
        ({"id": "c1", "name": "pay"}, None),
        ({"id": "other", "response": "ok"}, {"id": "other", "response": "ok"}),
        ({"response": {"result": "ok"}}, {"response": {"result": "ok"}}),
    ],
)
def test_a_response_of_a_function_that_lost_a_part_is_known_by_the_id_or_name_of_its_call(
    held: dict[str, Any], output: Any
) -> None:
    attributes = {
        "openinference.span.kind": "TOOL",
        "gcp.vertex.agent.event_id": "e",
        "tool.name": "pay",
        "gen_ai.tool.call.id": "c1",
        "output.value": json.dumps(held),
    }
    [made] = read_one(span(1, attributes)).calls

    assert (made.output, "output" in made.unrecorded) == (output, output is None)


@for_each(
    ("asked", "is_recorded"),
    [("search", True), ("search, search", True), ("pay", False), ("search, pay", False), ("", True)],
)
def test_a_tool_that_a_model_asked_for_and_nothing_else_shows_is_a_sign_of_a_call(
    asked: str, is_recorded: bool
) -> None:
    found = read_one(span(1, MODEL | {"gen_ai.tool.name": asked}), call(2, "search"))

    assert (found.names, found.calls_recorded) == (("search",), is_recorded)


@for_each(
    "summary",
    [
        {"type": "compaction", "encrypted_content": "x"},
        {"role": "assistant", "content": [{"type": "compaction", "content": "It was paid."}]},
    ],
)
def test_a_summary_stands_for_messages_that_may_have_asked_for_calls(summary: dict[str, Any]) -> None:
    answer = {"role": "assistant", "content": "Done."}

    assert not read_messages([says("Pay."), summary, answer]).calls_recorded
    assert read_messages([says("Pay."), asks(("c1", "pay")), gives("c1"), summary, answer]).calls_recorded


def test_a_call_of_code_is_inside_of_the_call_that_runs_the_code() -> None:
    ran = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {"code": "query(1)"}}
    caller = {"type": "code_execution_20250825", "tool_id": "s1"}
    made = {"type": "tool_use", "id": "t1", "name": "query", "input": {"q": 1}, "caller": caller}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}

    found = read_messages([says("?"), {"role": "assistant", "content": [ran, made]}, result])

    assert [(each.name, each.parent_id, each.group) for each in found.calls] == [
        ("code_execution", None, "turn-1"),
        ("query", "s1", None),
    ]


def test_a_program_of_openai_is_a_call_with_those_that_its_code_makes_inside() -> None:
    def looks(call_id: str, caller: dict[str, Any]) -> dict[str, Any]:
        return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}", "caller": caller}

    items = [
        says("Which?"),
        {"type": "program", "id": "p1", "call_id": "p", "code": "look()", "fingerprint": "x"},
        looks("c1", {"type": "program", "caller_id": "p"}),
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"type": "program_output", "id": "p2", "call_id": "p", "result": "4", "status": "completed"},
        looks("c2", {"type": "direct"}),
    ]

    found = read_messages(items)

    assert [(each.name, each.args, each.output, each.parent_id) for each in found.calls] == [
        ("program", {"code": "look()"}, "4", None),
        ("look", {}, "3", "p"),
        ("look", {}, None, None),
    ]


@for_each("length", [20, 60, 10_000])
def test_an_answer_that_was_cut_off_may_have_asked_for_calls(length: int) -> None:
    answer = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done." * 9}]}])
    attributes = {"gen_ai.input.messages": json.dumps([says("Pay.")]), "gen_ai.output.messages": answer[:length]}

    assert read_one(span(1, MODEL | attributes)).calls_recorded == (length > len(answer))


@for_each("end", ["", "...", "…"])
def test_an_output_that_was_cut_off_inside_its_json_counts_as_not_recorded(end: str) -> None:
    cut = '{"rooms": [{"price": 10, "beds": 2}, {"pri' + end

    found = read_one(span(1, AGENT), tool_span(2, cut))

    assert "output" in found.calls[0].unrecorded
    assert "the output of a call of find seems to have been cut off" in found.warnings[0]
    assert read_one(span(1, AGENT), tool_span(2, '{"rooms": []}')).calls[0].output == {"rooms": []}
    assert read_one(span(1, AGENT), tool_span(2, "[x] saved")).calls[0].output == "[x] saved"


@for_each(
    "cut",
    [
        "{'rooms': [{'price': 10, 'beds': 2}, {'pri",
        '["don\'t", "a text that is long enough", {"a": (',
        "Room(price=10, number=12, beds=[Bed(",
        '"a long text that JSON has in quotes, wh',
        '{"rooms": [1, 2, 3, 4, 5, 6, 7, (truncated)',
    ],
)
def test_an_output_that_ends_inside_of_what_it_begins_counts_as_not_recorded(cut: str) -> None:
    assert "output" in read_one(span(1, AGENT), tool_span(2, cut)).calls[0].unrecorded


@for_each(
    "whole",
    [
        "[it's a note] done",
        "Room(price=10)",
        '"Yes" he said',
        "Error: no room (yet",
        "[1, 2] and [3",
        "",
        "[",
        "{ name",
        "[=====>   ",
        '[^"]*',
    ],
)
def test_a_text_with_brackets_in_it_is_an_output(whole: str) -> None:
    assert read_one(span(1, AGENT), tool_span(2, whole)).calls[0].output == whole


def test_a_text_that_ends_where_json_was_cut_off_counts_as_not_recorded() -> None:
    long, limit = '{"hotels": [' + '"Ritz", ' * 20, 100
    spans = tool_span(1, "a" * limit), tool_span(2, "a" * (limit - 1)), tool_span(3, long[:limit])

    found = read_one(*spans)

    assert [each.output for each in found.calls] == [None, "a" * (limit - 1), None]
    assert [read_one(each).calls[0].output for each in spans[:2]] == ["a" * limit, "a" * (limit - 1)]
    assert "the output of a call of find seems to have been cut off" in found.warnings[0]


def test_what_ends_where_an_argument_a_prompt_or_an_answer_was_cut_off_counts_as_not_recorded() -> None:
    prompt = json.dumps([says("Which hotels are there, and which of them has a room?")] * 9)[:100]
    text, args = "b" * 100, {"gen_ai.tool.call.arguments": '{"note": "' + "c" * 90}
    beside = span(3, MODEL | {"gen_ai.input.messages": prompt, "gen_ai.output.messages": "[]"})
    answer = span(1, AGENT | {"input.value": "?", "output.value": '{"hotels": "' + "d" * 88})

    for spans in (
        [span(1, AGENT), tool_span(2, text), beside],
        [span(1, AGENT), span(2, tool_attributes(text) | args)],
        [answer, tool_span(2, text, parent=1)],
    ):
        assert "output" in read_one(*spans).calls[0].unrecorded
    cut_answer = read_one(span(1, AGENT | {"input.value": "?", "output.value": text}), tool_span(2, prompt, parent=1))
    assert cut_answer.output is None
    assert "an answer seems to have been cut off" in cut_answer.warnings[1]


def test_a_text_as_long_as_a_server_allows_counts_as_not_recorded_unless_a_longer_one_is_there() -> None:
    text, longer = "e" * 8192, json.dumps([says("f" * 9000)])
    longer_one = span(3, MODEL | {"gen_ai.input.messages": longer, "gen_ai.output.messages": "[]"})

    assert "output" in read_one(span(1, AGENT), tool_span(2, text)).calls[0].unrecorded
    assert read_one(span(1, AGENT), tool_span(2, text), longer_one).calls[0].output == text
    assert read_one(span(1, AGENT), tool_span(2, text + "e")).calls[0].output == text + "e"


@for_each(
    "returned", ["g" * 4096, "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", '"To be, or not to be, that is the question']
)
def test_a_traced_tool_may_return_a_text_that_looks_cut_off(returned: str) -> None:
    @tool
    def fetch() -> str:
        return returned

    with capture() as run:
        fetch()

    assert run.trajectory().calls[0].output == returned


def test_limits_of_what_a_program_exports_do_not_cut_off_what_is_captured() -> None:
    code = (
        "import rightcall\n@rightcall.tool\ndef fetch():\n    return 'h' * 50\n"
        "with rightcall.capture() as run:\n    fetch()\nprint(len(run.trajectory().calls[0].output))"
    )
    limits = {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "40", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "1"}

    done = subprocess.run([sys.executable, "-c", code], env=os.environ | limits, capture_output=True, text=True)

    assert done.stdout.strip() == "50", done.stderr


def test_the_answer_of_a_simple_run_is_looked_at_like_an_output() -> None:
    agent = AGENT | {"input.value": "?", "metadata": '{"note": "' + "i" * 90}
    made = tool_span(2, '{"rooms": 1}', parent=1)

    for length, extra in ((4096, AGENT | {"input.value": "?"}), (100, agent)):
        cut, whole = [read_one(span(1, extra | {"output.value": "j" * size}), made) for size in (length, length + 1)]
        assert (cut.output, whole.output) == (None, "j" * (length + 1))
        assert "an answer seems to have been cut off" in cut.warnings[0]


def test_an_output_that_ends_where_another_value_of_a_simple_run_was_cut_off_counts_as_not_recorded() -> None:
    metadata = {"metadata": '{"note": "' + "k" * 90}
    made = tool_attributes("l" * 100) | {"gen_ai.tool.call.arguments": "{}"}

    cut = read_one(span(1, AGENT | metadata), span(2, made, parent=1))
    whole = read_one(span(1, AGENT), span(2, made, parent=1))

    assert ([each.calls[0].output for each in (cut, whole)]) == [None, "l" * 100]


def test_a_name_that_ends_where_json_was_cut_off_may_be_that_of_another_tool() -> None:
    name, cut = "mcp__hotels__cancel_bookings_of_a_guest", '{"rooms": [{"price": 10, "beds": 2, "vi'
    assert len(name) == len(cut)

    found = read_one(span(1, AGENT), span(2, tool_attributes("ok") | {"gen_ai.tool.name": name}), tool_span(3, cut))

    assert (found.names, found.calls_recorded) == (("find",), False)
    assert name in found.warnings[-1]


DROPPED_BY_DATADOG = "[This value has been dropped because this span's size exceeds the 5MB size limit.]"


@for_each("value", ["__REDACTED__", "<elided>", "<truncated due to size exceeding limit>", DROPPED_BY_DATADOG])
def test_a_text_in_place_of_a_value_is_none(value: str) -> None:
    kinds = {"openinference.span.kind": "AGENT"}, {"openinference.span.kind": "TOOL", "tool.name": "find"}
    held = {"input.value": value, "output.value": value}

    found = read_one(span(1, kinds[0] | held), span(2, kinds[1] | held, parent=1))

    assert found.calls[0].unrecorded == {"args", "output"}
    assert (found.input, found.output) == (None, None)


@for_each("value", sorted(PLACEHOLDERS))
def test_a_traced_tool_may_return_a_text_that_others_write_in_place_of_a_value(value: str) -> None:
    @tool
    def fetch() -> str:
        return value

    with capture() as run:
        fetch()

    assert run.trajectory().calls[0].output == value


def test_a_result_that_openinference_hides_in_a_prompt_is_not_known() -> None:
    hidden = {**gives("c1"), "content": "__REDACTED__"}
    spans = [
        model(1, [says("?")], [asks(("c1", "find"))]),
        model(2, [says("?"), asks(("c1", "find")), hidden], [says("")]),
    ]

    assert "output" in read_one(*spans).calls[0].unrecorded


def test_turns_are_not_known_where_a_message_of_the_user_was_cut_off_in_a_list_of_parts() -> None:
    parts = json.dumps([{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}])[:40]
    asked = [says("?"), asks(("c1", "find"))]
    spans = [model(1, asked[:1], asked[1:]), model(2, [*asked, says(parts)], [asks(("c2", "pay"))])]

    assert [each.turn for each in read_one(*spans).calls] == [None, None]


DROPPED = {"droppedAttributesCount": 3}


@for_each("count", ["droppedAttributesCount", "droppedEventsCount", "dropped_attributes_count"])
def test_a_call_whose_span_lost_attributes_has_no_known_arguments_and_output(count: str) -> None:
    made = span(2, tool_attributes("ok") | {"gen_ai.tool.call.arguments": "{}"})

    found, failed = read_one(made | {count: 3}), read_one(made | {count: 3, "status": {"code": 2}})

    assert (found.names, found.calls[0].unrecorded, found.calls_recorded) == (
        ("find",),
        frozenset({"args", "output"}),
        True,
    )
    assert "output" in failed.calls[0].unrecorded
    assert read_one(made | {count: 0}).calls[0].unrecorded == frozenset()


def test_a_model_whose_span_lost_attributes_may_have_asked_for_calls_unless_tools_have_spans() -> None:
    asked = model(2, [says("?")], [{"role": "assistant", "content": "Done."}])

    assert read_one(span(1, AGENT), asked).calls_recorded
    found = read_one(span(1, AGENT), asked | DROPPED)
    assert not found.calls_recorded
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in found.warnings[0]
    assert read_one(span(1, AGENT), asked | DROPPED, call(3)).calls_recorded


def test_what_is_left_of_messages_that_were_dropped_in_part_is_not_read() -> None:
    left = {"llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments": "{}"}
    rest = left | {"llm.output_messages.0.message.content": "Half of it"}

    found = read_one(span(1, AGENT), call(2, parent=1), span(3, MODEL | rest, parent=1) | DROPPED)

    assert (found.names, found.calls_recorded, found.output) == (("search",), True, None)
    assert not read_one(span(1, AGENT), call(2, parent=1), span(3, MODEL | rest, parent=1)).calls_recorded


def test_the_steps_of_an_agent_that_was_killed_have_no_answer() -> None:
    chain = {"openinference.span.kind": "CHAIN", "input.value": "?", "output.value": "tools"}

    killed = read_one(span(2, chain, parent=1), call(3, parent=1), span(4, chain, parent=1))

    assert (killed.names, killed.output) == (("search",), None)
    assert read_one(span(2, chain, parent=1), call(3, parent=2)).output == "tools"  # inside a span of another service
    assert read_one(span(1, chain), call(3, parent=1)).output == "tools"


@for_each("metadata", [{"metadata": '{"langgraph_node": "model"}'}, {"langsmith.metadata.langgraph_node": "model"}])
def test_a_node_of_a_graph_whose_own_span_is_missing_has_no_answer_but_its_model_has(metadata: dict[str, str]) -> None:
    state = {"openinference.span.kind": "CHAIN", "input.value": "?", "output.value": '[{"update": {"n": 1}}]'}
    answer = model(3, [says("?")], [{"role": "assistant", "content": "Done."}], parent=2)

    assert read_one(span(2, state | metadata, parent=1), answer).output == "Done."
    assert read_one(span(2, state | metadata, parent=1)).output is None
    assert read_one(span(2, state, parent=1), answer).output == state["output.value"]


@for_each("text", ['{"a": 1}', "7", "null", '"quoted"'])
def test_an_only_argument_that_is_a_text_of_json_is_what_the_model_gave(text: str) -> None:
    kind = {"openinference.span.kind": "TOOL", "tool.name": "find", "output.value": "ok"}
    function = {"name": "find", "arguments": json.dumps({"query": text})}
    asked = [says("?"), {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}]}]

    found = read_one(model(1, asked[:1], asked[1:]), span(2, kind | {"input.value": text}))

    assert [each.args for each in found.calls] == [{"query": text}]


def test_a_span_that_lost_what_it_is_may_be_a_call_unless_it_is_of_another_library() -> None:
    lost, other = {"input.value": "{}", "output.value": "ok"}, {"db.system": "sqlite", "db.statement": "select 1"}

    found = read_one(call(1), span(2, lost, name="refund") | DROPPED)

    assert (found.names, found.calls_recorded) == (("search",), False)
    assert "'refund', which lost attributes" in found.warnings[0]
    assert read_one(call(1), span(2, lost, name="refund")).calls_recorded
    assert read_one(call(1), span(2, other, name="query") | DROPPED).calls_recorded


def test_a_span_that_lost_what_it_is_may_be_a_model_with_a_turn_and_tokens_of_its_own() -> None:
    """The prompts of LangGraph by OpenInference become longer with each turn, until the kind of a model is dropped."""
    spans: list[dict[str, Any]] = []
    for turn, answer in enumerate(("Shipped.", "Refunded.", "Welcome.")):
        around = {"openinference.span.kind": "CHAIN", "session.id": "s", "input.value": "?", "output.value": answer}
        said = {"llm.input_messages.0.message.content": "?", "output.value": "{}", "llm.token_count.prompt": 9}
        first, trace = 10 * turn + 1, {"traceId": f"{turn + 1:032x}"}
        spans += [span(first, around, endTimeUnixNano=str((first + 5) * 1000)) | trace]
        spans += [span(first + 1, {"openinference.span.kind": "LLM"} | said, parent=first) | trace]
    torn = span(22, {"llm.input_messages.0.message.content": "?", "output.value": "to the next step"}, parent=21)
    lost = read_one(*spans[:-1], torn | DROPPED | {"traceId": f"{3:032x}"})
    whole = read_one(*spans)

    assert (whole.output, whole.usage and whole.usage.input_tokens) == ("Welcome.", 27)
    assert (lost.output, lost.usage and lost.usage.input_tokens) == ("Welcome.", None)


def test_what_an_sdk_dropped_is_told_by_its_span_by_protobuf_and_by_jaeger(tmp_path: Path) -> None:
    provider, ended = TracerProvider(span_limits=SpanLimits(max_span_attributes=2)), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(ended))
    with provider.get_tracer("t").start_as_current_span("execute_tool find") as made:
        made.set_attributes(tool_attributes("ok"))
    spans = ended.get_finished_spans()
    sent = ParseDict(
        request(span(2, tool_attributes("ok"), name="execute_tool find") | DROPPED), ExportTraceServiceRequest()
    )
    (tmp_path / "spans.pb").write_bytes(sent.SerializeToString())
    tag = {"key": "otel.dropped_attributes_count", "type": "int64", "value": 1}
    named = {"key": "gen_ai.tool.name", "type": "string", "value": "find"}
    held = {"key": "gen_ai.tool.call.result", "type": "string", "value": "ok"}
    jaeger = {
        "traceID": "1" * 32,
        "spanID": "1" * 16,
        "operationName": "execute_tool find",
        "startTime": 1,
        "duration": 1,
    }
    document = {"data": [{"traceID": "1" * 32, "spans": [jaeger | {"tags": [named, held, tag]}], "processes": {}}]}

    for source in (spans, tmp_path / "spans.pb", document):
        [found] = read(source)
        assert (found.names, found.calls[0].unrecorded) == (("find",), frozenset({"args", "output"}))


def test_an_output_in_a_log_is_what_the_tool_returned_though_it_ends_inside_of_json() -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
    log = [
        says("?"),
        {"role": "assistant", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"a": '},
    ]

    assert read_messages(log).calls[0].output == '{"a": '


def test_an_answer_that_was_cut_off_inside_its_json_counts_as_not_recorded() -> None:
    def answered(text: str) -> Any:
        return read_one(span(1, AGENT | {"input.value": "?", "output.value": text}), call(2)).output

    assert answered('{"total": 12, "lines": [{"name": "hot') is None
    assert answered('{"total": 12}') == '{"total": 12}'
    assert answered("Paid {12.") == "Paid {12."


@for_each(
    ("asked", "is_known"),
    [
        ('[{"text": "Where is order 7? I bought', False),
        ('{"messages": [{"role": "user", "content', False),
        ("Where is order 7? I bought it a week ago", True),
        ("Where is order 7? I bought it on 4 Ju", False),
    ],
)
def test_a_question_that_was_cut_off_counts_as_not_recorded(asked: str, is_known: bool) -> None:
    """Strands, Haystack and LlamaIndex record what the user said inside of JSON, a limit of attributes cuts it off."""
    around = span(1, AGENT | {"input.value": asked, "output.value": "Shipped."}, **TIMES)
    found = read_one(around, tool_span(2, '{"rows": [{"name": "one", "amount": 1'))

    assert found.input == (asked if is_known else None)
    assert found.output == "Shipped."
    assert any(["a question seems to have been cut off" in each for each in found.warnings]) == (not is_known)


@for_each(
    ("given", "args"),
    [
        ({"input": '{"order_id": 7, "reason": "because it'}, None),
        ({"input": '{"order_id": 7, "reason": "because it"}'}, {"input": '{"order_id": 7, "reason": "because it"}'}),
        ({"text": '{"order_id": 7, "reason": "because it'}, {"text": '{"order_id": 7, "reason": "because it'}),
    ],
)
def test_arguments_that_were_cut_off_are_not_the_argument_that_stands_for_them(
    given: dict[str, str], args: dict[str, str] | None
) -> None:
    """OpenInference wraps arguments of Strands that it cannot parse: `{"input": "…"}`."""
    found = read_one(call(1, args=json.dumps(given), output="this one is as long as the cut one is"))

    assert found.calls[0].args == args
    assert ("args" in found.calls[0].unrecorded) == ("output" in found.calls[0].unrecorded) == (args is None)


def test_an_error_that_was_cut_off_inside_its_json_is_not_its_message() -> None:
    """Haystack's calls fail with an output that is an object."""
    cut = '{"error": "Failed to invoke Tool `find` with'
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    [found] = read_one(span(1, attributes, status={"code": 2, "message": cut})).calls

    assert found.error == "the tool failed; no message was recorded"


def tool_span(number: int, output: str, **more: Any) -> dict[str, Any]:
    return span(number, tool_attributes(output), **more)


def tool_attributes(output: str) -> dict[str, Any]:
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.result": output}


def test_a_graph_with_the_name_of_a_tool_is_no_call() -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "helper", "input.value": "{}", "output.value": "ok"}
    graph = {"openinference.span.kind": "CHAIN", "output.value": "ok"}

    found = read_one(span(1, tool, name="helper"), span(2, graph, name="helper", parent=1))
    assert (found.names, found.calls_recorded) == (("helper",), True)

    del graph["openinference.span.kind"]
    assert not read_one(span(1, tool, name="helper"), span(2, graph, name="helper", parent=1)).calls_recorded
