"""Calls that frameworks dispatched count where the result of the agent does not show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.projects import make_project
from tests.running.runner.running import finished_of

from rightcall.running.runner import CaseJob
from rightcall.values.trajectory import Trajectory

AGENT = """
import asyncio, json
from opentelemetry import trace
from tests.running.frameworks import lookalikes

frameworks = lookalikes.loaded()
frameworks.__enter__()
tool = lookalikes.StructuredTool("look", lambda order: "shipped")
inner = lookalikes.StructuredTool("ask", lambda order: tool.run({"order": order}))

def part(kind, **held):
    return {"part_kind": kind, **held}

def request(*parts):
    return {"kind": "request", "parts": list(parts)}

def response(*parts):
    return {"kind": "response", "parts": list(parts), "usage": {"input_tokens": 10, "output_tokens": 5}}

class Usage:
    input_tokens, output_tokens = 10, 5

class Result:
    "A run result, as of Pydantic AI."
    output, usage = "Done.", Usage()

    def __init__(self, *messages, before=0):
        self._messages, self._before = messages, before

    def all_messages_json(self):
        return json.dumps(self._messages).encode()

    def new_messages_json(self):
        return json.dumps(self._messages[self._before:]).encode()

SAID = request(part("user-prompt", content="Go"))
DONE = response(part("text", content="Done."))

def two_runs(input):
    "Returns the result of the second run: the first one called the tool."
    tool.run({"order": 7})
    return Result(SAID, DONE)

def one_run(input):
    call = dict(tool_name="look", tool_call_id="1")
    tool.run({"order": 7})
    asked, given = part("tool-call", args={"order": 7}, **call), part("tool-return", content="shipped", **call)
    return Result(SAID, response(asked), request(given), DONE)

def other_agent(input):
    call = dict(tool_name="ask", tool_call_id="1")
    inner.run({"order": 7})
    asked, given = part("tool-call", args={"order": 7}, **call), part("tool-return", content="shipped", **call)
    return Result(SAID, response(asked), request(given), DONE)

def softened(input):
    "A middleware gives the model a text instead of the exception."
    def refuse(order):
        raise ValueError("no such order")
    call = dict(tool_name="refund", tool_call_id="1")
    try:
        lookalikes.StructuredTool("refund", refuse).run({"order": 7})
    except ValueError:
        pass
    asked, given = part("tool-call", args={"order": input}, **call), part("tool-return", content="Sorry.", **call)
    return Result(SAID, response(asked), request(given), DONE)

def spans_of_mcp(input):
    "The client of MCP has a span of its own, without the arguments."
    held = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    with trace.get_tracer("mcp").start_as_current_span("tools/call look", attributes=held):
        return tool.run({"order": 7})

def counted(input):
    "A model has a span with its tokens, beside the result with those of the run."
    figures = {"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": input}
    held = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **figures}
    with trace.get_tracer("framework").start_as_current_span("chat m", attributes=held):
        return Result(SAID, DONE)

def interrupted(input):
    "The tool asks a person, and is called again with the answer."
    def ask(order):
        if answers:
            return answers.pop()
        answers.append("paid")
        raise lookalikes.GraphInterrupt("Pay?")
    answers = []
    asking = lookalikes.StructuredTool("refund", ask)
    try:
        asking.run({"order": 7})
    except lookalikes.GraphInterrupt:
        pass
    asking.run({"order": 7})
    call = dict(tool_name="refund", tool_call_id="1")
    asked, given = part("tool-call", args={"order": 7}, **call), part("tool-return", content="paid", **call)
    return Result(SAID, response(asked), request(given), DONE)

def approved(input):
    "Continues a run with the answer to a call that waited for approval."
    call = dict(tool_name="refund", tool_call_id="1")
    asked, given = part("tool-call", args={"order": 7}, **call), part("tool-return", content="paid", **call)
    return Result(SAID, response(asked), request(given), DONE, before=2)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_project(tmp_path, {"agent.py": AGENT})
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    return tmp_path


def path_of(agent: str, project: Path, given: Any = "Go") -> Trajectory:
    [finished] = finished_of(f"agent.py:{agent}", [CaseJob(case_id="one", turns=(given,))], project).values()
    assert finished.outcome.error is None
    assert finished.trajectory is not None
    return finished.trajectory


def told(path: Trajectory) -> list[tuple[str, object, object]]:
    return [(call.name, call.args, call.output) for call in path.calls]


def test_calls_of_a_run_before_the_one_whose_result_is_returned_count(project: Path) -> None:
    path = path_of("two_runs", project)

    assert told(path) == [("look", {"order": 7}, "shipped")]
    assert path.calls_recorded


def test_the_tokens_of_a_run_before_the_one_whose_result_is_returned_are_not_known(project: Path) -> None:
    usage = path_of("two_runs", project).usage

    assert usage is not None
    assert usage.total_tokens is None


def test_calls_that_the_result_shows_count_once(project: Path) -> None:
    path = path_of("one_run", project)

    assert told(path) == [("look", {"order": 7}, "shipped")]
    assert path.usage is not None
    assert path.usage.total_tokens == 15


def test_calls_of_an_agent_that_a_tool_asked_are_inside_of_that_call(project: Path) -> None:
    outer, inner = path_of("other_agent", project).calls

    assert (outer.name, inner.name, inner.parent_id) == ("ask", "look", outer.span_id)


def test_a_run_that_continues_with_the_answer_to_a_deferred_call_shows_the_call(project: Path) -> None:
    path = path_of("approved", project)

    assert told(path) == [("refund", {"order": 7}, "paid")]
    assert path.calls_recorded
    assert path.usage is not None
    assert path.usage.total_tokens == 30


def test_what_was_dispatched_completes_spans_without_arguments(project: Path) -> None:
    assert told(path_of("spans_of_mcp", project)) == [("look", {"order": 7}, "shipped")]


def test_a_call_whose_tool_raised_has_failed_whatever_the_model_was_told(project: Path) -> None:
    path = path_of("softened", project, 7)

    assert [(call.name, call.error) for call in path.calls] == [("refund", "ValueError: no such order")]
    assert path.usage is not None


def test_a_failure_of_a_call_with_other_arguments_is_not_that_of_the_call_in_the_messages(project: Path) -> None:
    assert [(call.args, call.error) for call in path_of("softened", project, 8).calls] == [({"order": 8}, None)]


def test_a_call_that_was_put_off_and_then_made_is_one_call(project: Path) -> None:
    path = path_of("interrupted", project)

    assert told(path) == [("refund", {"order": 7}, "paid")]
    assert path.withheld == ()
    assert path.usage is not None
    assert path.usage.total_tokens == 15


@pytest.mark.parametrize(("figure", "total"), [(2, 15), (40, 80)], ids=["of the result", "of the spans"])
def test_of_the_tokens_of_spans_and_of_a_result_the_larger_figure_counts(
    project: Path, figure: int, total: int
) -> None:
    usage = path_of("counted", project, figure).usage

    assert usage is not None
    assert usage.total_tokens == total
