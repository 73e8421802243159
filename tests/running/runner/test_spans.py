"""Spans of cases are handed over as they were recorded, and cost no case its result."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.running.agents.test_commands import SENDER
from tests.running.agents.test_endpoints import served
from tests.running.runner.running import finished_of

from rightcall import InputError, Trajectory
from rightcall.running.runner import CaseFinished, CaseJob, _worker
from rightcall.running.runner._case_record import MAX_MESSAGE, Done, FrameReader, frame, parse_reply, plain
from rightcall.values.decoding import dump_line, load_json
from rightcall.values.trajectory import RawSpan

AGENT = """
import asyncio
from opentelemetry import trace
from rightcall.running.tracing import tool

@tool
def note(text: str) -> str:
    return text

@tool
async def ask(text: str) -> str:
    await asyncio.sleep(0.001)
    return text

def echo(input):
    with trace.get_tracer("framework").start_as_current_span("agent", attributes={"model": "m"}):
        return note(str(input))

async def wait(input):
    return [await ask(f"{input} first"), await ask(f"{input} second")]

def fail(input):
    note("before")
    raise ValueError("no")

def spoil(input):
    note("good")
    with trace.get_tracer("x").start_as_current_span("odd") as odd:
        odd._attributes = {"odd": object()}
    with trace.get_tracer("x").start_as_current_span("worse") as worse:
        worse._events = [object()]
        worse._kind = object()
    return "done"

def swell(input):
    for number in range(20):
        with trace.get_tracer("x").start_as_current_span("model", attributes={"text": "x" * 40_000}):
            pass
    return "x" * input

def chatter(input):
    note("a call")
    for number in range(200):
        with trace.get_tracer("x").start_as_current_span("model", attributes={"text": "x" * 40_000}):
            pass
    note("another")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def ended(project: Path, agent: str, *turns: Any) -> CaseFinished:
    """How a case ended whose spans were asked for."""
    job = CaseJob(case_id="c", turns=turns, is_conversation=len(turns) > 1)
    return finished_of(agent, [job], project, spans=True)["c"]


def spans_of(event: CaseFinished) -> list[RawSpan]:
    assert event.spans is not None
    return list(event.spans.by_id().values())


def called(event: CaseFinished) -> list[str | None]:
    """The ids of the spans of its calls."""
    assert event.trajectory is not None
    return [call.span_id for call in event.trajectory.calls]


def test_every_span_is_there_and_calls_name_theirs(project: Path) -> None:
    event = ended(project, "agent.py:echo", 5)

    agent, note = spans_of(event)
    assert (agent.name, agent.scope, agent.attributes) == ("agent", "framework", {"model": "m"})
    assert (note.name, note.parent_id, note.attributes["input.value"]) == ("note", agent.span_id, '{"text": "5"}')
    assert called(event) == [note.span_id]
    assert event.spans is not None
    assert event.spans.left_out == 0


def test_nobody_who_did_not_ask_gets_spans(project: Path) -> None:
    [event] = finished_of("agent.py:echo", [CaseJob(case_id="c", turns=(5,))], project).values()

    assert event.spans is None


def test_cases_at_once_have_their_own_spans(project: Path) -> None:
    jobs = [CaseJob(case_id=f"c{number}", turns=(f"c{number}",)) for number in range(40)]

    finished = finished_of("agent.py:wait", jobs, project, spans=True, workers=1)

    for case_id, event in finished.items():
        said = [json.loads(span.attributes["input.value"])["text"] for span in spans_of(event)]
        assert said == [f"{case_id} first", f"{case_id} second"]
        assert [span.span_id for span in spans_of(event)] == called(event)


def test_turns_of_a_conversation_are_kept_together(project: Path) -> None:
    event = ended(project, "agent.py:echo", 1, 2, 3)

    assert [span.name for span in spans_of(event)] == ["agent", "note"] * 3


def test_an_agent_that_raises_leaves_its_spans(project: Path) -> None:
    event = ended(project, "agent.py:fail", 1)

    assert event.outcome.cause == "raised"
    assert [span.name for span in spans_of(event)] == ["note"]


def test_spans_that_an_agent_has_spoilt_are_counted_and_the_others_are_there(project: Path) -> None:
    event = ended(project, "agent.py:spoil", 1)

    assert "good" in [span.attributes.get("output.value") for span in spans_of(event)]
    assert event.spans is not None
    assert event.spans.left_out >= 1


def test_where_spans_make_a_message_too_long_it_goes_without_them(project: Path) -> None:
    event = ended(project, "agent.py:swell", MAX_MESSAGE - 400_000)

    assert event.outcome.error is None
    assert event.trajectory is not None
    assert len(event.trajectory.output) == MAX_MESSAGE - 400_000
    assert event.spans is not None
    assert (event.spans.text, event.spans.left_out) == ("[]", 20)


def test_of_too_many_spans_those_of_calls_are_there(project: Path) -> None:
    event = ended(project, "agent.py:chatter", 1)

    found = [span.span_id for span in spans_of(event)]
    assert set(called(event)) < set(found)
    assert event.spans is not None
    assert len(found) + event.spans.left_out == 202
    assert len(event.spans.text) <= 1 << 20


def test_a_command_has_the_spans_it_sent(project: Path) -> None:
    text = SENDER + "send(document(span('b', 2)))\nsend(document(span('b', 2), span('a', 1)))\nprint('done')"
    (project / "program.py").write_text(text)

    event = ended(project, f"cmd:{sys.executable} program.py", "x")

    found = {span.span_id: span for span in spans_of(event)}
    assert [found[str(span_id)].name for span_id in called(event)] == ["a", "b"]
    assert found[str(called(event)[0])].attributes["input.value"] == '{"n": 1}'
    assert len(found) == 2


def test_a_command_that_sends_what_is_no_spans_is_judged_as_ever(project: Path) -> None:
    messages = json.dumps([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}])
    text = f"import json\nprint(json.dumps({{'output': 1, 'messages': {messages}, 'spans': {{'resourceSpans': []}}}}))"
    (project / "program.py").write_text(text)
    plain = finished_of(f"cmd:{sys.executable} program.py", [CaseJob(case_id="c", turns=(1,))], project)["c"]

    event = ended(project, f"cmd:{sys.executable} program.py", 1)

    assert event.trajectory is not None
    assert plain.trajectory is not None
    assert replace(event.trajectory, usage=plain.trajectory.usage) == plain.trajectory
    assert event.outcome.error == plain.outcome.error
    assert spans_of(event) == []


def test_an_endpoint_has_the_spans_it_sent(project: Path) -> None:
    def respond(handler: BaseHTTPRequestHandler, said: Any) -> tuple[int, dict[str, str], bytes]:
        attributes = [{"key": "tool.name", "value": {"stringValue": "look"}}]
        trace = handler.headers["traceparent"].split("-")[1]
        span = {"traceId": trace, "spanId": "0" * 15 + "1", "name": "x", "kind": 3, "attributes": attributes}
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
        request = urllib.request.Request(handler.headers["x-rightcall-otlp-endpoint"] + "/v1/traces", body)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10):
            return 200, {}, b"done"

    with served(respond) as url:
        event = ended(project, url, "x")

    [span] = spans_of(event)
    assert (span.name, span.kind, span.attributes) == ("x", "client", {"tool.name": "look"})
    assert called(event) == [span.span_id]


@pytest.mark.parametrize("text", ['[], "case_id": "other"', "[]\n", "{}", "[" + "1," * (1 << 20) + "1]", "\ud800"])
def test_a_worker_has_no_word_for_more_than_its_own_spans(text: str) -> None:
    said = {"is": "done", "number": 1, "seconds": 0.0, "cause": "died", "error": "x"}

    assert isinstance(parse_reply(dump_line({**said, "spans": {"text": "[]", "left_out": 0}})), Done)
    with pytest.raises(InputError):
        parse_reply(dump_line({**said, "spans": {"text": text, "left_out": 0}}))


SUBCLASSES = """
import decimal, enum
from opentelemetry import trace
from rightcall.running.tracing import tool

class Text(str): pass
class Number(int): pass
class Share(float): pass
class Kind(str, enum.Enum):
    TOOL = "TOOL"

@tool
def search(query: str) -> object:
    return Text("found")

def answer(query: str) -> object:
    search(Text(query))
    with trace.get_tracer("other").start_as_current_span(Text("span")) as span:
        span.set_attribute(Text("output.value"), Text("done"))
        span.set_attribute("number", Number(7))
        span.set_attribute("share", Share(0.5))
        span.set_attribute("kind", Kind.TOOL)
        span.set_attribute("list", [Text("a"), Text("b")])
        span.add_event(Text("event"), {Text("key"): Text("value")})
        span.set_status(trace.StatusCode.ERROR, Text("wrong"))
    return {Text("key"): [Text("done"), Number(3)]}
"""


def test_values_of_classes_of_an_agents_own_end_no_worker(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(SUBCLASSES)

    [event] = finished_of("agent.py:answer", [CaseJob(case_id="a", turns=("x",))], tmp_path, spans=True).values()

    assert event.outcome.error is None
    assert event.trajectory is not None
    assert event.trajectory.output == {"key": ["done", 3]}
    assert [(call.name, call.args, call.output) for call in event.trajectory.calls] == [
        ("search", {"query": "x"}, "found")
    ]


class Stranger:
    pass


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (type("Text", (str,), {})("x"), "x"),
        (type("Number", (int,), {})(7), 7),
        ([type("Text", (str,), {})("x")], ["x"]),
        (Stranger(), "<Stranger>"),
        ({1, 2}, [1, 2]),
    ],
    ids=["text", "number", "list", "anything", "set"],
)
def test_a_worker_can_say_whatever_it_was_given(value: object, told: object) -> None:
    said = Done(number=1, seconds=0.0, trajectory=Trajectory(output=value))

    [message] = FrameReader(load_json).add(frame(plain(said)))

    assert message["trajectory"]["output"] == told


def test_what_a_worker_cannot_say_is_told_as_a_defect_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    inward, outward = os.pipe()
    channel = _worker.Channel(os.dup(inward), outward)
    monkeypatch.setattr(_worker, "plain", lambda said: 1 / 0 if said.trajectory is not None else plain(said))

    channel.finish(Done(number=1, seconds=0.0, trajectory=Trajectory()))

    [message] = FrameReader(load_json).add(os.read(inward, 1 << 16))
    assert message["cause"] == "output"
    assert message["error"] == (
        "Rightcall could not keep what the agent did, which is a bug in Rightcall: ZeroDivisionError: division by zero"
    )
