"""Calls that a person was asked about: which of their spans only asked, and what came of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.traces import line, request, span

from rightcall.reading import read
from rightcall.reading.messages import Requests
from rightcall.reading.runs._calls import ordered
from rightcall.reading.runs._own_calls import made_and_withheld, without_questions
from rightcall.reading.spans import CallRecord, Span
from rightcall.values.trajectory import Trajectory, WithheldCall

ADK = "gcp.vertex.agent"
ID = "adk-36787ab9-8a4d-4876-a658-97bc4afd460f"
ASKS = {"error": "This tool call requires confirmation, please approve or reject."}
REJECTED = {"error": "This tool call is rejected."}
PAID = {"result": "paid"}


def adk_tool(
    number: int, response: dict[str, Any] | None, call_id: str | None = ID, *, failed: bool = False
) -> dict[str, Any]:
    """The span of a tool of ADK, which has no contents unless they are asked for."""
    held: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"}
    held |= {"gen_ai.tool.type": "FunctionTool"}
    held |= {} if call_id is None else {"gen_ai.tool.call.id": call_id}
    if response is not None:
        held |= {"gen_ai.tool.call.arguments": '{"n": 7}', "gen_ai.tool.call.result": json.dumps(response)}
    held |= {"error.type": "TOOL_ERROR"} if failed else {}
    return span(number, held, name="execute_tool refund")


def adk_run(*spans: dict[str, Any]) -> Trajectory:
    [trajectory] = read(request(*spans, scope=ADK))
    return trajectory


@pytest.mark.parametrize(
    ("first", "call_id"),
    [(ASKS, ID), (None, ID), ({"status": "pending"}, ID), (ASKS, None), (ASKS, "call_1")],
    ids=["asked", "without contents", "asked by the tool itself", "without ids", "with ids of the model"],
)
def test_a_call_of_adk_that_was_confirmed_is_what_its_last_span_tells(
    first: dict[str, Any] | None, call_id: str | None
) -> None:
    trajectory = adk_run(adk_tool(1, first, call_id), adk_tool(2, PAID, call_id))

    assert [(call.span_id, call.output) for call in trajectory.calls] == [(f"{2:016x}", "paid")]
    assert (trajectory.withheld, trajectory.calls_recorded) == ((), True)


def test_a_question_of_adk_that_lost_its_start_is_not_what_came_of_the_call() -> None:
    asked = adk_tool(1, ASKS)
    del asked["startTimeUnixNano"]

    trajectory = adk_run(asked, adk_tool(2, PAID))

    assert ([call.output for call in trajectory.calls], trajectory.withheld) == (["paid"], ())


def test_a_line_of_a_file_with_a_call_of_adk_that_was_confirmed_is_read_the_same() -> None:
    spans = [span(9, name="POST /chat"), *[adk_tool(number, PAID) | {"parentSpanId": f"{9:016x}"} for number in (1, 2)]]
    spans[0] |= {"startTimeUnixNano": "0", "endTimeUnixNano": "9000"}

    [trajectory] = read(line(*spans, scope=ADK))

    assert trajectory.names == ("refund",)


@pytest.mark.parametrize("first", [ASKS, None], ids=["asked", "without contents"])
def test_a_call_of_adk_that_was_rejected_was_not_made(first: dict[str, Any] | None) -> None:
    trajectory = adk_run(adk_tool(1, first), adk_tool(2, REJECTED))

    assert (trajectory.calls, trajectory.calls_recorded) == ((), True)
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was refused"),)


def test_a_call_of_adk_that_only_asked_waits() -> None:
    trajectory = adk_run(adk_tool(1, ASKS))

    assert (trajectory.calls, trajectory.calls_recorded) == ((), True)
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)


@pytest.mark.parametrize("ids", [(ID, ID), (None, None), (ID, None), (None, ID)])
@pytest.mark.parametrize("failed", [False, True], ids=["no error", "an error without a message"])
def test_a_call_of_adk_without_contents_may_have_been_rejected(ids: tuple[str | None, ...], failed: bool) -> None:
    trajectory = adk_run(adk_tool(1, None, ids[0]), adk_tool(2, None, ids[1], failed=failed))

    assert (trajectory.calls, trajectory.calls_recorded) == ((), False)
    assert "a call of refund, which may have been made" in trajectory.not_understood


@pytest.mark.parametrize(
    "ids", [(ID, "adk-f60c80f7-41be-4ad7-a416-7a5d0d6d966f"), (None, None)], ids=["with ids", "of one agent"]
)
def test_two_calls_of_adk_without_contents_are_two(ids: tuple[str | None, ...]) -> None:
    agent = span(1, {"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent shop", endTimeUnixNano="9000")
    tools = [adk_tool(number, None, each) | {"parentSpanId": f"{1:016x}"} for number, each in enumerate(ids, 2)]
    trajectory = adk_run(agent, *tools)

    assert (trajectory.names, trajectory.calls_recorded) == (("refund", "refund"), True)


def agent_span(number: int, name: str, output: Any, **more: Any) -> dict[str, Any]:
    held = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "final_result": json.dumps(output)}
    return span(number, held, name=f"invoke_agent {name}", **more)


def waiting(*spans: dict[str, Any], call_id: str | None = "c1") -> Trajectory:
    """An agent of Pydantic AI that ended to wait for the approval of a call, and what follows."""
    named = {"tool_name": "refund", "args": '{"n": 7}'}
    ended = agent_span(1, "shop", {"calls": [], "approvals": [{**named, "tool_call_id": "c1"}], "metadata": {}})
    call = {"type": "tool_call", "name": "refund", "arguments": '{"n": 7}', **({"id": call_id} if call_id else {})}
    other = {"type": "tool_call", "name": "look", "arguments": "{}"}
    asked = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [call, other]}])}
    model = span(2, {"gen_ai.operation.name": "chat", **asked}, name="chat", parent=1)
    [trajectory] = read(request(ended, model, *spans, scope="pydantic-ai"))
    return trajectory


@pytest.mark.parametrize("call_id", ["c1", None], ids=["with its id", "without its id"])
def test_a_call_waits_as_long_as_its_agent_does_not_go_on(call_id: str | None) -> None:
    trajectory = waiting(agent_span(5, "other", "Done."), call_id=call_id)

    assert (trajectory.names, trajectory.calls_recorded) == (("look",), True)
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)


@pytest.mark.parametrize("call_id", ["c1", None], ids=["with its id", "without its id"])
def test_what_came_of_a_call_is_not_known_once_its_agent_went_on_and_nothing_tells_it(call_id: str | None) -> None:
    trajectory = waiting(agent_span(5, "shop", "Done."), call_id=call_id)

    assert not trajectory.calls_recorded
    assert "may only have waited for a person" in trajectory.not_understood


def test_a_call_that_no_message_shows_may_have_been_made_once_its_agent_went_on() -> None:
    ended = agent_span(1, "shop", {"calls": [], "approvals": [{"tool_name": "refund", "tool_call_id": "c1"}]})
    looked = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c0"}
    tool = span(2, {**looked, "gen_ai.tool.call.result": "found"}, name="execute_tool look", parent=1)

    [waits] = read(request(ended, tool))
    [went_on] = read(request(ended, tool, agent_span(5, "shop", "Done.")))

    assert (waits.names, waits.calls_recorded) == (("look",), True)
    assert "a call of refund" in went_on.not_understood


def test_a_call_of_which_it_is_not_known_when_it_was_made_may_have_waited() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}
    made = span(8, tool, name="execute_tool refund")
    del made["startTimeUnixNano"]

    assert not waiting(made).calls_recorded


def openai_run(*spans: dict[str, Any], scope: str = "openinference.instrumentation.openai_agents") -> Trajectory:
    """A model of OpenAI Agents that asks for a call, and what follows."""
    said = json.dumps([{"id": "c1", "function": {"name": "refund", "arguments": '{"n": 7}'}}])
    asked = {"openinference.span.kind": "LLM", "output.value": f'[{{"role": "assistant", "tool_calls": {said}}}]'}
    [trajectory] = read(request(span(1, asked, name="generation"), *spans, scope=scope))
    return trajectory


def openai_tool(**more: str) -> dict[str, Any]:
    held = {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": '{"n": 7}'}
    return span(3, {**held, **more}, name="refund")


def test_a_span_of_openai_agents_without_a_result_after_which_no_model_is_asked_may_be_a_question() -> None:
    assert "may only have waited for a person" in openai_run(openai_tool()).not_understood


@pytest.mark.parametrize(
    ("spans", "scope"),
    [
        ([openai_tool(**{"output.value": "paid"})], "openinference.instrumentation.openai_agents"),
        (
            [openai_tool(), span(5, {"openinference.span.kind": "LLM", "output.value": "Done."}, name="generation")],
            "openinference.instrumentation.openai_agents",
        ),
        ([openai_tool()], "openinference.instrumentation.langchain"),
    ],
    ids=["a result", "a model follows", "another framework"],
)
def test_any_other_span_of_a_tool_is_of_a_call_that_was_made(spans: list[dict[str, Any]], scope: str) -> None:
    trajectory = openai_run(*spans, scope=scope)

    assert (trajectory.names, trajectory.calls_recorded) == (("refund",), True)


def continued(*, shown: list[Any] | None, said: list[Any] | None, call_id: str = "c1", tool: int = 2) -> Trajectory:
    """A run that begins with a call, and then has a model."""
    sides = {"gen_ai.input.messages": shown, "gen_ai.output.messages": said}
    held = {key: json.dumps(messages) for key, messages in sides.items() if messages is not None}
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.result": "paid"}
    named = {"gen_ai.tool.call.id": call_id} if call_id else {}
    [trajectory] = read(
        request(
            span(tool, {**made, **named}, name="execute_tool refund"),
            span(5, {"gen_ai.operation.name": "chat", **held}, name="chat"),
        )
    )
    return trajectory


DONE = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]
ASKED = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "refund", "arguments": {}}]}]


def test_a_call_that_no_model_of_a_run_asked_for_continues_another_run() -> None:
    trajectory = continued(shown=None, said=DONE)

    assert (trajectory.names, trajectory.calls_recorded) == (("refund",), False)
    assert "seems to continue another one" in trajectory.not_understood


@pytest.mark.parametrize(
    "told",
    [
        {"shown": ASKED, "said": DONE},
        {"shown": None, "said": None},
        {"shown": None, "said": DONE, "call_id": ""},
        {"shown": None, "said": DONE, "tool": 7},
    ],
    ids=["a prompt tells it", "no messages", "no id", "after the model"],
)
def test_a_call_continues_no_other_run_if_a_model_may_have_asked_for_it_or_none_has_to(told: dict[str, Any]) -> None:
    assert continued(**told).calls_recorded


def test_a_deferred_call_was_made_if_its_id_or_the_same_call_comes_later() -> None:
    def left(withheld: CallRecord, *made: CallRecord) -> bool:
        withheld.withheld = "deferred"
        kept, unsure = without_questions(ordered([withheld, *made]), Requests())
        calls, others = made_and_withheld(kept)
        assert (calls, unsure) == (ordered(list(made)), None)
        return others == [withheld]

    def look(start: int | None, call_id: str | None = None, x: int = 1) -> CallRecord:
        span = Span("a span", "t", "s", None, start, None)
        return CallRecord("look", span, args={"x": x}, call_id=call_id)

    assert left(look(5))
    assert not left(look(5), look(6))
    assert not left(look(5), look(5))
    assert left(look(5), look(4))
    assert not left(look(5), look(9), look(4))
    assert left(look(5), look(6, x=2))
    assert left(look(5, "1"), look(6))
    assert left(look(5, "1"), look(6, "2"))
    assert not left(look(5, "1"), look(4, "1", x=2))
    assert not left(look(None), look(None))
