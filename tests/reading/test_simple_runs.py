"""Runs that are read without a tree of spans, against the same runs built from their spans."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.reading.changes import Document, spans, written
from tests.reading.corpus import recordings
from tests.reading.differential import (
    TOLD,
    counted,
    differing,
    mutants,
    plain_calls,
    plain_run,
    read_by_spans,
    read_directly,
)

from rightcall import read
from rightcall.limits import DEFAULT_LIMITS
from rightcall.reading.runs import Kept, Warnings
from rightcall.reading.runs._simple_runs import SimpleRuns
from rightcall.reading.sources._document_reader import DocumentReader
from rightcall.reading.sources._run_collector import RunCollector

Edit = Callable[[list[dict[str, Any]]], None]


def _set(span: dict[str, Any], key: str, held: Any) -> None:
    span["attributes"] = [each for each in span["attributes"] if each["key"] != key]
    if held is not None:
        span["attributes"].append({"key": key, "value": held if isinstance(held, dict) else {"stringValue": held}})


def _ask(held: list[dict[str, Any]]) -> None:
    _set(held[0], "input.value", "Hi?")
    _set(held[0], "output.value", "Ho")


def _make_agent(span: dict[str, Any], name: str = "helper") -> None:
    """Make an agent of a call, and leave nothing of the call: a span that is named like one is not read directly."""
    span.update(name="agent", attributes=[])
    _set(span, "gen_ai.operation.name", "invoke_agent")
    _set(span, "gen_ai.agent.name", name)


def _put_agent_in_call(held: list[dict[str, Any]]) -> None:
    _make_agent(held[2])
    held[2]["parentSpanId"] = held[1]["spanId"]


def _put_agent_beside_call(held: list[dict[str, Any]]) -> None:
    _make_agent(held[3])
    held[2].update(startTimeUnixNano=held[3]["startTimeUnixNano"][:-3] + "100")
    held[1].update(endTimeUnixNano=held[4]["endTimeUnixNano"])


def _put_agents_in_a_row(held: list[dict[str, Any]], *names: str) -> None:
    held[0].update(name="POST /chat", attributes=[])
    for at, name in zip((1, 3), names, strict=True):
        _make_agent(held[at], name)


def _fail(span: dict[str, Any]) -> None:
    _set(span, "gen_ai.tool.call.result", None)
    span.update(status={"code": 2, "message": "boom"})


def _overlap(held: list[dict[str, Any]]) -> None:
    held[1].update(endTimeUnixNano=held[2]["endTimeUnixNano"])
    held[3].update(endTimeUnixNano=held[4]["endTimeUnixNano"])


def _put_server_around(held: list[dict[str, Any]]) -> None:
    begin, end = int(held[0]["startTimeUnixNano"]) - 500, int(held[0]["endTimeUnixNano"]) + 500
    times = {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(end)}
    held[0]["parentSpanId"] = "00f067aa0ba902b7"
    held.append(
        {**held[0], "spanId": "00f067aa0ba902b7", "parentSpanId": "", "name": "POST", "attributes": [], **times}
    )


def _move_output(made: dict[str, Any]) -> None:
    """A failed call of the Vercel SDK whose output has the name of a later version."""
    marks = {"ai.toolCall.name": "search", "ai.toolCall.args": "{}", "ai.toolCall.output": '"none"'}
    attributes = [{"key": key, "value": {"stringValue": held}} for key, held in marks.items()]
    made.update(attributes=attributes, status={"code": 2, "message": "boom"})


def _leave_calls(held: list[dict[str, Any]]) -> None:
    del held[0]
    for call in held:
        call["parentSpanId"] = ""


def _leave_calls_of_two_traces(held: list[dict[str, Any]]) -> None:
    _leave_calls(held)
    held[1].update(traceId="9" * 32)


def _leave_calls_at_once(held: list[dict[str, Any]]) -> None:
    _leave_calls(held)
    held[0].update(endTimeUnixNano=held[1]["endTimeUnixNano"])


def _leave_calls_of_which_one_failed(held: list[dict[str, Any]]) -> None:
    _leave_calls(held)
    _fail(held[1])


def _leave_a_call_without_an_id(held: list[dict[str, Any]]) -> None:
    del held[2:]
    _leave_calls(held)
    held[0].pop("spanId")


def _tell_one_id_in_outputs(held: list[dict[str, Any]]) -> None:
    """Leave no ids of calls but those in messages of LangChain, which are the outputs of two of them."""
    for span in held[1:]:
        _set(span, "gen_ai.tool.call.id", None)
    for span in held[1:3]:
        message = {"type": "tool", "content": "ok", "tool_call_id": "c1"}
        _set(span, "gen_ai.tool.call.result", json.dumps(message))


def _put_one_twice_beside(held: list[dict[str, Any]]) -> None:
    held[4].update(name="GET", attributes=[])
    held.append({**held[4], "name": "PUT"})


def _let_a_model_answer(held: list[dict[str, Any]]) -> None:
    """As Logfire records it, which is an answer only of a model."""
    held[4].update(name="chat", attributes=[])
    _set(held[4], "gen_ai.operation.name", "chat")
    _set(held[4], "response", '"Ho"')


SIMPLE: dict[str, Edit] = {
    "an answer of a model": _let_a_model_answer,
    "as it is": lambda held: None,
    "out of order": lambda held: held.reverse(),
    "a case named by the root": lambda held: _set(held[0], "rightcall.case.id", "c1"),
    "a question and an answer": lambda held: _ask(held),
    "tokens of the agent": lambda held: _set(held[0], "gen_ai.usage.input_tokens", {"intValue": "12"}),
    "an error as text": lambda held: _set(held[1], "gen_ai.tool.call.result", "Error: no such city"),
    "an overlap": lambda held: held[1].update(endTimeUnixNano=held[3]["endTimeUnixNano"]),
    "a failure": lambda held: held[1].update(status={"code": 2, "message": "boom"}),
    "a type of error": lambda held: _set(held[1], "error.type", "ValueError"),
    "a failure without a message": lambda held: held[1].update(status={"code": 2}),
    "a failure instead of an output": lambda held: _fail(held[1]),
    "two pairs at once": lambda held: _overlap(held),
    "a span of a server in place of the agent": lambda held: held[0].update(name="POST /chat", attributes=[]),
    "a span of a server around the agent": lambda held: _put_server_around(held),
    "calls without an agent": lambda held: _leave_calls(held),
}
"""Changes after which a run is still read directly."""

OTHER: dict[str, Edit] = {
    "a tie": lambda held: held[2].update(startTimeUnixNano=held[1]["startTimeUnixNano"]),
    "a call in a call": lambda held: held[2].update(parentSpanId=held[1]["spanId"]),
    "an agent beside a call that may have started it": lambda held: _put_agent_beside_call(held),
    "an agent in a call": lambda held: _put_agent_in_call(held),
    "agents one after the other": lambda held: _put_agents_in_a_row(held, "shop", "billing"),
    "one agent that is asked twice": lambda held: _put_agents_in_a_row(held, "shop", "shop"),
    "no start": lambda held: held[1].pop("startTimeUnixNano"),
    "no end": lambda held: held[0].pop("endTimeUnixNano"),
    "no id": lambda held: held[1].pop("spanId"),
    "no id of a span that is no call": lambda held: held[4].update(name="GET", attributes=[], spanId=""),
    "an id of two spans that are no calls": lambda held: _put_one_twice_beside(held),
    "an id twice": lambda held: held[1].update(spanId=held[2]["spanId"]),
    "one id of two calls, in their outputs": lambda held: _tell_one_id_in_outputs(held),
    "a lost parent": lambda held: held[1].update(parentSpanId="00f067aa0ba902b7"),
    "two roots": lambda held: held[1].update(parentSpanId=""),
    "a parent of zeros": lambda held: held[1].update(parentSpanId="0" * 16),
    "a root that is its own parent": lambda held: held[0].update(parentSpanId=held[0]["spanId"]),
    "an event": lambda held: held[1].update(events=[{"name": "exception", "attributes": []}]),
    "no arguments": lambda held: _set(held[1], "gen_ai.tool.call.arguments", None),
    "arguments that are not an object": lambda held: _set(held[1], "gen_ai.tool.call.arguments", "[1]"),
    "arguments that are not JSON": lambda held: _set(held[1], "gen_ai.tool.call.arguments", "{'a"),
    "no output": lambda held: _set(held[1], "gen_ai.tool.call.result", None),
    "a failure beside an output under another key": lambda held: _move_output(held[1]),
    "a made-up output": lambda held: _set(held[1], "gen_ai.tool.call.result", "<not specified>"),
    "a name in quotes": lambda held: _set(held[1], "gen_ai.tool.name", '"search"'),
    "a name that is a number": lambda held: _set(held[1], "gen_ai.tool.name", {"intValue": "3"}),
    "an empty name": lambda held: _set(held[1], "gen_ai.tool.name", ""),
    "an answer by a call": lambda held: _set(held[1], "gen_ai.tool.name", "final_result"),
    "a hand-off": lambda held: _set(held[1], "gen_ai.tool.name", "transfer_to_billing"),
    "merged responses": lambda held: _set(held[1], "gen_ai.tool.name", "(merged)"),
    "the name of a hand-off": lambda held: held[1].update(name="handoff to billing"),
    "a deferred call": lambda held: _set(held[1], "pydantic_ai.tool.deferral.name", "ApprovalRequired"),
    "a session": lambda held: _set(held[0], "session.id", "s1"),
    "messages": lambda held: _set(held[0], "gen_ai.input.messages", '[{"role": "user", "content": "Hi"}]'),
    "a case named by a call": lambda held: _set(held[1], "rightcall.case.id", "c1"),
    "tokens of a call": lambda held: _set(held[1], "gen_ai.usage.input_tokens", {"intValue": "12"}),
    "a failed call with another output": lambda held: _fail_with_another_output(held[1]),
    "another trace": lambda held: held[1].update(traceId="9" * 32),
    "calls whose parent is missing": lambda held: held.__delitem__(0),
    "calls without an agent, of two traces": lambda held: _leave_calls_of_two_traces(held),
    "calls without an agent, at once": lambda held: _leave_calls_at_once(held),
    "calls without an agent, of which one failed": lambda held: _leave_calls_of_which_one_failed(held),
    "a call without an agent and an id": lambda held: _leave_a_call_without_an_id(held),
    "no calls": lambda held: held.__delitem__(slice(1, None)),
}
"""Changes after which it is built from its spans."""


def _fail_with_another_output(held: dict[str, Any]) -> None:
    _fail(held)
    _set(held, "gen_ai.tool.call.result", "<not specified>")
    _set(held, "tool_response", "too late")


def _edited(edit: Edit) -> Document:
    document = plain_run()
    edit(document["resourceSpans"][0]["scopeSpans"][0]["spans"])
    return document


@pytest.mark.parametrize("name", SIMPLE)
def test_simple_run_is_read_directly_and_the_same(name: str) -> None:
    data = written(_edited(SIMPLE[name]))

    with counted() as simple:
        read_so = read_directly(data)

    assert len(simple) == 1
    assert read_so == read_by_spans(data)


@pytest.mark.parametrize("name", OTHER)
def test_run_with_a_question_is_built_from_its_spans(name: str) -> None:
    data = written(_edited(OTHER[name]))

    with counted() as simple:
        read_so = read_directly(data)

    assert not simple
    assert read_so == read_by_spans(data)


def test_calls_of_a_simple_run_are_complete() -> None:
    [run] = read(written(plain_run(calls=2)))

    first, second = run.calls
    assert (first.name, first.args, first.output) == ("search", {"query": "q0", "limit": 0}, {"status": "ok", "id": 0})
    assert (second.name, second.call_id, second.agent, second.span_id) == ("book", "call_0_1", "shop", f"{3:016x}")
    assert run.usage is not None
    assert run.usage.duration_ns == 9_000


def test_the_answer_of_a_model_is_that_of_a_simple_run() -> None:
    [found] = read(written(_edited(_let_a_model_answer)))

    assert (found.output, len(found.calls)) == ("Ho", 3)


def test_calls_at_once_and_failures_of_a_simple_run_are_told() -> None:
    document = _edited(_overlap)
    _fail(spans(document)[2])

    [run] = read(written(document))

    assert [call.group for call in run.calls] == ["overlap-1", "overlap-1", "overlap-2", "overlap-2"]
    assert [call.error for call in run.calls] == [None, "boom", None, None]


def test_another_line_of_the_same_trace_joins_a_simple_run() -> None:
    first, second = plain_run(calls=2), plain_run(calls=3)
    late = spans(second)[-1]
    second["resourceSpans"][0]["scopeSpans"][0]["spans"] = [late]
    for lines in ([first, second], [second, first], [first, first]):
        data = b"\n".join(map(written, lines))

        assert read_directly(data) == read_by_spans(data)

    [run] = read(b"\n".join(map(written, [first, second])))
    assert run.names == ("search", "book", "pay")


@pytest.mark.parametrize("beside", ["calls", "agent"])
def test_calls_without_an_agent_are_one_run_unless_another_trace_shows_an_agent(beside: str) -> None:
    make = {"calls": plain_calls, "agent": plain_run}[beside]
    lines = [written(each) for each in (plain_calls(0), make(1))]

    with counted() as simple:
        read_so = read_directly(b"\n".join(lines))

    assert len(simple) == 2
    assert read_so == read_by_spans(b"\n".join(lines))
    assert len(list(read(b"\n".join(lines)))) == {"calls": 1, "agent": 2}[beside]


def test_run_inside_a_call_of_a_simple_run_is_part_of_it() -> None:
    outer, inner = plain_run(0, calls=1), plain_run(1, calls=1)
    call = spans(outer)[1]
    call.update(endTimeUnixNano=str(1_700_000_000_000_100_000))
    spans(outer)[0].update(endTimeUnixNano=str(1_700_000_000_000_200_000))
    _set(spans(inner)[0], "output.value", "done")
    _set(call, "gen_ai.tool.call.result", "done")
    data = b"\n".join(map(written, [outer, inner]))

    [run] = read(data)

    assert run.names == ("search", "search")
    assert run.calls[1].parent_id == call["spanId"]
    assert read_directly(data) == read_by_spans(data)


@pytest.mark.parametrize("grouping", ["auto", "trace"])
def test_every_recording_is_read_the_same(grouping: str) -> None:
    for name, files in recordings().items():
        if "otlp.json" in files:
            data = files["otlp.json"]
            assert read_directly(data, grouping=grouping) == read_by_spans(data, grouping=grouping), name


def test_mutants_are_read_the_same() -> None:
    found, simple = differing(2_000, seed=20)

    assert not found
    assert simple > 700  # most of what is compared would otherwise be built from spans both times


def test_mutants_of_runs_with_long_prompts_are_read_the_same() -> None:
    found, _ = differing(300, seed=4, kind=TOLD)

    assert not found


def test_no_fewer_runs_are_read_directly_than_can_be() -> None:
    """The long way is right, too, but takes several times as long. A change of what is simple changes this figure."""
    with counted() as simple:
        for source in mutants(300, seed=21):
            read_directly(source)

    assert len(simple) == 179


def test_warnings_of_a_source_reach_its_simple_runs() -> None:
    data = written(plain_run()) + b"\n{broken\n"

    [run] = read(data)

    assert "line 2 was left out" in run.warnings[0]
    assert read_directly(data) == read_by_spans(data)


_ASKED = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c9", "name": "refund", "arguments": {}}]}
_RECORD = {
    "timeUnixNano": "1700000000000008000",
    "eventName": "gen_ai.client.inference.operation.details",
    "attributes": [{"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps([_ASKED])}}],
}


@pytest.mark.parametrize(
    "beside", [{"resourceLogs": [{"scopeLogs": [{"logRecords": [_RECORD]}]}]}, _ASKED], ids=["log records", "messages"]
)
def test_what_is_beside_the_only_simple_run_of_a_source_counts(beside: Document) -> None:
    alone = written(plain_run())
    data = alone + b"\n" + written(beside)

    with counted() as simple:
        read_so = read_directly(data)

    assert len(simple) == 1
    assert read_so == read_by_spans(data)
    assert read_so != read_directly(alone)


def test_a_simple_run_beside_spans_that_were_put_aside_is_not_all_there_is() -> None:
    collected, warnings = RunCollector("auto", Kept(), DEFAULT_LIMITS, held_bytes=1), Warnings()
    lines = b"\n".join([written(plain_run(0)), written(plain_run(1))])

    for batch in DocumentReader("runs", DEFAULT_LIMITS, warnings, collected.budget).batches(io.BytesIO(lines)):
        collected.add(batch)

    assert len(list(collected.trajectories("runs", warnings))) == 2


def test_large_file_has_the_same_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rightcall.reading.sources import _document_reader, _large_file

    monkeypatch.setattr(_document_reader, "_LARGE", 1 << 12)
    monkeypatch.setattr(_large_file, "_BLOCK", 1 << 13)
    monkeypatch.setattr(_large_file, "_SMALLEST_BLOCK", 1 << 10)
    lines = [written(plain_run(number, 1 + number % 4)) for number in range(60)]
    lines.insert(50, lines[3])  # the same spans again, in another block
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")

    with counted() as simple:
        runs = [repr(run) for run in read(path)]

    assert len(simple) >= 59
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SimpleRuns, "run_of", lambda self, request: None)
        assert runs == [repr(run) for run in read(path)]
