"""What assertions take."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import get_tracer
from pydantic import BaseModel
from tests.reading import talks

from rightcall import InputError, ToolCall, Trajectory, capture, check, tool
from rightcall.judging import AgentExecution
from rightcall.testing.assertions import trajectory_of

MESSAGES = [
    {"role": "user", "content": "a laptop"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"query": "laptop"}'}}
        ],
    },
]


class SdkFunction(BaseModel):
    name: str = "search"
    arguments: str = '{"query": "laptop"}'


class SdkCall(BaseModel):
    id: str = "1"
    function: SdkFunction = SdkFunction()


class SdkMessage(BaseModel):
    """What the SDK of OpenAI returns, and a loop appends to its list of messages."""

    role: str = "assistant"
    content: str | None = None
    tool_calls: list[SdkCall] = [SdkCall()]


class SdkChoice(BaseModel):
    index: int = 0
    message: SdkMessage = SdkMessage()


class SdkCompletion(BaseModel):
    choices: list[SdkChoice] = [SdkChoice()]


@dataclass
class SdkBlock:
    type: str = "tool_use"
    id: str = "1"
    name: str = "search"
    input: dict[str, str] = field(default_factory=lambda: {"query": "laptop"})


@tool
def search(query: str) -> str:
    return query.upper()


with capture() as seen:
    search("laptop")
[SPAN] = seen.spans


def agent_span(digit: str) -> dict[str, Any]:
    operation = {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}
    times = {"startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    return {"traceId": digit * 32, "spanId": digit * 16, "name": "agent", "attributes": [operation], **times}


@pytest.mark.parametrize(
    "subject",
    [
        [{"search": {"query": "laptop"}}],
        [{"name": "search", "args": {"query": "laptop"}}],
        [ToolCall("search", {"query": "laptop"})],
        Trajectory.of([{"name": "search", "args": {"query": "laptop"}}]),
        MESSAGES,
        {"messages": MESSAGES},
        json.dumps(MESSAGES).encode(),
        [SPAN],
        (SPAN,),
        AgentExecution(agent_trace=[SPAN]),
        [MESSAGES[0], SdkMessage(), {"role": "tool", "tool_call_id": "1", "content": "P001"}],
        {"messages": [MESSAGES[0], SdkMessage()]},
        [MESSAGES[0], {"role": "assistant", "content": [SdkBlock()]}],
        SdkMessage(),
        SdkCompletion(),
    ],
    ids=[
        *("short", "spelt out", "ToolCall", "Trajectory", "messages", "log", "bytes", "spans", "tuple", "execution"),
        *("SDK message in a list", "SDK message in a log", "SDK block", "SDK message", "SDK completion"),
    ],
)
def test_calls_can_be_read_from_what_a_test_has(subject: Any) -> None:
    [call] = trajectory_of(subject).calls

    assert (call.name, call.args) == ("search", {"query": "laptop"})


def test_a_name_alone_has_no_recorded_arguments() -> None:
    [call] = trajectory_of(["search"]).calls

    assert "args" in call.unrecorded


def test_captured_calls_can_be_asked_about_inside_of_the_block_and_after_it() -> None:
    with capture() as captured:
        search("laptop")
        inside = trajectory_of(captured)
        search("phone")

    assert inside.names == ("search",)
    assert trajectory_of(captured).names == ("search", "search")


def test_a_capture_without_calls_is_a_fact_where_tools_are_marked() -> None:
    with capture() as captured:
        pass

    assert trajectory_of(captured).calls_recorded


def test_an_empty_list_says_nothing_about_calls() -> None:
    assert not trajectory_of([]).calls_recorded
    assert trajectory_of(Trajectory()).calls_recorded


def test_a_path_is_read_if_it_holds_one_run(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps(MESSAGES))

    assert trajectory_of(log).names == ("search",)
    assert trajectory_of(str(log)).names == ("search",)
    with pytest.raises(InputError, match="runs, and an assertion is about one"):
        trajectory_of({"resourceSpans": [{"scopeSpans": [{"spans": [agent_span("1"), agent_span("2")]}]}]})
    with pytest.raises(InputError, match="nowhere"):
        trajectory_of("nowhere.json")


def test_a_message_that_cannot_be_read_is_refused_and_not_passed_over() -> None:
    with pytest.raises(InputError, match=r"messages\[2\]: an object of type object cannot be read as a message"):
        trajectory_of([*MESSAGES, object()])


def test_marked_tools_vouch_for_no_calls_beside_other_spans() -> None:
    @tool
    def never_called() -> None: ...

    with (
        capture() as captured,
        get_tracer("framework").start_as_current_span(
            "invoke_agent support", attributes={"gen_ai.operation.name": "invoke_agent"}
        ),
    ):
        pass

    assert trajectory_of(captured).calls_recorded
    check(captured, {"calls": []})


def test_the_whole_session_of_an_agent_has_each_call_in_its_turn() -> None:
    made = trajectory_of(talks.log())

    assert [(call.name, call.turn) for call in made.calls] == talks.MADE
    check(talks.log(), {"counts": {"refund": 1, "lookup_order": 1}})
