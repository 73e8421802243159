"""Traces of Langfuse, as its pages, its API and its exports give them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading import corpus
from tests.reading.traces import TRACE

from rightcall.reading import read
from rightcall.reading.formats._containers import items_of
from rightcall.reading.spans import Span
from rightcall.values.trajectory import Trajectory


def observation(number: int, kind: str, name: str = "step", parent: int | None = 1, **more: Any) -> dict[str, Any]:
    """An observation as the API returns it, that starts at its number in seconds."""
    return {
        "id": f"{number:016x}",
        "traceId": TRACE,
        "type": kind,
        "name": name,
        "startTime": f"2025-03-01T10:00:{number:02}.000Z",
        "endTime": f"2025-03-01T10:00:{number:02}.500Z",
        "parentObservationId": None if parent is None else f"{parent:016x}",
        "level": "DEFAULT",
        "statusMessage": None,
        "input": None,
        "output": None,
        "metadata": {},
        **more,
    }


def trace(*observations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A trace as the button of its page saves it."""
    about = {"id": TRACE, "projectId": "p", "name": "run", "timestamp": "2025-03-01T10:00:00.000Z", "sessionId": None}
    return {"trace": {**about, **more}, "observations": list(observations)}


ROOT = observation(1, "AGENT", "shop", None)
TOOL = observation(3, "TOOL", "refund", input={"order": 7}, output="done", metadata={"tool_call_id": "c1"})


def only(document: Any) -> Trajectory:
    [trajectory] = read(json.dumps(document).encode())
    return trajectory


def shown(trajectory: Trajectory) -> list[tuple[Any, ...]]:
    return [(call.name, call.args, call.output) for call in trajectory.calls]


def asked(call_id: str = "c1") -> dict[str, Any]:
    """What a model of LangChain returned, as Langfuse's handler writes it."""
    call = {"id": call_id, "type": "function", "function": {"name": "refund", "arguments": '{"order": 7}'}}
    return {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [call], "refusal": None}}


def test_a_tool_observation_is_a_call() -> None:
    made = only(trace(ROOT, TOOL))

    assert shown(made) == [("refund", {"order": 7}, "done")]
    assert made.calls[0].call_id == "c1"
    assert made.trace_id == TRACE


@pytest.mark.parametrize(
    "form",
    [
        lambda found: found,
        lambda found: {**found["trace"], "observations": found["observations"], "scores": []},
        lambda found: {"data": found["observations"], "meta": {"page": 1}},
        lambda found: found["observations"],
        lambda found: {"data": [{**found["trace"], "observations": found["observations"]}], "meta": {}},
    ],
    ids=["page", "GET traces/{id}", "GET observations", "observations", "traces"],
)
def test_every_answer_holds_the_same_calls(form: Any) -> None:
    assert shown(only(form(trace(ROOT, TOOL)))) == [("refund", {"order": 7}, "done")]


def test_an_export_of_observations_in_lines_and_snake_case_is_read() -> None:
    line = {
        "id": "a",
        "trace_id": TRACE,
        "type": "TOOL",
        "name": "refund",
        "start_time": "2025-03-01 10:00:00.000000",
        "parent_observation_id": "",
        "input": '{"order": 7}',
        "output": '"done"',
        "metadata": "{}",
        "level": "DEFAULT",
    }
    [made] = read(b"\n".join([json.dumps(line).encode(), json.dumps({**line, "id": "b"}).encode()]))

    assert shown(made) == [("refund", {"order": 7}, "done")] * 2


def test_an_observation_of_level_error_is_a_call_that_failed() -> None:
    [call] = only(trace(ROOT, {**TOOL, "level": "ERROR", "statusMessage": "no such order", "output": None})).calls

    assert call.error == "no such order"


def test_a_span_of_a_tool_of_langchain_is_known_by_its_message() -> None:
    message = {"type": "tool", "content": "done", "tool_call_id": "c1", "name": "refund"}
    model = observation(2, "GENERATION", "ChatOpenAI", input=[{"role": "user", "content": "Refund"}], output=asked())
    span = observation(3, "SPAN", "refund", input="{'order': 7}", output=message)

    [call] = only(trace(ROOT, model, span)).calls

    assert (call.name, call.args, call.output, call.call_id) == ("refund", {"order": 7}, "done", "c1")


def test_calls_are_known_by_the_messages_of_generations_alone() -> None:
    question = {"role": "user", "content": "Refund"}
    answer = {"role": "tool", "content": "done", "tool_call_id": "c1"}
    first = observation(2, "GENERATION", "model", input=[question], output=asked())
    second = observation(
        4, "GENERATION", "model", input=[question, asked(), answer], output={"role": "assistant", "content": "Done."}
    )

    made = only(trace(ROOT, first, observation(3, "SPAN", "refund", input={"x": 1}), second))

    assert shown(made) == [("refund", {"order": 7}, "done")]
    assert made.output == "Done."


def test_a_span_whose_metadata_name_a_tool_is_a_call() -> None:
    span = observation(3, "SPAN", "step", input={"order": 7}, output="done", metadata={"tool_name": "refund"})

    assert shown(only(trace(ROOT, span))) == [("refund", {"order": 7}, "done")]


def test_calls_that_langfuse_counted_and_no_message_shows_are_calls() -> None:
    call = json.dumps({"id": "c1", "name": "refund", "arguments": '{"order": 7}', "type": "function"})
    model = observation(2, "GENERATION", "model", input="Refund", output=None, toolCalls=[call])

    [made] = only(trace(ROOT, model)).calls

    assert (made.name, made.args) == ("refund", {"order": 7})


def test_a_generation_of_text_alone_made_no_call() -> None:
    model = observation(
        2,
        "GENERATION",
        "model",
        input=[{"role": "user", "content": "Hi"}],
        output={"role": "assistant", "content": "Hi"},
    )
    made = only(trace(ROOT, model, input="Hi", output="Hi"))

    assert made.calls_recorded
    assert made.calls == ()
    assert (made.input, made.output) == ("Hi", "Hi")


def test_a_root_that_says_nothing_was_asked_and_answers_what_its_trace_was() -> None:
    made = only(trace(ROOT, TOOL, input="Refund order 7.", output="Done."))
    other = only(trace({**ROOT, "input": "Refund it.", "output": "It is done."}, TOOL, input="Refund?", output="Done."))

    assert (made.input, made.output) == ("Refund order 7.", "Done.")
    assert (other.input, other.output) == ("Refund it.", "It is done.")


def test_a_trace_without_observations_cannot_show_calls() -> None:
    assert not only(trace()).calls_recorded


@pytest.mark.parametrize("told", ["trace", "observation"])
def test_traces_of_one_session_are_one_run(told: str) -> None:
    def turn(number: int, session: str) -> dict[str, Any]:
        name, known = f"{number:032x}", {"sessionId": session}
        root = observation(10 * number, "AGENT", "shop", None, traceId=name, endTime=f"2025-03-01T10:00:{number}9.000Z")
        tool = observation(10 * number + 1, "TOOL", "refund", 10 * number, traceId=name, input={"order": number})
        return trace(root, {**tool, **known}, id=name) if told == "observation" else trace(root, tool, id=name, **known)

    made = read(json.dumps([turn(1, "s1"), turn(2, "s2"), turn(3, "s1")]).encode())

    assert [[call.args for call in run.calls] for run in made] == [[{"order": 1}, {"order": 3}], [{"order": 2}]]


KINDS = {"chat": "GENERATION", "generate_content": "GENERATION", "execute_tool": "TOOL", "invoke_agent": "AGENT"}


def as_observation(span: Span) -> dict[str, Any]:
    """A span as Langfuse stores it: `input.value` and the like are taken out of its attributes."""
    attributes = {key: span.attributes.get(key) for key in span.attributes}
    own = attributes.get("langfuse.observation.type", attributes.get("openinference.span.kind", ""))
    kind = str(own).upper().replace("LLM", "GENERATION")
    given, returned = (attributes.pop(f"{side}.value", None) for side in ("input", "output"))
    return {
        "id": span.span_id,
        "traceId": span.trace_id,
        "parentObservationId": span.parent_id,
        "type": kind or KINDS.get(str(attributes.get("gen_ai.operation.name")), "SPAN"),
        "name": span.name,
        "startTime": span.start_ns,
        "endTime": span.end_ns,
        "level": "ERROR" if span.failed else "DEFAULT",
        "statusMessage": span.description,
        "input": given,
        "output": returned,
        "metadata": {"attributes": attributes, "scope": {"name": span.scope}},
    }


@pytest.mark.parametrize(
    "run",
    [
        "vercel-ai/trip-v6",
        "pydantic-ai/trip-pkg2-fmt5",
        "crewai-openinference/trip",
        "langgraph-dup-oi+openllmetry/trip-react",
        "langfuse-langgraph/trip",
        "google-adk/nested-1.14.1",
    ],
)
def test_a_run_of_opentelemetry_is_the_same_in_langfuse(run: str) -> None:
    document = json.loads(corpus.inputs(run)["otlp.json"])
    stored = [as_observation(item) for item in items_of(document) if isinstance(item, Span)]

    assert [shown(made) for made in read({"trace": {"id": "t"}, "observations": stored})] == [
        shown(made) for made in read(document)
    ]
