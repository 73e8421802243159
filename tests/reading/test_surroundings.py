"""What lies around a call: its agent, the call that made it, the calls beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading import corpus
from tests.reading.traces import call, request, span

from rightcall.reading import read, read_spans
from rightcall.values.trajectory import Trajectory

UNNAMED = ("haystack/", "mcp-sdk/", "raw-", "anthropic-tool-runner/", "llamaindex-", "mlflow-langgraph/", "vercel-ai/")
"""Recordings that have no name of an agent in them."""

GRAPHS = (
    "mlflow-manual/trip",
    "uipath/",
    "autogen-dup-native+oi/trip",
)
"""Likewise: graphs and functions that are not called agents, and calls whose agent is in another file."""


def one(*spans: dict[str, Any]) -> Trajectory:
    [trajectory] = read(request(*spans), grouping="file")
    return trajectory


def agent(number: int, name: str = "", **more: Any) -> dict[str, Any]:
    named = {"agent.name": name} if name else {}
    return span(number, {"openinference.span.kind": "AGENT", **named}, endTimeUnixNano="90000", **more)


@pytest.mark.parametrize("run", [name for name in corpus.names() if "otlp.json" in corpus.inputs(name)])
def test_every_call_of_a_recording_knows_its_agent_if_the_recording_does(run: str) -> None:
    [trajectory] = read(corpus.inputs(run)["otlp.json"])
    outer = "planner" if "/nested" in run or "/recursion" in run else "travel_agent"
    inner = {"google-adk": "research", "google-adk-openinference": "research"}.get(run.split("/")[0], "researcher")

    for made in trajectory.calls:
        if run.startswith((*UNNAMED, *GRAPHS)):
            assert made.agent in (None, "agent")
        elif made.parent_id and run.startswith("langgraph-openllmetry"):
            assert made.agent is None  # the graph inside of the tool has no name in the trace
        else:
            assert made.agent == (inner if made.parent_id else outer)


def test_the_agent_of_a_call_is_the_nearest_one_above_it_and_not_what_the_call_says() -> None:
    trajectory = one(
        agent(1, "triage"),
        span(2, {"http.route": "/"}, parent=1),
        agent(3, "billing", parent=2),
        span(4, parent=3, name="HTTP POST"),
        span(5, {"tool.name": "refund", "gen_ai.agent.name": "OpenAI Agent"}, parent=4),
        call(6, "lookup", parent=1),
    )

    assert [made.agent for made in trajectory.calls] == ["billing", "triage"]


def test_what_a_sub_agent_without_a_name_called_is_not_the_outer_agents() -> None:
    outer = agent(1, "planner")
    research = call(2, "research", parent=1, endTimeUnixNano="80000")
    model = span(3, {"openinference.span.kind": "LLM"}, parent=2)
    lookup = call(4, "lookup", parent=2)

    assert [made.agent for made in one(outer, research, model, lookup).calls] == ["planner", None]
    assert [made.agent for made in one(outer, research, lookup).calls] == ["planner", "planner"]


@pytest.mark.parametrize(
    ("parents", "known"),
    [
        ((None, None), True),
        (("beef", "beef"), True),
        ((None, "beef"), False),
        (("beef", "dead"), False),
    ],
)
def test_whether_a_call_was_made_inside_another_is_unknown_where_its_parent_got_lost(
    parents: tuple[str | None, str | None], known: bool
) -> None:
    held: list[dict[str, Any]] = [{"parentSpanId": parent * 4} if parent else {} for parent in parents]
    trajectory = one(
        span(1, {"gen_ai.operation.name": "invoke_agent"}, **held[0]),
        call(2, "first", parent=1),
        call(3, "second", **held[1]),
    )
    sure = parents[0] is None or known

    assert ["parent_id" in made.unrecorded for made in trajectory.calls] == [not sure, not known]
    assert [made.parent_id for made in trajectory.calls] == [None, None]


def handoff(**attributes: Any) -> dict[str, Any]:
    told = {"openinference.span.kind": "TOOL", "input.value": "triage", "output.value": "Billing desk", **attributes}
    return span(3, told, parent=1, name="handoff to Billing desk")


def test_a_hand_off_of_openai_agents_is_the_call_that_the_model_made() -> None:
    [made] = one(agent(1, "triage"), handoff()).calls

    assert (made.name, made.internal, made.agent) == ("transfer_to_billing_desk", True, "triage")
    assert made.unrecorded >= {"args", "output"}


def test_a_hand_off_that_messages_show_too_is_there_once() -> None:
    asked = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "transfer_to_billing_desk",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
    }
    trajectory = one(agent(1, "triage"), span(2, asked, parent=1), handoff(), call(4, "refund", parent=1))

    assert trajectory.names == ("transfer_to_billing_desk", "refund")
    assert (trajectory.calls[0].call_id, trajectory.calls[0].args) == ("call_1", {})


def test_a_hand_off_in_openai_agents_own_export_is_a_call() -> None:
    exported = {
        "object": "trace.span",
        "id": "span_1",
        "trace_id": "trace_1",
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:00:01Z",
        "span_data": {"type": "handoff", "from_agent": "triage", "to_agent": "billing"},
    }

    assert read_spans([exported]).names == ("transfer_to_billing",)


def exported(number: int, tool: str, output: Any, error: str = "", **args: Any) -> dict[str, Any]:
    """A call in the own export of OpenAI Agents, which shows nothing of what the model asked for."""
    data = {"type": "function", "name": tool, "input": json.dumps(args), "output": output, "mcp_data": None}
    times = {"started_at": f"2026-01-01T00:00:0{number}Z", "ended_at": f"2026-01-01T00:00:0{number}Z"}
    told = {"message": "Error running tool", "data": {"error": error}} if error else None
    ids = {"object": "trace.span", "id": f"span_{number}", "trace_id": "trace_1"}
    return {**ids, **times, "span_data": data, "error": told}


def test_a_call_in_openai_agents_own_export_that_only_asked_is_no_call() -> None:
    asked, paid = exported(1, "pay", None, order=1), exported(3, "pay", "paid", order=1)
    other = exported(2, "pay", None, order=2)

    assert [each.output for each in read_spans([asked, paid]).calls] == ["paid"]
    assert "a call of pay, which may have been made" in read_spans([asked, other, paid]).not_understood
    assert read_spans([other, paid]).names == ("pay", "pay")


def test_a_call_in_openai_agents_own_export_has_the_text_of_an_mcp_server_or_was_refused_by_a_guardrail() -> None:
    text = {"type": "text", "text": "3"}
    tripped = "Tool input guardrail ToolInputGuardrail triggered tripwire"
    found = read_spans([exported(1, "add", text), exported(2, "pay", None, tripped)])

    assert [(each.name, each.output) for each in found.calls] == [("add", "3")]
    assert [each.reason for each in found.withheld] == ["refused by a guardrail"]


def refused(is_error: bool) -> dict[str, Any]:
    result = {"name": "refund", "content": "amount exceeds order total 20", "call_id": "c1", "is_error": is_error}
    return {
        "openinference.span.kind": "LLM",
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "refund",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": '{"amount": 30}',
        "llm.input_messages.2.message.role": "function",
        "llm.input_messages.2.function.0": json.dumps(result),
    }


@pytest.mark.parametrize("is_error", [True, False])
def test_an_error_that_a_later_call_of_the_model_tells_is_one(is_error: bool) -> None:
    tool = call(2, "refund", '{"amount": 30}', "amount exceeds order total 20", parent=1)
    [made] = one(agent(1, "billing"), tool, span(3, refused(is_error), parent=1)).calls

    assert made.error == ("amount exceeds order total 20" if is_error else None)
    assert made.output == "amount exceeds order total 20"


def test_calls_that_overlapped_are_a_group_though_other_spans_or_threads_lie_between() -> None:
    long: dict[str, Any] = {"endTimeUnixNano": "9000"}
    within = [
        agent(1, "travel"),
        span(2, parent=1, **long),
        span(3, parent=1, **long),
        call(4, "flights", parent=2, **long),
        call(5, "hotels", parent=3, **long),
        call(20, "book", parent=1),
    ]
    threads = [agent(1, "travel"), call(4, "flights", parent=1, **long), call(5, "hotels", traceId="a" * 32, **long)]

    assert [made.group for made in one(*within).calls] == ["overlap-1", "overlap-1", None]
    assert [made.group for made in one(*threads).calls] == ["overlap-1", "overlap-1"]


def test_calls_of_two_agents_that_overlapped_were_not_asked_for_at_once() -> None:
    spans = [agent(1, "one"), agent(2, "two"), call(3, parent=1, endTimeUnixNano="9000"), call(4, parent=2)]

    assert [made.group for made in one(*spans).calls] == [None, None]


def test_a_call_that_outlived_the_agent_that_made_it_is_not_around_that_agent() -> None:
    slow = call(2, "slow", parent=3, endTimeUnixNano="95000")
    found = one(agent(3, "a"), slow, call(5, "quick", parent=3))

    assert [(call.name, call.parent_id, call.agent) for call in found.calls] == [
        ("slow", None, "a"),
        ("quick", None, "a"),
    ]


def test_a_model_whose_span_is_called_after_an_agent_names_that_agent() -> None:
    model = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "a"}
    found = one(span(1, model, name="invoke_agent a", endTimeUnixNano="90000"), call(5, parent=1))

    assert [call.agent for call in found.calls] == ["a"]
