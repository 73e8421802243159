"""Traces of Langfuse, as its pages, its API and its exports give them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading import corpus
from tests.reading.traces import TRACE
from tests.walls import for_each

from rightcall.reading import read
from rightcall.reading.formats._containers import items_of
from rightcall.reading.formats._platforms import is_langfuse, langfuse_spans
from rightcall.reading.spans import UNREADABLE, Span
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


def test_a_trace_of_a_page_has_its_texts_as_json() -> None:
    told = {"input": '"Refund order 7"', "output": '"Done."'}

    page = only(trace(ROOT, TOOL, **told, metadata="{}"))
    api = only(trace(ROOT, TOOL, **told, metadata={}))
    odd = only(trace(ROOT, TOOL, input='"Refund', output="Done.", metadata="{}"))

    assert (page.input, page.output) == ("Refund order 7", "Done.")
    assert (api.input, api.output) == ('"Refund order 7"', '"Done."')
    assert (odd.input, odd.output) == ('"Refund', "Done.")


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


OWN = "langfuse.observation."
EXECUTED = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}


def known(**held: Any) -> dict[str, Any]:
    """Attributes with Langfuse's own names."""
    return {f"{OWN}{key.replace('__', '.')}": value for key, value in held.items()}


@for_each(
    ("held", "attributes"),
    [
        ({}, known(type="span")),
        ({"type": "ODD"}, {**known(type="odd"), UNREADABLE: "an observation of the type 'ODD'"}),
        ({"type": 3}, {**known(type=""), UNREADABLE: "an observation of the type 3"}),
        ({"type": "TOOL", "input": {"x": 1}, "output": "ok"}, known(type="tool", input={"x": 1}, output="ok")),
        (
            {"input": {"x": 1}, "metadata": {"tool_name": "look"}},
            {"tool.name": "look", "input.value": {"x": 1}, **known(type="span", metadata__tool_name="look")},
        ),
        (
            {"type": "GENERATION", "metadata": {"tool_name": "look"}},
            known(type="generation", metadata__tool_name="look"),
        ),
        (
            {"output": {"type": "tool", "tool_call_id": "1"}},
            known(type="tool", output={"type": "tool", "tool_call_id": "1"}),
        ),
        ({"output": {"type": "tool"}}, known(type="span", output={"type": "tool"})),
        (
            {"output": {"type": "odd", "tool_call_id": "1"}},
            known(type="span", output={"type": "odd", "tool_call_id": "1"}),
        ),
        (
            {"metadata": {"k": "v", "n": 1, "o": {}, "scope": "x", "attributes": {"y": 2, "z": None}}},
            {"y": 2, **known(type="span", metadata__k="v", metadata__n=1)},
        ),
        ({"sessionId": "s"}, {"langfuse.session.id": "s", **known(type="span")}),
        (
            {"type": "GENERATION", "usageDetails": {"input": 1, "output": 2}},
            {"gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 2, **known(type="generation")},
        ),
        (
            {"type": "GENERATION", "usage": {"promptTokens": 1, "completion_tokens": "2"}},
            {"gen_ai.usage.input_tokens": 1, **known(type="generation")},
        ),
        (
            {"type": "GENERATION", "toolCalls": ['{"name": "a"}', 3]},
            known(type="generation", tool_calls=[{"role": "assistant", "tool_calls": [{"name": "a"}, 3]}]),
        ),
        ({"type": "GENERATION", "tool_calls": []}, known(type="generation")),
        (
            {"metadata": {"attributes": EXECUTED}, "input": {"x": 1}, "output": "ok"},
            {**EXECUTED, "gen_ai.tool.call.arguments": {"x": 1}, "gen_ai.tool.call.result": "ok"},
        ),
        (
            {"metadata": {"attributes": {**EXECUTED, "gen_ai.tool.call.arguments": "own"}}, "input": {"x": 1}},
            {**EXECUTED, "gen_ai.tool.call.arguments": "own"},
        ),
    ],
)
def test_what_an_observation_says_as_the_attributes_of_a_span(held: dict[str, Any], attributes: dict[str, Any]) -> None:
    [found] = langfuse_spans(observation(2, "SPAN") | held)

    shown = {key: found.attributes.get(key) for key in found.attributes}
    assert shown == {**attributes, f"{OWN}level": "DEFAULT", f"{OWN}status_message": None}


def test_an_observation_failed_where_its_level_says_so() -> None:
    def status(**held: Any) -> tuple[bool, str, str]:
        [found] = langfuse_spans(observation(2, "SPAN", **held))
        return found.failed, found.description, found.scope

    assert status() == (False, "", "")
    assert status(level="ERROR", statusMessage="no") == (True, "no", "")
    assert status(level="WARNING", status_message="hm") == (False, "hm", "")
    assert status(metadata={"scope": {"name": "s"}}) == (False, "", "s")
    assert status(metadata='{"scope": {"name": "s"}}') == (False, "", "s")
    assert status(metadata={"scope": {"name": "langfuse-sdk"}}) == (False, "", "")


@for_each("key", ["statusMessage", "status_message"])
def test_the_message_of_a_call_that_failed_is_read_in_both_spellings(key: str) -> None:
    told = {key_: held for key_, held in observation(2, "TOOL", "look").items() if key_ != "statusMessage"}
    [found] = read(trace(observation(1, "AGENT", parent=None), {**told, "level": "ERROR", key: "no such order"}))

    assert [call.error for call in found.calls] == ["no such order"]


def test_a_trace_tells_its_only_root_what_the_root_does_not_know() -> None:
    about: dict[str, Any] = {"input": "Go.", "output": "Gone.", "sessionId": "s", "metadata": {"m": 1, "o": {}}}
    about["scores"] = [{"name": "q", "value": 0}, {"name": "r", "stringValue": "good"}, 3]
    told = {"langfuse.trace.metadata.m": 1, "scores": {"q": 0, "r": "good"}}

    def spans(*observations: dict[str, Any]) -> list[tuple[Any, ...]]:
        found = list(langfuse_spans(trace(*observations, **about)))
        keys = (f"{OWN}input", f"{OWN}output", "langfuse.session.id")
        return [
            (*[each.attributes.get(key) for key in keys], told.items() <= dict(each.attributes).items())
            for each in found
        ]

    root, inner = observation(1, "SPAN", parent=None), observation(2, "SPAN")
    assert spans() == [("Go.", "Gone.", "s", True)]
    assert spans(root, inner) == [("Go.", "Gone.", "s", True), (None, None, "s", False)]
    assert spans({**root, "input": "own"}) == [("own", "Gone.", "s", True)]
    assert spans(root, observation(3, "SPAN", parent=None)) == [(None, None, "s", True)] * 2


@for_each(
    ("document", "is_known"),
    [
        (observation(1, "SPAN"), True),
        ({"id": "1", "type": "SPAN", "traceId": "t", "startTime": "x"}, True),
        ({"id": "1", "type": "span", "trace_id": "t", "start_time": "x"}, True),
        ({"id": "1", "type": "ODD", "traceId": "t", "startTime": "x"}, False),
        ({"id": "1", "type": "SPAN", "traceId": "", "startTime": "x"}, False),
        ({"id": "1", "type": "SPAN", "traceId": "t"}, False),
        ({"type": "SPAN", "traceId": "t", "startTime": "x"}, False),
        ({"parent_observation_id": None}, True),
        (trace(), True),
        (trace(observation(1, "SPAN")), True),
        ({"observations": []}, False),
        ({"observations": [{"odd": 1}]}, False),
        ({"observations": ["odd"]}, False),
        ({"observations": [{"odd": 1}, observation(1, "SPAN")]}, True),
        ({"id": "1", "timestamp": "x", "sessionId": None, "observations": []}, True),
        ({"id": "1", "timestamp": "x", "observations": []}, False),
        ({"id": "1", "sessionId": None, "observations": []}, False),
        ({"id": "1", "timestamp": "x", "sessionId": None}, False),
        ([trace()], False),
    ],
)
def test_what_tells_a_trace_of_langfuse(document: Any, is_known: bool) -> None:
    assert is_langfuse(document) is is_known
